#!/usr/bin/env node
// The fixture over stdio, both eras.
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createFixture } from './fixture.mjs';

const announce = (kind, server) => (kind === 'tools' ? server.sendToolListChanged() : server.sendPromptListChanged());
serveStdio(() => createFixture({ changed: announce }), { onerror: (e) => console.error(`fixture: ${e.message}`) });
