//! The tools that every test upstream has.

use crate::raw;
use crate::serve::call::{Call, Then};
use crate::serve::defaults::complete;
use crate::sync::lock;

/// Names of the default tools; the `README.md` of the crate says what each does.
pub(crate) const NAMES: [&str; 18] = [
    "echo",
    "sized",
    "sleep",
    "notify",
    "reverse",
    "raw",
    "rawline",
    "emit",
    "seen",
    "crash",
    "stubborn",
    "fail",
    "rpc_error",
    "structured",
    "image",
    "log",
    "add_tool",
    "change",
];

/// A 1×1 PNG.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// Budget for the host's reply to `reverse`.
const REVERSE_BUDGET_MS: u64 = 10_000;

/// Answers larger than this are written beside the reading of further messages.
const LARGE: u64 = 64 * 1024;

/// The definition of a default tool, with a field and a number that only survive byte for byte.
pub(crate) fn definition(name: &str) -> String {
    let output = match name {
        "structured" => {
            ",\"outputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"number\"}}}"
        }
        _ => "",
    };
    format!(
        "{{\"name\":\"{name}\",\"description\":\"Test tool {name}\",\
         \"inputSchema\":{{\"type\":\"object\",\"additionalProperties\":true}}{output},\"x-extra\":1.0}}"
    )
}

fn name(line: &[u8]) -> String {
    raw::path(line, &["params", "name"]).and_then(raw::string).unwrap_or_default()
}

/// Whether the call can wait for something.
pub(crate) fn waits(line: &[u8]) -> bool {
    match name(line).as_str() {
        "sleep" | "reverse" => true,
        "sized" => raw::count(raw::path(line, &["params", "arguments", "n"])) > LARGE,
        _ => false,
    }
}

fn say(call: &Call<'_>, quoted: &str) {
    complete(call, format!("{{\"content\":[{{\"type\":\"text\",\"text\":{quoted}}}]}}").as_bytes(), false);
}

/// Answers a `tools/call`.
pub(crate) fn call(call: &mut Call<'_>) {
    let number = |key: &str| raw::count(call.argument(key));
    let text = |key: &str| call.argument(key).and_then(raw::string);
    match name(call.line).as_str() {
        "echo" => {
            let arguments = raw::path(call.line, &["params", "arguments"]).unwrap_or(b"null");
            say(call, &raw::quote(arguments));
        }
        "sized" => {
            let size = number("n");
            let _ = call.sized(size);
        }
        "sleep" => {
            if call.pause(number("ms")).is_ok() {
                say(call, "\"slept\"");
            }
        }
        "notify" => {
            if call.progress(number("n")).is_ok() {
                say(call, "\"notified\"");
            }
        }
        "reverse" => reverse(call),
        "raw" => match (text("result"), text("error")) {
            (Some(result), _) => call.result(result.as_bytes()),
            (_, Some(error)) => call.error(error.as_bytes()),
            _ => say(call, "\"\""),
        },
        "rawline" => say(call, &raw::quote(call.line)),
        "emit" => {
            if call.send(text("line").unwrap_or_default().as_bytes(), false).is_ok() {
                say(call, "\"emitted\"");
            }
        }
        "seen" => {
            let all = std::mem::take(&mut lock(&call.session.inner).seen);
            say(call, &raw::quote(&all.join(&b"\n"[..])));
        }
        "crash" => {
            let code = call.argument("code").map_or(3, |code| raw::count(Some(code)) as i32);
            // Nobody may be there to read it.
            let _ = call.engine.process.stderr(b"crashing now\n");
            call.engine.process.exit(code);
        }
        "stubborn" => {
            call.engine.process.ignore(&["eof".into(), "SIGTERM".into()]);
            say(call, "\"stubborn\"");
        }
        "fail" => complete(
            call,
            b"{\"content\":[{\"type\":\"text\",\"text\":\"it failed\"}],\"isError\":true}",
            false,
        ),
        "rpc_error" => call.error(b"{\"code\":-32001,\"message\":\"rpc failed\",\"data\":{\"x\":1.0}}"),
        "structured" => {
            let body = b"{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"n\\\": 7.0}\"}],\
                         \"structuredContent\":{\"n\": 7.0},\"_meta\":{\"test/note\":\"kept\"}}";
            complete(call, body, false);
        }
        "image" => {
            let body = format!(
                "{{\"content\":[{{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"{PNG}\"}}]}}"
            );
            complete(call, body.as_bytes(), false);
        }
        "log" => {
            let line = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\
                         \"params\":{\"level\":\"info\",\"data\":\"a log line\"}}";
            let _ = call.engine.process.stderr(b"a stderr line\n");
            if call.send(line, false).is_ok() {
                say(call, "\"logged\"");
            }
        }
        "add_tool" => {
            let name = text("name").unwrap_or_else(|| "added".into());
            lock(&call.engine.state).tools.push(definition(&name).into_bytes());
            call.changed("tools");
            say(call, "\"added\"");
        }
        "change" => {
            call.changed(&text("what").unwrap_or_else(|| "tools".into()));
            say(call, "\"changed\"");
        }
        _ => call.error(b"{\"code\":-32602,\"message\":\"Unknown tool\"}"),
    }
}

/// Asks the host. Legacy: a request, answered with the host's whole reply line. Modern: `input_required`,
/// answered with the raw `inputResponses` of the retry.
fn reverse(call: &mut Call<'_>) {
    let method = call.argument("method").unwrap_or(b"\"ping\"");
    let params = call.argument("params");
    if call.modern {
        let request =
            [b"{\"reverse\":{\"method\":", method, b",\"params\":", params.unwrap_or(b"{}"), b"}}"].concat();
        if call.input_required(&request, Some("state of reverse: \"é\"")) == Then::Next {
            let responses = raw::path(call.line, &["params", "inputResponses"]).unwrap_or(b"null");
            say(call, &raw::quote(responses));
        }
        return;
    }
    if call.ask(method, params, None, REVERSE_BUDGET_MS).is_ok() {
        say(call, &raw::quote(call.reply_line()));
    }
}
