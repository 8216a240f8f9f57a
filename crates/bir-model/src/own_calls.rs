//! What is no step: housekeeping of a host, and what an agent does with `bir` itself (DESIGN.md §6).

use serde_json::Value as Json;

/// Tools by which a host looks up its other tools.
const HOUSEKEEPING: [&str; 2] = ["ToolSearch", "tool_search"];
/// The server that we install, and its only tool that stands for work of the agent.
const OWN_SERVER: &str = "bir";
const OWN_STEP: &str = "run_scenario";
/// Tools that run a command line, as hosts name them.
const SHELLS: [&str; 9] = [
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
/// Programs that run the text behind their `-c`.
const INTERPRETERS: [&str; 3] = ["bash", "sh", "zsh"];

/// Whether a call is a step of the run. `server` and `tool` are what is known of a call over MCP; `input` is its JSON.
#[must_use]
pub fn is_step(tool_name: &str, server: Option<&str>, tool: Option<&str>, input: Option<&str>) -> bool {
    match server {
        Some(OWN_SERVER) => tool == Some(OWN_STEP) || tool.is_none() && tool_name.ends_with(OWN_STEP),
        Some(_) => true,
        None if HOUSEKEEPING.contains(&tool_name) => false,
        None if SHELLS.contains(&tool_name) => !input.is_some_and(is_own_command),
        None => true,
    }
}

/// Whether the arguments of a shell tool run `bir` and nothing else.
fn is_own_command(input: &str) -> bool {
    let Ok(input) = serde_json::from_str::<Json>(input) else { return false };
    match input.get("command").or_else(|| input.get("cmd")) {
        Some(Json::String(script)) => commands(script).is_some_and(|commands| all_own(&commands)),
        Some(Json::Array(argv)) => {
            let Some(argv) = argv.iter().map(Json::as_str).collect::<Option<Vec<_>>>() else { return false };
            match argv[..] {
                [shell, "-c" | "-lc", script] if INTERPRETERS.contains(&shell) => {
                    commands(script).is_some_and(|commands| all_own(&commands))
                }
                _ => all_own(&[argv.into_iter().map(str::to_owned).collect()]),
            }
        }
        _ => false,
    }
}

/// `cd` alone is the agent's own affair; beside `bir` it only says where.
fn all_own(commands: &[Vec<String>]) -> bool {
    let mut some = false;
    commands.iter().all(|words| match words.first().map(String::as_str) {
        Some("bir") => {
            some = true;
            true
        }
        Some("cd") => true,
        _ => false,
    }) && some
}

/// The simple commands of a script that are joined by `&&`, `;` or newlines. `None` where the script does anything else:
/// pipes, redirections, substitutions, variables, patterns, groups, comments, or quotes that do not end.
fn commands(script: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut chars = script.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => end_word(&mut commands, &mut word),
            '\n' | ';' => end_command(&mut commands, &mut word),
            '&' => {
                if chars.next() != Some('&') {
                    return None;
                }
                end_command(&mut commands, &mut word);
            }
            '\'' => loop {
                match chars.next()? {
                    '\'' => {
                        word.get_or_insert_default();
                        break;
                    }
                    c => word.get_or_insert_default().push(c),
                }
            },
            '"' => loop {
                match chars.next()? {
                    '"' => {
                        word.get_or_insert_default();
                        break;
                    }
                    '$' | '`' => return None,
                    '\\' => {
                        let next = chars.next()?;
                        let word = word.get_or_insert_default();
                        if !matches!(next, '"' | '\\' | '$' | '`') {
                            word.push('\\');
                        }
                        word.push(next);
                    }
                    c => word.get_or_insert_default().push(c),
                }
            },
            '\\' => match chars.next()? {
                '\n' => {}
                c => word.get_or_insert_default().push(c),
            },
            '|' | '<' | '>' | '(' | ')' | '{' | '}' | '[' | '*' | '?' | '$' | '`' | '#' | '!' => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    end_command(&mut commands, &mut word);
    commands.retain(|words| !words.is_empty());
    Some(commands)
}

fn end_word(commands: &mut [Vec<String>], word: &mut Option<String>) {
    if let (Some(word), Some(words)) = (word.take(), commands.last_mut()) {
        words.push(word);
    }
}

fn end_command(commands: &mut Vec<Vec<String>>, word: &mut Option<String>) {
    end_word(commands, word);
    commands.push(Vec::new());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shell_commands_made_of_bir_and_cd_alone_are_no_steps() {
        let own = [
            "bir status",
            "cd /p && bir status",
            "cd '/a b'; bir off --here\nbir up",
            "bir search \"a; b | c && d\" ",
            "bir show 'it is $HOME' \\\n  --json",
            "  bir   status  ;",
            "bir show a\\;b",
        ];
        let steps = [
            "",
            "cd /p",
            "birch status",
            "./bir status",
            "bir status | head",
            "bir status > file",
            "bir status & rm x",
            "bir status || rm x",
            "bir status && rm x",
            "bir status\nrm x",
            "bir show $(rm x)",
            "bir show \"$(rm x)\"",
            "bir show `rm x`",
            "bir show $HOME",
            "(bir status)",
            "{ bir status; }",
            "BIR_HOME=/x bir status",
            "bir show 'unfinished",
            "echo bir status",
            "cd /p && ls",
        ];
        let step = |command: &str| {
            let input = json!({ "command": command }).to_string();
            is_step("Bash", None, None, Some(&input))
        };
        own.iter().for_each(|command| assert!(!step(command), "{command:?} is our own"));
        steps.iter().for_each(|command| assert!(step(command), "{command:?} is a step"));
    }

    #[test]
    fn what_is_called_decides_too() {
        let argv = |argv: &[&str]| json!({ "command": argv }).to_string();
        let table = [
            ("ToolSearch", None, None, None, false),
            ("tool_search", None, None, None, false),
            ("Read", None, None, Some(json!({"file_path": "bir"}).to_string()), true),
            ("Bash", None, None, None, true),
            ("Bash", None, None, Some("{\"command\":\"bir sta".to_owned()), true),
            ("shell", None, None, Some(argv(&["bash", "-lc", "cd x && bir status"])), false),
            ("shell", None, None, Some(argv(&["bash", "-lc", "ls"])), true),
            ("shell", None, None, Some(argv(&["bir", "status"])), false),
            ("PowerShell", None, None, Some(json!({"command": "cd C:\\x; bir status"}).to_string()), false),
            ("PowerShell", None, None, Some(json!({"command": "bir status | rm x"}).to_string()), true),
            ("mcp__bir__search", Some("bir"), Some("search"), None, false),
            ("mcp__bir__search", Some("bir"), None, None, false),
            ("mcp__bir__run_scenario", Some("bir"), Some("run_scenario"), None, true),
            ("mcp__bir__run_scenario", Some("bir"), None, None, true),
            ("ToolSearch", Some("other"), Some("ToolSearch"), None, true),
        ];
        for (name, server, tool, input, step) in table {
            assert_eq!(is_step(name, server, tool, input.as_deref()), step, "{name} {server:?} {input:?}");
        }
    }
}
