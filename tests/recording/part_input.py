"""Bad input: one clear answer each, no process ends that should not, and what was recorded before is still there after.

Requests get a problem+json with a stable code, commands one line on stderr and an exit status, a hub that cannot start says
why in one line. No answer holds a token or a payload.
"""

import json
import os
import re
import shutil
import socket
import sqlite3
import time
import uuid

import home as homes
from home import birtest

KEPT_FOR = 2000  # ms: life of the token that is to expire
SECRET = "hunter2-must-not-be-repeated"


def run_uid():
    return f"run_{uuid.uuid4()}"


def step_uid():
    return f"step_{uuid.uuid4()}"


def lines(*records):
    return "".join(r if isinstance(r, str) else json.dumps(r) + "\n" for r in records)


def run_record(run_id, **more):
    return {"type": "run", "id": run_id, "tier": "standalone", "startedAt": 1_790_000_000_000, "servers": [{"name": "it"}], **more}


def step_record(run_id, index, step_id=None, **more):
    ends = index in (1, 3, 5)
    kind = "tool_response" if ends else "tool_selected"
    payload = {"toolOutput": '{"content":[],"x":1.0}', "outcome": "ok"} if ends else {"toolInput": '{"a":1.50}'}
    return {"type": "step", "id": step_id or step_uid(), "runId": run_id, "stepIndex": index, "stepType": kind, "toolName": "t", "server": "it", "at": 1_790_000_000_001,
            **payload, **more}


def a_run(run_id, calls=3):
    return lines(run_record(run_id), *(step_record(run_id, i) for i in range(2 * calls)),
                 {"type": "finish", "runId": run_id, "at": 1_790_000_000_999, "reason": "closed"})


def batch(hub, body, **kw):
    return hub.call("POST", "/recordings/batch", body, headers={"Content-Type": "application/x-ndjson"}, **kw)


PROBLEM = {"type", "title", "status", "code", "detail", "requestId"}


def problem(report, name, answer, status, *codes):
    """A problem of one of these codes, whole, in one line, without secrets."""
    wrong = []
    try:
        told = answer.json()
    except ValueError:
        told = {}
    if answer.status not in (status if isinstance(status, tuple) else (status,)):
        wrong.append(f"status {answer.status}, expected {status}")
    if not answer.headers.get("content-type", "").startswith("application/problem+json"):
        wrong.append(f"content type {answer.headers.get('content-type')}")
    if not isinstance(told, dict) or PROBLEM - set(told):
        wrong.append(f"without {sorted(PROBLEM - set(told))}")
    elif told["code"] not in codes or told["status"] != answer.status:
        wrong.append(f"code {told['code']}, expected {' or '.join(codes)}; status {told['status']}")
    text = answer.text()
    if SECRET in text or re.search(r"bir_(pat|acc|ref|loc)_", text) or "\\n" in str(told.get("detail", "")):
        wrong.append("it repeats a secret, or has several lines")
    report.check(not wrong, f"{name}: {answer.status} {told.get('code')}", f"{'; '.join(wrong)}: {text[:300]}")


