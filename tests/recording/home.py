"""A state directory of its own, the programs that use it, and the hub's API.

Every process gets a whole environment of its own, so that nothing of the machine's leaks in, and a group of its own; all
of them are ended when the suite ends, whatever happens.
"""

import atexit
import http.client
import http.cookies
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import birtest  # noqa: E402

PROXY = birtest.proxy()
HUB = birtest.program("bir-hub", "BIR_TEST_HUB")
CLI = birtest.program("bir", "BIR_TEST_CLI")
UPSTREAM = birtest.program("bir-test-upstream", "BIR_TEST_UPSTREAM")
OUT = os.path.join(birtest.WORK, "recording")

# Seconds. Nothing here says how fast something must be: these only end what would never end.
STARTS = 60
ANSWERS = 90
ARRIVES = 180

_running = set()
# File systems that a test mounted.
mounts = set()


@atexit.register
def _end_all():
    for process in list(_running):
        process.end(grace=1)
    for where in list(mounts):
        unmount(where)


def _on_signal(number, _):
    """Whoever ends the suite ends what it started, which is in groups of its own."""
    _end_all()
    os._exit(128 + number)


for _number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(_number, _on_signal)


def mount(where, size):
    """A small file system at a folder; False where that is not allowed."""
    got = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", where], capture_output=True)
    if got.returncode == 0:
        mounts.add(where)
    return got.returncode == 0


def unmount(where):
    subprocess.run(["umount", "-l", where], capture_output=True)
    mounts.discard(where)


class Process:
    """A process in a group of its own; stderr goes to a file, stdout too unless it is a pipe."""

    def __init__(self, argv, env, log, pipes=False, cwd=None, limit=None):
        self.log = log
        self.err = open(log + ".err", "wb")
        self.out = None if pipes else open(log + ".out", "wb")

        if limit is not None:
            # A file that may not grow is an error to whoever writes, not the end of the process.
            argv = ["sh", "-c", 'trap "" XFSZ; limit=$1; shift; exec prlimit --fsize="$limit":unlimited "$@"', "sh", str(limit), *argv]
        self.process = subprocess.Popen(
            argv, env=env, cwd=cwd, start_new_session=True,
            stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
            stdout=subprocess.PIPE if pipes else self.out, stderr=self.err)
        _running.add(self)

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def signal(self, number):
        if self.alive():
            os.kill(self.pid, number)

    def kill(self):
        """kill -9, of this process alone."""
        self.signal(signal.SIGKILL)
        self.process.wait(30)

    def wait(self, budget):
        """The exit status; None when it goes on."""
        try:
            return self.process.wait(budget)
        except subprocess.TimeoutExpired:
            return None

    def lift_limit(self):
        if self.alive():
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def end(self, grace=10):
        if self.alive():
            self.signal(signal.SIGCONT)
        birtest.end_group(self.process, grace)
        for f in (self.err, self.out):
            if f:
                f.close()
        _running.discard(self)

    def stderr(self):
        with open(self.log + ".err", errors="replace") as f:
            return f.read()

    def stdout(self):
        with open(self.log + ".out", errors="replace") as f:
            return f.read()


