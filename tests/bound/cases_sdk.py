"""An application that uses the Agent SDK, whose session is bound by what its environment names."""

import copy
import hashlib
import json
import os
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


def sdk(w):
    """Sessions of the Agent SDK are bound by their environment, where the files of their HOME say nothing or name another."""
    project = os.path.join(os.path.realpath(w.home.dir), "project")
    directory = os.path.join(project, "app")
    os.makedirs(directory)
    # A run's project is the root of the repository.
    subprocess.run(["git", "init", "-q", project], check=True, env=w.home.env())
    world.set_up(w.home, project)
    # A control server begins with the first project, or with the first hook; here nothing but the environment leads to it.
    w.home.bir("up")
    told = homes.until(lambda: w.control(project) if w.control(project).get("token") else None, homes.STARTS)
    if not told:
        w.say(f"the discovery file of the project names no control server: {sorted(w.control(project))}")
        return

    # Hosts filter environments, and users have several: nothing is set up in the HOME in which the application works.
    user_home = os.path.join(w.home.dir, "other")
    other = copy.copy(w.home)
    other.state = os.path.join(user_home, ".baseinstrunner")
    w.homes.append(other)
    env = {"HOME": user_home, "BIR_HOME": other.state, "BIR_CONTROL_URL": told["url"], "BIR_CONTROL_TOKEN": told["token"]}
    w._write(os.path.join(user_home, ".claude.json"), {"hasCompletedOnboarding": True})
    options = {"settings": w.settings(), "mcpServers": {"s1": {"type": "stdio", **w.server("s1")}}}

    def session(lines, **more):
        host = Application(w, directory, lines, env, {**options, **more})
        w.sessions.append(host)
        if host.end(world.SESSION) != 0:
            w.say(f"the application ended with status {host.status}: {birtest.short(host.stderr()[-300:], 300)}")
        return host

    phrases = ["P-SDK-ONE", "P-SDK-TWO", "P-SDK-MORE"]
    for n, phrase in enumerate(phrases, 1):
        simple(w, phrase, n)
    first = session([user("P-SDK-ONE please"), turns(1), user("P-SDK-TWO please"), turns(2)])
    if found := sorted(os.listdir(os.path.join(other.state, "control"))) if os.path.exists(os.path.join(other.state, "control")) else []:
        w.say(f"the application's own state directory has {found} in `control`: something was set up or started there")

    # Now a file for the very directory names another one, and the servers come over the SDK's own channel instead of the command line.
    decoy = Decoy()
    try:
        key = hashlib.sha256(directory.encode()).hexdigest()[:16]
        os.makedirs(os.path.join(other.state, "control"), mode=0o700, exist_ok=True)
        with open(os.open(os.path.join(other.state, "control", f"{key}.json"), os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            json.dump({"project": directory, "url": decoy.url, "token": "0" * 64, "pid": os.getpid()}, f)
        session([user("P-SDK-MORE please"), turns(1)], resume=first.session_id() or "", mcpServersDelivery="initialize")
    finally:
        decoy.close()
    if decoy.asked:
        w.say(f"the discovery file went before the environment: its control server was asked for {decoy.asked[:5]}")

    runs = w.runs(3)
    for phrase in phrases:
        judged(w, runs, phrase, session=first.session_id())
    for whole in runs:
        if whole["run"].get("project") != project:
            w.say(f"the project is {whole['run'].get('project')!r}, not {project!r}")
    left = [os.path.relpath(os.path.join(at, f), other.state) for at, _, files in os.walk(other.state) for f in files]
    if kept := [f for f in left if f.startswith(("spool", "inbox", "control/serve"))]:
        w.say(f"what was recorded lies in the application's own state directory: {kept[:5]}")


CASES = [sdk]
