"""The network between two programs on loopback, in our hands: passed on and written down, cut, or swallowed."""

import socket
import threading
import time
import zlib


class Forwarder:
    """Listens on loopback and passes connections on to `target` (host, port), which may change.

    `state` is "pass", "cut" (connections are closed, new ones at once) or "hang" (bytes are taken and nothing is ever
    answered). With `keep` every chunk is kept: `connections` has for each one [(time, bytes)] of both ways.
    """

    def __init__(self, target, keep=False):
        self.target, self.keep, self.state = target, keep, "pass"
        self.connections, self.open, self.lock = [], set(), threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def set(self, state):
        self.state = state
        if state == "cut":
            self._drop()

    def close(self):
        self.state = "cut"
        self.listener.close()
        self._drop()

    def _drop(self):
        with self.lock:
            gone = list(self.open)
        for s in gone:
            self._shut(s)

    def _shut(self, *sockets):
        for s in sockets:
            with self.lock:
                self.open.discard(s)
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if self.state == "cut":
                near.close()
                continue
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near):
        with self.lock:
            self.open.add(near)
        if self.state == "hang":
            self._swallow(near)
            return
        try:
            far = socket.create_connection(self.target, timeout=10)
            far.settimeout(None)
        except OSError:
            self._shut(near)
            return
        with self.lock:
            self.open.add(far)
        chunks = ([], [])
        if self.keep:
            self.connections.append(chunks)
        back = threading.Thread(target=self._pump, args=(far, near, chunks[1]), daemon=True)
        back.start()
        self._pump(near, far, chunks[0])

    def _swallow(self, near):
        try:
            while near.recv(65536):
                pass
        except OSError:
            pass
        self._shut(near)

    def _pump(self, source, target, chunks):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                if self.keep:
                    chunks.append((time.time(), data))
                if self.state == "hang":
                    continue
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            self._shut(source, target)


def http_messages(chunks):
    """The HTTP/1.1 messages of one way of a connection: (time of the last byte, first line, headers, body).

    Enough of HTTP for what the programs under test send each other: Content-Length, chunked, or until the end.
    """
    data, ends = b"", []
    for at, part in chunks:
        data += part
        ends.append((len(data), at))

    def when(position):
        return next((at for end, at in ends if end >= position), ends[-1][1] if ends else 0)

    found, pos = [], 0
    while True:
        head_end = data.find(b"\r\n\r\n", pos)
        if head_end < 0:
            return found
        lines = data[pos:head_end].decode("latin1").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        pos = head_end + 4
        times = []
        if "chunked" in headers.get("transfer-encoding", "").lower():
            body = b""
            while True:
                line_end = data.find(b"\r\n", pos)
                if line_end < 0:
                    pos = len(data)
                    break
                size = int(data[pos:line_end].split(b";")[0] or b"0", 16)
                body += data[line_end + 2:line_end + 2 + size]
                pos = line_end + 4 + size
                times.append((len(body), when(min(pos, len(data)))))
                if size == 0:
                    break
        elif "content-length" in headers:
            size = int(headers["content-length"])
            body, pos = data[pos:pos + size], pos + size
        elif lines[0].startswith("HTTP/") and lines[0].split(" ")[1] not in ("202", "204", "304"):
            body, pos = data[pos:], len(data)
        else:
            body = b""
        if headers.get("content-encoding") == "gzip":
            body = zlib.decompress(body, 31)
        found.append((when(min(pos, len(data))), lines[0], headers, body))


def json_bodies(message):
    """The JSON texts in a message: its body, or the data of its events."""
    _, _, headers, body = message
    text = body.decode("utf8", "replace")
    if headers.get("content-type", "").startswith("text/event-stream"):
        events = text.replace("\r\n", "\n").split("\n\n")
        joined = ["\n".join(line[5:].lstrip(" ") for line in event.split("\n") if line.startswith("data:")) for event in events]
        return [data for data in joined if data.strip()]
    return [text] if text.strip() else []
