//! A small MCP client of both eras: as much as it takes to see what answers.

use super::process::{NoLine, Process};
use super::tail::printable;
use bir_model::Era;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// The newest revision of each era that the test speaks.
const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// How long `server/discover` may stay unanswered before `initialize` follows on the same process. Claude Code waits
/// about as long (measured). Half of a shorter limit, so that `initialize` has its turn.
const PROBE: Duration = Duration::from_secs(3);

/// Pages of `tools/list` that are read before it is called endless.
const PAGES: usize = 1000;

/// JSON-RPC: the method is not known here.
const METHOD_NOT_FOUND: i64 = -32601;
/// MCP 2026-07-28: the revision is not spoken; `data.supported` lists those that are.
const UNSUPPORTED_VERSION: i64 = -32022;

/// The code of what the proxy answers in place of a server.
const UNAVAILABLE: i64 = -32000;
/// How it begins that answer for a remote server that it could not reach.
const UNREACHABLE: &str = "upstream unreachable: ";

/// Why the test failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The deadline passed while this was awaited.
    Late(&'static str),
    /// The process ended.
    Ended,
    /// The remote server could not be reached, for this reason.
    Unreachable(String),
    /// What was sent came back.
    Echo,
    /// An error answered this.
    Refused(&'static str, String),
    /// This answer is none that the protocol knows.
    Strange(&'static str, String),
}

/// What the server said about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Handshake {
    pub(crate) era: Era,
    pub(crate) protocol: String,
    pub(crate) name: String,
    pub(crate) version: String,
    has_tools: bool,
}

pub(super) struct Client<'a> {
    process: &'a mut Process,
    deadline: Instant,
}

/// A response: result or error.
type Response = Result<Value, Value>;

impl<'a> Client<'a> {
    pub(super) fn new(process: &'a mut Process, deadline: Instant) -> Self {
        Self { process, deadline }
    }

    /// Finds out the era on this process.
    pub(super) fn shake_hands(&mut self) -> Result<Handshake, Trouble> {
        self.discover("bir-discover", MODERN);
        let now = Instant::now();
        let probe = now + PROBE.min(self.deadline.saturating_duration_since(now) / 2);
        match self.response(&["bir-discover"], probe, "server/discover") {
            Ok((_, Ok(result))) => return modern(&result),
            Ok((_, Err(error))) => {
                if let Some(trouble) = in_place_of_the_server(&error) {
                    return Err(trouble);
                }
                if let Some(version) = other_modern(&error) {
                    self.discover("bir-discover-2", &version);
                    let (_, r) = self.response(&["bir-discover-2"], self.deadline, "server/discover")?;
                    return modern(&r.map_err(|e| refused("server/discover", &e))?);
                }
            }
            Err(Trouble::Late(_)) if Instant::now() < self.deadline => {}
            Err(t) => return Err(t),
        }
        self.initialize()
    }

    fn discover(&mut self, id: &str, version: &str) {
        self.request(id, "server/discover", json!({ "_meta": meta(version) }));
    }

