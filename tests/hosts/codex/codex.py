"""Codex with two servers, direct and through the proxy: one scripted session of eight tool calls."""

import json
import os
import platform
import sys

import birtest
from plainly import Plain, messages

HERE = os.path.dirname(os.path.abspath(__file__))
PLATFORM = {"x86_64": ("x64", "x86_64-unknown-linux-musl"), "aarch64": ("arm64", "aarch64-unknown-linux-musl")}
ARCH, TRIPLE = PLATFORM.get(platform.machine(), ("unknown", "unknown"))
CODEX = birtest.module("hosts", "@openai", f"codex-linux-{ARCH}", "vendor", TRIPLE, "bin", "codex")
CALLS = 8


def rows(folder, name):
    path = os.path.join(folder, "log", f"{name}.jsonl")
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [json.loads(line) for line in f]


def record(side):
    """One session, always in the same folder, moved to the side's name afterwards: (status, folder)."""
    live = birtest.scratch("codex")
    proxy = ["--proxy", birtest.proxy()] if side == "through" else []
    status, out, err = birtest.run([sys.executable, os.path.join(HERE, "session.py"), "--out", live, "--codex", CODEX,
                                    "--plan", os.path.join(HERE, "plan.json"), *proxy], budget=150)
    with open(os.path.join(live, "session.txt"), "w") as f:
        f.write(out + err)
    return status, birtest.keep(live, "hosts", "codex", side), live


def seen(folder, live):
    plain = Plain(live, keys=["turn_started_at_unix_ms", "installation_id"], patterns=[
        (r'"turn_started_at_unix_ms": ?\d+', "<time>"), (r"Wall time: [\d.]+ seconds", "Wall time: <duration>"), (r"127\.0\.0\.1:\d+", "<api>"), (r"codex-arg0\w+", "codex-arg0<varies>"),
    ])
    starts = lambda name: [r for r in rows(folder, name) if r["ev"] == "start"]
    return {
        "servers": {name: messages(rows(folder, name), plain) for name in ("everything", "scripted")},
        "environment": {name: plain([s["env"] for s in starts(name)]) for name in ("everything", "scripted")},
        "model": [plain({k: r["body"].get(k) for k in ("input", "tools", "instructions")}) for r in rows(folder, "api")],
    }


def test(report):
    if not birtest.need(report, [CODEX]):
        return
    sides = {}
    for side in ("direct", "through"):
        status, folder, live = record(side)
        sides[side] = seen(folder, live)
        called = [r["msg"]["params"]["name"] for name in ("everything", "scripted") for r in rows(folder, name)
                  if r["ev"] == "host" and isinstance(r["msg"], dict) and r["msg"].get("method") == "tools/call"]
        report.check(status == 0 and len(called) == CALLS, f"codex, {side}: the session ran, {CALLS} calls reached the servers",
                     f"exit status {status}, calls {called}; see {folder}/log")
    for part in ("servers", "environment", "model"):
        report.equal(f"codex: {part} equal", sides["direct"][part], sides["through"][part])
