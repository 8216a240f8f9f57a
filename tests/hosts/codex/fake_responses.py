#!/usr/bin/env python3
"""A scripted stand-in for the OpenAI Responses API (stdlib only, loopback only).

    fake_responses.py --plan PLAN.json --log REQUESTS.jsonl --port-file F

PLAN is a list of steps; each POST to /v1/responses takes the next one, and "done" follows the last. A step is
{"text": "..."} or {"call": {"name", "namespace", "arguments"}}. Ids are fc_<n> and call_<n>.
"""

import argparse
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ap = argparse.ArgumentParser()
ap.add_argument("--plan", required=True)
ap.add_argument("--log", required=True)
ap.add_argument("--port-file", required=True)
opt = ap.parse_args()
with open(opt.plan) as f:
    PLAN = json.load(f)
lock, turn = threading.Lock(), [0]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def refuse(self):
        self.send_response(404)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = refuse

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {"not JSON": raw.decode("latin-1")[:200]}
        with lock:
            n = turn[0]
            if self.path.split("?")[0] == "/v1/responses":
                turn[0] += 1
            with open(opt.log, "a") as f:
                f.write(json.dumps({"path": self.path, "n": n, "body": body}) + "\n")
        if self.path.split("?")[0] != "/v1/responses":
            return self.refuse()
        step = PLAN[n] if n < len(PLAN) else {"text": "done"}
        if "call" in step:
            c = step["call"]
            item = {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "namespace": c["namespace"], "name": c["name"],
                    "arguments": json.dumps(c["arguments"])}
        else:
            item = {"type": "message", "role": "assistant", "id": f"msg_{n}",
                    "content": [{"type": "output_text", "text": step["text"], "annotations": []}]}
        usage = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}
        events = [("response.created", {"response": {"id": f"resp_{n}"}}),
                  ("response.output_item.added", {"output_index": 0, "item": item}),
                  ("response.output_item.done", {"output_index": 0, "item": item}),
                  ("response.completed", {"response": {"id": f"resp_{n}", "usage": usage}})]
        data = "".join(f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n" for kind, more in events).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(opt.port_file + ".tmp", "w") as f:
    f.write(str(server.server_address[1]))
os.rename(opt.port_file + ".tmp", opt.port_file)
server.serve_forever()
