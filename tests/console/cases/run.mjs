// One run: its header, its timeline folded and unfolded, by mouse and by keyboard.

import { expect, same, until } from "../browser.mjs";

const calls = (page) => page.locator("#calls > li.call");
const open = (page) => page.locator("#calls > li > details[open]").count();

export async function cases(bench, { own }, runs) {
  await bench.trial("a session that was really recorded", own, async (page) => {
    expect(own.demo, "there is none");
    await page.visit(own.demo);
    const count = await calls(page).count();
    expect(count > 3, `${count} calls`);
    await page.keyboard.press("O");
    expect(await page.locator("#calls pre").count() >= count, "calls without arguments and results");
    await bench.picture(page, "demo 1280 light");
  });

  await bench.trial("a run says what happened", own, async (page) => {
    await page.visit(runs.rich.path);
    same(await page.getByRole("heading", { level: 1 }).textContent(), "Find the stale issues of the shop and write their list to stale.md", "the heading");
    const said = (await page.locator("main").innerText()).replace(/\s+/g, " ");
    for (const part of ["An issue is stale when", "34 s", "6 failed", "lossy, 2 calls lost", "github server 2026.8.31, modern era", "2 calls were lost here.", "tool error relation \"coupon\" does not exist", "protocol error Unknown tool: no_such_tool",
      "denied", "timeout", "ambiguous", "cancelled", "unknown", "no end", "sql: select pg_sleep(60)", "Final answer Three issues are stale"]) expect(said.includes(part), `${part} is not in: ${said}`);
    same(await calls(page).count(), 13, "calls");
    same(await open(page), 0, "unfolded calls at first");
    const [iso, shown] = await page.locator("time[data-exact]").evaluate((t) => [t.dateTime, t.textContent]);
    expect(shown.includes(new Date(iso).toLocaleTimeString("en-GB", { timeZone: "Europe/Paris" })), `${shown} is not in the viewer's zone`);
  });

  await bench.trial("a call unfolds by mouse", own, async (page) => {
    await page.visit(runs.rich.path);
    const call = calls(page).nth(7);
    await call.locator("summary").first().click();
    const said = (await call.locator(".inside").innerText()).replace(/\s+/g, " ");
    for (const part of ["Arguments", "\"path\": \"/home/ada/code/shop/stale.md\"", "Round 1: the server asked, the host answered after 2.45 s", "The file exists. Overwrite it?", "Result", "Wrote 3 lines.", "mcp__files__write_file", "hook and proxy"]) {
      expect(said.includes(part), `${part} is not in: ${said}`);
    }
    await call.locator("summary").first().click();
    same(await open(page), 0, "unfolded calls after a second click");
    const first = calls(page).first();
    await first.locator("summary").first().click();
    expect((await first.locator(".redacted").first().textContent()).startsWith("[redacted:key:"), "a placeholder is marked");
    expect((await first.innerText()).includes("2.37 MiB on the wire, cut to fit"), "what was cut says so");
  });

  await bench.trial("keys of a run", own, async (page) => {
    await page.visit(runs.rich.path);
    const at = () => page.evaluate(() => [...document.querySelectorAll("#calls > li")].indexOf(document.activeElement.closest("#calls > li")));
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    same([await at(), await open(page)], [0, 1], "j and Enter unfold the first call");
    await page.keyboard.press("Space");
    same(await open(page), 0, "Space folds it");
    for (let n = 0; n < 4; n += 1) await page.keyboard.press("j");
    same(await at(), 4, "j stops at the loss");
    await page.keyboard.press("o");
    same(await open(page), 0, "a loss does not unfold");
    await page.keyboard.press("f");
    same(await at(), 5, "f goes to the call that failed");
    await page.keyboard.press("o");
    same(await open(page), 1, "o unfolds");
    await page.keyboard.press("O");
    same(await open(page), 13, "O unfolds all");
    await page.keyboard.press("O");
    same(await open(page), 0, "O folds all");
    await page.keyboard.press("/");
    await page.keyboard.type("pg_sleep");
    same(await page.locator("#calls > li:visible").count(), 1, "calls that are found by their arguments");
    same(await page.locator("#found").textContent(), "1 of 14", "what is found");
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    same(await page.locator("#calls > li:visible > details[open]").count(), 1, "j goes through what is found");
    await page.keyboard.press("u");
    await page.waitForURL(/\/runs$/);
  });

  await bench.trial("the address of a call unfolds it", own, async (page) => {
    await page.visit(`${runs.rich.path}#c8`);
    await until("the call has the focus", () => page.locator("#c8").evaluate((li) => li.contains(document.activeElement)));
    same(await page.locator("#calls > li > details[open]").evaluateAll((all) => all.map((d) => d.parentElement.id)), ["c8"], "unfolded calls");
    await calls(page).first().locator("summary").first().click();
    await page.getByRole("link", { name: "to this call" }).first().click();
    expect(page.url().endsWith("#c0"), page.url());
  });

  await bench.trial("a run with more than 500 calls", own, async (page) => {
    await page.visit(runs.long.path);
    same(await calls(page).count(), 500, "calls of the first page");
    const last = page.locator("#c998");
    expect("elsewhere" in await last.evaluate((li) => ({ ...li.dataset })), "the last call's payloads are not in the page");
    await last.locator("summary").first().click();
    await last.getByText("line of a file").first().waitFor();
    same(await last.locator("a.elsewhere").count(), 0, "links to what is there");
    expect((await last.locator(".inside").innerText()).includes("part_499.rs"), "the payloads are those of another call");
    await page.keyboard.press("O");
    same(await open(page), 500, "O unfolds all");
    await page.locator("#c500").scrollIntoViewIfNeeded();
    await page.locator("#c500").getByText("line of a file").first().waitFor();
    const there = await page.locator("#calls > li:not([data-elsewhere])").count();
    expect(there < 400, `${there} calls were fetched, though few were seen`);
    await page.getByRole("link", { name: "Next calls" }).click();
    await page.waitForURL(/from=1000$/);
    same([await calls(page).count(), (await page.locator(".call .n").first().textContent())], [20, "501"], "the second page");
    await page.getByRole("link", { name: "To the beginning of the run" }).click();
    await page.waitForURL(new RegExp(`${runs.long.path}$`));
  });

  await bench.trial("large results", own, async (page) => {
    await page.visit(runs.big.path);
    const call = calls(page).nth(20);
    await call.locator("summary").first().click();
    await until("the result", async () => (await call.locator("pre").count()) > 1);
    const box = await call.locator("pre").last().boundingBox();
    expect(box.height <= 500, `a result is ${box.height} px high`);
    expect((await call.locator("pre").last().textContent()).includes("the request 799 was answered"), "the end of the result is missing");
  });

  await bench.trial("reading without scripts", own, async (page) => {
    await page.visit("/runs");
    await page.getByLabel("Tool", { exact: true }).fill("read_log");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.locator("#runs .item").first().click();
    await page.waitForURL(new RegExp(runs.big.path));
    await calls(page).first().locator("summary").first().click();
    expect(await calls(page).first().locator("pre").first().isVisible(), "a call does not unfold");
    await calls(page).nth(20).locator("summary").first().click();
    await calls(page).nth(20).getByRole("link", { name: "Show arguments and result" }).click();
    await page.waitForURL(/from=40$/);
    await calls(page).first().locator("summary").first().click();
    expect((await calls(page).first().locator("pre").last().textContent()).includes("the request 799"), "the payload is not on the page that the link names");
  }, { javaScript: false });
}
