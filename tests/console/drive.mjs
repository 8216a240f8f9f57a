// Drives the browser through all cases. `run.py` starts the hubs and says where they are.

import { parseArgs } from "node:util";
import { Bench, signIn } from "./browser.mjs";
import * as access from "./cases/access.mjs";
import * as layout from "./cases/layout.mjs";
import * as list from "./cases/list.mjs";
import * as live from "./cases/live.mjs";
import * as hostile from "./cases/hostile.mjs";
import * as run from "./cases/run.mjs";
import * as record from "./record.mjs";

const { values: opt } = parseArgs({
  options: { hubs: { type: "string" }, browser: { type: "string" }, out: { type: "string" }, only: { type: "string", multiple: true, default: [] } },
});
// {own: {url, token}, team: {url, people: {admin, operator}}}: an embedded hub, and a team's in which nothing is recorded.
const hubs = JSON.parse(opt.hubs);
const now = Date.now();
const runs = { going: record.going(now), rich: record.rich(now), hostile: record.hostile(now), long: record.long(now), big: record.big(now) };
for (const made of Object.values(runs)) await record.tell(hubs.own, made);
await record.tell(hubs.own, ...record.ordinary(now, 70));
hubs.own.cookie = await signIn(hubs.own);

const bench = new Bench(opt);
await bench.open(opt.browser);
try {
  for (const part of [access, list, run, hostile, live, layout]) await part.cases(bench, hubs, runs);
} finally {
  await bench.browser.close();
}