def requests(report, hub, known):
    ask = hub.call
    some, foreign = run_uid(), run_uid()
    as_json = {"Content-Type": "application/json"}
    cases = [
        ("malformed JSON", ask("POST", "/recordings/runs", '{"id":', headers=as_json), 400, "bad_json"),
        ("no body", ask("POST", "/recordings/runs", "", headers=as_json), 400, "bad_json"),
        ("a wrong type", ask("POST", "/recordings/runs", {"id": SECRET}), 400, "bad_type"),
        ("a list for an object", ask("POST", "/recordings/runs", []), 400, "bad_type", "bad_json"),
        ("a number for a text", ask("POST", "/recordings/runs", {"id": some, "framework": 17}), 400, "bad_type"),
        ("a step of a run that is not there", ask("POST", f"/recordings/runs/{foreign}/steps", {"id": step_uid(), "stepIndex": 0, "type": "tool_selected", "toolName": "t"}), 404, "not_found"),
        ("the end of a run that is not there", ask("POST", f"/recordings/runs/{foreign}/finish", {}), 404, "not_found"),
        ("a change of a step that is not there", ask("PATCH", f"/recordings/runs/{known}/steps/{step_uid()}", {"toolOutput": "{}"}), 404, "not_found"),
        ("a run that is not there", ask("GET", f"/recordings/runs/{foreign}"), 404, "not_found"),
        ("an id that is none", ask("GET", f"/recordings/runs/{SECRET}"), (400, 404), "bad_type", "not_found"),
        ("deleting a run that is not there", ask("DELETE", f"/recordings/runs/{foreign}"), 404, "not_found"),
        ("deleting without saying which", ask("DELETE", "/recordings/runs"), (400, 422), "bad_type", "invalid"),
        ("a cursor that is none", ask("GET", "/recordings/runs?cursor=AAAA%20"), 400, "bad_cursor"),
        ("a limit that is no number", ask("GET", "/recordings/runs?limit=many"), 400, "bad_type"),
        ("a tier that is none", ask("GET", "/recordings/runs?tier=quantum"), 400, "bad_type"),
        ("a route that is not there", ask("GET", "/recordings/nonsense"), 404, "not_found"),
        ("a method that is not there", ask("PUT", "/recordings/runs"), 405, "method_not_allowed"),
        ("no token", ask("GET", "/recordings/runs", token=None), 401, "unauthorized"),
        ("a token that is none", ask("GET", "/recordings/runs", token=SECRET), 401, "unauthorized"),
        ("a token of another tenant", ask("GET", "/recordings/runs", token=f"bir_pat_{uuid.uuid4().hex}_{'A' * 43}"), 401, "unauthorized"),
        ("another host's name", ask("GET", "/recordings/runs", headers={"Host": "evil.example.com"}), 421, "bad_host"),
        ("a wrong password", ask("POST", "/auth/login", {"email": "nobody@example.com", "password": SECRET}, token=None), 401, "bad_credentials"),
        ("too large a body", batch(hub, b" " * (9 << 20)), 413, "too_large"),
        ("too many lines", batch(hub, lines(*(step_record(known, 0) for _ in range(2001)))), 413, "too_many_lines"),
        ("too large a body for one run", ask("POST", "/recordings/runs", {"id": some, "input": "x" * (2 << 20)}), (413, 400), "too_large"),
    ]
    for name, answer, status, *codes in cases:
        problem(report, name, answer, status, *codes)


def bad_lines(report, hub):
    """A line that is wrong keeps no other out, and is named."""
    run_id, foreign = run_uid(), run_uid()
    body = lines(run_record(run_id), step_record(run_id, 0), '{"type":"step",\n', step_record(run_id, 1), step_record(run_id, "two" + SECRET), step_record(foreign, 0),
                 {"type": "surprise", "runId": run_id}, step_record(run_id, 2, toolInput="x" * 200_000), "\n", step_record(run_id, 3, outcome=None))
    answer = batch(hub, body)
    told = answer.json() if answer.status == 200 else {}
    refused = {r["line"]: r["code"] for r in told.get("refused", [])}
    expected = {3: {"bad_json"}, 5: {"bad_type"}, 6: {"unknown_run"}, 7: {"bad_type"}, 8: {"too_large"}}
    ok = set(refused) == set(expected) and all(refused[n] in codes for n, codes in expected.items()) and SECRET not in answer.text()
    report.check(ok, "a batch with wrong lines: each is named, the others are booked", f"{answer.status} {answer.text()[:500]}")
    rows = hub.run(run_id)["steps"]
    report.check([r["stepIndex"] for r in rows] == [0, 1, 3], "the good lines of that batch are in the store", f"{[r['stepIndex'] for r in rows]}")
    again = batch(hub, body).json()
    report.check(again.get("booked") == 0 and [r["stepIndex"] for r in hub.run(run_id)["steps"]] == [0, 1, 3], "the same batch once more changes nothing", f"{again}")
    taken = batch(hub, lines(run_record(run_id), step_record(run_id, 0, toolInput='{"other":1}'))).json()
    kept = hub.run(run_id)["steps"][0]["toolInput"]
    report.check(kept == '{"a":1.50}' and taken.get("booked") == 0, "another row cannot take a place that is taken", f"{taken}, {kept}")


