"""Configurations of four hosts as their users have them: with comments where the format takes them, with settings and hooks of
others, with three servers. What a host needs to run under a scripted model is in them too.

Each function writes the files below HOME, and gives the paths of those that hold servers or hooks. `every` is all of them beside each
other, with hosts that cannot be run here: for cases in which no session takes part.
"""

import json
import os
import sys

import host_opencode
import host_session
from place import REMOTE, STDIO, birtest

OWN, MCP, LOCAL = (".claude.json",), ("project", ".mcp.json"), ("project", ".claude", "settings.local.json")

# A hook of somebody else, which has to go on: it notes what it is given.
WITNESS = os.path.join(host_session.HERE, "hook_log.py")


def witness(place, event):
    return host_session.shell_line([sys.executable, WITNESS, place.file("witness.jsonl"), event])


def codex(place, port):
    remote = json.dumps(place.remote_url)
    alpha, beta = (place.command(name) for name in STDIO)
    (a_name, a_secret), (b_name, b_secret) = (place.variable(name) for name in STDIO)
    # A JSON string is a TOML string.
    text = f'''# Codex, as I like it
model = "scripted"            # the only one that is here
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[analytics]
enabled = false

# --- servers -----------------------------------------------------------

[mcp_servers.alpha]           # written by hand
command = {json.dumps(alpha[0])}
args = [
  {json.dumps(alpha[1])},
  {json.dumps(alpha[2])},
]
env = {{ {a_name} = {json.dumps(a_secret)} }}
startup_timeout_sec = 30.0

[mcp_servers."beta"]
command = {json.dumps(beta[0])}
args = {json.dumps(beta[1:])}

[mcp_servers."beta".env]
{b_name} = {json.dumps(b_secret)}

# over HTTP
[mcp_servers.gamma]
url = {remote}
http_headers = {{ "X-Api-Key" = {json.dumps(place.canaries["gamma"])} }}

[tui]
notifications = true
'''
    place.put(text, ".codex", "config.toml")
    hooks = {event: [{"hooks": [{"type": "command", "command": witness(place, event)}]}] for event in ("UserPromptSubmit", "PreToolUse")}
    place.put(json.dumps({"description": "hooks of mine", "hooks": hooks}, indent=4) + "\n", ".codex", "hooks.json")
    return [".codex/config.toml", ".codex/hooks.json"]


def copilot(place, port):
    servers = {name: {"type": "local", "command": place.command(name)[0], "args": place.command(name)[1:], "tools": ["*"],
                      "env": dict([place.variable(name)])} for name in STDIO}
    servers[REMOTE] = {"type": "http", "url": place.remote_url, "headers": place.headers(), "tools": ["*"]}
    place.put(json.dumps({"mcpServers": servers}, indent="\t"), ".copilot", "mcp-config.json")
    hooks = {event: [{"type": "command", "bash": witness(place, event)}] for event in ("userPromptSubmitted", "preToolUse")}
    place.put(json.dumps({"version": 1, "hooks": hooks}), ".copilot", "hooks", "mine.json")
    return [".copilot/mcp-config.json", ".copilot/hooks/mine.json"]


def gemini(place, port):
    alpha, beta = (place.command(name) for name in STDIO)
    (a_name, a_secret), (b_name, b_secret) = (place.variable(name) for name in STDIO)
    text = f'''// Gemini CLI
{{
  "security": {{
    "auth": {{
      "selectedType": "gemini-api-key"
    }}
  }},
  "ui": {{
    "hideTips": true
  }},
  /* my servers */
  "mcpServers": {{
    "alpha": {{
      "command": {json.dumps(alpha[0])},
      "args": {json.dumps(alpha[1:])},
      "env": {{
        {json.dumps(a_name)}: {json.dumps(a_secret)}
      }},
      "trust": true
    }},
    // the second
    "beta": {{
      "command": {json.dumps(beta[0])},
      "args": {json.dumps(beta[1:])},
      "env": {{
        {json.dumps(b_name)}: {json.dumps(b_secret)}
      }}
    }},
    "gamma": {{
      "httpUrl": {json.dumps(place.remote_url)},
      "headers": {{
        "X-Api-Key": {json.dumps(place.canaries["gamma"])}
      }}
    }}
  }},
  "hooks": {{
    "BeforeAgent": [
      {{
        "hooks": [
          {{
            "name": "mine",
            "type": "command",
            "command": {json.dumps(witness(place, "BeforeAgent"))}
          }}
        ]
      }}
    ]
  }}
}}
'''
    place.put(text, ".gemini", "settings.json")
    return [".gemini/settings.json"]


