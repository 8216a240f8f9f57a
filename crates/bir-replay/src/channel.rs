//! How a text takes the place of a call: a shell command that prints it where the call is one, else a denial with it as the reason.
//!
//! A command's output is read as what it is; a denial is read as one, which is why it comes last.

use crate::budget::{BASH_CHANNEL_MAX, BASH_INLINE_MAX, MAX_REPLAY_REASON};
use crate::event::ToolRef;

/// What is done with the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InPlace {
    /// It runs this command instead.
    Command(String),
    /// This text is written to a file of the user alone (mode 0600, removed after an hour), and the call runs [`print_file`] of it.
    /// Where the file cannot be written, the call is denied with `otherwise`.
    File {
        /// The text.
        text: String,
        /// The reason of the denial.
        otherwise: String,
    },
    /// It is denied, for this reason.
    Deny(String),
}

/// How many characters a text may have that takes the place of a call of this tool.
#[must_use]
pub fn room(tool: &ToolRef) -> usize {
    if prints(tool) { BASH_CHANNEL_MAX } else { MAX_REPLAY_REASON }
}

/// The best way for a text.
#[must_use]
pub fn in_place(tool: &ToolRef, text: &str) -> InPlace {
    let text = crate::quote::cut(text, room(tool));
    if !prints(tool) {
        return InPlace::Deny(text);
    }
    if text.chars().count() > BASH_INLINE_MAX {
        return InPlace::File { otherwise: text.clone(), text };
    }
    let end = delimiter(&text);
    InPlace::Command(format!("cat <<'{end}'\n{text}\n{end}"))
}

/// The command that prints a file. None: its path cannot be said in a command.
#[must_use]
pub fn print_file(path: &str) -> Option<String> {
    let sayable = !path.is_empty() && !path.contains(['\'', '\0', '\n', '\r']);
    sayable.then(|| format!("cat -- '{path}'"))
}

/// Only this tool is known to run its command by a shell that has here-documents.
fn prints(tool: &ToolRef) -> bool {
    tool.server.is_none() && tool.name == "Bash"
}

/// A line that no line of the text is, white space at its ends aside.
fn delimiter(text: &str) -> String {
    let taken = |end: &str| text.split(['\n', '\r']).any(|line| line.trim() == end);
    let mut end = "BIR_REPLAY_END".to_owned();
    let mut n = 0_usize;
    while taken(&end) {
        n += 1;
        end = format!("BIR_REPLAY_END_{n}");
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bash() -> ToolRef {
        ToolRef { name: "Bash".into(), ..ToolRef::default() }
    }

    #[test]
    fn a_command_prints_what_it_is_given_and_does_nothing_else() {
        let text = "a\nBIR_REPLAY_END\n$(rm x) `rm y`\n BIR_REPLAY_END_1";
        assert_eq!(
            in_place(&bash(), text),
            InPlace::Command(format!("cat <<'BIR_REPLAY_END_2'\n{text}\nBIR_REPLAY_END_2"))
        );
    }

    #[test]
    fn a_long_text_goes_through_a_file_and_a_longer_one_is_cut() {
        let InPlace::File { text, otherwise } = in_place(&bash(), &"ä".repeat(BASH_INLINE_MAX + 1)) else {
            panic!("no file")
        };
        assert!(text.chars().count() == BASH_INLINE_MAX + 1 && text == otherwise);
        let InPlace::File { text, .. } = in_place(&bash(), &"x".repeat(90_000)) else { panic!("no file") };
        assert_eq!(text.chars().count(), BASH_CHANNEL_MAX);
        assert_eq!(print_file("/home/a b/x").as_deref(), Some("cat -- '/home/a b/x'"));
        assert!([print_file("/it's"), print_file("a\nb"), print_file("")].iter().all(Option::is_none));
    }

    #[test]
    fn any_other_tool_is_denied() {
        for tool in [
            ToolRef { name: "Read".into(), ..ToolRef::default() },
            ToolRef { name: "PowerShell".into(), ..ToolRef::default() },
            ToolRef { name: "Bash".into(), server: Some("s".into()), tool: Some("Bash".into()) },
        ] {
            let InPlace::Deny(reason) = in_place(&tool, &"x".repeat(90_000)) else { panic!("{tool:?}") };
            assert_eq!(reason.chars().count(), MAX_REPLAY_REASON);
        }
    }
}
