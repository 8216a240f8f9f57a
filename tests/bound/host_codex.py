"""Codex CLI as a bound host: hooks.json, one MCP server, `codex exec`."""

import json
import os
import platform
import select
import subprocess
import time

import host_bound
import host_session
from host_session import birtest

ARCH, TRIPLE = {"x86_64": ("x64", "x86_64-unknown-linux-musl"), "aarch64": ("arm64", "aarch64-unknown-linux-musl")}.get(
    platform.machine(), ("unknown", "unknown"))


class Codex(host_session.Host):
    NAME = "codex"
    JOIN, AT_ONCE, HAS_ID, SHELL_HAS_ID = "call_id", False, True, True
    # Its hook is told the output of a command and nothing else.
    SHELL, SHELL_FAILS, RENDERED = "Bash", "ok", "mcp__{}__{}"
    TRANSCRIPTS = (".codex", "sessions")
    PROGRAM = birtest.module("hosts", "@openai", f"codex-linux-{ARCH}", "vendor", TRIPLE, "bin", "codex")
    EVENTS = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd", "PermissionRequest", "SubagentStart",
              "SubagentStop", "PreCompact", "PostCompact", "Interrupt"]

    def __init__(self):
        self.bypass = []

    def configure(self, home, model, servers):
        lines = ['model = "scripted"', 'model_provider = "scripted"', "", "[model_providers.scripted]", 'name = "scripted"',
                 f'base_url = "http://127.0.0.1:{model.port}/v1"', 'wire_api = "responses"', 'env_key = "SCRIPTED_KEY"']
        # It would wait five seconds at its end for somebody to take its statistics.
        lines += ["", "[analytics]", "enabled = false"]
        for name, argv in servers.items():
            # A JSON string is a TOML string.
            lines += ["", f"[mcp_servers.{name}]", f"command = {json.dumps(argv[0])}", f"args = {json.dumps(argv[1:])}"]
        home.put("\n".join(lines) + "\n", ".codex", "config.toml")

    def log_hooks(self, home, command):
        hooks = {e: [{"hooks": [{"type": "command", "command": host_session.shell_line(command(e))}]}] for e in self.EVENTS}
        home.put({"hooks": hooks}, ".codex", "hooks.json")
        self.bypass = ["--dangerously-bypass-hook-trust"]

    def install(self, home, model, text):
        home.put(text, ".codex", "hooks.json")
        trust(self.PROGRAM, home, self.env(model))

    def env(self, model):
        return {"SCRIPTED_KEY": "k", "TERM": "dumb"}

    def turn(self, home, prompt, number):
        resume = ["resume", "--last"] if number > 1 else []
        return [self.PROGRAM, "exec", *resume, "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", *self.bypass, prompt]

    def shell(self, command, hook=False):
        return {"name": "exec_command", "arguments": {"command" if hook else "cmd": command}}

    def call(self, tool, arguments, server=host_session.SERVER):
        return {"namespace": f"mcp__{server}", "name": tool, "arguments": arguments}


# Seconds that the app server may take for an answer.
ANSWERS = 30


def trust(program, home, env):
    """Trusts every hook of hooks.json as Codex's own interface does it: untrusted ones are skipped without a word."""
    server = subprocess.Popen([program, "app-server"], env=home.env(**env), cwd=home.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        ask = Asker(server)
        ask("initialize", {"clientInfo": {"name": "bir-tests", "title": "bir-tests", "version": "0"}, "capabilities": {"experimentalApi": True}})
        ask.tell("initialized")
        hooks = lambda: [hook for one in ask("hooks/list", {"cwds": [home.project]})["data"] for hook in one["hooks"]]
        states = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in hooks()}
        ask("config/batchWrite", {"edits": [{"keyPath": "hooks.state", "value": states, "mergeStrategy": "upsert"}], "reloadUserConfig": True})
        left = [hook["eventName"] for hook in hooks() if hook["trustStatus"] != "trusted"]
        if left or not states:
            raise RuntimeError(f"Codex trusts {len(states)} hooks, but not {left}")
    finally:
        birtest.end_group(server, 2)


class Asker:
    """JSON-RPC over lines, one question at a time."""

    def __init__(self, process):
        self.process, self.count, self.rest = process, 0, b""

    def tell(self, method, **more):
        self.process.stdin.write(json.dumps({"method": method, **more}).encode() + b"\n")
        self.process.stdin.flush()

    def __call__(self, method, params):
        self.count += 1
        self.tell(method, id=self.count, params=params)
        end = time.monotonic() + ANSWERS
        while True:
            line, found, rest = self.rest.partition(b"\n")
            if found:
                self.rest = rest
                told = json.loads(line)
                if told.get("id") == self.count and "method" not in told:
                    if "error" in told:
                        raise RuntimeError(f"{method}: {told['error']}")
                    return told["result"]
                continue
            ready, _, _ = select.select([self.process.stdout], [], [], max(end - time.monotonic(), 0))
            read = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not read:
                raise RuntimeError(f"{method}: no answer within {ANSWERS} s, or the app server ended")
            self.rest += read


def run(report, opt):
    """Codex: two turns, each one run."""
    host_bound.run(report, opt, Codex())
