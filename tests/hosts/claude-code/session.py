#!/usr/bin/env python3
"""Run the real Claude Code CLI against fake_api.py in a network namespace that has only loopback.

    session.py scenario.json --out DIR [--proxy PATH] [--claude PATH]

DIR gets  home/  project/  log/{api,hooks,stream,<server>}.jsonl  log/{stderr,cmd}.txt. With --proxy every stdio server of
the scenario's .mcp.json is started by `PATH --server-name NAME -- ...`.

Scenario keys:
  prompt, args        the prompt and extra CLI arguments (defaults: stream-json, verbose, bypassPermissions)
  argv                instead of both: the full argument list (e.g. ["mcp", "list"])
  steps               instead of all three: a list of {"prompt"|"argv", "args"}, run in order
  scripts             for fake_api.py
  env                 extra environment
  files               {"path": text or JSON} written before the run; "~/" means the home
  hooks               {"Event": [{"matcher", "answer": {...for hook_log.py}, "timeout", ...}]}, put in
                      project/.claude/settings.local.json
  stdin               list of JSON lines to send, with {"sleep_ms": n} and {"await": {"server", "method"}} (until that
                      server has got such a message) between them; stdin stays open meanwhile; default: /dev/null
  timeout             seconds, default 60
In every string ${H} is this directory, ${LIB} the one of the servers, ${L} the log directory, ${P} the project,
${HOME_DIR} the home, ${NODE} Node and ${EVERYTHING} the script of server-everything.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time

H = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(H, "..", "lib"), os.path.join(H, "..", "..", "lib")]
import birtest  # noqa: E402
import loopback  # noqa: E402

loopback.enter()

ap = argparse.ArgumentParser()
ap.add_argument("scenario")
ap.add_argument("--out", required=True)
ap.add_argument("--proxy")
ap.add_argument("--claude", required=True)
opt = ap.parse_args()
out = os.path.abspath(opt.out)
shutil.rmtree(out, ignore_errors=True)
HOME, P, L, TMP = (os.path.join(out, d) for d in ("home", "project", "log", "tmp"))
for d in (HOME, P, L, TMP):
    os.makedirs(d)

NAMES = {
    "${H}": H, "${LIB}": os.path.join(H, "..", "lib"), "${L}": L, "${P}": P, "${HOME_DIR}": HOME, "${NODE}": birtest.node(),
    "${EVERYTHING}": birtest.module("hosts", "@modelcontextprotocol", "server-everything", "dist", "index.js"),
}


def expand(x):
    if isinstance(x, str):
        for k, v in NAMES.items():
            x = x.replace(k, v)
        return x
    if isinstance(x, list):
        return [expand(v) for v in x]
    if isinstance(x, dict):
        return {expand(k): expand(v) for k, v in x.items()}
    return x


def write(path, data):
    path = os.path.join(HOME, path[2:]) if path.startswith("~/") else os.path.join(P, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(data if isinstance(data, str) else json.dumps(data, indent=1))


def settings(events):
    """The hooks of the scenario as Claude Code's settings have them; each one records its call."""
    hooks, n = {}, 0
    for event, rules in events.items():
        for rule in rules:
            command = f"python3 {H}/hook_log.py {L}/hooks.jsonl"
            if "answer" in rule:
                n += 1
                write(f"{L}/answer-{n}.json", rule["answer"])
                command += f" {L}/answer-{n}.json"
            group = {"matcher": rule["matcher"]} if "matcher" in rule else {}
            hooks.setdefault(event, []).append({**group, "hooks": [{"type": "command", "command": command}]})
    return {"hooks": hooks}


def behind_proxy(name, entry):
    """The entry with the proxy in front; env, cwd and everything else as it was."""
    return {**entry, "command": opt.proxy, "args": ["--server-name", name, "--", entry["command"], *entry.get("args", [])]}


