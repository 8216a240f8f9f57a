#!/usr/bin/env python3
"""The official conformance suite, without and with the proxy.

    run.py [--only PART]...     parts: fixture, stdio, http, client

Server side: the suite speaks HTTP to `bir-test-pipe`, which puts every session on the stdio of a command. That command is
the fixture (the baseline), `bir-proxy -- fixture` (part stdio), or `bir-proxy --url` in front of the fixture's HTTP server
(part http). Every check of every scenario must have the same status as in the baseline: what the suite does not like about
the pipe is the pipe's (host, origin and header checks), what changes is the proxy's. The fixture's own HTTP server is
judged directly as well, so that a baseline that lost a feature is seen.

Client side: the suite plays the server and watches `client-driver.mjs`, once with the SDK's HTTP client and once with the
SDK's stdio client behind `bir-proxy --url`.
"""

import argparse
import glob
import json
import os
import shlex
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import birtest  # noqa: E402

NODE, PROXY = birtest.node(), birtest.proxy()
PIPE = birtest.program("bir-test-pipe", "BIR_TEST_PIPE")
FIXTURE = [NODE, os.path.join(HERE, "fixture-stdio.mjs")]
OUT = os.path.join(birtest.WORK, "conformance")

# (name, package, arguments, checks that pass on the fixture's own HTTP server). The counts guard the baseline.
SUITES = [
    ("0.1.16 all", "conformance-0.1", ["--suite", "all"], 44),
    ("0.2.0 2025-11-25", "conformance-0.2", ["--requirements", "2025-11-25"], 84),
    ("0.2.0 2026-07-28", "conformance-0.2", ["--requirements", "2026-07-28"], 164),
]

# What the fixture passes over its own HTTP server and not behind the pipe, which does not compare a request's headers with
# its body. Anything else that the pipe loses is a fault of the baseline, and the comparison would be worth less.
PIPE_LOSES = {
    "sep-2575-http-server-header-mismatch-400",
    "sep-2575-http-server-unsupported-version-400",
    "sep-2575-server-unsupported-version-error",
}

# Where the proxy on purpose is not what an HTTP client is: it hands every tool on to the host, which is to know them all,
# while a client that speaks HTTP itself leaves out those whose `x-mcp-header` is invalid. The suite judges both as one.
KNOWN = {"http-invalid-tool-headers": ("sep-2243-x-mcp-header-", "exit status")}

# (package, arguments, scenarios). `sse-retry` measures times; all run one after the other, alone.
LEGACY = ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"]
CLIENT = [
    ("0.1.16", "conformance-0.1", [], LEGACY),
    ("0.2.0 2025-11-25", "conformance-0.2", ["--spec-version", "2025-11-25"], LEGACY),
    ("0.2.0 2026-07-28", "conformance-0.2", ["--spec-version", "2026-07-28"], [
        "tools_call", "request-metadata", "http-standard-headers", "http-custom-headers", "http-invalid-tool-headers",
        "sep-2322-client-request-state", "json-schema-ref-no-deref", "json-schema-2020-12-preservation",
    ]),
]


def suite(package):
    return [NODE, birtest.module("conformance", package, "dist", "index.js")]


def read_checks(folder, prefix):
    """{(scenario, check id, name, how often before): (status, message)} of one run."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*", "checks.json"))):
        scenario = os.path.basename(os.path.dirname(path))
        scenario = scenario[len(prefix):] if scenario.startswith(prefix) else scenario
        scenario = scenario[: scenario.index("-20", max(0, len(scenario) - 26))] if "-20" in scenario[-26:] else scenario
        seen = {}
        with open(path) as f:
            for c in json.load(f):
                key = (scenario, c["id"], c.get("name", ""))
                n = seen[key] = seen.get(key, -1) + 1
                found[(*key, n)] = (c["status"], c.get("errorMessage") or "")
    return found


def server_run(package, arguments, url, name):
    folder = birtest.work("conformance", name)
    status, out, err = birtest.run([*suite(package), "server", "--url", url, *arguments, "-o", folder], budget=240)
    with open(os.path.join(folder, "output.txt"), "w") as f:
        f.write(out + err)
    return status, read_checks(folder, "server-")


def tally(checks):
    ok = sum(s == "SUCCESS" for s, _ in checks.values())
    bad = sum(s == "FAILURE" for s, _ in checks.values())
    return f"{ok}/{bad}"


def table(columns, path):
    """Scenario by scenario, passed/failed per column."""
    names = list(columns)
    scenarios = sorted({k[0] for c in columns.values() for k in c})
    with open(path, "w") as f:
        f.write("| scenario | " + " | ".join(names) + " |\n|---|" + "---|" * len(names) + "\n")
        for s in scenarios:
            f.write(f"| {s} | " + " | ".join(tally({k: v for k, v in c.items() if k[0] == s}) for c in columns.values()) + " |\n")
        f.write("| total | " + " | ".join(tally(c) for c in columns.values()) + " |\n")


def changes(direct, through, also=None):
    """What is not the same, one (key, line) per check. The suite's log of requests (INFO) is no verdict. A status that is
    the one of `also`, another run without a proxy, is no change either."""
    found = []
    for key in sorted(direct.keys() | through.keys()):
        d, t = direct.get(key, ("absent", "")), through.get(key, ("absent", ""))
        if d[0] == t[0] or {d[0], t[0]} <= {"INFO", "absent"} or (also and also.get(key, ("",))[0] == t[0]):
            continue
        line = f"{key[0]} / {key[1]} ({key[2]}): {d[0]} direct, {t[0]} through the proxy. {birtest.short(t[1] or d[1], 300)}"
        found.append((key, line))
    return found


def compare(report, name, direct, through, also=None, again=False):
    """The verdict on one suite: every check has the same status. Nothing is tried twice, since a lost message is a race,
    but for scenarios that measure times (`again`), where a busy machine is not the proxy's fault."""
    found = changes(direct, through(), also)
    if found and again:
        print(f"        {name}: once more, it measures times: {found[0][1]}", flush=True)
        found = changes(direct, through(), also)
    known = [k for k, _ in found if k[1].startswith(KNOWN.get(k[0], ("none",)))]
    if known:
        name = f"{name} ({len(known)} known differences)"
    lines = [line for k, line in found if k not in known]
    report.check(not lines, name, f"{len(lines)} checks changed:\n          " + "\n          ".join(lines))


