//! Which of a host's hooks are ours: those that start `bir-hooks` with `hook EVENT`, wherever it stands.
//!
//! An installation that was moved, or another one, is told by the program's path; whether this installation put the hook there, the ledger knows.

use crate::Host;
use serde_json::Value;

/// The file name of the program that hooks start.
const PROGRAM: &str = "bir-hooks";

/// A hook of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OurHook {
    /// The program that it starts, as it stands there.
    pub program: String,
    /// The event for which it was installed.
    pub event: String,
}

/// The hook of ours in an element of an event's array. An element may hold hooks of others beside it, where somebody has put them
/// together.
#[must_use]
pub fn our_hook(host: Host, element: &Value) -> Option<OurHook> {
    match host {
        Host::CopilotCli => of_hook(element),
        _ => element.get("hooks")?.as_array()?.iter().find_map(of_hook),
    }
}

/// What a file that is ours alone starts. None: it is not ours, whatever its name.
#[must_use]
pub fn our_file(host: Host, text: &str) -> Option<String> {
    match host {
        Host::CopilotCli => {
            let file: Value = serde_json::from_str(text).ok()?;
            let mut arrays = file.get("hooks")?.as_object()?.values();
            let first = arrays.find_map(|array| array.as_array()?.iter().find_map(|one| our_hook(host, one)));
            first.map(|hook| hook.program)
        }
        Host::OpenCode => {
            let said = text.lines().find_map(|line| line.strip_prefix("const PROGRAM = "))?;
            let program: String = serde_json::from_str(said.trim_end_matches(';')).ok()?;
            is_program(&program).then_some(program)
        }
        _ => None,
    }
}

fn of_hook(hook: &Value) -> Option<OurHook> {
    let text = |member: &str| hook.get(member).and_then(Value::as_str);
    let args: Option<Vec<&str>> = hook
        .get("args")
        .map_or(Some(Vec::new()), |args| args.as_array()?.iter().map(Value::as_str).collect());
    if let [subcommand, event, ..] = args?[..] {
        let program = text("exec").or_else(|| text("command"))?;
        return (is_program(program) && subcommand == "hook")
            .then(|| OurHook { program: program.into(), event: event.into() });
    }
    ["command", "bash", "powershell"].into_iter().filter_map(text).find_map(of_line)
}

/// A line for a shell: the program, which may be quoted, and `hook EVENT`.
fn of_line(line: &str) -> Option<OurHook> {
    let (program, rest) = first_word(line.trim_start())?;
    let mut words = rest.split_whitespace();
    (is_program(&program) && words.next() == Some("hook"))
        .then(|| Some(OurHook { program, event: words.next()?.into() }))?
}

/// The first word as a shell reads it, and what follows.
fn first_word(line: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut quote = None;
    let mut chars = line.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            // Outside of quotes, so that the backslashes of Windows inside of them stay.
            (None, '\\') => word.push(chars.next()?.1),
            (None, c) if c.is_whitespace() => return Some((word, &line[at..])),
            (_, c) => word.push(c),
        }
    }
    None
}

fn is_program(path: &str) -> bool {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let stem = file.len().checked_sub(".exe".len()).and_then(|at| file.split_at_checked(at));
    file == PROGRAM || stem.is_some_and(|(stem, end)| stem == PROGRAM && end.eq_ignore_ascii_case(".exe"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::register::{hook_elements, hooks};
    use serde_json::json;

    #[test]
    fn what_is_installed_is_known_again_wherever_the_program_stands() {
        for program in ["/opt/bir/bir-hooks", "/opt/a b/it's/bir-hooks", "/x/bir-hooks.exe"] {
            for host in Host::INSTALLED {
                for (event, element) in hook_elements(host, program).unwrap_or_default() {
                    let ours = our_hook(host, &element).unwrap();
                    assert_eq!((ours.program.as_str(), ours.event.as_str()), (program, event), "{host:?}");
                }
                let whole = hooks(host, program).unwrap();
                let known = our_file(host, &whole.text);
                assert_eq!(known.as_deref(), whole.whole_file.then_some(program), "{host:?}");
            }
        }
    }

    #[test]
    fn hooks_of_others_are_not_ours() {
        let claude = |hook: Value| our_hook(Host::ClaudeCode, &json!({ "matcher": "*", "hooks": [hook] }));
        for hook in [
            json!({"type": "command", "command": "/opt/bir/bir-hooks"}),
            json!({"type": "command", "command": "/opt/bir/bir-hooks", "args": ["serve"]}),
            json!({"type": "command", "command": "/opt/bir/bir-hooks", "args": ["hook"]}),
            json!({"type": "command", "command": "/opt/bir/bir-hooks", "args": [1, 2]}),
            json!({"type": "command", "command": "/opt/my-bir-hooks hook Stop"}),
            json!({"type": "command", "command": "echo /opt/bir/bir-hooks hook Stop"}),
            json!({"type": "command", "command": "'/opt/bir-hooks hook Stop"}),
            json!({"type": "command", "command": "bir-hooks hook"}),
            json!({"type": "http", "url": "http://localhost/bir-hooks"}),
            json!("bir-hooks hook Stop"),
        ] {
            assert_eq!(claude(hook.clone()), None, "{hook}");
        }
        assert_eq!(our_hook(Host::ClaudeCode, &json!({})), None);
        assert_eq!(our_hook(Host::CopilotCli, &json!([])), None);
        for text in ["", "{}", "const PROGRAM = \"/x/other\"", "const PROGRAM = '/x/bir-hooks'"] {
            assert_eq!((our_file(Host::OpenCode, text), our_file(Host::CopilotCli, text)), (None, None));
        }
    }

    #[test]
    fn a_hook_beside_others_or_as_a_line_is_ours() {
        let other = json!({"type": "command", "command": "lint"});
        for (line, program) in [
            ("bir-hooks hook Stop", "bir-hooks"),
            ("  /a\\ b/bir-hooks hook Stop --host codex", "/a b/bir-hooks"),
            (r#""C:\Program Files\bir\bir-hooks.exe" hook Stop"#, r"C:\Program Files\bir\bir-hooks.exe"),
        ] {
            let element = json!({ "hooks": [other, {"type": "command", "command": line}] });
            let ours = our_hook(Host::Codex, &element).unwrap();
            assert_eq!((ours.program.as_str(), ours.event.as_str()), (program, "Stop"));
        }
    }
}
