#!/usr/bin/env node
// The fixture over Streamable HTTP on loopback, both eras at one address: fixture-http.mjs [PORT]
// Prints one line, the address, once it listens. The legacy era has sessions, the modern one has none.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport, localhostHostValidation, localhostOriginValidation, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import { createMcpHandler, isInitializeRequest, isLegacyRequest } from '@modelcontextprotocol/server';
import { createFixture } from './fixture.mjs';

const modern = createMcpHandler(
  () => createFixture({ changed: (kind) => (kind === 'tools' ? modern.notify.toolsChanged() : modern.notify.promptsChanged()) }),
  { legacy: 'reject' },
);
const serveModern = toNodeHandler(modern);
const sessions = new Map();

// Keeps every event of a session, so that a client that reconnects gets what it missed.
class EventStore {
  #events = [];

  async storeEvent(stream, message) {
    const id = `${stream}/${this.#events.length}`;
    this.#events.push({ id, stream, message });
    return id;
  }

  async replayEventsAfter(lastId, { send }) {
    const at = this.#events.findIndex((e) => e.id === lastId);
    if (at < 0) return undefined;
    const { stream } = this.#events[at];
    for (const e of this.#events.slice(at + 1)) {
      if (e.stream === stream && e.message && Object.keys(e.message).length > 0) await send(e.id, e.message);
    }
    return stream;
  }
}

async function openSession() {
  const announce = (kind, server) => (kind === 'tools' ? server.sendToolListChanged() : server.sendPromptListChanged());
  const server = createFixture({ changed: announce });
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new EventStore(),
    retryInterval: 500,
    onsessioninitialized: (id) => { sessions.set(id, transport); },
  });
  transport.onclose = () => { sessions.delete(transport.sessionId); };
  await server.connect(transport);
  return transport;
}

function refuse(res, status, code, message) {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
}

async function readJson(req) {
  const parts = [];
  for await (const part of req) parts.push(part);
  try { return JSON.parse(Buffer.concat(parts).toString('utf8')); } catch { return undefined; }
}

async function serve(req, res) {
  const body = req.method === 'POST' ? await readJson(req) : undefined;
  if (req.method === 'POST' && body === undefined) return refuse(res, 400, -32700, 'Parse error');
  if (!(await isLegacyRequest(await toWebRequest(req, body), body))) {
    return serveModern(req, res, body);
  }
  const id = req.headers['mcp-session-id'];
  const known = id === undefined ? undefined : sessions.get(id);
  if (known) return known.handleRequest(req, res, body);
  if (id !== undefined) return refuse(res, 404, -32001, 'Session not found');
  if (isInitializeRequest(body)) return (await openSession()).handleRequest(req, res, body);
  return refuse(res, 400, -32000, 'No session');
}

const hostIsLocal = localhostHostValidation();
const originIsLocal = localhostOriginValidation();
const http = createServer((req, res) => {
  if (!hostIsLocal(req, res) || !originIsLocal(req, res)) return;
  serve(req, res).catch((e) => {
    console.error(`fixture: ${e.stack}`);
    if (!res.headersSent) refuse(res, 500, -32603, 'Internal error');
  });
});
http.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
