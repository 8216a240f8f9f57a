"""Faults at random points while a host makes calls: nothing that reached the spool is missing or twice, no call waits.

A round takes a fresh state directory, a hub and a proxy in front of a test upstream, and lets something go wrong. While it
lasts the host goes on, and each of its calls must be answered. Afterwards the fault is lifted, a hub is there, and the
books are compared (ledger.py). Everything is drawn from the seed; a round is repeated with `--seed N --rounds 1`, adding the
kind that was printed as `--fault KIND`.
"""

import concurrent.futures
import os
import random
import shutil
import signal
import subprocess
import threading
import time

import home as homes
import ledger
import spool
import team
import wire
from home import birtest
from session import Session, upstream

# What the hub does in a round is settled when the spool is empty. The shipper's cool-down may be a minute.
SETTLES = 240
# Bytes of a spool's file system, and of a file, in a round with a full disk.
SMALL_DISK, SMALL_FILE = 160 * 1024, 24 * 1024


class Round:
    """One round's programs and books."""

    def __init__(self, kind, seed):
        self.kind, self.rng = kind, random.Random(seed)
        self.home = homes.Home(f"faults-{kind}-{seed}")
        self.hub, self.forwarder, self.mounted, self.team = None, None, None, None
        self.sent, self.killed, self.sessions, self.serial = [], set(), [], 0
        self.notes, self.problems = [], []
        self.watch = spool.Watch(self.home.state)

    # The host.

    def session(self, env=None, limit=None):
        more = dict(env or {})
        if self.forwarder:
            more.update(BIR_HUB_URL=self.forwarder.url, BIR_HUB_TOKEN=self.hub_token)
        if self.team:
            more.update(self.to_team())
        s = Session(self.home, upstream(), env=more, limit=limit)
        if s.open() is None:
            self.problems.append("the handshake was not answered")
        self.sessions.append(s)
        return s

    def calls(self, session, count, pad=(0, 3000), at_once=4, wait=True, pause=0.004):
        """`count` calls, up to so many at once, each answered before the next group. Returns what was sent."""
        made = []
        while len(made) < count:
            group = []
            for _ in range(min(self.rng.randint(1, at_once), count - len(made))):
                arguments = {"serial": self.serial, "pad": self.text(self.rng.randint(*pad))}
                tool = "echo"
                if self.rng.random() < 0.1:
                    tool, arguments["ms"] = "sleep", self.rng.randint(0, 30)
                pending = session.call(tool, arguments)
                group.append(ledger.Sent(self.serial, session, pending))
                self.serial += 1
            self.sent += group
            made += group
            if wait:
                for call in group:
                    if call.pending.wait() is None and session not in self.killed:
                        self.problems.append(f"call {call.serial} was not answered within {homes.ANSWERS} s")
                        return made
            time.sleep(self.rng.random() * pause)
        return made

    def text(self, size):
        """Text that is no secret and no repetition."""
        words = []
        length = 0
        while length < size:
            word = self.rng.choice(("plain", "words", "of", "no", "special", "meaning"))
            words.append(word)
            length += len(word) + 1
        return " ".join(words)

    def some(self, low=5, high=40):
        return self.rng.randint(low, high)

    # The programs.

    def to_team(self):
        """The environment of those who report to the team's hub."""
        return {"BIR_HUB_URL": self.hub.url if self.hub else f"http://127.0.0.1:{self.team.hub_port}", "BIR_HUB_TOKEN": self.team.token}

    def start_hub(self, **kw):
        if self.team:
            self.hub = team.TeamHub(self.team)
            return self.hub
        args = ("--public-url", self.forwarder.url) if self.forwarder else ()
        self.hub = homes.Hub(self.home, args=args, **kw)
        self.hub_token = self.hub.token
        if self.forwarder:
            self.forwarder.target = ("127.0.0.1", self.hub.port)
        return self.hub

    def with_forwarder(self):
        """The proxy reaches the hub by a network that is ours."""
        self.forwarder = wire.Forwarder(("127.0.0.1", 1))

    def kill_hub(self):
        self.hub.kill()
        self.hub = None

    def kill_proxy(self, session):
        self.killed.add(session)
        session.kill()
        self.watch.look()

    def small_disk(self):
        """Makes the spool's file system small. False: we may not mount one."""
        where = spool.folder(self.home.state)
        os.makedirs(where, mode=0o700)
        os.chmod(self.home.state, 0o700)
        if not homes.mount(where, SMALL_DISK):
            return False
        self.mounted = where
        return True

    def grow_disk(self):
        subprocess.run(["mount", "-o", "remount,size=64m", self.mounted], check=True, capture_output=True)

    # The end.

    def settle(self):
        """All hosts close, a hub is there, and the spool runs empty."""
        for s in self.sessions:
            if s not in self.killed:
                status = s.close()
                if status != 0:
                    self.problems.append(f"the proxy ended with status {status}: {s.process.stderr()[-200:]}")
        if self.hub is None:
            self.start_hub()
        self.watch.look()
        if self.team:
            # A team's hub has no spool of its own to look into: a command that shows runs sends what was left behind.
            homes.until(lambda: self.home.bir("runs", "list", env=self.to_team())[0] == 0 and not spool.left(self.home.state), SETTLES, 1)
        if not homes.until(lambda: not spool.left(self.home.state), SETTLES):
            self.problems.append(f"after {SETTLES} s the spool still has {spool.left(self.home.state)[:5]}; {self.hub.process.stderr()[-300:]}")
        self.watch.close()
        runs = [self.hub.run(r["id"]) for r in self.hub.runs()]
        self.problems += ledger.complaints(self.sent, self.killed, self.watch.steps, runs)
        return runs

    def end(self):
        self.watch.stop.set()
        for s in self.sessions:
            s.process.end(1)
        if self.hub:
            self.hub.process.end(2)
        if self.forwarder:
            self.forwarder.close()
        if self.team:
            self.team.end()
        left = self.home.none_left()
        if left:
            self.problems.append(f"processes are left: {left}")
        if self.mounted:
            if self.problems:
                shutil.copytree(self.mounted, os.path.join(self.home.dir, "spool-of-the-small-disk"), dirs_exist_ok=True)
            homes.unmount(self.mounted)


