"""A user's home with hosts in it: what `bir install` is let loose on, and what has to be the same afterwards.

    Place ── write ──▶ files as a user has them ── picture ──▶ every file, folder and link, by hash
      │        └── canaries: credentials that may be found nowhere but where they stood
      └── install, uninstall, doctor, status: the real `bir`, in the project's directory
"""

import fnmatch
import hashlib
import json
import os
import secrets
import stat
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "bound"), os.path.join(HERE, "..", "recording"), os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "hosts", "lib")]
import home as homes  # noqa: E402
import host_session  # noqa: E402
from home import birtest  # noqa: E402
from watch import Watch  # noqa: E402

PROGRAMS = [homes.CLI, homes.PROXY, homes.HUB, birtest.program("bir-hooks", "BIR_TEST_HOOKS"), homes.UPSTREAM]
STDIO = ("alpha", "beta")
REMOTE = "gamma"
SERVERS = (*STDIO, REMOTE)
HEADER = "X-Api-Key"
MCP_SERVER = os.path.join(host_session.HOSTS_LIB, "mcp_server.py")


class Problems:
    """What went wrong in a case. It goes on after the first: what comes later often says why."""

    def __init__(self):
        self.found = []

    def say(self, what):
        self.found.append(what)

    def check(self, true, what):
        if not true:
            self.say(what)
        return bool(true)


