"""What a case needs: a HOME with a BIR_HOME, the hub, the control server, a scripted model, projects, and Claude Code in them."""

import hashlib
import json
import os
import platform
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "recording"), os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "hosts", "lib")]
import home as homes  # noqa: E402
from home import birtest  # noqa: E402
from model import Model  # noqa: E402

ARCH = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
CLAUDE = birtest.module("hosts", "@anthropic-ai", f"claude-code-linux-{ARCH}", "claude")
HOOKS = birtest.program("bir-hooks", "BIR_TEST_HOOKS")
HOSTS_LIB = os.path.join(birtest.TESTS, "hosts", "lib")
WITNESS = os.path.join(birtest.TESTS, "hosts", "claude-code", "hook_log.py")
EVENTS = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "PermissionRequest",
          "PermissionDenied", "SubagentStart", "SubagentStop", "Stop", "StopFailure", "SessionEnd", "Elicitation", "ElicitationResult",
          "PreCompact", "PostCompact", "Notification"]
# Seconds, as `bir hooks` prints them.
TIMEOUTS = {"UserPromptSubmit": 10, "PreToolUse": 15}
# Seconds. A run is over two seconds after its last sign, and then it is shipped.
ARRIVES = int(os.environ.get("BIR_TEST_ARRIVES", "45"))
SESSION = 90


def bound_hooks(home):
    """Claude Code's hooks as `bir hooks` prints them; where that command is not there yet, as it is to print them."""
    status, out, _ = home.bir("hooks", "claude-code", "--program", HOOKS)
    try:
        told = json.loads(out) if status == 0 else {}
    except ValueError:
        told = {}
    if told.get("hooks"):
        return told["hooks"]
    return {e: [{"hooks": [{"type": "command", "command": HOOKS, "args": ["hook", e], "timeout": TIMEOUTS.get(e, 5)}]}] for e in EVENTS}


def set_up(home, directory):
    """`bir project add`; where that command is not there yet, the file that it is to write."""
    status, _, _ = home.bir("project", "add", directory)
    directory = os.path.realpath(directory)
    path = os.path.join(home.state, "control", hashlib.sha256(directory.encode()).hexdigest()[:16] + ".json")
    if status != 0 and not os.path.exists(path):
        for folder in (home.state, os.path.dirname(path)):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            json.dump({"project": directory}, f)
    return path


class Hub(homes.Hub):
    """The hub that `bir up` started."""

    def __init__(self, home):
        self.home = home
        status, out, err = home.bir("up", "--json")
        if status != 0:
            raise RuntimeError(f"`bir up` ended with status {status}: {(out + err)[-500:]}")
        with open(os.path.join(home.state, "hub.json")) as f:
            self.told = json.load(f)
        self.url = self.told["url"].rstrip("/")
        self.token, self.port = self.told.get("token") or self._token_file(), int(self.url.rsplit(":", 1)[1])