def opencode(place, port):
    alpha, beta = (place.command(name) for name in STDIO)
    (a_name, a_secret), (b_name, b_secret) = (place.variable(name) for name in STDIO)
    text = f'''{{
  "$schema": "https://opencode.ai/config.json",
  // a model of my own
  "provider": {{
    "scripted": {{
      "npm": "@ai-sdk/openai-compatible",
      "name": "Scripted",
      "models": {{ "scripted": {{ "name": "Scripted" }} }},
      "options": {{ "baseURL": "http://127.0.0.1:{port}/v1", "apiKey": "k" }},
    }},
  }},
  "model": "scripted/scripted",
  "small_model": "scripted/scripted",
  "autoupdate": false,
  "mcp": {{
    "alpha": {{
      "type": "local",
      "command": {json.dumps(alpha)},
      "environment": {{ {json.dumps(a_name)}: {json.dumps(a_secret)} }}, // keep
      "enabled": true,
    }},
    "beta": {{ "type": "local", "command": {json.dumps(beta)}, "environment": {{ {json.dumps(b_name)}: {json.dumps(b_secret)} }} }},
    /* over HTTP */
    "gamma": {{
      "type": "remote",
      "url": {json.dumps(place.remote_url)},
      "headers": {{ "X-Api-Key": {json.dumps(place.canaries["gamma"])} }},
      "oauth": false,
    }},
  }},
}}
'''
    place.put(text, ".config", "opencode", "opencode.json")
    for name in ("package.json", "package-lock.json", "node_modules"):
        os.symlink(os.path.join(host_session.HERE, "hosts", name), os.path.join(place.home, ".config", "opencode", name))
    place.put(host_opencode.LOGGER % json.dumps(place.file("witness.jsonl")), ".config", "opencode", "plugins", "mine.js")
    return [".config/opencode/opencode.json", ".config/opencode/plugins/mine.js"]


def claude_code(place, port):
    """alpha is in the project's own scope, beta in the team's and approved, gamma in the user's."""
    own = {
        "numStartups": 41, "installMethod": "native", "autoUpdates": False, "tipsHistory": {"new-user-warmup": 2, "plan-mode": 40},
        "hasCompletedOnboarding": True,
        "projects": {
            "/home/mila/other": {"allowedTools": [], "mcpServers": {"elsewhere": {"command": "elsewhere-mcp", "args": ["--x"]}}, "hasTrustDialogAccepted": True},
            place.project: {"allowedTools": [], "history": [], "mcpServers": {"alpha": claude_entry(place, "alpha")}, "enabledMcpjsonServers": [],
                            "disabledMcpjsonServers": [], "hasTrustDialogAccepted": True, "projectOnboardingSeenCount": 2},
        },
        "mcpServers": {REMOTE: claude_remote(place)},
    }
    place.put(json.dumps(own, indent=2), *OWN)
    place.put(json.dumps({"mcpServers": {"beta": claude_entry(place, "beta")}}, indent="\t") + "\n", *MCP)
    log = os.path.join(birtest.TESTS, "hosts", "claude-code", "hook_log.py")
    mine = {"hooks": [{"type": "command", "command": f"{sys.executable} {log} {place.file('witness.jsonl')}"}]}
    settings = {"enabledMcpjsonServers": ["beta"], "permissions": {"allow": ["mcp__alpha", "Bash(make:*)"]},
                "hooks": {"UserPromptSubmit": [mine], "PreToolUse": [{"matcher": "Bash", **mine}]}}
    place.put(json.dumps(settings, indent=4) + "\n", *LOCAL)
    return [os.path.join(*path) for path in (OWN, MCP, LOCAL)]


def claude_entry(place, name):
    argv = place.command(name)
    return {"type": "stdio", "command": argv[0], "args": argv[1:], "env": dict([place.variable(name)])}


def claude_remote(place):
    return {"type": "http", "url": place.remote_url, "headers": place.headers()}


def cursor(place, port):
    text = json.dumps({"mcpServers": {"alpha": {"command": "node", "args": ["alpha.js"], "env": dict([place.variable("alpha")])}}}, indent=2)
    place.put("\ufeff" + text.replace("\n", "\r\n"), ".cursor", "mcp.json")
    return [".cursor/mcp.json"]


def goose(place, port):
    name, secret = place.variable("beta")
    place.put(f"""\
GOOSE_PROVIDER: anthropic   # mine
extensions:
  # the only one
  beta:
    enabled: true
    type: stdio
    name: beta
    cmd: uvx
    args:
      - beta-mcp
    envs:
      {name}: {secret}
    timeout: 300
""", ".config", "goose", "config.yaml")
    return [".config/goose/config.yaml"]


def every(place):
    """All of them; nobody is there to be reached."""
    place.remote_url = f"http://127.0.0.1:9/mcp?key={place.canaries['url']}"
    return [path for write in (claude_code, codex, copilot, gemini, opencode, cursor, goose) for path in write(place, 9)]
