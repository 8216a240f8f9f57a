use super::*;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"claudecode/toolUseId":"toolu_1"}"#;

fn said(acts: &[Act]) -> String {
    let one = |act: &Act| match act {
        Act::Say(line) => line.clone(),
        other => format!("{other:?}"),
    };
    acts.iter().map(one).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_legacy_handshake_names_a_revision_that_both_know() {
    let mut session = Session::new(false);
    for (asked, told) in [
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("x", "2025-11-25"),
    ] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{asked}"}}}}"#
        );
        let acts = session.hear(line.as_bytes());
        assert!(said(&acts).contains(&format!(r#""protocolVersion":"{told}""#)), "{acts:?}");
        assert_eq!(acts[1], Act::Hello);
    }
    assert!(session.hear(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).is_empty());
    let list = said(&session.hear(br#"{"jsonrpc":"2.0","id":"a b","method":"tools/list"}"#));
    assert!(
        list.contains(r#""id":"a b""#) && list.contains("run_scenario") && !list.contains("resultType"),
        "{list}"
    );
    assert_eq!(
        said(&session.hear(br#"{"id":1e0,"method":"ping"}"#)),
        r#"{"jsonrpc":"2.0","id":1e0,"result":{}}"#
    );
}

#[test]
fn the_modern_era_needs_no_handshake() {
    let mut session = Session::new(false);
    let ask = |session: &mut Session, method: &str, params: &str| {
        let line = format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{{{params}}}}}"#);
        session.hear(line.as_bytes())
    };
    let found = said(&ask(&mut session, "server/discover", META));
    for part in [
        r#""supportedVersions":["2026-07-28"]"#,
        r#""resultType":"complete""#,
        r#""ttlMs":0"#,
        r#""cacheScope":"private""#,
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    assert!(
        said(&ask(&mut session, "tools/list", META))
            .contains(r#"],"ttlMs":0,"cacheScope":"private","resultType":"complete"}"#)
    );
    assert!(said(&ask(&mut session, "ping", META)).contains("-32601"), "it has none");
    assert!(said(&ask(&mut session, "server/discover", "")).contains("-32602"));
    let old = META.replace("2026-07-28", "2027-01-01");
    let refused = said(&ask(&mut session, "tools/list", &old));
    assert!(
        refused.contains(r#""code":-32022"#) && refused.contains(r#""requested":"2027-01-01""#),
        "{refused}"
    );
    let bare = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    assert!(said(&ask(&mut session, "tools/list", bare)).contains("-32602"));
    let acknowledged = said(&ask(&mut session, "subscriptions/listen", META));
    assert!(acknowledged.contains(r#""io.modelcontextprotocol/subscriptionId":"x""#), "{acknowledged}");
}

#[test]
fn a_call_is_bound_by_the_hosts_own_id_of_it() {
    let mut session = Session::new(false);
    let call = |params: &str| {
        format!(r#"{{"id":7,"method":"tools/call","params":{{"name":"run_scenario"{params}}}}}"#)
    };
    let legacy = r#","arguments":{},"_meta":{"claudecode/toolUseId":"toolu_9","progressToken":2}"#;
    let expected = Call { id: b"7".to_vec(), tool_use_id: Some("toolu_9".into()), modern: false };
    assert_eq!(session.hear(call(legacy).as_bytes()), [Act::Run(expected.clone())]);
    let expected = Call { tool_use_id: Some("toolu_1".into()), modern: true, ..expected };
    assert_eq!(session.hear(call(&format!(",{META}")).as_bytes()), [Act::Run(expected.clone())]);
    let expected = Call { tool_use_id: None, modern: false, ..expected };
    assert_eq!(session.hear(call("").as_bytes()), [Act::Run(expected.clone())]);
    assert_eq!(
        answer(&expected, "a \"b\"\n", false),
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"a \"b\"\u000a"}],"isError":false}}"#
    );
    let cancel = br#"{"method":"notifications/cancelled","params":{"requestId":7}}"#;
    assert_eq!(session.hear(cancel), [Act::Cancel(b"7".to_vec())]);
    assert!(
        said(&session.hear(br#"{"id":1,"method":"tools/call","params":{"name":"x"}}"#)).contains("-32602")
    );
}

#[test]
fn the_off_switch_empties_the_list_and_is_told_in_both_eras() {
    let mut session = Session::new(true);
    let list = br#"{"id":1,"method":"tools/list"}"#;
    assert!(said(&session.hear(list)).contains(r#""tools":[]"#));
    assert_eq!(session.tools(), 0);
    assert_eq!(session.switch(true), []);
    assert_eq!(session.switch(false), [Act::Hello], "nobody has opened anything yet");
    session.hear(br#"{"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#);
    assert_eq!(
        said(&session.switch(true)),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\nHello"
    );
    let mut session = Session::new(true);
    session.hear(
        format!(r#"{{"id":"listen:0","method":"subscriptions/listen","params":{{{META}}}}}"#).as_bytes(),
    );
    assert!(said(&session.switch(false)).contains(r#""io.modelcontextprotocol/subscriptionId":"listen:0""#));
    session.hear(br#"{"method":"notifications/cancelled","params":{"requestId":"listen:0"}}"#);
    assert_eq!(session.switch(true), [Act::Hello]);
}

#[test]
fn what_is_no_request_of_ours_is_refused_or_passed_over() {
    let mut session = Session::new(false);
    for (line, code) in [
        ("{", "-32700"),
        ("[{\"id\":1,\"method\":\"ping\"}]", "-32600"),
        (r#"{"id":1,"method":"resources/list"}"#, "-32601"),
    ] {
        assert!(said(&session.hear(line.as_bytes())).contains(code), "{line}");
    }
    for line in [
        "",
        " ",
        r#"{"id":1,"result":{}}"#,
        r#"{"method":"notifications/x"}"#,
        r#"{"method":"notifications/cancelled"}"#,
    ] {
        assert!(session.hear(line.as_bytes()).is_empty(), "{line}");
    }
}
