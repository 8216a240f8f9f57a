//! How a session ends, and what stays behind.

use crate::conn::{Conn, Target};
use crate::procs::{self, Proc};
use crate::stats::round;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How long a tree may take to vanish after the end of its input, and again after SIGTERM.
const EOF_LIMIT: Duration = Duration::from_secs(8);
/// How long a gateway may keep an upstream whose session ended.
const SESSION_LIMIT: Duration = Duration::from_secs(2);

fn wait_gone(c: &mut Conn, tracked: &[Proc], limit: Duration) -> Option<f64> {
    let t0 = Instant::now();
    while t0.elapsed() < limit {
        if let Some(child) = &mut c.child {
            let _ = child.try_wait();
        }
        if tracked.iter().all(|p| !procs::alive(p)) {
            return Some(round(t0.elapsed().as_secs_f64() * 1000.0));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    None
}

fn left(tracked: &[Proc]) -> Vec<String> {
    tracked.iter().filter(|p| procs::alive(p)).map(|p| p.comm.clone()).collect()
}

/// Ends the session and says how long the tree took to vanish, and what stayed behind. A gateway is not expected to end
/// with a session: it gets SIGTERM. Whatever is left after that is named, then killed.
pub(crate) fn end(c: &mut Conn, t: &Target, not: &[i32]) -> Value {
    let tracked = procs::tree(not);
    if c.child.is_none() {
        return Value::Null;
    }
    c.end_session();
    let mut out = json!({});
    if t.url.is_some() {
        let ups: Vec<_> = tracked.iter().filter(|p| p.comm == procs::UPSTREAM).cloned().collect();
        out["session_ms"] = json!(wait_gone(c, &ups, SESSION_LIMIT));
    } else {
        out["eof_ms"] = json!(wait_gone(c, &tracked, EOF_LIMIT));
    }
    let stay = left(&tracked);
    if !stay.is_empty() {
        out["left_after_end"] = json!(stay);
        procs::signal(c.pid(), Signal::TERM);
        out["term_ms"] = json!(wait_gone(c, &tracked, EOF_LIMIT));
        out["left_after_term"] = json!(left(&tracked));
    }
    tracked.iter().filter(|p| procs::alive(p)).for_each(|p| procs::signal(p.pid, Signal::KILL));
    c.destroy();
    procs::reap(&tracked);
    out
}

/// The same with an upstream that ignores the end of its input and SIGTERM.
pub(crate) fn end_stubborn(t: &Target, not: &[i32]) -> Value {
    match Conn::open(t) {
        Ok(mut c) => {
            let _ = c.call("stubborn", "{}", Duration::from_secs(5));
            end(&mut c, t, not)
        }
        Err(e) => json!({ "fail": e.to_string() }),
    }
}

/// An ending for people.
pub(crate) fn show(e: &Value) -> String {
    let Some(key) = ["eof_ms", "session_ms"].into_iter().find(|k| e.get(k).is_some()) else {
        return e["fail"].as_str().unwrap_or("–").into();
    };
    let mut out = e[key].as_f64().map_or("no".into(), |ms| format!("{ms:.0} ms"));
    if e.get("left_after_end").is_some() {
        out += &match (e["term_ms"].as_f64(), &e["left_after_term"]) {
            (Some(ms), _) => format!("; SIGTERM: {ms:.0} ms"),
            (None, l) => {
                let names: Vec<&str> = l.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                format!("; SIGTERM: leaves {}", names.join(", "))
            }
        };
    }
    out
}