def tokens(report, hub):
    made = hub.call("POST", "/tokens", {"name": "short-lived", "scopes": ["api"], "expiresAt": int(time.time() * 1000) + KEPT_FOR})
    if not report.check(made.status in (200, 201) and "token" in made.json(), "a token is made", f"{made.status} {made.text()[:300]}"):
        return
    short = made.json()["token"]
    first = hub.call("GET", "/recordings/runs", token=short).status
    time.sleep(KEPT_FOR / 1000 + 0.5)
    problem(report, f"an expired token (before: {first})", hub.call("GET", "/recordings/runs", token=short), 401, "token_expired")
    status, out, err = hub.home.bir("runs", "list", env={"BIR_HUB_URL": hub.url, "BIR_HUB_TOKEN": short})
    one_line(report, "bir with an expired token", status, out, err, "expired|sign|login|token")
    made = hub.call("POST", "/tokens", {"name": "to be revoked", "scopes": ["api"]}).json()
    before = hub.call("GET", "/recordings/runs", token=made["token"]).status
    gone = hub.call("DELETE", f"/tokens/{made['id']}").status
    # The hub believes a token for some seconds without asking its store.
    homes.until(lambda: hub.call("GET", "/recordings/runs", token=made["token"]).status != 200, 15, 0.5)
    problem(report, f"a revoked token (before: {before}, revoking: {gone})", hub.call("GET", "/recordings/runs", token=made["token"]), 401, "token_revoked")
    narrow = hub.call("POST", "/tokens", {"name": "records", "scopes": ["record"]}).json()["token"]
    problem(report, "reading with a token that may only record", hub.call("GET", "/recordings/runs", token=narrow), 403, "forbidden")
    written = batch(hub, a_run(run_uid(), 1), token=narrow)
    report.check(written.status == 200, "recording with it", f"{written.status} {written.text()[:200]}")


def one_line(report, name, status, out, err, says="", usage=False):
    """One line on stderr that says what is wrong, a status that says so too, no panic, nothing on stdout but JSON.

    With `usage` how the command is used may follow.
    """
    told = [line for line in err.splitlines() if line.strip()]
    ok = (status not in (None, 0, 101) and status > 0 and (len(told) == 1 or usage and told) and len(told[0]) < 600 and re.search(says, told[0], re.I)
          and "panicked" not in err and SECRET not in err and not re.search(r"bir_(pat|acc|ref|loc)_[0-9a-f]{8}", err))
    if ok and out.strip():
        try:
            json.loads(out)
        except ValueError:
            ok = False
    report.check(bool(ok), f"{name}: {told[0][:160] if told else 'nothing'} (status {status})", f"stderr {err[-500:]!r}, stdout {out[-200:]!r}, expected one line with {says!r}")


def commands(report, hub, known):
    home = hub.home
    nowhere = {"BIR_HUB_URL": "http://127.0.0.1:1", "BIR_HUB_TOKEN": f"bir_pat_{uuid.uuid4().hex}_{'A' * 43}"}
    cases = [
        ("bir, a run that is not there", ["runs", "show", run_uid()], {}, "no|not"),
        ("bir, an id that is none", ["runs", "show", "nonsense"], {}, "nonsense|id"),
        ("bir, a run that is not there, as JSON", ["runs", "show", run_uid(), "--json"], {}, "no|not"),
        ("bir, a command that is not there", ["runs", "frob"], {}, "frob"),
        ("bir, an option that is not there", ["runs", "list", "--frob"], {}, "frob"),
        ("bir, a limit that is no number", ["runs", "list", "--limit", "many"], {}, "many|limit"),
        ("bir, a hub that is not there", ["runs", "list"], nowhere, "127.0.0.1:1|reach|connect"),
        ("bir, a hub's address that is none", ["runs", "list"], {"BIR_HUB_URL": "nonsense", "BIR_HUB_TOKEN": "x"}, "nonsense|BIR_HUB_URL|http"),
        ("bir, a token that is none", ["runs", "list"], {"BIR_HUB_URL": hub.url, "BIR_HUB_TOKEN": SECRET}, "token|sign|login"),
        ("bir diff with one run", ["runs", "diff", known], {}, ""),
        ("bir rm of a run that is not there", ["runs", "rm", run_uid()], {}, ""),
    ]
    for name, args, env, says in cases:
        one_line(report, name, *home.bir(*args, env=env), says)


def serve(home, *args, env=None, budget=60):
    """A hub that is expected not to start; one that does is ended."""
    return home.run([homes.HUB, "serve", *args], "hub-that-cannot", budget, env)


