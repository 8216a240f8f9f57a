//! Streamable HTTP of the modern era (2026-07-28) against scripted servers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::*;

fn modern(id: &str, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

#[test]
fn headers_are_made_from_the_body_and_nothing_of_sessions_is_sent() {
    run(async {
        let server = Server::start(|request, conn| {
            conn.respond(
                200,
                &[("Content-Type", "application/json"), ("Mcp-Session-Id", "never")],
                ok(&request.id()).as_bytes(),
            );
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        for (id, method, params, name) in [
            ("\"server-discover-probe-1\"", "server/discover", "", None),
            ("1", "tools/list", "", None),
            ("2", "tools/call", r#""name":"add","arguments":{"name":"inner"}"#, Some("add")),
            ("3", "resources/read", r#""uri":"file:///a b""#, Some("file:///a b")),
            ("4", "prompts/get", r#""name":"\u00fc""#, Some("=?base64?w7w=?=")),
            ("5", "tools/call", r#""name":"=?base64?eA==?=""#, Some("=?base64?PT9iYXNlNjQ/ZUE9PT89?=")),
        ] {
            assert_eq!(host.ask(&modern(id, method, params)).await, ok(id));
            let seen = server.seen().pop().unwrap();
            assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
            assert_eq!(seen.header("mcp-method"), Some(method));
            assert_eq!(seen.header("mcp-name"), name, "{method}");
            assert_eq!(seen.header("mcp-session-id"), None);
        }
        host.upstream.close().await;
        assert!(server.seen().iter().all(|seen| seen.method == "POST"));
    });
}

#[test]
fn a_cancellation_closes_the_stream_and_is_not_posted() {
    run(async {
        let (closed, was_closed) = std::sync::mpsc::channel();
        let server = Server::start(move |request, conn| {
            if request.rpc_method() == "ping" {
                conn.json(&ok(&request.id()));
                return Then::Keep;
            }
            conn.events(&[]);
            conn.chunk(b"data: {\"jsonrpc\":\"2.0\",\"method\":\"started\"}\n\n");
            closed.send(conn.closed_by_client()).unwrap();
            Then::Close
        });
        let mut host = Host::at(&server.url());
        assert!(host.ask(&modern("\"a\"", "tools/call", r#""name":"slow""#)).await.contains("started"));
        host.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#).await;
        host.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown"}}"#)
            .await;
        assert_eq!(host.ask(&modern("2", "ping", "")).await, ok("2"));
        assert!(was_closed.recv_timeout(PATIENCE).unwrap());
        assert!(server.seen().iter().all(|seen| seen.rpc_method() != "notifications/cancelled"));
        assert!(host.arrived().is_empty());
    });
}

#[test]
fn a_lost_stream_is_an_error_and_nothing_is_asked_again() {
    run(async {
        let server = Server::start(|_, conn| {
            conn.events(&[]);
            conn.chunk(b"id: 1\nretry: 100\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"one\"}\n\n");
            Then::Close
        });
        let mut host = Host::at(&server.url());
        assert!(host.ask(&modern("1", "tools/call", r#""name":"x""#)).await.contains("one"));
        assert!(host.message().await.contains("closed the stream before answering"));
        assert_eq!(server.seen().len(), 1);
    });
}

#[test]
fn an_error_body_answers_the_request_with_its_id() {
    run(async {
        let server = Server::start(|request, conn| {
            let body = match request.rpc_method().as_str() {
                "null" => r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}"#.to_owned(),
                "missing" => "{\n \"error\":{\"code\":-32022,\"message\":\"m\",\"data\":{\"supported\":[\"x\"]}}}\n".to_owned(),
                "own" => format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"m"}}}}"#, request.id()),
                _ => r#"{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"secret"}}"#.to_owned(),
            };
            conn.respond(400, &[("Content-Type", "application/json")], body.as_bytes());
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        assert_eq!(
            host.ask(&modern("1.0", "null", "")).await,
            r#"{"jsonrpc":"2.0","id":1.0,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}"#
        );
        assert_eq!(
            host.ask(&modern("\"b\"", "missing", "")).await,
            r#"{"id":"b",  "error":{"code":-32022,"message":"m","data":{"supported":["x"]}}}"#
        );
        assert!(host.ask(&modern("3", "own", "")).await.contains(r#""id":3,"error":{"code":-32601"#));
        assert!(host.ask(&modern("4", "other", "")).await.contains("upstream answered HTTP 400"));
    });
}

#[test]
fn a_subscription_stays_open_beside_other_calls() {
    run(async {
        let server = Server::start(|request, conn| {
            if request.rpc_method() == "subscriptions/listen" {
                conn.events(&[]);
                conn.chunk(b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\"}\n\n");
                conn.closed_by_client();
                return Then::Close;
            }
            conn.json(&ok(&request.id()));
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        assert!(host.ask(&modern("\"listen:0\"", "subscriptions/listen", "")).await.contains("acknowledged"));
        for id in 0..20 {
            let id = id.to_string();
            assert_eq!(host.ask(&modern(&id, "tools/list", "")).await, ok(&id));
        }
    });
}

#[test]
fn marked_arguments_travel_in_headers() {
    run(async {
        let server = Server::start(|request, conn| {
            if request.rpc_method() == "tools/list" {
                conn.json(&format!(
                    r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[{{"name":"sql","inputSchema":{{"type":"object","properties":{{"region":{{"type":"string","x-mcp-header":"Region"}}}}}}}}]}}}}"#,
                    request.id()
                ));
            } else {
                conn.json(&ok(&request.id()));
            }
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        host.ask(&modern("1", "tools/list", "")).await;
        host.ask(&modern("2", "tools/call", r#""name":"sql","arguments":{"region":"us-west1"}"#)).await;
        host.ask(&modern("3", "tools/call", r#""name":"other","arguments":{"region":"us-west1"}"#)).await;
        let regions: Vec<_> = server
            .seen()
            .iter()
            .filter(|seen| seen.rpc_method() == "tools/call")
            .map(|seen| seen.header("mcp-param-region").map(str::to_owned))
            .collect();
        assert_eq!(regions, [Some("us-west1".to_owned()), None]);
    });
}
