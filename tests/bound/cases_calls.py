"""What can become of a call, in one session of the real host."""

import os
import signal
import time

import judge
from model import call, text, thinking, turn
from world import birtest, homes, interrupt, reached, told, turns, user

DEFAULT = ("--permission-mode", "default")


def mixed(w):
    """Built-in and MCP calls, side by side and one after the other, with what the model said before them."""
    d = w.project(servers=("s1", "s2"))
    w.model.script("P-MIXED", [
        turn(thinking("I weigh it."), text("First I look around."), call("Bash", command="echo one"), call("mcp__s1__echo", message="ä 😀"), usage=(11, 21, 31, 41)),
        turn(call("mcp__s2__structured"), usage=(12, 22, 0, 0)),
        turn(text("Now both."), call("mcp__s1__echo", message="left"), call("mcp__s2__echo", message="right"), call("Bash", command="echo two"), usage=(13, 23, 0, 0)),
        turn(text("All of it is done."), usage=(14, 24, 0, 0))])
    w.session(d, "P-MIXED please")
    runs = w.runs(1)
    judge.run(w, w.run_of(runs, "P-MIXED"), "P-MIXED", outcomes=["ok"] * 6, answer="All of it is done.", context=["First I look around.", "Now both."])


def failures(w):
    """A failing command, isError, a JSON-RPC error, a call that takes too long, a file that is not there."""
    d = w.project()
    w.model.script("P-FAIL", [
        turn(call("Bash", command="exit 3")), turn(call("mcp__s1__fail")), turn(call("mcp__s1__rpc_error")), turn(call("mcp__s1__slow", ms=6000)),
        turn(call("Read", file_path="/no/such/file")), turn(call("mcp__s1__echo", message="it goes on")), turn(text("Done."))])
    w.session(d, "P-FAIL please", env={"MCP_TOOL_TIMEOUT": "2000"})
    judge.run(w, w.run_of(w.runs(1), "P-FAIL"), "P-FAIL", outcomes=["tool_error", "tool_error", "rpc_error", "timeout", "tool_error", "ok"], answer="Done.")