class World:
    """One case's surroundings. `problems` is what went wrong; a case adds to it and never stops at the first."""

    def __init__(self, name):
        self.name, self.problems = name, []
        self.home = homes.Home(f"bound-{name}")
        # Every state directory in which something of ours may have been at work.
        self.homes = [self.home]
        self.user = os.path.join(self.home.dir, "home")
        self.logs = self.home.logs
        self.model = Model()
        self.hub = Hub(self.home)
        self.hooks = bound_hooks(self.home)
        # Nobody may find these anywhere that is ours.
        self.canaries = {f"{n}": f"canary-{secrets.token_hex(12)}" for n in ("CANARY_ONE", "MY_SERVICE_TOKEN", "AWS_SECRET_ACCESS_KEY", "PLAIN_SETTING")}
        self.canaries["ANTHROPIC_API_KEY"] = f"dummy-{secrets.token_hex(12)}"
        self.sessions = []
        self._write(os.path.join(self.user, ".claude.json"), {"hasCompletedOnboarding": True})

    def say(self, problem):
        self.problems.append(problem)

    def _write(self, path, value):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(value if isinstance(value, str) else json.dumps(value, indent=1))

    # Projects.

    def witness(self, answer=None):
        """A hook beside ours that writes down what it was told, and may answer."""
        command = f"{sys.executable} {WITNESS} {self.logs}/hooks.jsonl"
        if answer is not None:
            path = os.path.join(self.logs, f"answer-{secrets.token_hex(4)}.json")
            self._write(path, answer)
            command += f" {path}"
        return {"hooks": [{"type": "command", "command": command}]}

    def settings(self, more=None):
        """The hooks of ours and of the witness; `more` adds rules, by event."""
        merged = {e: [*rules, self.witness()] for e, rules in self.hooks.items()}
        for event, rules in (more or {}).items():
            merged.setdefault(event, []).extend(rules)
        return {"hooks": merged}

    def server(self, name, config=None, log=None):
        """An entry for a scripted server behind bir-proxy. Every server writes its own log."""
        argv = [os.path.join(HOSTS_LIB, "mcp_server.py"), log or os.path.join(self.logs, f"{name}.jsonl")]
        if config:
            path = os.path.join(self.logs, f"{name}-config.json")
            self._write(path, config)
            argv.append(path)
        return {"command": birtest.proxy(), "args": ["--server-name", name, "--scope", "project", "--", sys.executable, *argv]}

    def project(self, name="project", servers=("s1",), more_hooks=None, in_user_scope=False, git=False, permissions=None, set_up_too=True):
        """A directory that is set up, with hooks and wrapped servers; its real path."""
        directory = os.path.join(os.path.realpath(self.home.dir), name)
        os.makedirs(directory, exist_ok=True)
        if git:
            subprocess.run(["git", "init", "-q", directory], check=True, env=self.home.env())
        servers = servers if isinstance(servers, dict) else {s: self.server(s) for s in servers}
        self._write(os.path.join(directory, ".mcp.json"), {"mcpServers": servers})
        settings = self.settings(more_hooks)
        if permissions:
            settings["permissions"] = permissions
        place = os.path.join(self.user, ".claude", "settings.json") if in_user_scope else os.path.join(directory, ".claude", "settings.local.json")
        self._write(place, settings)
        if set_up_too:
            set_up(self.home, directory)
        return directory

    # The host.

    def start(self, directory, prompt=None, lines=None, args=("--permission-mode", "bypassPermissions"), env=None):
        session = Host(self, directory, prompt, lines, list(args), env or {})
        self.sessions.append(session)
        return session

    def session(self, *a, **k):
        """Starts a session and waits for its end."""
        session = self.start(*a, **k)
        session.end(SESSION)
        return session

    # What was seen.

    def rows(self, name):
        path = os.path.join(self.logs, f"{name}.jsonl")
        if not os.path.exists(path):
            return []
        with open(path, errors="replace") as f:
            return [json.loads(line) for line in f if line.endswith("\n")]

    def told(self, event=None, call=None):
        """What the witness saw, in the order of its writing."""
        rows = [r for r in self.rows("hooks") if event in (None, r["ev"])]
        return [r for r in rows if call is None or r["input"].get("tool_use_id") == call]

    def served(self, name):
        """Calls as a server was sent them: [(time, call id, name, arguments, answer)]."""
        rows, found = self.rows(name), []
        for i, row in enumerate(rows):
            message = row.get("msg") if row["ev"] == "host" else None
            if isinstance(message, dict) and message.get("method") == "tools/call":
                params = message["params"]
                answer = next((r["msg"] for r in rows[i + 1:] if r["ev"] == "server" and r["pid"] == row["pid"] and r["msg"].get("id") == message["id"] and "method" not in r["msg"]), None)
                found.append((row["t"], (params.get("_meta") or {}).get("claudecode/toolUseId"), params["name"], params.get("arguments"), answer))
        return found

    def control(self, directory):
        """What the discovery file of a project says."""
        path = os.path.join(self.home.state, "control", hashlib.sha256(os.path.realpath(directory).encode()).hexdigest()[:16] + ".json")
        try:
            with open(path) as f:
                return json.load(f)
        except (FileNotFoundError, ValueError):
            return {}

    def runs(self, count, budget=0):
        """Whole runs, oldest first, once `count` of them are finished; else what there is, and a problem."""
        def finished():
            runs = self.hub.runs()
            return (runs,) if len(runs) >= count and all(r.get("endedAt") for r in runs) else None
        budget = max(budget, ARRIVES) if budget and "BIR_TEST_ARRIVES" not in os.environ else ARRIVES
        found = (homes.until(finished, budget) or (self.hub.runs(),))[0]
        whole = [self.hub.run(r["id"]) for r in found]
        whole.sort(key=lambda w: w["run"]["startedAt"])
        if len(whole) != count or not all(w["run"].get("endedAt") for w in whole):
            seen = [(w["run"].get("tier"), birtest.short(w["run"].get("input") or "", 60), w["run"].get("calls"), "ended" if w["run"].get("endedAt") else "not ended") for w in whole]
            self.say(f"{len(whole)} runs within {budget} s, expected {count} finished ones: {seen}; {self.state()}")
        return whole

    def run_of(self, runs, phrase):
        """The run whose prompt has a phrase."""
        found = [w for w in runs if phrase in (w["run"].get("input") or "")]
        if len(found) != 1:
            self.say(f"{len(found)} runs have the prompt {phrase!r}")
        return found[0] if found else None

    def state(self):
        """In a few words why nothing may have come: files of the state directory, and the hosts' ends."""
        files = sorted(os.path.relpath(os.path.join(at, f), self.home.state) for at, _, names in os.walk(self.home.state) for f in names if not f.endswith((".db", ".db-wal", ".db-shm")))
        hosts = [(s.status, birtest.short(s.stderr()[-200:], 200)) for s in self.sessions]
        return f"below BIR_HOME: {files[:30]}; sessions ended with {hosts}; {len(self.told())} hook events, {len(self.model.requests)} requests of the model"

    # The end.

    def finish(self):
        """Ends everything; what must hold after every case. The problems."""
        for session in self.sessions:
            session.kill()
        self.home.bir("down")
        for home in self.homes:
            self.check_end(home)
        self.model.close()
        self.model.write(os.path.join(self.logs, "model.json"))
        return self.problems

    def check_end(self, home):
        """No process is left, files are their owner's alone, and no canary is in any."""
        left = home.none_left()
        if left:
            self.say(f"left running after `bir down`: {left}")
        for at, folders, files in os.walk(home.state):
            for name in files + folders:
                path = os.path.join(at, name)
                if os.lstat(path).st_mode & 0o077 and not os.path.islink(path):
                    self.say(f"others may use {os.path.relpath(path, home.state)}: {oct(os.lstat(path).st_mode & 0o777)}")
            for name in files:
                path = os.path.join(at, name)
                with open(path, "rb") as f:
                    data = f.read()
                found = [n for n, secret in self.canaries.items() if secret.encode() in data]
                if found:
                    self.say(f"the value of {found} of the environment is in {os.path.relpath(path, home.state)}")

    def done(self):
        good = not self.problems
        if good:
            shutil.rmtree(self.home.dir, ignore_errors=True)
            return None
        return birtest.keep(self.home.dir, "bound", self.name)


