"""What is recorded is what passed on the wire: every tools/call between two tees around the proxy, against the hub's rows.

The inner and the outer tee note when a line passed, so each recorded time lies between the two. Payloads are compared as
JSON with number text; what the redactor had no reason to touch must be as it was.
"""

import json
import os
import sys
import time

import exact
import home as homes
import wire
from home import birtest
from session import Session, upstream

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS = os.path.join(birtest.TESTS, "clients")
PYTHON = os.path.join(birtest.WORK, "python", "bin", "python")
TEE = [sys.executable, os.path.join(HERE, "tee.py")]
sys.path.insert(0, CLIENTS)
import plans  # noqa: E402

# A time in ms is cut to whole ones, and another clock call lies between: this is how exact a lower bound is, in ms.
ROUNDING = 2
# The tee may have written its row before the proxy took its time, and the machine may be busy between the two, in ms.
BUSY = 3000
# Payloads up to here are kept whole, in bytes.
WHOLE = 64 * 1024


class Call:
    """A call as the wire between host and proxy had it."""

    def __init__(self, at, params):
        self.at, self.name = at, json.loads(exact.member(params, "name"))
        self.arguments = exact.member(params, "arguments")
        self.outcome, self.result, self.error, self.ended, self.legs = None, None, None, None, []


def read_tee(path):
    with open(path, encoding="utf8") as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


def calls_of(rows):
    """The calls of a log, in the order in which they began; answers are paired by id, rounds by requestState."""
    calls, open_by_id, parked = [], {}, []
    for at, sign, line in rows:
        text = line.strip()
        if not text.startswith("{"):
            continue
        raw_id, method = exact.member(text, "id"), exact.member(text, "method")
        if sign == ">" and method == '"tools/call"':
            params = exact.member(text, "params")
            again = exact.member(params, "inputResponses")
            call = None
            if again is not None:
                state = exact.member(params, "requestState")
                call = next((c for s, c in parked if s == state and c.name == json.loads(exact.member(params, "name"))), None)
            if call is not None:
                parked = [(s, c) for s, c in parked if c is not call]
                call.legs[-1].update(answered=again, answeredAt=at)
            else:
                call = Call(at, params)
                calls.append(call)
            open_by_id[raw_id] = call
        elif sign == ">" and method == '"notifications/cancelled"':
            call = open_by_id.pop(exact.member(text, "params", "requestId"), None)
            if call is not None:
                call.outcome, call.ended = "cancelled", at
        elif sign == "<" and method is None and raw_id in open_by_id:
            call = open_by_id.pop(raw_id)
            result, error = exact.member(text, "result"), exact.member(text, "error")
            if result is not None and exact.member(result, "resultType") == '"input_required"':
                call.legs.append({"asked": result, "askedAt": at})
                parked.append((exact.member(result, "requestState"), call))
                continue
            call.ended, call.result, call.error = at, result, error
            call.outcome = "rpc_error" if error is not None else "tool_error" if exact.member(result, "isError") == "true" else "ok"
    return calls


def inner_times(rows):
    """When each call passed behind the proxy: [(begin, end or None)], paired by id."""
    found, open_by_id = [], {}
    for at, sign, line in rows:
        text = line.strip()
        if not text.startswith("{"):
            continue
        raw_id, method = exact.member(text, "id"), exact.member(text, "method")
        if sign == ">" and method == '"tools/call"' and exact.member(text, "params", "inputResponses") is None:
            open_by_id[raw_id] = len(found)
            found.append([at, None])
        elif sign == "<" and method is None and raw_id in open_by_id:
            found[open_by_id.pop(raw_id)][1] = at
    return found


