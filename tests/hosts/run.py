#!/usr/bin/env python3
"""Real hosts against scripted models, without and with the proxy in front of their MCP servers.

    run.py [--only claude-code|codex]

Claude Code runs six scenarios; the facts of claude-code/facts.py must hold on both sides. For both hosts what the model was
sent, what each server received and sent, and (Claude Code) what the hooks were given must be equal but for ids and times.

Each host runs in a network namespace that has only loopback, with a home of its own. Where none can be made, the suite is
skipped and says so.
"""

import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "lib"), os.path.join(HERE, "claude-code"), os.path.join(HERE, "codex")]
import birtest  # noqa: E402
import claude_code  # noqa: E402
import codex  # noqa: E402
import loopback  # noqa: E402

HOSTS = {"claude-code": claude_code.test, "codex": codex.test}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--only", action="append", choices=list(HOSTS))
    wanted = ap.parse_args().only or list(HOSTS)
    report = birtest.Report("hosts")
    reason = loopback.unavailable()
    for host in wanted:
        if reason:
            report.skipped(host, reason)
        elif birtest.need(report, [birtest.node(), birtest.proxy(), birtest.module("hosts")]):
            HOSTS[host](report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