def server_side(report, parts):
    pipe = lambda tag, command: birtest.Server([PIPE, "--", *command], os.path.join(OUT, f"pipe-{tag}.log"))
    with birtest.Server([NODE, os.path.join(HERE, "fixture-http.mjs")], os.path.join(OUT, "fixture-http.log")) as fixture:
        commands = {
            "stdio": [PROXY, "--server-name", "conformance", "--", *FIXTURE],
            "http": [PROXY, "--server-name", "conformance", "--url", fixture.address],
        }
        for name, package, arguments, passes in SUITES:
            columns = {}
            if {"fixture", "http"} & set(parts):
                status, checks = server_run(package, arguments, fixture.address, f"{name}/fixture")
                columns["fixture over HTTP"] = checks
                good = sum(s == "SUCCESS" for s, _ in checks.values())
                report.check(status == 0 and good == passes, f"{name}, the fixture itself",
                             f"exit status {status}, {good} checks pass, {passes} expected")
            if not {"stdio", "http"} & set(parts):
                continue
            if not os.path.exists(PIPE):
                report.skipped(f"{name}, server side", f"{PIPE} is not built")
                continue
            with pipe("direct", FIXTURE) as p:
                status, direct = server_run(package, arguments, p.address, f"{name}/pipe")
            columns["pipe, fixture"] = direct
            lost = sorted(k[1] for k, v in direct.items() if v[0] == "FAILURE" and columns.get("fixture over HTTP", {}).get(k, v)[0] == "SUCCESS")
            report.check(len(direct) > 40 and set(lost) <= PIPE_LOSES, f"{name}, the pipe without a proxy",
                         f"{len(direct)} checks ran, exit status {status}; it loses {', '.join(lost)}")
            for part in ("stdio", "http"):
                if part not in parts:
                    continue

                def through():
                    with pipe(part, commands[part]) as p:
                        columns[f"pipe, proxy, fixture ({part})"] = server_run(package, arguments, p.address, f"{name}/proxy-{part}")[1]
                    return columns[f"pipe, proxy, fixture ({part})"]

                # The fixture over HTTP compares headers with bodies, which the pipe in front of its stdio does not.
                also = columns.get("fixture over HTTP") if part == "http" else None
                compare(report, f"{name}, server side through the proxy ({part})", direct, through, also)
            table(columns, os.path.join(OUT, f"{name}.md"))
            with open(os.path.join(OUT, f"{name}.md")) as f:
                print(f.readlines()[-1].strip() + "   (" + "; ".join(columns) + ")", flush=True)


def client_run(package, arguments, scenario, command, name):
    folder = birtest.work("conformance", name)
    status, out, err = birtest.run([*suite(package), "client", "--command", shlex.join(command), "--scenario", scenario,
                                    *arguments, "-o", folder], budget=90, env={"NODE_NO_WARNINGS": "1"})
    with open(os.path.join(folder, "output.txt"), "w") as f:
        f.write(out + err)
    return {**read_checks(folder, ""), (scenario, "exit status", "", 0): (str(status), birtest.short((out + err)[-300:]))}


def client_side(report):
    driver = [NODE, os.path.join(HERE, "client-driver.mjs")]
    columns = {"direct": {}, "through the proxy": {}}
    for name, package, arguments, scenarios in CLIENT:
        for s in scenarios:
            direct = client_run(package, arguments, s, driver, f"client {name}/{s} direct")
            columns["direct"].update({(f"{name} {s}", *k[1:]): v for k, v in direct.items()})

            def through():
                got = client_run(package, arguments, s, [*driver, "--proxy", PROXY], f"client {name}/{s} proxy")
                columns["through the proxy"].update({(f"{name} {s}", *k[1:]): v for k, v in got.items()})
                return got

            if report.check(direct[(s, "exit status", "", 0)][0] == "0", f"client {name} {s}, direct", "the suite did not pass it"):
                compare(report, f"client {name} {s}, through the proxy", direct, through, again=s == "sse-retry")
    table(columns, os.path.join(OUT, "client.md"))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--only", action="append", choices=["fixture", "stdio", "http", "client"])
    parts = ap.parse_args().only or ["fixture", "stdio", "http", "client"]
    report = birtest.Report("conformance")
    os.makedirs(OUT, exist_ok=True)
    if birtest.need(report, [NODE, birtest.module("conformance")] + ([PROXY] if set(parts) - {"fixture"} else [])):
        if {"fixture", "stdio", "http"} & set(parts):
            server_side(report, parts)
        if "client" in parts:
            client_side(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
