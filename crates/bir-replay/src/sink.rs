//! Places of an input that decide where a call acts: recipients, addresses, paths, amounts, and what is run.
//!
//! They are recognised by the words of their names, in any language of naming (`sendTo`, `send_to`). What is not recognised is no
//! sink; a step whose tool runs things has them anyway.

use crate::script::Step;
use bir_model::scenario::Effect;
use bir_plan::words;

/// What a place decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sink {
    /// Who gets it.
    Recipient,
    /// Which address is called.
    Address,
    /// Which file is meant.
    Path,
    /// How much it is.
    Amount,
    /// What is run.
    Run,
}

const RECIPIENT: [&str; 20] = [
    "to",
    "cc",
    "bcc",
    "recipient",
    "recipients",
    "email",
    "emails",
    "mail",
    "phone",
    "account",
    "iban",
    "bic",
    "payee",
    "beneficiary",
    "invitee",
    "invitees",
    "attendees",
    "participants",
    "assignee",
    "channel",
];
const ADDRESS: [&str; 13] = [
    "url", "urls", "uri", "href", "link", "host", "hostname", "domain", "endpoint", "webhook", "callback",
    "origin", "redirect",
];
const PATH: [&str; 10] =
    ["path", "paths", "file", "files", "filename", "filepath", "directory", "dir", "folder", "cwd"];
const AMOUNT: [&str; 6] = ["amount", "price", "total", "sum", "quantity", "limit"];
const RUN: [&str; 14] = [
    "command",
    "commands",
    "cmd",
    "script",
    "code",
    "sql",
    "query",
    "queries",
    "statement",
    "statements",
    "expression",
    "shell",
    "argv",
    "program",
];
/// Words of a tool or server that runs what it is given.
const RUNS: [&str; 14] = [
    "query",
    "queries",
    "exec",
    "execute",
    "shell",
    "bash",
    "zsh",
    "powershell",
    "terminal",
    "command",
    "cmd",
    "eval",
    "script",
    "statement",
];
/// Tools of hosts that run a command line.
pub const SHELLS: [&str; 9] = [
    "Bash",
    "bash",
    "shell",
    "exec_command",
    "local_shell",
    "run_shell_command",
    "run_in_terminal",
    "powershell",
    "PowerShell",
];
/// Tools of hosts that write a file.
pub const FILE_WRITERS: [&str; 8] =
    ["Edit", "MultiEdit", "Write", "NotebookEdit", "write_file", "replace", "edit", "apply_patch"];
/// Tools of hosts that read files.
pub const FILE_READERS: [&str; 8] =
    ["Read", "Grep", "Glob", "LS", "NotebookRead", "read_file", "search_file_content", "list_directory"];

/// What a place of a step's input decides, by its path `a.b.0`.
#[must_use]
pub fn sink(step: &Step, path: &str) -> Option<Sink> {
    let writes = step.effect != Effect::Read;
    let mut found = None;
    for key in path.split('.').filter(|key| key.parse::<usize>().is_err()) {
        let words = words(key);
        let says = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        found = match () {
            () if is_run(step) && (says(&RUN) || path.is_empty()) => Some(Sink::Run),
            () if says(&ADDRESS) => Some(Sink::Address),
            () if says(&PATH) => Some(Sink::Path),
            // Who reads about a recipient or an amount filters by it.
            () if writes && says(&RECIPIENT) => Some(Sink::Recipient),
            () if writes && says(&AMOUNT) => Some(Sink::Amount),
            () => found,
        };
    }
    found
}

/// Whether what a step is given is run: a shell, or a tool or server that is named for it.
#[must_use]
pub fn is_run(step: &Step) -> bool {
    match &step.server {
        None => SHELLS.contains(&step.tool_name.as_str()),
        Some(server) => names_run(&step.tool) || names_run(server),
    }
}

/// Whether a step writes a file of the session.
#[must_use]
pub fn is_file_write(step: &Step) -> bool {
    step.server.is_none() && FILE_WRITERS.contains(&step.tool_name.as_str())
}

/// Whether a place holds what is run.
pub(crate) fn is_run_place(key: &str) -> bool {
    words(key).iter().any(|word| RUN.contains(&word.as_str()))
}

/// Whether a place says where a call acts.
pub(crate) fn is_where(key: &str) -> bool {
    words(key).iter().any(|word| ADDRESS.contains(&word.as_str()) || PATH.contains(&word.as_str()))
}

fn names_run(name: &str) -> bool {
    words(name).iter().any(|word| RUNS.contains(&word.as_str()) || word.contains("sql"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::script;
    use serde_json::json;

    fn step(server: Option<&str>, tool: &str, effect: &str) -> Step {
        script(json!([{"server": server, "tool": tool, "effect": effect}])).steps.remove(0)
    }

    #[test]
    fn sinks_are_known_by_the_words_of_their_names() {
        let send = step(Some("mail"), "send", "write");
        let find = step(Some("mail"), "find", "read");
        let sql = step(Some("db"), "executeSQL", "read");
        for (step, path, expected) in [
            (&send, "to", Some(Sink::Recipient)),
            (&send, "message.recipients.0", Some(Sink::Recipient)),
            (&send, "sendTo", Some(Sink::Recipient)),
            (&send, "body", None),
            (&send, "total", Some(Sink::Amount)),
            (&find, "to", None),
            (&find, "page.url", Some(Sink::Address)),
            (&find, "filePath", Some(Sink::Path)),
            (&find, "query", None),
            (&sql, "query", Some(Sink::Run)),
            (&sql, "database", None),
            (&step(None, "Bash", "destructive"), "command", Some(Sink::Run)),
        ] {
            assert_eq!(sink(step, path), expected, "{path}");
        }
    }

    #[test]
    fn what_runs_things_is_known_in_any_convention() {
        for (server, tool, runs) in [
            (None, "Bash", true),
            (None, "Read", false),
            (Some("db"), "run_query", true),
            (Some("db"), "runQuery", true),
            (Some("my-postgresql"), "anything", true),
            (Some("k8s"), "exec", true),
            (Some("web"), "search", false),
        ] {
            assert_eq!(is_run(&step(server, tool, "read")), runs, "{server:?} {tool}");
        }
    }
}
