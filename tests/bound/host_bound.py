"""A host as it is recorded for real: hooks as `bir hooks` prints them, `bir-proxy` before its server, the control server that the first hook
starts, and a hub. Two turns of one session, and what the hub gives back of them.

Each turn has to be one run: with its prompt and its answer as far as the host's hooks tell them, with every call once and in the order in which
they were made, and with the joins that README.md states for the host.
"""

import json
import os
import signal
import sys

import host_session
from host_session import SERVER, birtest, homes, loopback

HOOKS = birtest.program("bir-hooks", "BIR_TEST_HOOKS")

SAID = ["The first answer.", "The second answer."]
PROMPTS = ["The first prompt", "The second prompt"]
# The messages of the model before each answer. Those of one message may run at once.
CALLS = [
    [[("shell", "echo from the shell")], [("echo", {"message": "one"})], [("shell", "echo wrong >&2; exit 3")], [("fail", {})], [("rpc_error", {})]],
    [[("echo", {"message": "two"}), ("shell", "echo beside it"), ("echo", {"message": "two"})]],
]
STEPS = [*CALLS[0], SAID[0], *CALLS[1], SAID[1]]


def run(report, opt, host):
    """The part of a host, in a namespace of its own unless this process is in one."""
    reason = loopback.unavailable()
    if reason:
        report.skipped(host.NAME, reason)
        return
    programs = [birtest.node(), homes.PROXY, homes.HUB, homes.CLI, HOOKS]
    if not birtest.need(report, [*programs, host.PROGRAM]):
        return
    if os.environ.get("BIR_TEST_LOOPBACK") == "1":
        bound(report, host)
        return
    told = birtest.scratch(f"rows-{host.NAME}")
    result = os.path.join(told, "rows.json")
    argv = [*loopback.COMMAND, sys.executable, os.path.abspath(__file__), host.NAME, result]
    status, out, err = birtest.run(argv, budget=2 * host_session.TURN + homes.ARRIVES, env={"BIR_TEST_LOOPBACK": "1"})
    try:
        with open(result) as f:
            rows = json.load(f)
    except FileNotFoundError:
        rows = [{"state": "failed", "case": host.NAME, "detail": f"the test itself ended with {status}: {(out + err)[-800:]}"}]
    for row in rows:
        report._add(row["state"], row["case"], row["detail"])


def bound(report, host):
    name = host.NAME
    home = host_session.Home(name)
    before = failures(report)
    try:
        with homes.Hub(home) as hub, host_session.Model(home, host_session.plan(host, STEPS)) as model:
            wrap = [homes.PROXY, "--server-name", SERVER, "--"]
            host.configure(home, model, {SERVER: host_session.server(home, wrap)})
            status, out, err = home.bir("project", "add", home.project)
            report.check(status == 0, f"{name}: the project is set up", f"status {status}: {out}{err}")
            status, text, err = home.bir("hooks", name)
            if not report.check(status == 0, f"{name}: its hooks are printed", f"status {status}: {err}"):
                return
            host.install(home, model, text)
            for number, prompt in enumerate(PROMPTS, 1):
                status, out, err = host_session.turn(home, host, model, prompt, number)
                report.check(status == 0, f"{name}: turn {number} ends well", f"status {status}: {(out + err)[-600:]}")
            reached = [r["msg"]["params"] for r in home.rows("server.jsonl") if r["ev"] == "host" and r["msg"].get("method") == "tools/call"]
            report.equal(f"{name}: the server was called as the model asked", sorted(json.dumps([t, a]) for m in sum(CALLS, []) for t, a in m if t != "shell"),
                         sorted(json.dumps([p["name"], p["arguments"]]) for p in reached))
            joined = [host.joined_by(p.get("_meta") or {}) for p in reached]
            report.check(all(joined) if host.JOIN != "fingerprint" else not any(joined), f"{name}: requests carry an id of the call where the join says so", f"{joined}")
            compare(report, host, home, hub)
            stop(home)
    finally:
        left = home.none_left()
        report.check(not left, f"{name}: nothing is left running", f"{left}")
        kept = home.done(failures(report) == before)
        if kept:
            print(f"kept: {os.path.relpath(kept, birtest.ROOT)}", flush=True)


