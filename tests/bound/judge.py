"""Is a run what happened? Each function adds what is wrong to the world's problems, in words."""

import json
import os

from world import birtest

# Of two things that happen at once, hooks and servers may see the second first, by so much. In seconds.
AT_ONCE = 0.25
# A call of a tool that there is not: it never ran, and the host calls it an error.
NO_TOOL = ("unknown", "tool_error")


def steps(world, whole):
    """The calls of a run in order: {id, begin, end}; what is wrong with the rows themselves is said."""
    rows = sorted(whole["steps"], key=lambda r: r["stepIndex"])
    name = birtest.short(whole["run"].get("input") or "?", 40)
    if [r["stepIndex"] for r in rows] != list(range(len(rows))):
        world.say(f"run {name!r}: the indexes are {[r['stepIndex'] for r in rows][:60]}")
    found, by_id = [], {}
    for row in rows:
        one = by_id.get(row.get("callId")) if row.get("callId") else None
        if one is None:
            one = {"id": row.get("callId"), "begin": None, "end": None}
            by_id[one["id"]] = one
            found.append(one)
        which = {"tool_selected": "begin", "tool_response": "end"}.get(row["stepType"], row["stepType"])
        if one.get(which) is not None:
            world.say(f"run {name!r}: {row.get('callId')} ({row['toolName']}) has two rows {row['stepType']}")
        one[which] = row
    return found


def run(world, whole, phrase, *, outcomes, answer, phrases=None, agents=None, context=None, order=None, lossy=False, calls=None, session=None):
    """One run against the books of the model, the witness and the servers.

    `outcomes` has for each call, in the order in which the model asked, the outcome or a tuple of those that are right; a call
    that is not to be recorded has None. `phrases` are all scripts that belong to the turn, `agents` those of sub-agents.
    """
    phrases, agents = phrases or [phrase], agents or []
    say = lambda what: world.say(f"{phrase}: {what}")
    asked = calls if calls is not None else world.model.calls(*phrases)
    if len(asked) != len(outcomes):
        say(f"the model asked for {len(asked)} calls, the case expects {len(outcomes)}: the host did not do what is scripted")
    if whole is None:
        say("there is no run of it")
        return []
    told = whole["run"]
    if told.get("tier") != "bound":
        say(f"the tier is {told.get('tier')!r}")
    if bool(told.get("lossy")) != lossy:
        say(f"lossy is {told.get('lossy')}, {told.get('lostCalls')} calls lost")
    if phrase not in (told.get("input") or ""):
        say(f"the prompt is {birtest.short(told.get('input') or 'nothing', 80)}")
    if (told.get("host") or {}).get("app") != "claude-code":
        say(f"the host is {told.get('host')}")
    if not told.get("endedAt"):
        say("it is not ended")
    if told.get("finalOutput") != answer:
        say(f"the final answer is {birtest.short(told.get('finalOutput') or 'nothing', 80)!r}, not {answer!r}")
    if session and told.get("sessionId") != session:
        say(f"the session is {told.get('sessionId')}, not {session}")
    usage(world, whole, phrase, phrases)

    found = steps(world, whole)
    by_id = {one["id"]: one for one in found}
    expected = {c["id"]: o for c, o in zip(asked, outcomes) if o is not None}
    for c in asked:
        if c["id"] in expected and c["id"] not in by_id:
            say(f"{c['id']} ({c['name']}) is missing; recorded are {[(o['id'], (o['begin'] or o['end'])['toolName']) for o in found]}")
    for one in found:
        if one["id"] not in expected:
            row = one["begin"] or one["end"]
            say(f"{one['id']} ({row['toolName']}, sources {row.get('sources')}) is recorded, and the model did not ask for it in this turn")
    for c in asked:
        if c["id"] in expected and c["id"] in by_id:
            call(world, c, by_id[c["id"]], expected[c["id"]], c["phrase"] in agents)
    true_order(world, phrase, found)
    for words in context or []:
        texts = [r.get("context") or "" for one in found for r in (one["begin"], one["end"]) if r]
        if not any(words in t for t in texts):
            say(f"no row has the model's words {words!r} before the call; there are {sorted(set(texts))[:3]}")
    return found


