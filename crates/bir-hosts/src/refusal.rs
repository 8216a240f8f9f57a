//! Hosts' own sentences about calls that were not made, in place of a result: Claude Code's (facts/claude-code.md §§2–3, version
//! 2.1.332) and opencode's (1.18.33).

use bir_model::Outcome;

/// What the text shown to the model says of a call that was not made. None: it is no sentence of the host's.
///
/// A sentence has to stand at the very beginning, since a result may quote one. A refusal with the user's own words
/// lets the turn go on, so it is one; the same sentence without them is also what an interrupt leaves.
#[must_use]
pub fn verdict(tool_name: &str, shown: &str) -> Option<Outcome> {
    let begins = |sentence: &str| shown.starts_with(sentence);
    let by_hook = shown.strip_prefix("PreToolUse:").and_then(|rest| rest.strip_prefix(tool_name));
    let asked = shown.strip_prefix("Hook PreToolUse:").and_then(|rest| rest.strip_prefix(tool_name));
    if by_hook.is_some_and(|rest| rest.starts_with(" hook error: "))
        || asked.is_some_and(|rest| rest.starts_with(" asked for confirmation for this tool"))
        || (begins("Permission to use ") && shown.contains(" has been denied"))
        || (begins("Claude requested permissions to ") && shown.contains("but you haven't granted it yet"))
    {
        return Some(Outcome::Denied);
    }
    if begins("The user doesn't want to proceed with this tool use") {
        let said = shown.contains("To tell you how to proceed, the user said");
        return Some(if said { Outcome::Denied } else { Outcome::Cancelled });
    }
    if begins("[Request interrupted by user") {
        return Some(Outcome::Cancelled);
    }
    begins("<tool_use_error>Error: No such tool available").then_some(Outcome::Unknown)
}

/// What an error that opencode tells says of a call that was not made, or not to its end.
pub(crate) fn of_opencode(error: &str) -> Option<Outcome> {
    // The second is followed by the rules; the first, where the user said why, by what was said.
    if error.starts_with("The user rejected permission to use this specific tool call")
        || error.starts_with(
            "The user has specified a rule which prevents you from using this specific tool call",
        )
    {
        return Some(Outcome::Denied);
    }
    (error == "Tool execution aborted").then_some(Outcome::Cancelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_sentences_are_known_and_quotes_of_them_are_not() {
        use Outcome::{Cancelled, Denied, Unknown};
        for (tool, shown, said) in [
            ("Bash", "PreToolUse:Bash hook error: the deny reason", Some(Denied)),
            ("Read", "PreToolUse:Bash hook error: the deny reason", None),
            ("Bash", "Hook PreToolUse:Bash asked for confirmation for this tool", Some(Denied)),
            ("Bash", "Permission to use Bash with command rm has been denied.", Some(Denied)),
            (
                "mcp__s1__echo",
                "Claude requested permissions to use mcp__s1__echo, but you haven't granted it yet.",
                Some(Denied),
            ),
            (
                "Write",
                "Claude requested permissions to write to /w/x, but you haven't granted it yet.",
                Some(Denied),
            ),
            (
                "Write",
                "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the \
                 new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.",
                Some(Cancelled),
            ),
            (
                "Write",
                "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nno",
                Some(Denied),
            ),
            ("Bash", "[Request interrupted by user for tool use]", Some(Cancelled)),
            (
                "mcp__s1__echo",
                "<tool_use_error>Error: No such tool available: mcp__s1__echo</tool_use_error>",
                Some(Unknown),
            ),
            ("Bash", "built-in-ran", None),
            ("Read", "1\tPermission to use Bash has been denied", None),
            ("Bash", "", None),
        ] {
            assert_eq!(verdict(tool, shown), said, "{shown}");
        }
    }
}
