#!/usr/bin/env python3
"""Run the real Codex CLI once against fake_responses.py in a network namespace that has only loopback.

    session.py --out DIR --codex PATH --plan PLAN.json [--proxy PATH]

Two servers: `everything` (server-everything behind the tee) and `scripted` (lib/mcp_server.py). With --proxy both are started
by `PATH --server-name NAME -- ...`. DIR gets  home/  project/  log/{api,everything,scripted}.jsonl  log/{out,err}.txt.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time

H = os.path.dirname(os.path.abspath(__file__))
LIB = os.path.join(H, "..", "lib")
sys.path[:0] = [LIB, os.path.join(H, "..", "..", "lib")]
import birtest  # noqa: E402
import loopback  # noqa: E402

loopback.enter()

ap = argparse.ArgumentParser()
ap.add_argument("--out", required=True)
ap.add_argument("--codex", required=True)
ap.add_argument("--plan", required=True)
ap.add_argument("--proxy")
opt = ap.parse_args()
out = os.path.abspath(opt.out)
shutil.rmtree(out, ignore_errors=True)
HOME, P, L = (os.path.join(out, d) for d in ("home", "project", "log"))
for d in (os.path.join(HOME, ".codex"), P, L):
    os.makedirs(d)

SERVERS = {
    "everything": ["python3", f"{LIB}/tee.py", f"{L}/everything.jsonl", "--", birtest.node(),
                   birtest.module("hosts", "@modelcontextprotocol", "server-everything", "dist", "index.js")],
    "scripted": ["python3", f"{LIB}/mcp_server.py", f"{L}/scripted.jsonl"],
}

api = subprocess.Popen([sys.executable, f"{H}/fake_responses.py", "--plan", opt.plan, "--log", f"{L}/api.jsonl", "--port-file", f"{L}/port"])
until = time.monotonic() + 10
while not os.path.exists(f"{L}/port"):
    if time.monotonic() > until or api.poll() is not None:
        sys.exit("the fake model did not start")
    time.sleep(0.02)
with open(f"{L}/port") as f:
    port = f.read()

lines = [
    'model = "fake-model"', 'model_provider = "fake"', "",
    "[model_providers.fake]", 'name = "fake"', f'base_url = "http://127.0.0.1:{port}/v1"', 'wire_api = "responses"', 'env_key = "FAKE_KEY"',
]
for name, argv in SERVERS.items():
    argv = [opt.proxy, "--server-name", name, "--", *argv] if opt.proxy else argv
    # A JSON string is a TOML string.
    lines += ["", f"[mcp_servers.{name}]", f"command = {json.dumps(argv[0])}", f"args = {json.dumps(argv[1:])}",
              'env = { MARK = "set by the host" }']
with open(os.path.join(HOME, ".codex", "config.toml"), "w") as f:
    f.write("\n".join(lines) + "\n")

env = {"HOME": HOME, "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8", "TERM": "dumb", "FAKE_KEY": "k",
       "NO_SUCH_FOR_SERVERS": "must not arrive"}
cmd = [opt.codex, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Do the thing"]
try:
    with open(f"{L}/out.txt", "w") as o, open(f"{L}/err.txt", "w") as e:
        done = subprocess.run(cmd, cwd=P, env=env, stdin=subprocess.DEVNULL, stdout=o, stderr=e, timeout=90)
finally:
    api.terminate()
    api.wait()
sys.exit(done.returncode)
