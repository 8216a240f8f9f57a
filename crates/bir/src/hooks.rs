//! `bir hooks`: what a host's configuration has to hold so that the host tells of its prompts, its built-in tools and its
//! answers. On stdout is that text alone; where it belongs stands on stderr.

use crate::error::CommandError;
use crate::home::Home;
use crate::programs::{self, LocateError};
use crate::project::here;
use crate::wrap::quoted;
use crate::{out, say};
use bir_control_client::projects;
use bir_hosts::{Hooks, Host, hooks};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct HooksArgs {
    /// The host.
    #[arg(value_name = "HOST", value_parser = PossibleValuesParser::new(Host::INSTALLED.map(possible)))]
    host: String,
    /// The program that the hooks start [default: bir-hooks beside bir, else on PATH].
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// How a host is named on the command line.
fn possible(host: Host) -> PossibleValue {
    PossibleValue::new(host.as_str()).aliases(host.other_name())
}

/// Prints them.
pub(crate) fn run(args: &HooksArgs) -> Result<(), CommandError> {
    let program = program(args.program.clone())?;
    let unknown = || CommandError::usage(format!("there are no hooks for `{}`", args.host));
    let found = Host::named(&args.host).and_then(|host| hooks(host, &program)).ok_or_else(unknown)?;
    out::raw(found.text.as_bytes())?;
    if let Some(warning) = crate::wrap::in_a_build_folder(Path::new(&program)) {
        say(warning);
    }
    let set_up =
        Home::find().is_ok_and(|home| here().is_ok_and(|dir| projects::nearest(&home.dir, &dir).is_some()));
    let person = Person { host: &args.host, command: &command(args), is_there: is_there(&found), set_up };
    places(&found, &person).iter().for_each(say);
    Ok(())
}

/// What is known of whoever reads it.
struct Person<'a> {
    host: &'a str,
    /// The command that prints the hooks.
    command: &'a str,
    /// The file of the home directory exists: nothing may be written over it.
    is_there: bool,
    /// The project that the person is in.
    set_up: bool,
}

/// Whether the file is there, whatever it is; where home is not known, it may be.
fn is_there(found: &Hooks) -> bool {
    std::env::home_dir().is_none_or(|home| home.join(found.in_home).symlink_metadata().is_ok())
}

/// The command that prints them, as a shell reads it.
fn command(args: &HooksArgs) -> String {
    let program = args.program.as_ref().map(|file| format!(" --program {}", quoted(&file.to_string_lossy())));
    format!("bir hooks {}{}", args.host, program.unwrap_or_default())
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

/// Where it belongs, and what else is to be done. No command that writes is told for a file that is there.
fn places(found: &Hooks, person: &Person<'_>) -> Vec<String> {
    let Person { host, command, is_there, set_up } = person;
    let file = found.in_home;
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let write = format!("mkdir -p ~/{folder} && {command} > ~/{file}");
    let install = format!("`bir install --host {host} --dry-run` shows what would change in it");
    let mut lines = match (is_there, found.whole_file) {
        (true, true) => vec![format!("~/{file} is there already, and the whole file is ours: {install}")],
        (true, false) => vec![
            format!("~/{file} is there already: {install}, and without --dry-run it is done"),
            "by hand: copy the events into its `hooks`, behind those that are there".into(),
        ],
        (false, true) => vec![format!("the whole file is ours: {write}")],
        (false, false) => vec![format!("~/{file} is not there yet: {write}")],
    };
    lines.extend(found.in_project.map(|file| format!("for one project alone: {file} in it")));
    lines.extend(found.note.map(|note| format!("note: {note}")));
    lines.push(
        if *set_up {
            "then start a new session of the host"
        } else {
            "then set the project up with `bir project add` (`bir install` does both), and start a new session of the host"
        }
        .into(),
    );
    lines.push("to check: `bir status` shows a session while the host runs".into());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_where_it_belongs() {
        let mut found = Hooks {
            in_home: ".x/y/settings.json",
            in_project: Some(".x/local.json"),
            whole_file: false,
            text: String::new(),
            note: Some("trust them"),
        };
        let person = |is_there, set_up| Person { host: "x", command: "bir hooks x", is_there, set_up };
        assert_eq!(
            places(&found, &person(false, false)),
            [
                "~/.x/y/settings.json is not there yet: mkdir -p ~/.x/y && bir hooks x > ~/.x/y/settings.json",
                "for one project alone: .x/local.json in it",
                "note: trust them",
                "then set the project up with `bir project add` (`bir install` does both), and start a new session of the host",
                "to check: `bir status` shows a session while the host runs",
            ]
        );
        assert_eq!(
            places(&found, &person(true, true)),
            [
                "~/.x/y/settings.json is there already: `bir install --host x --dry-run` shows what would change in it, \
                 and without --dry-run it is done",
                "by hand: copy the events into its `hooks`, behind those that are there",
                "for one project alone: .x/local.json in it",
                "note: trust them",
                "then start a new session of the host",
                "to check: `bir status` shows a session while the host runs",
            ]
        );
        (found.whole_file, found.in_project, found.note) = (true, None, None);
        assert_eq!(
            places(&found, &person(false, true)),
            [
                "the whole file is ours: mkdir -p ~/.x/y && bir hooks x > ~/.x/y/settings.json",
                "then start a new session of the host",
                "to check: `bir status` shows a session while the host runs",
            ]
        );
        assert!(!places(&found, &person(true, true)).concat().contains('>'));
    }
}
