"""What else can be asked of install and uninstall. No session takes part: files are looked at, as the hosts would read them."""

import json
import os
import shutil
import subprocess
import time
import tomllib

import configs
from case import case
from place import PROGRAMS, REMOTE, SERVERS, birtest, homes

CLAUDE_OWN, CLAUDE_MCP, CLAUDE_LOCAL = (os.path.join(*path) for path in (configs.OWN, configs.MCP, configs.LOCAL))
CLAUDE_USER = ".claude/settings.json"


def claude(place):
    """(servers of the user, servers of the project's own scope, servers of the team) as they stand in the files."""
    own, team = json.loads(place.text(CLAUDE_OWN)), json.loads(place.text(CLAUDE_MCP))
    return own.get("mcpServers", {}), own["projects"].get(place.project, {}).get("mcpServers", {}), team["mcpServers"]


def wrapped(entry):
    return os.path.basename(str(entry.get("command"))) == "bir-proxy"


def scope(entry):
    return entry["args"][entry["args"].index("--scope") + 1]


@case
def every_host(place):
    """seven hosts beside each other, installed and uninstalled: every byte, folder and mode"""
    plan = place.must("install", "--dry-run")
    for host in ("claude-code", "codex", "copilot-cli", "gemini-cli", "opencode", "cursor", "goose"):
        place.check(host in plan, f"the plan does not name {host}")
    place.same(place.before, place.picture(), "after --dry-run")
    told = place.json("install", "--dry-run")
    place.check(isinstance(told, dict) and told, "`--dry-run --json` prints no object")
    place.must("install", "--yes")
    user, local, team = claude(place)
    place.check(not wrapped(user[REMOTE]) and wrapped(local.get(REMOTE, {})) and wrapped(local["alpha"]) and wrapped(local.get("beta", {})), f"the project's own scope is {sorted(local)}")
    place.check(not any(wrapped(e) for e in team.values()), ".mcp.json was touched")
    place.check(all(scope(e) == "local" for e in local.values()), f"scopes of the project's own are {[scope(e) for e in local.values()]}")
    place.no_secret(allowed={*place.files})
    place.must("uninstall", "--yes")
    place.same(place.before, place.picture(), "after the uninstall")
    place.must("uninstall", "--yes")


@case
def one_host(place):
    """`--host` and `--server` touch what they name alone; `uninstall --host` takes that out again"""
    place.must("install", "--yes", "--host", "codex", "--server", "alpha", "--no-hooks")
    now = place.picture()
    changed = [path for path in place.before if now.get(path) != place.before[path]]
    place.check(changed == [".codex/config.toml"], f"changed are {changed}")
    servers = tomllib.loads(place.text(".codex/config.toml"))["mcp_servers"]
    place.check([n for n, e in servers.items() if wrapped(e)] == ["alpha"], "not alpha alone is wrapped")
    place.must("install", "--yes", "--host", "cursor", "--no-hooks")
    place.must("uninstall", "--yes", "--host", "codex")
    now = place.picture()
    changed = [path for path in place.before if now.get(path) != place.before[path]]
    place.check(changed == [".cursor/mcp.json"], f"changed are, after codex was taken out, {changed}")
    place.must("uninstall", "--yes")
    place.same(place.before, place.picture(), "after the uninstall")


@case
def mcp_json(place):
    """`--mcp-json` wraps the team's file in place, and nothing is copied of it"""
    place.must("install", "--yes", "--host", "claude-code", "--mcp-json")
    _, local, team = claude(place)
    place.check(wrapped(team["beta"]) and scope(team["beta"]) == "project", f"beta of the team's file is {birtest.short(team['beta'], 200)}")
    place.check("beta" not in local, "beta was copied all the same")
    place.must("uninstall", "--yes")
    place.same(place.before, place.picture(), "after the uninstall")


@case
def everywhere(place):
    """`--everywhere` wraps the user's entries in place"""
    place.must("install", "--yes", "--everywhere")
    user, local, _ = claude(place)
    place.check(wrapped(user[REMOTE]) and scope(user[REMOTE]) == "user", f"{REMOTE} of the user's scope is {birtest.short(user[REMOTE], 200)}")
    place.check(REMOTE not in local, f"{REMOTE} was copied into the project's own scope")
    place.must("uninstall", "--yes", "--all")
    place.same(place.before, place.picture(), "after the uninstall")


