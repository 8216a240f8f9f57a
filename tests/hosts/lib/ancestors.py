"""The process ids above this process, nearest first: how a server can say which host started it, with a proxy between."""

import os


def ancestors(limit=6):
    found, pid = [], os.getppid()
    while pid > 1 and len(found) < limit:
        found.append(pid)
        try:
            with open(f"/proc/{pid}/stat") as f:
                pid = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            break
    return found
