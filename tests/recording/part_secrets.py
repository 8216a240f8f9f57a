"""1,000 secrets go through the proxy, and none is found; 1,000 look-alikes, and each is as it was.

The secrets stand in arguments, results and errors of calls, in the server's environment and its arguments, in headers, in
URLs that fail, and in what the server prints to stderr. Then `grep` looks for every one of them, and for pieces of them,
in whatever was written or shown: the spool while no hub is there, the database with its log afterwards, both page by page
and value by value, the API, exports, the command line, the console's pages, the logs. That grep would find them is shown
first, on what the test itself wrote down.
"""

import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import time

import exact
import home as homes
import samples
import spool
import team
from home import birtest
from session import Session, upstream

COUNT = 1000
# Calls between two looks whether the recorder has kept up: its queue is bounded, and this test is no host.
GROUP = 40


def script(path, cases):
    """A test upstream that answers tool `tN` with case N: its own arguments go in, and what it gives is written here."""
    rules = []
    for n, (place, value) in enumerate(cases):
        if place == "result":
            text = json.dumps(value)
            result = {"content": [{"type": "text", "text": text if n % 2 else f"found: {text}"}], "structuredContent": value if isinstance(value, dict) else {"list": value}}
            do = [{"result": result}]
        elif place == "tool error":
            do = [{"result": {"content": [{"type": "text", "text": f"failed with {json.dumps(value)}"}], "isError": True}}]
        elif place == "error":
            do = [{"error": {"code": -32000, "message": f"refused: {json.dumps(value)}", "data": value}}]
        else:
            do = [{"result": {"content": []}}]
        rules.append({"on": {"tool": f"t{n}"}, "do": do})
    with open(path, "w") as f:
        json.dump({"rules": rules}, f)


PLACES = ["arguments", "result", "error", "tool error"]


def walk(home, watch, options, env, cases, target):
    """Makes all calls through one proxy; the answers as texts."""
    session = Session(home, target, options=("--standalone", *options), env=env)
    session.open()
    before, answers = watch.began(), []
    for n, (place, value) in enumerate(cases):
        answers.append(session.call(f"t{n}", value if place == "arguments" and isinstance(value, dict) else {"item": value} if place == "arguments" else {"n": n}).wait())
        if n % GROUP == GROUP - 1:
            homes.until(lambda: watch.began() - before > n, homes.ANSWERS, 0.02)
    status = session.close()
    return answers, status, session.process


class Needles:
    """Texts to be looked for, in a file for grep."""

    def __init__(self, home, groups):
        self.kind = {}
        for kind, texts in groups:
            for text in texts:
                self.kind[text] = kind
        self.file = os.path.join(home.dir, "needles.txt")
        with open(self.file, "w") as f:
            f.write("\n".join(self.kind) + "\n")

    def in_files(self, paths):
        """{needle: file} of what grep finds."""
        found = {}
        for path in paths:
            got = subprocess.run(["grep", "-aoFf", self.file, "--", path], capture_output=True, env={"LC_ALL": "C", "PATH": os.environ["PATH"]})
            if got.returncode > 1:
                raise RuntimeError(f"grep failed on {path}: {got.stderr.decode()[:200]}")
            for text in got.stdout.decode("utf8", "replace").splitlines():
                found.setdefault(text, path)
        return found


def files_below(folder):
    return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]


def check_none(report, needles, name, paths):
    found = needles.in_files(paths)
    size = sum(os.path.getsize(p) for p in paths if os.path.exists(p))
    kinds = {}
    for text, path in found.items():
        kinds.setdefault(needles.kind.get(text, "?"), []).append((text, os.path.basename(path)))
    detail = "; ".join(f"{len(v)} of kind {k}, as {v[0][0]!r} in {v[0][1]}" for k, v in sorted(kinds.items()))
    report.check(not found and size > 0, f"no secret in {name} ({len(paths)} files, {size} bytes)", detail or "there is nothing to look into")