@case
def user_hooks(place):
    """`--user` puts hooks into the user's settings, without it into the project's"""
    place.must("install", "--yes", "--host", "claude-code", "--user")
    place.check("bir-hooks" in place.text(CLAUDE_USER), "no hooks are in the user's settings")
    place.check("bir-hooks" not in place.text(CLAUDE_LOCAL), "hooks are in the project's settings too")
    place.must("uninstall", "--yes", "--all")
    place.same(place.before, place.picture(), "after the uninstall of --user")
    place.must("install", "--yes", "--host", "claude-code")
    settings = json.loads(place.text(CLAUDE_LOCAL))
    events = {event: rules for event, rules in settings["hooks"].items() if "bir-hooks" in json.dumps(rules)}
    for event, seconds in (("UserPromptSubmit", 10), ("PreToolUse", 15), ("PostToolUse", 5), ("Stop", 5), ("SessionEnd", 5)):
        ours = [h for rule in events.get(event, []) for h in rule["hooks"] if "bir-hooks" in h["command"]]
        place.check(len(ours) == 1 and ours[0].get("timeout") == seconds and "args" in ours[0] and not ours[0].get("async"), f"the hook of {event} is {ours}")
    place.check("hook_log.py" in json.dumps(settings["hooks"]["PreToolUse"][0]), "the hook of somebody else is not the first any more")
    place.must("uninstall", "--yes")
    place.same(place.before, place.picture(), "after the uninstall")


@case
def no_hooks(place):
    """`--no-hooks` installs none anywhere"""
    place.must("install", "--yes", "--no-hooks")
    for at, _, files in os.walk(place.home):
        for name in files:
            path = os.path.relpath(os.path.join(at, name), place.home)
            if not path.startswith(".baseinstrunner") and "node_modules" not in path and not os.path.islink(os.path.join(at, name)):
                with open(os.path.join(at, name), "rb") as f:
                    place.check(b"bir-hooks" not in f.read(), f"hooks are in ~/{path}")
    place.must("uninstall", "--yes")
    place.same(place.before, place.picture(), "after the uninstall")


@case
def no_correlation(place):
    """`--no-correlation` stands in every entry"""
    place.must("install", "--yes", "--no-correlation")
    _, local, _ = claude(place)
    entries = [*local.values(), *tomllib.loads(place.text(".codex/config.toml"))["mcp_servers"].values()]
    place.check(all("--no-correlation" in e.get("args", []) for e in entries), f"without it are {[birtest.short(e, 80) for e in entries if '--no-correlation' not in e.get('args', [])]}")
    place.must("install", "--yes")
    place.check("--no-correlation" not in place.text(".codex/config.toml"), "an install without it left it there")
    place.must("uninstall", "--yes")
    place.same(place.before, place.picture(), "after the uninstall")


@case
def config_file(place):
    """`--config` wraps a file that no host is known for"""
    path = place.put(json.dumps({"mcpServers": {"x": {"command": "node", "args": ["x.js"]}}}, indent=3), "somewhere", "mcp.json")
    before = place.picture()
    place.must("install", "--yes", "--config", path)
    now = place.picture()
    place.check([p for p in before if now.get(p) != before[p]] == ["somewhere/mcp.json"], "not this file alone was changed")
    place.check(wrapped(json.loads(place.text("somewhere/mcp.json"))["mcpServers"]["x"]), "x is not wrapped")
    place.must("uninstall", "--yes")
    place.same(before, place.picture(), "after the uninstall")


@case
def two_projects(place):
    """what is wrapped in a user's file stays until the last project is taken out"""
    other = os.path.join(os.path.realpath(place.home), "other")
    os.makedirs(os.path.join(other, ".git"))
    before = place.picture()
    place.must("install", "--yes")
    one = place.picture()
    place.must("install", other, "--yes")
    place.must("uninstall", other, "--yes")
    place.same(one, place.picture(), "after the second project was taken out")
    place.must("install", other, "--yes")
    place.must("uninstall", "--yes")
    servers = tomllib.loads(place.text(".codex/config.toml"))["mcp_servers"]
    place.check(all(wrapped(e) for e in servers.values()), "the user's file was unwrapped while a project still is installed")
    place.must("uninstall", other, "--yes")
    place.same(before, place.picture(), "after both were taken out")
    place.must("install", "--yes")
    place.must("install", other, "--yes")
    place.must("uninstall", "--all", "--yes")
    place.same(before, place.picture(), "after uninstall --all")


