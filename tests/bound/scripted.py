"""A scripted host: its calls go through real bir-proxies, its events through real hooks, or by the same route without a process.

It is as Claude Code is: the proxies are its children, its process id is in every hook's environment, and each call carries the
id that its hooks have. What real sessions cannot do here is many thousand calls, and a control server that dies all the time.
"""

import concurrent.futures
import http.client
import json
import os
import random
import signal
import statistics
import subprocess
import threading
import time
import uuid

import exact
import judge
import world
from session import Session, upstream
from world import birtest, homes

# Calls in flight at most, proxies, and turns of `many_calls`; every so many calls the events are told by real hook processes.
IN_FLIGHT, PROXIES, TURNS, REAL_HOOKS = 64, 5, 4, 50
# Of a round in which the control server is killed.
CALLS, CALLERS, KILLS = 24, 4, 3
# Seconds. A hook may wait so long for a control server that is just starting, and the machine is busy; Claude Code would wait longer.
HOOK_LIMIT = 5
# Seconds until somebody has brought a control server back, and hooks or calls that this may take.
BACK = 20


class Here:
    """A home whose processes work in a directory."""

    def __init__(self, home, directory):
        self.home, self.directory = home, directory

    def start(self, *a, **k):
        return self.home.start(*a, cwd=self.directory, **k)


class ScriptedHost:
    def __init__(self, w, directory, servers):
        self.w, self.directory, self.id = w, directory, str(uuid.uuid4())
        self.turn, self.hooks, self.posts, self.lock = None, [], [], threading.Lock()
        self.kept = threading.local()
        self.host_env = {**w.canaries, "CLAUDE_PID": str(os.getpid()), "CLAUDE_CODE_SESSION_ID": self.id, "CLAUDECODE": "1",
                         "CLAUDE_PROJECT_DIR": directory, "AI_AGENT": "claude-code_2-1-332_harness"}
        self.servers = {}
        for name in servers:
            s = Session(Here(w.home, directory), upstream(), options=("--scope", "project"), name=name, env=self.host_env)
            if s.open() is None:
                w.say(f"{name}: the handshake was not answered")
            self.servers[name] = s

    # Events.

    def payload(self, event, more):
        turn = {"prompt_id": self.turn} if self.turn else {}
        return {"session_id": self.id, "transcript_path": os.path.join(self.w.user, ".claude", "projects", "-w", f"{self.id}.jsonl"), "cwd": self.directory,
                **turn, "hook_event_name": event, **more}

    def hook(self, event, **more):
        """A real hook process. Whatever happens it ends with 0, soon, and says nothing."""
        start = time.monotonic()
        p = subprocess.Popen([world.HOOKS, "hook", event], cwd=self.directory, env=self.w.home.env(**self.host_env), start_new_session=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = p.communicate(json.dumps(self.payload(event, more)).encode(), timeout=30)
        except subprocess.TimeoutExpired:
            birtest.end_group(p, 1)
            self.w.say(f"the hook {event} did not end within 30 s")
            return
        took = time.monotonic() - start
        with self.lock:
            self.hooks.append(took)
        if p.returncode != 0 or out.strip() or err.strip():
            self.w.say(f"the hook {event} ended with {p.returncode}, stdout {out[:120]!r}, stderr {err[:120]!r}")
        if took > HOOK_LIMIT:
            self.w.say(f"the hook {event} took {took:.1f} s")

    def post(self, route, event, **more):
        """The same without a process: what bir-hooks sends, over a connection that stays."""
        body = {"id": str(uuid.uuid4()), "host": {"app": "claude-code", "version": "2.1.332"}, "via": "claude-code", "sessionId": self.id, "turnId": self.turn,
                "cwd": self.directory, "hostPids": [os.getpid()], "join": "call_id", "at": int(time.time() * 1000), "event": event, **more}
        start = time.monotonic()
        for attempt in range(3):
            try:
                if not getattr(self.kept, "to", None):
                    told = self.w.control(self.directory)
                    self.kept.token = told["token"]
                    self.kept.to = http.client.HTTPConnection("127.0.0.1", int(told["url"].rstrip("/").rsplit(":", 1)[1]), timeout=30)
                self.kept.to.request("POST", route, json.dumps(body), {"Authorization": f"Bearer {self.kept.token}", "Content-Type": "application/json"})
                answer = self.kept.to.getresponse()
                text = answer.read()
                if answer.status == 200:
                    break
                problem = f"{answer.status} {text[:200]!r}"
            except (OSError, KeyError, http.client.HTTPException) as why:
                problem = f"{type(why).__name__}: {why}"
            self.kept.to = None
        else:
            self.w.say(f"POST {route} was not taken: {problem}")
        with self.lock:
            self.posts.append(time.monotonic() - start)

    def begin(self, prompt):
        self.turn = str(uuid.uuid4())
        self.hook("UserPromptSubmit", permission_mode="bypassPermissions", prompt=prompt)

    def stop(self, answer):
        self.hook("Stop", stop_hook_active=False, last_assistant_message=answer, background_tasks=[])

    # Calls.

    def call(self, server, call_id, arguments, real):
        """One call with its two events; what the judge has to know of it."""
        name, words = f"mcp__{server}__echo", json.dumps(arguments)
        it = {"tool_name": name, "tool_input": arguments, "tool_use_id": call_id, "mcp_server": {"name": server, "source": "project"}, "permission_mode": "bypassPermissions"}
        told = lambda text: {"text": text, "originalBytes": len(text.encode())}
        raw = {"callId": call_id, "toolName": name, "server": server, "tool": "echo", "input": told(words)}
        sent = time.monotonic()
        if real:
            self.hook("PreToolUse", **it)
        else:
            self.post("/tool/pre", "pre", call=raw)
        heard = time.monotonic()
        answer = self.servers[server].call("echo", words, more=f',"_meta":{{"claudecode/toolUseId":{json.dumps(call_id)},"progressToken":1}}').wait()
        result = exact.member(answer or "{}", "result")
        if result is None or arguments["text"] not in result:
            self.w.say(f"{call_id} was answered {birtest.short(answer or 'nothing', 160)}")
        if real:
            self.hook("PostToolUse", **it, tool_response=json.loads(result or "{}").get("content"), duration_ms=1)
        else:
            self.post("/tool/post", "post", call=raw, outcome="ok", output=told(result or "null"), durationMs=1)
        return {"id": call_id, "server": server, "arguments": arguments, "result": result, "sent": sent, "heard": heard}

    def close(self, reason="other"):
        for s in self.servers.values():
            s.close()
        self.hook("SessionEnd", reason=reason)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError, TypeError):
        return False