    /// The legacy handshake. A late answer to `server/discover` counts too: a server that was slow to start, not old.
    pub(super) fn initialize(&mut self) -> Result<Handshake, Trouble> {
        let params = json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client_info() });
        self.request("bir-initialize", "initialize", params);
        loop {
            let (id, r) = self.response(&["bir-initialize", "bir-discover"], self.deadline, "initialize")?;
            match (id, r) {
                ("bir-discover", Ok(result)) => return modern(&result),
                ("bir-discover", Err(_)) => {}
                (_, Err(e)) => return Err(refused("initialize", &e)),
                (_, Ok(result)) => {
                    let h = legacy(&result)?;
                    self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
                    return Ok(h);
                }
            }
        }
    }

    /// The number of tools on all pages; nothing where the server says that it has none to list.
    pub(super) fn count_tools(&mut self, h: &Handshake) -> Result<Option<usize>, Trouble> {
        const WHAT: &str = "tools/list";
        if !h.has_tools {
            return Ok(None);
        }
        let (mut count, mut cursor, mut known) = (0, None::<String>, HashSet::new());
        for page in 0..PAGES {
            let mut params = Map::new();
            if let Some(c) = &cursor {
                params.insert("cursor".into(), c.as_str().into());
            }
            if h.era == Era::Modern {
                params.insert("_meta".into(), meta(&h.protocol));
            }
            let id = format!("bir-tools-{page}");
            self.request(&id, WHAT, params.into());
            let (_, r) = self.response(&[&id], self.deadline, WHAT)?;
            let result = r.map_err(|e| refused(WHAT, &e))?;
            count += result["tools"].as_array().ok_or_else(|| strange(WHAT, &result))?.len();
            cursor = result["nextCursor"].as_str().map(String::from);
            match &cursor {
                None => return Ok(Some(count)),
                Some(c) if known.insert(c.clone()) => {}
                Some(_) => {
                    return Err(Trouble::Strange(WHAT, "a cursor came twice, so the list has no end".into()));
                }
            }
        }
        Err(Trouble::Strange(WHAT, format!("more than {PAGES} pages")))
    }

    fn send(&mut self, message: &Value) {
        self.process.send(&message.to_string());
    }

    fn request(&mut self, id: &str, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    /// Waits for the response to one of `ids`; answers what the server asks meanwhile, and lets the rest go by.
    fn response<'i>(
        &mut self,
        ids: &[&'i str],
        until: Instant,
        what: &'static str,
    ) -> Result<(&'i str, Response), Trouble> {
        loop {
            let line = self.process.line(until).map_err(|e| match e {
                NoLine::Late => Trouble::Late(what),
                NoLine::Closed => Trouble::Ended,
            })?;
            let Ok(mut m) = serde_json::from_slice::<Value>(&line) else { continue };
            if m.get("method").is_some() {
                if ids.iter().any(|id| m["id"] == **id) {
                    return Err(Trouble::Echo);
                }
                if let Some(answer) = answer(&m) {
                    self.send(&answer);
                }
                continue;
            }
            let Some(id) = ids.iter().find(|id| m["id"] == **id) else { continue };
            if m.get("error").is_some_and(|e| !e.is_null()) {
                return Ok((id, Err(m["error"].take())));
            }
            if m.get("result").is_none() {
                return Err(strange(what, &m));
            }
            return Ok((id, Ok(m["result"].take())));
        }
    }
}

fn client_info() -> Value {
    json!({ "name": "bir", "version": env!("CARGO_PKG_VERSION") })
}

/// What every request of the modern era carries.
fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": client_info(),
    })
}

/// The answer to a request of the server; none to a notification.
fn answer(message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    Some(if message["method"] == "ping" {
        json!({ "jsonrpc": "2.0", "id": id, "result": {} })
    } else {
        let error = json!({ "code": METHOD_NOT_FOUND, "message": "not offered by this test" });
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    })
}

/// What the proxy says in place of a server that cannot, if it is that.
fn in_place_of_the_server(error: &Value) -> Option<Trouble> {
    let message = error["message"].as_str().filter(|_| error["code"].as_i64() == Some(UNAVAILABLE))?;
    if message.starts_with("MCP server \"") && message.ends_with("\" is not available") {
        return Some(Trouble::Ended);
    }
    message.strip_prefix(UNREACHABLE).map(|why| Trouble::Unreachable(printable(why)))
}

fn refused(what: &'static str, error: &Value) -> Trouble {
    if let Some(trouble) = in_place_of_the_server(error) {
        return trouble;
    }
    let message = error["message"].as_str().map_or_else(|| error.to_string(), String::from);
    Trouble::Refused(what, printable(&message))
}

fn strange(what: &'static str, got: &Value) -> Trouble {
    Trouble::Strange(what, printable(&got.to_string()))
}

/// A modern revision that a server speaks instead of ours, if its error says so.
fn other_modern(error: &Value) -> Option<String> {
    if error["code"].as_i64() != Some(UNSUPPORTED_VERSION) {
        return None;
    }
    newest_modern(&error["data"]["supported"])
}

