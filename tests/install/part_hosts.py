"""Real hosts as their users have them: installed, recorded, uninstalled, and as before.

    unwrapped session ─ picture ─ install ─ uninstall ─ the same picture ─ install ─ doctor ─ recorded session ─ the hub has it
      ─ doctor ─ uninstall ─ the files ─ unwrapped session: no new run, no program of ours

The first session is there so that whatever the host writes at its first start is written before anything is compared.
"""

import contextlib
import os

import configs
import host_codex
import host_copilot
import host_gemini
import host_opencode
import host_session
from place import HEADER, SERVERS, STDIO, Place, birtest, homes

PROMPT = "The recorded prompt"
ANSWER = "All of it is done."
CALLS = [[("echo", {"message": f"to {name}"}, name)] for name in SERVERS] + [[("shell", "echo from the shell")]]
# Before it is installed, while it is, and afterwards.
SESSIONS = 3


class Case:
    """One host; `write` puts its configuration there, `rewrites` are the files that it is known to write anew in a session, `not_ours` patterns of
    paths that a program of the host writes which the install has to ask."""

    def __init__(self, host, write, rewrites=(), not_ours=()):
        self.host, self.name, self.write, self.rewrites, self.not_ours = host, host.NAME, write, rewrites, not_ours

    def __call__(self, report, opt):
        place, notes = Place(self.name), []
        try:
            place.programs = [os.path.dirname(self.host.PROGRAM)] if os.access(self.host.PROGRAM, os.X_OK) else []
            place.not_ours = self.not_ours
            place.start_remote()
            with self.surroundings(place) as (hub, model):
                self.through(place, hub, model, self.write(place, getattr(model, "port", None)), notes)
                place.here("down")
        finally:
            problems = place.close()
            kept = place.done(not problems)
            told = f"{len(problems)} problems: " + "; ".join(problems[:8]) + (f" ... kept in {kept}" if kept else "")
            report.check(not problems, f"{self.name}: installed, recorded, uninstalled" + "".join(f"; {note}" for note in notes), told)

    @contextlib.contextmanager
    def surroundings(self, place):
        """A hub, and a scripted model."""
        with homes.Hub(place) as hub, host_session.Model(place, host_session.plan(self.host, [*CALLS, ANSWER] * SESSIONS)) as model:
            yield hub, model

    def launch(self, place, model, number):
        """One session to its end: (status, what it said)."""
        status, out, err = place.run(self.host.turn(place, PROMPT, 1), f"{self.name}-{number}", host_session.TURN, self.host.env(model), cwd=place.project)
        return status, out + err

    def through(self, place, hub, model, files, notes):
        place.watching()
        self.session(place, model, 1, "before")
        place.check(not place.watch.ours("bir-proxy", "bir-hooks"), f"a program of ours ran before it was installed: {place.watch.ours()}")
        place.check(not hub.runs(), "there is a run before anything is installed")
        before, secret = place.picture(), place.with_canaries()

        # A plan, then into it, and out again without a session between.
        told, out, err = place.here("install", "--host", self.name)
        place.check(told == 1 and "--yes" in out + err, f"a plan that nobody accepts ended with {told}, and does not say what --yes does: {birtest.short(out + err, 300)}")
        place.must("install", "--host", self.name, "--dry-run")
        place.same(before, place.picture(), "after a plan and --dry-run")
        place.must("install", "--yes")
        installed = place.picture()
        place.check(any(installed.get(path) != before.get(path) for path in files), "`bir install --yes` changed none of the host's files")
        place.must("uninstall", "--yes")
        place.same(before, place.picture(), "after install and uninstall")
        place.must("install", "--yes")
        again = place.picture()
        place.check(set(again) == set(installed), f"the second install makes other files: {sorted(set(again) ^ set(installed))}")
        place.must("install", "--yes")
        place.same(again, place.picture(), "after an install of what is installed")
        place.no_secret(allowed={*secret, *files})
        place.doctor("after the install")
        told = place.must("status")
        for name in SERVERS:
            place.check(name in told, f"`bir status` does not name {name}")

        # The recorded session.
        place.watch.forget()
        self.session(place, model, 2, "recorded")
        self.recorded(place, hub)
        place.check(len(place.watch.ours("bir-proxy")) == len(SERVERS), f"proxies that ran: {place.watch.ours('bir-proxy')}")
        place.doctor("after the session")

        # Out again.
        now = place.picture()
        rewritten = [path for path in files if now.get(path) != again.get(path)]
        notes += [f"~/{path} was written anew by the host, and compared by its values" for path in rewritten]
        for path in rewritten:
            place.check(path in self.rewrites, f"the host wrote ~/{path} anew, which it is not known to do")
        wrote = {path: place.text(path) for path in rewritten}
        place.must("uninstall", "--yes")
        after = place.picture()
        for path in files:
            if path in rewritten:
                self.structurally(place, path, wrote[path])
            else:
                place.check(after.get(path) == before.get(path), f"~/{path} is not byte for byte as before: {before.get(path)} then, {after.get(path)} now")
        # What the host made in its session is its own.
        left = sorted(path for path in after if path not in before and path in again)
        place.check(not left, f"left behind by us: {left}")

        # As if we had never been there.
        count = len(hub.runs())
        place.watch.forget()
        self.session(place, model, 3, "afterwards")
        place.check(not place.watch.ours("bir-proxy", "bir-hooks"), f"a program of ours ran after it was uninstalled: {place.watch.ours()}")
        place.check(len(hub.runs()) == count, f"there are {len(hub.runs())} runs, and {count} before the unwrapped session")
        place.no_secret()

    def session(self, place, model, number, when):
        seen = {name: len(place.calls(name)) for name in SERVERS}
        witness = len(place.rows("witness.jsonl"))
        status, said = self.launch(place, model, number)
        place.check(status == 0, f"the session {when} ended with {status}: {birtest.short(said[-500:], 500)}")
        for name in SERVERS:
            got = place.calls(name)[seen[name]:]
            place.check(got == [("echo", {"message": f"to {name}"})], f"{name} was sent {got} by the session {when}")
        for name in STDIO:
            place.check(place.started_with(name) == {place.variable(name)[1]}, f"{name} did not find its own variable in the session {when}")
        place.check(place.sent_headers() == {place.canaries["gamma"]}, f"the remote server was not sent its {HEADER} in the session {when}")
        place.check(len(place.rows("witness.jsonl")) > witness, f"the hook of somebody else told of nothing in the session {when}")

    def recorded(self, place, hub):
        """The one run: bound, with every call, seen by hook and proxy."""
        ended = lambda: [r for r in hub.runs() if r.get("endedAt")]
        homes.until(lambda: sum(r["calls"] for r in ended()) >= len(CALLS), homes.ANSWERS)
        runs = hub.runs()
        if not place.check(len(runs) == 1, f"{len(runs)} runs are in the hub, expected one: {birtest.short(runs, 600)}"):
            return
        whole = hub.run(runs[0]["id"])
        run = whole["run"]
        said = ANSWER if self.host.TELLS_ANSWER else None
        told = {"tier": run["tier"], "input": run.get("input"), "finalOutput": run.get("finalOutput"), "host": (run.get("host") or {}).get("app"), "lossy": run["lossy"]}
        expected = {"tier": "bound", "input": PROMPT, "finalOutput": said, "host": self.name, "lossy": False}
        place.check(told == expected, f"the run is {told}, expected {expected}")
        compare_calls(place, whole, {name: ["hook", "proxy"] for name in SERVERS})

    def structurally(self, place, path, wrote):
        """A file that the host wrote while we were in it: nothing of ours is left, and it holds what the host last wrote otherwise."""
        text = place.text(path)
        place.check("bir-proxy" not in text and "bir-hooks" not in text, f"something of ours is left in ~/{path}")


def compare_calls(place, whole, servers):
    """Each server's `echo` once, seen by those that it says, and one built-in call that hooks alone saw."""
    pairs = list(zip(whole["steps"][::2], whole["steps"][1::2]))
    seen = sorted([e.get("server") or "-", e.get("tool") or "-", sorted(e.get("sources") or []), e.get("outcome")] for _, e in pairs)
    expected = sorted([[name, "echo", sources, "ok"] for name, sources in servers.items()] + [["-", "-", ["hook"], "ok"]])
    place.check(seen == expected, f"the calls are {seen}, expected {expected}")


def codex(place, port):
    """With its hooks trusted, as their user has done."""
    files, host = configs.codex(place, port), host_codex.Codex()
    host_codex.trust(host.PROGRAM, place, host.env(None))
    return files


CASES = {case.name: case for case in (
    # Its app server is asked to trust our hooks, and keeps a database.
    Case(host_codex.Codex(), codex, not_ours=(".codex/.tmp", ".codex/*.sqlite*")),
    Case(host_copilot.Copilot(), configs.copilot),
    Case(host_gemini.Gemini(), configs.gemini),
    Case(host_opencode.Opencode(), configs.opencode),
)}
