"""Installing beside others: a session that is running, a program that writes the same file all the time, another install."""

import json
import os
import threading

import configs
import part_claude
import world
from case import case
from model import call, text, turn
from place import REMOTE, SERVERS, Place, birtest
from world import turns, user

# Times that the writer's file is installed into and out of again, and pairs of installs at once.
TIMES, PAIRS = 25, 15


def running(report, opt):
    """`bir install` while Claude Code is in a session: it goes on, and nothing that it writes is lost."""
    place = Place("running")
    model = world.Model()
    for number in (1, 2, 3):
        model.script(f"P-TURN-{number}", [turn(call("mcp__alpha__echo", message=f"turn {number}")), turn(text(f"turn {number} is done"))])
    try:
        place.start_remote()
        configs.claude_code(place, None)
        hub = world.Hub(place)
        seat = part_claude.Seat(place, model)
        first = json.loads(place.text(part_claude.OWN))

        def act(*args):
            """A command between two turns: what the host had written before is there afterwards."""
            def do(_):
                then = json.loads(place.text(part_claude.OWN))
                place.must(*args)
                now = json.loads(place.text(part_claude.OWN))
                lost = [key for key in then if key not in now] + [key for key in then["projects"][place.project] if key not in now["projects"][place.project]]
                place.check(not lost, f"lost from ~/.claude.json by `bir {args[0]}`: {lost}")
                return True
            return {"await": do, "what": f"`bir {args[0]}`"}

        session = seat.start(place.project, lines=[user("P-TURN-1 please"), turns(1), act("install", "--yes"), user("P-TURN-2 please"), turns(2)])
        session.end(world.SESSION)
        session.kill()
        place.check(session.status == 0, f"the session ended with {session.status}")
        place.check([a["message"] for _, a in place.calls("alpha")] == ["turn 1", "turn 2"], f"alpha was sent {place.calls('alpha')}")
        after = json.loads(place.text(part_claude.OWN))
        local = after["projects"][place.project].get("mcpServers", {})
        kept = [n for n in SERVERS if os.path.basename(str(local.get(n, {}).get("command"))) == "bir-proxy"]
        place.check(after["projects"].get("/home/mila/other") == first["projects"]["/home/mila/other"], "another project's entry has changed")
        place.must("install", "--yes")
        # Once more, and out while it runs.
        session = seat.start(place.project, lines=[user("P-TURN-3 please"), turns(1), act("uninstall", "--yes")])
        session.end(world.SESSION)
        session.kill()
        place.check(session.status == 0, f"the second session ended with {session.status}")
        end = json.loads(place.text(part_claude.OWN))
        note = f" (the host kept {len(kept)} of {len(SERVERS)} entries that came while it ran)"
        if "bir-proxy" in place.text(part_claude.OWN):
            # Written back by the host from its memory; the next command takes it out.
            place.must("uninstall", "--yes", "--all")
            note += ", and wrote back what was taken out"
        ours = "bir-proxy" in place.text(part_claude.OWN)
        place.check(not ours, "something of ours is left in ~/.claude.json")
        place.check(end["projects"][place.project]["mcpServers"].keys() >= {"alpha"}, "alpha is not the project's any more")
        del hub
    finally:
        place.here("down")
        model.close()
        problems = place.close()
        kept_in = place.done(not problems)
        told = f"{len(problems)} problems: " + "; ".join(problems[:8]) + (f" ... kept in {kept_in}" if kept_in else "")
        report.check(not problems, f"running: {running.__doc__.splitlines()[0]}" + (note if not problems else ""), told)


