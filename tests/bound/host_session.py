"""A real host under a scripted model, in a home of its own, where only loopback is up.

A host is a `Host`: its files, its command line, and how its model names a tool. What the hosts share is here: the home, the scripted model, the
small server behind them, and the namespace.

Hosts hand on few variables, so nothing here sets BIR_HOME for them: the state directory is the one below HOME.
"""

import json
import os
import shlex
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
HOSTS_LIB = os.path.join(TESTS, "hosts", "lib")
sys.path[:0] = [os.path.join(TESTS, "recording"), os.path.join(TESTS, "lib"), HOSTS_LIB]
import home as homes  # noqa: E402
import loopback  # noqa: E402
from home import birtest  # noqa: E402

# Seconds. One turn of a host with a handful of calls; the first start of Copilot CLI unpacks itself.
TURN = 120
SERVER = "it"


def module(*path):
    return os.path.join(HERE, "hosts", "node_modules", *path)


class Host:
    """A host, and what its hooks tell (README.md)."""

    # Where it keeps records of its sessions, below HOME.
    TRANSCRIPTS = None
    # How a call that a hook saw is joined with the proxy's, as a run's metadata says it.
    JOIN = "fingerprint"
    # Whether calls of one message run at once.
    AT_ONCE = True
    # Whether hooks tell the final answer; ids of calls over MCP, and of others.
    TELLS_ANSWER, HAS_ID, SHELL_HAS_ID = True, False, False
    # The shell as hooks name it, and how a command ends that fails.
    SHELL, SHELL_FAILS = "", "tool_error"
    # How a tool of a server is named by hooks.
    RENDERED = ""

    def joined_by(self, meta):
        """The id of the call in a request's `_meta`."""
        return meta.get("callId") or meta.get("bir/callId")

    def row(self, tool, what):
        """A call as it has to be recorded."""
        if tool == "shell":
            return {"toolName": self.SHELL, "server": None, "tool": None, "sources": ["hook"],
                    "outcome": self.SHELL_FAILS if "exit 3" in what else "ok", "input": self.shell(what, hook=True)["arguments"]}
        return {"toolName": self.RENDERED.format(SERVER, tool), "server": SERVER, "tool": tool, "sources": ["hook", "proxy"],
                "outcome": {"fail": "tool_error", "rpc_error": "rpc_error"}.get(tool, "ok"), "input": what}


class Home(homes.Home):
    """A home whose state directory is found from HOME alone."""

    def __init__(self, name):
        super().__init__(name)
        self.home = os.path.join(self.dir, "home")
        self.state = os.path.join(self.home, ".baseinstrunner")
        self.project = os.path.join(self.home, "project")
        # A project is its git root.
        os.makedirs(os.path.join(self.project, ".git"))

    def env(self, **more):
        return super().env(BIR_HOME=None, **more)

    def left_behind(self):
        """Processes that still have this HOME in their environment: (pid, command line)."""
        found, mark = [], f"HOME={self.home}".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    ours = mark in f.read().split(b"\0")
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    line = f.read().replace(b"\0", b" ").decode("utf8", "replace").strip()
                with open(f"/proc/{pid}/stat") as f:
                    dead = f.read().rsplit(")", 1)[1].split()[0] == "Z"
            except (FileNotFoundError, PermissionError, ProcessLookupError):
                continue
            if ours and not dead:
                found.append((int(pid), line))
        return found

    def done(self, good):
        return super().done(True) if good else birtest.keep(self.dir, "bound", self.name)

    def file(self, *path):
        return os.path.join(self.logs, *path)

    def rows(self, name):
        try:
            with open(self.file(name)) as f:
                return [json.loads(line) for line in f]
        except FileNotFoundError:
            return []

    def put(self, text, *path):
        """Writes a file below HOME; what is no text becomes JSON."""
        full = os.path.join(self.home, *path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w") as f:
            f.write(text if isinstance(text, str) else json.dumps(text, indent=1))
        return full


class Model:
    """The scripted model; `plan` is in a host's own words."""

    def __init__(self, home, plan):
        with open(home.file("plan.json"), "w") as f:
            json.dump(plan, f)
        self.process = home.start([sys.executable, os.path.join(HERE, "models", "apis.py"), "--plan", home.file("plan.json"),
                                   "--log", home.file("model.jsonl"), "--port-file", home.file("port")], "model")
        if not homes.until(lambda: os.path.exists(home.file("port")) or not self.process.alive(), homes.STARTS, 0.02) or not self.process.alive():
            raise RuntimeError(f"the scripted model did not start: {self.process.stderr()[-400:]}")
        with open(home.file("port")) as f:
            self.port = int(f.read())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.end(1)


def server(home, wrap=()):
    """The command of the small server, behind what wraps it."""
    return [*wrap, sys.executable, os.path.join(HOSTS_LIB, "mcp_server.py"), home.file("server.jsonl")]


def turn(home, host, model, prompt, number):
    """One turn of a host to its end: (status, stdout, stderr)."""
    return home.run(host.turn(home, prompt, number), f"{host.NAME}-{number}", TURN, host.env(model), cwd=home.project)


def plan(host, steps):
    """Steps in neutral words, as the host's model says them. A call is ("shell", command), (tool, arguments) or (tool, arguments, server)."""
    def say(step):
        if isinstance(step, str):
            return {"text": step}
        return {"calls": [host.shell(what) if tool == "shell" else host.call(tool, what, *server) for tool, what, *server in step]}
    return [say(step) for step in steps]


def hook_log(home):
    """The command that only notes what a hook is given, for an event."""
    return lambda event: [sys.executable, os.path.join(HERE, "hook_log.py"), home.file("hooks.jsonl"), event]


def shell_line(argv):
    return shlex.join(argv)
