//! The modern era over stdio.

use super::*;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

pub(crate) fn modern(id: &str, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}{comma}{META}}}}}"
    )
}

#[test]
fn the_modern_era_discovers_and_checks_meta() {
    let (_up, mut host) = up(Script::era(Eras::Modern));
    let found = ask(&mut host, &modern("\"d\"", "server/discover", ""));
    for part in [
        "\"id\":\"d\"",
        "\"supportedVersions\":[\"2026-07-28\"]",
        "\"resultType\":\"complete\"",
        "\"ttlMs\":0",
    ] {
        assert!(found.contains(part), "{part} in {found}");
    }
    assert!(ask(&mut host, r#"{"id":1,"method":"tools/list","params":{}}"#).contains("-32602"));
    let old = modern("1", "tools/list", "").replace("2026-07-28", "1999-01-01");
    assert!(ask(&mut host, &old).contains(r#""code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"1999-01-01"}"#));
    assert!(ask(&mut host, &modern("1", "ping", "")).contains("-32601"));
    assert!(
        ask(&mut host, r#"{"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#)
            .contains("-32022")
    );
    assert!(
        ask(&mut host, &modern("1", "tools/call", r#""name":"echo","arguments":{}"#))
            .contains(r#""result":{"resultType":"complete","content""#)
    );
}

#[test]
fn dual_decides_by_request_and_legacy_knows_no_discover() {
    let (_up, mut host) = up(Script::era(Eras::Dual));
    assert!(ask(&mut host, &modern("1", "server/discover", "")).contains("supportedVersions"));
    assert!(ask(&mut host, r#"{"id":1,"method":"initialize","params":{}}"#).contains("protocolVersion"));
    assert!(!ask(&mut host, r#"{"id":1,"method":"tools/list"}"#).contains("resultType"));
    let (_up, mut host) = plain();
    assert!(ask(&mut host, &modern("1", "server/discover", "")).contains("-32601"));
}

#[test]
fn input_is_required_and_the_retry_is_checked() {
    let (_up, mut host) = up(Script::era(Eras::Modern).on(
        On::tool("x"),
        [
            Step::input_required(r#"{"q":{"method":"elicitation/create","params":{}}}"#, "opaque \"é\""),
            Step::result(r#"{"resultType":"complete","got":"${=responses}"}"#),
        ],
    ));
    let first = ask(&mut host, &modern("1", "tools/call", r#""name":"x""#));
    assert!(first.contains(r#""resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{}}},"requestState":"opaque \"é\"""#), "{first}");
    let retry = r#""name":"x","inputResponses":{"q":{"action" : "accept"}},"requestState":"opaque \"é\"""#;
    assert!(
        ask(&mut host, &modern("2", "tools/call", retry)).contains(r#""got":{"q":{"action" : "accept"}}"#)
    );
    let bad = retry.replace("\\\"é\\\"", "\\\"\\u00e9\\\"");
    assert!(ask(&mut host, &modern("3", "tools/call", &bad)).contains("-32602"));
    let reverse = r#""name":"reverse","arguments":{"method":"roots/list"}"#;
    assert!(
        ask(&mut host, &modern("4", "tools/call", reverse))
            .contains(r#"{"reverse":{"method":"roots/list","params":{}}}"#)
    );
}

#[test]
fn listeners_get_what_they_asked_for() {
    let (_up, mut host) = up(Script::era(Eras::Modern));
    let filter = r#""notifications":{"toolsListChanged":true}"#;
    assert_eq!(
        ask(&mut host, &modern("\"l:0\"", "subscriptions/listen", filter)),
        r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l:0"},"notifications":{"toolsListChanged":true}}}"#
    );
    let change = |what: &str| {
        modern("2", "tools/call", &format!(r#""name":"change","arguments":{{"what":"{what}"}}"#))
    };
    assert_eq!(
        ask(&mut host, &change("tools")),
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l:0"}}}"#
    );
    assert!(text(&host.line(BUDGET).unwrap()).contains("\"id\":2"));
    assert!(ask(&mut host, &change("prompts")).contains("\"id\":2"), "not asked for");
}