def until(true, budget, otherwise):
    end = time.monotonic() + budget
    while not true():
        if time.monotonic() > end:
            print(otherwise, file=sys.stderr)
            os._exit(1)
        time.sleep(0.02)


with open(opt.scenario) as f:
    sc = expand(json.load(f))
files = dict(sc.get("files", {}))
if opt.proxy and ".mcp.json" in files:
    servers = files[".mcp.json"]["mcpServers"]
    files[".mcp.json"] = {"mcpServers": {n: behind_proxy(n, e) for n, e in servers.items()}}
if sc.get("hooks"):
    files[".claude/settings.local.json"] = settings(sc["hooks"])
# A first-run marker only: `-p` needs no login and asks for no trust.
files["~/.claude.json"] = {"hasCompletedOnboarding": True}
for path, data in files.items():
    write(path, data)

write(f"{L}/script.json", {"scripts": sc.get("scripts", [])})
api = subprocess.Popen([sys.executable, f"{H}/fake_api.py", "--script", f"{L}/script.json",
                        "--log", f"{L}/api.jsonl", "--port-file", f"{L}/port"])
until(lambda: os.path.exists(f"{L}/port"), 10, "the fake model did not start")
with open(f"{L}/port") as f:
    port = f.read()
env = {"HOME": HOME, "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TERM": "dumb", "LANG": "C.UTF-8",
       "TMPDIR": TMP, "CLAUDE_CODE_TMPDIR": TMP,
       "ANTHROPIC_API_KEY": "dummy", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
       "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
       "DISABLE_ERROR_REPORTING": "1", "IS_SANDBOX": "1", **sc.get("env", {})}


def arrived(server, method):
    path = f"{L}/{server}.jsonl"
    if not os.path.exists(path):
        return False
    with open(path) as f:
        return any('"ev": "host"' in line and f'"method": "{method}"' in line for line in f)


def pump(source, path, stamp):
    with open(path, "a", buffering=1) as f:
        for line in source:
            line = line.decode("utf8", "replace")
            if stamp:
                try:
                    line = json.dumps({"t": time.time(), "msg": json.loads(line)}) + "\n"
                except ValueError:
                    line = json.dumps({"t": time.time(), "text": line}) + "\n"
            f.write(line)


def run(step):
    cmd = [opt.claude]
    if "argv" in step:
        cmd += step["argv"]
    else:
        cmd += step.get("args", ["--permission-mode", "bypassPermissions"])
        cmd += ["--output-format", "stream-json", "--verbose", "--model", step.get("model", "claude-sonnet-4-5")]
        cmd += ["--input-format", "stream-json", "-p"] if "stdin" in step else ["-p", step["prompt"]]
    with open(f"{L}/cmd.txt", "a") as f:
        f.write(" ".join(map(repr, cmd)) + "\n")
    p = subprocess.Popen(cmd, cwd=P, env=env, stdin=subprocess.PIPE if "stdin" in step else subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    readers = [threading.Thread(target=pump, args=(p.stdout, f"{L}/stream.jsonl", True)),
               threading.Thread(target=pump, args=(p.stderr, f"{L}/stderr.txt", False))]
    for t in readers:
        t.start()
    timer = threading.Timer(step.get("timeout", 60), p.kill)
    timer.start()
    if "stdin" in step:
        for m in step["stdin"]:
            if "sleep_ms" in m:
                time.sleep(m["sleep_ms"] / 1000)
                continue
            if "await" in m:
                until(lambda: arrived(**m["await"]), 45, f"no {m['await']}")
                continue
            try:
                p.stdin.write((json.dumps(m) + "\n").encode())
                p.stdin.flush()
            except BrokenPipeError:
                break
        p.stdin.close()
    p.wait()
    timer.cancel()
    for t in readers:
        t.join(15)


try:
    for step in sc.get("steps", [sc]):
        run({**{k: sc[k] for k in ("args", "timeout", "model") if k in sc}, **step})
finally:
    api.terminate()
    api.wait()
