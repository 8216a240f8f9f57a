"""Sessions that go on, part, begin anew, and stand side by side."""

import concurrent.futures
import os
import random
import signal
import threading

import judge
from model import call, text, turn
from world import HOOKS, birtest, homes, turns, user

BYPASS = ("--permission-mode", "bypassPermissions")
# Sessions at once, of the many.
AT_ONCE = 5
# How often the control server is killed during one session.
KILLS = 5


def simple(w, phrase, n=1):
    """A turn with a built-in call and one over MCP."""
    w.model.script(phrase, [turn(call("Bash", command=f"echo {phrase}"), usage=(n, 2 * n, 0, 0)),
                            turn(call("mcp__s1__echo", message=phrase), usage=(n + 1, n, 3, 0)), turn(text(f"{phrase} is done."), usage=(n + 2, n, 0, 5))])


def judged(w, runs, phrase, **more):
    return judge.run(w, w.run_of(runs, phrase), phrase, outcomes=["ok", "ok"], answer=f"{phrase} is done.", **more)


def several_turns(w):
    """Three prompts of one session are three runs."""
    d = w.project()
    phrases = ["P-ONE", "P-TWO", "P-THREE"]
    for n, p in enumerate(phrases, 1):
        simple(w, p, n)
    host = w.session(d, lines=[user("P-ONE please"), turns(1), user("P-TWO please"), turns(2), 3.0, user("P-THREE please"), turns(3), 0.5])
    runs = w.runs(3)
    for p in phrases:
        judged(w, runs, p, session=host.session_id())


def continued(w):
    """--continue goes on with the session, whose servers are told another id."""
    d = w.project()
    simple(w, "P-FIRST", 1)
    simple(w, "P-CONTINUED", 4)
    first = w.session(d, "P-FIRST please")
    again = w.session(d, "P-CONTINUED please", args=[*BYPASS, "--continue"])
    if first.session_id() != again.session_id():
        w.say("the host did not go on with the session")
    runs = w.runs(2)
    for p in ("P-FIRST", "P-CONTINUED"):
        judged(w, runs, p, session=first.session_id())


def resumed(w):
    """--resume of a session that is over."""
    d = w.project()
    simple(w, "P-BEFORE", 1)
    simple(w, "P-RESUMED", 4)
    first = w.session(d, "P-BEFORE please")
    w.session(d, "P-RESUMED please", args=[*BYPASS, "--resume", first.session_id() or ""])
    runs = w.runs(2)
    for p in ("P-BEFORE", "P-RESUMED"):
        judged(w, runs, p, session=first.session_id())


def forked(w):
    """--fork-session copies the old rows into a new transcript: nothing is counted, or recorded, twice."""
    d = w.project()
    for n, p in enumerate(("P-ROOT", "P-FORK", "P-AFTER"), 1):
        simple(w, p, n)
    first = w.session(d, "P-ROOT please")
    fork = w.session(d, "P-FORK please", args=[*BYPASS, "--resume", first.session_id() or "", "--fork-session"])
    w.session(d, "P-AFTER please", args=[*BYPASS, "--resume", fork.session_id() or ""])
    runs = w.runs(3)
    judged(w, runs, "P-ROOT", session=first.session_id())
    judged(w, runs, "P-FORK", session=fork.session_id())
    judged(w, runs, "P-AFTER", session=fork.session_id())


def cleared(w):
    """/clear: a new session in the same process, with the same servers."""
    d = w.project()
    simple(w, "P-OLD", 1)
    simple(w, "P-NEW", 4)
    w.session(d, lines=[user("P-OLD please"), turns(1), user("/clear"), 2.0, user("P-NEW please"),
                        {"await": lambda host: any("P-NEW is done." in str(r.get("result")) for r in host.rows), "what": "the end of the turn after /clear"}, 0.5])
    runs = w.runs(2)
    judged(w, runs, "P-OLD")
    judged(w, runs, "P-NEW")
    ids = {r["run"].get("sessionId") for r in runs}
    if len(ids) != len(runs):
        w.say(f"the sessions of the runs are {ids}")


