//! What the upstream does without a rule: the methods of both eras.

use std::time::Duration;

use crate::raw;
use crate::serve::call::Call;
use crate::serve::engine::{Listen, META_VERSION, MODERN};
use crate::serve::tools;
use crate::sync::lock;

/// Legacy revisions accepted by default, best first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Budget of `tasks/result`.
const TASK_BUDGET: Duration = Duration::from_secs(60);

/// Whether the default for this message can wait for something.
pub(crate) fn default_waits(line: &[u8]) -> bool {
    match raw::method(line).as_str() {
        "tools/call" => tools::waits(line),
        "tasks/result" | "subscriptions/listen" => true,
        _ => false,
    }
}

/// Answers a request, or does what the default does with a notification (nothing).
pub(crate) fn handle(call: &mut Call<'_>) {
    if call.id == b"null" && raw::get(call.line, "id").is_none() {
        return;
    }
    let method = raw::method(call.line);
    if call.modern && !check_meta(call, &method) {
        return;
    }
    let server = &call.engine.script.server;
    let era = call.engine.script.era;
    match method.as_str() {
        "initialize" if era.legacy() && !call.modern => initialize(call),
        "server/discover" if call.modern => discover(call),
        "tools/list" => {
            let mut tools: Vec<Vec<u8>> = Vec::new();
            if !server.hide_default_tools {
                tools.extend(tools::NAMES.iter().map(|name| tools::definition(name).into_bytes()));
            }
            tools.extend(lock(&call.engine.state).tools.iter().cloned());
            list(call, "tools", &tools);
        }
        "tools/call" => tools::call(call),
        "resources/list" => list(call, "resources", &texts(&server.resources)),
        "resources/templates/list" => list(call, "resourceTemplates", &[]),
        "prompts/list" => list(call, "prompts", &texts(&server.prompts)),
        "resources/read" => {
            let uri = raw::path(call.line, &["params", "uri"]).unwrap_or(b"\"\"");
            let body = [b"{\"contents\":[{\"uri\":", uri, b",\"text\":\"resource text\"}]}"].concat();
            complete(call, &body, true);
        }
        "prompts/get" => {
            let text = b"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"prompt text\"}}]}";
            complete(call, text, false);
        }
        "completion/complete" => {
            complete(call, b"{\"completion\":{\"values\":[\"one\",\"two\"],\"total\":2}}", false)
        }
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" if !call.modern => {
            call.result(b"{}");
        }
        "tasks/get" | "tasks/result" | "tasks/list" | "tasks/cancel" if server.tasks && !call.modern => {
            call.session.tasks.handle(call, &method, TASK_BUDGET);
        }
        "subscriptions/listen" if call.modern => listen(call),
        // The whole line as it came, for methods that nobody knows.
        "x/custom" => {
            let line = raw::quote(call.line);
            complete(call, format!("{{\"line\":{line}}}").as_bytes(), false);
        }
        _ => call.error(b"{\"code\":-32601,\"message\":\"Method not found\"}"),
    }
}

fn texts(texts: &[crate::text::Text]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.0.clone()).collect()
}

/// Modern: `_meta` must name a known revision and the client's capabilities.
fn check_meta(call: &Call<'_>, method: &str) -> bool {
    if method == "initialize" {
        unsupported(call, raw::path(call.line, &["params", "protocolVersion"]));
        return false;
    }
    let version = raw::path(call.line, &["params", "_meta", META_VERSION]);
    let capabilities = raw::path(call.line, &["params", "_meta", META_CAPABILITIES]);
    match version {
        Some(version) if raw::string(version).as_deref() != Some(MODERN) => {
            unsupported(call, Some(version));
            false
        }
        Some(_) if capabilities.is_some() => true,
        _ => {
            let missing = if version.is_none() { META_VERSION } else { META_CAPABILITIES };
            let text = format!("{{\"code\":-32602,\"message\":\"Missing required _meta key {missing}\"}}");
            call.error(text.as_bytes());
            false
        }
    }
}

fn unsupported(call: &Call<'_>, requested: Option<&[u8]>) {
    let head = format!(
        "{{\"code\":-32022,\"message\":\"Unsupported protocol version\",\"data\":{{\
         \"supported\":[\"{MODERN}\"],\"requested\":"
    );
    call.error(&[head.as_bytes(), requested.unwrap_or(b"null"), b"}}"].concat());
}