@case
def upgrade(place):
    """the programs move: doctor names the dead path, install renews, uninstall restores"""
    def programs(name):
        folder = os.path.join(place.dir, name)
        os.makedirs(folder)
        for program in PROGRAMS:
            if "bir-test" not in program:
                shutil.copy2(program, folder)
        return folder
    old = programs("bir-1")
    place.must("install", "--yes", program=os.path.join(old, "bir"))
    place.check(f"{old}/bir-proxy" in place.text(".codex/config.toml"), "the absolute path of the program is not in the entry")
    new = os.path.join(place.dir, "bir-2")
    os.rename(old, new)
    bir = os.path.join(new, "bir")
    status, out, err = place.here("doctor", program=bir)
    place.check(status == 1 and f"{old}/bir-proxy" in out + err, f"doctor ended with {status} and does not name the dead path: {birtest.short(out + err, 400)}")
    place.check("bir install" in out + err, "doctor does not say what mends it")
    place.must("install", "--yes", program=bir)
    for path in place.files:
        place.check(old not in place.text(path), f"the old path is left in ~/{path}")
    place.check(f"{new}/bir-proxy" in place.text(".codex/config.toml"), "the new path is not in the entry")
    status, out, err = place.here("doctor", program=bir)
    place.check(old not in out + err, "doctor still names the old path")
    place.must("uninstall", "--yes", program=bir)
    place.same(place.before, place.picture(), "after the uninstall")


@case
def purge(place):
    """`uninstall --purge` takes the state directory too"""
    place.must("install", "--yes")
    place.must("uninstall", "--all", "--purge", "--yes")
    place.check(not os.path.exists(place.state), f"left of the state directory: {os.listdir(place.state) if os.path.exists(place.state) else ''}")
    place.same(place.before, place.picture(), "after the purge")


# Seconds in which two thousand servers are wrapped, and taken out.
HUGE, SERVERS_OF_IT = 60, 2000


@case
def huge(place):
    """two thousand servers in one file, in and out"""
    servers = {f"server-{n}": {"command": "node", "args": [f"{n}.js"], "env": {"TOKEN": place.canaries["alpha"]}} for n in range(SERVERS_OF_IT)}
    place.put(json.dumps({"mcpServers": servers}, indent=2) + "\n", ".cursor", "mcp.json")
    before = place.picture()
    for command in ("install", "uninstall"):
        start = time.monotonic()
        place.must(command, "--yes", "--host", "cursor", budget=4 * HUGE)
        took = time.monotonic() - start
        place.check(took < HUGE, f"{command} took {took:.0f} s, expected less than {HUGE}")
        if command == "install":
            there = json.loads(place.text(".cursor/mcp.json"))["mcpServers"]
            place.check(len(there) == SERVERS_OF_IT and all(wrapped(e) for e in there.values()), "not all of them are wrapped")
    place.same(before, place.picture(), "after the uninstall")


POLICIES = {
    "managed-mcp.json": {"mcpServers": {"company": {"command": "company-mcp"}}},
    "managed-settings.json": {"allowedMcpServers": [{"serverCommand": ["company-mcp"]}]},
}


@case
def managed(place):
    """a policy of the machine, in a mount namespace: nothing is wrapped, and the plan says why"""
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    etc = os.path.join(place.dir, "etc")
    os.makedirs(os.path.join(etc, "claude-code"))
    for name in ("passwd", "group", "nsswitch.conf", "hosts"):
        if os.path.exists(os.path.join("/etc", name)):
            shutil.copy(os.path.join("/etc", name), etc)
    inside = [*unshare, "sh", "-c", 'mount --bind "$1" /etc && shift && exec "$@"', "sh", etc]
    if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
        return "skipped: no mount namespace on this machine"
    for name, policy in POLICIES.items():
        path = os.path.join(etc, "claude-code", name)
        with open(path, "w") as f:
            json.dump(policy, f)
        status, out, err = place.run([*inside, homes.CLI, "install", "--host", "claude-code", "--yes", "--no-hooks"], "bir-install", cwd=place.project)
        # The reason stands below its server.
        lines = out.splitlines()
        told = [below for line, below in zip(lines, lines[1:]) if any(f" {server} " in line for server in SERVERS)]
        place.check(told and all(f"/etc/claude-code/{name}" in line for line in told),
                    f"{name}: the plan does not name the policy for each server (status {status}): {birtest.short(out + err, 400)}")
        user, local, team = claude(place)
        place.check(not any(wrapped(e) for e in [*user.values(), *local.values(), *team.values()]), f"{name}: something was wrapped")
        place.run([*inside, homes.CLI, "uninstall", "--yes"], "bir-uninstall", cwd=place.project)
        os.unlink(path)
    place.same(place.before, place.picture(), "after the policies")


CASES = {c.__name__: c for c in (every_host, one_host, mcp_json, everywhere, user_hooks, no_hooks, no_correlation, config_file, two_projects, upgrade, purge, managed, huge)}
