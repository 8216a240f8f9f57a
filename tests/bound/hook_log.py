#!/usr/bin/env python3
"""A hook that only notes what it was given:  hook_log.py LOG.jsonl EVENT

Of the environment the names are kept, and the values of what names the host or its session. It answers nothing, which no host minds.
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hosts", "lib"))
from ancestors import ancestors  # noqa: E402

PREFIXES = ("CODEX", "GEMINI", "COPILOT", "OPENCODE", "CLAUDE")

raw = sys.stdin.read()
try:
    given = json.loads(raw)
except ValueError:
    given = raw
row = {"t": time.time(), "event": sys.argv[2], "input": given, "names": sorted(os.environ), "cwd": os.getcwd(),
       "env": {k: v for k, v in os.environ.items() if k.startswith(PREFIXES) and "KEY" not in k},
       "pid": os.getpid(), "ancestors": ancestors(10)}
with open(sys.argv[1], "a") as log:
    log.write(json.dumps(row) + "\n")
