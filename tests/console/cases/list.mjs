// The list of runs: what it says, filters, pages, keys.

import { expect, same } from "../browser.mjs";

const rows = (page) => page.locator("#runs tbody tr");

export async function cases(bench, { own, team }, runs) {
  await bench.trial("the list says what a run was", own, async (page) => {
    await page.visit("/runs");
    const row = page.locator(`[id="${runs.rich.id}"]`);
    const said = (await row.innerText()).replace(/\s+/g, " ");
    for (const part of ["Find the stale issues", "github postgres files", "in shop", "claude-code 2.1.58", "13", "6 failed", "34 s", "lossy, 2 calls lost", "26 min ago"]) expect(said.includes(part), `${part} is not in: ${said}`);
    const order = await rows(page).evaluateAll((all) => all.map((tr) => tr.querySelector("time").dateTime));
    same(order, [...order].sort().reverse(), "the order");
  });

  await bench.trial("the filter", own, async (page) => {
    await page.visit("/runs");
    await page.getByLabel("Server").fill("postgres");
    await page.getByLabel("Outcome").selectOption("denied");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/server=postgres&.*outcome=denied/);
    same(await rows(page).evaluateAll((all) => all.map((tr) => tr.id)), [runs.rich.id], "runs of postgres with a call denied");
    same(await page.getByLabel("Server").inputValue(), "postgres", "the field keeps its filter");
    await page.visit("/runs?tool=read_log&since=24h&tier=bound");
    same(await rows(page).evaluateAll((all) => all.map((tr) => tr.id)), [runs.big.id], "runs that read the log");
    await page.visit("/runs?tool=none");
    await page.getByText("No run matches this filter.").waitFor();
    await page.getByRole("link", { name: "Clear" }).click();
    await page.waitForURL(/\/runs$/);
    expect(await rows(page).count() > 10, "all runs are back");
  });

  await bench.trial("every run is on one page of the list", own, async (page) => {
    await page.visit("/runs");
    const seen = [];
    for (let pages = 1; ; pages += 1) {
      seen.push(...await rows(page).evaluateAll((all) => all.map((tr) => tr.id)));
      const older = page.getByRole("link", { name: "Older" });
      if (!(await older.count())) break;
      expect(pages < 20, "the list has no end");
      await Promise.all([page.waitForURL(/cursor=/), older.click()]);
      await page.waitForLoadState();
    }
    same(seen.length, new Set(seen).size, "runs and different runs");
    expect(seen.length >= 75 && seen.includes(runs.long.id), `${seen.length} runs`);
    await page.getByRole("link", { name: "Newest" }).click();
    await page.waitForURL(/\/runs$/);
  });

  await bench.trial("a cursor of somebody else's is refused in words", own, async (page) => {
    same((await page.visit("/runs?cursor=nonsense")).status(), 400, "the status");
    await page.getByRole("link", { name: "All runs" }).waitFor();
  }, { allowed: (text) => text.includes("status of 400") });

  await bench.trial("keys of the list", own, async (page) => {
    await page.visit("/runs");
    const focused = () => page.evaluate(() => [...document.querySelectorAll("#runs .item")].indexOf(document.activeElement));
    for (const [key, at] of [["j", 0], ["j", 1], ["k", 0], ["G", await rows(page).count() - 1], ["g", 0]]) {
      await page.keyboard.press(key);
      same(await focused(), at, `${key} goes to row`);
    }
    await page.keyboard.press("/");
    same(await page.evaluate(() => document.activeElement.id), "filter", "/ goes to");
    await page.keyboard.type("jk?");
    same(await page.inputValue("#filter"), "jk?", "a field takes its letters");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    expect(await page.getByRole("dialog").isVisible(), "? shows the keys");
    await page.keyboard.press("Escape");
    expect(!(await page.getByRole("dialog").isVisible()), "Esc closes them");
    await page.keyboard.press("g");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/runs\/run_/);
  });

  await bench.trial("the order of focus", own, async (page) => {
    await page.visit("/runs");
    const order = [];
    for (let n = 0; n < 13; n += 1) {
      await page.keyboard.press("Tab");
      order.push(await page.evaluate(() => {
        const at = document.activeElement;
        const style = getComputedStyle(at), after = getComputedStyle(at, "::after");
        const ring = (s) => s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2;
        return `${at.name || at.textContent.trim().slice(0, 20)}${ring(style) || ring(after) ? "" : " (no ring)"}`;
      }));
    }
    same(order.slice(0, 12), ["Skip to the content", "bir", "Runs", "Keys ?", "Sign out", "server", "tool", "outcome", "project", "tier", "since", "Filter"], "what Tab goes through");
    same(order[12], (await page.locator("#runs .item").first().textContent()).trim().slice(0, 20), "what comes after the filter");
    await page.visit("/runs");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    same(await page.evaluate(() => document.activeElement.id), "main", "the skip link goes to");
  });

  await bench.trial("an empty list teaches the next command", team, async (page) => {
    await page.visit("/signin");
    await page.fill("[name=email]", team.people.admin.email);
    await page.fill("[name=password]", team.people.admin.password);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Nothing is recorded yet" }).waitFor();
    expect(!(await page.getByRole("search").isVisible()), "there is nothing to filter");
    for (const [scheme, width] of [["light", 1280], ["dark", 360]]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 900 });
      await bench.picture(page, `nothing recorded ${width} ${scheme}`);
    }
  }, { signedIn: false });
}
