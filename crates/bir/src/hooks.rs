//! `bir hooks`: what a host's configuration has to hold so that the host tells of its prompts, its built-in tools and its
//! answers. On stdout is that text alone; where it belongs stands on stderr.

use crate::error::CommandError;
use crate::programs::{self, LocateError};
use crate::{out, say};
use bir_hosts::{Hooks, Host, hooks};
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct HooksArgs {
    /// The host.
    #[arg(value_name = "HOST", value_parser = PossibleValuesParser::new(Host::INSTALLED.map(Host::as_str)))]
    host: String,
    /// The program that the hooks start [default: bir-hooks beside bir, else on PATH].
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Prints them.
pub(crate) fn run(args: &HooksArgs) -> Result<(), CommandError> {
    let program = program(args.program.clone())?;
    let unknown = || CommandError::usage(format!("there are no hooks for `{}`", args.host));
    let found = Host::named(&args.host).and_then(|host| hooks(host, &program)).ok_or_else(unknown)?;
    out::raw(found.text.as_bytes())?;
    if let Some(warning) = crate::wrap::in_a_build_folder(std::path::Path::new(&program)) {
        say(warning);
    }
    places(&found).iter().for_each(say);
    Ok(())
}

/// The absolute path of the program, as a configuration can hold it.
fn program(given: Option<PathBuf>) -> Result<String, CommandError> {
    let failed = |e: LocateError| CommandError::failed(e.to_string());
    let program = match given {
        None => programs::program(programs::HOOKS).map_err(failed)?,
        Some(file) if !file.is_file() => {
            return Err(CommandError::failed(format!("there is no program {}", file.display())));
        }
        Some(file) => std::path::absolute(&file)
            .map_err(|e| CommandError::failed(format!("`{}` is no path: {e}", file.display())))?,
    };
    program.into_os_string().into_string().map_err(|path| failed(LocateError::NotUtf8(path.into())))
}

/// Where it belongs, and what else is to be done.
fn places(found: &Hooks) -> Vec<String> {
    let how = if found.whole_file { "this is the whole file" } else { "merge this into the file" };
    let project = found.in_project.map(|file| format!(", for one project {file} in it")).unwrap_or_default();
    let mut lines = vec![format!("{how}: for every project ~/{}{project}", found.in_home)];
    lines.extend(found.note.map(|note| format!("note: {note}")));
    lines.push("then set the project up with `bir project add`, and start a new session of the host".into());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_where_it_belongs() {
        let mut found = Hooks {
            in_home: ".x/settings.json",
            in_project: Some(".x/local.json"),
            whole_file: false,
            text: String::new(),
            note: Some("trust them"),
        };
        let lines = places(&found);
        assert_eq!(
            lines[0],
            "merge this into the file: for every project ~/.x/settings.json, for one project .x/local.json in it"
        );
        assert_eq!(lines[1], "note: trust them");
        (found.whole_file, found.in_project, found.note) = (true, None, None);
        assert_eq!(places(&found)[0], "this is the whole file: for every project ~/.x/settings.json");
        assert_eq!(places(&found).len(), 2);
    }
}
