//! `docs/cli.md` against the arguments as they are: every command with its options, and nothing else.

use crate::cli::Cli;
use clap::{ArgAction, Command, CommandFactory, Parser};

const DOC: &str = include_str!("../../../docs/cli.md");

/// The commands that do something, with the words that call them.
fn commands(command: &Command, path: &str, out: &mut Vec<(String, Command)>) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        let path = format!("{path} {}", sub.get_name());
        if sub.has_subcommands() {
            commands(sub, &path, out);
        } else {
            out.push((path, sub.clone()));
        }
    }
}

/// `--limit N`, `--json`, `ID…`, in the order of the help.
fn arguments(command: &Command) -> String {
    let visible = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version"));
    let (mut places, mut options) = (Vec::new(), Vec::new());
    for arg in visible {
        let value = arg.get_value_names().map(|names| names[0].to_string()).unwrap_or_default();
        let Some(long) = arg.get_long() else {
            places.push(format!("`{value}`"));
            continue;
        };
        let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
        let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
        options.push(if takes { format!("`{short}--{long} {value}`") } else { format!("`{short}--{long}`") });
    }
    places.extend(options);
    places.join(" ")
}

#[test]
fn every_command_and_option_is_documented_and_nothing_else() {
    let mut all = Vec::new();
    commands(&Cli::command(), "bir", &mut all);
    assert!(all.len() >= 15, "{}", all.len());
    let expected: Vec<String> =
        all.iter().map(|(path, command)| format!("| `{path}` | {} |", arguments(command))).collect();
    let (_, table) = DOC.split_once("| Command | Takes |").expect("the table of options");
    let documented: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(documented, expected, "docs/cli.md should say:\n{}", expected.join("\n"));

    let (examples, _) = DOC.split_once("| Command | Takes |").unwrap();
    for (path, _) in &all {
        assert!(examples.contains(&format!("| `{path}` |")), "no example of {path}");
    }
    // Each example is a command line that is understood.
    for line in examples.lines().filter(|line| line.starts_with("| `bir ")) {
        let example = line.split('`').nth(3).unwrap();
        let parsed = Cli::try_parse_from(example.split(' '));
        assert!(parsed.is_ok(), "{example}: {}", parsed.err().unwrap());
    }
}