def starts(report, hub):
    """What keeps a hub from starting."""
    home = hub.home
    other = homes.Home("input-other")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        one_line(report, "hub, a port in use", *serve(other, "--listen", f"127.0.0.1:{port}"), f"{port}")
    one_line(report, "hub, two on one state directory", *serve(home, "--listen", "127.0.0.1:0"), "already|another|lock|running")
    listen = ["--listen", "127.0.0.1:0"]
    text = os.path.join(other.dir, "text.db")
    with open(text, "w") as f:
        f.write("this is no database\n" * 400)
    songs = os.path.join(other.dir, "songs.db")
    with sqlite3.connect(songs) as db:
        db.execute("CREATE TABLE songs (id INTEGER)")
    config = os.path.join(other.dir, "broken.toml")
    with open(config, "w") as f:
        f.write("listen = [\n")
    cases = [
        ("a store of an unknown kind", ["--store", f"mysql://u:{SECRET}@127.0.0.1/x", *listen], "mysql|sqlite|postgres"),
        ("a store's file in a folder that is not there", ["--store", f"sqlite:{other.dir}/none/x.db", *listen], "none/x.db|open|folder|director"),
        ("a database server that is not there", ["--store", f"postgres://u:{SECRET}@127.0.0.1:1/x", *listen], "127.0.0.1|connect|reach|postgres"),
        ("a file that is no database", ["--store", f"sqlite:{text}", *listen], "text.db|database"),
        ("the database of another program", ["--store", f"sqlite:{songs}", *listen], "another program|songs"),
        ("an address that is none", ["--listen", "nonsense"], "nonsense|listen|address"),
        ("an unknown option", ["--frob"], "frob"),
        ("a configuration that is broken", ["--config", config, *listen], "broken.toml|line"),
        ("a configuration that is not there", ["--config", config + ".none", *listen], "none"),
    ]
    for name, args, says in cases:
        one_line(report, f"hub, {name}", *serve(other, *args), says, usage=name in ("an unknown option", "an address that is none"))
    with open(text) as f:
        report.check(f.read().startswith("this is no database"), "that file is as it was")
    other.done(True)


def newer(report, home, whole):
    """The database of a newer version is refused and left as it is; with its own version it opens again."""
    later = homes.Home("input-newer")
    os.makedirs(later.state, 0o700)
    for name in os.listdir(home.state):
        if os.path.isfile(os.path.join(home.state, name)) and name not in ("hub.json", "hub.lock"):
            shutil.copy(os.path.join(home.state, name), later.state)
    path = os.path.join(later.state, "hub.db")
    with sqlite3.connect(path) as db:
        columns = [r[1] for r in db.execute("PRAGMA table_info(schema_version)")]
        highest = db.execute("SELECT MAX(version) FROM schema_version").fetchone()[0]
        row = {c: 9999 if c == "version" else 0 for c in columns}
        db.execute(f"INSERT INTO schema_version ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    one_line(report, "hub, a database of a newer version", *serve(later, "--listen", "127.0.0.1:0"), "newer")
    with sqlite3.connect(path) as db:
        kept = db.execute("SELECT MAX(version) FROM schema_version").fetchone()[0]
        db.execute("DELETE FROM schema_version WHERE version = 9999")
    report.check(kept == 9999 and highest < 9999, "it is left as it is", f"{kept}, before {highest}")
    with homes.Hub(later) as hub:
        report.check(hub.run(whole["run"]["id"]) == whole, "with its own version it opens again, and everything is there")
    later.done(not later.none_left())


def run(report, opt):
    home = homes.Home("input")
    before = sum(r["state"] == "failed" for r in report.rows)
    known = run_uid()
    with homes.Hub(home) as hub:
        answer = batch(hub, a_run(known))
        report.check(answer.status == 200 and answer.json().get("booked") == 8, "a run is booked", f"{answer.status} {answer.text()[:300]}")
        whole = hub.run(known)
        requests(report, hub, known)
        bad_lines(report, hub)
        tokens(report, hub)
        commands(report, hub, known)
        starts(report, hub)
        report.check(hub.process.alive() and hub.run(known) == whole, "after all of that the run is as it was")
        report.check("panicked" not in hub.process.stderr() and SECRET not in hub.process.stderr(), "nothing of it is in the hub's log")
        status = hub.end()
        report.check(status == 0, "the hub ends when it is asked to", f"status {status}")
        report.check(not os.path.exists(os.path.join(home.state, "hub.json")), "and takes hub.json away")
    newer(report, home, whole)
    with homes.Hub(home) as again:
        report.check(again.run(known) == whole, "the next hub has the run as it was")
    left = home.none_left()
    report.check(not left, "input: no process is left", birtest.short(left))
    kept = home.done(sum(r["state"] == "failed" for r in report.rows) == before)
    if kept:
        print(f"        see {kept}", flush=True)
