// What happens while one looks: rows that appear, calls that run and end, the connection that is lost, the sign-in that is over.

import { expect, link, same, until } from "../browser.mjs";
import { Run, going, tell, text } from "../record.mjs";

const state = (page, name) => page.locator(`#state[data-state="${name}"]`).waitFor();
const noise = (said) => /ERR_INTERNET_DISCONNECTED|ERR_FAILED|status of 401|Failed to fetch|ERR_ABORTED/.test(said);

export async function cases(bench, { own }) {
  await bench.trial("a run appears in the open list", own, async (page) => {
    await page.visit("/runs");
    await state(page, "live");
    await page.locator("#runs .item").nth(3).focus();
    const before = await page.evaluate(() => document.activeElement.href);
    await page.evaluate(() => { globalThis.__same = true; });
    const run = new Run({ at: Date.now(), input: "A run that appeared while you looked" });
    run.call({ tool: "echo", after: 1, us: 3_000, output: text("hello") });
    await tell(own, run);
    await page.locator(`[id="${run.id}"]`).waitFor();
    expect((await page.locator("#runs tbody tr").first().innerText()).includes("A run that appeared"), "it is not the first");
    same(await page.evaluate(() => document.activeElement.href), before, "the focus");
    same(await page.locator("#runs tbody tr").count(), 50, "rows of a page");
    run.call({ tool: "echo", after: 50, us: 3_000, outcome: "tool_error", output: text("no") }).finish(100);
    await tell(own, run);
    await until("its row changes", async () => (await page.locator(`[id="${run.id}"]`).innerText()).includes("1 failed"));
    expect(await page.evaluate(() => globalThis.__same === true), "the page was loaded again");
  });

  await bench.trial("a run is followed to its end", own, async (page) => {
    const run = going(Date.now());
    await tell(own, run);
    await page.visit(run.path);
    await state(page, "live");
    await page.evaluate(() => { globalThis.__same = true; });
    const calls = page.locator("#calls > li");
    await calls.first().locator("summary").first().click();
    await calls.last().locator("summary").first().focus();
    const after = () => Date.now() - run.began;
    run.call({ tool: "get-sum", after: after(), us: 31_000, input: "{\"a\":1}", output: text("The sum is 1.") });
    const told = Date.now();
    await tell(own, run);
    await calls.nth(6).waitFor();
    const took = Date.now() - told;
    expect(took < 5_000, `a call was seen ${took} ms after it was recorded`);
    const tool = { tool: "trigger-long-running-operation", input: "{\"duration\":10}" };
    const began = after();
    const index = run.begin({ ...tool, after: began });
    await tell(own, run);
    await calls.nth(7).locator(".mark.run").waitFor();
    await page.locator("#status", { hasText: "1 more call" }).waitFor({ state: "attached" });
    await bench.picture(page, "live run 1280 light");
    run.end(index, { ...tool, after: began, us: 1_000_000, output: text("Done.") });
    await tell(own, run);
    await calls.nth(7).locator(".mark.ok").waitFor();
    same(await page.locator("#calls > li > details[open]").count(), 1, "unfolded calls");
    same(await page.evaluate(() => new Set([...document.querySelectorAll(".track svg")].map((s) => s.getAttribute("viewBox"))).size), 1, "axes of the bars");
    run.finish(after(), "closed", "Both sums are right.");
    await tell(own, run);
    await state(page, "done");
    await page.getByText("Both sums are right.").waitFor();
    same(await calls.count(), 8, "calls at the end");
    expect(await page.evaluate(() => globalThis.__same === true), "the page was loaded again");
    await page.reload();
    same(await calls.count(), 8, "calls after loading it again");
    expect(!(await page.locator("#state").isVisible()), "a finished run is not followed");
  });

  await bench.trial("a lost connection comes back, and nothing was missed", own, async (page, context) => {
    const run = going(Date.now());
    await tell(own, run);
    await page.visit(run.path);
    await state(page, "live");
    await context.setOffline(true);
    run.call({ tool: "echo", after: 39_000, us: 1_000, output: text("told while nobody heard") });
    // An open connection outlives the switch, as a laptop that is carried around has it; leaving and coming back closes it.
    await page.evaluate(() => { dispatchEvent(new Event("pagehide")); dispatchEvent(new Event("pageshow")); });
    await state(page, "off");
    await tell(own, run);
    await context.setOffline(false);
    await state(page, "live");
    await page.locator("#calls > li").nth(6).waitFor();
  }, { allowed: noise });

  await bench.trial("who signed out elsewhere is told so", own, async (page, context) => {
    await page.goto(await link(own));
    await state(page, "live");
    const other = await context.newPage();
    await other.goto(`${own.url}/runs`);
    await other.getByRole("button", { name: "Sign out" }).click();
    await other.waitForURL(/\/signin$/);
    await page.bringToFront();
    await page.locator("#state", { hasText: "signed out" }).waitFor();
  }, { signedIn: false, allowed: noise });

  await bench.trial("nothing moves where less motion is wanted", own, async (page) => {
    const moving = () => page.evaluate(() => document.getAnimations().length);
    await page.visit("/runs");
    await state(page, "live");
    same(await moving(), 0, "animations with less motion");
    await page.emulateMedia({ reducedMotion: "no-preference" });
    expect(await moving() > 0, "there is nothing that could move");
  });
}
