"""What every suite of this folder needs: where things are, processes that are surely ended, and a report.

A suite is a script `run.py`. It makes a `Report`, adds one line per case, and ends with `report.finish()`, which writes
`.work/results/<suite>.json` for the summary of `./test`, prints "N passed, N failed, N skipped" and gives the exit status.
A case that cannot be run on this machine is skipped with a reason, never left out.
"""

import atexit
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TESTS = os.path.join(ROOT, "tests")
WORK = os.path.join(ROOT, ".work")


def program(name, variable):
    """Path of one of our own programs: the variable names it, else the newest release build."""
    if os.environ.get(variable):
        return os.path.abspath(os.environ[variable])
    target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
    return os.path.join(target, "release", name)


def proxy():
    return program("bir-proxy", "BIR_PROXY")


def node():
    """The pinned Node of tests/node."""
    arch = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return os.path.join(TESTS, "node", "node_modules", f"node-linux-{arch}", "bin", "node")


def browser():
    """A Chromium of this machine, or None."""
    named = os.environ.get("BIR_CHROMIUM")
    places = [named] if named else ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
    return next((p for p in places if os.path.exists(p)), None)


def module(suite, *path):
    return os.path.join(TESTS, suite, "node_modules", *path)


def work(*path):
    """A fresh folder below .work."""
    full = os.path.join(WORK, *path)
    shutil.rmtree(full, ignore_errors=True)
    os.makedirs(full)
    return full


def scratch(name):
    """A fresh folder outside the repository, always with the same path in one run of a suite."""
    full = os.path.join(tempfile.gettempdir(), f"bir-test-{os.getpid()}", name)
    shutil.rmtree(full, ignore_errors=True)
    os.makedirs(full)
    return full


def keep(folder, *path):
    """Moves a scratch folder below .work, and takes its parent away when that was the last."""
    kept = os.path.join(WORK, *path)
    shutil.rmtree(kept, ignore_errors=True)
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    shutil.move(folder, kept)
    try:
        os.rmdir(os.path.dirname(folder))
    except OSError:
        pass
    return kept


def own_state():
    """Nothing that a test starts may write into the user's state directory.

    BIR_HOME says so to our own programs. Clients filter the environment of the servers that they start, so HOME says it too.
    """
    home = scratch("home")
    for tool in ("cargo", "rustup"):
        os.environ.setdefault(f"{tool.upper()}_HOME", os.path.join(os.path.expanduser("~"), f".{tool}"))
    os.environ["HOME"], os.environ["BIR_HOME"] = home, os.path.join(home, ".baseinstrunner")

    def leave():
        shutil.rmtree(home, ignore_errors=True)
        try:
            os.rmdir(os.path.dirname(home))
        except OSError:
            pass

    atexit.register(leave)


own_state()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server process in a group of its own that says on stdout or stderr where it listens. Ended by its id.

    `address` is the first http address that it printed; with `port` the address is known and only waited for.
    """

    def __init__(self, argv, log, env=None, port=None, path="/mcp", budget=30):
        self.log = log
        self.out = open(log, "wb")
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.STDOUT,
                                        env={**os.environ, **(env or {})}, start_new_session=True)
        end = time.monotonic() + budget
        self.address = None
        while self.address is None:
            if self.process.poll() is not None:
                raise RuntimeError(f"{argv[0]} ended with status {self.process.returncode} before it listened; see {log}")
            if time.monotonic() > end:
                self.close()
                raise RuntimeError(f"{argv[0]} did not listen within {budget} s; see {log}")
            self.address = self._listening(port, path)
            time.sleep(0.02)

    def _listening(self, port, path):
        if port is not None:
            with socket.socket() as s:
                return f"http://127.0.0.1:{port}{path}" if s.connect_ex(("127.0.0.1", port)) == 0 else None
        with open(self.log, errors="replace") as f:
            for word in f.read().split():
                if word.startswith("http://127.0.0.1:"):
                    return word
        return None

    def close(self):
        end_group(self.process)
        self.out.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def end_group(process, grace=5):
    """Asks a process of ours and its group to end, then makes them."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            pass


def run(argv, budget, env=None, cwd=None):
    """Runs a command to its end within a budget in seconds: (status, stdout, stderr); status None when it was ended.

    The output goes to files, not pipes: a process that is left behind holds a pipe open, and must not hold us up. What is
    left of the command's group afterwards is ended.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env={**os.environ, **(env or {})},
                             cwd=cwd, start_new_session=True)
        try:
            status = p.wait(budget)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            # Also when this suite itself is ended.
            end_group(p, 2)
        texts = []
        for f in (out, err):
            f.seek(0)
            texts.append(f.read().decode("utf8", "replace"))
        return (status, *texts)


class Report:
    """The cases of one suite, printed as they come."""

    def __init__(self, suite):
        self.suite = suite
        self.rows = []
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def _add(self, state, name, detail):
        with self.lock:
            self.rows.append({"case": name, "state": state, "detail": detail})
        print(f"{state:7} {name}" + (f": {detail}" if detail else ""), flush=True)

    def passed(self, name, detail=""):
        self._add("passed", name, detail)

    def failed(self, name, detail=""):
        self._add("failed", name, detail)

    def skipped(self, name, reason):
        self._add("skipped", name, reason)

    def check(self, ok, name, detail=""):
        (self.passed if ok else self.failed)(name, "" if ok else detail)
        return ok

    def equal(self, name, direct, through, note=""):
        """Passes when both sides are equal, the order of keys included; else shows the first difference."""
        if json.dumps(direct) == json.dumps(through):
            return self.check(True, name)
        return self.check(False, name, note + difference(direct, through))

    def finish(self):
        count = {s: sum(r["state"] == s for r in self.rows) for s in ("passed", "failed", "skipped")}
        os.makedirs(os.path.join(WORK, "results"), exist_ok=True)
        with open(os.path.join(WORK, "results", f"{self.suite}.json"), "w") as f:
            json.dump({"suite": self.suite, "seconds": round(time.monotonic() - self.start, 1), **count, "rows": self.rows}, f, indent=1)
        print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
        return 1 if count["failed"] or not count["passed"] + count["skipped"] else 0


def difference(a, b, at="", limit=400):
    """The first place where two JSON values differ, in words."""
    if type(a) is type(b) and isinstance(a, dict):
        for k in list(a) + [k for k in b if k not in a]:
            if k not in b:
                return f"{at}/{k} is missing through the proxy (direct {short(a[k], limit)})"
            if k not in a:
                return f"{at}/{k} appears only through the proxy: {short(b[k], limit)}"
            if a[k] != b[k]:
                return difference(a[k], b[k], f"{at}/{k}", limit)
        return f"{at or '/'}: the keys have another order"
    if type(a) is type(b) and isinstance(a, list):
        for i, (x, y) in enumerate(zip(a, b)):
            if x != y:
                return difference(x, y, f"{at}/{i}", limit)
        return f"{at or '/'}: {len(a)} items direct, {len(b)} through the proxy; the rest: {short((a if len(a) > len(b) else b)[min(len(a), len(b)):], limit)}"
    return f"{at or '/'}: direct {short(a, limit)}, through the proxy {short(b, limit)}"


def short(value, limit=400):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def need(report, paths):
    """True when every path exists; else the suite gets one failed case per missing one."""
    missing = [p for p in paths if not os.path.exists(p)]
    for p in missing:
        report.failed("setup", f"{p} is missing: run ./test, which installs and builds what the suite needs")
    return not missing
