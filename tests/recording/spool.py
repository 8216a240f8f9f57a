"""A second reader of the spool, written from its documented format and nothing else.

    <BIR_HOME>/spool/<run id>-<six digits>.spool      lines: eight hex digits, a space, JSON, a line feed

The digits are the CRC-32 of the JSON's bytes. Every segment begins with the run's own record. What stands behind the last
line feed is torn and was never promised to anybody.
"""

import json
import os
import re
import threading
import zlib

NAME = re.compile(r"^(run_[0-9a-f-]{36})-(\d{6,})\.spool$")


def folder(state):
    return os.path.join(state, "spool")


def segments(state):
    """(run, number, path), in order."""
    try:
        names = os.listdir(folder(state))
    except FileNotFoundError:
        return []
    found = [(m[1], int(m[2]), os.path.join(folder(state), m[0])) for m in map(NAME.match, names) if m]
    return sorted(found)


def left(state):
    """Every file that belongs to some run: none is left once all of them are booked."""
    try:
        return sorted(n for n in os.listdir(folder(state)) if n.startswith("run_"))
    except FileNotFoundError:
        return []


class Lines:
    """What the lines of some bytes are: records, damaged lines, and how far whole lines go."""

    def __init__(self, data):
        self.records, self.damaged, self.whole = [], 0, data.rfind(b"\n") + 1
        for line in data[:self.whole].split(b"\n")[:-1]:
            record = decode(line)
            if record is None:
                self.damaged += 1
            else:
                self.records.append(record)


def decode(line):
    """The record of a line, or None when it is damaged."""
    digits, space, text = line[:8], line[8:9], line[9:]
    if not re.fullmatch(rb"[0-9a-f]{8}", digits) or space != b" " or zlib.crc32(text) != int(digits, 16):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


class Watch:
    """Remembers every record that was ever seen in a spool, until it is closed.

    `steps` has each row by its id, `began` the calls that began of each run. Segments are deleted when the hub has booked
    them, so what is seen depends on the moment; what was seen must be kept.
    """

    def __init__(self, state, every=0.02):
        self.state, self.every = state, every
        self.steps, self.runs, self.damaged = {}, {}, 0
        self.at = {}
        self.lock, self.stop = threading.Lock(), threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self):
        while not self.stop.wait(self.every):
            self.look()

    def look(self):
        """Reads on in every segment."""
        with self.lock:
            for run, number, path in segments(self.state):
                try:
                    with open(path, "rb") as f:
                        f.seek(self.at.get(path, 0))
                        lines = Lines(f.read())
                except FileNotFoundError:
                    continue
                self.at[path] = self.at.get(path, 0) + lines.whole
                self.damaged += lines.damaged
                for record in lines.records:
                    self._take(record)

    def _take(self, record):
        if record["type"] == "step":
            self.steps[record["id"]] = record
        elif record["type"] == "run":
            self.runs[record["id"]] = record

    def began(self):
        """How many calls began in what was seen."""
        with self.lock:
            return sum(s["stepType"] == "tool_selected" for s in self.steps.values())

    def ended(self):
        with self.lock:
            return sum(s["stepType"] == "tool_response" for s in self.steps.values())

    def close(self):
        self.stop.set()
        self.thread.join()
        self.look()
