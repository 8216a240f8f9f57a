#!/usr/bin/env python3
"""A scripted model on loopback that speaks what four hosts ask: Responses (Codex), Chat Completions (Copilot CLI, opencode) and
Gemini (stdlib only).

    apis.py --plan PLAN.json --log REQUESTS.jsonl --port-file F

PLAN is a list of steps; each request for a turn takes the next one, and the text "done" follows the last. A step is
{"text": "..."} or {"calls": [{"name", "namespace"?, "arguments"}, ...]}. Ids are call_<step>_<number>, gone through from 0.
A request that offers no tools (a title, a choice of the model) is answered with a short text and takes no step.
"""

import argparse
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def calls_of(step, n):
    return [{"id": f"call_{n}_{i}", "item": f"fc_{n}_{i}", **call} for i, call in enumerate(step.get("calls", []))]


def events(lines, done=False):
    """Server-sent events: (name or None, value)."""
    text = "".join((f"event: {name}\n" if name else "") + f"data: {json.dumps(value)}\n\n" for name, value in lines)
    return "text/event-stream", text + ("data: [DONE]\n\n" if done else "")


def responses(body, step, n):
    items = [{"type": "function_call", "id": c["item"], "call_id": c["id"], "name": c["name"], "arguments": json.dumps(c["arguments"]),
              **({"namespace": c["namespace"]} if "namespace" in c else {})} for c in calls_of(step, n)]
    items = items or [{"type": "message", "role": "assistant", "id": f"msg_{n}",
                       "content": [{"type": "output_text", "text": step["text"], "annotations": []}]}]
    usage = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}
    told = [("response.created", {"response": {"id": f"resp_{n}"}})]
    for i, item in enumerate(items):
        told += [(f"response.output_item.{when}", {"output_index": i, "item": item}) for when in ("added", "done")]
    told.append(("response.completed", {"response": {"id": f"resp_{n}", "usage": usage}}))
    return events([(kind, {"type": kind, **more}) for kind, more in told])


def chat(body, step, n):
    made = [{"index": i, "id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["arguments"])}}
            for i, c in enumerate(calls_of(step, n))]
    message = {"role": "assistant", "tool_calls": made} if made else {"role": "assistant", "content": step["text"]}
    why = "tool_calls" if made else "stop"
    base = {"id": f"chat_{n}", "created": 1, "model": body.get("model", "scripted")}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": why}
        return "application/json", json.dumps({**base, "object": "chat.completion", "choices": [choice], "usage": USAGE})
    chunks = [{"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
              {"choices": [{"index": 0, "delta": {}, "finish_reason": why}]}, {"choices": [], "usage": USAGE}]
    return events([(None, {**base, "object": "chat.completion.chunk", **c}) for c in chunks], done=True)


def gemini(body, step, n, stream=True):
    parts = [{"functionCall": {"id": c["id"], "name": c["name"], "args": c["arguments"]}} for c in calls_of(step, n)]
    whole = {"candidates": [{"content": {"role": "model", "parts": parts or [{"text": step["text"]}]}, "finishReason": "STOP", "index": 0}],
             "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}, "modelVersion": "scripted"}
    return events([(None, whole)]) if stream else ("application/json", json.dumps(whole))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, kind, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path.endswith("/models"):
            model = {"id": "scripted", "object": "model", "created": 1, "owned_by": "nobody"}
            return self.answer(200, "application/json", json.dumps({"object": "list", "data": [model]}))
        return self.answer(404, "application/json", "{}")

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {"not JSON": raw.decode("latin-1")[:200]}
        path = self.path.split("?")[0]
        takes = bool(body.get("tools")) and (path.endswith(("/responses", "/chat/completions")) or "streamGenerateContent" in path)
        n, step = script.next() if takes else (-1, {"text": "A title"})
        script.note({"path": self.path, "n": n, "body": body})
        if path.endswith("/responses"):
            return self.answer(200, *responses(body, step, n))
        if path.endswith("/chat/completions"):
            return self.answer(200, *chat(body, step, n))
        if "enerateContent" in path:
            step = step if takes else {"text": '{"reasoning": "scripted", "model_choice": "flash"}'}
            return self.answer(200, *gemini(body, step, n, "stream" in path))
        if "countTokens" in path:
            return self.answer(200, "application/json", '{"totalTokens": 5}')
        return self.answer(404, "application/json", "{}")


class Script:
    """The plan, how far it is, and the log."""

    def __init__(self, plan, log):
        self.plan, self.log, self.at, self.lock = plan, log, 0, threading.Lock()

    def next(self):
        with self.lock:
            n, self.at = self.at, self.at + 1
        return n, self.plan[n] if n < len(self.plan) else {"text": "done"}

    def note(self, row):
        with self.lock, open(self.log, "a") as f:
            f.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--plan", "--log", "--port-file"):
        ap.add_argument(name, required=True)
    opt = ap.parse_args()
    with open(opt.plan) as f:
        script = Script(json.load(f), opt.log)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with open(opt.port_file + ".tmp", "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(opt.port_file + ".tmp", opt.port_file)
    server.serve_forever()