def compacted(w):
    """/compact in the middle of a session: no run of its own, and the turn after it is whole."""
    d = w.project()
    simple(w, "P-LONG", 1)
    simple(w, "P-SHORT", 4)
    # What the host itself asks for a summary with; it stands in no transcript, and belongs to no turn.
    w.model.script("<summary> block", [turn(text("<summary>It was long.</summary>"), usage=(100, 100, 0, 0))])
    w.session(d, lines=[user("P-LONG please"), turns(1), user("/compact"), turns(2), user("P-SHORT please"),
                        {"await": lambda host: any("P-SHORT is done." in str(r.get("result")) for r in host.rows), "what": "the end of the turn after /compact"}, 0.5])
    runs = w.runs(2)
    if not w.model.asked("<summary> block"):
        w.say("the host did not ask for a summary")
    judged(w, runs, "P-LONG")
    judged(w, runs, "P-SHORT")


def side_by_side(w):
    """Two sessions at the same time in one directory: each run has its own calls alone."""
    d = w.project(servers=("s1",))
    for p, n in (("P-LEFT", 1), ("P-RIGHT", 5)):
        w.model.script(p, [turn(call("mcp__s1__slow", ms=700), usage=(n, n, 0, 0)), turn(call("Bash", command=f"echo {p}"), usage=(n, n, 0, 0)),
                           turn(call("mcp__s1__echo", message="the same in both"), usage=(n, n, 0, 0)), turn(text(f"{p} is done."), usage=(n, n, 0, 0))])
    both = [w.start(d, f"{p} please") for p in ("P-LEFT", "P-RIGHT")]
    for host in both:
        host.end(90)
    runs = w.runs(2)
    for p, host in zip(("P-LEFT", "P-RIGHT"), both):
        judge.run(w, w.run_of(runs, p), p, outcomes=["ok"] * 3, answer=f"{p} is done.", session=host.session_id())


def sub_directory(w):
    """A session in a directory below the one that is set up; the hooks are the user's."""
    d = w.project(in_user_scope=True, git=True)
    deep = os.path.join(d, "a", "b")
    os.makedirs(deep)
    simple(w, "P-DEEP", 1)
    w.session(deep, "P-DEEP please")
    runs = w.runs(1)
    judged(w, runs, "P-DEEP")
    if runs and runs[0]["run"].get("project") != d:
        w.say(f"the project is {runs[0]['run'].get('project')!r}, not {d!r}")


def twenty(w):
    """Twenty sessions in ten directories, five at a time."""
    places = {n: w.project(f"project-{n}", servers={"s1": w.server("s1", log=os.path.join(w.logs, f"s1.{n}.jsonl"))}) for n in range(10)}
    phrases = [f"P-MANY-{n:02}" for n in range(20)]
    for n, p in enumerate(phrases, 1):
        simple(w, p, n)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        hosts = list(pool.map(lambda n: w.session(places[n % 10], f"{phrases[n]} please"), range(20)))
    runs = w.runs(20, budget=90)
    for n, p in enumerate(phrases):
        judged(w, runs, p, session=hosts[n].session_id())
        whole = next((r for r in runs if p in (r["run"].get("input") or "")), None)
        if whole and whole["run"].get("project") != places[n % 10]:
            w.say(f"{p}: the project is {whole['run'].get('project')!r}, not {places[n % 10]!r}")
    served = {w.control(d).get("pid") for d in places.values()}
    if len(served) != 1:
        w.say(f"one control server serves all projects of a user; the discovery files name {served}")


def recorder_killed(w):
    """The control server is killed five times while the real host works: it notices nothing, and the run is whole."""
    d = w.project()
    asked = [call("Bash", command=f"sleep 0.3; echo {n}") if n % 2 else call("mcp__s1__echo", message=str(n)) for n in range(10)]
    w.model.script("P-SURVIVES", [*(turn(c) for c in asked), turn(text("Done."))])
    rng, killed, over = random.Random(), [], threading.Event()

    def kill():
        while len(killed) < KILLS and not over.wait(rng.uniform(0.05, 0.6)):
            pid = w.control(d).get("pid")
            if pid and pid not in killed:
                try:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                except ProcessLookupError:
                    pass

    host = w.start(d, "P-SURVIVES please")
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    if host.end(90) != 0:
        w.say(f"the host ended otherwise than with 0: {birtest.short(host.stderr(), 200)}")
    over.set()
    killer.join(5)
    if len(killed) < 2:
        w.say(f"the control server was killed {len(killed)} times only")
    # Whoever comes next brings it back, and it reads what waits.
    w.home.run([HOOKS, "revive"], "revive", cwd=d)
    judge.run(w, w.run_of(w.runs(1, budget=homes.ARRIVES), "P-SURVIVES"), "P-SURVIVES", outcomes=["ok"] * len(asked), answer="Done.")


CASES = [several_turns, continued, resumed, forked, cleared, compacted, side_by_side, sub_directory, twenty, recorder_killed]
