"""A team's hub on a PostgreSQL of its own: a private cluster from the installed binaries, its owner, its role, a person, a token."""

import glob
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile

import home as homes
from home import birtest

EMAIL, ROLE = "person@example.com", "bir_hub"


def binaries():
    """The folder of the newest installed version's programs, or None."""
    number = lambda path: int(re.search(r"/(\d+)/bin$", path)[1])
    found = [p for p in glob.glob("/usr/lib/postgresql/*/bin") if re.search(r"/\d+/bin$", p) and os.path.exists(os.path.join(p, "initdb"))]
    return max(found, key=number) if found else None


class Team:
    """The cluster, and what is needed to start hubs over it."""

    def __init__(self, home):
        self.home, self.bin = home, binaries()
        # A socket's path is short, and the user `postgres` must reach it.
        self.dir = tempfile.mkdtemp(prefix="bir-pg-", dir="/tmp")
        self.as_user = []
        if os.geteuid() == 0:
            shutil.chown(self.dir, "postgres")
            self.as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
        self.data, self.port, self.server = os.path.join(self.dir, "data"), birtest.free_port(), None
        self.must([*self.as_user, os.path.join(self.bin, "initdb"), "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8",
                   "--no-sync", "-D", self.data], "initdb")
        self.start_database()
        self.sql("postgres", f"CREATE ROLE {ROLE} LOGIN", "CREATE DATABASE bir")
        self.must([homes.HUB, "migrate", "--store", self.url("postgres"), "--app-role", ROLE], "migrate")
        self.password, self.hub_port = secrets.token_hex(12), birtest.free_port()
        self.must(["sh", "-c", 'printf "%s\\n" "$1" | "$2" user add --store "$3" --email "$4" --role admin', "sh", self.password, homes.HUB, self.url(ROLE), EMAIL], "user-add")
        self.token = None

    def url(self, role):
        return f"postgres://{role}@127.0.0.1:{self.port}/bir?sslmode=disable"

    def must(self, argv, what):
        status, out, err = self.home.run(argv, what, budget=homes.STARTS, cwd=self.dir)
        if status != 0:
            raise RuntimeError(f"{what} ended with status {status}: {(out + err)[-500:]}")

    def sql(self, database, *statements):
        for statement in statements:
            self.must([os.path.join(self.bin, "psql"), "-qXh", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", database, "-c", statement], "psql")

    def start_database(self):
        self.server = self.home.start([*self.as_user, os.path.join(self.bin, "postgres"), "-D", self.data, "-k", self.dir, "-p", str(self.port),
                                       "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=50"], "postgres", cwd=self.dir)
        ready = [os.path.join(self.bin, "pg_isready"), "-qh", "127.0.0.1", "-p", str(self.port)]
        if not homes.until(lambda: subprocess.run(ready, stdin=subprocess.DEVNULL).returncode == 0, homes.STARTS):
            raise RuntimeError(f"the private cluster did not start: {self.server.stderr()[-300:]}")

    def stop_database(self):
        """Without a word to those who use it."""
        self.server.signal(signal.SIGQUIT)
        self.server.wait(30)
        self.server.end(1)

    def dump(self, into):
        """Everything that is in the database, as its owner sees it."""
        with open(into, "wb") as out:
            subprocess.run([os.path.join(self.bin, "pg_dump"), "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "bir"], stdin=subprocess.DEVNULL,
                           stdout=out, check=True, timeout=homes.ANSWERS)
        return into

    def end(self):
        self.server.signal(signal.SIGINT)
        self.server.wait(20)
        self.server.end(1)
        shutil.rmtree(self.dir, ignore_errors=True)


class TeamHub(homes.Hub):
    """`bir-hub serve` over that database; its port stays the same, as an address that people know does."""

    def __init__(self, team):
        self.team, self.port, self.url = team, team.hub_port, f"http://127.0.0.1:{team.hub_port}"
        super().__init__(team.home, args=("--store", team.url(ROLE)), listen=f"127.0.0.1:{team.hub_port}")
        if team.token is None:
            signed = self.call("POST", "/auth/login", {"email": EMAIL, "password": team.password}, token=None)
            access = signed.json().get("accessToken")
            made = self.call("POST", "/tokens", {"name": "everything", "scopes": ["api"]}, token=access)
            if made.status not in (200, 201):
                raise RuntimeError(f"no token: {signed.status}, {made.status} {made.text()[:300]}")
            team.token = made.json()["token"]
        self.token = team.token

    def _ready(self):
        try:
            return self.process.alive() and self.call("GET", "/health", token=None).status == 200
        except OSError:
            return False
