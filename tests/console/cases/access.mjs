// Who gets in, and what the others are told.

import { expect, link, same } from "../browser.mjs";

const refused = (text) => /status of (401|403|404)/.test(text);

async function fill(page, person, password = person.password) {
  await page.fill("[name=email]", person.email);
  await page.fill("[name=password]", password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

export async function cases(bench, { own, team }) {
  await bench.trial("a link signs in, once", own, async (page, context) => {
    const address = await link(own);
    await page.goto(address);
    same(new URL(page.url()).pathname, "/runs", "where the link leads");
    expect(!page.url().includes("ticket"), "the ticket stays in the address");
    const [cookie] = await context.cookies(own.url);
    same([cookie.name, cookie.httpOnly, cookie.sameSite], ["bir_session", true, "Lax"], "the cookie");
    await context.clearCookies();
    const again = await page.goto(address);
    same(again.status(), 403, "the status of a used link");
    expect((await page.getByRole("alert").textContent()).includes("was used before"), "a used link says so");
    same((await context.cookies(own.url)).length, 0, "cookies after a used link");
  }, { signedIn: false, allowed: refused });

  await bench.trial("who is not signed in comes back after signing in", team, async (page) => {
    await page.visit("/runs?tool=echo");
    same(new URL(page.url()).pathname, "/signin", "where it leads");
    same(await page.evaluate(() => document.activeElement.name), "email", "what has the focus");
    await fill(page, team.people.admin, "not the password");
    const alert = page.getByRole("alert");
    await alert.waitFor();
    expect((await alert.textContent()).endsWith("is wrong."), await alert.textContent());
    same(await page.inputValue("[name=email]"), team.people.admin.email, "the address after a refusal");
    same(await page.evaluate(() => [document.activeElement.name, document.activeElement.getAttribute("aria-describedby")]), ["password", "error"], "what has the focus after a refusal");
    await page.fill("[name=password]", team.people.admin.password);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/runs\?tool=echo$/);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(/\/signin$/);
    await page.visit("/runs");
    same(new URL(page.url()).pathname, "/signin", "where the runs lead after signing out");
  }, { signedIn: false, allowed: refused });

  await bench.trial("a role that may not see runs is told so", team, async (page) => {
    await page.visit("/signin");
    await fill(page, team.people.operator);
    await page.waitForURL(/\/runs$/);
    same(await page.getByRole("heading", { level: 1 }).textContent(), "You may not see this", "the heading");
    await bench.picture(page, "may not see 1280 light");
    await page.getByRole("link", { name: "Who you are signed in as" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
  }, { signedIn: false, allowed: refused });

  await bench.trial("what is not there says so", own, async (page) => {
    for (const path of ["/nowhere", "/runs/nowhere", "/runs/run_01920000-0000-7000-8000-000000000000"]) {
      const answer = await page.visit(path);
      same(answer.status(), 404, path);
      same(await page.getByRole("heading", { level: 1 }).textContent(), "There is nothing here", `${path}: the heading`);
      expect(/^[A-Z].*\.$/.test(await page.locator("main p.long").textContent()), `${path}: no sentence`);
    }
    await page.getByRole("link", { name: "All runs" }).click();
    await page.waitForURL(/\/runs$/);
  }, { allowed: refused });

  await bench.trial("a page of another site changes nothing", own, async () => {
    for (const [path, body] of [["/signout", ""], ["/device", "user_code=AAAA-AAAA&decision=allow"]]) {
      for (const origin of ["http://evil.example", "null", undefined]) {
        const headers = { cookie: `bir_session=${own.cookie}`, "content-type": "application/x-www-form-urlencoded", ...(origin ? { origin } : {}) };
        const answer = await fetch(own.url + path, { method: "POST", headers, body, redirect: "manual" });
        same(answer.status, 403, `POST ${path} from ${origin}`);
      }
    }
  });

  await bench.trial("every page has its policy", own, async (page) => {
    for (const path of ["/runs", "/signin", "/device"]) {
      const headers = (await page.visit(path)).headers();
      const policy = headers["content-security-policy"] ?? "";
      expect(policy.includes("default-src 'self'") && !policy.includes("unsafe"), `${path}: ${policy}`);
      same([headers["x-content-type-options"], headers["cache-control"]], ["nosniff", "no-store"], path);
    }
  });
}
