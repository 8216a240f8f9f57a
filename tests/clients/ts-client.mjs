// Scripted client on the official TypeScript SDK (v1 line):  ts-client.mjs PLAN.json (--url URL | --sse URL | -- COMMAND...)
//
// Carries out the steps of the plan and prints each one's whole result as one JSON line. It answers sampling, elicitation
// and roots, so that servers can call back. CLIENT_ENV_FOO=1 here becomes FOO=1 in the environment of a stdio server.
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport, getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, LoggingMessageNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

const [planFile, how, ...rest] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(planFile, 'utf8'));
const serverEnv = Object.fromEntries(
  Object.entries(process.env).filter(([k]) => k.startsWith('CLIENT_ENV_')).map(([k, v]) => [k.slice('CLIENT_ENV_'.length), v]));

const client = new Client(
  { name: 'scripted-ts-client', version: '1.0.0' },
  { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
);
// What the server asked during a call. Not the roots: server-everything asks for them at a time of its own.
const asked = [];
client.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => {
  asked.push({ sampling: params });
  return { model: 'fake-model', role: 'assistant', stopReason: 'endTurn', content: { type: 'text', text: 'sampled text' } };
});
client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
  asked.push({ elicitation: params });
  return { action: 'accept', content: { name: 'Ada' } };
});
client.setRequestHandler(ListRootsRequestSchema, async () => {
  return { roots: [{ uri: 'file:///example-root', name: 'example' }] };
});
client.setNotificationHandler(LoggingMessageNotificationSchema, () => {});

const transport = {
  '--url': () => new StreamableHTTPClientTransport(new URL(rest[0])),
  '--sse': () => new SSEClientTransport(new URL(rest[0])),
  '--': () => new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: { ...getDefaultEnvironment(), ...serverEnv }, stderr: 'inherit' }),
}[how]();

const operations = {
  initialize: async () => {
    await client.connect(transport);
    return { server: client.getServerVersion(), capabilities: client.getServerCapabilities(), instructions: client.getInstructions() };
  },
  tools: () => client.listTools(),
  prompts: () => client.listPrompts(),
  resources: () => client.listResources(),
  templates: () => client.listResourceTemplates(),
  ping: () => client.ping(),
  prompt: (p) => client.getPrompt(p),
  read: (uri) => client.readResource({ uri }),
  complete: ({ prompt, name, value }) => client.complete({ ref: { type: 'ref/prompt', name: prompt }, argument: { name, value } }),
  call: async ({ progress, ...params }) => {
    const seen = [];
    const result = await client.callTool(params, undefined, progress ? { onprogress: (p) => seen.push(p) } : {});
    return { result, asked: asked.splice(0), ...(progress && { progress: seen }) };
  },
  cancel: async (params) => {
    const stop = new AbortController();
    setTimeout(() => stop.abort('test cancel'), 300);
    return client.callTool(params, undefined, { signal: stop.signal });
  },
  close: async () => { await client.close(); return {}; },
};

for (const [operation, argument] of [['initialize'], ...plan, ['close']]) {
  const step = { step: operation, argument };
  try {
    console.log(JSON.stringify({ ...step, result: await operations[operation](argument) }));
  } catch (e) {
    console.log(JSON.stringify({ ...step, error: { code: e.code, message: String(e.message ?? e), data: e.data } }));
  }
}
process.exit(0);