def compare(report, name, hub, outer, inner, server, host, expect_era=None):
    """One run in the store, equal to what the tees saw."""
    calls = calls_of(outer)
    runs = homes.until(lambda: [r for r in hub.runs() if r.get("endedAt") and r["calls"] >= len(calls)], homes.ARRIVES)
    every = hub.runs()
    if not report.check(bool(runs) and len(every) == 1, f"{name}: one finished run", f"{birtest.short(every)}"):
        return None
    whole = hub.run(runs[0]["id"])
    run, rows, wrong = whole["run"], whole["steps"], []
    say = wrong.append
    expected = {"tier": "standalone", "lossy": False, "lostCalls": 0, "calls": len(calls), "endReason": "closed",
                "failedCalls": sum(c.outcome != "ok" for c in calls)}
    for key, value in expected.items():
        if run.get(key) != value:
            say(f"run.{key} is {run.get(key)!r}, expected {value!r}")
    if (run.get("host") or {}).get("app") != host:
        say(f"run.host is {run.get('host')!r}, expected the app {host}")
    if [s["name"] for s in run["servers"]] != [server]:
        say(f"run.servers is {run['servers']!r}, expected {server}")
    elif expect_era and run["servers"][0].get("era") != expect_era:
        say(f"the server's era is {run['servers'][0].get('era')!r}, expected {expect_era}")
    if len(rows) != 2 * len(calls):
        say(f"{len(rows)} rows for {len(calls)} calls")
    if [r["stepIndex"] for r in rows] != list(range(len(rows))):
        say(f"the indexes are {[r['stepIndex'] for r in rows]}")
    for n, (call, begin, end) in enumerate(zip(calls, rows[::2], rows[1::2])):
        behind = inner[n] if n < len(inner) else [None, None]
        for text in compare_call(call, begin, end, server, behind):
            say(f"call {n} ({call.name}): {text}")
    outcomes = {}
    for c in calls:
        outcomes[c.outcome] = outcomes.get(c.outcome, 0) + 1
    told = ", ".join(f"{n} {o}" for o, n in sorted(outcomes.items(), key=str))
    report.check(not wrong, f"{name}: {len(calls)} calls are in the store as they were on the wire ({told})", "; ".join(wrong[:6]))
    return calls


def compare_call(call, begin, end, server, behind):
    """What differs, in words."""
    if (begin["stepType"], end["stepType"]) != ("tool_selected", "tool_response"):
        yield f"its rows are {begin['stepType']} and {end['stepType']}"
        return
    for row in (begin, end):
        if (row["toolName"], row.get("tool"), row.get("server"), row.get("sources")) != (call.name, call.name, server, ["proxy"]):
            yield f"named {row['toolName']!r}, {row.get('tool')!r}, {row.get('server')!r}, {row.get('sources')!r}"
        if row.get("ambiguous"):
            yield "called ambiguous"
    yield from payload("arguments", call.arguments, begin.get("toolInput"), begin)
    # Nobody answered before the end: that is not known, and not silence.
    if end.get("outcome") != (call.outcome or "unknown"):
        yield f"outcome {end.get('outcome')!r}, on the wire {call.outcome!r}"
    yield from payload("result", call.result, end.get("toolOutput"), end)
    yield from payload("error", call.error, end.get("toolError"), end)
    if len(end.get("legs", [])) != len(call.legs):
        yield f"{len(end.get('legs', []))} legs, on the wire {len(call.legs)}"
    for i, (seen, kept) in enumerate(zip(call.legs, end.get("legs", [])), 1):
        if kept["leg"] != i:
            yield f"leg {i} is numbered {kept['leg']}"
        for key in ("asked", "answered"):
            differs = exact.difference(seen.get(key), kept.get(key))
            if differs:
                yield f"leg {i}, {key}: {differs}"
        if not seen["askedAt"] * 1000 - BUSY <= kept["askedAt"] <= seen["askedAt"] * 1000 + BUSY:
            yield f"leg {i} asked at {kept['askedAt']}, on the wire {seen['askedAt'] * 1000:.0f}"
    # The host's tee, the proxy, the server's tee; and back.
    began, ended = begin["at"], end["at"]
    if not call.at * 1000 - ROUNDING <= began <= (behind[0] or time.time()) * 1000 + BUSY:
        yield f"began at {began}, on the wire {call.at * 1000:.0f} to {(behind[0] or 0) * 1000:.0f}"
    if call.ended is None:
        return
    first = behind[1] if behind[1] and call.outcome != "cancelled" else call.at
    if not first * 1000 - ROUNDING <= ended <= call.ended * 1000 + BUSY:
        yield f"ended at {ended}, on the wire {first * 1000:.0f} to {call.ended * 1000:.0f}"
    if call.outcome != "cancelled" and behind[0] and behind[1]:
        least, most = (behind[1] - behind[0]) * 1e6, (call.ended - call.at) * 1e6
        took = end.get("durationUs")
        if took is None or not least - 1000 * ROUNDING <= took <= most + 1000 * BUSY:
            yield f"took {took} us, on the wire {least:.0f} to {most:.0f}"