# Each kind does its part between the start of a round and its end.


def hub_killed(r):
    r.start_hub()
    s = r.session()
    r.calls(s, r.some())
    # In the middle of calls, and of what is shipped.
    late = threading.Timer(r.rng.random() * 0.2, r.hub.process.kill)
    late.start()
    r.calls(s, r.some(20, 60))
    late.join()
    r.kill_hub()
    r.calls(s, r.some())
    if r.rng.random() < 0.6:
        r.start_hub()
        r.calls(s, r.some())


def proxy_killed(r):
    there = r.rng.choice(["hub", "no hub", "late hub"])
    r.notes.append(there)
    if there == "hub":
        r.start_hub()
    s = r.session()
    r.calls(s, r.some())
    r.killed.add(s)
    late = threading.Timer(r.rng.random() * 0.15, lambda: s.process.signal(signal.SIGKILL))
    late.start()
    r.calls(s, r.some(30, 80), wait=r.rng.random() < 0.5)
    late.join()
    r.kill_proxy(s)
    if there == "late hub":
        r.start_hub()
    if r.rng.random() < 0.6:
        r.calls(r.session(), r.some())


def both_killed(r):
    r.start_hub()
    s = r.session()
    r.calls(s, r.some())
    r.killed.add(s)
    r.calls(s, r.some(), wait=False)
    time.sleep(r.rng.random() * 0.1)
    for process in r.rng.sample([r.hub.process, s.process], 2):
        process.signal(signal.SIGKILL)
    r.kill_proxy(s)
    r.kill_hub()
    r.calls(r.session(), r.some())


def hub_killed_again_and_again(r):
    s = r.session()
    for _ in range(r.rng.randint(2, 4)):
        r.start_hub()
        r.calls(s, r.some(5, 25))
        time.sleep(r.rng.random() * 0.3)
        r.kill_hub()
        r.calls(s, r.some(5, 15))


def disk_full(r):
    """The spool's disk is full, and later it is not."""
    if r.small_disk():
        r.notes.append("tmpfs")
        s = r.session()
        free = r.grow_disk
    else:
        r.notes.append("RLIMIT_FSIZE")
        s = r.session(limit=SMALL_FILE)
        free = s.process.lift_limit
    r.calls(s, r.some(60, 90), pad=(2000, 6000))
    if r.rng.random() < 0.5:
        r.start_hub()
    r.calls(s, r.some())
    free()
    r.calls(s, r.some(10, 20))


def file_limit(r):
    """A file of the spool may not grow, and later it may."""
    s = r.session(limit=SMALL_FILE)
    r.calls(s, r.some(30, 60), pad=(500, 4000))
    s.process.lift_limit()
    r.calls(s, r.some(10, 20))


def hub_disk_full(r):
    """The database cannot grow: the hub takes nothing, and the spool keeps."""
    r.start_hub(limit=400 * 1024)
    s = r.session()
    r.calls(s, r.some(60, 90), pad=(6000, 12000))
    time.sleep(r.rng.random())
    r.hub.process.lift_limit()
    r.calls(s, r.some())


def network_cut(r):
    r.with_forwarder()
    r.start_hub()
    s = r.session()
    r.calls(s, r.some())
    for _ in range(r.rng.randint(1, 3)):
        late = threading.Timer(r.rng.random() * 0.1, r.forwarder.set, ["cut"])
        late.start()
        r.calls(s, r.some(10, 30))
        late.join()
        r.calls(s, r.some(5, 15))
        r.forwarder.set("pass")
        r.calls(s, r.some(5, 15))


def hub_hangs(r):
    """The hub takes connections and never answers: no call waits for it."""
    how = r.rng.choice(["stopped", "swallows"])
    r.notes.append(how)
    if how == "swallows":
        r.with_forwarder()
    r.start_hub()
    if how == "swallows":
        r.forwarder.set("hang")
    s = r.session()
    r.calls(s, r.some())
    if how == "stopped":
        r.hub.process.signal(signal.SIGSTOP)
    r.calls(s, r.some(40, 80))
    # The end does not wait either: the host closes while the hub hangs.
    status = s.close(budget=60)
    r.sessions.remove(s)
    if status != 0:
        r.problems.append(f"with a hub that hangs the proxy ended with status {status}")
    r.hub.process.signal(signal.SIGCONT)
    if r.forwarder:
        r.forwarder.set("pass")