class Place(host_session.Home, Problems):
    def __init__(self, name):
        host_session.Home.__init__(self, f"install-{name}")
        Problems.__init__(self)
        self.name = name
        # The real path is what programs keep.
        self.project = os.path.realpath(self.project)
        self.canaries = {what: f"canary-{secrets.token_hex(16)}" for what in ("alpha", "beta", "gamma", "url", "host")}
        self.remote, self.watch = None, None
        # Folders of hosts' programs, for PATH; patterns of paths that are no configuration and change whenever such a program runs.
        self.programs, self.not_ours = [], []

    def env(self, **more):
        # `bir` looks for a host's program where the user's shell does.
        path = os.pathsep.join([*self.programs, os.environ.get("PATH", "/usr/bin:/bin")])
        return super().env(**{"PATH": path, **more})

    # The servers that a user has: two programs and an address.

    def start_remote(self):
        """The server over HTTP; it goes on until the case is over."""
        port = self.file("remote-port")
        self.remote = self.start([homes.UPSTREAM, "--http", "127.0.0.1:0", "--port-file", port, "--log", self.file("gamma.jsonl"), "--max-seconds", "1200"], "remote")
        if not homes.until(lambda: os.path.exists(port) and os.path.getsize(port), homes.STARTS, 0.02):
            raise RuntimeError(f"the server over HTTP did not start: {self.remote.stderr()[-400:]}")
        with open(port) as f:
            self.remote_url = f"http://127.0.0.1:{f.read().strip()}/mcp"

    def command(self, name):
        """The command of a server over stdio, which logs what it is sent."""
        return [sys.executable, MCP_SERVER, self.file(f"{name}.jsonl")]

    def variable(self, name):
        """A variable of a server's entry, and the credential in it."""
        return f"{name.upper()}_TOKEN", self.canaries[name]

    def headers(self):
        return {HEADER: self.canaries["gamma"]}

    def calls(self, name):
        """The calls that a server was sent: [(tool, arguments)]."""
        if name == REMOTE:
            messages = [json.loads(r["text"]) for r in self.rows("gamma.jsonl") if r["ev"] == "line" and r.get("text")]
        else:
            messages = [r["msg"] for r in self.rows(f"{name}.jsonl") if r["ev"] == "host"]
        return [(m["params"]["name"], m["params"].get("arguments")) for m in messages if m.get("method") == "tools/call"]

    def sent_headers(self):
        """The values of the header that the remote server was sent, each once."""
        pairs = [pair for r in self.rows("gamma.jsonl") if r["ev"] == "http" for pair in r.get("headers", [])]
        return {value for name, value in pairs if name.lower() == HEADER.lower()}

    def started_with(self, name):
        """What a server over stdio found in the variable of its entry, each once."""
        return {r["env"].get(self.variable(name)[0]) for r in self.rows(f"{name}.jsonl") if r["ev"] == "start"}

    # Our program.

    def here(self, *args, budget=homes.ANSWERS, env=None, program=None, cwd=None):
        """`bir` in the project's directory: (status, stdout, stderr)."""
        return self.run([program or homes.CLI, *args], f"bir-{args[0]}", budget, env, cwd=cwd or self.project)

    def must(self, *args, status=0, **more):
        """The same, which has to end with a status; its output."""
        got, out, err = self.here(*args, **more)
        self.check(got == status, f"`bir {' '.join(args)}` ended with {got}, expected {status}: {birtest.short((out + err)[-700:], 700)}")
        return out + err

    def json(self, *args, status=0, **more):
        got, out, err = self.here(*args, "--json", **more)
        self.check(got == status, f"`bir {' '.join(args)} --json` ended with {got}, expected {status}: {birtest.short((out + err)[-500:], 500)}")
        try:
            return json.loads(out)
        except ValueError:
            self.say(f"`bir {' '.join(args)} --json` printed no JSON: {birtest.short(out, 200)}")
            return {}

    def doctor(self, when):
        status, out, err = self.here("doctor")
        self.check(status == 0, f"`bir doctor` {when} found faults: {birtest.short((out + err)[-900:], 900)}")
        return out

    # What is there.

    def picture(self):
        """Every path below HOME but the state directory and what programs of hosts keep for themselves: {path: what it is}."""
        found = {}
        for at, folders, files in os.walk(self.home):
            paths = {name: os.path.relpath(os.path.join(at, name), self.home) for name in folders + files}
            kept = {name for name, path in paths.items() if path != ".baseinstrunner" and not any(fnmatch.fnmatch(path, pattern) for pattern in self.not_ours)}
            found |= {paths[name]: what(os.path.join(at, name)) for name in kept}
            folders[:] = kept.intersection(folders)
        return found

    def text(self, path):
        """A file below HOME."""
        with open(os.path.join(self.home, path), newline="") as f:
            return f.read()

    def same(self, before, after, when):
        """Both pictures are the same, to the byte."""
        for path in sorted({*before, *after}):
            if path not in after:
                self.say(f"{when}: ~/{path} is gone")
            elif path not in before:
                self.say(f"{when}: ~/{path} was left behind ({after[path][0]})")
            elif before[path] != after[path]:
                self.say(f"{when}: ~/{path} is not as it was: {before[path][:2]} before, {after[path][:2]} now")

    # Secrets.

    def with_canaries(self):
        """The files below HOME that hold a canary: {path: names}."""
        found = {}
        for at, _, files in os.walk(self.home):
            for name in files:
                full = os.path.join(at, name)
                if os.path.islink(full) or not os.path.isfile(full):
                    continue
                with open(full, "rb") as f:
                    data = f.read()
                here = [n for n, secret in self.canaries.items() if secret.encode() in data]
                if here:
                    found[os.path.relpath(full, self.home)] = here
        return found

    def no_secret(self, allowed=()):
        """No canary in a file of ours, in anything that our commands said, or in a command line of a process of ours."""
        for path, names in self.with_canaries().items():
            if path.startswith(".baseinstrunner") or os.path.basename(path).startswith("bir"):
                self.say(f"the credentials of {names} stand in ~/{path}")
            elif allowed and path not in allowed:
                self.say(f"the credentials of {names} stand in ~/{path}, where they were not")
        for name in sorted(os.listdir(self.logs)):
            if "-bir" not in name and "-hub" not in name:
                continue
            with open(os.path.join(self.logs, name), "rb") as f:
                data = f.read()
            here = [n for n, secret in self.canaries.items() if secret.encode() in data]
            self.check(not here, f"the credentials of {here} were said in {name}")
        for line in self.watch.seen if self.watch else []:
            here = [n for n, secret in self.canaries.items() if any(secret in arg for arg in line.argv)]
            self.check(not here or not line.ours, f"the credentials of {here} are in the command line of {line.program}")

    def watching(self):
        self.watch = Watch(self.home)
        return self.watch

    # The end.

    def close(self):
        """Ends what is left of the case; the problems."""
        self.here("down")
        if self.watch:
            self.watch.stop()
        if self.remote:
            self.remote.end(1)
        left = self.none_left()
        self.check(not left, f"left running: {left}")
        return self.found

    def done(self, good):
        return super().done(True) if good else birtest.keep(self.dir, "install", self.name)


def what(path):
    """A path in a few words that change when it does."""
    info = os.lstat(path)
    mode = oct(stat.S_IMODE(info.st_mode))
    if stat.S_ISLNK(info.st_mode):
        return ("link", os.readlink(path))
    if stat.S_ISDIR(info.st_mode):
        return ("folder", mode)
    if not stat.S_ISREG(info.st_mode):
        return ("other", mode)
    with open(path, "rb") as f:
        data = f.read()
    return ("file", f"{mode}, {len(data)} bytes", hashlib.sha256(data).hexdigest())