def payload(what, seen, kept, row):
    """A payload is kept whole and exactly, or cut and still JSON, with its length on the wire."""
    if seen is None or kept is None:
        if seen is not kept:
            yield f"{what}: wire {'nothing' if seen is None else birtest.short(seen, 120)}, kept {'nothing' if kept is None else birtest.short(kept, 120)}"
        return
    size = len(seen.encode("utf8", "surrogateescape"))
    if size <= WHOLE:
        differs = exact.difference(seen, kept)
        if differs:
            yield f"{what}: {differs}"
        if row.get("truncated"):
            yield f"{what} is called truncated with {size} bytes"
    else:
        if not row.get("truncated") or len(kept.encode()) > WHOLE or not exact.is_json(kept):
            yield f"{what} of {size} bytes: truncated {row.get('truncated')}, {len(kept.encode())} kept, JSON {exact.is_json(kept)}"
    if row.get("originalBytes") not in (size, None) or (size > WHOLE and row.get("originalBytes") != size):
        yield f"{what} has {size} bytes, recorded {row.get('originalBytes')}"


def sdk(report, client, how):
    """server-everything, driven by an SDK, over stdio or a URL."""
    name = f"{client} SDK, server-everything {how}"
    home = homes.Home(f"everything-{client}-{how}")
    outer, inner = os.path.join(home.dir, "outer.log"), os.path.join(home.dir, "inner.log")
    everything = [birtest.node(), birtest.module("clients", "@modelcontextprotocol", "server-everything", "dist", "index.js")]
    plan = os.path.join(home.dir, "plan.json")
    with open(plan, "w") as f:
        json.dump(plans.EVERYTHING, f)
    if client == "TypeScript":
        driver = [birtest.node(), os.path.join(CLIENTS, "ts-client.mjs")]
        host = "scripted-ts-client"
    else:
        driver = [PYTHON, os.path.join(CLIENTS, "py_client.py"), "--mode", "legacy"]
        host = "scripted-py-client"
    before = report_failures(report)
    with homes.Hub(home) as hub:
        server, forwarder = None, None
        try:
            if how == "stdio":
                target = ["--", *TEE, inner, "--", *everything]
            else:
                port = birtest.free_port()
                server = birtest.Server([*everything, "streamableHttp"], home.log("everything") + ".out", env={"PORT": str(port)}, port=port)
                forwarder = wire.Forwarder(("127.0.0.1", port), keep=True)
                target = ["--url", forwarder.url + "/mcp"]
            argv = [*driver, plan, "--", *TEE, outer, "--", homes.PROXY, "--server-name", "everything", "--standalone", *target]
            status, out, err = home.run(argv, "client", budget=240, env={"CLIENT_ENV_BIR_HOME": home.state})
            steps = len(out.splitlines())
            if report.check(status == 0 and steps == len(plans.EVERYTHING) + 2, f"{name}: the client's plan", f"status {status}, {steps} steps, {err[-300:]}"):
                rows = read_tee(inner) if how == "stdio" else forwarder_rows(forwarder)
                compare(report, name, hub, read_tee(outer), inner_times(rows), "everything", host)
                if how == "url":
                    on_http(report, name, read_tee(outer), rows)
        finally:
            if server:
                server.close()
            if forwarder:
                forwarder.close()
    finish(report, name, home, before)


def report_failures(report):
    return sum(r["state"] == "failed" for r in report.rows)


def finish(report, name, home, before):
    left = home.none_left()
    report.check(not left, f"{name}: no process is left", birtest.short(left))
    kept = home.done(report_failures(report) == before)
    if kept:
        print(f"        see {kept}", flush=True)


def forwarder_rows(forwarder):
    """The wire between proxy and server as rows of a tee."""
    rows = []
    for there, back in forwarder.connections:
        for sign, chunks in ((">", there), ("<", back)):
            for message in wire.http_messages(chunks):
                rows += [[message[0], sign, text.replace("\n", " ")] for text in wire.json_bodies(message)]
    return sorted(rows, key=lambda r: r[0])


def on_http(report, name, outer, rows):
    """The tee itself is checked: the calls that it saw over HTTP are the calls that the host made."""
    key = lambda c: (c.name, c.arguments)
    front, behind = calls_of(outer), calls_of(rows)
    report.check(sorted(map(str, map(key, front))) == sorted(map(str, map(key, behind))), f"{name}: the wire behind the proxy has the same calls",
                 f"{len(front)} in front, {len(behind)} behind")


ODD = [
    '{"n":1.0,"m":-0,"big":12345678901234567890123,"e":1e400,"small":1E-7,"same":[1,1.0,1e0]}',
    '{"a":1,"a":2,"b":{"z":1,"a":2}}',
    '{"s":"\\u0041\\/\\ud83d\\ude00 \u00fc\u4e16 \\"q\\" \\\\ \\n","empty":"","":0}',
    '{ "spaced" : [ 1 ,\t2 , { } , [ ] ] , "t" : true , "n" : null }',
    '{"deep":' + '[' * 60 + '1' + ']' * 60 + '}',
    '{"long":"' + "abc " * 12000 + '"}',
    '{"long":"' + "def " * 30000 + '"}',
    None,
    "{}",
]