def spool_bound(r):
    """More than the spool may hold while no hub is there: the oldest goes, and the run says so."""
    s = r.session(env={"BIR_SPOOL_LIMIT_MB": "1"})
    r.calls(s, r.some(70, 100), pad=(20_000, 40_000), at_once=2)
    if r.rng.random() < 0.4:
        r.kill_proxy(s)
        s = r.session(env={"BIR_SPOOL_LIMIT_MB": "1"})
    r.calls(s, r.some())
    size = sum(os.path.getsize(p) for _, _, p in spool.segments(r.home.state) if os.path.exists(p))
    if size > 4 << 20:
        r.problems.append(f"the spool has {size} bytes with a bound of 1 MiB")


def line_damaged(r):
    """A byte of the spool is not what was written: that line is lost and said to be, the others are not."""
    s = r.session()
    r.calls(s, r.some(20, 40))
    r.kill_proxy(s)
    segments = spool.segments(r.home.state)
    if not segments:
        r.problems.append("the spool is empty")
        return
    path = segments[0][2]
    with open(path, "rb") as f:
        data = bytearray(f.read())
    starts = [0] + [i + 1 for i, b in enumerate(data[:-1]) if b == 10]
    at = r.rng.choice(starts[2:] if len(starts) > 2 else starts) + r.rng.randint(9, 40)
    at = min(at, len(data) - 2)
    data[at] ^= 1
    with open(path, "r+b") as f:
        f.write(data)
    r.notes.append("one line")


def on_postgres(r):
    """A team's hub on PostgreSQL: the hub is killed in the middle, and then its database goes for a while."""
    r.team = team.Team(r.home)
    r.start_hub()
    s = r.session()
    r.calls(s, r.some())
    late = threading.Timer(r.rng.random() * 0.2, r.hub.process.kill)
    late.start()
    r.calls(s, r.some(20, 60))
    late.join()
    r.kill_hub()
    r.calls(s, r.some(5, 15))
    r.start_hub()
    r.calls(s, r.some(5, 15))
    late = threading.Timer(r.rng.random() * 0.2, r.team.stop_database)
    late.start()
    r.calls(s, r.some(20, 60))
    late.join()
    r.team.start_database()
    r.calls(s, r.some(5, 15))
    if r.rng.random() < 0.5:
        r.kill_proxy(s)


FAULTS = {f.__name__: f for f in (hub_killed, proxy_killed, both_killed, disk_full, hub_disk_full, network_cut, hub_hangs, spool_bound, line_damaged,
                                  hub_killed_again_and_again, file_limit, on_postgres)}
# Faults that cost records by their nature: the run must say so, and is then believed about how many.
LOSES = {"spool_bound", "disk_full", "file_limit", "line_damaged"}


def one(kind, seed):
    """One round: (what it was, problems, where it is kept)."""
    r, runs = Round(kind, seed), []
    try:
        FAULTS[kind](r)
        runs = r.settle()
    except Exception as why:
        import traceback
        r.problems.append(f"the round itself failed: {type(why).__name__}: {why}; {traceback.format_exc()[-400:]}")
    finally:
        r.end()
    if kind not in LOSES and any(w["run"]["lossy"] for w in runs):
        r.problems.append(f"a run is lossy without need: {[w['run'].get('losses') for w in runs if w['run']['lossy']]}")
    if kind in ("spool_bound", "line_damaged") and runs and not any(w["run"]["lossy"] for w in runs):
        r.problems.append("no run is lossy")
    kept = r.home.done(not r.problems)
    rows = sum(len(w["steps"]) for w in runs)
    lost = sum(w["run"]["lostCalls"] for w in runs)
    told = f"{len(r.sent)} calls, {len(r.watch.steps)} rows seen in the spool, {rows} in the store, {lost} calls lost" + "".join(f", {n}" for n in r.notes)
    return told, r.problems, kept


def run(report, opt):
    base = opt.seed if opt.seed is not None else random.SystemRandom().randrange(10**6) * 1000
    kinds = opt.fault or list(FAULTS)
    if not team.binaries():
        kinds = [k for k in kinds if k != "on_postgres"]
        report.skipped("on_postgres", "no PostgreSQL binaries are installed")
    todo = [(kinds[n % len(kinds)], base + n) for n in range(opt.rounds)]
    print(f"faults: {opt.rounds} rounds from seed {base}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(max(1, opt.jobs)) as pool:
        doing = {pool.submit(one, kind, seed): (kind, seed) for kind, seed in todo}
        for done in concurrent.futures.as_completed(doing):
            kind, seed = doing[done]
            told, problems, kept = done.result()
            name = f"{kind}, seed {seed}: {told}"
            report.check(not problems, name, f"{len(problems)} problems: {birtest.short('; '.join(problems[:3]), 1200)}; see {kept}")
