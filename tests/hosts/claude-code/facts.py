"""The facts about Claude Code that the product relies on, checked on recorded runs of the scenarios.

`check(run_of, fact, proxied)` asks run_of(NAME) for a run, and calls fact(ok, text) for each fact. With the proxy in front
of the servers every one of them must hold unchanged, but that the child of the host is the proxy and the server its child,
and that a call whose server died is answered by the proxy.
`tests/hosts/run.py --only claude-code` prints them all; run it when the CLI's version is raised.
"""

import glob
import json
import os


class Run:
    """The logs that one scenario left in a folder; `live` is the folder that it ran in."""

    def __init__(self, folder, live):
        self.dir, self.live = folder, live

    def log(self, name):
        path = f"{self.dir}/log/{name}.jsonl"
        if not os.path.exists(path):
            return []
        with open(path) as f:
            return [json.loads(x) for x in f]

    def servers(self):
        names = {os.path.basename(p)[:-6] for p in glob.glob(f"{self.dir}/log/*.jsonl")}
        return sorted(names - {"api", "hooks", "stream"})

    def hooks(self, *names):
        return [h["input"] for h in self.log("hooks") if not names or h["ev"] in names]

    def host(self, server, method):
        return [r["msg"] for r in self.log(server) if r["ev"] == "host" and r["msg"].get("method") == method]

    def starts(self, server):
        return [x for x in self.log(server) if x["ev"] == "start"]

    def last_request(self):
        return json.dumps([a["body"] for a in self.log("api")][-1]["messages"])

    def transcript(self, pattern="*.jsonl"):
        rows = []
        for path in glob.glob(f"{self.dir}/home/.claude/projects/*/{pattern}"):
            with open(path) as f:
                rows += [json.loads(x) for x in f]
        return rows


def usage(rows):
    """Tokens per API response: one row per content block repeats the message id, so keep one of each."""
    per = {r["message"]["id"]: r["message"]["usage"] for r in rows if r["type"] == "assistant"}
    return tuple(sum(u[k] for u in per.values()) for k in ("input_tokens", "output_tokens"))


def check(run_of, fact, proxied):
    basic(run_of("basic"), fact, proxied)
    rewrite(run_of("rewrite"), fact)
    subagent(run_of("subagent"), fact)
    failures(run_of("failures"), fact, proxied)
    interrupt(run_of("interrupt"), fact)
    resume(run_of("resume"), fact)


def basic(r, fact, proxied):
    events = [h["hook_event_name"] for h in r.hooks()]
    fact(events == ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "PreToolUse",
                    "PostToolUse", "PostToolBatch", "Stop", "SessionEnd"], f"hook order: {events}")
    call = r.host("everything", "tools/call")[0]["params"]
    post = [h for h in r.hooks("PostToolUse") if h["tool_name"] == "mcp__everything__echo"][0]
    fact(call["_meta"]["claudecode/toolUseId"] == post["tool_use_id"], "tools/call _meta claudecode/toolUseId is the hooks' tool_use_id")
    fact(post["mcp_server"] == {"name": "everything", "source": "project"}, "MCP hooks carry mcp_server")
    first = [x["msg"].get("method") for x in r.log("everything") if x["ev"] == "host"][:2]
    fact(first == ["server/discover", "initialize"], f"first messages: {first}")
    ends = [x.get("name", x["ev"]) for x in r.log("everything") if x["ev"] in ("signal", "stdin_eof")]
    fact("SIGINT" in ends, f"the server is stopped by SIGINT: {ends}")
    host = {h["env"]["CLAUDE_PID"] for h in r.log("hooks")}
    above = r.starts("everything")[0]["ancestors"]
    fact(host == {str(above[1 if proxied else 0])}, f"the {'proxy' if proxied else 'server'}'s parent is the hooks' CLAUDE_PID")
    fact(usage(r.transcript()) == (306, 66), f"usage by message id: {usage(r.transcript())}")


def rewrite(r, fact):
    call = r.host("s1", "tools/call")[0]["params"]
    fact(call["arguments"] == {"message": "rewritten", "__bir_call_id__": "c-1"},
         "updatedInput without a decision reaches a closed-schema MCP tool, extra key kept")
    bash = [h for h in r.hooks("PostToolUse") if h["tool_name"] == "Bash"][0]
    fact(bash["tool_input"] == {"command": "echo rewritten"}, "an undeclared key is stripped from a built-in tool's input")
    seen = r.last_request()
    fact("CTX-PROMPT" in seen and "CTX-PRE" in seen, "additionalContext reaches the model")
    fact('"input": {"message": "original"}' in seen, "the model still sees its own input")


def subagent(r, fact):
    inner = [h for h in r.hooks("PreToolUse") if h.get("agent_id")]
    fact(len(inner) == 1 and inner[0]["session_id"] == r.hooks("Stop")[0]["session_id"],
         "sub-agent hooks carry agent_id and the parent's session_id")
    fact(len(r.starts("s1")) == 1, "the sub-agent shares the MCP server process")
    sub = r.transcript("*/subagents/agent-*.jsonl")
    fact(usage(sub) == (15, 150) and usage(r.transcript()) == (20, 10), "the sub-agent's usage is only in its own transcript file")


def failures(r, fact, proxied):
    crashed = 'MCP server "s1" is not available' if proxied else "Connection closed"
    errors = {h["tool_name"]: h["error"] for h in r.hooks("PostToolUseFailure")}
    fact(errors.get("mcp__s1__fail") == "it failed" and errors.get("mcp__s1__rpc_error") == "rpc failed"
         and errors.get("mcp__s1__crash") == crashed and "timed out" in errors.get("mcp__s1__slow", "")
         and errors.get("Bash", "").startswith("Exit code 3"), f"failures: {errors}")
    fact(len(r.host("s1", "notifications/cancelled")) == 1, "a timed-out call is cancelled")
    fact(len(r.starts("s1")) == 2, "a crashed server is started again for the next call")


def interrupt(r, fact):
    cancelled = r.host("s1", "notifications/cancelled")
    fact(bool(cancelled) and "AbortError" in cancelled[0]["params"]["reason"], "an interrupt cancels the MCP call")
    fact(not r.hooks("PostToolUse", "PostToolUseFailure", "Stop"), "an interrupted call gets no Post hook, and no Stop")


def resume(r, fact):
    ids = [x["env"]["CLAUDE_CODE_SESSION_ID"] for x in r.starts("s1")]
    fact(ids[1] != r.hooks("SessionStart")[1]["session_id"], "under --continue the server's CLAUDE_CODE_SESSION_ID is not the session's")
    fact([h["source"] for h in r.hooks("SessionStart")] == ["startup", "resume"], "SessionStart source startup, then resume")
