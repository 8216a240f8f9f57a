#!/usr/bin/env python3
"""Installing into real hosts and out again:  run.py [--only NAME]... [--rounds N] [--seed N] [--jobs N] [--list]

Each case has a HOME of its own with hosts as their users have them. README.md says what is compared with what. Everything runs in
a network namespace that has only loopback; where none can be made, the suite is skipped.
"""

import argparse
import concurrent.futures
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "bound"), os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "hosts", "lib")]
import loopback  # noqa: E402

# Kills of an install or an uninstall in the usual run; tests/long/install does more.
ROUNDS = 100


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", action="append", help="a case, or a kind: hosts, claude, options, beside, kill")
    ap.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds in which a command is killed (default {ROUNDS})")
    ap.add_argument("--seed", type=int, help="repeats the choices of a run that printed its seed")
    ap.add_argument("--jobs", type=int, default=2, help="cases at once (default 2): they wait a good deal")
    ap.add_argument("--result", default="install", help="name of the result below .work/results")
    ap.add_argument("--list", action="store_true", help="show the cases and do nothing")
    opt = ap.parse_args()
    reason = loopback.unavailable() if os.environ.get("BIR_TEST_LOOPBACK") != "1" else None
    if not reason and not opt.list:
        loopback.enter()
    import part_beside
    import part_claude
    import part_hosts
    import part_kill
    import part_options
    import place
    import world
    from place import birtest
    kinds = {"hosts": part_hosts.CASES, "claude": part_claude.CASES, "options": part_options.CASES, "beside": part_beside.CASES, "kill": part_kill.CASES}
    every = {name: case for cases in kinds.values() for name, case in cases.items()}
    chosen = [n for name in opt.only or kinds for n in kinds.get(name) or [name]]
    unknown = [n for n in chosen if n not in every]
    if unknown:
        ap.error(f"no such case: {unknown[0]} (there are {', '.join([*kinds, *every])})")
    if opt.list:
        for name in every:
            print(name)
        return 0
    report = birtest.Report(opt.result)
    if reason:
        report.skipped("install", reason)
        return report.finish()
    needs = [*place.PROGRAMS, birtest.node()]
    needs += [case.host.PROGRAM for name, case in part_hosts.CASES.items() if name in chosen]
    needs += [world.CLAUDE] if set(chosen) & set(part_claude.CASES) | set(chosen) & set(part_beside.CLAUDE) else []
    if not birtest.need(report, needs):
        return report.finish()

    def one(name):
        start = time.monotonic()
        try:
            every[name](report, opt)
        except Exception as why:
            traceback.print_exc()
            report.failed(name, f"the test itself failed: {type(why).__name__}: {why}")
        print(f"        {name} took {time.monotonic() - start:.0f} s", flush=True)

    # Rounds of kills count on moments, and want the machine for themselves.
    with concurrent.futures.ThreadPoolExecutor(max(1, opt.jobs)) as pool:
        list(pool.map(one, [n for n in chosen if n not in part_kill.CASES]))
    for name in (n for n in chosen if n in part_kill.CASES):
        one(name)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
