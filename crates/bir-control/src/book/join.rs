//! When two views are of one call: names as hosts change them, and arguments that are equal.

use super::call::Call;
use bir_model::control::Compared;

/// Longest name that is kept, in bytes; names come from models and wires.
const LONGEST_NAME: usize = 256;
/// Two views of one call lie at most so far apart, in ms (seed 01 phase 6).
pub(super) const WINDOW: u64 = 10 * 60 * 1000;

/// A call as a proxy names it, to be found among those that hooks announced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sought<'a> {
    pub(super) server: &'a str,
    pub(super) tool: &'a str,
    pub(super) call_id: Option<&'a str>,
    pub(super) fingerprint: &'a Compared,
    pub(super) at: u64,
}

impl Sought<'_> {
    /// Whether an open call that a hook announced may be this one.
    pub(super) fn fits(&self, call: &Call) -> bool {
        call.hooked
            && call.wire.is_none()
            && call.fingerprint.as_ref() == Some(self.fingerprint)
            && (call.call_id.is_none() || self.call_id.is_none())
            && self.at.abs_diff(call.began_at) <= WINDOW
            && same_tool(&call.tool_name, call.server.as_deref(), self.server, self.tool)
    }
}

/// Whether a hook's name of a tool means this tool of this server.
pub(super) fn same_tool(rendered: &str, hook_server: Option<&str>, server: &str, tool: &str) -> bool {
    let of_server = match hook_server {
        Some(named) => reduced(named) == reduced(server),
        None => of_server(rendered, server),
    };
    of_server && reduced(rendered).ends_with(&reduced(tool))
}

/// Whether a rendered name begins with a server's: `mcp__every_thing__echo`, `every-thing-echo`, `every-thing_echo`.
pub(super) fn of_server(rendered: &str, server: &str) -> bool {
    let (rendered, server) = (reduced(rendered), reduced(server));
    let begins = |text: &str| text.strip_prefix(&server).is_some_and(|rest| rest.starts_with('_'));
    begins(&rendered) || rendered.strip_prefix("mcp").is_some_and(|rest| begins(rest.trim_start_matches('_')))
}

/// A name by what all hosts keep of it. They replace other characters by `_`, Codex `-` too.
fn reduced(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// A name of reasonable length.
pub(super) fn short(name: &str) -> String {
    let mut end = name.len().min(LONGEST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_hosts_change_them() {
        let same = [
            ("mcp__my_server_x__echo", Some("my server.x"), "my server.x", "echo"),
            ("mcp__every_thing__a_b_c_d", None, "every-thing", "a.b/c d"),
            ("every-thing-echo", None, "every-thing", "echo"),
            ("every-thing_echo", None, "every-thing", "echo"),
            ("mcp_s1_echo", None, "s1", "echo"),
        ];
        let other = [
            ("mcp__s1__echo", Some("s1"), "s2", "echo"),
            ("mcp__s1__echo", Some("s1"), "s1", "fail"),
            ("mcp__s10__echo", None, "s1", "echo"),
            ("echo", None, "s1", "echo"),
        ];
        for (rendered, hook, server, tool) in same {
            assert!(same_tool(rendered, hook, server, tool), "{rendered} {server} {tool}");
        }
        for (rendered, hook, server, tool) in other {
            assert!(!same_tool(rendered, hook, server, tool), "{rendered} {server} {tool}");
        }
        assert_eq!(short(&"é".repeat(200)).len(), LONGEST_NAME);
    }
}
