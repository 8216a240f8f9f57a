// The MCP server that the conformance suite is pointed at: every tool, resource and prompt that its scenarios ask for
// by name, for both eras of the protocol. `serveStdio` and `createMcpHandler` decide the era; the tools do not see it,
// but for those that send requests to the client in the middle of a call, which only the legacy era has.
//
//   createFixture({ changed })   a server; changed(kind) tells "tools" or "prompts" changed

import { randomBytes } from 'node:crypto';
import {
  McpServer, ResourceTemplate, acceptedContent, completable, createRequestStateCodec, fromJsonSchema, inputRequired,
} from '@modelcontextprotocol/server';
import * as z from 'zod';

// One pixel, and a WAV header with no samples: small, valid, and without meaning.
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

// A retried call may reach another server object of this process, so the key is the process's, not the object's.
const state = createRequestStateCodec({ key: randomBytes(32), ttlSeconds: 600 });

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const say = (text) => ({ content: [{ type: 'text', text }] });
const outcome = (r) => say(`Elicitation completed: action=${r.action}, content=${JSON.stringify(r.content ?? {})}`);
const object = (properties = {}, required = Object.keys(properties)) => ({ type: 'object', properties, required });
const ask = (message, properties) => inputRequired.elicit({ message, requestedSchema: object(properties) });
const question = (text, maxTokens) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens });
const NAME = { name: { type: 'string' } };

export function createFixture({ changed = () => {} } = {}) {
  const server = new McpServer(
    { name: 'bir-conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true }, prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true }, logging: {}, completions: {},
      },
      requestState: { verify: state.verify },
    },
  );
  const tool = (name, description, schema, call) =>
    server.registerTool(name, { description, inputSchema: fromJsonSchema(schema) }, call);

  content(tool);
  notifications(tool);
  clientRequests(tool);
  inputRequests(tool, server);
  schemas(tool);
  tool('test_trigger_tool_change', 'Announces that the list of tools changed', object(), async () => {
    await changed('tools', server);
    return say('announced');
  });
  tool('test_trigger_prompt_change', 'Announces that the list of prompts changed', object(), async () => {
    await changed('prompts', server);
    return say('announced');
  });
  resources(server);
  prompts(server);
  return server;
}

// Results of each content type.
function content(tool) {
  const image = { type: 'image', data: PNG, mimeType: 'image/png' };
  tool('test_simple_text', 'One text', object(), async () => say('This is a simple text response for testing.'));
  tool('test_image_content', 'One image', object(), async () => ({ content: [image] }));
  tool('test_audio_content', 'One sound', object(), async () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }));
  tool('test_embedded_resource', 'One embedded resource', object(), async () => ({
    content: [{ type: 'resource', resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' } }],
  }));
  tool('test_multiple_content_types', 'Text, image and resource', object(), async () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      { type: 'resource', resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{"test":"data","value":123}' } },
    ],
  }));
  tool('test_error_handling', 'Always fails', object(), async () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
}

// Messages that the server sends while a call runs.
function notifications(tool) {
  const log = async (_, ctx) => {
    for (const text of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await ctx.mcpReq.log('info', text);
      await sleep(50);
    }
    return say('Logged three messages.');
  };
  tool('test_tool_with_logging', 'Sends three log messages', object(), log);
  tool('test_logging_tool', 'Sends three log messages', object(), log);
  tool('test_tool_with_progress', 'Reports progress three times', object(), async (_, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
      }
      await sleep(50);
    }
    return say('Progressed.');
  });
  tool('test_reconnection', 'Closes its response stream before it answers, where the transport can', object(), async (_, ctx) => {
    ctx.http?.closeSSE?.();
    await sleep(100);
    return say('Answered after the stream was closed.');
  });
}

