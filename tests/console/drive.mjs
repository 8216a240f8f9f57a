// Drives the browser. One line of JSON per case on stdout: {case, state, detail}.
//
// Each case has a page of its own. Whatever the page writes to its console as an error, and whatever a script throws, fails
// the case: under the console's policy that includes every inline script or style.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";

const { values: opt } = parseArgs({
  options: {
    url: { type: "string" }, browser: { type: "string" }, out: { type: "string" }, cookie: { type: "string" },
    fixture: { type: "boolean", default: false }, only: { type: "string", multiple: true, default: [] },
  },
});
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const WAIT = 30000;
const WIDTHS = [360, 768, 1440];
const SCHEMES = ["light", "dark"];

const say = (name, state, detail = "") => console.log(JSON.stringify({ case: name, state, detail }));
const expect = (ok, what) => { if (!ok) throw new Error(what); };

const profile = mkdtempSync(join(tmpdir(), "bir-console-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: opt.browser, headless: true, args: FLAGS, bypassCSP: false, timezoneId: "Europe/Paris", locale: "en-GB",
});
context.setDefaultTimeout(WAIT);
if (opt.cookie) {
  const [name, ...value] = opt.cookie.split("=");
  await context.addCookies([{ name, value: value.join("="), url: opt.url }]);
}

async function trial(name, work, { javaScript = true } = {}) {
  if (opt.only.length && !opt.only.some((part) => name.includes(part))) return;
  const page = await context.newPage();
  const errors = [];
  page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
  page.on("pageerror", (e) => errors.push(String(e)));
  page.on("request", (r) => { if (!r.url().startsWith(opt.url) && !r.url().startsWith("data:")) errors.push(`request to ${r.url()}`); });
  try {
    if (!javaScript) await page.route("**/*.js*", (route) => route.abort());
    await work(page, errors);
    if (javaScript) expect(errors.length === 0, `console: ${errors.join(" | ")}`);
    say(name, "passed");
  } catch (error) {
    await page.screenshot({ path: join(opt.out, `failed ${name.replaceAll("/", "_")}.png`) }).catch(() => {});
    say(name, "failed", String(error.message ?? error).slice(0, 1500));
  } finally {
    await page.close();
  }
}

const post = (path) => fetch(opt.url + path, { method: "POST" });
const go = (page, path) => page.goto(opt.url + path, { waitUntil: "load" });

/** The addresses of runs of the first page of the list, newest first. */
async function runPaths() {
  const html = await (await fetch(`${opt.url}/runs`, { headers: opt.cookie ? { cookie: opt.cookie } : {} })).text();
  return [...html.matchAll(/class="item" href="(\/runs\/run_[0-9a-f-]+)"/g)].map((m) => m[1]);
}

const runs = await runPaths();
const pages = [["runs", "/runs"], ["sign in", "/signin"], ["device", "/device"]];
if (opt.fixture) {
  pages.push(["run", runs[1]], ["hostile run", runs[2]], ["long run", runs[3]], ["going on", runs[0]], ["sign in, refused", "/signin?error=1"],
    ["nothing matches", "/runs?server=none"], ["message", "/runs/nowhere"]);
} else if (runs.length) {
  pages.push(["run", runs[0]]);
}

// Layout and accessibility