/// Answers with a result; in the modern era with what the revision wants on top.
pub(crate) fn complete(call: &Call<'_>, body: &[u8], cacheable: bool) {
    if !call.modern {
        return call.result(body);
    }
    let rest = &body[1..];
    let comma = if rest.starts_with(b"}") { "" } else { "," };
    let cache = if cacheable { ",\"ttlMs\":0,\"cacheScope\":\"private\"" } else { "" };
    call.result(&[format!("{{\"resultType\":\"complete\"{cache}{comma}").as_bytes(), rest].concat());
}

fn list(call: &Call<'_>, key: &str, items: &[Vec<u8>]) {
    let head = format!("{{\"{key}\":[");
    complete(call, &[head.as_bytes(), &items.join(&b","[..]), b"]}"].concat(), true);
}

fn about(call: &Call<'_>) -> Vec<u8> {
    let server = &call.engine.script.server;
    let tasks = "\"tasks\":{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}},";
    let capabilities = match &server.capabilities {
        Some(text) => text.0.clone(),
        None => format!(
            "{{{}\"tools\":{{\"listChanged\":true}},\"resources\":{{\"listChanged\":true,\"subscribe\":true}},\
             \"prompts\":{{\"listChanged\":true}},\"completions\":{{}},\"logging\":{{}},\
             \"experimental\":{{\"x-odd\":{{\"probe\":1.0}}}}}}",
            if server.tasks && !call.modern { tasks } else { "" }
        )
        .into_bytes(),
    };
    let instructions = server.instructions.as_ref().map_or(&b"\"test instructions\""[..], |text| &text.0);
    [b"\"capabilities\":", &capabilities[..], b",\"instructions\":", instructions].concat()
}

fn info(call: &Call<'_>) -> Vec<u8> {
    let given = call.engine.script.server.info.as_ref();
    given.map_or(b"{\"name\":\"bir-test-upstream\",\"version\":\"1.0.0\"}".to_vec(), |text| text.0.clone())
}

fn initialize(call: &Call<'_>) {
    let server = &call.engine.script.server;
    if let Some(text) = &server.initialize {
        return call.result(&text.0);
    }
    let asked =
        raw::path(call.line, &["params", "protocolVersion"]).and_then(raw::string).unwrap_or_default();
    let known: Vec<&str> = match server.versions.is_empty() {
        true => LEGACY.to_vec(),
        false => server.versions.iter().map(String::as_str).collect(),
    };
    let version = known.iter().find(|version| **version == asked).unwrap_or(&known[0]);
    let head = format!("{{\"protocolVersion\":\"{version}\",");
    call.result(&[head.as_bytes(), &about(call), b",\"serverInfo\":", &info(call), b"}"].concat());
}

fn discover(call: &Call<'_>) {
    if let Some(text) = &call.engine.script.server.discover {
        return call.result(&text.0);
    }
    let head = format!("{{\"supportedVersions\":[\"{MODERN}\"],");
    let meta = b",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":";
    complete(call, &[head.as_bytes(), &about(call), meta, &info(call), b"}}"].concat(), true);
}

/// Acknowledges, then holds the request open: as long as the connection (stdio) or the stream (HTTP) lives,
/// or until the host cancels it.
fn listen(call: &Call<'_>) {
    let filter = raw::path(call.line, &["params", "notifications"]).unwrap_or(b"{}");
    let acknowledged = [
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":{\
          \"io.modelcontextprotocol/subscriptionId\":",
        call.id,
        b"},\"notifications\":",
        filter,
        b"}}",
    ]
    .concat();
    let listen = Listen { id: call.id.to_vec(), filter: filter.to_vec(), outlet: call.outlet.clone() };
    lock(&call.engine.state).listens.push(listen);
    if call.send(&acknowledged, false).is_ok() {
        while !call.outlet.gone() && !cancelled(call) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    lock(&call.engine.state)
        .listens
        .retain(|listen| !(listen.id == call.id && std::sync::Arc::ptr_eq(&listen.outlet, &call.outlet)));
}

fn cancelled(call: &Call<'_>) -> bool {
    lock(&call.session.inner).seen.iter().any(|line| {
        raw::method(line) == "notifications/cancelled"
            && raw::path(line, &["params", "requestId"]) == Some(call.id)
    })
}
