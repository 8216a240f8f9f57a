#!/usr/bin/env python3
"""Real MCP clients on published MCP servers, direct and through the proxy: every step's whole result must be equal.

    run.py [--client ts|py|py-auto|inspector]... [--server everything|memory|filesystem|bir]...

Clients: the official TypeScript SDK (v1 line), the official Python SDK (2.x, opening with `initialize` and with
`server/discover`), the Inspector's command line. Servers: server-everything over stdio, Streamable HTTP and HTTP+SSE,
server-memory and server-filesystem over stdio; and `bir-scenario`, our own server, direct. "Through" is always a stdio client: `bir-proxy -- SERVER`, or
`bir-proxy --url URL` for a server that the client reaches by HTTP when it is direct.

Lists of progress are compared as prefixes: the TypeScript SDK drops a notification that it reads in the same chunk as the
result of its call, with and without a proxy.
"""

import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import birtest  # noqa: E402
import plans  # noqa: E402

NODE, PROXY, SCENARIO = birtest.node(), birtest.proxy(), birtest.program("bir-scenario", "BIR_SCENARIO")
PYTHON = os.path.join(birtest.WORK, "python", "bin", "python")
OUT = os.path.join(birtest.WORK, "clients")
INSPECTOR = birtest.module("clients", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")


def published(name):
    return [NODE, birtest.module("clients", "@modelcontextprotocol", name, "dist", "index.js")]


class Case:
    """One server over one transport: how it is reached direct and through the proxy, and what is done there.

    `prepare` empties what the server keeps, so that both runs start from the same state.
    """

    def __init__(self, name, plan, direct, through, inspector, env=None, prepare=lambda: None):
        self.name, self.plan, self.direct, self.through = name, plan, direct, through
        self.inspector, self.env, self.prepare = inspector, env or {}, prepare


def stdio_case(server, plan, argv, inspector, **kw):
    return Case(f"{server} stdio", plan, ["--", *argv], ["--", PROXY, "--server-name", server, "--", *argv], inspector, **kw)


EVERYTHING_INSPECTOR = [
    ["--method", "initialize"],
    ["--method", "tools/list"],
    ["--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hello"],
    ["--method", "tools/call", "--tool-name", "get-sum", "--tool-args-json", '{"a":2,"b":3}'],
    ["--method", "prompts/list"],
    ["--method", "prompts/get", "--prompt-name", "args-prompt", "--prompt-args", "city=Paris"],
    ["--method", "resources/list"],
    ["--method", "resources/templates/list"],
    ["--method", "resources/read", "--uri", "demo://resource/static/document/features.md"],
    ["--method", "logging/setLevel", "--log-level", "debug"],
]


def stdio_cases():
    everything = published("server-everything")
    yield stdio_case("everything", plans.EVERYTHING, everything, EVERYTHING_INSPECTOR)

    store = os.path.join(birtest.work("clients", "memory"), "memory.jsonl")
    forget = lambda: os.path.exists(store) and os.remove(store)
    yield stdio_case("memory", plans.memory(store), published("server-memory"), [
        ["--method", "tools/list"],
        ["--method", "tools/call", "--tool-name", "create_entities", "--tool-args-json",
         '{"entities":[{"name":"Ada","entityType":"person","observations":["first"]}]}'],
        ["--method", "tools/call", "--tool-name", "read_graph"],
    ], env={"CLIENT_ENV_MEMORY_FILE_PATH": store}, prepare=forget)

    folder = os.path.join(OUT, "files")
    yield stdio_case("filesystem", plans.filesystem(folder), [*published("server-filesystem"), folder], [
        ["--method", "tools/list"],
        ["--method", "tools/call", "--tool-name", "write_file", "--tool-arg", f"path={folder}/a.txt", "--tool-arg", "content=one"],
        ["--method", "tools/call", "--tool-name", "read_text_file", "--tool-arg", f"path={folder}/a.txt"],
    ], prepare=lambda: birtest.work("clients", "files"))


def scripted(client, case, how):
    plan = os.path.join(OUT, f"{case.name}.json")
    with open(plan, "w") as f:
        json.dump(case.plan, f)
    if client == "ts":
        argv = [NODE, os.path.join(HERE, "ts-client.mjs")]
    else:
        argv = [PYTHON, os.path.join(HERE, "py_client.py"), "--mode", "auto" if client == "py-auto" else "legacy"]
    case.prepare()
    status, out, err = birtest.run([*argv, plan, *how], budget=90, env=case.env)
    steps = []
    for line in out.splitlines():
        try:
            steps.append(json.loads(line))
        except ValueError:
            steps.append({"not JSON": line})
    return {"status": status, "steps": steps}, err


def split_progress(run):
    """Takes the lists of progress out of a run, each value once: a client that resumes an HTTP stream sees some again."""
    lists = [s["result"].pop("progress") for s in run["steps"] if isinstance(s.get("result"), dict) and "progress" in s["result"]]
    return [[p for i, p in enumerate(seen) if p not in seen[:i]] for seen in lists]


def keep(tag, value, err):
    with open(os.path.join(OUT, f"{tag}.json"), "w") as f:
        json.dump(value, f, indent=1, ensure_ascii=False)
    with open(os.path.join(OUT, f"{tag}.err"), "w") as f:
        f.write(err)


def compare_scripted(report, client, case):
    runs = {}
    for side, how in (("direct", case.direct), ("through", case.through)):
        runs[side], err = scripted(client, case, how)
        keep(f"{client} {case.name} {side}", runs[side], err)
    direct, through = runs["direct"], runs["through"]
    name = f"{client}, {case.name}"
    errors = [s for s in direct["steps"] if "error" in s]
    full = len(direct["steps"]) == len(case.plan) + 2 and direct["status"] == 0
    if not report.check(full, f"{name}, direct", f"status {direct['status']}, {len(direct['steps'])} of {len(case.plan) + 2} steps; see {OUT}"):
        return
    seen, got = split_progress(direct), split_progress(through)
    ok = len(seen) == len(got) and all(b and (a[:len(b)] == b or b[:len(a)] == a) for a, b in zip(seen, got))
    report.equal(f"{name}, through the proxy ({len(direct['steps'])} steps, {len(errors)} of them errors)", direct, through)
    if seen:
        report.check(ok, f"{name}, progress", f"direct {seen}, through the proxy {got}")


def compare_inspector(report, case):
    """Each step is a run of its own. The server is named in a configuration file, as in the Inspector's documentation:
    on its command line the options of the proxy would be taken for its own."""
    home = birtest.work("clients", "inspector-home")

    def walk(side, how):
        if how[0] == "--":
            env = {k[len("CLIENT_ENV_"):]: v for k, v in case.env.items()}
            entry = {"type": "stdio", "command": how[1], "args": how[2:], "env": env}
        else:
            entry = {"type": "streamable-http", "url": how[1]}
        config = os.path.join(OUT, f"inspector {case.name} {side}.mcp.json")
        with open(config, "w") as f:
            json.dump({"mcpServers": {"it": entry}}, f)
        case.prepare()
        done = []
        for step in case.inspector:
            status, out, err = birtest.run([NODE, INSPECTOR, "--cli", "--config", config, "--server", "it", *step,
                                            "--format", "json", "-q"], budget=60, env={"HOME": home})
            done.append({"step": step, "status": status, "output": as_json(out), "error": err if status else ""})
        keep(f"inspector {case.name} {side}", done, "")
        return done

    direct, through = walk("direct", case.direct), walk("through", case.through)
    name = f"inspector, {case.name}"
    bad = [d for d in direct if d["status"] != 0]
    if report.check(not bad, f"{name}, direct", birtest.short(bad[:1])):
        report.equal(f"{name}, through the proxy ({len(direct)} steps)", direct, through)


def check_scenario(report, client):
    """Our own server where nothing is set up: one tool, and an answer that is no error."""
    home = birtest.work("clients", "scenario-home")
    case = Case("bir", plans.SCENARIO, ["--", SCENARIO], None, [], env={"CLIENT_ENV_BIR_HOME": home})
    run, err = scripted(client, case, case.direct)
    keep(f"{client} bir", run, err)
    results = [step.get("result") or {} for step in run["steps"]]
    tools = [tool["name"] for result in results for tool in result.get("tools", [])]
    answers = [result["result"] for result in results if "result" in result]
    text = answers[0]["content"][0]["text"] if answers else None
    ok = run["status"] == 0 and tools == ["run_scenario"] and text == plans.NOTHING_TO_RUN and not answers[0].get("isError")
    report.check(ok, f"{client}, bir-scenario", f"status {run['status']}, {birtest.short(run['steps'])}; see {OUT}")


def as_json(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--client", action="append", choices=["ts", "py", "py-auto", "inspector"])
    ap.add_argument("--server", action="append", choices=["everything", "memory", "filesystem", "bir"])
    opt = ap.parse_args()
    clients = opt.client or ["ts", "py", "py-auto", "inspector"]
    servers = opt.server or ["everything", "memory", "filesystem", "bir"]
    report = birtest.Report("clients")
    os.makedirs(OUT, exist_ok=True)
    if not birtest.need(report, [NODE, PROXY, birtest.module("clients")]):
        return report.finish()
    if not os.path.exists(PYTHON):
        for c in [c for c in clients if c.startswith("py")]:
            report.skipped(c, f"no Python environment at {PYTHON}; ./test makes it")
        clients = [c for c in clients if not c.startswith("py")]

    def walk(case):
        for client in clients:
            if client == "inspector":
                if case.inspector:
                    compare_inspector(report, case)
            else:
                compare_scripted(report, client, case)

    if "bir" in servers and birtest.need(report, [SCENARIO]):
        for client in (c for c in clients if c != "inspector"):
            check_scenario(report, client)
    for case in stdio_cases():
        if case.name.split()[0] in servers:
            walk(case)
    if "everything" in servers:
        for mode, path, option, transport in (("streamableHttp", "/mcp", "--url", []), ("sse", "/sse", "--sse", ["--transport", "sse"])):
            port = birtest.free_port()
            with birtest.Server([*published("server-everything"), mode], os.path.join(OUT, f"everything-{mode}.log"),
                                env={"PORT": str(port)}, port=port, path=path) as server:
                through = ["--", PROXY, "--server-name", "everything", "--url", server.address, *transport]
                walk(Case(f"everything {mode}", plans.EVERYTHING, [option, server.address], through,
                          EVERYTHING_INSPECTOR if mode == "streamableHttp" else []))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
