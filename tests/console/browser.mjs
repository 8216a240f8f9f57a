// The browser, and what every case needs of it. One line of JSON per case on stdout: {case, state, detail}.
//
// A case has a context of its own: cookies, storage, console. Whatever the page writes to its console as an error, whatever a
// script throws, a dialog, and a request to anywhere but the hub fail the case; under the console's policy the first includes
// every inline script or style that is tried.

import { join } from "node:path";
import { chromium } from "playwright-core";

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const WAIT = 20_000;

export const expect = (ok, what) => { if (!ok) throw new Error(what); };
export function same(found, wanted, what) {
  expect(JSON.stringify(found) === JSON.stringify(wanted), `${what}: expected ${JSON.stringify(wanted)}, found ${JSON.stringify(found)}`);
}

/** Asks until it is true, within a budget. */
export async function until(what, condition, budget = WAIT) {
  const end = Date.now() + budget;
  for (;;) {
    const value = await condition();
    if (value) return value;
    expect(Date.now() < end, `${what}: not within ${budget} ms`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

export class Bench {
  constructor({ out, only }) {
    this.out = out;
    this.only = only;
  }

  async open(executablePath) {
    this.browser = await chromium.launch({ executablePath, headless: true, args: FLAGS });
  }

  say(name, state, detail = "") {
    console.log(JSON.stringify({ case: name, state, detail: String(detail).slice(0, 1500) }));
  }

  /**
   * Runs a case. `hub` is where requests may go; its cookie is that of a session unless `signedIn` is false. `allowed` tells the
   * console errors that the case causes on purpose.
   */
  async trial(name, hub, work, { javaScript = true, signedIn = true, allowed = () => false, ...options } = {}) {
    if (this.only.length && !this.only.some((part) => name.includes(part))) return;
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 900 }, timezoneId: "Europe/Paris", locale: "en-GB", reducedMotion: "reduce", javaScriptEnabled: javaScript, ...options,
    });
    context.setDefaultTimeout(WAIT);
    if (signedIn) await context.addCookies([{ name: "bir_session", value: hub.cookie, url: hub.url }]);
    const wrong = [], begin = Date.now();
    const watch = (page) => {
      page.on("console", (m) => { if (m.type() === "error" && !allowed(m.text())) wrong.push(`console: ${m.text()}`); });
      page.on("pageerror", (e) => wrong.push(`thrown: ${e}`));
      page.on("dialog", (d) => { wrong.push(`dialog: ${d.message()}`); d.dismiss().catch(() => {}); });
      page.on("request", (r) => { if (!r.url().startsWith(`${hub.url}/`)) wrong.push(`request to ${r.url()}`); });
    };
    context.on("page", watch);
    const page = await context.newPage();
    page.visit = (path) => page.goto(hub.url + path, { waitUntil: "load" });
    try {
      await work(page, context);
      expect(wrong.length === 0, wrong.join(" | "));
      this.say(name, "passed", `${Date.now() - begin} ms`);
    } catch (error) {
      await page.screenshot({ path: join(this.out, `failed ${name.replaceAll("/", "_")}.png`) }).catch(() => {});
      this.say(name, "failed", [error.message ?? error, ...wrong].join(" | "));
    } finally {
      await context.close();
    }
  }

  /** The whole page as a picture. Entries out of sight are not painted otherwise. */
  async picture(page, name) {
    await page.evaluate(() => { for (const entry of document.querySelectorAll(".call")) entry.style.contentVisibility = "visible"; });
    await page.screenshot({ path: join(this.out, `${name}.png`), fullPage: true });
  }
}

/** A session in the hub, from a link as `bir up` prints it: the cookie's value. */
export async function signIn(hub) {
  const answer = await fetch(await link(hub), { redirect: "manual" });
  const cookie = /bir_session=([^;]+)/.exec(answer.headers.get("set-cookie") ?? "");
  expect(answer.status === 303 && cookie, `the link does not sign in: ${answer.status}`);
  return cookie[1];
}

export async function link(hub) {
  const answer = await fetch(`${hub.url}/auth/ticket`, { method: "POST", headers: { authorization: `Bearer ${hub.token}` }, body: "{}" });
  expect(answer.ok, `no ticket: ${answer.status}`);
  return (await answer.json()).url;
}