class Writer:
    """Writes a JSON file as Claude Code writes its own: reads it, changes something, and puts the whole in its place. What it once wrote and does not
    find again, somebody has overwritten."""

    def __init__(self, path, every=0.2):
        self.path, self.every, self.count, self.missing = path, every, 0, []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._write, daemon=True)
        self.thread.start()

    def _write(self):
        while not self.over.is_set():
            with open(self.path) as f:
                value = json.load(f)
            written = value.setdefault("written", {})
            lost = [n for n in range(self.count) if f"n{n}" not in written]
            if lost and not self.missing:
                self.missing = lost
            written[f"n{self.count}"] = self.count
            self.count += 1
            temporary = f"{self.path}.tmp.writer"
            with open(temporary, "w") as f:
                json.dump(value, f, indent=2)
            os.rename(temporary, self.path)
            self.over.wait(self.every)

    def stop(self):
        self.over.set()
        self.thread.join(10)


@case
def rewriting(place):
    """a program writes ~/.claude.json all the time: nothing that it wrote is overwritten"""
    writer = Writer(os.path.join(place.home, part_claude.OWN))
    busy = 0
    try:
        for _ in range(TIMES):
            for command in ("install", "uninstall"):
                status, out, err = place.here(command, "--yes", "--host", "claude-code", *(["--no-hooks"] if command == "install" else []))
                # It may give up, if it says so.
                busy += status != 0
                place.check(status == 0 or "go on changing the files" in out + err, f"{command} ended with {status}: {birtest.short(out + err, 200)}")
    finally:
        writer.stop()
    place.check(not writer.missing, f"{len(writer.missing)} of {writer.count} writes were overwritten, the first of them n{writer.missing[:1]}")
    place.check(busy <= TIMES // 2, f"{busy} of {2 * TIMES} commands gave up")
    place.must("install", "--yes", "--host", "claude-code", "--no-hooks")
    place.must("uninstall", "--yes")
    end = json.loads(place.text(part_claude.OWN))
    place.check(len(end.pop("written")) == writer.count, "writes are missing at the end")
    # What the writer read while we were in it, it wrote back; the entries are as they were all the same.
    place.check("bir-proxy" not in json.dumps(end), "something of ours is left")
    place.check(end["projects"][place.project]["mcpServers"] == {"alpha": configs.claude_entry(place, "alpha")}, f"the project's servers are {birtest.short(end['projects'][place.project]['mcpServers'], 300)}")
    place.check(end["mcpServers"] == {REMOTE: configs.claude_remote(place)}, "the user's servers are not as they were")
    return f"; {writer.count} writes during {2 * TIMES} commands, {busy} gave up"


def at_once(place, *commands):
    """Commands that run at the same time: [(status, output)]."""
    found = [None] * len(commands)

    def run(number, command):
        status, out, err = place.here(*command)
        found[number] = (status, out + err)

    threads = [threading.Thread(target=run, args=(n, c)) for n, c in enumerate(commands)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@case
def two_at_once(place):
    """two installs at the same moment, of one project and of two, and an install beside an uninstall"""
    other = os.path.join(os.path.realpath(place.home), "other")
    os.makedirs(os.path.join(other, ".git"))
    before = place.picture()
    place.must("install", "--yes")
    installed = place.picture()
    place.must("uninstall", "--yes")
    busy = 0
    for number in range(PAIRS):
        pair = [("install", "--yes"), ("install", "--yes")] if number % 3 == 0 else [("install", "--yes"), ("install", other, "--yes")] if number % 3 == 1 else [("install", "--yes"), ("uninstall", "--yes")]
        told = at_once(place, *pair)
        for command, (status, said) in zip(pair, told):
            # Another one is at it, or was faster.
            fair = status == 0 or "another `bir" in said or "go on changing the files" in said
            busy += status != 0
            place.check(fair, f"{command} beside {pair} ended with {status}: {birtest.short(said, 300)}")
        place.check(any(status == 0 for status, _ in told), f"none of {pair} did anything")
        if number % 3 == 0:
            place.same(installed, place.picture(), "after two installs at once")
        place.must("uninstall", "--all", "--yes")
        place.same(before, place.picture(), f"after pair {number}")
        if place.found:
            break
    return f"; {PAIRS} pairs, {busy} commands gave way"


CLAUDE = {"running": running}
CASES = {**CLAUDE, "rewriting": rewriting, "two_at_once": two_at_once}
