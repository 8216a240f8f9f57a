// What the hub is told: runs as they look in the field, and what is added while a page is open. All of it goes through
// `POST /recordings/batch`, as a recorder's shipper sends it.

import { randomBytes } from "node:crypto";

// Text that must stay text wherever it is shown. What would run sets `__ran`, which the browser's cases look at.
export const HOSTILE = [
  "</pre></details></section><script>globalThis.__ran=1</script>",
  "\"><img src=x onerror=\"globalThis.__ran=2\">",
  "' autofocus onfocus='globalThis.__ran=3' x='",
  "</title><svg onload=globalThis.__ran=4><a href=\"javascript:globalThis.__ran=5\">x</a>",
  "<!-- ]]><![CDATA[ {{ 7*7 }}{% raw %} &lt;b&gt;&#60;b&#62;",
  "<style>*{display:none}</style><base href=//evil.example><meta http-equiv=refresh content=0;url=//evil.example>",
  "\u202etxt.exe\u202c\u2066\u200b\u0000\u0007\u001b[31mred\u001b[0m",
].join(" ");
export const UNICODE = "Grüße, Ἀθῆναι, 東京タワー, مرحبا بالعالم, שלום, 👩🏽‍🚀, Ｚ̷̢a̷l̷g̷o̷, straße";

const MINUTE = 60_000;