def compare(report, host, home, hub):
    name, expected = host.NAME, [sum(messages, []) for messages in CALLS]
    enough = lambda: [r for r in hub.runs() if r.get("endedAt")]
    homes.until(lambda: len(enough()) >= 2 and sum(r["calls"] for r in enough()) >= sum(map(len, expected)), homes.ANSWERS)
    found = sorted(hub.runs(), key=lambda r: r["startedAt"])
    if not report.check(len(found) == 2, f"{name}: one run a turn", birtest.short(found, 1500)):
        return
    wholes = [hub.run(r["id"]) for r in found]
    report.check(len({w["run"].get("sessionId") for w in wholes}) == 1, f"{name}: both are of one session", f"{[w['run'].get('sessionId') for w in wholes]}")
    for number, (whole, calls) in enumerate(zip(wholes, expected)):
        one, said, rows = whole["run"], SAID[number] if host.TELLS_ANSWER else None, whole["steps"]
        told = {"tier": one["tier"], "input": one.get("input"), "finalOutput": one.get("finalOutput"), "host": (one.get("host") or {}).get("app"),
                "project": one.get("project"), "lossy": one["lossy"], "join": (one.get("metadata") or {}).get("join"), "ended": bool(one.get("endedAt"))}
        report.equal(f"{name}: turn {number + 1} is told of", {"tier": "bound", "input": PROMPTS[number], "finalOutput": said, "host": name, "project": os.path.realpath(home.project),
                                                               "lossy": False, "join": host.JOIN, "ended": True}, told)
        pairs = list(zip(rows[::2], rows[1::2]))
        kinds = [(r["stepIndex"], r["stepType"]) for r in rows]
        report.equal(f"{name}: turn {number + 1} has two rows a call", [[n, "tool_response" if n % 2 else "tool_selected"] for n in range(2 * len(calls))], [list(k) for k in kinds])
        wanted = [host.row(*call) for call in calls]
        seen = [{"toolName": b["toolName"], "server": e.get("server"), "tool": e.get("tool"), "sources": e.get("sources"), "outcome": e.get("outcome"),
                 "input": json.loads(b.get("toolInput") or "null")} for b, e in pairs]
        if len(CALLS[number]) == 1 and host.AT_ONCE:
            wanted, seen = (sorted(rows, key=json.dumps) for rows in (wanted, seen))
        report.equal(f"{name}: turn {number + 1} has its calls, each once and in order", wanted, seen)
        report.equal(f"{name}: turn {number + 1} has the results", [], [text for b, e in pairs for text in result(b, e)])
        ids = [e.get("callId") for b, e in pairs if (e.get("server") or host.SHELL_HAS_ID)]
        right = all(i and i.startswith("call_") for i in ids) and len(set(ids)) == len(ids) if host.HAS_ID else not any(ids)
        report.check(right, f"{name}: turn {number + 1} has the host's ids of calls", f"{ids}")


def result(begin, end):
    """What is wrong with the payload of a call that has ended."""
    told = f"{end.get('toolOutput')}{end.get('toolError')}"
    given = json.loads(begin.get("toolInput") or "{}")
    mark = {"echo": "arguments", "fail": "it failed", "rpc_error": "rpc failed"}.get(end.get("tool") or "") or (
        "wrong" if "wrong" in f"{given}" else "from the shell" if "from" in f"{given}" else "beside it")
    if mark not in told:
        yield f"{begin['toolName']} {birtest.short(given, 80)}: {birtest.short(told, 200)}"


def failures(report):
    return sum(r["state"] == "failed" for r in report.rows)


def stop(home):
    """Asks the control server to end, whose process the discovery file names."""
    folder = os.path.join(home.state, "control")
    for file in os.listdir(folder) if os.path.isdir(folder) else []:
        if file.endswith(".json"):
            try:
                with open(os.path.join(folder, file)) as f:
                    pid = json.load(f).get("pid")
            except FileNotFoundError:
                # It ends by itself once its hosts are gone.
                continue
            if pid and any(pid == left for left, _ in home.left_behind()):
                os.kill(pid, signal.SIGTERM)


if __name__ == "__main__":
    import importlib
    sys.argv, (part, where) = sys.argv[:1], sys.argv[1:3]
    loopback.enter()
    rows = birtest.Report(f"bound-{part}")
    importlib.import_module(f"host_{part.removesuffix('-cli')}").run(rows, None)
    with open(where, "w") as f:
        json.dump(rows.rows, f)
