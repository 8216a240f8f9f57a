#!/usr/bin/env python3
"""The wire of a stdio server, line by line and with times:  tee.py LOG -- COMMAND ARGS...

Each row of the log is [seconds since the epoch, "<" or ">", line]: ">" goes to the server and "<" comes from it. A row is
written when its line was read and before it is passed on, so that of two tees around a relay the times enclose it. Lines
are passed on as they are; EOF, signals and the exit status too. stderr is not touched.
"""

import json
import signal
import subprocess
import sys
import threading
import time


def main():
    log_path, command = sys.argv[1], sys.argv[sys.argv.index("--") + 1:]
    log, lock = open(log_path, "a", buffering=1, encoding="utf8", errors="surrogateescape"), threading.Lock()
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda n, _: child.send_signal(n))

    def pump(source, target, sign):
        for line in source:
            row = json.dumps([time.time(), sign, line.decode("utf8", "surrogateescape")])
            with lock:
                log.write(row + "\n")
            try:
                target.write(line)
                target.flush()
            except (BrokenPipeError, ValueError):
                break
        if target is child.stdin:
            try:
                child.stdin.close()
            except BrokenPipeError:
                pass

    threading.Thread(target=pump, args=(sys.stdin.buffer, child.stdin, ">"), daemon=True).start()
    back = threading.Thread(target=pump, args=(child.stdout, sys.stdout.buffer, "<"))
    back.start()
    status = child.wait()
    back.join(10)
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
