// How pages look: three widths, two schemes, contrast, landmarks, the judgement of axe-core, and what a visit weighs. The
// pictures are in .work/console.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, same } from "../browser.mjs";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const WIDTHS = [360, 768, 1280];
const SCHEMES = ["light", "dark"];
const KB = 1000;

async function judge(page) {
  await page.evaluate(axeSource);
  const found = await page.evaluate(async () => {
    const result = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return result.violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(", ")}`);
  });
  same(found, [], "axe");
}

/** The text with the least contrast to what is behind it. */
const faintest = (page) => page.evaluate(() => {
  const parse = (color) => { const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number); return { r, g, b, a }; };
  const over = (top, under) => ({ r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a), b: top.b * top.a + under.b * (1 - top.a), a: 1 });
  const light = ({ r, g, b }) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      layers.push(parse(getComputedStyle(at).backgroundColor));
      if (layers.at(-1).a === 1) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), { r: 255, g: 255, b: 255, a: 1 });
  };
  let least = { ratio: 99 };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
    const under = behind(element), text = over(parse(getComputedStyle(element).color), under);
    const [a, b] = [light(text), light(under)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < least.ratio) least = { ratio, text: node.data.trim().slice(0, 40), in: element.className || element.tagName };
  }
  return least;
});

async function landmarks(page) {
  const found = await page.evaluate(() => ({
    language: document.documentElement.lang, main: document.querySelectorAll("main").length, header: document.querySelectorAll("body > header").length,
    h1: document.querySelectorAll("h1").length, navigation: [...document.querySelectorAll("nav")].every((nav) => nav.ariaLabel || nav.getAttribute("aria-label")),
    // A control without a name, and a heading that skips a level.
    nameless: [...document.querySelectorAll("input:not([type=hidden]), select, button, a")].filter((e) => !(e.labels?.[0]?.textContent || e.textContent || e.ariaLabel || "").trim()).length,
    skips: [...document.querySelectorAll("h1, h2, h3, h4")].map((h) => Number(h.tagName[1])).filter((level, i, all) => level > (all[i - 1] ?? 0) + 1).length,
  }));
  same(found, { language: "en", main: 1, header: 1, h1: 1, navigation: true, nameless: 0, skips: 0 }, "landmarks");
  expect(/ – bir$/.test(await page.title()), `the title ${await page.title()}`);
}

export async function cases(bench, { own }, runs) {
  const unfold = async (page) => {
    await page.evaluate(() => { for (const d of document.querySelectorAll("#calls > li > details, .more, .raw")) d.open = true; });
  };
  const pages = [
    ["runs", "/runs"], ["nothing matches", "/runs?server=none"], ["run", runs.rich.path], ["run unfolded", runs.rich.path, unfold], ["hostile run", runs.hostile.path, unfold], ["going on", runs.going.path],
    ["sign in", "/signin"], ["sign in, refused", "/signin?ticket=used"], ["device", "/device?code=ABCD-EFGH"], ["nothing there", "/runs/nowhere"],
    ["keys", runs.rich.path, (page) => page.keyboard.press("?")],
  ];
  const look = ([name, path, then]) => bench.trial(`${name}: layout`, own, async (page) => {
    for (const scheme of SCHEMES) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await page.visit(path);
        await then?.(page);
        await bench.picture(page, `${name} ${width} ${scheme}`);
        const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        expect(wide <= screen, `${width} px, ${scheme}: the page is ${wide} px wide`);
      }
      const least = await faintest(page);
      expect(least.ratio >= 4.5, `${scheme}: contrast ${JSON.stringify(least)}`);
      const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number).every((c) => c < 64));
      same(dark, scheme === "dark", `the ${scheme} scheme is dark`);
      await judge(page);
    }
    if (name !== "keys") await landmarks(page);
  }, { allowed: (text) => /status of (403|404)/.test(text) });
  // Two at a time: they only look.
  const waiting = [...pages];
  const worker = async () => { for (let next = waiting.shift(); next; next = waiting.shift()) await look(next); };
  await Promise.all([worker(), worker()]);

  await bench.trial("what a first visit weighs", own, async (page, context) => {
    const client = await context.newCDPSession(page);
    await client.send("Network.enable");
    let bytes = 0;
    client.on("Network.loadingFinished", (e) => { bytes += e.encodedDataLength; });
    for (const [path, most] of [["/runs", 60], [runs.rich.path, 60], [runs.long.path, 150], [runs.big.path, 150]]) {
      await client.send("Network.clearBrowserCache");
      bytes = 0;
      await page.visit(path);
      await page.waitForTimeout(300);
      expect(bytes > 5 * KB && bytes <= most * KB, `${path} weighs ${bytes} bytes, not at most ${most} kB`);
    }
    const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
    expect(nodes < 15_000, `${nodes} elements`);
  });

  await bench.trial("a run of 500 calls is drawn quickly", own, async (page) => {
    await page.visit(runs.long.path);
    const took = await page.evaluate(async () => {
      const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      const begin = performance.now();
      document.querySelector("#calls > li > details").open = true;
      await frame();
      return performance.now() - begin;
    });
    // A slow machine that does other things at once; without `content-visibility` it is several times that.
    expect(took < 1_000, `unfolding a call took ${Math.round(took)} ms`);
  });
}