def call(world, asked, one, outcome, of_agent):
    """One call's rows."""
    say = lambda what: world.say(f"{asked['phrase']}, {asked['id']} ({asked['name']}): {what}")
    begin, end = one["begin"], one["end"]
    if begin is None or end is None:
        say(f"no row {'tool_selected' if begin is None else 'tool_response'}")
        return
    if end["stepIndex"] != begin["stepIndex"] + 1:
        say(f"its rows are {begin['stepIndex']} and {end['stepIndex']}")
    if end.get("outcome") not in (outcome if isinstance(outcome, tuple) else (outcome,)):
        say(f"the outcome is {end.get('outcome')!r}, not {outcome!r}; error {birtest.short(end.get('toolError') or '', 120)}")
    served = {i: (name, arguments, answer) for s in servers(world) for _, i, name, arguments, answer in world.served(s)}.get(asked["id"])
    sources = sorted(set(begin.get("sources") or []) | set(end.get("sources") or []))
    if sources != (["hook", "proxy"] if served else ["hook"]):
        say(f"it was seen by {sources}, and {'a server was sent it' if served else 'no server was sent it'}")
    if begin["toolName"] != asked["name"]:
        say(f"the tool is called {begin['toolName']!r}")
    # A hook knows the server and not the tool as the server names it; the row that begins may have been written before the proxy told.
    named = (begin.get("server"), end.get("tool") or begin.get("tool"))
    if asked["name"].startswith("mcp__") and served and named != tuple(asked["name"].split("__", 2)[1:]):
        say(f"server and tool are {named}")
    if begin.get("bypassed") or end.get("bypassed"):
        say("it is called bypassed")
    ran = end.get("toolInput") or begin.get("toolInput")
    if served and (ran is None or json.loads(ran) != served[1]):
        say(f"the arguments are {birtest.short(ran or 'nothing', 120)}, the server was sent {birtest.short(served[1], 120)}")
    if served and served[2] and "result" in served[2] and end.get("outcome") in ("ok", "tool_error"):
        kept = end.get("toolOutput")
        if kept is None or (not end.get("truncated") and json.loads(kept) != served[2]["result"]):
            say(f"the result is {birtest.short(kept or 'nothing', 120)}, the server sent {birtest.short(served[2]['result'], 120)}")
    if not served and end.get("outcome") == "ok" and not end.get("toolOutput"):
        say("it has no result")
    agent = begin.get("agentId") or end.get("agentId")
    if bool(agent) != of_agent:
        say(f"its agent is {agent!r}")


def servers(world):
    """The names of the servers' logs."""
    return sorted(f.removesuffix(".jsonl") for f in os.listdir(world.logs) if f.endswith(".jsonl") and f != "hooks.jsonl")


def true_order(world, phrase, found):
    """Calls stand in the order in which hooks told of their beginning, and in which servers were sent them."""
    for what, times in (("the hooks", {r["input"].get("tool_use_id"): r["t"] for r in reversed(world.told("PreToolUse"))}),
                        ("the servers", {i: t for s in servers(world) for t, i, *_ in world.served(s)})):
        seen = [(times[one["id"]], one["id"]) for one in found if one["id"] in times]
        for (a, first), (b, second) in zip(seen, seen[1:]):
            if a > b + AT_ONCE:
                world.say(f"{phrase}: {first} stands before {second}, and {what} saw it {a - b:.2f} s later")


def usage(world, whole, phrase, phrases):
    """The tokens are those that the model billed."""
    billed = world.model.billed(*phrases)
    metrics = whole["run"].get("metrics") or {}
    told = metrics.get("totals") or {}
    if {k: told.get(k) for k in billed} != billed:
        world.say(f"{phrase}: billed were {billed}, recorded is {metrics or 'nothing'}")
    models = metrics.get("models") or {}
    if billed and sum(m.get("requests", 0) for m in models.values()) != billed["requests"]:
        world.say(f"{phrase}: {billed['requests']} requests were billed, the models have {models}")