def there(w, directory, budget=BACK):
    """The process of the control server that says it serves a project, and lives; None."""
    def look():
        told = w.control(directory)
        return told.get("pid") if told.get("url") and alive(told.get("pid")) else None
    return homes.until(look, budget, 0.05)


def compare(w, whole, name, made, may_lose=False):
    """A run against the calls that were made in it: every call once, with its own arguments and result, in an order that is possible."""
    if whole is None:
        return
    run = whole["run"]
    lost = run.get("lostCalls") or 0
    if run.get("tier") != "bound" or (run.get("lossy") and not may_lose):
        w.say(f"{name}: tier {run.get('tier')}, lossy {run.get('lossy')}, {lost} calls lost")
    found = {one["id"]: one for one in judge.steps(w, whole)}
    missing = [m["id"] for m in made if m["id"] not in found or not found[m["id"]]["begin"] or not found[m["id"]]["end"]]
    if missing and not (may_lose and run.get("lossy") and lost >= len(missing)):
        w.say(f"{name}: {len(missing)} of {len(made)} calls are missing or half there ({missing[:4]}), lossy {run.get('lossy')}, {lost} counted as lost")
    extra = set(found) - {m["id"] for m in made}
    if extra:
        w.say(f"{name}: {len(extra)} calls that were not made: {sorted(map(str, extra))[:4]}")
    wrong = []
    for m in made:
        begin, end = (found.get(m["id"]) or {}).get("begin"), (found.get(m["id"]) or {}).get("end")
        if not begin or not end:
            continue
        sources = sorted(set(begin.get("sources") or []) | set(end.get("sources") or []))
        if end["stepIndex"] != begin["stepIndex"] + 1 or end.get("outcome") != "ok" or begin.get("server") != m["server"]:
            wrong.append(f"{m['id']}: rows {begin['stepIndex']}, {end['stepIndex']}, outcome {end.get('outcome')}, server {begin.get('server')}")
        elif (sources != ["hook", "proxy"] or end.get("bypassed")) and not (may_lose and sources):
            wrong.append(f"{m['id']}: seen by {sources}{', called bypassed' if end.get('bypassed') else ''}")
        elif json.loads(end.get("toolInput") or begin.get("toolInput") or "null") != m["arguments"]:
            wrong.append(f"{m['id']}: arguments {birtest.short(begin.get('toolInput') or 'nothing', 80)}")
        elif "proxy" in sources and end.get("toolOutput") is not None and json.loads(end["toolOutput"]) != json.loads(m["result"] or "null"):
            wrong.append(f"{m['id']}: result {birtest.short(end['toolOutput'], 80)}")
    if wrong:
        w.say(f"{name}: {len(wrong)} calls are not as they were made: {wrong[:4]}")
    # Nothing that had been answered stands behind what was not yet sent.
    times = {m["id"]: m for m in made}
    last = float("inf")
    for one in sorted((o for o in found.values() if o["begin"] and o["id"] in times), key=lambda o: -o["begin"]["stepIndex"]):
        m = times[one["id"]]
        if m["sent"] > last and not may_lose:
            w.say(f"{name}: {m['id']} was told of after a call that stands behind it had been taken")
            break
        last = min(last, m["heard"])


