"""Copilot CLI as a bound host: a file of its own in the hooks folder, one MCP server, `copilot -p`."""

import host_bound
import host_session


class Copilot(host_session.Host):
    NAME = "copilot-cli"
    JOIN, HAS_ID = "injected", True
    # Its answer is in its transcript alone.
    TELLS_ANSWER = False
    SHELL, RENDERED = "Bash", "{}-{}"
    TRANSCRIPTS = (".copilot", "session-state")
    PROGRAM = host_session.module("@github", "copilot-linux-x64", "copilot")
    EVENTS = ["sessionStart", "userPromptSubmitted", "preToolUse", "preMcpToolCall", "postToolUse", "postToolUseFailure", "agentStop", "sessionEnd",
              "errorOccurred", "subagentStart", "subagentStop", "preCompact", "notification", "permissionRequest"]

    def configure(self, home, model, servers):
        entries = {name: {"type": "local", "command": argv[0], "args": argv[1:], "tools": ["*"]} for name, argv in servers.items()}
        home.put({"mcpServers": entries}, ".copilot", "mcp-config.json")

    def log_hooks(self, home, command):
        hooks = {e: [{"type": "command", "bash": host_session.shell_line(command(e))}] for e in self.EVENTS}
        home.put({"version": 1, "hooks": hooks}, ".copilot", "hooks", "log.json")

    def install(self, home, model, text):
        home.put(text, ".copilot", "hooks", "bir.json")

    def env(self, model):
        return {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{model.port}/v1", "COPILOT_PROVIDER_API_KEY": "k",
                "COPILOT_MODEL": "gpt-5", "TERM": "dumb"}

    def turn(self, home, prompt, number):
        return [self.PROGRAM, *(["--continue"] if number > 1 else []), "-p", prompt, "--allow-all-tools"]

    def shell(self, command, hook=False):
        return {"name": "bash", "arguments": {"command": command, "description": "a command"}}

    def call(self, tool, arguments, server=host_session.SERVER):
        return {"name": f"{server}-{tool}", "arguments": arguments}


def run(report, opt):
    """Copilot CLI: two turns, each one run."""
    host_bound.run(report, opt, Copilot())