class Answer:
    """What a hub answered."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def text(self):
        return self.body.decode("utf8", "replace")


class Home:
    """A HOME with a BIR_HOME in it."""

    def __init__(self, name):
        self.dir = birtest.scratch(f"recording-{name}")
        self.name = name
        self.state = os.path.join(self.dir, "state")
        self.logs = os.path.join(self.dir, "logs-of-the-test")
        self.count = 0
        os.makedirs(os.path.join(self.dir, "home"))
        os.makedirs(self.logs)

    def env(self, **more):
        base = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": os.path.join(self.dir, "home"), "BIR_HOME": self.state,
                "LANG": "C.UTF-8", "TMPDIR": self.dir}
        return {k: v for k, v in {**base, **more}.items() if v is not None}

    def log(self, what):
        self.count += 1
        return os.path.join(self.logs, f"{self.count:03}-{what}")

    def start(self, argv, what, env=None, **kw):
        return Process(argv, self.env(**(env or {})), self.log(what), **kw)

    def run(self, argv, what, budget=ANSWERS, env=None, cwd=None):
        """Runs to the end: (status, stdout, stderr); status None: it did not end."""
        process = self.start(argv, what, env, cwd=cwd)
        try:
            status = process.wait(budget)
        finally:
            process.end(2)
        return status, process.stdout(), process.stderr()

    def bir(self, *args, budget=ANSWERS, env=None):
        return self.run([CLI, *args], f"bir-{args[0]}", budget, env)

    def left_behind(self):
        """Processes that still have this home in their environment: (pid, command line)."""
        found, mark = [], f"BIR_HOME={self.state}".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if mark not in f.read().split(b"\0"):
                        continue
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    line = f.read().replace(b"\0", b" ").decode("utf8", "replace").strip()
                with open(f"/proc/{pid}/stat") as f:
                    if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                        continue
                found.append((int(pid), line))
            except (FileNotFoundError, PermissionError, ProcessLookupError):
                pass
        return found

    def none_left(self, budget=20):
        """Waits until no process has this home any more. What is left is ended by us, and returned."""
        end = time.monotonic() + budget
        while (left := self.left_behind()) and time.monotonic() < end:
            time.sleep(0.1)
        for pid, _ in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return left

    def done(self, good):
        """Takes the folder away, or keeps it below .work when something was wrong."""
        if good:
            shutil.rmtree(self.dir, ignore_errors=True)
            try:
                os.rmdir(os.path.dirname(self.dir))
            except OSError:
                pass
            return None
        return birtest.keep(self.dir, "recording", self.name)


class Hub:
    """`bir-hub serve`, embedded, on a free port."""

    def __init__(self, home, args=(), env=None, listen="127.0.0.1:0", **kw):
        self.home = home
        self.process = home.start([HUB, "serve", "--listen", listen, *args], "hub", env, **kw)
        end = time.monotonic() + STARTS
        while not self._ready():
            if not self.process.alive():
                raise RuntimeError(f"the hub ended with status {self.process.wait(1)}: {self.process.stderr()[-800:]}")
            if time.monotonic() > end:
                self.process.end(1)
                raise RuntimeError(f"the hub did not answer within {STARTS} s: {self.process.stderr()[-800:]}")
            time.sleep(0.03)

    def _ready(self):
        try:
            with open(os.path.join(self.home.state, "hub.json")) as f:
                told = json.load(f)
        except (FileNotFoundError, ValueError):
            return False
        if told.get("pid") != self.process.pid:
            return False
        self.told, self.url = told, told["url"].rstrip("/")
        self.token = told.get("token") or self._token_file()
        self.port = urllib.parse.urlsplit(self.url).port
        try:
            return self.call("GET", "/health", token=None).status == 200
        except OSError:
            return False

    def _token_file(self):
        with open(os.path.join(self.home.state, "hub.token")) as f:
            return f.read().strip()

    def call(self, method, path, body=None, token="own", headers=None, timeout=ANSWERS):
        sent = dict(headers or {})
        if token:
            sent.setdefault("Authorization", f"Bearer {self.token if token == 'own' else token}")
        if body is not None and not isinstance(body, (bytes, str)):
            body, _ = json.dumps(body), sent.setdefault("Content-Type", "application/json")
        if isinstance(body, str):
            body = body.encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict((k.lower(), v) for k, v in answer.getheaders()), answer.read())
        finally:
            connection.close()

    def get(self, path):
        answer = self.call("GET", path)
        if answer.status == 429:
            time.sleep(min(float(answer.headers.get("retry-after", 1)), 5))
            answer = self.call("GET", path)
        if answer.status != 200:
            raise RuntimeError(f"GET {path}: {answer.status} {answer.text()[:300]}")
        return answer.json()

    def runs(self, query=""):
        """Every run, newest first."""
        found, cursor = [], ""
        while cursor is not None:
            page = self.get("/recordings/runs?limit=500" + query + (f"&cursor={urllib.parse.quote(cursor)}" if cursor else ""))
            found += page["runs"]
            cursor = page.get("next")
        return found

    def run(self, run_id):
        """A run with all of its rows."""
        whole = self.get(f"/recordings/runs/{run_id}")
        following = whole.get("next")
        while following is not None:
            page = self.get(f"/recordings/runs/{run_id}/steps?from={following}&limit=500")
            whole["steps"] += page["steps"]
            following = page.get("next")
        return whole

    def browser(self):
        """A function that gets pages as a browser does that was signed in with a ticket."""
        ticket = self.call("POST", "/auth/ticket", body={})
        if ticket.status not in (200, 201):
            raise RuntimeError(f"no ticket: {ticket.status} {ticket.text()[:300]}")
        return Browser(ticket.json()["url"])

    def kill(self):
        self.process.kill()
        self.process.end(1)

    def end(self):
        """Asks it to end, as a service manager does; its exit status."""
        self.process.signal(signal.SIGTERM)
        status = self.process.wait(STARTS)
        self.process.end(1)
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.end()


class Browser:
    """Follows redirects and keeps cookies."""

    def __init__(self, url):
        self.cookies = {}
        self.first = self.get(url)
        parts = urllib.parse.urlsplit(url)
        self.base = f"http://127.0.0.1:{parts.port}"

    def get(self, url):
        if url.startswith("/"):
            url = self.base + url
        for _ in range(6):
            parts = urllib.parse.urlsplit(url)
            connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=ANSWERS)
            headers = {"Accept": "text/html"}
            if self.cookies:
                headers["Cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
            try:
                connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""), headers=headers)
                answer = connection.getresponse()
                got = Answer(answer.status, dict((k.lower(), v) for k, v in answer.getheaders()), answer.read())
                for line in answer.msg.get_all("set-cookie") or []:
                    for name, morsel in http.cookies.SimpleCookie(line).items():
                        self.cookies[name] = morsel.value
            finally:
                connection.close()
            if got.status not in (301, 302, 303, 307):
                return got
            url = urllib.parse.urljoin(url, got.headers["location"])
        raise RuntimeError(f"too many redirects at {url}")


def until(condition, budget, every=0.1):
    """What the condition gives as soon as it is true; its last value when the time is over."""
    end = time.monotonic() + budget
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(every)
