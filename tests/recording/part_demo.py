"""`bir demo` as a new user has it: nothing set up, nobody asked, a recorded run at a URL, and `bir down` leaves nothing.

HOME is empty, BIR_HOME is not set, and PATH has the system's programs alone. The same with server-everything through
`npx` from the packages that ./test installed, where the machine has npx.
"""

import json
import os
import re
import shutil
import signal

import home as homes
from home import birtest

URL = re.compile(r"http://(?:127\.0\.0\.1|localhost):\d+/\S*")


class Fresh(homes.Home):
    """Without BIR_HOME: the state directory is in HOME."""

    def __init__(self, name, path="/usr/bin:/bin"):
        super().__init__(name)
        self.path = path
        self.state = os.path.join(self.dir, "home", ".baseinstrunner")

    def env(self, **more):
        return {**super().env(BIR_HOME=None, PATH=self.path), **more}

    def left_behind(self):
        found = []
        mark = f"HOME={os.path.join(self.dir, 'home')}".encode()
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


def one(report, name, args, home, cwd=None):
    before = sum(r["state"] == "failed" for r in report.rows)
    try:
        status, out, err = home.run([homes.CLI, "demo", *args], "demo", 180, cwd=cwd)
        told = out + err
        report.check(status == 0, f"{name}: ends with status 0", f"status {status}: {told[-600:]}")
        urls = URL.findall(told)
        if not report.check(bool(urls), f"{name}: says where it is to be seen", told[-600:]):
            return
        page = homes.Browser(urls[-1].rstrip(".,)"))
        first = page.first
        report.check(first.status == 200 and b"<html" in first.body[:2000].lower() and b"password" not in first.body.lower(), f"{name}: the URL shows the run without another sign-in",
                     f"{first.status}, {first.text()[:200]}")
        status, out, err = home.bir("runs", "list", "--json")
        runs = json.loads(out) if status == 0 else []
        runs = runs.get("runs", []) if isinstance(runs, dict) else runs
        calls = sum(r.get("calls", 0) for r in runs)
        report.check(len(runs) == 1 and calls > 0 and not runs[0].get("lossy"), f"{name}: the run is in the store, with {calls} calls", f"status {status}, {out[:300]}{err[:300]}")
        if runs:
            status, out, err = home.bir("runs", "show", runs[0]["id"])
            report.check(status == 0 and len(out.splitlines()) > calls, f"{name}: the run is shown", f"status {status}: {out[:200]}{err[:200]}")
        status, out, err = home.bir("status", "--json")
        report.check(status == 0 and isinstance(json.loads(out), dict), f"{name}: `bir status --json` is an object", f"status {status}: {out[:200]}{err[:200]}")
        modes = [oct(os.stat(os.path.join(at, f)).st_mode & 0o077) for at, _, files in os.walk(home.state) for f in files]
        report.check(all(m == "0o0" for m in modes) and os.stat(home.state).st_mode & 0o077 == 0, f"{name}: nobody else may read the state directory", f"{modes}")
        status, out, err = home.run([homes.CLI, "demo", *args], "demo-again", 180, cwd=cwd)
        report.check(status == 0, f"{name}: a second time", f"status {status}: {(out + err)[-400:]}")
        with open(os.path.join(home.state, "hub.json")) as f:
            pid = json.load(f)["pid"]
        status, out, err = home.bir("down")
        gone = homes.until(lambda: not os.path.exists(f"/proc/{pid}") or not home.left_behind(), 30)
        report.check(status == 0 and bool(gone), f"{name}: `bir down` ends the hub", f"status {status}: {(out + err)[-300:]}")
        status, out, err = home.bir("down")
        report.check(status is not None and "panicked" not in err and len((out + err).strip().splitlines()) <= 2, f"{name}: `bir down` with no hub says so", f"status {status}: {out}{err}")
    finally:
        left = home.left_behind()
        report.check(not left, f"{name}: no process is left", birtest.short(left))
        for pid, _ in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        kept = home.done(sum(r["state"] == "failed" for r in report.rows) == before)
        if kept:
            print(f"        see {kept}", flush=True)


def run(report, opt):
    one(report, "demo, sample server", ["--sample"], Fresh("demo-sample"))
    npx = shutil.which("npx")
    package = birtest.module("clients", "@modelcontextprotocol", "server-everything")
    if not npx or not os.path.exists(package):
        report.skipped("demo, server-everything with npx", "no npx on this machine" if not npx else f"{package} is missing; ./test installs it")
        return
    # npx takes a package from the folder that it runs in when it is there; nothing is fetched.
    path = ":".join(dict.fromkeys([os.path.dirname(npx), os.path.dirname(os.path.realpath(shutil.which("node") or npx)), "/usr/bin", "/bin"]))
    home = Fresh("demo-npx", path)
    one(report, "demo, server-everything with npx", [], home, cwd=os.path.join(birtest.TESTS, "clients"))
