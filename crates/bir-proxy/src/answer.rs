//! What the proxy says in place of an upstream that cannot. Never anything else, and never during a handshake.

use bir_tap::{Asked, Unanswered};

/// The JSON-RPC error code of a server that is not there: the first of the range that implementations own, in both eras.
const UNAVAILABLE: i32 = -32000;

/// The line that answers one request: a tool failure that the model can react to for `tools/call`, a JSON-RPC error for
/// everything else.
pub(crate) fn line(unanswered: &Unanswered, text: &str) -> Vec<u8> {
    let text = quoted(text);
    let body = match unanswered.asked {
        Asked::ToolsCall => {
            format!("\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"isError\":true}}")
        }
        _ => format!("\"error\":{{\"code\":{UNAVAILABLE},\"message\":{text}}}"),
    };
    envelope(&unanswered.id, &body)
}

/// The line that refuses a request of the upstream with a JSON-RPC error.
pub(crate) fn refusal(id: &[u8], code: i32, text: &str) -> Vec<u8> {
    envelope(id, &format!("\"error\":{{\"code\":{code},\"message\":{}}}", quoted(text)))
}

/// `MCP server "x" is not available`.
pub(crate) fn not_available(server_name: &str) -> String {
    format!("MCP server \"{server_name}\" is not available")
}

fn quoted(text: &str) -> String {
    let mut token = Vec::with_capacity(text.len() + 2);
    bir_wire::text::encode(text, &mut token);
    String::from_utf8_lossy(&token).into_owned()
}

/// A response whose parts are raw JSON.
pub(crate) fn envelope(id: &[u8], body: &str) -> Vec<u8> {
    let mut line = Vec::with_capacity(body.len() + id.len() + 32);
    line.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    line.extend_from_slice(id);
    line.push(b',');
    line.extend_from_slice(body.as_bytes());
    line.extend_from_slice(b"}\n");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_fails_as_a_tool_and_anything_else_as_a_request() {
        let text = not_available("a\"b");
        let call = Unanswered { id: b"\"1\"".to_vec(), asked: Asked::ToolsCall };
        assert_eq!(
            String::from_utf8(line(&call, &text)).unwrap(),
            "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"MCP server \\\"a\\\"b\\\" is not available\"}],\"isError\":true}}\n"
        );
        let list = Unanswered { id: b"1.0".to_vec(), asked: Asked::ToolsList };
        assert_eq!(
            String::from_utf8(line(&list, "x\n\\")).unwrap(),
            "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"error\":{\"code\":-32000,\"message\":\"x\\u000a\\\\\"}}\n"
        );
    }
}
