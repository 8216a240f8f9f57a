// The console in the browser: times of the viewer's zone, live rows, keys. Every page can be read without it.
//
// Live rows are never built here. An event says that something changed; what changed is fetched as HTML from the hub, which
// made the page itself, and put in place entry by entry, so that focus and unfolded entries stay.

const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// Times

const exact = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
});

function ago(ms) {
  const s = Math.floor(ms / 1000);
  const days = Math.floor(s / 86400);
  const plural = (n, unit) => `${n} ${unit}${n === 1 ? "" : "s"} ago`;
  if (s < 10) return "just now";
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  if (days < 30) return plural(days, "day");
  return days < 365 ? plural(Math.floor(days / 30), "month") : plural(Math.floor(days / 365), "year");
}

function times(root = document) {
  for (const time of all("time[datetime]", root)) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const shown = exact.format(at);
    if ("ago" in time.dataset) {
      time.title = shown;
      time.textContent = ago(Date.now() - at);
    } else {
      time.title = time.dateTime;
      time.textContent = shown;
    }
  }
}

// Live

const RETRY_MS = 5000;
const LOOK_MS = 5000;
const SIGNED_OUT = new Error("signed out");
const state = one("#state");

function show(name, text) {
  state.hidden = false;
  state.dataset.state = name;
  one(".state-text", state).textContent = text;
}

function tell(text) {
  one("#status").textContent = text;
}

// Runs `work` soon after it was asked for, at most once in `pause` ms, and never twice at a time.
function doorbell(pause, work) {
  let waiting = false, busy = false, again = false;
  const run = async () => {
    waiting = false;
    busy = true;
    try {
      await work();
    } catch (error) {
      if (error === SIGNED_OUT) return;
      show("off", "not connected");
      setTimeout(ring, RETRY_MS);
    }
    busy = false;
    if (again) { again = false; ring(); }
  };
  const ring = () => {
    if (busy) again = true;
    else if (!waiting) { waiting = true; setTimeout(run, pause); }
  };
  return ring;
}

async function fragment(path) {
  const answer = await fetch(path, { headers: { accept: "text/html" } });
  if (answer.redirected) {
    show("off", "signed out: load the page again to sign in");
    tell("You are signed out");
    throw SIGNED_OUT;
  }
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
  times(holder.content);
  return holder.content;
}

// Hears events while the page is seen. A browser has six connections to a hub, and a page that nobody looks at needs none.
function listen(path, events, ring) {
  // What happened between the making of the page and the opening of the stream was missed as well.
  let source = null, missed = true, over = false;
  const close = () => { source?.close(); source = null; };
  const open = () => {
    if (source || over || document.hidden) return;
    source = new EventSource(path);
    source.onopen = () => {
      show("live", "live");
      if (missed) ring();
      missed = false;
    };
    source.onerror = () => {
      missed = true;
      const refused = source.readyState === EventSource.CLOSED;
      show("off", refused ? "not connected" : "connecting again");
      if (!refused) return;
      close();
      // Where it is the sign-in that is over, the fragment says so.
      ring();
      setTimeout(open, RETRY_MS);
    };
    for (const name of events) source.addEventListener(name, ring);
    source.addEventListener("end", () => { over = true; close(); ring(); });
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { missed = true; close(); } else open();
  });
  addEventListener("pagehide", () => { missed = true; close(); });
  addEventListener("pageshow", open);
  open();
  return { end: () => { over = true; close(); } };
}

// Makes the children of `list` those of `fresh`, from the entry `from` on: equal ones stay, changed ones are replaced.
function merge(list, fresh, keep) {
  const before = new Map([...list.children].map((entry) => [entry.id, entry]));
  let at = keep ? keep.nextElementSibling : list.firstElementChild;
  let added = 0;
  for (const entry of [...fresh.children]) {
    const old = before.get(entry.id);
    before.delete(entry.id);
    if (old && old.dataset.v === entry.dataset.v) {
      if (old === at) at = at.nextElementSibling;
      else list.insertBefore(old, at);
      continue;
    }
    if (old) {
      const focused = old.contains(document.activeElement);
      if (one("details[open]", old)) one("details", entry)?.setAttribute("open", "");
      if (old === at) at = at.nextElementSibling;
      old.remove();
      list.insertBefore(entry, at);
      if (focused) one(".item", entry)?.focus({ preventScroll: true });
    } else {
      entry.classList.add("new");
      list.insertBefore(entry, at);
      added += 1;
    }
  }
  while (at) {
    const gone = at;
    at = at.nextElementSibling;
    gone.remove();
  }
  return added;
}

function liveList(table) {
  const ring = doorbell(600, async () => {
    const content = await fragment(table.dataset.rows);
    const body = one("tbody", table);
    const fresh = document.createElement("tbody");
    fresh.append(...content.children);
    merge(body, fresh, null);
    table.hidden = !body.children.length;
    one("#empty").hidden = !table.hidden;
    if (!table.hidden) one("#filters").hidden = false;
  });
  listen(table.dataset.stream, ["run"], ring);
}

