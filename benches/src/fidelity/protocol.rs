//! What goes beside request and response: notifications, progress, cancelling, requests of the server, and how the proxy
//! behaves when the upstream misbehaves.

use super::{Probe, SAME, SETTLE, WAIT, compare, emit, result_text, seen_host, seen_upstream, short};
use crate::conn::{Conn, reverse_result};
use crate::raw::{find_key, get, path, quote, text};
use crate::{Fail, locked};
use std::time::Duration;

const DOWN: [(&str, &str, &str); 3] = [
    ("unknown notification down", "notifications/x-down", "{\"v\":1.0}"),
    ("tools/list_changed down", "notifications/tools/list_changed", "{\"v\":1.0}"),
    ("log message down", "notifications/message", "{\"level\":\"info\",\"data\":{\"v\":1.0}}"),
];

/// (method, params) that the server asks the host with.
const REVERSE: [(&str, &str); 5] = [
    (
        "elicitation/create",
        r#"{"message":"who","requestedSchema":{"type":"object","properties":{"n":{"type":"number"}}}}"#,
    ),
    (
        "sampling/createMessage",
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}"#,
    ),
    ("roots/list", "{}"),
    ("ping", "{}"),
    ("x/reverse", r#"{"v":1.0}"#),
];

/// Progress notifications per call.
const PROGRESS: usize = 50;

pub(super) fn check(p: &mut Probe<'_>) {
    p.check("unknown method", |c| {
        let r = c.request("x/custom", "{\"q\":1}", WAIT)?;
        let known = find_key(&r.raw, "line").is_some();
        Ok(if known { SAME.into() } else { format!("lost: {}", short(&r.raw)) })
    });
    p.check("unknown notification up", |c| {
        c.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x-up\",\"params\":{\"v\":1.0}}")?;
        std::thread::sleep(SETTLE);
        let s = seen_upstream(c)?;
        Ok(if s.contains("x-up") { SAME } else { "lost" }.into())
    });
    for (name, method, params) in DOWN {
        p.check(name, |c| {
            emit(c, &format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}"))?;
            let got = seen_host(c, method);
            Ok(got.first().map_or("lost".into(), |g| compare(params.as_bytes(), get(g, "params"), g)))
        });
    }
    for token in ["\"tok\"", "42"] {
        p.check(&format!("progress token {token}"), |c| progress(c, token));
    }
    p.check("cancel reaches the upstream", cancel);
    for (method, params) in REVERSE {
        p.check(&format!("reverse {method}"), |c| reverse(c, method, params));
    }
    p.check("initialize result", |c| {
        let result = text(get(&c.init, "result").unwrap_or(b""));
        let parts =
            [("serverInfo", "ref-upstream"), ("instructions", "ref instructions"), ("experimental", "bench")];
        let lost: Vec<&str> =
            parts.iter().filter(|(_, k)| !result.contains(k)).map(|(what, _)| *what).collect();
        Ok(if lost.is_empty() { SAME.into() } else { format!("replaced: {}", lost.join(", ")) })
    });
    p.check("tools/list member", |c| {
        let r = c.request("tools/list", "{}", WAIT)?;
        Ok(compare(b"1.0", find_key(&r.raw, "x-extra"), &r.raw))
    });
    p.check("non-JSON line from upstream", |c| {
        emit(c, "hello, this is not JSON")?;
        let r = c.call("echo", "{\"text\":\"still here\"}", WAIT)?;
        let leaked = locked(&c.seen).iter().any(|l| l.starts_with(b"hello"));
        Ok(match (text(&r.raw).contains("still here"), leaked) {
            (true, false) => "survives, dropped".into(),
            (true, true) => "survives, forwarded".into(),
            _ => format!("lost: {}", short(&r.raw)),
        })
    });
    p.check("upstream dies during a call", |c| match c.call("crash", "{}", Duration::from_secs(5)) {
        Ok(r) => Ok(format!("answers {}", short(get(&r.raw, "error").unwrap_or(&r.raw)))),
        Err(Fail::Closed) => Ok("exits too".into()),
        Err(e) => Err(e),
    });
}

fn progress(c: &mut Conn, token: &str) -> Result<String, Fail> {
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"tools/call\",\"params\":{{\"name\":\"{}\",\
         \"arguments\":{{\"n\":{PROGRESS}}},\"_meta\":{{\"progressToken\":{token}}}}}}}",
        c.tool("notify")
    );
    c.exchange(line.as_bytes(), b"\"p\"", WAIT)?;
    let early = locked(&c.seen).len();
    let got = seen_host(c, "notifications/progress");
    let order: Vec<String> = got.iter().filter_map(|g| path(g, &["params", "progress"]).map(text)).collect();
    let sorted = order.iter().enumerate().all(|(i, p)| p.parse::<f64>().ok() == Some(i as f64 + 1.0));
    let kept = got.iter().all(|g| path(g, &["params", "progressToken"]) == Some(token.as_bytes()));
    Ok(match (got.len(), sorted, kept) {
        (PROGRESS, true, true) if early >= PROGRESS => SAME.into(),
        (PROGRESS, true, true) => format!("{} of {PROGRESS} came after the response", PROGRESS - early),
        (n, s, k) => format!("{n} of {PROGRESS}, in order {s}, token kept {k}"),
    })
}

fn cancel(c: &mut Conn) -> Result<String, Fail> {
    seen_upstream(c)?;
    let line = c.tool_line("\"slow\"", "sleep", "{\"ms\":1500}");
    c.send(&line)?;
    std::thread::sleep(2 * SETTLE);
    c.send(
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"slow\",\"reason\":\"r\"}}",
    )?;
    std::thread::sleep(SETTLE);
    let s = seen_upstream(c)?;
    let call = s.lines().find_map(|l| l.strip_prefix("sleep "));
    let cancelled = s.lines().find(|l| l.contains("notifications/cancelled"));
    let cancelled = cancelled.and_then(|l| path(l.as_bytes(), &["params", "requestId"]).map(text));
    Ok(match (call, cancelled) {
        (Some(i), Some(x)) if i == x => SAME.into(),
        (i, x) => format!("call id {}, cancelled {}", i.unwrap_or("none"), x.as_deref().unwrap_or("none")),
    })
}

fn reverse(c: &mut Conn, method: &str, params: &str) -> Result<String, Fail> {
    let args = format!("{{\"method\":{},\"params\":{params}}}", quote(method));
    let r = c.call("reverse", &args, WAIT)?;
    let got = result_text(&r.raw).unwrap_or_else(|| text(&r.raw));
    let asked = seen_host(c, method);
    let body = get(got.as_bytes(), "result").or(get(got.as_bytes(), "error")).unwrap_or(b"");
    let answered = !body.is_empty() && reverse_result(method).ends_with(&text(body));
    Ok(match asked.first() {
        None if answered && method == "ping" => "answered by the proxy itself".into(),
        None => format!("never reached the host; upstream got {}", short(got.as_bytes())),
        Some(_) if !answered => format!("reached the host; upstream got {}", short(got.as_bytes())),
        Some(a) => match get(a, "params").unwrap_or(b"{}") {
            p if p == params.as_bytes() => SAME.into(),
            p => format!("answered; params became {}", short(p)),
        },
    })
}