class Host:
    """One process of Claude Code. `lines` are what it gets on stdin, one after the other: messages, {"await": function}, or seconds."""

    def __init__(self, world, directory, prompt, lines, args, env):
        argv = [CLAUDE, *args, "--output-format", "stream-json", "--verbose", "--model", "claude-sonnet-4-5"]
        argv += ["--input-format", "stream-json", "-p"] if lines is not None else ["-p", prompt]
        self._launch(world, directory, argv, lines, self.environment(world, env))

    @staticmethod
    def environment(world, more):
        """What Claude Code is started with."""
        temp = os.path.join(world.home.dir, "tmp")
        os.makedirs(temp, exist_ok=True)
        return {"HOME": world.user, "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TERM": "dumb", "LANG": "C.UTF-8",
                "BIR_HOME": world.home.state, "ANTHROPIC_BASE_URL": world.model.url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "IS_SANDBOX": "1",
                "TMPDIR": temp, "CLAUDE_CODE_TMPDIR": temp, **world.canaries, **more}

    def _launch(self, world, directory, argv, lines, env):
        self.world, self.status, self.rows = world, None, []
        self.log = world.home.log("claude")
        self.err = open(self.log + ".err", "wb")
        self.process = subprocess.Popen(argv, cwd=directory, env=env, start_new_session=True, stdout=subprocess.PIPE, stderr=self.err,
                                        stdin=subprocess.PIPE if lines is not None else subprocess.DEVNULL)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.writer = threading.Thread(target=self._write, args=(lines or [],), daemon=True)
        self.writer.start()

    def _read(self):
        with open(self.log + ".out", "wb") as log:
            for line in self.process.stdout:
                log.write(line)
                log.flush()
                try:
                    self.rows.append(json.loads(line))
                except ValueError:
                    pass

    def _write(self, lines):
        if self.process.stdin is None:
            return
        try:
            for line in lines:
                if isinstance(line, (int, float)):
                    time.sleep(line)
                elif "await" in line:
                    if not homes.until(lambda: line["await"](self), SESSION / 2, 0.05):
                        self.world.say(f"what the case waits for did not come: {line.get('what', 'a condition')}")
                else:
                    self.process.stdin.write((json.dumps(line) + "\n").encode())
                    self.process.stdin.flush()
            self.process.stdin.close()
        except (BrokenPipeError, ValueError, OSError):
            pass

    def session_id(self):
        return next((r["session_id"] for r in reversed(self.rows) if r.get("type") == "result" and r.get("session_id")), None)

    def results(self):
        """How many turns have ended."""
        return sum(r.get("type") == "result" for r in self.rows)

    def end(self, budget):
        """Waits for its end. One that does not come is a problem."""
        try:
            self.status = self.process.wait(budget)
        except subprocess.TimeoutExpired:
            self.world.say(f"the host did not end within {budget} s; see {self.log}.out")
            self.kill()
        self.reader.join(10)
        return self.status

    def signal(self, number):
        if self.process.poll() is None:
            os.kill(self.process.pid, number)

    def kill(self):
        if self.process.poll() is None:
            birtest.end_group(self.process, 2)
        try:
            # Its servers are in its group.
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        self.err.close()

    def stderr(self):
        try:
            with open(self.log + ".err", errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""


def user(words):
    return {"type": "user", "message": {"role": "user", "content": words}}


def interrupt():
    return {"type": "control_request", "request_id": "r1", "request": {"subtype": "interrupt"}}


def turns(count):
    """Until so many turns have ended."""
    return {"await": lambda host: host.results() >= count, "what": f"the end of turn {count}"}


def reached(name, count=1):
    """Until a server was sent so many calls."""
    return {"await": lambda host: len(host.world.served(name)) >= count, "what": f"call {count} at the server {name}"}


def told(event, count=1):
    """Until the witness saw so many events."""
    return {"await": lambda host: len(host.world.told(event)) >= count, "what": f"{count} times {event}"}
