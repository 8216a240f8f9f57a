//! Memory, and messages of many MiB.

use crate::Fail;
use crate::conn::{Conn, Target};
use crate::procs;
use crate::raw::{find_key, get, string, text};
use std::time::{Duration, Instant};

/// One large message may take this long before it counts as a hang.
const LIMIT: Duration = Duration::from_secs(25);

/// Which way the large message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A large result, from the upstream to the host.
    Result,
    /// A large request, from the host to the upstream.
    Request,
}

/// Milliseconds for one message of `mib` MiB, or how it failed; the session is renewed after a failure. `peak` takes the
/// largest resident KiB of the tree without `not`.
pub(crate) fn pass(
    c: &mut Conn,
    t: &Target,
    mib: usize,
    way: Way,
    peak: &mut u64,
    not: &[i32],
) -> Result<f64, Fail> {
    let n = mib << 20;
    let (tool, args) = match way {
        Way::Request => ("drop", format!("{{\"text\":\"{}\"}}", "x".repeat(n))),
        Way::Result => ("sized", format!("{{\"n\":{n}}}")),
    };
    let t0 = Instant::now();
    let r = c.call(tool, &args, LIMIT).and_then(|r| {
        let head = &r.raw[..r.raw.len().min(400)];
        let whole = way == Way::Request || r.raw.len() >= n;
        if whole && get(&r.raw, "result").is_some() && !text(head).contains("\"isError\":true") {
            return Ok((r.at - t0).as_secs_f64() * 1000.0);
        }
        let why = find_key(&r.raw, "message")
            .and_then(string)
            .unwrap_or_else(|| text(&head[..head.len().min(110)]));
        Err(Fail::Other(format!("error: {why}")))
    });
    *peak = procs::rss_kib(not).1.max(*peak);
    if r.is_err() {
        c.destroy();
        *c = Conn::open(t)?;
    }
    r
}
