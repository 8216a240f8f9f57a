"""An application that uses the Agent SDK, whose session is bound by what its environment names."""

import copy
import hashlib
import json
import os
import signal
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import world
from cases_sessions import judged, simple
from world import HERE, birtest, homes, turns, user

SDK = os.path.join(HERE, "sdk", "node_modules", "@anthropic-ai", "claude-agent-sdk", "sdk.mjs")
APPLICATION = os.path.join(HERE, "sdk", "session.mjs")


class Application(world.Host):
    """One process of the application, which starts Claude Code by the SDK. Only the options of the SDK have the host's environment."""

    def __init__(self, w, directory, lines, env, options):
        path = w.home.log("options.json")
        with open(path, "w") as f:
            json.dump({"cwd": directory, "pathToClaudeCodeExecutable": world.CLAUDE, "model": "claude-sonnet-4-5", "settingSources": [],
                       "permissionMode": "bypassPermissions", "allowDangerouslySkipPermissions": True, "env": self.environment(w, env), **options}, f)
        own = {name: value for name, value in self.environment(w, env).items() if name in ("HOME", "PATH", "LANG", "TMPDIR", "BIR_HOME")}
        # It works elsewhere itself: the session's directory is an option.
        self._launch(w, w.home.dir, [birtest.node(), APPLICATION, path], lines, own)


class Decoy:
    """Where a discovery file says that a control server is; counts who comes."""

    def __init__(self):
        self.asked = asked = []

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self):
                asked.append(f"{self.command} {self.path}")
                self.send_response(503)
                self.send_header("content-length", "0")
                self.end_headers()

            do_GET = do_POST = answer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Surroundings:
    """A project that is set up, whose control server runs, and how the application names it to the SDK."""

    def __init__(self, w):
        self.w, self.top = w, os.path.realpath(w.home.dir)
        self.project = os.path.join(self.top, "project")
        os.makedirs(self.project)
        # A run's project is the root of the repository.
        subprocess.run(["git", "init", "-q", self.project], check=True, env=w.home.env())
        world.set_up(w.home, self.project)
        # A control server begins with `bir up` where something is set up, or with a hook that finds a file; here no hook does.
        w.home.bir("up")
        self.told = homes.until(lambda: found if (found := w.control(self.project)).get("token") else {}, homes.STARTS)
        if not self.told:
            raise RuntimeError(f"the discovery file of the project names no control server: {w.control(self.project)}")
        self.env = {"BIR_CONTROL_URL": self.told["url"], "BIR_CONTROL_TOKEN": self.told["token"]}
        self.options = {"settings": w.settings(), "mcpServers": {"s1": {"type": "stdio", **w.server("s1")}}, "mcpServersDelivery": "initialize"}

    def directory(self, *path):
        made = os.path.join(self.top, *path)
        os.makedirs(made)
        return made

    def session(self, directory, lines, **more):
        host = Application(self.w, directory, lines, self.env, {**self.options, **more})
        self.w.sessions.append(host)
        if host.end(world.SESSION) != 0:
            self.w.say(f"the application ended with status {host.status}: {birtest.short(host.stderr()[-300:], 300)}")
        return host


def sdk(w):
    """The environment binds sessions of the Agent SDK, where the files of their HOME say nothing or name another control server."""
    around = Surroundings(w)
    directory = around.directory("project", "app")
    # Nothing is set up in the HOME in which the application works.
    user_home = around.directory("other")
    other = copy.copy(w.home)
    other.state = os.path.join(user_home, ".baseinstrunner")
    w.homes.append(other)
    around.env.update(HOME=user_home, BIR_HOME=other.state)
    w._write(os.path.join(user_home, ".claude.json"), {"hasCompletedOnboarding": True})
    phrases = ["P-SDK-ONE", "P-SDK-TWO", "P-SDK-MORE"]
    for n, phrase in enumerate(phrases, 1):
        simple(w, phrase, n)
    # The servers of the first session are named on the command line, those of the second over stdin: the SDK has both ways.
    first = around.session(directory, [user("P-SDK-ONE please"), turns(1), user("P-SDK-TWO please"), turns(2)], mcpServersDelivery="argv")
    if found := files(other.state, "control"):
        w.say(f"the application's own state directory has {found}: something was set up or started there")

    decoy = Decoy()
    try:
        # A file for the very directory names another one now.
        os.makedirs(os.path.join(other.state, "control"), mode=0o700, exist_ok=True)
        path = os.path.join(other.state, "control", hashlib.sha256(directory.encode()).hexdigest()[:16] + ".json")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            json.dump({"project": directory, "url": decoy.url, "token": "0" * 64, "pid": os.getpid()}, f)
        around.session(directory, [user("P-SDK-MORE please"), turns(1)], resume=first.session_id() or "")
    finally:
        decoy.close()
    if decoy.asked:
        w.say(f"the discovery file went before the environment: its control server was asked for {decoy.asked[:5]}")
    runs = w.runs(3)
    for phrase in phrases:
        judged(w, runs, phrase, session=first.session_id())
    for whole in runs:
        if whole["run"].get("project") != around.project:
            w.say(f"the project is {whole['run'].get('project')!r}, not {around.project!r}")
    if found := files(other.state, "spool") + files(other.state, "inbox"):
        w.say(f"what was recorded lies in the application's own state directory: {found[:5]}")


def sdk_outside(w):
    """A session outside of the project whose token it shows goes on undisturbed, and nothing of it is recorded."""
    around = Surroundings(w)
    for n, phrase in enumerate(("P-SDK-OUT", "P-SDK-IN"), 1):
        simple(w, phrase, n)
    out = around.session(around.directory("outside"), [user("P-SDK-OUT please"), turns(1)])
    answers = [r.get("result") for r in out.rows if r.get("type") == "result"]
    if answers != ["P-SDK-OUT is done."] or len(w.served("s1")) != 1:
        w.say(f"outside, the session's answers are {answers}, and its server was sent {len(w.served('s1'))} calls")
    # What the first one left in the inbox is read by now, since this one's run is there.
    inside = around.session(around.project, [user("P-SDK-IN please"), turns(1)])
    judged(w, w.runs(1), "P-SDK-IN", session=inside.session_id())


def sdk_restarted(w):
    """The control server that the environment names is killed between two turns: its successor has both, whole."""
    around = Surroundings(w)
    phrases = ["P-SDK-BEFORE", "P-SDK-AFTER"]
    for n, phrase in enumerate(phrases, 1):
        simple(w, phrase, n)

    def kill(_):
        os.kill(around.told["pid"], signal.SIGKILL)
        return True

    host = around.session(around.project, [user("P-SDK-BEFORE please"), turns(1), {"await": kill}, user("P-SDK-AFTER please"), turns(2)])
    runs = w.runs(2)
    for phrase in phrases:
        judged(w, runs, phrase, session=host.session_id())
    if w.control(around.project).get("pid") == around.told["pid"]:
        w.say("nobody started another control server")


def files(state, folder):
    """The files of a folder of a state directory."""
    return [os.path.relpath(os.path.join(at, name), state) for at, _, names in os.walk(os.path.join(state, folder)) for name in names]


CASES = [sdk, sdk_outside, sdk_restarted]
