"""kill -9 of the real `bir install` and `bir uninstall` at random moments: every file is in one state or the other, and the next command
repairs whatever was left."""

import os
import random
import signal
import time

from case import case
from place import homes

# How often a command is timed, to know between which moments to kill.
TIMED = 3


def killed(place, command, after):
    """Starts a command and kills it; whether it was killed before its end."""
    process = place.start([homes.CLI, command, "--yes"], f"bir-{command}", cwd=place.project)
    time.sleep(after)
    process.signal(signal.SIGKILL)
    status = process.wait(10)
    process.end(1)
    return status == -signal.SIGKILL


def took(place, command):
    start = time.monotonic()
    place.must(command, "--yes")
    return time.monotonic() - start


@case
def kill_9(place):
    """killed at random moments: one state or the other, and the next command repairs"""
    opt = place.opt
    seed = opt.seed if opt.seed is not None else random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    before = place.before
    longest = {"install": 0, "uninstall": 0}
    for _ in range(TIMED):
        longest["install"] = max(longest["install"], took(place, "install"))
        installed = place.picture()
        longest["uninstall"] = max(longest["uninstall"], took(place, "uninstall"))
        place.same(before, place.picture(), "after install and uninstall")
    kills, half = 0, 0
    for number in range(opt.rounds):
        command = rng.choice(["install", "uninstall"])
        if command == "uninstall":
            place.must("install", "--yes")
        kills += killed(place, command, rng.uniform(0, longest[command] * 1.1))
        now = place.picture()
        for path in {*before, *installed}:
            either = (before.get(path), installed.get(path))
            place.check(now.get(path) in either, f"round {number}: ~/{path} is neither as before nor as installed after a killed {command}: {now.get(path)}")
        half += any(now.get(path) != before.get(path) for path in {*before, *installed}) and any(now.get(path) != installed.get(path) for path in {*before, *installed})
        # Whatever comes next finds it.
        following = rng.choice(["install", "uninstall", "install twice"])
        if following.startswith("install"):
            place.must("install", "--yes")
            place.same(installed, place.picture(), f"round {number}: a killed {command}, then install")
        if following != "install":
            place.must("uninstall", "--yes")
            place.same(before, place.picture(), f"round {number}: a killed {command}, then uninstall")
        else:
            place.must("uninstall", "--yes")
        if os.path.exists(os.path.join(place.state, "pending.json")):
            place.say(f"round {number}: pending.json is still there")
        if len(place.found) > 4:
            break
    place.no_secret(allowed={*place.files})
    place.check(kills * 3 >= opt.rounds, f"only {kills} of {opt.rounds} commands were killed before their end")
    return f"; {opt.rounds} rounds, seed {seed}, {kills} killed in the middle, {half} of them between two files"


CASES = {"kill_9": kill_9}
