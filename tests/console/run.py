#!/usr/bin/env python3
"""The console in a real browser: real hubs, Debian's Chromium, driven by playwright-core, with axe-core as a judge.

    run.py [--only NAME]...

Two hubs are started in temporary folders: an embedded one, into which `bir demo` records a session through the proxy and
the driver many more runs, and a team's with an admin and an operator, in which nothing is recorded. What the cases are is
in `cases/`; the pictures of all pages in three widths and two schemes are in .work/console.

BIR_TEST_HUB and BIR_TEST_CLI name other programs than the release build, BIR_CHROMIUM another browser.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import birtest  # noqa: E402

OUT = os.path.join(birtest.WORK, "console")
HUB = birtest.program("bir-hub", "BIR_TEST_HUB")
CLI = birtest.program("bir", "BIR_TEST_CLI")
# Seconds; they only end what would never end.
BUDGET = 400
STARTS = 60
PEOPLE = {"admin": {"email": "ada@example.com", "password": "correct horse battery"}, "operator": {"email": "oskar@example.com", "password": "staple correct horse"}}


def node():
    """The pinned Node where it is installed, else the machine's: playwright-core needs 20 or newer."""
    pinned = birtest.node()
    return pinned if os.path.exists(pinned) else "node"


def environment(home):
    """A whole environment, so that nothing of the machine's leaks in."""
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": home, "BIR_HOME": os.path.join(home, "state"), "LANG": "C.UTF-8", "TMPDIR": home}


class Hub(birtest.Server):
    def __init__(self, home, *args):
        port = birtest.free_port()
        argv = ["env", "-i", *(f"{k}={v}" for k, v in environment(home).items()), HUB, "serve", "--listen", f"127.0.0.1:{port}", *args]
        super().__init__(argv, os.path.join(OUT, f"{os.path.basename(home)}.log"), port=port, path="", budget=STARTS)


def token(home):
    """The embedded hub's own, from the file that it writes when it listens."""
    end = time.monotonic() + STARTS
    while True:
        try:
            with open(os.path.join(home, "state", "hub.json")) as f:
                return json.load(f)["token"]
        except (FileNotFoundError, ValueError):
            if time.monotonic() > end:
                raise RuntimeError(f"the hub did not announce itself within {STARTS} s") from None
            time.sleep(0.05)


def add_people(home, store):
    for role, person in PEOPLE.items():
        argv = [HUB, "user", "add", "--store", store, "--email", person["email"], "--role", role]
        done = subprocess.run(argv, input=person["password"] + "\n", env=environment(home), capture_output=True, text=True, timeout=STARTS)
        if done.returncode:
            raise RuntimeError(f"`bir-hub user add` ended with status {done.returncode}: {done.stderr[-400:]}")


def demo(report, home):
    """A session that was really recorded; its run's path."""
    status, out, err = birtest.run([CLI, "demo", "--sample"], STARTS, environment(home))
    path = re.search(r"/runs/run_[0-9a-f-]+", out + err)
    report.check(status == 0 and path is not None, "a session is recorded by `bir demo`", f"status {status}: {birtest.short(out + err)}")
    return path and path.group()


def drive(report, hubs, only):
    argv = [node(), os.path.join(HERE, "drive.mjs"), "--hubs", json.dumps(hubs), "--browser", birtest.browser(), "--out", OUT]
    for name in only or []:
        argv += ["--only", name]
    status, out, err = birtest.run(argv, budget=BUDGET)
    for line in out.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        (report.passed if row["state"] == "passed" else report.failed)(row["case"], row["detail"])
    with open(os.path.join(OUT, "drive.err"), "w") as f:
        f.write(err)
    if status != 0:
        why = f"not done within {BUDGET} s" if status is None else f"status {status}"
        report.failed("driver", f"{why}; {birtest.short(err[-600:], 600)}")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", action="append", help="only cases whose name holds this text")
    opt = ap.parse_args()
    # Whoever ends the suite ends the hubs and the browser with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    report = birtest.Report("console")
    if not birtest.need(report, [HUB, CLI, birtest.module("console", "playwright-core"), birtest.module("console", "axe-core")]):
        return report.finish()
    if not birtest.browser():
        report.skipped("console", "no Chromium on this machine (Debian: apt-get install chromium; BIR_CHROMIUM names another one)")
        return report.finish()
    birtest.work("console")
    own, team = (birtest.scratch(f"console-{name}") for name in ("own", "team"))
    try:
        store = f"sqlite:{os.path.join(team, 'team.db')}"
        add_people(team, store)
        with Hub(own) as one, Hub(team, "--store", store) as two:
            # The hub is found by others only after it announced itself.
            known = token(own)
            path = demo(report, own)
            drive(report, {"own": {"url": one.address, "token": known, "demo": path}, "team": {"url": two.address, "people": PEOPLE}}, opt.only)
    finally:
        for home in (own, team):
            shutil.rmtree(home, ignore_errors=True)
        try:
            os.rmdir(os.path.dirname(own))
        except OSError:
            pass
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
