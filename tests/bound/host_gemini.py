"""Gemini CLI as a bound host: hooks and one MCP server in settings.json, `gemini -p`."""

import json

import host_bound
import host_session
from host_session import birtest


class Gemini(host_session.Host):
    NAME = "gemini-cli"
    SHELL, RENDERED = "run_shell_command", "mcp_{}_{}"
    TRANSCRIPTS = (".gemini", "tmp")
    PROGRAM = host_session.module("@google", "gemini-cli", "bundle", "gemini.js")
    EVENTS = ["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd", "PreCompress", "Notification"]

    def __init__(self):
        self.settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}

    def configure(self, home, model, servers):
        self.settings["mcpServers"] = {name: {"command": argv[0], "args": argv[1:]} for name, argv in servers.items()}
        home.put(self.settings, ".gemini", "settings.json")

    def log_hooks(self, home, command):
        self.settings["hooks"] = {e: [{"hooks": [{"name": f"log {e}", "type": "command", "command": host_session.shell_line(command(e))}]}]
                                  for e in self.EVENTS}
        home.put(self.settings, ".gemini", "settings.json")

    def install(self, home, model, text):
        self.settings.update(json.loads(text))
        home.put(self.settings, ".gemini", "settings.json")

    def env(self, model):
        return {"GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{model.port}", "GEMINI_API_KEY": "k", "TERM": "dumb"}

    def turn(self, home, prompt, number):
        return [birtest.node(), self.PROGRAM, *(["--resume", "latest"] if number > 1 else []), "-m", "gemini-2.5-pro", "--yolo",
                "--skip-trust", "-p", prompt, "-o", "json"]

    def shell(self, command, hook=False):
        return {"name": "run_shell_command", "arguments": {"command": command}}

    def call(self, tool, arguments, server=host_session.SERVER):
        return {"name": f"mcp_{server}_{tool}", "arguments": arguments}


def run(report, opt):
    """Gemini CLI: two turns, each one run."""
    host_bound.run(report, opt, Gemini())