async function audit(page) {
  await page.evaluate(axeSource);
  const found = await page.evaluate(async () => {
    const result = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return result.violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(", ")}`);
  });
  const serious = found.filter((f) => /^(serious|critical|moderate)/.test(f));
  expect(serious.length === 0, `axe: ${serious.join(" | ")}`);
}

for (const [name, path] of pages) {
  const missing = name === "message";
  await trial(`${name}: layout`, async (page, errors) => {
    for (const scheme of SCHEMES) {
      for (const width of WIDTHS) {
        await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
        await page.setViewportSize({ width, height: 900 });
        await go(page, path);
        if (name === "run") await page.evaluate(() => document.querySelectorAll("#calls > li:nth-child(-n+3) details").forEach((d) => { d.open = true; }));
        if (name === "hostile run") await page.evaluate(() => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
        const { wide, screen, title } = await page.evaluate(() => ({
          wide: document.documentElement.scrollWidth, screen: document.documentElement.clientWidth, title: document.title,
        }));
        await page.screenshot({ path: join(opt.out, `${name} ${width} ${scheme}.png`), fullPage: name !== "long run" });
        expect(wide <= screen, `${width} px, ${scheme}: the page is ${wide} px wide`);
        expect(title !== "broken", "a recorded script ran");
      }
      if (name !== "long run") await audit(page);
    }
    if (missing) errors.splice(0, errors.length, ...errors.filter((e) => !e.includes("404")));
  });
}

await trial("reading without scripts", async (page) => {
  await go(page, "/runs");
  expect(await page.locator("#runs tbody tr").count() > 0, "no rows");
  if (!runs.length) return;
  await go(page, opt.fixture ? runs[1] : runs[0]);
  await page.locator(".call summary").first().click();
  expect(await page.locator(".call[id] details[open] pre").first().isVisible(), "a call does not unfold");
}, { javaScript: false });

// Keys

await trial("keys of the list", async (page) => {
  await go(page, "/runs");
  const rows = await page.locator("#runs .item").count();
  expect(rows > 1, "needs two runs");
  const focused = () => page.evaluate(() => [...document.querySelectorAll("#runs .item")].indexOf(document.activeElement));
  await page.keyboard.press("j");
  expect(await focused() === 0, "j goes to the first run");
  await page.keyboard.press("j");
  expect(await focused() === 1, "j goes to the next run");
  await page.keyboard.press("k");
  expect(await focused() === 0, "k goes back");
  await page.keyboard.press("/");
  expect(await page.evaluate(() => document.activeElement.id) === "filter", "/ focuses the filter");
  await page.keyboard.type("jk?");
  expect(await page.inputValue("#filter") === "jk?", "a field takes its letters");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  expect(await page.locator("#help").isVisible(), "? shows the keys");
  await audit(page);
  await page.keyboard.press("Escape");
  expect(!(await page.locator("#help").isVisible()), "Esc closes the help");
  await page.keyboard.press("g");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/runs\/run_/);
});

await trial("keys of a run", async (page) => {
  await go(page, opt.fixture ? runs[1] : runs[0]);
  const open = () => page.locator("#calls > li > details[open]").count();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  expect(await open() === 1, "Enter unfolds");
  await page.keyboard.press("o");
  expect(await open() === 0, "o folds");
  await page.keyboard.press("O");
  expect(await open() === await page.locator("#calls > li > details").count(), "O unfolds all");
  await page.keyboard.press("O");
  if (opt.fixture) {
    await page.keyboard.press("f");
    expect(await page.evaluate(() => document.activeElement.closest("li").dataset.failed === ""), "f goes to a failed call");
  }
  await page.keyboard.press("/");
  await page.keyboard.type("no call is named so");
  expect(await page.locator("#calls > li:visible").count() === 0, "finding hides what does not match");
  await page.keyboard.press("Escape");
  await page.keyboard.press("u");
  await page.waitForURL(/\/runs$/);
});

// Times, filter, live

if (!opt.fixture) {
  for (const name of ["times are the viewer's", "filter", "live list", "live run", "payloads elsewhere"]) say(name, "skipped", "needs the preview's fixture");
} else {
  await trial("times are the viewer's", async (page) => {
    await go(page, runs[1]);
    const [iso, shown] = await page.locator("time[data-exact]").evaluate((t) => [t.dateTime, t.textContent]);
    const paris = new Date(iso).toLocaleTimeString("en-GB", { timeZone: "Europe/Paris" });
    expect(shown.includes(paris), `${shown} is not ${paris}`);
  });

  await trial("filter", async (page) => {
    await go(page, "/runs");
    await page.fill("#filter", "postgres");
    await page.selectOption("[name=outcome]", "denied");
    await page.locator(".filter button").click();
    await page.waitForURL(/server=postgres&.*outcome=denied/);
    expect(await page.locator("#runs tbody tr").count() === 1, "one run had a call denied");
    expect(await page.inputValue("#filter") === "postgres", "the filter stays in its field");
    await page.getByText("Clear").click();
    await page.waitForURL(/\/runs$/);
    await page.getByText("Older").click();
    await page.waitForURL(/cursor=/);
    expect(await page.locator("#runs tbody tr").count() > 0, "older runs");
  });

  await trial("payloads elsewhere", async (page) => {
    await go(page, runs[3]);
    const last = page.locator("#calls > li[data-elsewhere]").last();
    await last.locator("summary").first().click();
    await page.locator("#calls > li:last-child pre").first().waitFor();
    expect(await page.locator("#calls > li:last-child a.elsewhere").count() === 0, "the link stays");
  });

  await trial("live list", async (page) => {
    await go(page, "/runs");
    await page.locator("#state[data-state=live]").waitFor();
    await page.locator("#runs .item").nth(3).focus();
    const before = await page.evaluate(() => document.activeElement.href);
    await post("/preview/run");
    await page.getByText("A run that appeared while you looked").waitFor();
    expect(await page.evaluate(() => document.activeElement.href) === before, "the focus was lost");
    expect(await page.locator("#runs tbody tr").count() === 50, "a page keeps its length");
  });

  await trial("live run", async (page) => {
    await go(page, runs[0]);
    await page.locator("#state[data-state=live]").waitFor();
    const count = await page.locator("#calls > li").count();
    await page.locator("#calls summary.item").first().click();
    await post("/preview/call");
    await page.locator(`#calls > li:nth-child(${count + 1})`).waitFor();
    await post("/preview/begin");
    await page.locator(`#calls > li:nth-child(${count + 2}) .mark.run`).waitFor();
    await post("/preview/end");
    await page.locator(`#calls > li:nth-child(${count + 2}) .mark.ok`).waitFor();
    expect(await page.locator("#calls > li:first-child > details[open]").count() === 1, "an unfolded call was folded");
    const axes = await page.evaluate(() => new Set([...document.querySelectorAll(".track svg")].map((s) => s.getAttribute("viewBox"))).size);
    expect(axes === 1, "bars have several axes");
    await post("/preview/finish");
    await page.locator("#state[data-state=done]").waitFor();
    await page.getByText("Both sums are right.").waitFor();
    expect(await page.locator("#calls > li").count() === count + 2, "rows were doubled or lost");
    await page.screenshot({ path: join(opt.out, "live run.png"), fullPage: true });
  });
}

await context.close();
rmSync(profile, { recursive: true, force: true });