/// Ours if it is listed, else the newest modern one.
fn newest_modern(versions: &Value) -> Option<String> {
    let all = versions.as_array()?.iter().filter_map(Value::as_str);
    let modern: Vec<&str> = all.filter(|v| Era::of_revision(v) == Era::Modern).collect();
    let ours = modern.iter().find(|v| **v == MODERN).copied();
    ours.or_else(|| modern.into_iter().max()).map(String::from)
}

fn shown(info: &Value, key: &str) -> String {
    info[key].as_str().map(printable).filter(|s| !s.is_empty()).unwrap_or_else(|| "(unnamed)".into())
}

fn modern(result: &Value) -> Result<Handshake, Trouble> {
    let protocol =
        newest_modern(&result["supportedVersions"]).ok_or_else(|| strange("server/discover", result))?;
    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    let info = if info.is_null() { &result["serverInfo"] } else { info };
    Ok(Handshake {
        era: Era::Modern,
        protocol: printable(&protocol),
        name: shown(info, "name"),
        version: shown(info, "version"),
        has_tools: result["capabilities"].get("tools").is_some(),
    })
}

fn legacy(result: &Value) -> Result<Handshake, Trouble> {
    let protocol = result["protocolVersion"].as_str().ok_or_else(|| strange("initialize", result))?;
    let info = &result["serverInfo"];
    Ok(Handshake {
        era: Era::Legacy,
        protocol: printable(protocol),
        name: shown(info, "name"),
        version: shown(info, "version"),
        has_tools: result["capabilities"].get("tools").is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modern_server_is_spoken_to_in_a_revision_that_it_lists() {
        for (versions, expected) in [
            (json!(["2026-07-28", "2027-01-01"]), Some("2026-07-28")),
            (json!(["2025-11-25", "2027-01-01", "2026-12-01"]), Some("2027-01-01")),
            (json!(["2025-11-25"]), None),
            (json!("2026-07-28"), None),
            (Value::Null, None),
        ] {
            assert_eq!(newest_modern(&versions).as_deref(), expected, "{versions}");
        }
        let error = json!({ "code": -32022, "message": "m", "data": { "supported": ["2027-01-01"], "requested": "x" } });
        assert_eq!(other_modern(&error).as_deref(), Some("2027-01-01"));
        assert_eq!(other_modern(&json!({ "code": -32601, "data": error["data"] })), None);
    }

    #[test]
    fn requests_of_the_server_are_answered_and_notifications_are_not() {
        let ping = answer(&json!({ "id": 1.0, "method": "ping" })).unwrap();
        assert_eq!(ping, json!({ "jsonrpc": "2.0", "id": 1.0, "result": {} }));
        assert_eq!(
            answer(&json!({ "id": "a", "method": "roots/list" })).unwrap()["error"]["code"],
            METHOD_NOT_FOUND
        );
        assert_eq!(answer(&json!({ "method": "notifications/message" })), None);
    }

    #[test]
    fn what_the_proxy_answers_is_told_from_what_the_server_refuses() {
        for (code, message, expected) in [
            (-32000, "upstream unreachable: no route", Trouble::Unreachable("no route".into())),
            (-32000, "MCP server \"a b\" is not available", Trouble::Ended),
            (-32000, "no", Trouble::Refused("initialize", "no".into())),
            (
                -32601,
                "upstream unreachable: x",
                Trouble::Refused("initialize", "upstream unreachable: x".into()),
            ),
        ] {
            assert_eq!(refused("initialize", &json!({ "code": code, "message": message })), expected);
        }
    }

    #[test]
    fn a_handshake_that_is_none_is_shown() {
        assert!(matches!(legacy(&json!({})), Err(Trouble::Strange("initialize", _))));
        assert!(matches!(
            modern(&json!({ "supportedVersions": [] })),
            Err(Trouble::Strange("server/discover", _))
        ));
        let h = legacy(&json!({ "protocolVersion": "2025-06-18", "serverInfo": { "name": "a\u{1b}b" } }))
            .unwrap();
        assert_eq!((h.name.as_str(), h.version.as_str(), h.has_tools), ("a b", "(unnamed)", false));
    }
}
