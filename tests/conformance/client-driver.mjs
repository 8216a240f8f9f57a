#!/usr/bin/env node
// The client that the suite's client scenarios watch:  client-driver.mjs [--proxy PATH] URL
//
// Without --proxy the SDK's own HTTP client speaks to URL. With it the SDK's stdio client speaks to
// `PATH --server-name suite --url URL`, so that the suite judges what the proxy's HTTP side sends.
// Lists what the server offers, reads and gets everything, calls every tool; the scenario may name the calls
// (MCP_CONFORMANCE_CONTEXT). The era is 2026-07-28 when MCP_CONFORMANCE_PROTOCOL_VERSION says so, else the legacy one.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const argv = process.argv.slice(2);
const url = argv.pop();
const proxy = argv[0] === '--proxy' ? argv[1] : undefined;
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const modern = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === '2026-07-28';

const client = new Client(
  { name: 'bir-conformance-client', version: '1.0.0' },
  {
    capabilities: { sampling: {}, elicitation: { form: { applyDefaults: true } }, roots: {} },
    versionNegotiation: { mode: modern ? 'auto' : 'legacy' },
  },
);
// For the scenario of the defaults nothing is filled in: the client has to.
const filledIn = scenario.includes('defaults') ? {} : { confirmed: true };
client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: filledIn }));
client.setRequestHandler('sampling/createMessage', async () => ({
  model: 'none', role: 'assistant', stopReason: 'endTurn', content: { type: 'text', text: 'sampled' },
}));
client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///example', name: 'example' }] }));

const transport = proxy
  ? new StdioClientTransport({ command: proxy, args: ['--server-name', 'suite', '--url', url], env: { ...process.env }, stderr: 'inherit' })
  : new StreamableHTTPClientTransport(new URL(url));

/** One argument object that satisfies a simple schema. */
function example(schema) {
  const value = { number: 2, integer: 2, boolean: true, array: [], object: {} };
  return Object.fromEntries(Object.entries(schema?.properties ?? {}).map(([k, s]) => [k, s.default ?? s.enum?.[0] ?? value[s.type] ?? 'x']));
}

async function attempt(what, run) {
  try {
    return await run();
  } catch (e) {
    console.error(`${what}: ${e.message}`);
    return undefined;
  }
}

await client.connect(transport);
const tools = (await attempt('tools/list', () => client.listTools()))?.tools ?? [];
let calls = context.toolCalls ?? tools.map((t) => ({ name: t.name, arguments: example(t.inputSchema) }));
if (tools.some((t) => t.name === 'json_schema_echo')) {
  const focal = tools.find((t) => t.name !== 'json_schema_echo');
  calls = [{ name: 'json_schema_echo', arguments: { schema: focal.inputSchema } }];
}
// All at once, as a host with several tool calls in one turn does; one by one where the suite looks at times.
if (scenario === 'sse-retry') {
  for (const c of calls) await attempt(`tools/call ${c.name}`, () => client.callTool(c));
} else {
  await Promise.all(calls.map((c) => attempt(`tools/call ${c.name}`, () => client.callTool(c))));
}
const offers = client.getServerCapabilities() ?? {};
if (offers.resources) {
  const { resources = [] } = (await attempt('resources/list', () => client.listResources())) ?? {};
  for (const r of resources) await attempt('resources/read', () => client.readResource({ uri: r.uri }));
}
if (offers.prompts) {
  const { prompts = [] } = (await attempt('prompts/list', () => client.listPrompts())) ?? {};
  for (const p of prompts) await attempt('prompts/get', () => client.getPrompt({ name: p.name, arguments: {} }));
}
// The proxy ends a session with a DELETE, as the specification asks; the SDK does so only when it is told.
if (!proxy && !modern) await attempt('DELETE', () => transport.terminateSession());
await client.close();
