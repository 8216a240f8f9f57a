#!/usr/bin/env python3
"""Recording from end to end, with real programs:  run.py [--only PART]... [--rounds N] [--seed N] [--jobs N]

    everything   what was on the wire is what the hub gives back
    secrets      1,000 secrets are nowhere, and 1,000 look-alikes are as they were
    faults       programs killed, disks full, networks cut: nothing that reached the spool is missing or twice
    input        bad input, wrong arguments, foreign and newer data: one clear answer each, and nothing is lost
    demo         `bir demo` on a fresh machine, and `bir down` after it

README.md says what each part can tell and what it cannot.
"""

import argparse
import importlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import home as homes  # noqa: E402
from home import birtest  # noqa: E402

PARTS = ["everything", "secrets", "faults", "input", "demo"]
# Of `faults` in the usual run; tests/long/recording does more.
ROUNDS = 12


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", action="append", choices=PARTS)
    ap.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds of `faults` (default {ROUNDS})")
    ap.add_argument("--seed", type=int, help="repeats the choices of a run that printed its seed")
    ap.add_argument("--jobs", type=int, default=4, help="rounds of `faults` at once (default 4): they mostly wait")
    ap.add_argument("--fault", action="append", help="only this kind of fault")
    ap.add_argument("--result", default="recording", help="name of the result below .work/results")
    opt = ap.parse_args()
    report = birtest.Report(opt.result)
    os.makedirs(homes.OUT, exist_ok=True)
    if birtest.need(report, [homes.PROXY, homes.HUB, homes.CLI, homes.UPSTREAM]):
        for part in opt.only or PARTS:
            try:
                importlib.import_module(f"part_{part}").run(report, opt)
            except Exception as why:  # the other parts still say what they have to say
                import traceback
                traceback.print_exc()
                report.failed(part, f"the test itself failed: {type(why).__name__}: {why}")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
