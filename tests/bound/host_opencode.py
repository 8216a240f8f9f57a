"""opencode as a bound host: a plugin file, one MCP server, `opencode run`."""

import json
import os

import host_bound
import host_session

LOGGER = """\
import fs from "node:fs"
const note = (event, input) => fs.appendFileSync(%s, JSON.stringify({ t: Date.now() / 1000, event, input, pid: process.pid, names: Object.keys(process.env).sort() }) + "\\n")
export const Log = async ({ project, directory, worktree }) => {
  note("plugin", { project, directory, worktree })
  return {
    event: async ({ event }) => note("event", event),
    "chat.message": async (input, output) => note("chat.message", { input, output }),
    "tool.execute.before": async (input, output) => note("tool.execute.before", { input, output }),
    "tool.execute.after": async (input, output) => note("tool.execute.after", { input, output }),
    "permission.ask": async (input, output) => note("permission.ask", { input, output }),
    dispose: async () => note("dispose", {}),
  }
}
"""


class Opencode(host_session.Host):
    NAME = "opencode"
    HAS_ID, SHELL_HAS_ID = True, True
    SHELL, RENDERED = "bash", "{}_{}"
    PROGRAM = host_session.module("opencode-linux-x64-baseline", "bin", "opencode")

    def configure(self, home, model, servers):
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "Scripted", "models": {"scripted": {"name": "Scripted"}},
                    "options": {"baseURL": f"http://127.0.0.1:{model.port}/v1", "apiKey": "k"}}
        home.put({"provider": {"scripted": provider}, "model": "scripted/scripted", "small_model": "scripted/scripted", "autoupdate": False,
                  "mcp": {name: {"type": "local", "command": argv, "enabled": True} for name, argv in servers.items()}},
                 ".config", "opencode", "opencode.json")
        # It asks a registry for the types of plugins, for more than a minute, unless a package.json and its lock file name them and they are
        # there.
        for name in ("package.json", "package-lock.json", "node_modules"):
            os.symlink(os.path.join(host_session.HERE, "hosts", name), os.path.join(home.home, ".config", "opencode", name))

    def log_hooks(self, home, command):
        home.put(LOGGER % json.dumps(home.file("hooks.jsonl")), ".config", "opencode", "plugins", "log.js")

    def install(self, home, model, text):
        home.put(text, ".config", "opencode", "plugins", "bir.js")

    def env(self, model):
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "TERM": "dumb"}

    def turn(self, home, prompt, number):
        # One argument of several words would be told in quotes.
        return [self.PROGRAM, "run", *(["--continue"] if number > 1 else []), *prompt.split(" "), "--format", "json"]

    def shell(self, command, hook=False):
        return {"name": "bash", "arguments": {"command": command, "description": "a command"}}

    def call(self, tool, arguments, server=host_session.SERVER):
        return {"name": f"{server}_{tool}", "arguments": arguments}


def run(report, opt):
    """opencode: two turns, each one run."""
    host_bound.run(report, opt, Opencode())
