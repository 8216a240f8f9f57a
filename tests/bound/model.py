"""A scripted stand-in for the Anthropic Messages API, in this process, that keeps the books of what it billed.

Turns are scripted by a phrase: `script("PHRASE", [turn(...), ...])`. A request belongs to the phrase that stands last in the
user's own text of its messages, and its turn is the number of the model's messages since. So several prompts of one session,
sub-agents (by a phrase in their prompt) and the end of a task in the background (`<task-notification>`) each have their own
script. Ids of messages and calls are unique, as the real ones are; `calls(phrase)` says in what order the model asked.
"""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SAID_MEANWHILE = "The user sent a new message while you were working:"
ZERO = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


def text(words):
    return {"type": "text", "text": words}


def thinking(words):
    return {"type": "thinking", "thinking": words, "signature": "c2ln"}


def call(name, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


def turn(*blocks, usage=(10, 5, 0, 0), delay_ms=0, error=None):
    """One answer of the model; `usage` is input, output, cache read, cache creation."""
    return {"blocks": blocks, "usage": dict(zip(ZERO, usage)), "delay_ms": delay_ms, "error": error}


def own_words(content):
    """What the user says in a message; said into a turn that goes on, it stands behind the result of a tool."""
    if isinstance(content, str):
        return content
    found = []
    for block in content:
        if block.get("type") == "text":
            found.append(block.get("text", ""))
        elif block.get("type") == "tool_result":
            inner = block.get("content")
            whole = inner if isinstance(inner, str) else "\n".join(b.get("text", "") for b in inner or [] if isinstance(b, dict))
            found.append(whole.partition(SAID_MEANWHILE)[2])
    return "\n".join(found)


class Model:
    def __init__(self):
        self.scripts, self.lock, self.requests = {}, threading.Lock(), []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.reply(200, {})

            def do_GET(self):
                self.reply(200, {"data": [], "has_more": False, "first_id": None, "last_id": None})

            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                path = self.path.split("?")[0]
                if path == "/v1/messages/count_tokens":
                    self.reply(200, {"input_tokens": max(1, len(raw) // 4)})
                elif path == "/v1/messages":
                    model.answer(self, json.loads(raw))
                else:
                    self.reply(404, {"type": "error", "error": {"type": "not_found_error", "message": path}})

            def reply(self, status, value):
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.send_header("request-id", "req_scripted")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def script(self, phrase, turns):
        self.scripts[phrase] = turns

    # The books.

    def asked(self, phrase):
        """The answers to a phrase, in the order in which they were given."""
        with self.lock:
            return [r for r in self.requests if r["phrase"] == phrase]

    def calls(self, *phrases):
        """Every call that the model asked for: {id, name, input, phrase}, in order."""
        found = [r for p in phrases for r in self.asked(p)]
        found.sort(key=lambda r: r["n"])
        return [{**b, "phrase": r["phrase"]} for r in found for b in r["blocks"] if b["type"] == "tool_use"]

    def billed(self, *phrases):
        """What was billed for phrases, as a run's metrics have it; {} when nothing was."""
        sums = {"inputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0, "cacheCreationTokens": 0, "requests": 0}
        for request in (r for p in phrases for r in self.asked(p) if r["usage"]):
            for key, name in zip(sums, ZERO):
                sums[key] += request["usage"][name]
            sums["requests"] += 1
        return sums if sums["requests"] else {}

    def write(self, path):
        """The books, for whoever looks at a case that failed."""
        with self.lock, open(path, "w") as f:
            json.dump(self.requests, f, indent=1)

    # The interface.

    def pick(self, body):
        """(phrase, number of the turn) of a request; no phrase when none is scripted."""
        best, where = None, -1
        messages = body.get("messages", [])
        for n, message in enumerate(messages):
            if message["role"] != "user":
                continue
            words = own_words(message["content"])
            here = [p for p in self.scripts if p in words]
            if here:
                best, where = max(here, key=words.rfind), n
        return best, sum(m["role"] == "assistant" for m in messages[where + 1:])

    def answer(self, handler, body):
        phrase, number = self.pick(body)
        turns = self.scripts.get(phrase)
        one = turns[min(number, len(turns) - 1)] if turns else turn(text("(nothing is scripted for this)"), usage=(1, 1, 0, 0))
        with self.lock:
            n = len(self.requests)
            blocks = [{**b, "id": f"toolu_{n}_{i}"} if b["type"] == "tool_use" else dict(b) for i, b in enumerate(one["blocks"])]
            self.requests.append({"t": time.time(), "n": n, "phrase": phrase, "turn": number, "blocks": blocks, "id": f"msg_{n}",
                                  "usage": None if one["error"] else one["usage"], "session": handler.headers.get("X-Claude-Code-Session-Id"), "last": body.get("messages", [])[-1:]})
        time.sleep(one["delay_ms"] / 1000)
        if one["error"]:
            return handler.reply(one["error"], {"type": "error", "error": {"type": "invalid_request_error", "message": "scripted"}})
        stop = "tool_use" if any(b["type"] == "tool_use" for b in blocks) else "end_turn"
        message = {"id": f"msg_{n}", "type": "message", "role": "assistant", "model": body.get("model"), "content": blocks,
                   "stop_reason": stop, "stop_sequence": None, "usage": one["usage"]}
        if body.get("stream"):
            self.stream(handler, message)
        else:
            handler.reply(200, message)

    def stream(self, handler, message):
        events = [("message_start", {"message": {**message, "content": [], "stop_reason": None,
                                                 "usage": {**message["usage"], "output_tokens": 1}}})]
        for i, b in enumerate(message["content"]):
            if b["type"] == "text":
                empty, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": b["text"]}]
            elif b["type"] == "thinking":
                empty = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": b["thinking"]}, {"type": "signature_delta", "signature": b["signature"]}]
            else:
                empty, deltas = {**b, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(b["input"])}]
            events.append(("content_block_start", {"index": i, "content_block": empty}))
            events += [("content_block_delta", {"index": i, "delta": d}) for d in deltas]
            events.append(("content_block_stop", {"index": i}))
        events += [("message_delta", {"delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}, "usage": message["usage"]}),
                   ("message_stop", {})]
        data = "".join(f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n" for kind, more in events).encode()
        try:
            handler.send_response(200)
            handler.send_header("content-type", "text/event-stream")
            handler.send_header("request-id", "req_scripted")
            handler.send_header("content-length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True