def dump(database, into):
    """Every value of every table, since a long text lies on several pages of the file."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30) as db, open(into, "wb") as out:
        tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            try:
                rows = db.execute(f'SELECT * FROM "{table}"')
            except sqlite3.OperationalError:
                continue  # an inner table of the search index
            for row in rows:
                for value in row:
                    out.write((value if isinstance(value, bytes) else str(value).encode("utf8", "surrogateescape")) + b"\n")
    return into


def save(home, name, data):
    path = os.path.join(home.dir, name)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode("utf8", "surrogateescape"))
    return path


def run(report, opt):
    seed = opt.seed if opt.seed is not None else random.SystemRandom().randrange(10**9)
    rng = random.Random(seed)
    print(f"secrets: seed {seed}", flush=True)
    home = homes.Home("secrets")
    before = sum(r["state"] == "failed" for r in report.rows)
    m = samples.Maker(rng)

    hidden = samples.hidden(rng, COUNT)
    cases = [(PLACES[n // len(samples.KINDS) % len(PLACES)], s.value) for n, s in enumerate(hidden)]
    script_file = os.path.join(home.dir, "script.json")
    script(script_file, cases)
    env_secrets = {f"{name}_{n}": m.chars(samples.ALNUM, 24) for n in range(10) for name in ("SERVICE_TOKEN", "ANY_SETTING")}
    argv_secrets = [m.chars(samples.ALNUM, 24) for _ in range(10)]
    header_secrets = {f"X-Key-{n}": m.chars(samples.ALNUM, 28) for n in range(8)}
    header_secrets["Authorization"] = "Bearer " + m.chars(samples.URLSAFE, 40)
    option_secret, url_secret, stderr_secrets = m.chars(samples.ALNUM, 30), m.chars(samples.ALNUM, 22), [m.password() + m.chars(samples.ALNUM, 8) for _ in range(10)]

    groups = [(f"{s.kind}, in {place}", list(s.needles())) for s, (place, _) in zip(hidden, cases)]
    groups += [("environment", env_secrets.values()), ("argv", argv_secrets), ("header", [v.removeprefix("Bearer ") for v in header_secrets.values()]),
               ("--header", [option_secret]), ("URL", [url_secret]), ("stderr", stderr_secrets)]
    needles = Needles(home, groups)

    # Does grep find what is there?
    control = save(home, "control.txt", "\n".join(json.dumps(v) for _, v in cases))
    found = set(needles.in_files([control]))
    missed = [n for s in hidden for n in s.secrets if n not in found and not any(n in f or f in n for f in found)]
    report.check(not missed, f"grep finds every secret where it is ({len(found)} texts)", f"{len(missed)} are not found, the first {missed[:1]}")

    secret_args = ["--", *(f"--token={v}" if n % 2 else v for n, v in enumerate(argv_secrets))]
    watch = spool.Watch(home.state)
    answers, status, main_proxy = walk(home, watch, (), {**env_secrets, "BIR_LOG": "debug"}, cases, upstream("--script", script_file, *secret_args))
    report.check(status == 0 and all(answers), f"{COUNT} calls with secrets are answered", f"status {status}, {sum(a is None for a in answers)} without answer")

    # The same host, a remote server, headers.
    port_file = os.path.join(home.dir, "port")
    remote = home.start([homes.UPSTREAM, "--http", "127.0.0.1:0", "--port-file", port_file], "remote")
    homes.until(lambda: os.path.exists(port_file), homes.STARTS, 0.02)
    with open(port_file) as f:
        address = f"127.0.0.1:{f.read().strip()}"
    session = Session(home, f"http://{address}/mcp", options=("--standalone", "--header", f"X-Option: {option_secret}"), name="remote",
                      env={"BIR_UPSTREAM_HEADERS": json.dumps(header_secrets), "BIR_LOG": "debug"})
    opened = session.open()
    over_http = [session.call("echo", {"n": n}).wait() for n in range(5)] + [session.call("no-such-tool", {}).wait()]
    session.close()
    report.check(opened is not None and all(over_http), "calls with secret headers are answered", f"{opened!r}, {over_http!r}"[:300])
    remote.end(2)
    refused = Session(home, f"http://user:{url_secret}@{address}/mcp", name="gone", env={"BIR_LOG": "debug", "BIR_UPSTREAM_CONNECT_TIMEOUT_MS": "1000"})
    refused.request("initialize", {}).wait(20)
    refused.close()
    # A server that says secrets on stderr: the host is shown them, as without us; they go nowhere else.
    noisy_script = os.path.join(home.dir, "noisy.json")
    with open(noisy_script, "w") as f:
        json.dump({"rules": [{"on": {"tool": "say"}, "do": [{"stderr": f"login with {v}\n"} for v in stderr_secrets] + ["default"]}]}, f)
    noisy = Session(home, upstream("--script", noisy_script), name="noisy", env={"BIR_LOG": "debug"})
    noisy.open()
    noisy.call("say", {}).wait()
    noisy.close()

    watch.close()
    rows = [s for s in watch.steps.values() if s["stepType"] == "tool_selected"]
    report.check(len(rows) >= COUNT + 7 and not watch.damaged, f"the spool got every call ({len(rows)})", f"{len(rows)} calls, {watch.damaged} damaged lines")
    check_none(report, needles, "the state directory while the hub is down", files_below(home.state))
    check_none(report, needles, "the spool as it went by", [save(home, "went-by.json", json.dumps(list(watch.steps.values()), ensure_ascii=False))])
    check_none(report, needles, "the proxies' stderr", [p + ".err" for p in (main_proxy.log, session.process.log, refused.process.log)])

    on_postgres(report, home, needles, len(rows))
    with homes.Hub(home, env={"BIR_LOG": "debug", "RUST_LOG": "debug"}) as hub:
        empty = homes.until(lambda: not spool.segments(home.state), homes.ARRIVES)
        report.check(bool(empty), "the hub takes over what the proxies left", f"{len(spool.segments(home.state))} segments are left")
        runs = hub.runs()
        report.check(sum(r["calls"] for r in runs) == len(rows) and not any(r["lossy"] for r in runs), "every call is in the store",
                     f"{[(r['calls'], r['lossy'], r['lostCalls']) for r in runs]}, {len(rows)} in the spool")
        check_none(report, needles, "the state directory with the database and its log", files_below(home.state))
        check_none(report, needles, "the values of the database", [dump(os.path.join(home.state, "hub.db"), os.path.join(home.dir, "dump.bin"))])
        kept = {r["id"]: hub.run(r["id"]) for r in runs}
        check_none(report, needles, "the API", [save(home, "api.json", json.dumps([runs, list(kept.values())], ensure_ascii=False))])
        exported = hub.call("GET", "/recordings/export")
        report.check(exported.status == 200 and exported.body.count(b"\n") > 2 * len(rows), "the export holds every row", f"{exported.status}, {exported.body.count(bytes([10]))} lines")
        check_none(report, needles, "the export", [save(home, "export.ndjson", exported.body)])
        check_none(report, needles, "the metrics", [save(home, "metrics.txt", hub.call("GET", "/metrics", token=None).body)])
        pages(report, home, needles, hub, runs)
        command_line(report, home, needles, runs)
        placeholders(report, hidden, cases, kept, runs)
        lookalikes(report, home, hub, rng)
        log_files = [hub.process.log + ".err", hub.process.log + ".out"]
    check_none(report, needles, "the hub's output", [p for p in log_files if os.path.getsize(p)] or [save(home, "silent", "silent")])
    left = home.none_left()
    report.check(not left, "secrets: no process is left", birtest.short(left))
    kept_at = home.done(sum(r["state"] == "failed" for r in report.rows) == before)
    if kept_at:
        print(f"        see {kept_at}; repeat with --seed {seed}", flush=True)


def on_postgres(report, home, needles, calls):
    """The same spool, sent to a team's hub: a dump of its database, its log and the database's own."""
    if not team.binaries():
        report.skipped("no secret in PostgreSQL", "no PostgreSQL binaries are installed")
        return
    other = homes.Home("secrets-postgres")
    good, there = False, team.Team(other)
    try:
        with team.TeamHub(there) as hub:
            shutil.copytree(spool.folder(home.state), spool.folder(other.state))
            to_hub = {"BIR_HUB_URL": hub.url, "BIR_HUB_TOKEN": hub.token}
            homes.until(lambda: other.bir("runs", "list", env=to_hub)[0] == 0 and not spool.left(other.state), homes.ARRIVES, 1)
            kept = sum(r["calls"] for r in hub.runs())
            good = report.check(kept == calls, "the team's hub on PostgreSQL has every call", f"{kept} of {calls}, left in the spool: {spool.left(other.state)[:5]}")
            check_none(report, needles, "the dump of PostgreSQL", [there.dump(os.path.join(home.dir, "postgres.sql"))])
            check_none(report, needles, "the logs of that hub and its database", [p.log + ".err" for p in (hub.process, there.server)])
    finally:
        there.end()
        other.done(good)


def pages(report, home, needles, hub, runs):
    try:
        browser = hub.browser()
    except (RuntimeError, OSError) as why:
        report.failed("the console is reached with a ticket", str(why))
        return
    texts, bad = [], []
    for path in ["/runs", *(f"/runs/{r['id']}" for r in runs)]:
        page = browser.get(path)
        texts.append(page.body)
        if page.status != 200 or b"<html" not in page.body[:2000].lower():
            bad.append((path, page.status))
        # A long run has further pages; they are followed where the page names them.
        for more in sorted(set(re.findall(rb'href="(/runs/[^"]*[?&](?:from|cursor)=[^"]*)"', page.body)))[:60]:
            texts.append(browser.get(more.decode().replace("&amp;", "&")).body)
    report.check(not bad, f"the console shows the runs ({len(texts)} pages)", f"{bad}")
    check_none(report, needles, "the console's pages", [save(home, "pages.html", b"\n".join(texts))])


def command_line(report, home, needles, runs):
    shown, bad = [], []
    longest = max(runs, key=lambda r: r["calls"])["id"]
    for args in (["runs", "list", "--json"], ["runs", "list"], ["runs", "show", longest, "--json"], ["runs", "show", longest, "--full"],
                 ["runs", "export", longest], ["runs", "grep", "found", "--limit", "10000", "--json"], ["status", "--json"]):
        status, out, err = home.bir(*args)
        shown.append(out + err)
        if status != 0 or not out.strip():
            bad.append((" ".join(args), status, err[-200:]))
        elif "--json" in args:
            try:
                json.loads(out)
            except ValueError as why:
                bad.append((" ".join(args), f"no JSON: {why}", out[:100]))
    report.check(not bad, "the command line shows the runs", birtest.short(bad))
    check_none(report, needles, "what the command line shows", [save(home, "cli.txt", "\n".join(shown))])


PLACEHOLDER = re.compile(r"\[redacted:[a-z-]+:[0-9a-f]{12}\]")


def placeholders(report, hidden, cases, kept, runs):
    """Where a secret stood there is a placeholder, and the value around it is still JSON."""
    rows = [s for r in sorted(runs, key=lambda r: -r["calls"])[:1] for s in kept[r["id"]]["steps"]]
    without, broken = [], 0
    for n, (sample, (place, _)) in enumerate(zip(hidden, cases)):
        pair = rows[2 * n:2 * n + 2]
        text = pair[0].get("toolInput") if place == "arguments" else pair[1].get("toolError") if place == "error" else pair[1].get("toolOutput")
        broken += not exact.is_json(text or "")
        if not PLACEHOLDER.search(text or ""):
            without.append(sample.kind)
    report.check(not without and not broken, "a placeholder stands for each secret, in valid JSON", f"none for {without[:5]}, {broken} are no JSON")


def lookalikes(report, home, hub, rng):
    """In arguments, results and errors in turn; compared with what the wire had, byte for byte."""
    values = samples.lookalikes(rng, COUNT)
    places = ["arguments", "result", "error"]
    cases = [(places[n // 32 % 3], v) for n, v in enumerate(values)]
    path = os.path.join(home.dir, "lookalikes.json")
    script(path, cases)
    known = {r["id"] for r in hub.runs()}
    session = Session(home, upstream("--script", path), name="alike")
    session.open()
    sent = []
    for n, (place, value) in enumerate(cases):
        pending = session.call(f"t{n}", value if place == "arguments" else {"n": n})
        sent.append((exact.member(pending.line, "params", "arguments"), pending.wait()))
        if n % GROUP == GROUP - 1:
            homes.until(lambda: any(r["id"] not in known and r["calls"] > n for r in hub.runs()), homes.ANSWERS, 0.2)
    session.close()
    runs = homes.until(lambda: [r for r in hub.runs() if r["id"] not in known and r.get("endedAt")], homes.ARRIVES)
    if not report.check(bool(runs) and runs[0]["calls"] == COUNT and not runs[0]["lossy"], f"{COUNT} look-alikes are recorded", birtest.short(runs)):
        return
    harmed, rows = [], hub.run(runs[0]["id"])["steps"]
    for n, ((arguments, answer), (place, _)) in enumerate(zip(sent, cases)):
        begin, end = rows[2 * n:2 * n + 2]
        for wire, kept in ((arguments, begin.get("toolInput")), (exact.member(answer, "result"), end.get("toolOutput")), (exact.member(answer, "error"), end.get("toolError"))):
            if wire != kept:
                harmed.append(f"in {place}: {wire!r:.300} became {kept!r:.300}")
    report.check(not harmed, f"{COUNT} look-alikes are as they were, byte for byte", f"{len(harmed)} are not; {' | '.join(harmed[:4])}")
