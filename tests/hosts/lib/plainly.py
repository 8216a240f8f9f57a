"""Takes out of a recorded run what differs from run to run: ids, times, folders. Equal things stay equal.

An id is replaced by its first appearance's number, so that one that should be the same in two places still must be.
"""

import json
import re

# UUIDs, and the ids that Claude Code gives sub-agents.
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\ba[0-9a-f]{16}\b")


class Plain:
    def __init__(self, folder, keys=(), patterns=()):
        """keys: names whose values are times or durations; patterns: (regex, replacement) for texts."""
        self.folder, self.keys, self.ids = folder, set(keys), {}
        self.patterns = [(re.compile(a), b) for a, b in patterns]

    def __call__(self, x):
        if isinstance(x, dict):
            return {self(k): "<varies>" if k in self.keys else self(v) for k, v in x.items()}
        if isinstance(x, list):
            return [self(v) for v in x]
        if isinstance(x, str):
            x = x.replace(self.folder, "<run>")
            x = UUID.sub(lambda m: self.ids.setdefault(m[0], f"<id {len(self.ids)}>"), x)
            for a, b in self.patterns:
                x = a.sub(b, x)
        return x


def messages(log, plain):
    """What went over a server's stdio in each direction, one list per process of that server and direction.

    The order of what the host sends is kept. What the server sends is sorted, answers by their id: requests that the host
    sends together may be answered in any order. Of the progress of one call only the first message is kept, since how many
    there are is a matter of time.
    """
    runs, now = [], None
    for row in log:
        if row["ev"] == "start":
            now = {"pid": row["pid"], "argv": plain(row["argv"]), "cwd": plain(row["cwd"]), "host": [], "server": []}
            runs.append(now)
        elif row["ev"] in ("host", "server"):
            run = next(r for r in reversed(runs) if r["pid"] == row["pid"])
            if progress_token(row["msg"]) is None or progress_token(row["msg"]) not in map(progress_token, run[row["ev"]]):
                run[row["ev"]].append(row["msg"])
    for run in runs:
        del run["pid"]
        run["host"] = [plain(m) for m in run["host"]]
        run["server"] = [plain(m) for m in sorted(run["server"], key=lambda m: ("method" in m, json.dumps(m.get("id"))) if isinstance(m, dict) else (True, ""))]
    return runs


def progress_token(message):
    if isinstance(message, dict) and message.get("method") == "notifications/progress":
        return message["params"]["progressToken"]
    return None