function liveRun(run) {
  const list = one("#calls");
  const ring = doorbell(250, async () => {
    // What can still change begins with the first call that runs, else with the last one.
    const running = one(".call .mark.run", list)?.closest("li") ?? all(".call", list).at(-1);
    const from = running ? Number(running.dataset.index) : Number(list.dataset.from);
    const content = await fragment(`${run.dataset.rows}?from=${from}`);
    swap("#head", content);
    swap("#tail", content);
    const fresh = one("#calls", content);
    let keep = running?.previousElementSibling ?? null;
    if (!running) keep = null;
    const added = merge(list, fresh, keep);
    list.dataset.axis = fresh.dataset.axis;
    one("#no-calls").hidden = list.children.length > 0;
    for (const svg of all(".track svg", list)) svg.setAttribute("viewBox", `0 0 ${fresh.dataset.axis} 8`);
    swap("#scale", content);
    search();
    if (added) tell(`${added} more ${added === 1 ? "call" : "calls"}`);
    // The bar of what runs grows.
    if (one(".call .mark.run", list)) setTimeout(() => { if (!document.hidden) ring(); }, LOOK_MS);
    if (!one("#head .going")) {
      show("done", "finished");
      tell("The run is finished");
      source.end();
    }
  });
  const source = listen(run.dataset.stream, ["step", "run"], ring);
}

function swap(selector, content) {
  const old = one(selector), fresh = one(selector, content);
  if (!old || !fresh || old.innerHTML === fresh.innerHTML) return;
  const open = all("details", old).map((d) => d.open);
  all("details", fresh).forEach((d, i) => { d.open = open[i] ?? false; });
  if (!old.contains(document.activeElement)) old.replaceWith(fresh);
}

// A call whose payloads had no room in the page is fetched when it is unfolded and seen, one after the other: somebody who
// unfolds a thousand calls looks at a few of them.
let fetching = Promise.resolve();

async function bring(entry) {
  if (!("elsewhere" in entry.dataset) || !one("details", entry).open) return;
  delete entry.dataset.elsewhere;
  try {
    const content = await fragment(`${one("#run").dataset.rows}?from=${entry.dataset.index}&limit=2`);
    const fresh = one(`#${CSS.escape(entry.id)} .inside`, content);
    if (fresh) one(".inside", entry).replaceWith(fresh);
  } catch {
    // Its link is still there.
    entry.dataset.elsewhere = "";
  }
}

const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    fetching = fetching.then(() => bring(target));
  }
}, { rootMargin: "200px" });

document.addEventListener("toggle", (event) => {
  const entry = event.target.closest?.("li.call[data-elsewhere]");
  if (entry && event.target.open && event.target.parentElement === entry) seen.observe(entry);
}, true);

// The address of a call unfolds it.
function arrive() {
  const entry = /^#c\d+$/.test(location.hash) ? one(location.hash) : null;
  if (!entry) return;
  one("details", entry).open = true;
  one(".item", entry).focus({ preventScroll: true });
  entry.scrollIntoView({ block: "start" });
}

// Finding calls

const find = one("#find");

function search() {
  const words = (find?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const entries = all("#calls > li");
  for (const entry of entries) {
    const text = words.length ? (one(".what", entry) ?? entry).textContent.toLowerCase() : "";
    entry.hidden = !words.every((word) => text.includes(word));
  }
  const shown = entries.filter((entry) => !entry.hidden).length;
  one("#found").textContent = words.length ? `${shown} of ${entries.length}` : "";
}

// Keys

const items = () => all(".item").filter((item) => !item.closest("[hidden]"));

function move(to) {
  const list = items();
  if (!list.length) return;
  const at = list.findIndex((item) => item === document.activeElement || item.closest("li, tr").contains(document.activeElement));
  const next = typeof to === "function" ? to(list, at) : list[to < 0 ? Math.max(at - 1, 0) : Math.min(at + 1, list.length - 1)];
  next?.focus();
  next?.closest("li, tr").scrollIntoView({ block: "nearest" });
}

const folds = () => items().map((item) => item.parentElement).filter((parent) => parent.matches("details"));

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  g: () => move((list) => list[0]),
  G: () => move((list) => list.at(-1)),
  "/": () => {
    const filters = one("#filters");
    if (filters) filters.open = true;
    (find ?? one("#filter"))?.focus();
  },
  "?": () => help.showModal(),
  o: () => {
    const fold = document.activeElement.closest("#calls > li")?.querySelector("details");
    if (fold) { fold.open = !fold.open; one("summary", fold).focus(); }
  },
  O: () => {
    const list = folds();
    const open = list.some((fold) => !fold.open);
    for (const fold of list) fold.open = open;
  },
  f: () => move((list, at) => {
    const failed = (item) => "failed" in item.closest("li, tr").dataset;
    return list.slice(at + 1).find(failed) ?? list.find(failed);
  }),
  u: () => { if (one("#run")) location.assign("/runs"); },
};

const help = one("#help");

function keys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help.open) return;
    if (event.target.matches("input, textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
    if (act) { event.preventDefault(); act(); }
  });
  const button = one("#help-button");
  button.hidden = false;
  button.addEventListener("click", () => help.showModal());
}

times();
setInterval(() => times(), 30000);
if (help) keys();
if (find) {
  one(".find").hidden = false;
  find.addEventListener("input", search);
  addEventListener("hashchange", arrive);
  // Not before: going to an address takes the focus away.
  addEventListener("load", () => setTimeout(arrive));
}
const filters = one("#filters");
if (filters && !("set" in filters.dataset) && matchMedia("(max-width: 640px)").matches) filters.open = false;
const table = one("#runs[data-stream]");
if (table) liveList(table);
const run = one("#run[data-stream]");
if (run) liveRun(run);
