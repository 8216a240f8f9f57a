"""Looks at the processes of a home all the time: which programs ran, and with which command lines.

A process that lives a few milliseconds may be missed; one that serves a session is not.
"""

import os
import threading
import time

# Seconds between two looks, and looks at a process after its first: what is executed later has another command line.
EVERY, AGAIN = 0.01, 5


class Line:
    """A command line that was seen; `ours`: its program is one of this project's."""

    def __init__(self, program, argv):
        self.program, self.argv = program, argv
        self.ours = os.path.basename(program).startswith("bir") and not os.path.basename(program).startswith("bir-test")

    def __repr__(self):
        return " ".join(self.argv)


class Watch:
    def __init__(self, home):
        self.mark, self.lines, self.running, self.over = f"HOME={home}".encode(), {}, set(), threading.Event()
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    @property
    def seen(self):
        with self.lock:
            return list(self.lines.values())

    def forget(self):
        """What was seen, and whatever runs now: what is seen from here on was started afterwards."""
        with self.lock:
            self.lines.clear()
            self.running = {pid for pid in os.listdir("/proc") if pid.isdigit()}

    def ours(self, *names):
        """Command lines of our programs, or of those with these names."""
        return [line for line in self.seen if line.ours and (not names or os.path.basename(line.program) in names)]

    def stop(self):
        self.over.set()
        self.thread.join(5)

    def _watch(self):
        looks, left = {}, set()
        while not self.over.is_set():
            there = {pid for pid in os.listdir("/proc") if pid.isdigit()}
            for pid in there - left:
                count = looks.get(pid, 0)
                if count > AGAIN and count % 50:
                    looks[pid] = count + 1
                    continue
                looks[pid] = count + 1
                if not self._look(pid) and count > AGAIN:
                    left.add(pid)
            # A number may be given again.
            left &= there
            self.running &= there
            looks = {pid: count for pid, count in looks.items() if pid in there}
            time.sleep(EVERY)

    def _look(self, pid):
        """Whether it belongs to the home; then its command line is noted."""
        try:
            before = os.readlink(f"/proc/{pid}/exe")
            with open(f"/proc/{pid}/environ", "rb") as f:
                if self.mark not in f.read().split(b"\0"):
                    return False
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                argv = [arg.decode("utf8", "replace") for arg in f.read().split(b"\0")[:-1]]
            program = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            return False
        if program != before:
            # It was executing another program meanwhile: the command line may be its parent's still, and is looked at again.
            return True
        program = program.removesuffix(" (deleted)")
        if argv and pid not in self.running:
            with self.lock:
                self.lines.setdefault((program, *argv), Line(program, argv))
        return True