def ended(report, w, name, told):
    problems = w.finish()
    kept = w.done()
    report.check(not problems, f"{name}: {told}", f"{len(problems)} problems: " + "; ".join(problems[:8]) + (f" ... kept in {kept}" if kept else ""))


def quantiles(seconds):
    """The middle and the 99th of a hundred, in ms."""
    if len(seconds) < 2:
        return "none"
    return f"p50 {statistics.median(seconds) * 1000:.1f} ms, p99 {statistics.quantiles(seconds, n=100)[98] * 1000:.1f} ms"


def many_calls(report, opt):
    """Ten thousand calls through five proxies, at most 64 in flight: none twice, none missing, no gap."""
    w = world.World("many_calls")
    told = f"{opt.calls} calls through {PROXIES} proxies, {IN_FLIGHT} in flight"
    host = None
    try:
        d = w.project(servers=())
        host = ScriptedHost(w, d, [f"s{n}" for n in range(PROXIES)])
        host.hook("SessionStart", source="startup")
        if not there(w, d):
            w.say(f"no control server after SessionStart; {w.state()}")
            return
        start, turns = time.monotonic(), []
        with concurrent.futures.ThreadPoolExecutor(IN_FLIGHT) as pool:
            for t in range(TURNS):
                host.begin(f"P-TURN-{t} please")
                one = lambda n, t=t: host.call(f"s{n % PROXIES}", f"toolu_{t}_{n}", {"serial": n, "text": f"turn {t} call {n} " + "x" * (n % 400)}, n % REAL_HOOKS == 0)
                turns.append(list(pool.map(one, range(opt.calls // TURNS))))
                host.stop(f"turn {t} is done")
        took = time.monotonic() - start
        host.close()
        runs = w.runs(TURNS, budget=homes.ARRIVES)
        for t, made in enumerate(turns):
            whole = w.run_of(runs, f"P-TURN-{t} ")
            compare(w, whole, f"turn {t}", made)
            if whole and whole["run"].get("finalOutput") != f"turn {t} is done":
                w.say(f"turn {t}: the answer is {whole['run'].get('finalOutput')!r}")
        told += f" in {took:.0f} s; hook processes {quantiles(host.hooks)}, events {quantiles(host.posts)}"
    finally:
        if host:
            for s in host.servers.values():
                s.process.end(1)
        ended(report, w, "many_calls", told)


def control_killed(report, opt):
    """The control server is killed at random points: the host notices nothing, and no run is short of a call without saying so."""
    seed = opt.seed if opt.seed is not None else random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    w = world.World("control_killed")
    told, books, kills, hooks, host = f"{opt.rounds} rounds, seed {seed}", [], 0, [], None
    try:
        d = w.project(servers=())
        for r in range(opt.rounds):
            host = ScriptedHost(w, d, ["a", "b"])
            host.hook("SessionStart", source="startup")
            if not there(w, d):
                w.say(f"round {r}: SessionStart brought no control server; {w.state()}")
                break
            over, killed = threading.Event(), []

            def kill(pauses):
                for pause in pauses:
                    if over.wait(pause):
                        return
                    pid = there(w, d, BACK)
                    if pid is None:
                        w.say(f"round {r}: nobody brought the control server back within {BACK} s")
                        return
                    # Not at a moment in which it has just said where it is, always.
                    if over.wait(pauses[0] / 3):
                        return
                    try:
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)
                    except ProcessLookupError:
                        pass

            killer = threading.Thread(target=kill, args=([rng.uniform(0, 0.25) for _ in range(rng.randint(1, KILLS))],), daemon=True)
            host.begin(f"P-ROUND-{r} please")
            killer.start()
            with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
                one = lambda n: host.call("ab"[n % 2], f"toolu_{r}_{n}", {"serial": n, "text": f"round {r} call {n}"}, True)
                made = list(pool.map(one, range(CALLS)))
            host.stop(f"round {r} is done")
            over.set()
            killer.join(BACK + 5)
            # The next hook brings it back; that a start was tried a moment ago may cost one more.
            for _ in range(BACK):
                host.hook("Notification", message="nothing")
                if there(w, d, 1):
                    break
            else:
                w.say(f"round {r}: {BACK} hooks brought no control server back; {w.state()}")
            host.close()
            kills += len(killed)
            hooks += host.hooks
            books.append(made)
        runs = w.runs(len(books), budget=homes.ARRIVES)
        short = 0
        for r, made in enumerate(books):
            whole = w.run_of(runs, f"P-ROUND-{r} ")
            compare(w, whole, f"round {r}", made, may_lose=True)
            short += bool(whole and whole["run"].get("lossy"))
        told += f", {kills} kills, {short} runs lossy; hook processes {quantiles(hooks)}"
        if not kills:
            w.say("nothing was killed")
    finally:
        if host:
            for s in host.servers.values():
                s.process.end(1)
        ended(report, w, "control_killed", told)


CASES = [many_calls, control_killed]
