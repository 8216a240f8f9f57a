#!/usr/bin/env python3
"""A small scripted stdio MCP server, for the behaviours a well-behaved server does not show.

    mcp_server.py LOG.jsonl [CONFIG.json]

CONFIG keys (all optional):
  name, instructions, protocol (default: echo the host's), capabilities (merged over {"tools": {"listChanged": true}})
  discover           how to answer the server/discover probe: "reject" (default, -32601), "ignore", "exit",
                     or an object sent as the result
  init_delay_ms      wait before answering initialize
  exit_at_start      exit code, at once
  ignore_eof, ignore_term, ignore_int   keep running
  tools              extra tool definitions, answered with an echo of params
LOG gets every line both ways plus "start", "signal", "stdin_eof", and a "beat" every 100 ms once stdin is closed
or a signal came (so a SIGKILL shows as the last beat).

Tools: echo, big {chars}, slow {ms} and slow_ro {ms} (the same, with readOnlyHint; honour notifications/cancelled only by logging it; send progress if a
progressToken came), fail, rpc_error, crash {code}, ask_roots, sample, elicit, add_tool, image, structured, log,
permit (answers as a --permission-prompt-tool: allow, input unchanged).
"""
import json, os, signal, sys, threading, time

from ancestors import ancestors

log, lock = open(sys.argv[1], "a", buffering=1), threading.Lock()
cfg = json.load(open(sys.argv[2])) if len(sys.argv) > 2 else {}
waiting, next_id, extra, beating = {}, [1000], [], [False]


def put(ev, **kw):
    with lock:
        log.write(json.dumps({"t": time.time(), "pid": os.getpid(), "ev": ev, **kw}) + "\n")


def beat():
    if beating[0]:
        return
    beating[0] = True

    def loop():
        while True:
            put("beat")
            time.sleep(0.1)
    threading.Thread(target=loop, daemon=True).start()


def send(msg):
    msg = {"jsonrpc": "2.0", **msg}
    put("server", msg=msg)
    with lock:
        sys.stdout.write(json.dumps(msg) + "\n")
        sys.stdout.flush()


def ask(method, params=None):
    """Send the host a request and wait for its whole reply."""
    next_id[0] += 1
    i, done = next_id[0], threading.Event()
    waiting[i] = [done, None]
    send({"id": i, "method": method, **({"params": params} if params is not None else {})})
    done.wait(60)
    return waiting.pop(i)[1]


