#!/usr/bin/env python3
"""Bound recording with real hosts:  run.py [--only NAME]... [--rounds N] [--calls N] [--seed N] [--jobs N] [--list]

Each case has a HOME and a BIR_HOME of its own, hooks, wrapped servers, a hub and a control server, and a scripted model; what
the hub gives back is compared with the books of the model, of the scripted servers, and of a hook beside ours. README.md
says more. `--only` takes names of cases, and `host` (Claude Code), `others` (other hosts) or `scripted` for all of a kind. Everything runs in a network namespace
that has only loopback; where none can be made, the suite is skipped.
"""

import argparse
import concurrent.futures
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "hosts", "lib")]
import loopback  # noqa: E402

# Of kills in the usual run; tests/long/bound does more.
ROUNDS, CALLS = 20, 10_000


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", action="append", help="a case, or `host`, `others` or `scripted`")
    ap.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds in which the control server is killed (default {ROUNDS})")
    ap.add_argument("--calls", type=int, default=CALLS, help=f"calls of the case `many_calls` (default {CALLS})")
    ap.add_argument("--seed", type=int, help="repeats the choices of a run that printed its seed")
    ap.add_argument("--jobs", type=int, default=2, help="cases at once (default 2): they wait a good deal")
    ap.add_argument("--result", default="bound", help="name of the result below .work/results")
    ap.add_argument("--list", action="store_true", help="show the cases and do nothing")
    opt = ap.parse_args()
    reason = loopback.unavailable() if os.environ.get("BIR_TEST_LOOPBACK") != "1" else None
    if not reason and not opt.list:
        loopback.enter()
    import cases_calls
    import cases_sdk
    import cases_sessions
    import host_codex
    import host_copilot
    import host_gemini
    import host_opencode
    import scripted
    import world
    from world import birtest
    host = {c.__name__: c for c in cases_calls.CASES + cases_sessions.CASES + cases_sdk.CASES}
    others = {"codex": host_codex.run, "copilot-cli": host_copilot.run, "gemini-cli": host_gemini.run, "opencode": host_opencode.run}
    own = {c.__name__: c for c in scripted.CASES}
    kinds = {"host": host, "others": others, "scripted": own}
    chosen = [n for name in opt.only or kinds for n in kinds.get(name) or [name]]
    every = {**host, **others, **own}
    unknown = [n for n in chosen if n not in every]
    if unknown:
        ap.error(f"no such case: {unknown[0]} (there are {', '.join([*kinds, *every])})")
    if opt.list:
        for name, case in every.items():
            print(f"{name:15} {(case.__doc__ or '').splitlines()[0]}")
        return 0
    report = birtest.Report(opt.result)
    if reason:
        report.skipped("bound", reason)
        return report.finish()
    needs = [birtest.proxy(), world.HOOKS, world.homes.HUB, world.homes.CLI, world.homes.UPSTREAM]
    needs += [world.CLAUDE] if set(chosen) & set(host) else []
    needs += [cases_sdk.SDK, birtest.node()] if set(chosen) & {c.__name__ for c in cases_sdk.CASES} else []
    if not birtest.need(report, needs):
        return report.finish()

    def one(name):
        start, problems, w = time.monotonic(), [], None
        try:
            w = world.World(name)
            host[name](w)
        except Exception as why:
            traceback.print_exc()
            problems.append(f"the test itself failed: {type(why).__name__}: {why}")
        if w is not None:
            try:
                problems = w.finish() + problems
            except Exception as why:
                traceback.print_exc()
                problems = w.problems + [*problems, f"the end failed: {type(why).__name__}: {why}"]
            w.problems = problems
            kept = w.done()
        told = f"{len(problems)} problems: " + "; ".join(problems[:8]) + (f" ... kept in {kept}" if w and kept else "") if problems else ""
        report.check(not problems, f"{name}: {(host[name].__doc__ or name).splitlines()[0]}", told)
        return time.monotonic() - start

    def part(name):
        try:
            every[name](report, opt)
        except Exception as why:
            traceback.print_exc()
            report.failed(name, f"the test itself failed: {type(why).__name__}: {why}")

    with concurrent.futures.ThreadPoolExecutor(max(1, opt.jobs)) as pool:
        list(pool.map(lambda name: one(name) if name in host else part(name), [n for n in chosen if n not in own]))
    # These measure nothing, but they want the machine for themselves: a call that waits is a finding.
    for name in (n for n in chosen if n in own):
        part(name)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
