// Whatever a recording, an address or a form holds is text: nothing of it runs, and what hides is shown.

import { expect, same } from "../browser.mjs";
import { HOSTILE, UNICODE } from "../record.mjs";

/** What only foreign markup would bring, and whether anything ran. */
const foreign = (page) => page.evaluate(() => ({
  ran: globalThis.__ran ?? null, scripts: document.scripts.length,
  elements: document.querySelectorAll("img, iframe, object, embed, base, style, svg[onload], [onerror], [onload], [onfocus], [style], meta[http-equiv], a[href^='javascript']").length,
}));
const NOTHING = { ran: null, scripts: 1, elements: 0 };

export async function cases(bench, { own }, runs) {
  await bench.trial("a hostile recording stays text", own, async (page) => {
    await page.visit(runs.hostile.path);
    await page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; });
    await page.mouse.move(300, 400);
    for (const item of await page.locator(".item").all()) await item.hover();
    await page.waitForTimeout(200);
    same(await foreign(page), NOTHING, "what the recording brought");
    const said = await page.locator("main").evaluate((main) => main.textContent);
    expect(said.includes("<script>globalThis.__ran=1</script>") && said.includes("{{ 7*7 }}") && said.includes("&lt;b&gt;&#60;b&#62;"), "the text is not as it was");
    expect(!/[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u001b]/.test(said) && said.includes("U+202E") && said.includes("U+001B"), "what hides is not shown");
    expect(said.includes(UNICODE), "other scripts are not as they were");
    expect(!/[\u202a-\u202e]/.test(await page.title()), "the title hides something");
  });

  await bench.trial("a hostile recording stays text in the list", own, async (page) => {
    await page.visit("/runs");
    same(await foreign(page), NOTHING, "what the list brought");
    const box = await page.locator(`[id="${runs.hostile.id}"]`).boundingBox();
    expect(box.height < 160, `its row is ${box.height} px high`);
  });

  await bench.trial("hostile addresses stay text", own, async (page) => {
    const text = encodeURIComponent(HOSTILE);
    for (const path of [`/runs?server=${text}&tool=${text}&project=${text}&outcome=${text}`, `/device?code=${text}`, `/signin?next=${text}`, `/runs/${text}`, `/${text}`, `/runs?cursor=${text}`]) {
      await page.visit(path);
      same(await foreign(page), NOTHING, path.slice(0, 20));
    }
  }, { allowed: (said) => /status of (400|404)/.test(said) });

  await bench.trial("the policy holds against a script that got in", own, async (page) => {
    await page.visit("/runs");
    const said = await page.evaluate(() => new Promise((done) => {
      const blocked = [];
      document.addEventListener("securitypolicyviolation", (e) => blocked.push(e.effectiveDirective));
      const holder = document.createElement("div");
      holder.innerHTML = "<img src=x onerror='globalThis.__ran=7'><p style='color:red'>x</p>";
      document.body.append(holder);
      const script = document.createElement("script");
      script.textContent = "globalThis.__ran=8";
      document.body.append(script);
      setTimeout(() => done({ ran: globalThis.__ran ?? null, blocked: [...new Set(blocked)].sort() }), 500);
    }));
    same(said, { ran: null, blocked: ["script-src-attr", "script-src-elem", "style-src-attr"] }, "what the policy stopped");
  }, { allowed: () => true });
}
