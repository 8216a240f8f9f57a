"""Codex CLI as a bound host: hooks.json, one MCP server, `codex exec`."""

import json
import os
import platform

import host_session
from host_session import birtest

ARCH, TRIPLE = {"x86_64": ("x64", "x86_64-unknown-linux-musl"), "aarch64": ("arm64", "aarch64-unknown-linux-musl")}.get(
    platform.machine(), ("unknown", "unknown"))


class Codex:
    NAME = "codex"
    TRANSCRIPTS = (".codex", "sessions")
    PROGRAM = birtest.module("hosts", "@openai", f"codex-linux-{ARCH}", "vendor", TRIPLE, "bin", "codex")
    EVENTS = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd", "PermissionRequest", "SubagentStart",
              "SubagentStop", "PreCompact", "PostCompact", "Interrupt"]

    def configure(self, home, model, servers):
        lines = ['model = "scripted"', 'model_provider = "scripted"', "", "[model_providers.scripted]", 'name = "scripted"',
                 f'base_url = "http://127.0.0.1:{model.port}/v1"', 'wire_api = "responses"', 'env_key = "SCRIPTED_KEY"']
        for name, argv in servers.items():
            # A JSON string is a TOML string.
            lines += ["", f"[mcp_servers.{name}]", f"command = {json.dumps(argv[0])}", f"args = {json.dumps(argv[1:])}"]
        home.put("\n".join(lines) + "\n", ".codex", "config.toml")

    def log_hooks(self, home, command):
        hooks = {e: [{"hooks": [{"type": "command", "command": host_session.shell_line(command(e))}]}] for e in self.EVENTS}
        home.put({"hooks": hooks}, ".codex", "hooks.json")

    def env(self, model):
        return {"SCRIPTED_KEY": "k", "TERM": "dumb"}

    def turn(self, home, prompt, number):
        resume = ["resume", "--last"] if number > 1 else []
        return [self.PROGRAM, "exec", *resume, "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
                "--dangerously-bypass-hook-trust", prompt]

    def shell(self, command):
        return {"name": "exec_command", "arguments": {"cmd": command}}

    def call(self, tool, arguments):
        return {"namespace": f"mcp__{host_session.SERVER}", "name": tool, "arguments": arguments}