def refused(w):
    """Refused by a hook, by a rule, for want of a permission; and a tool that there is not."""
    deny = {"stdout": {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not here"}}}
    d = w.project(more_hooks={"PreToolUse": [{"matcher": "Bash", **w.witness(deny)}, {"matcher": "mcp__s1__fail", **w.witness(deny)}]},
                  permissions={"deny": ["Read(/etc/**)"], "allow": ["mcp__s1__echo"]})
    w.model.script("P-REFUSED", [
        turn(call("Bash", command="echo never"), call("mcp__s1__fail"), call("Write", file_path=os.path.join(d, "x"), content="y"), call("mcp__s1__image")),
        turn(call("NoSuchTool", a=1), call("mcp__s1__echo", message="allowed")), turn(text("Done."))])
    w.session(d, "P-REFUSED please", args=DEFAULT)
    judge.run(w, w.run_of(w.runs(1), "P-REFUSED"), "P-REFUSED", outcomes=["denied", "denied", "denied", "denied", judge.NO_TOOL, "ok"], answer="Done.")
    if len(w.served("s1")) != 1:
        w.say(f"the server was sent {[s[2] for s in w.served('s1')]}, expected echo alone")


def interrupted(w):
    """The user interrupts a command, then a call over MCP; the session goes on after each."""
    d = w.project()
    w.model.script("P-INT-BASH", [turn(text("I wait."), call("Bash", command="python3 -c 'import time; time.sleep(40)'"))])
    w.model.script("P-INT-MCP", [turn(call("mcp__s1__slow", ms=40000))])
    w.model.script("P-INT-AFTER", [turn(call("mcp__s1__echo", message="after")), turn(text("Done."))])
    w.session(d, lines=[user("P-INT-BASH please"), told("PreToolUse", 1), 1.0, interrupt(), turns(1), user("P-INT-MCP please"), reached("s1", 1), 0.5, interrupt(),
                        turns(2), user("P-INT-AFTER please"), turns(3), 0.5])
    runs = w.runs(3)
    judge.run(w, w.run_of(runs, "P-INT-BASH"), "P-INT-BASH", outcomes=["cancelled"], answer=None)
    judge.run(w, w.run_of(runs, "P-INT-MCP"), "P-INT-MCP", outcomes=["cancelled"], answer=None)
    judge.run(w, w.run_of(runs, "P-INT-AFTER"), "P-INT-AFTER", outcomes=["ok"], answer="Done.")


def crash(w):
    """A server dies in the middle of a call; the host starts it again for the next one."""
    d = w.project()
    w.model.script("P-CRASH", [turn(call("mcp__s1__echo", message="before")), turn(call("mcp__s1__crash")), turn(call("mcp__s1__echo", message="after")),
                               turn(text("Done."))])
    w.session(d, "P-CRASH please")
    judge.run(w, w.run_of(w.runs(1), "P-CRASH"), "P-CRASH", outcomes=["ok", ("rpc_error", "tool_error", "unknown"), "ok"], answer="Done.")
    if sum(r["ev"] == "start" for r in w.rows("s1")) < 2:
        w.say("the host did not start the server again")


def sub_agent(w):
    """A sub-agent in front: its calls lie between the beginning and the end of the call that began it, with its id."""
    d = w.project()
    w.model.script("P-AGENT-SUB", [turn(text("I am the sub-agent."), call("mcp__s1__echo", message="from below"), usage=(7, 70, 1, 2)),
                                   turn(call("Bash", command="echo below"), usage=(8, 71, 0, 0)), turn(text("sub done"), usage=(9, 72, 0, 0))])
    w.model.script("P-AGENT-MAIN", [
        turn(call("Agent", description="a sub-task", prompt="P-AGENT-SUB please", subagent_type="general-purpose", run_in_background=False)),
        turn(call("mcp__s1__echo", message="from above")), turn(text("Done."))])
    w.session(d, "P-AGENT-MAIN please")
    judge.run(w, w.run_of(w.runs(1), "P-AGENT-MAIN"), "P-AGENT-MAIN", outcomes=["ok"] * 4, answer="Done.", phrases=["P-AGENT-MAIN", "P-AGENT-SUB"],
              agents=["P-AGENT-SUB"], context=["I am the sub-agent."])


def background(w):
    """A sub-agent goes on after Stop; its calls and what the host is told of its end belong to the turn that began it."""
    d = w.project()
    w.model.script("P-BG-SUB", [turn(call("Bash", command="python3 -c 'import time; time.sleep(4)'"), usage=(7, 70, 0, 0)),
                                turn(call("mcp__s1__echo", message="late"), usage=(8, 71, 0, 0)), turn(text("sub done"), usage=(9, 72, 0, 0))])
    w.model.script("P-BG-MAIN", [turn(call("Agent", description="bg", prompt="P-BG-SUB please", subagent_type="general-purpose", run_in_background=True)),
                                 turn(text("Started."))])
    w.model.script("<task-notification>", [turn(text("All done."), usage=(15, 25, 0, 0))])
    w.session(d, "P-BG-MAIN please")
    phrases = ["P-BG-MAIN", "P-BG-SUB", "<task-notification>"]
    stops = w.told("Stop")
    late = [r for r in w.told("PreToolUse") if stops and r["t"] > stops[0]["t"]]
    if not late:
        w.say("nothing happened after Stop: the host did not do what the case is about")
    judge.run(w, w.run_of(w.runs(1), "P-BG-MAIN"), "P-BG-MAIN", outcomes=["ok"] * 3, answer="All done.", phrases=phrases, agents=["P-BG-SUB"])


def steered(w):
    """A prompt that comes while the model works is part of the turn: the host tells of it under the same id."""
    d = w.project()
    w.model.script("P-STEER", [turn(call("Bash", command="python3 -c 'import time; time.sleep(4)'")), turn(text("never said"))])
    w.model.script("ALSO-THIS", [turn(call("mcp__s1__echo", message="also")), turn(text("Both done."))])
    w.session(d, lines=[user("P-STEER please"), told("PreToolUse", 1), 0.5, user("and ALSO-THIS"), turns(1), 1.0])
    # What is said into a turn stands in the host's own words, in a request of that turn.
    judge.run(w, w.run_of(w.runs(1), "P-STEER"), "P-STEER", outcomes=["ok", "ok"], answer="Both done.", phrases=["P-STEER", "ALSO-THIS"])


def api_error(w):
    """The model's interface fails after a call: the run ends with the session, without an answer."""
    d = w.project()
    w.model.script("P-ERROR", [turn(call("mcp__s1__echo", message="before")), turn(error=400)])
    w.session(d, "P-ERROR please")
    judge.run(w, w.run_of(w.runs(1), "P-ERROR"), "P-ERROR", outcomes=["ok"], answer=None)


def host_killed(w):
    """kill -9 of the host in the middle of a call: nobody tells of an end, and the run has one."""
    d = w.project()
    w.model.script("P-KILLED", [turn(call("Bash", command="echo first")), turn(call("mcp__s1__slow", ms=40000))])
    host = w.start(d, "P-KILLED please")
    if not homes.until(lambda: w.served("s1"), 60, 0.05):
        w.say("the call did not reach the server")
    time.sleep(0.3)
    host.signal(signal.SIGKILL)
    host.end(20)
    judge.run(w, w.run_of(w.runs(1, budget=90), "P-KILLED"), "P-KILLED", outcomes=["ok", ("unknown", "cancelled")], answer=None)


def silent(w):
    """Nothing is recorded, and nothing said, in a directory that nobody set up: the proxies record by themselves there."""
    d = w.project(set_up_too=False, in_user_scope=True)
    w.model.script("P-SILENT", [turn(call("Bash", command="echo one")), turn(call("mcp__s1__echo", message="x")), turn(text("Done."))])
    host = w.session(d, "P-SILENT please")
    if host.status != 0 or host.stderr().strip():
        w.say(f"the host ended with {host.status} and said {host.stderr()[-200:]!r}")
    homes.until(lambda: w.hub.runs(), 15)
    bound = [r for r in w.hub.runs() if r.get("tier") == "bound"]
    if bound:
        w.say(f"a bound run was made: {birtest.short(bound[0].get('input') or '', 60)}")


CASES = [mixed, failures, refused, interrupted, crash, sub_agent, background, steered, api_error, host_killed, silent]