function id(prefix, at) {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Math.max(0, at), 0, 6);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${prefix}${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const json = JSON.stringify;
export const text = (said, more = {}) => json({ content: [{ type: "text", text: said }], ...more });

/** A run as its recorder tells it. */
export class Run {
  constructor({ at, input, servers = ["everything"], tier, project = "/home/ada/code/shop", host = { app: "claude-code", version: "2.1.58" }, ...more }) {
    this.began = Math.round(at);
    this.id = id("run_", this.began);
    this.path = `/runs/${this.id}`;
    this.index = 0;
    const named = servers.map((s) => (typeof s === "string" ? { name: s, title: `${s} server`, version: "2026.8.31", era: "modern" } : s));
    this.records = [{
      type: "run", id: this.id, tier: tier ?? (input === undefined ? "standalone" : "bound"), startedAt: this.began, input, project, host, servers: named, ...more,
    }];
  }

  step(index, at, type, tool, server, more) {
    this.records.push({
      type: "step", id: id("step_", at), runId: this.id, stepIndex: index, stepType: type, toolName: `mcp__${server}__${tool}`, server, tool,
      callId: `toolu_${String(index).padStart(4, "0")}`, sources: ["hook", "proxy"], at, ...more,
    });
  }

  /** A call begins, `after` ms after the run did; its index. */
  begin({ tool, server = "everything", after, input = "{}", ...more }) {
    const index = this.index;
    this.index += 2;
    this.step(index, this.began + Math.round(after), "tool_selected", tool, server, { toolInput: input, originalBytes: input.length, ...more });
    return index;
  }

  end(index, { tool, server = "everything", after, us, outcome = "ok", output = "", ...more }) {
    const is_result = outcome === "ok" || outcome === "tool_error";
    const payload = is_result ? { toolOutput: output } : output ? { toolError: output } : {};
    this.step(index + 1, this.began + Math.round(after + us / 1000), "tool_response", tool, server,
      { outcome, durationUs: Math.round(us), originalBytes: output.length, ...payload, ...more });
  }

  call({ begin = {}, end = {}, ...call }) {
    const index = this.begin({ tool: call.tool, server: call.server, after: call.after, input: call.input, ...begin });
    this.end(index, { ...call, input: undefined, ...end });
    return this;
  }

  lose(after, calls, reason) {
    this.records.push({ type: "lost", runId: this.id, id: id("step_", this.began), calls, records: calls * 2, reason, at: this.began + after });
    return this;
  }

  finish(after, reason = "closed", finalOutput, metrics) {
    this.records.push({ type: "finish", runId: this.id, at: this.began + after, reason, finalOutput, metrics });
    return this;
  }

  /** What was not told yet. */
  take() {
    const waiting = this.records;
    this.records = [];
    return waiting;
  }
}

/** Tells a hub. Whatever is refused is an error. */
export async function tell(hub, ...runs) {
  const records = runs.flatMap((run) => run.take());
  for (let at = 0; at < records.length; at += 1000) {
    const lines = records.slice(at, at + 1000);
    const answer = await fetch(`${hub.url}/recordings/batch`, {
      method: "POST", headers: { authorization: `Bearer ${hub.token}` }, body: lines.map((r) => json(r)).join("\n"),
    });
    const said = await answer.json();
    if (!answer.ok || said.refused?.length || said.booked !== lines.length) throw new Error(`the hub refused: ${json(said).slice(0, 600)}`);
  }
}

/** One run with every outcome, parallel calls, a loss, a round with the user, redacted and cut payloads. */
export function rich(now) {
  const run = new Run({
    at: now - 26 * MINUTE, servers: ["github", "postgres", "files"], sessionId: "5b1c6f0e-7d1f-4a75-9f55-1f2a7c3e8d10", metadata: { cwd: "/home/ada/code/shop", pid: 4211 },
    input: "Find the stale issues of the shop and write their list to stale.md\n\nAn issue is stale when nobody wrote to it for 90 days. Leave out what is labelled `keep`.",
  });
  const issues = text(json({ issues: [
    { number: 41, title: "Cart forgets the coupon", labels: ["bug"], updatedAt: "2026-07-02T09:11:00Z" },
    { number: 57, title: "Search is slow with umlauts", labels: ["performance"], updatedAt: "2026-06-17T16:40:00Z" },
    { number: 63, title: "Typo on the receipt", labels: [], updatedAt: "2026-05-30T08:02:00Z" },
  ], nextPageToken: "eyJwIjoyfQ" }));
  run.call({ tool: "list_issues", server: "github", after: 120, us: 812_000, output: issues,
    input: json({ owner: "ada", repo: "shop", state: "open", authorization: "[redacted:key:9f3b2c1d4e5a]", perPage: 100 }),
    begin: { context: "I begin with the open issues; the token is in the environment." }, end: { originalBytes: 2_485_125, truncated: true } });
  for (const [n, who] of ["grace", "alan", "edsger"].entries()) {
    run.call({ tool: "query", server: "postgres", after: 1_900 + n * 30, us: 230_000 + n * 140_000,
      input: json({ sql: "select id, email, created_at from people where login = $1", params: [who] }),
      output: text("id\temail\tcreated_at\n7\t[redacted:custom:1b2c3d4e5f60]\t2024-03-01", { structuredContent: { rows: [{ id: 7, balance: 1.5 }] } }) });
  }
  run.lose(2_600, 2, "backlog");
  run.call({ tool: "query", server: "postgres", after: 3_000, us: 5_100, outcome: "tool_error", input: json({ sql: "select * from coupon" }), output: text("relation \"coupon\" does not exist", { isError: true }) });
  run.call({ tool: "drop_table", server: "postgres", after: 3_300, us: 900, outcome: "denied", input: json({ table: "coupon" }) });
  run.call({ tool: "screenshot", server: "files", after: 3_500, us: 640_000, input: json({ page: "/cart" }),
    output: json({ content: [{ type: "image", mimeType: "image/png", data: { truncated: true, originalBytes: 918244 } }] }) });
  run.call({ tool: "write_file", server: "files", after: 4_300, us: 2_700_000, input: json({ path: "/home/ada/code/shop/stale.md", content: "- #41 Cart forgets the coupon\n- #57 Search is slow\n" }), output: text("Wrote 3 lines."),
    end: { legs: [{ leg: 1, asked: json({ resultType: "input_required", inputRequests: [{ type: "elicitation", message: "The file exists. Overwrite it?" }] }), askedAt: run.began + 4_350,
      answered: json([{ action: "accept", content: { overwrite: true } }]), answeredAt: run.began + 6_800 }] } });
  run.call({ tool: "no_such_tool", server: "github", after: 7_200, us: 1_100, outcome: "rpc_error", output: json({ code: -32602, message: "Unknown tool: no_such_tool" }) });
  run.call({ tool: "list_issues", server: "github", after: 7_400, us: 20_000_000, outcome: "timeout", input: json({ page: 2 }), end: { ambiguous: true } });
  run.call({ tool: "query", server: "postgres", after: 28_000, us: 1_400_000, outcome: "cancelled", input: json({ sql: "select pg_sleep(60)" }) });
  run.call({ tool: "get_issue", server: "github", after: 30_000, us: 0, outcome: "unknown", input: json({ number: 41 }), end: { durationUs: undefined } });
  run.begin({ tool: "get_issue", server: "github", after: 30_500, input: json({ number: 57 }) });
  return run.finish(34_000, "closed", "Three issues are stale: #41, #57 and #63. The list is in stale.md.", { costUsd: 0.0412, inputTokens: 18_220, outputTokens: 911 });
}

/** Everything that a recording can hold is hostile. */
export function hostile(now) {
  const run = new Run({ at: now - 95 * MINUTE, input: HOSTILE, project: `/home/${HOSTILE}`, host: { app: HOSTILE.slice(0, 200), version: "<b>1" }, sessionId: HOSTILE.slice(0, 300), metadata: { [HOSTILE]: HOSTILE },
    servers: [{ name: HOSTILE.slice(0, 400), title: HOSTILE.slice(0, 400), version: "<i>" }, "everything"] });
  const both = json({ [HOSTILE]: HOSTILE, content: [{ type: "text", text: HOSTILE }, { type: "resource_link", uri: "javascript:globalThis.__ran=6", name: HOSTILE }] });
  run.call({ tool: HOSTILE.slice(0, 400), server: HOSTILE.slice(0, 100), after: 0, us: 1_000, input: both, output: both, begin: { context: HOSTILE, modelInput: HOSTILE } });
  run.call({ tool: "text", after: 5, us: 1_000, outcome: "rpc_error", input: HOSTILE, output: HOSTILE });
  run.call({ tool: "echo", after: 9, us: 1_000, input: json({ message: UNICODE }), output: text(UNICODE) });
  run.lose(6, 1, HOSTILE.slice(0, 60));
  return run.finish(60_000, "abandoned", HOSTILE);
}

/** More calls than a page holds, 500, with results of some kilobytes. */
export function long(now) {
  const run = new Run({ at: now - 3 * 60 * MINUTE, servers: ["files"] });
  const big = text("line of a file\n".repeat(160));
  for (let n = 0; n < 520; n += 1) {
    run.call({ tool: "read_text_file", server: "files", after: n * 850, us: 2_000 + ((n * 7_919) % 600_000), outcome: n % 97 === 40 ? "tool_error" : "ok",
      input: json({ path: `/home/ada/code/shop/src/part_${n}.rs`, head: 160 }), output: big });
  }
  return run.finish(1_800_000 + 520 * 850, "idle");
}

/** Results as large as a recorder keeps them. */
export function big(now) {
  const run = new Run({ at: now - 5 * 60 * MINUTE, input: "Read the whole log", servers: ["files"] });
  const lines = (n) => Array.from({ length: n }, (_, i) => ({ line: i, level: i % 7 ? "info" : "warn", said: `the request ${i} was answered` }));
  for (let n = 0; n < 40; n += 1) {
    run.call({ tool: "read_log", server: "files", after: n * 1_000, us: 420_000, input: json({ path: "/var/log/shop.log", page: n }), output: json({ structuredContent: { lines: lines(800) } }), end: { originalBytes: 2_485_125, truncated: true } });
  }
  return run.finish(60_000, "closed", "The log has no error.");
}

/** A run that goes on. */
export function going(now) {
  const run = new Run({ at: now - 40_000, input: "Add up what the two carts cost" });
  for (let n = 0; n < 6; n += 1) run.call({ tool: n % 2 ? "get-sum" : "echo", after: 1_000 + n * 4_000, us: 31_000 + n * 200_000, input: json({ a: 2, b: 3 }), output: text("The sum of 2 and 3 is 5.") });
  return run;
}

/** Ordinary runs, so that the list has further pages. */
export function ordinary(now, count) {
  const prompts = ["Summarise the open issues of the shop and label what is stale", "Which invoices of October were never paid?", "Rename the column and update every query that uses it"];
  return Array.from({ length: count }, (_, n) => {
    const servers = n % 4 === 0 ? ["github", "postgres"] : ["everything"];
    const run = new Run({ at: now - 6 * 60 * MINUTE - n * 51 * MINUTE, input: n % 3 === 2 ? undefined : prompts[n % 2], servers, host: n % 5 === 1 ? { app: "codex", version: "0.128.0" } : undefined });
    for (let call = 0; call <= n % 9; call += 1) {
      run.call({ tool: "echo", server: servers[0], after: call * 900, us: 4_000 + n * 913, outcome: n % 7 === 3 && call === 2 ? "tool_error" : "ok", input: json({ message: "hello" }), output: text("Echo: hello") });
    }
    if (n % 11 === 6) run.lose(10, n % 4, "backlog");
    return run.finish(2_000 + n * 7_919);
  });
}
