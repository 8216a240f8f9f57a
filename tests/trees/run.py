#!/usr/bin/env python3
"""The small programs stay small: the crates that each one is built from are written down in <program>.txt.

    run.py              compare
    run.py --update     write the files anew, after a dependency was added on purpose

A new crate in a program that sits between every host and server is a decision: it costs start time and memory.
"""

import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import birtest  # noqa: E402

PROGRAMS = ["bir-proxy", "bir-hooks", "bir-scenario"]
TARGET = "x86_64-unknown-linux-gnu"  # one target, so that the list is the same on every machine


def crates(program):
    out = subprocess.run(["cargo", "tree", "--locked", "-p", program, "-e", "normal,no-proc-macro", "--prefix", "none", "--target", TARGET, "-f", "{p}"],
                         cwd=birtest.ROOT, capture_output=True, text=True, check=True).stdout
    return sorted({line.split()[0] for line in out.splitlines() if line.strip()})


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--update", action="store_true")
    update = ap.parse_args().update
    report = birtest.Report("trees")
    for program in PROGRAMS:
        path, now = os.path.join(HERE, f"{program}.txt"), crates(program)
        if update:
            with open(path, "w") as f:
                f.write("\n".join(now) + "\n")
        with open(path) as f:
            known = f.read().split()
        new, gone = sorted(set(now) - set(known)), sorted(set(known) - set(now))
        report.check(not new and not gone, f"{program}: {len(now)} crates",
                     f"new: {' '.join(new) or 'none'}; gone: {' '.join(gone) or 'none'} (tests/trees/run.py --update writes the list anew)")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
