#!/usr/bin/env python3
"""What a host's hooks are given, with hooks that only note it:  observe.py HOST OUT-FOLDER

For looking at a new version of a host. OUT-FOLDER gets hooks.jsonl, server.jsonl, model.jsonl and the host's
transcripts. No product program takes part.
"""

import importlib
import os
import shutil
import sys

import host_session
from host_session import loopback

STEPS = [[("shell", "echo from the shell")], [("echo", {"message": "one"})], [("shell", "echo wrong >&2; exit 3")], [("fail", {})], [("rpc_error", {})],
         "The first answer.",
         [("echo", {"message": "two"}), ("shell", "echo beside it"), ("echo", {"message": "two"})], "The second answer."]


def main():
    name, out = sys.argv[1].removesuffix("-cli"), os.path.abspath(sys.argv[2])
    loopback.enter()
    host = getattr(importlib.import_module(f"host_{name}"), name.capitalize())()
    home = host_session.Home(f"observe-{name}")
    try:
        with host_session.Model(home, host_session.plan(host, STEPS)) as model:
            host.configure(home, model, {host_session.SERVER: host_session.server(home)})
            host.log_hooks(home, host_session.hook_log(home))
            for number, prompt in enumerate(["The first prompt", "The second prompt"], 1):
                status, stdout, stderr = host_session.turn(home, host, model, prompt, number)
                print(f"turn {number}: status {status}\n{stdout[-1500:]}\n{stderr[-1500:]}")
    finally:
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(home.logs, out)
        if host.TRANSCRIPTS and os.path.isdir(where := os.path.join(home.home, *host.TRANSCRIPTS)):
            shutil.copytree(where, os.path.join(out, "transcripts"))
        print("left behind:", home.none_left(5))
        shutil.rmtree(home.dir, ignore_errors=True)


if __name__ == "__main__":
    main()
