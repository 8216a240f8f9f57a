"""Claude Code on the six scenarios, direct and through the proxy."""

import json
import os
import platform
import sys

import birtest
import facts
from plainly import Plain, messages

HERE = os.path.dirname(os.path.abspath(__file__))
SCENARIOS = ["basic", "rewrite", "subagent", "failures", "interrupt", "resume"]
ARCH = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
CLAUDE = birtest.module("hosts", "@anthropic-ai", f"claude-code-linux-{ARCH}", "claude")


def record(side, scenario):
    """One session. Both sides run in the same folder, since Claude Code makes names of its own from the path, outside of the
    repository, whose state it would tell the model; it is moved to the side's name afterwards."""
    folder = birtest.scratch("claude-code")
    proxy = ["--proxy", birtest.proxy()] if side == "through" else []
    argv = [sys.executable, os.path.join(HERE, "session.py"), os.path.join(HERE, "scenarios", f"{scenario}.json")]
    status, out, err = birtest.run([*argv, "--out", folder, "--claude", CLAUDE, *proxy], budget=150)
    with open(os.path.join(folder, "session.txt"), "w") as f:
        f.write(out + err)
    if status != 0:
        raise RuntimeError(f"{scenario}: session.py ended with {status}: {birtest.short((out + err)[-400:])}")
    kept = birtest.keep(folder, "hosts", "claude-code", side, scenario)
    return facts.Run(kept, folder)


VARYING_KEYS = ["duration_ms", "totalDurationMs", "timestamp", "seconds_since_last_response", "CLAUDE_CODE_MESSAGING_TOKEN"]
VARYING_TEXTS = [
    (r"cch=[0-9a-f]+", "cch=<varies>"),
    (r"duration_ms: \d+", "duration_ms: <varies>"),
    (r"127\.0\.0\.1:\d+", "<api>"),
    (r"cc-socks/\d+", "cc-socks/<pid>"),
    (r"\b\d+ms\b|\b\d+(\.\d+)?s\b", "<duration>"),
]


def seen(run):
    """What the model was sent, what the hooks were given, what went over each server's stdio and in what environment it
    ran; ids and times taken out."""
    plain = Plain(run.live, VARYING_KEYS, VARYING_TEXTS)
    model = [{"tools": r["body"].get("tools"), "messages": r["body"].get("messages")} for r in run.log("api")
             if isinstance(r["body"], dict) and r["path"].startswith("/v1/messages")]
    # The host sends some requests side by side (a title, a sub-agent), so their order is not the proxy's.
    return {
        "servers": {name: messages(run.log(name), plain) for name in run.servers()},
        "environment": {name: plain([s["env"] for s in run.starts(name)]) for name in run.servers()},
        "model": sorted((plain(m) for m in model), key=json.dumps),
        "hooks": [plain(h) for h in run.hooks()],
    }


def without_crash(side):
    """The one thing that the proxy changes on purpose: a call whose server died is answered, where the host would else see
    its connection close. What the model and the hooks are told of that call is taken out."""
    def walk(x):
        if isinstance(x, dict):
            if x.get("tool_use_id") == "toolu_0_3_0" and ({"content", "error", "tool_response"} & x.keys()):
                return "<the result of the crashed call>"
            return {k: walk(v) for k, v in x.items()}
        return [walk(v) for v in x] if isinstance(x, list) else x
    return walk(side)


def test(report):
    if not birtest.need(report, [CLAUDE]):
        return
    runs = {}
    for side in ("direct", "through"):
        def run_of(name):
            runs[side, name] = record(side, name)
            return runs[side, name]

        def fact(ok, text):
            report.check(ok, f"claude-code, {side}: {text}", "this fact does not hold")

        try:
            facts.check(run_of, fact, side == "through")
        except Exception as e:  # a fact that cannot even be looked up is a failure, not a crash of the suite
            report.failed(f"claude-code, {side}", f"{type(e).__name__}: {e}")
    for name in SCENARIOS:
        if ("direct", name) not in runs or ("through", name) not in runs:
            report.failed(f"claude-code, {name}", "not run on both sides")
            continue
        direct, through = seen(runs["direct", name]), seen(runs["through", name])
        if name == "failures":
            direct, through = without_crash(direct), without_crash(through)
        for part in ("servers", "environment", "model", "hooks"):
            report.equal(f"claude-code, {name}: {part} equal", direct[part], through[part])
