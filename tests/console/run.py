#!/usr/bin/env python3
"""The console in a real browser: Debian's Chromium, driven by playwright-core, with axe-core as the judge of accessibility.

    run.py [--url http://127.0.0.1:PORT] [--cookie NAME=VALUE] [--only NAME]...

Without --url the example `preview` of `bir-console` serves fixture data. With it, the pages of that hub are looked at as
they are (layout, schemes, accessibility, keys, errors); what needs the fixture's own switches is skipped.
Screenshots of every page at 360, 768 and 1440 px in both schemes are in .work/console/.
"""

import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import birtest  # noqa: E402

OUT = os.path.join(birtest.WORK, "console")
BUDGET = 900


def node():
    """The pinned Node where it is installed, else the machine's: playwright-core needs 20 or newer."""
    pinned = birtest.node()
    return pinned if os.path.exists(pinned) else "node"


def browser():
    named = os.environ.get("BIR_CHROMIUM")
    places = [named] if named else ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
    return next((p for p in places if p and os.path.exists(p)), None)


def preview():
    """The example as a program: BIR_CONSOLE_PREVIEW names it, else the debug build."""
    if os.environ.get("BIR_CONSOLE_PREVIEW"):
        return os.path.abspath(os.environ["BIR_CONSOLE_PREVIEW"])
    target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(birtest.ROOT, "target")
    return os.path.join(target, "debug", "examples", "preview")


def drive(report, url, fixture, opt):
    argv = [node(), os.path.join(HERE, "drive.mjs"), "--url", url, "--browser", browser(), "--out", OUT]
    argv += ["--fixture"] if fixture else []
    argv += ["--cookie", opt.cookie] if opt.cookie else []
    for name in opt.only or []:
        argv += ["--only", name]
    status, out, err = birtest.run(argv, budget=BUDGET)
    for line in out.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["state"] == "skipped":
            report.skipped(row["case"], row["detail"])
        else:
            report.check(row["state"] == "passed", row["case"], row["detail"])
    with open(os.path.join(OUT, "drive.err"), "w") as f:
        f.write(err)
    if status != 0:
        why = f"not done within {BUDGET} s" if status is None else f"status {status}"
        report.failed("driver", f"{why}; {birtest.short(err[-600:], 600)}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--url", help="a hub that runs, instead of the preview")
    ap.add_argument("--cookie", help="NAME=VALUE of a session, for a hub that wants one")
    ap.add_argument("--only", action="append", help="only cases whose name holds this text")
    opt = ap.parse_args()
    report = birtest.Report("console")
    if not birtest.need(report, [birtest.module("console", "playwright-core"), birtest.module("console", "axe-core")]):
        return report.finish()
    if not browser():
        report.skipped("console", "no Chromium on this machine (BIR_CHROMIUM names one)")
        return report.finish()
    birtest.work("console")
    if opt.url:
        drive(report, opt.url.rstrip("/"), False, opt)
        return report.finish()
    if not birtest.need(report, [preview()]):
        return report.finish()
    with birtest.Server([preview()], os.path.join(OUT, "preview.log")) as server:
        drive(report, server.address, True, opt)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
