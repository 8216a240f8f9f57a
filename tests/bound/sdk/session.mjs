// An application that uses the Agent SDK:  session.mjs OPTIONS.json
//
// The file has the options of `query`. Each line of stdin is a message of the user; the end of stdin is the end of the session.
// Every message that the SDK gives goes to stdout, a line each, as `claude -p --output-format stream-json` writes them.

import { query } from "@anthropic-ai/claude-agent-sdk";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

async function* messages() {
  for await (const line of createInterface({ input: process.stdin })) {
    yield { session_id: "", parent_tool_use_id: null, ...JSON.parse(line) };
  }
}

const options = JSON.parse(readFileSync(process.argv[2], "utf8"));
options.stderr = (text) => process.stderr.write(text);
for await (const message of query({ prompt: messages(), options })) {
  process.stdout.write(JSON.stringify(message) + "\n");
}
