//! `bir completions` and `bir man`: what shells and `man` know of the command line, made from its definition.

use crate::cli::Cli;
use crate::error::CommandError;
use crate::{out, say};
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use std::path::{Path, PathBuf};

/// How each shell takes them up.
const COMPLETIONS: &str = "How to use them:
  bash         bir completions bash > ~/.local/share/bash-completion/completions/bir
  zsh          bir completions zsh > DIR/_bir   (DIR: a directory of your $fpath; then start zsh anew)
  fish         bir completions fish > ~/.config/fish/completions/bir.fish
  elvish       eval (bir completions elvish | slurp)   in rc.elv
  powershell   bir completions powershell | Out-String | Invoke-Expression   in $PROFILE";

#[derive(Args)]
#[command(after_help = COMPLETIONS)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

#[derive(Args)]
pub(crate) struct ManArgs {
    /// The directory, which is made.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Prints the completions of a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), CommandError> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bir", &mut text);
    Ok(out::raw(&text)?)
}

/// Writes a page for `bir` and one for each command.
pub(crate) fn man(args: &ManArgs) -> Result<(), CommandError> {
    let failed = |path: &Path, e| CommandError::failed(format!("cannot write {}: {e}", path.display()));
    if args.dir.exists() && !args.dir.is_dir() {
        return Err(CommandError::failed(format!(
            "{} is a file; name the directory that the pages are to be in",
            args.dir.display()
        )));
    }
    std::fs::create_dir_all(&args.dir).map_err(|e| failed(&args.dir, e))?;
    let mut count = 0;
    for (name, text) in pages()? {
        let file = args.dir.join(format!("{name}.1"));
        std::fs::write(&file, text).map_err(|e| failed(&file, e))?;
        count += 1;
    }
    say(format_args!("{count} pages are in {}", args.dir.display()));
    Ok(())
}

/// Every page with its name: `bir`, `bir-runs`, `bir-runs-list` …
fn pages() -> Result<Vec<(String, Vec<u8>)>, CommandError> {
    let mut command = Cli::command();
    // Fills in what each command takes from those above it, and its full name.
    command.build();
    let (mut all, mut left) = (Vec::new(), vec![("bir".to_owned(), command)]);
    while let Some((name, command)) = left.pop() {
        let shown = |sub: &&Command| !sub.is_hide_set() && sub.get_name() != "help";
        left.extend(
            command
                .get_subcommands()
                .filter(shown)
                .map(|sub| (format!("{name}-{}", sub.get_name()), sub.clone())),
        );
        let mut text = Vec::new();
        clap_mangen::Man::new(command.display_name(name.clone())).render(&mut text)?;
        all.push((name, text));
    }
    all.sort();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn each_command_has_a_page_that_names_its_options() {
        let pages = pages().unwrap();
        let text = |name: &str| {
            let (_, page) = pages.iter().find(|(page, _)| page == name).unwrap();
            String::from_utf8(page.clone()).unwrap()
        };
        assert!(text("bir").contains("bir\\-runs"), "the commands are named");
        assert!(text("bir-runs-list").contains("\\-\\-outcome"));
        assert!(pages.iter().all(|(name, _)| !name.contains("detach") && !name.contains("sample")));
    }

    #[test]
    fn pages_go_into_a_directory_alone_and_each_shell_is_told_how() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let said = man(&ManArgs { dir: file.path().into() }).unwrap_err().to_string();
        assert!(said.contains("is a file; name the directory"), "{said}");
        for shell in Shell::value_variants() {
            assert!(COMPLETIONS.contains(&format!("bir completions {shell}")), "{shell}");
        }
    }

    #[test]
    fn each_shell_completes_commands_and_options() {
        for shell in Shell::value_variants() {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "bir", &mut text);
            let text = String::from_utf8(text).unwrap();
            assert!(text.contains("runs") && text.contains("outcome"), "{shell}");
        }
    }
}