OBJ = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "echo", "description": "Echo", "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}},
    {"name": "echo_closed", "description": "Echo, closed schema", "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"], "additionalProperties": False}},
    {"name": "echo_open", "description": "Echo, open schema", "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}, "additionalProperties": True}},
    {"name": "big", "inputSchema": {"type": "object", "properties": {"chars": {"type": "number"}}}},
    {"name": "slow", "inputSchema": {"type": "object", "properties": {"ms": {"type": "number"}}}},
    {"name": "slow_ro", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object", "properties": {"ms": {"type": "number"}}}},
    {"name": "crash", "inputSchema": {"type": "object", "properties": {"code": {"type": "number"}}}},
    {"name": "structured", "inputSchema": OBJ, "outputSchema": {"type": "object", "properties": {"n": {"type": "number"}}}},
] + [{"name": n, "inputSchema": OBJ} for n in ("fail", "rpc_error", "ask_roots", "sample", "elicit", "add_tool", "image", "log", "permit")] + cfg.get("tools", [])


def text(s, **kw):
    return {"content": [{"type": "text", "text": s}], **kw}


def call(i, params):
    name, a, meta = params.get("name"), params.get("arguments") or {}, params.get("_meta") or {}
    if name == "big":
        r = text(("0123456789 abcdef\n" * (int(a.get("chars", 0)) // 18 + 1))[:int(a.get("chars", 0))])
    elif name in ("slow", "slow_ro"):
        end, k = time.time() + a.get("ms", 1000) / 1000, 0
        while time.time() < end:
            time.sleep(0.2)
            k += 1
            if "progressToken" in meta:
                send({"method": "notifications/progress", "params": {"progressToken": meta["progressToken"], "progress": k, "message": f"step {k}"}})
        r = text("slow done")
    elif name == "fail":
        r = text("it failed", isError=True)
    elif name == "rpc_error":
        return send({"id": i, "error": {"code": -32001, "message": "rpc failed", "data": {"x": 1}}})
    elif name == "crash":
        put("crash")
        print("crashing now", file=sys.stderr, flush=True)
        os._exit(int(a.get("code", 3)))
    elif name == "ask_roots":
        r = text(json.dumps(ask("roots/list")))
    elif name == "sample":
        r = text(json.dumps(ask("sampling/createMessage", {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 10})))
    elif name == "elicit":
        r = text(json.dumps(ask("elicitation/create", {"message": "Your name?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}})))
    elif name == "add_tool":
        extra.append({"name": f"added_{len(extra)}", "inputSchema": OBJ})
        send({"method": "notifications/tools/list_changed"})
        time.sleep(a.get("ms", 300) / 1000)
        r = text("added")
    elif name == "image":
        r = {"content": [{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}]}
    elif name == "structured":
        r = text("{\"n\": 7}", structuredContent={"n": 7}, _meta={"server/note": "kept?"})
    elif name == "permit":
        r = text(json.dumps({"behavior": "allow", "updatedInput": a.get("input", {})}))
    elif name == "log":
        send({"method": "notifications/message", "params": {"level": "info", "data": "a log line"}})
        print("a stderr line", file=sys.stderr, flush=True)
        r = text("logged")
    else:
        r = text(json.dumps({"params": params}))
    send({"id": i, "result": r})


def handle(m):
    i, method = m.get("id"), m.get("method")
    if method is None:
        w = waiting.get(i)
        if w:
            w[1] = m
            w[0].set()
    elif method == "initialize":
        time.sleep(cfg.get("init_delay_ms", 0) / 1000)
        send({"id": i, "result": {"protocolVersion": cfg.get("protocol", m["params"]["protocolVersion"]),
                                  "capabilities": {"tools": {"listChanged": True}, **cfg.get("capabilities", {})},
                                  "serverInfo": {"name": cfg.get("name", "scripted"), "version": "0.0.1"},
                                  **({"instructions": cfg["instructions"]} if "instructions" in cfg else {})}})
    elif method == "tools/list":
        time.sleep(cfg.get("list_delay_ms", 0) / 1000)
        send({"id": i, "result": {"tools": TOOLS + extra}})
    elif method == "tools/call":
        call(i, m["params"])
    elif method == "server/discover" and cfg.get("discover", "reject") != "reject":
        if cfg["discover"] == "exit":
            os._exit(5)
        if cfg["discover"] != "ignore":
            send({"id": i, "result": cfg["discover"]})
    elif method == "ping":
        send({"id": i, "result": {}})
    elif i is not None:
        send({"id": i, "error": {"code": -32601, "message": "Method not found"}})


put("start", argv=sys.argv, cwd=os.getcwd(), ancestors=ancestors(), pgid=os.getpgid(0), env=dict(os.environ))
if "exit_at_start" in cfg:
    print("refusing to start", file=sys.stderr, flush=True)
    sys.exit(cfg["exit_at_start"])


def on_signal(num, _):
    name = signal.Signals(num).name
    put("signal", name=name)
    beat()
    if not cfg.get({"SIGTERM": "ignore_term", "SIGINT": "ignore_int"}.get(name, "")):
        os._exit(0)


for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(s, on_signal)


def reader():
    for line in sys.stdin:
        m = json.loads(line)
        put("host", msg=m)
        threading.Thread(target=handle, args=(m,), daemon=True).start()
    put("stdin_eof")
    if cfg.get("ignore_eof"):
        beat()
    else:
        os._exit(0)


threading.Thread(target=reader, daemon=True).start()
while True:
    time.sleep(0.05)
