//! What the two rows of a call say together: the one that began it was written before anybody knew the rest.

use crate::record::{Source, Step};

/// What a call is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallName<'a> {
    /// The server's name; absent where the tool is built in, or is known by the host's name for it alone.
    pub server: Option<&'a str>,
    /// The tool's own name, else the host's name for it.
    pub tool: &'a str,
}

/// How hosts begin the name of a tool that has its server in it.
const HOST_NAMED: &str = "mcp__";

/// The rows of one call, as far as they are there.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallRows<'a> {
    /// The row that begins it.
    pub begin: Option<&'a Step>,
    /// The row that ends it.
    pub end: Option<&'a Step>,
}

impl<'a> CallRows<'a> {
    fn rows(self) -> impl Iterator<Item = &'a Step> {
        [self.begin, self.end].into_iter().flatten()
    }

    /// Of what one row is enough to tell: the beginning's word, else the end's.
    fn either<T>(self, tells: impl Fn(&'a Step) -> Option<T>) -> Option<T> {
        self.rows().find_map(tells)
    }

    /// The row that names the call: the one that knows its server, else the first.
    #[must_use]
    pub fn named(self) -> Option<&'a Step> {
        self.rows().find(|row| row.server.is_some()).or_else(|| self.rows().next())
    }

    /// Server and tool by their own names, each from whichever row tells it; else the name that the host gave, which has the
    /// server in it already.
    #[must_use]
    pub fn name(self) -> Option<CallName<'a>> {
        let named = self.named()?;
        let own = || self.rows().find_map(|row| row.tool.as_deref());
        let server = named.server.as_deref();
        Some(match named.tool.as_deref().or_else(own) {
            Some(tool) => CallName { server, tool },
            None => {
                let tool = named.tool_name.as_str();
                CallName { server: server.filter(|_| !tool.starts_with(HOST_NAMED)), tool }
            }
        })
    }

    /// The arguments as they ran.
    #[must_use]
    pub fn input(self) -> Option<&'a str> {
        let of = |row: Option<&'a Step>| row.and_then(|row| row.tool_input.as_deref());
        of(self.end).or_else(|| of(self.begin))
    }

    /// The arguments as the model wrote them, where others ran.
    #[must_use]
    pub fn model_input(self) -> Option<&'a str> {
        let written = self.either(|row| row.model_input.as_deref());
        // A row that ends tells what ran only where the first row tells what did not.
        let first = || self.begin.and_then(|row| row.tool_input.as_deref());
        written.or_else(first).filter(|written| Some(*written) != self.input())
    }

    /// The row that holds the arguments as they ran.
    #[must_use]
    pub fn input_row(self) -> Option<&'a Step> {
        [self.end, self.begin].into_iter().flatten().find(|row| row.tool_input.is_some())
    }

    /// The model's words before the call.
    #[must_use]
    pub fn context(self) -> Option<&'a str> {
        self.either(|row| row.context.as_deref())
    }

    /// The sub-agent that asked.
    #[must_use]
    pub fn agent_id(self) -> Option<&'a str> {
        self.either(|row| row.agent_id.as_deref())
    }

    /// The host's own id of the call.
    #[must_use]
    pub fn call_id(self) -> Option<&'a str> {
        self.either(|row| row.call_id.as_deref())
    }

    /// Who saw it: hooks, a proxy.
    #[must_use]
    pub fn sources(self) -> Vec<Source> {
        let all = [Source::Hook, Source::Proxy];
        all.into_iter().filter(|source| self.rows().any(|row| row.sources.contains(source))).collect()
    }

    /// A guess was made about which rows or answers belong to it.
    #[must_use]
    pub fn ambiguous(self) -> bool {
        self.rows().any(|row| row.ambiguous)
    }

    /// It went past the proxies.
    #[must_use]
    pub fn bypassed(self) -> bool {
        self.rows().any(|row| row.bypassed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(kind: &str, members: serde_json::Value) -> Step {
        let mut row = json!({"id": "step_01970000-0000-7000-8000-000000000001", "runId": "run_01970000-0000-7000-8000-000000000001",
            "stepIndex": 0, "stepType": kind, "toolName": "t", "at": 1});
        row.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        serde_json::from_value(row).unwrap()
    }

    #[test]
    fn a_call_is_named_by_server_and_tool_or_as_the_host_names_it() {
        let name = |begin: serde_json::Value, end: serde_json::Value| {
            let (begin, end) = (row("tool_selected", begin), row("tool_response", end));
            let rows = CallRows { begin: Some(&begin), end: Some(&end) };
            let name = rows.name().unwrap();
            (name.server.map(str::to_owned), name.tool.to_owned())
        };
        let both = (Some("s".to_owned()), "echo".to_owned());
        let hook = json!({"toolName": "mcp__s__echo"});
        assert_eq!(name(hook.clone(), json!({"toolName": "echo", "server": "s", "tool": "echo"})), both);
        assert_eq!(name(json!({"toolName": "mcp__s__echo", "server": "s"}), json!({"tool": "echo"})), both);
        assert_eq!(name(json!({"toolName": "echo", "server": "s"}), json!({})), both);
        let host = (None, "mcp__s__echo".to_owned());
        assert_eq!(name(json!({"toolName": "mcp__s__echo", "server": "s"}), hook.clone()), host);
        assert_eq!(name(hook.clone(), hook), host);
        assert_eq!(CallRows::default().name(), None);
    }

    #[test]
    fn the_rows_of_a_call_complete_each_other() {
        let begin =
            row("tool_selected", json!({"toolInput": "{\"a\":1}", "sources": ["hook"], "agentId": "g"}));
        let end = row(
            "tool_response",
            json!({"toolInput": "{\"a\":2}", "sources": ["proxy", "hook"], "server": "s", "context": "so", "bypassed": true}),
        );
        let both = CallRows { begin: Some(&begin), end: Some(&end) };
        assert_eq!((both.input(), both.model_input()), (Some("{\"a\":2}"), Some("{\"a\":1}")));
        assert_eq!(both.sources(), [Source::Hook, Source::Proxy]);
        assert_eq!((both.agent_id(), both.context()), (Some("g"), Some("so")));
        assert!(both.bypassed() && !both.ambiguous());
        assert!(std::ptr::eq(both.named().unwrap(), &end) && std::ptr::eq(both.input_row().unwrap(), &end));

        let alone = CallRows { begin: Some(&begin), end: None };
        assert_eq!((alone.input(), alone.model_input()), (Some("{\"a\":1}"), None));
        let begin = Step { model_input: Some("{\"a\":0}".into()), ..begin };
        assert_eq!(CallRows { begin: Some(&begin), end: None }.model_input(), Some("{\"a\":0}"));
        assert_eq!(CallRows::default().input(), None);
    }
}