def odd_traffic(report):
    """A test upstream and a host by hand: number text, odd ids, ids that repeat, answers out of order, errors, cancelling."""
    name = "odd traffic, legacy era"
    home = homes.Home("everything-odd")
    outer, inner = os.path.join(home.dir, "outer.log"), os.path.join(home.dir, "inner.log")
    before = report_failures(report)
    with homes.Hub(home) as hub:
        session = Session(home, [*TEE, inner, "--", *upstream()], tee=outer)
        session.open()
        unanswered = 0
        for arguments in ODD:
            unanswered += session.call("echo", arguments).wait() is None
        for raw_id in ('"text"', '""', "0", "-7", '"7"', "7", "7", '"\\u0041"', "9007199254740993"):
            unanswered += session.call("echo", {"id": raw_id}, raw_id=raw_id).wait() is None
        for arguments in ('{"result":"{\\"content\\":[],\\"x\\":1.50,\\"isError\\":false}"}', '{"result":"{\\"isError\\":true,\\"content\\":[]}"}',
                          '{"error":"{\\"code\\":-32000,\\"message\\":\\"no\\",\\"data\\":{\\"n\\":2.0}}"}'):
            unanswered += session.call("raw", arguments).wait() is None
        for tool in ("fail", "rpc_error", "structured", "image", "log", "no-such-tool"):
            unanswered += session.call(tool, {}).wait() is None
        # Answers in another order than the questions.
        late = [session.call("sleep", {"ms": ms}) for ms in (600, 400, 200, 0)]
        unanswered += sum(p.wait() is None for p in late)
        gone = session.call("sleep", {"ms": 60000})
        session.call("echo", {"while": "it waits"}).wait()
        session.cancel(gone)
        unanswered += session.call("echo", {"after": "the cancelled call"}).wait() is None
        unanswered += session.call("sized", {"n": 200_000}).wait() is None
        session.close()
        report.check(not unanswered, f"{name}: every call was answered", f"{unanswered} were not")
        compare(report, name, hub, read_tee(outer), inner_times(read_tee(inner)), "it", "scripted-host", "legacy")
    finish(report, name, home, before)


def rounds(report):
    """A server of the modern era that asks for input: the rounds are legs of one call."""
    name = "rounds of input, modern era"
    home = homes.Home("everything-rounds")
    outer, inner = os.path.join(home.dir, "outer.log"), os.path.join(home.dir, "inner.log")
    before = report_failures(report)
    with homes.Hub(home) as hub:
        session = Session(home, [*TEE, inner, "--", *upstream("--era", "modern")], era="modern", tee=outer)
        session.open()
        unanswered = 0
        for n, params in enumerate(('{"message":"How many?","requestedSchema":{"type":"object","properties":{"n":{"type":"number"}}}}', '{"message":"Which?"}')):
            arguments = f'{{"method":"elicitation/create","params":{params},"n":{n}.0}}'
            asked = session.call("reverse", arguments).wait()
            result = exact.member(asked or "{}", "result") or "{}"
            state = exact.member(result, "requestState")
            between = session.call("echo", {"between": n}).wait()
            names = [k for k, _ in exact.members(exact.member(result, "inputRequests") or "{}")]
            responses = "{" + ",".join(f'{json.dumps(k)}:{{"action":"accept","content":{{"n":{n}.50}}}}' for k in names) + "}"
            again = session.call("reverse", arguments, more=f',"inputResponses":{responses},"requestState":{state}').wait()
            unanswered += (asked is None) + (between is None) + (again is None)
        # One that nobody comes back to.
        unanswered += session.call("echo", '{"last":1.0}').wait() is None
        session.close()
        report.check(not unanswered, f"{name}: every request was answered", f"{unanswered} were not")
        calls = compare(report, name, hub, read_tee(outer), inner_times(read_tee(inner)), "it", "scripted-host", "modern")
        legs = sum(len(c.legs) for c in calls or [])
        report.check(legs == 2, f"{name}: the test upstream asked twice", f"{legs} times")
    finish(report, name, home, before)


def run(report, opt):
    odd_traffic(report)
    rounds(report)
    if not birtest.need(report, [birtest.node(), birtest.module("clients")]):
        return
    sdk(report, "TypeScript", "stdio")
    sdk(report, "TypeScript", "url")
    if os.path.exists(PYTHON):
        sdk(report, "Python", "stdio")
    else:
        report.skipped("Python SDK, server-everything stdio", f"no Python environment at {PYTHON}; ./test makes it")
