#!/usr/bin/env python3
"""Scripted client on the official Python SDK (mcp 2.x):

    py_client.py [--mode legacy|auto] PLAN.json (--url URL | --sse URL | -- COMMAND...)

The same steps and the same output as ts-client.mjs. Mode `auto` opens with `server/discover`.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters, types

asked = []


async def on_sampling(context, params):
    asked.append({"sampling": plain(params)})
    return types.CreateMessageResult(role="assistant", model="fake-model", stop_reason="endTurn",
                                     content=types.TextContent(type="text", text="sampled text"))


async def on_elicitation(context, params):
    asked.append({"elicitation": plain(params)})
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def on_roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///example-root", name="example")])


async def on_log(params):
    pass


def plain(value):
    """A JSON value of anything that the SDK returns."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return value if isinstance(value, (dict, list, str, int, float, bool, type(None))) else str(value)


def target(how, rest):
    if how == "--url":
        return rest[0]
    if how == "--sse":
        from mcp.client.sse import sse_client
        return sse_client(rest[0])
    env = {k[len("CLIENT_ENV_"):]: v for k, v in os.environ.items() if k.startswith("CLIENT_ENV_")}
    return StdioServerParameters(command=rest[0], args=rest[1:], env=env or None)


async def carry_out(client, operation, argument):
    if operation == "initialize":
        return {"server": plain(client.server_info), "protocol": str(client.protocol_version),
                "capabilities": plain(client.server_capabilities), "instructions": client.instructions}
    if operation == "tools":
        return await client.list_tools()
    if operation == "prompts":
        return await client.list_prompts()
    if operation == "resources":
        return await client.list_resources()
    if operation == "templates":
        return await client.list_resource_templates()
    if operation == "ping":
        return await client.send_ping()
    if operation == "prompt":
        return await client.get_prompt(argument["name"], argument.get("arguments"))
    if operation == "read":
        return await client.read_resource(argument)
    if operation == "complete":
        return await client.complete(types.PromptReference(type="ref/prompt", name=argument["prompt"]),
                                     {"name": argument["name"], "value": argument["value"]})
    if operation == "call":
        seen = []

        async def on_progress(value, total, message):
            seen.append({"progress": value, "total": total, "message": message})

        result = plain(await client.call_tool(argument["name"], argument["arguments"],
                                              **({"progress_callback": on_progress} if argument.get("progress") else {})))
        took, asked[:] = asked[:], []
        return {"result": result, "asked": took, **({"progress": seen} if argument.get("progress") else {})}
    if operation == "cancel":
        call = asyncio.create_task(client.call_tool(argument["name"], argument["arguments"]))
        await asyncio.sleep(0.3)
        call.cancel()
        try:
            return await call
        except asyncio.CancelledError:
            return {"cancelled": True}
    raise ValueError(operation)


async def main():
    args = sys.argv[1:]
    mode = args.pop(1) if args[0] == "--mode" else "legacy"
    if args[0] == "--mode":
        args.pop(0)
    with open(args[0]) as f:
        plan = json.load(f)
    async with Client(
        target(args[1], args[2:]), mode=mode, read_timeout_seconds=30, sampling_callback=on_sampling,
        elicitation_callback=on_elicitation, list_roots_callback=on_roots, logging_callback=on_log,
        client_info=types.Implementation(name="scripted-py-client", version="1.0.0"),
    ) as client:
        for operation, argument in [(s[0], s[1] if len(s) > 1 else None) for s in [["initialize"], *plan]]:
            step = {"step": operation, "argument": argument}
            try:
                step["result"] = plain(await carry_out(client, operation, argument))
            except Exception as e:  # an error is a result here: it must be the same through the proxy
                step["error"] = {"type": type(e).__name__, "message": str(e), "error": plain(getattr(e, "error", None))}
            print(json.dumps(step), flush=True)
    print(json.dumps({"step": "close"}))


asyncio.run(main())
