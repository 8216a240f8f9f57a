"""A scripted host: one `bir-proxy` in front of a server, and calls that are sent as text and answered as text."""

import json
import threading

import exact
import home as homes

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": {"name": "scripted-host", "version": "3.1"},
          "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "sampling": {}}}


def upstream(*args):
    """The command of a test upstream that ends with its host."""
    return [homes.UPSTREAM, "--stdio", *args]


class Pending:
    """A request that was sent."""

    def __init__(self, key, line):
        self.key, self.line, self.answer, self.done = key, line, None, threading.Event()

    def wait(self, budget=homes.ANSWERS):
        """The whole answer as text; None when there is none."""
        self.done.wait(budget)
        return self.answer


class Session:
    """`bir-proxy --server-name it ... -- server` with its host's end in our hands.

    `tee` names a log that gets the wire between host and proxy as tee.py writes it.
    """

    def __init__(self, home, target, options=("--standalone",), name="it", env=None, era="legacy", tee=None, limit=None):
        argv = [homes.PROXY, "--server-name", name, *options, *(["--url", target] if isinstance(target, str) else ["--", *target])]
        if tee:
            import os
            import sys
            argv = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tee.py"), tee, "--", *argv]
        self.era, self.next_id, self.pending, self.lock = era, 1, {}, threading.Lock()
        self.others, self.gone = [], threading.Event()
        self.process = home.start(argv, "proxy", env, pipes=True, limit=limit)
        self.stdin, self.stdout = self.process.process.stdin, self.process.process.stdout
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.stdout:
            text = line.decode("utf8", "surrogateescape").rstrip("\n")
            raw_id = exact.member(text, "id") if text.startswith("{") and exact.is_json(text) else None
            pending = None
            if raw_id is not None and exact.member(text, "method") is None:
                with self.lock:
                    waiting = self.pending.get(raw_id)
                    pending = waiting.pop(0) if waiting else None
            if pending is None:
                self.others.append(text)
            else:
                pending.answer = text
                pending.done.set()
        self.gone.set()
        with self.lock:
            left = [p for waiting in self.pending.values() for p in waiting]
        for p in left:
            p.done.set()

    def send(self, line):
        """One line as it is. False: nobody reads any more."""
        try:
            self.stdin.write(line.encode("utf8", "surrogateescape") + b"\n")
            self.stdin.flush()
            return True
        except (BrokenPipeError, ValueError, OSError):
            return False

    def request(self, method, params=None, raw_id=None):
        """Sends a request; `params` is JSON text or a value."""
        if raw_id is None:
            raw_id, self.next_id = str(self.next_id), self.next_id + 1
        if params is not None and not isinstance(params, str):
            params = json.dumps(params)
        line = f'{{"jsonrpc":"2.0","id":{raw_id},"method":{json.dumps(method)}' + (f',"params":{params}}}' if params else "}")
        pending = Pending(raw_id, line)
        with self.lock:
            self.pending.setdefault(raw_id, []).append(pending)
        if not self.send(line):
            pending.done.set()
        return pending

    def open(self):
        """The handshake; the result as text."""
        if self.era == "modern":
            return self.request("server/discover", {"_meta": MODERN}).wait()
        got = self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                          "clientInfo": {"name": "scripted-host", "version": "3.1"}}).wait()
        self.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return got

    def call(self, tool, arguments=None, raw_id=None, more=""):
        """Sends a call; `arguments` is JSON text or a value, `more` further members of the parameters as text."""
        if arguments is not None and not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        params = f'{{"name":{json.dumps(tool)}' + (f',"arguments":{arguments}' if arguments is not None else "")
        if self.era == "modern":
            params += f',"_meta":{json.dumps(MODERN)}'
        return self.request("tools/call", params + more + "}", raw_id)

    def cancel(self, pending):
        self.send(f'{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{pending.key},"reason":"test"}}}}')

    def close(self, budget=60):
        """Closes stdin, as a host does; the exit status, None when it had to be ended."""
        try:
            self.stdin.close()
        except OSError:
            pass
        status = self.process.wait(budget)
        self.process.end(1)
        self.reader.join(5)
        return status

    def kill(self):
        self.process.kill()
        self.process.end(1)
        self.reader.join(5)
