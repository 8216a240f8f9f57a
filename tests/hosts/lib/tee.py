#!/usr/bin/env python3
"""Record the stdio of an MCP server:  tee.py LOG.jsonl -- server-command args...

Each log row is {"t", "pid", "ev", ...}: "start" (argv, cwd, env, ancestors: parent, its parent, ...), "host" / "server" (one line each
way, parsed when it is JSON), "stderr", "stdin_eof", "signal" (what the host sent us; passed on),
"child_exit".
"""
import json, os, signal, subprocess, sys, threading, time

from ancestors import ancestors

log_path, cmd = sys.argv[1], sys.argv[sys.argv.index("--") + 1:]
log, lock = open(log_path, "a", buffering=1), threading.Lock()


def put(ev, **kw):
    with lock:
        log.write(json.dumps({"t": time.time(), "pid": os.getpid(), "ev": ev, **kw}) + "\n")


def parsed(line):
    try:
        return json.loads(line)
    except ValueError:
        return line.decode("utf8", "replace")


put("start", argv=cmd, cwd=os.getcwd(), ancestors=ancestors(), pgid=os.getpgid(0), env=dict(os.environ))
child = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def on_signal(num, _):
    put("signal", name=signal.Signals(num).name)
    child.send_signal(num)


for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(s, on_signal)


def pump_in():
    for line in sys.stdin.buffer:
        put("host", msg=parsed(line))
        try:
            child.stdin.write(line)
            child.stdin.flush()
        except BrokenPipeError:
            break
    put("stdin_eof")
    try:
        child.stdin.close()
    except BrokenPipeError:
        pass


def pump_out(src, dst, ev):
    for line in src:
        put(ev, msg=parsed(line))
        try:
            dst.write(line)
            dst.flush()
        except BrokenPipeError:
            break


threads = [threading.Thread(target=pump_in, daemon=True),
           threading.Thread(target=pump_out, args=(child.stdout, sys.stdout.buffer, "server")),
           threading.Thread(target=pump_out, args=(child.stderr, sys.stderr.buffer, "stderr"))]
for t in threads:
    t.start()
rc = child.wait()
for t in threads[1:]:
    t.join()
put("child_exit", rc=rc)
sys.exit(rc if rc >= 0 else 128 - rc)
