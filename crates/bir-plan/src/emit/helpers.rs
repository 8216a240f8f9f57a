//! The helpers of emitted bodies: one line each, in an order in which each stands behind those that it uses.

/// A function of JavaScript.
pub(super) struct Helper {
    pub(super) name: &'static str,
    pub(super) needs: &'static [&'static str],
    pub(super) text: &'static str,
}

const fn helper(name: &'static str, needs: &'static [&'static str], text: &'static str) -> Helper {
    Helper { name, needs, text }
}

pub(super) const HELPERS: &[Helper] = &[
    helper("fail", &[], r"const fail = (why) => { throw new TypeError(why); };"),
    helper(
        "at",
        &["fail"],
        r#"const at = (value, ...path) => path.reduce((v, step) => v !== null && typeof v === "object" && (typeof step === "number") === Array.isArray(v) && Object.hasOwn(v, step) ? v[step] : fail(`there is no ${JSON.stringify(step)}`), value);"#,
    ),
    helper(
        "text",
        &["fail"],
        r#"const text = (value) => typeof value === "string" ? value : fail("it is no text");"#,
    ),
    helper(
        "numberOrNothing",
        &[],
        r#"const numberOrNothing = (value) => typeof value === "number" ? value : typeof value === "string" && value.length <= 40 && /^-?[0-9]+(\.[0-9]+)?$/.test(value) ? Number(value) : undefined;"#,
    ),
    helper(
        "toNumber",
        &["fail", "numberOrNothing"],
        r#"const toNumber = (value) => numberOrNothing(value) ?? fail("it is no number");"#,
    ),
    helper(
        "toText",
        &["fail"],
        r#"const toText = (value) => typeof value === "string" ? value : typeof value === "number" ? String(value) : fail("it is no text and no number");"#,
    ),
    helper("join", &["toText"], r#"const join = (...parts) => parts.map(toText).join("");"#),
    helper(
        "cut",
        &["text", "fail"],
        r#"const cut = (value, after, before) => { const t = text(value), i = after === "" ? 0 : t.indexOf(after); const from = i + after.length, to = before === "" ? t.length : t.indexOf(before, from); return i < 0 || to < 0 ? fail("the text has not the separators of the recording") : t.slice(from, to); };"#,
    ),
    helper("lower", &["text"], r"const lower = (value) => text(value).toLowerCase();"),
    helper("upper", &["text"], r"const upper = (value) => text(value).toUpperCase();"),
    helper(
        "title",
        &["text"],
        r#"const title = (value) => text(value).split(" ").map((word) => { const [first = "", ...rest] = word; return first.toUpperCase() + rest.join(""); }).join(" ");"#,
    ),
    helper(
        "slug",
        &["text"],
        r#"const slug = (value) => text(value).toLowerCase().split(/[^a-z0-9]+/).filter((word) => word !== "").join("-");"#,
    ),
    helper("trimmed", &["text"], r"const trimmed = (value) => text(value).trim();"),
    helper("plus", &["toNumber"], r"const plus = (value, amount) => toNumber(value) + toNumber(amount);"),
    helper(
        "round",
        &["toNumber"],
        r"const round = (value, digits) => { const scale = 10 ** digits, scaled = toNumber(value) * scale; return Math.floor(Math.abs(scaled) + 0.5) * (scaled < 0 ? -1 : 1) / scale; };",
    ),
    helper(
        "readTime",
        &["text", "fail"],
        r#"const readTime = (value) => { const m = /^(?:([0-9]{4})-([0-9]{2})-([0-9]{2}))?(?:(^|[T ])([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?((?:\.[0-9]*)?(?:Z|[+-].{2}:.{2})?))?$/.exec(text(value)); const no = () => fail("it is no time of the form that is needed"); if (!m || (m[1] === undefined && m[5] === undefined) || ((m[1] === undefined) !== (m[4] === "") && m[5] !== undefined) || (m[1] === undefined && m[8])) return no(); const [y, mo, d, h, mi, s] = [1, 2, 3, 5, 6, 7].map((i) => m[i] === undefined ? undefined : Number(m[i])); if (m[5] !== undefined && (h > 23 || mi > 59 || (s ?? 0) > 59)) return no(); if (m[1] !== undefined) { const day = new Date(Date.UTC(2000, 0, 1)); day.setUTCFullYear(y, mo - 1, d); if (day.getUTCMonth() !== mo - 1 || day.getUTCDate() !== d || mo < 1) return no(); } return { y, mo, d, h, mi, s: m[5] === undefined ? undefined : s ?? 0 }; };"#,
    ),
    helper(
        "showParts",
        &["fail"],
        r#"const showParts = (t, form) => { const pad = (n, w = 2) => String(n).padStart(w, "0"); const need = (n) => n === undefined ? fail("it is no time of the form that is needed") : n; const date = () => `${pad(need(t.y), 4)}-${pad(t.mo)}-${pad(t.d)}`, short = () => `${pad(need(t.h))}:${pad(t.mi)}`, long = () => `${short()}:${pad(t.s)}`; switch (form) { case "date": return date(); case "time": return short(); case "timeWithSeconds": return long(); case "dateTime": return `${date()}T${short()}`; case "dateTimeWithSeconds": return `${date()}T${long()}`; case "dateSpaceTime": return `${date()} ${short()}`; case "dotDate": return `${pad(need(t.d))}.${pad(t.mo)}.${pad(t.y, 4)}`; case "slashDateMonthFirst": return `${pad(need(t.mo))}/${pad(t.d)}/${pad(t.y, 4)}`; case "slashDateDayFirst": return `${pad(need(t.d))}/${pad(t.mo)}/${pad(t.y, 4)}`; case "compactDate": return `${pad(need(t.y), 4)}${pad(t.mo)}${pad(t.d)}`; case "year": return pad(need(t.y), 4); case "month": return pad(need(t.mo)); case "day": return pad(need(t.d)); } };"#,
    ),
    helper(
        "showTime",
        &["readTime", "showParts"],
        r"const showTime = (value, form) => showParts(readTime(value), form);",
    ),
    helper(
        "later",
        &["readTime", "showParts", "toNumber", "fail"],
        r#"const later = (value, amount, unit) => { const n = toNumber(amount), no = () => fail("there is no such time"); if (typeof value !== "string" || !Number.isInteger(n) || Math.abs(n) > 10000000) return no(); const t = readTime(value), dated = t.y !== undefined, timed = t.h !== undefined; if ((unit === "minutes") ? !timed : !dated) return no(); if (!dated) { const minutes = (((t.h * 60 + t.mi + n) % 1440) + 1440) % 1440; return showParts({ ...t, h: Math.floor(minutes / 60), mi: minutes % 60 }, t.s ? "timeWithSeconds" : "time"); } const at = new Date(Date.UTC(2000, 0, 1, t.h ?? 0, t.mi ?? 0, t.s ?? 0)); at.setUTCFullYear(t.y, t.mo - 1, t.d); if (unit === "months") { const whole = t.y * 12 + t.mo - 1 + n, y = Math.floor(whole / 12), m = whole - y * 12; const end = new Date(Date.UTC(2000, 0, 1)); end.setUTCFullYear(y, m + 1, 0); at.setUTCFullYear(y, m, Math.min(t.d, end.getUTCDate())); } else { at.setTime(at.getTime() + n * (unit === "days" ? 86400000 : 60000)); } const y = at.getUTCFullYear(); if (!(y >= 1 && y <= 9999)) return no(); return showParts({ y, mo: at.getUTCMonth() + 1, d: at.getUTCDate(), h: timed ? at.getUTCHours() : undefined, mi: at.getUTCMinutes(), s: at.getUTCSeconds() }, timed ? (t.s ? "dateTimeWithSeconds" : "dateTime") : "date"); };"#,
    ),
    helper(
        "amount",
        &["text", "fail"],
        r#"const amount = (value, unit) => { const no = () => fail("it is no length of time of that unit"), m = /^P((?:[0-9]{1,9}[YMWD])*)(?:T((?:[0-9]{1,9}[HM])*))?$/.exec(text(value)); if (!m || !(m[1] || m[2])) return no(); const sum = (part, of) => [...(part ?? "").matchAll(/([0-9]+)([A-Z])/g)].reduce((all, [, n, u]) => all + (of[u] ?? 0) * Number(n), 0); const months = sum(m[1], { Y: 12, M: 1 }), days = sum(m[1], { W: 7, D: 1 }), minutes = sum(m[2], { H: 60, M: 1 }); return unit === "months" && !days && !minutes ? months : unit === "days" && !months && minutes % 1440 === 0 ? days + minutes / 1440 : unit === "minutes" && !months ? days * 1440 + minutes : no(); };"#,
    ),
    helper(
        "urlPart",
        &["text", "fail"],
        r#"const urlPart = (value, part) => { const m = /^([^]*?):\/\/([^/?#]*)([^?#]*)/.exec(text(value)); if (!m) return fail("it is no address"); return part === "scheme" ? m[1] : part === "host" ? m[2] : part === "path" ? m[3] : m[3].slice(m[3].lastIndexOf("/") + 1); };"#,
    ),
    helper("readJson", &["text"], r"const readJson = (value) => JSON.parse(text(value));"),
    helper(
        "same",
        &["numberOrNothing"],
        r#"const same = (a, b) => typeof a === typeof b ? (a === b && typeof a !== "object") || (a === null && b === null) : [typeof a, typeof b].sort().join() === "number,string" && numberOrNothing(a) === numberOrNothing(b);"#,
    ),
    helper(
        "oneOf",
        &["same", "fail"],
        r#"const oneOf = (value, cases) => (cases.find(([from]) => same(from, value)) ?? fail("it is none of the known words"))[1];"#,
    ),
    helper(
        "list",
        &["fail"],
        r#"const list = (value) => Array.isArray(value) ? value : fail("it is no list");"#,
    ),
    helper("count", &["list"], r"const count = (value) => list(value).length;"),
    helper(
        "nth",
        &["list", "fail"],
        r#"const nth = (value, index) => index < list(value).length ? value[index] : fail("no element of the list fits");"#,
    ),
    helper(
        "last",
        &["list", "nth"],
        r"const last = (value) => nth(value, Math.max(list(value).length - 1, 0));",
    ),
    helper(
        "smallest",
        &["list", "nth", "toNumber"],
        r"const smallest = (value, size) => { let best = nth(value, 0), known = toNumber(size(best)); for (const item of list(value)) { const s = toNumber(size(item)); if (s < known) { best = item; known = s; } } return best; };",
    ),
    helper(
        "largest",
        &["list", "nth", "toNumber"],
        r"const largest = (value, size) => { let best = nth(value, 0), known = toNumber(size(best)); for (const item of list(value)) { const s = toNumber(size(item)); if (s > known) { best = item; known = s; } } return best; };",
    ),
    helper(
        "fits",
        &["same", "numberOrNothing"],
        r#"const fits = (item, path, op, wanted) => { let v = item; for (const step of path) { if (v === null || typeof v !== "object" || (typeof step === "number") !== Array.isArray(v) || !Object.hasOwn(v, step)) return false; v = v[step]; } const folded = (t) => t.trim().toLowerCase(), a = numberOrNothing(v), b = numberOrNothing(wanted); switch (op) { case "equal": return same(v, wanted); case "notEqual": return !same(v, wanted); case "sameText": return typeof v === "string" && typeof wanted === "string" ? folded(v) === folded(wanted) : same(v, wanted); case "less": return a < b; case "atMost": return a <= b; case "greater": return a > b; case "atLeast": return a >= b; } };"#,
    ),
    helper(
        "firstThat",
        &["list", "fail"],
        r#"const firstThat = (value, test) => { for (const item of list(value)) if (test(item)) return item; return fail("no element of the list fits"); };"#,
    ),
    helper(
        "only",
        &["list", "fail"],
        r#"const only = (value, test) => { const found = list(value).filter(test); return found.length === 1 ? found[0] : fail(found.length ? "more than one element of the list fits" : "no element of the list fits"); };"#,
    ),
];
