"""Claude Code: a server in each of its three scopes, approvals, a hook of somebody else.

`~/.claude.json` is the host's own, which writes it all the time: where it did so while we were in it, its servers are compared by
their values. `.mcp.json` is the team's, and is not touched at all.
"""

import contextlib
import json

import configs
import part_hosts
import world
from model import call, text, turn
from place import REMOTE, SERVERS, birtest

OWN = ".claude.json"


class Seat(world.World):
    """What a session of Claude Code has to know of its place."""

    def __init__(self, place, model):
        self.place, self.home, self.user, self.logs, self.model = place, place, place.home, place.logs, model
        self.canaries = {"SERVICE_PASSWORD": place.canaries["host"], "ANTHROPIC_API_KEY": "dummy"}
        self.sessions = []

    def say(self, problem):
        self.place.say(problem)


class ClaudeCode:
    NAME, PROGRAM, TELLS_ANSWER = "claude-code", world.CLAUDE, True


class Case(part_hosts.Case):
    @contextlib.contextmanager
    def surroundings(self, place):
        model = world.Model()
        model.script(part_hosts.PROMPT, [*(turn(call(f"mcp__{name}__echo", message=f"to {name}")) for name in SERVERS),
                                         turn(call("Bash", command="echo from the shell")), turn(text(part_hosts.ANSWER))])
        try:
            yield world.Hub(place), model
        finally:
            place.here("down")
            model.close()

    def launch(self, place, model, number):
        session = Seat(place, model).session(place.project, part_hosts.PROMPT)
        session.kill()
        return session.status, session.stderr()

    def structurally(self, place, path, wrote):
        super().structurally(place, path, wrote)
        now, then = json.loads(place.text(path)), json.loads(wrote)
        for where, value, expected in (
                ("of the user", now.get("mcpServers"), {REMOTE: configs.claude_remote(place)}),
                ("of the project", now["projects"][place.project].get("mcpServers"), {"alpha": configs.claude_entry(place, "alpha")}),
                ("of another project", now["projects"].get("/home/mila/other"), then["projects"].get("/home/mila/other"))):
            place.check(json.dumps(value) == json.dumps(expected), f"the servers {where} in ~/{path} are {birtest.short(value, 300)}")
        # Whatever else the host wrote is as it wrote it.
        for document in (now, then):
            document.pop("mcpServers", None)
            document["projects"][place.project].pop("mcpServers", None)
        place.check(json.dumps(now) == json.dumps(then), f"~/{path} has lost something that the host wrote: {birtest.difference(then, now)}")


CASES = {"claude-code": Case(ClaudeCode(), configs.claude_code, rewrites=(OWN,))}