// Requests of the server to the client (legacy era only).
function clientRequests(tool) {
  tool('test_sampling', 'Asks the client to sample', object({ prompt: { type: 'string' } }), async ({ prompt }, ctx) => {
    const r = await ctx.mcpReq.requestSampling({ messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 });
    return say(`LLM response: ${r.content?.text ?? JSON.stringify(r.content)}`);
  });
  tool('test_elicitation', 'Asks the user', object({ message: { type: 'string' } }), async ({ message }, ctx) => {
    const r = await ctx.mcpReq.elicitInput({
      message,
      requestedSchema: object({ username: { type: 'string', description: "User's response" }, email: { type: 'string', description: "User's email address" } }),
    });
    return say(`User response: action=${r.action}, content=${JSON.stringify(r.content ?? {})}`);
  });
  tool('test_elicitation_sep1034_defaults', 'Asks with a default for every primitive type', object(), async (_, ctx) =>
    outcome(await ctx.mcpReq.elicitInput({
      message: 'Please review these values',
      requestedSchema: object({
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      }, []),
    })));
  tool('test_elicitation_sep1330_enums', 'Asks with every kind of enumeration', object(), async (_, ctx) => {
    const options = ['option1', 'option2', 'option3'];
    const titled = (word) => ['First', 'Second', 'Third'].map((n, i) => ({ const: `value${i + 1}`, title: `${n} ${word}` }));
    return outcome(await ctx.mcpReq.elicitInput({
      message: 'Please choose',
      requestedSchema: object({
        untitledSingle: { type: 'string', enum: options },
        titledSingle: { type: 'string', oneOf: titled('Option') },
        legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
        untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
        titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
      }, []),
    }));
  });
}

// Calls that need more input before they can be answered (2026-07-28, multi-round trips).
function inputRequests(tool, server) {
  const rounds = (name, description, call) => tool(name, description, object(), call);
  rounds('test_input_required_result_elicitation', 'Asks for a name first', async (_, ctx) => {
    const got = acceptedContent(ctx.mcpReq.inputResponses, 'user_name', z.object({ name: z.string() }));
    return got ? say(`Hello, ${got.name}!`) : inputRequired({ inputRequests: { user_name: ask('What is your name?', NAME) } });
  });
  rounds('test_input_required_result_sampling', 'Asks the client to sample first', async (_, ctx) => {
    const got = ctx.mcpReq.inputResponses?.capital_question;
    return got ? say(`The model said: ${got.content?.text ?? JSON.stringify(got.content)}`)
      : inputRequired({ inputRequests: { capital_question: question('What is the capital of France?', 100) } });
  });
  rounds('test_input_required_result_list_roots', 'Asks for the roots first', async (_, ctx) => {
    const got = ctx.mcpReq.inputResponses?.client_roots;
    return got ? say(`Roots: ${(got.roots ?? []).map((r) => r.uri).join(', ')}`)
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  });
  const confirmed = (answer) => async (_, ctx) => {
    if (ctx.mcpReq.requestState() !== undefined && ctx.mcpReq.inputResponses?.confirm) return say(answer);
    return inputRequired({
      inputRequests: { confirm: ask('Please confirm', { ok: { type: 'boolean' } }) },
      requestState: await state.mint({ step: 1 }, ctx),
    });
  };
  rounds('test_input_required_result_request_state', 'Asks, with a state', confirmed('state-ok'));
  rounds('test_input_required_result_tampered_state', 'Asks, with a state that must come back unchanged', confirmed('state-ok'));
  rounds('test_input_required_result_multiple_inputs', 'Asks three things at once', async (_, ctx) => {
    const { user_name, greeting, client_roots } = ctx.mcpReq.inputResponses ?? {};
    if (ctx.mcpReq.requestState() !== undefined && user_name && greeting && client_roots) {
      return say(`${greeting.content?.text ?? 'Hello'} ${user_name.content?.name ?? ''}: ${client_roots.roots?.length ?? 0} roots`);
    }
    return inputRequired({
      inputRequests: {
        user_name: ask('What is your name?', NAME),
        greeting: question('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await state.mint({ step: 1 }, ctx),
    });
  });
  rounds('test_input_required_result_multi_round', 'Asks twice, one after the other', async (_, ctx) => {
    const before = ctx.mcpReq.requestState();
    const responses = ctx.mcpReq.inputResponses ?? {};
    if (before?.step === 2 && responses.step2) return say(`${before.name} likes ${responses.step2.content?.color}.`);
    if (before?.step === 1 && responses.step1) {
      return inputRequired({
        inputRequests: { step2: ask('Step 2: What is your favorite color?', { color: { type: 'string' } }) },
        requestState: await state.mint({ step: 2, name: responses.step1.content?.name }, ctx),
      });
    }
    return inputRequired({
      inputRequests: { step1: ask('Step 1: What is your name?', NAME) },
      requestState: await state.mint({ step: 1 }, ctx),
    });
  });
  rounds('test_input_required_result_capabilities', 'Asks only for what the client can give', async (_, ctx) => {
    if (Object.keys(ctx.mcpReq.inputResponses ?? {}).length > 0) return say('Thank you.');
    const can = ctx.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? server.server.getClientCapabilities() ?? {};
    const wanted = {
      ...(can.elicitation && { user_name: ask('What is your name?', NAME) }),
      ...(can.sampling && { greeting: question('Generate a greeting', 50) }),
      ...(can.roots && { client_roots: inputRequired.listRoots() }),
    };
    return Object.keys(wanted).length > 0 ? inputRequired({ inputRequests: wanted }) : say('There is nothing that the client can be asked.');
  });
  rounds('test_streaming_elicitation', 'Asks for a name, on a stream', async (_, ctx) =>
    ctx.mcpReq.inputResponses?.user_name ? say('Thank you.')
      : inputRequired({ inputRequests: { user_name: ask('What is your name?', NAME) } }));
  rounds('test_missing_capability', 'Needs a client that samples', async (_, ctx) =>
    ctx.mcpReq.inputResponses?.answer ? say('Thank you.') : inputRequired({ inputRequests: { answer: question('Say something', 10) } }));
}

// Schemas that must reach the client word for word.
function schemas(tool) {
  tool('json_schema_2020_12_tool', 'Tool with JSON Schema 2020-12 features', {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  }, async (args) => say(JSON.stringify(args)));
  tool('test_custom_headers', 'Has an argument that HTTP clients repeat in a header', {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, query: { type: 'string' } },
    required: ['region'],
  }, async (args) => say(JSON.stringify(args)));
}

function resources(server) {
  const text = (uri, mimeType, body) => ({ contents: [{ uri, mimeType, text: body }] });
  server.registerResource('static-text', 'test://static-text', { description: 'A text', mimeType: 'text/plain' },
    async (uri) => text(uri.href, 'text/plain', 'This is the content of the static text resource.'));
  server.registerResource('static-binary', 'test://static-binary', { description: 'An image', mimeType: 'image/png' },
    async (uri) => ({ contents: [{ uri: uri.href, mimeType: 'image/png', blob: PNG }] }));
  server.registerResource('watched', 'test://watched-resource', { description: 'A resource to subscribe to', mimeType: 'text/plain' },
    async (uri) => text(uri.href, 'text/plain', 'Watched.'));
  server.registerResource('template', new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'A resource for any id', mimeType: 'application/json' },
    async (uri, { id }) => text(uri.href, 'application/json', JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })));
  server.server.setRequestHandler('resources/subscribe', async () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', async () => ({}));
}

