//! What a proxy does to messages: 74 checks. Every probe is one JSON text that is put on the wire as it stands and
//! compared, byte for byte, with what comes out at the other end.
//!
//! *up* is from the host to the upstream, whose `rawline` tool returns the line that it received; *down* is the other
//! way, where its `raw` tool sends a given text verbatim.

mod literals;
mod messages;
mod protocol;

use crate::conn::{Conn, Target};
use crate::raw::{get, quote, string, text};
use crate::{Fail, locked};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// An answer may take this long before it counts as a hang.
const WAIT: Duration = Duration::from_secs(3);
/// What comes unasked (notifications) arrives within this time.
const SETTLE: Duration = Duration::from_millis(150);

/// How many of the 74 checks have one right outcome, "same"; the other two (a line that is no JSON, a death during a
/// call) say how the proxy behaves.
pub(crate) const EXACT: usize = 72;

/// The outcome that a check hopes for.
const SAME: &str = "same";

struct Probe<'a> {
    target: &'a Target,
    conn: Option<Conn>,
    out: Map<String, Value>,
}

impl Probe<'_> {
    /// Runs one check on a live session; a session that failed is replaced before the next.
    fn check(&mut self, name: &str, f: impl FnOnce(&mut Conn) -> Result<String, Fail>) {
        if self.conn.is_none() {
            self.conn = Conn::open(self.target).ok();
        }
        let r = match &mut self.conn {
            None => "does not start".into(),
            Some(c) => {
                locked(&c.seen).clear();
                f(c).unwrap_or_else(|e| {
                    self.conn = None;
                    e.to_string()
                })
            }
        };
        self.out.insert(name.into(), r.into());
    }
}

/// Runs all checks: outcome by name, in order.
pub(crate) fn run(target: &Target) -> Value {
    let conn = match Conn::open(target) {
        Ok(c) => Some(c),
        Err(e) => return json!({ "start": e.to_string() }),
    };
    let mut p = Probe { target, conn, out: Map::new() };
    literals::check(&mut p);
    messages::check(&mut p);
    protocol::check(&mut p);
    p.out.into()
}

/// (unchanged, changed, lost or otherwise) of the outcomes of [`run`].
pub(crate) fn score(outcomes: &Value) -> (usize, usize, usize) {
    outcomes.as_object().into_iter().flatten().fold((0, 0, 0), |(s, c, o), (_, v)| match v.as_str() {
        Some(SAME) => (s + 1, c, o),
        Some(v) if v.starts_with("became") => (s, c + 1, o),
        _ => (s, c, o + 1),
    })
}

/// The checks with another outcome than "same", one line each.
pub(crate) fn deviations(outcomes: &Value) -> Vec<String> {
    let all = outcomes.as_object().into_iter().flatten();
    all.filter_map(|(k, v)| v.as_str().filter(|v| *v != SAME).map(|v| format!("{k}: {v}"))).collect()
}

fn short(b: &[u8]) -> String {
    let s = text(b);
    if s.chars().count() <= 160 {
        return s;
    }
    format!("{}…({} bytes)", s.chars().take(140).collect::<String>(), b.len())
}

fn compare(sent: &[u8], got: Option<&[u8]>, whole: &[u8]) -> String {
    match got {
        Some(g) if g == sent => SAME.into(),
        Some(g) => format!("became {}", short(g)),
        None => format!("lost: {}", short(whole)),
    }
}

fn result_text(raw: &[u8]) -> Option<String> {
    let v: Value = serde_json::from_slice(raw).ok()?;
    v["result"]["content"][0]["text"].as_str().map(String::from)
}

/// The messages with this method that reached the host unasked.
fn seen_host(c: &Conn, method: &str) -> Vec<Vec<u8>> {
    std::thread::sleep(SETTLE);
    let is = |m: &&Vec<u8>| get(m, "method").and_then(string).as_deref() == Some(method);
    locked(&c.seen).iter().filter(is).cloned().collect()
}

/// What the upstream saw besides requests since the last time, one a line.
fn seen_upstream(c: &mut Conn) -> Result<String, Fail> {
    let r = c.call("seen", "{}", WAIT)?;
    Ok(result_text(&r.raw).unwrap_or_default())
}

/// Makes the upstream send `line` as it stands.
fn emit(c: &mut Conn, line: &str) -> Result<(), Fail> {
    c.call("emit", &format!("{{\"line\":{}}}", quote(line)), WAIT).map(|_| ())
}
