//! Whole lines, ids, unknown members, errors.

use super::{Probe, SAME, WAIT, compare, result_text, short};
use crate::locked;
use crate::raw::{find_key, get, quote};

const IDS: [&str; 6] = ["\"a b\\u00e9\"", "\"\"", "-7", "9007199254740993", "12345678901234567890", "1.5"];

/// (check, member, request with the tool's name left open)
const REQUESTS: [(&str, &str, &str); 3] = [
    (
        "unknown member: request envelope",
        "x-env",
        r#"{"jsonrpc":"2.0","id":"u","x-env":1,"method":"tools/call","params":{"name":"NAME","arguments":{}}}"#,
    ),
    (
        "unknown member: params",
        "x-par",
        r#"{"jsonrpc":"2.0","id":"u","method":"tools/call","params":{"name":"NAME","arguments":{},"x-par":1}}"#,
    ),
    (
        "_meta member: params",
        "x.y/z",
        r#"{"jsonrpc":"2.0","id":"u","method":"tools/call","params":{"name":"NAME","arguments":{},"_meta":{"x.y/z":1}}}"#,
    ),
];

/// (check, result, member)
const RESULTS: [(&str, &str, &str); 3] = [
    ("unknown member: result", r#"{"content":[],"x-res":1}"#, "x-res"),
    ("_meta member: result", r#"{"content":[],"_meta":{"x.y/z":1}}"#, "x.y/z"),
    ("unknown content type", r#"{"content":[{"type":"hologram","x-c":1}]}"#, "x-c"),
];

pub(super) fn check(p: &mut Probe<'_>) {
    whole_lines(p);
    for id in IDS {
        p.check(&format!("id {id}"), |c| {
            let line = c.tool_line(id, "echo", "{\"text\":\"x\"}");
            match c.exchange(&line, id.as_bytes(), WAIT) {
                Ok(_) => Ok(SAME.into()),
                Err(e) => {
                    let other = locked(&c.seen).iter().find_map(|m| get(m, "id").map(short));
                    other.map(|o| format!("became {o}")).ok_or(e)
                }
            }
        });
    }
    for (name, member, sent) in REQUESTS {
        p.check(name, |c| {
            let line = sent.replace("NAME", &c.tool("rawline"));
            let r = c.exchange(line.as_bytes(), b"\"u\"", WAIT)?;
            let got = result_text(&r.raw).unwrap_or_default();
            Ok(compare(b"1", find_key(got.as_bytes(), member), got.as_bytes()))
        });
    }
    for (name, body, member) in RESULTS {
        p.check(name, |c| {
            let r = c.call("raw", &format!("{{\"result\":{}}}", quote(body)), WAIT)?;
            Ok(compare(b"1", find_key(&r.raw, member), &r.raw))
        });
    }
    p.check("error object", |c| {
        let e = "{\"code\":-32123,\"message\":\"m\",\"data\":{\"d\":1.0}}";
        let r = c.call("raw", &format!("{{\"error\":{}}}", quote(e)), WAIT)?;
        Ok(compare(e.as_bytes(), get(&r.raw, "error"), &r.raw))
    });
}

fn whole_lines(p: &mut Probe<'_>) {
    p.check("whole line up", |c| {
        let sent = c.tool_line("\"line-1\"", "rawline", "{\"b\":1,\"a\":2}");
        let r = c.exchange(&sent, b"\"line-1\"", WAIT)?;
        let got = result_text(&r.raw).unwrap_or_default();
        Ok(compare(&sent, Some(got.as_bytes()), &r.raw))
    });
    p.check("whole line down", |c| {
        let body = "{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}";
        let sent = c.tool_line("\"line-2\"", "raw", &format!("{{\"result\":{}}}", quote(body)));
        let r = c.exchange(&sent, b"\"line-2\"", WAIT)?;
        let want = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"line-2\",\"result\":{body}}}");
        Ok(compare(want.as_bytes(), Some(&r.raw), &r.raw))
    });
}