function prompts(server) {
  const user = (content) => ({ role: 'user', content });
  const text = (body) => user({ type: 'text', text: body });
  server.registerPrompt('test_simple_prompt', { description: 'One message' },
    async () => ({ messages: [text('This is a simple prompt for testing.')] }));
  const value = () => completable(z.string(), async (typed) => ['test', 'testing', 'other'].filter((v) => v.startsWith(typed)));
  server.registerPrompt('test_prompt_with_arguments',
    { description: 'A message with two arguments', argsSchema: z.object({ arg1: value(), arg2: value() }) },
    async ({ arg1, arg2 }) => ({ messages: [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }));
  server.registerPrompt('test_prompt_with_embedded_resource',
    { description: 'A message with a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    async ({ resourceUri }) => ({
      messages: [
        user({ type: 'resource', resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' } }),
        text('Please process the embedded resource above.'),
      ],
    }));
  server.registerPrompt('test_prompt_with_image', { description: 'A message with an image' }, async () => ({
    messages: [user({ type: 'image', data: PNG, mimeType: 'image/png' }), text('Please analyze the image above.')],
  }));
  server.registerPrompt('test_input_required_result_prompt', { description: 'Asks for a context first' }, async (ctx) => {
    const got = acceptedContent(ctx.mcpReq.inputResponses, 'user_context');
    return got ? { messages: [text(`Use this context: ${got.context}`)] }
      : inputRequired({ inputRequests: { user_context: ask('What context should the prompt use?', { context: { type: 'string' } }) } });
  });
}
