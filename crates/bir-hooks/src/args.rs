//! The command line, parsed by hand: a hook starts in about a millisecond.

use bir_hosts::Host;
use std::ffi::OsString;
use thiserror::Error;

pub(crate) const USAGE: &str = "\
bir-hooks: what a host's hooks start, and the control server

usage: bir-hooks hook EVENT [--host HOST]
       bir-hooks serve [--detached] [--force]
       bir-hooks revive

  hook EVENT     takes an event from stdin and tells the control server of it; always exits 0
    --host HOST  the host for which the hook was installed: claude-code (default), codex, copilot-cli, gemini-cli, opencode
  serve          runs the control server
    --detached   in a session of its own
    --force      in the place of one that runs
  revive         starts the control server where it is not running
  --version, --help

environment:
  BIR_CONTROL_URL, BIR_CONTROL_TOKEN  the control server, where no file says it
  BIR_OFF=1                           tell nothing
  BIR_HOME                            the state directory (default ~/.baseinstrunner)
";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    Help,
    Version,
    Hook(Asked),
    Serve { detached: bool, force: bool },
    Revive,
}

/// A hook that was called.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The event for which it was installed.
    pub(crate) event: String,
    /// The host for which it was installed.
    pub(crate) via: Host,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum UsageError {
    #[error("nothing is asked for")]
    Nothing,
    #[error("unknown command `{0}`")]
    UnknownCommand(String),
    #[error("unexpected argument `{0}`")]
    Stray(String),
}

/// Reads the command line. A hook's is never wrong: what is not understood of it counts as not said.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed, UsageError> {
    let mut args = args.into_iter().map(|arg| arg.to_string_lossy().into_owned());
    let command = args.next().ok_or(UsageError::Nothing)?;
    match command.as_str() {
        "hook" => Ok(Parsed::Hook(hook(args))),
        "serve" => {
            let (mut detached, mut force) = (false, false);
            for arg in args {
                match arg.as_str() {
                    "--detached" => detached = true,
                    "--force" => force = true,
                    _ => return Err(UsageError::Stray(arg)),
                }
            }
            Ok(Parsed::Serve { detached, force })
        }
        "revive" => args.next().map_or(Ok(Parsed::Revive), |arg| Err(UsageError::Stray(arg))),
        "--help" | "-h" => Ok(Parsed::Help),
        "--version" | "-V" => Ok(Parsed::Version),
        _ => Err(UsageError::UnknownCommand(command)),
    }
}

fn hook(mut args: impl Iterator<Item = String>) -> Asked {
    let (mut event, mut via) = (None, None);
    while let Some(arg) = args.next() {
        match arg.strip_prefix("--host") {
            Some("") => via = args.next(),
            Some(value) => via = value.strip_prefix('=').map(ToOwned::to_owned),
            None if event.is_none() && !arg.starts_with('-') => event = Some(arg),
            None => {}
        }
    }
    Asked {
        event: event.unwrap_or_else(|| "unknown".into()),
        via: via
            .and_then(|name| Host::named(&name))
            .filter(|host| Host::INSTALLED.contains(host))
            .unwrap_or(Host::ClaudeCode),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Parsed, UsageError> {
        parse(line.split(' ').filter(|arg| !arg.is_empty()).map(OsString::from))
    }

    #[test]
    fn a_hook_is_never_wrong() {
        let hook = |event: &str, via| Ok(Parsed::Hook(Asked { event: event.into(), via }));
        assert_eq!(of("hook PreToolUse"), hook("PreToolUse", Host::ClaudeCode));
        for name in ["gemini-cli", "gemini"] {
            assert_eq!(of(&format!("hook BeforeTool --host {name}")), hook("BeforeTool", Host::GeminiCli));
        }
        assert_eq!(of("hook --host=codex Stop"), hook("Stop", Host::Codex));
        for odd in ["hook Stop --host", "hook Stop --host cursor", "hook Stop --what x", "hook --hosts Stop"]
        {
            assert_eq!(of(odd), hook("Stop", Host::ClaudeCode), "{odd}");
        }
        assert_eq!(of("hook"), hook("unknown", Host::ClaudeCode));
    }

    #[test]
    fn the_rest_is_read_strictly() {
        assert_eq!(of("serve"), Ok(Parsed::Serve { detached: false, force: false }));
        assert_eq!(of("serve --force --detached"), Ok(Parsed::Serve { detached: true, force: true }));
        assert_eq!(of("revive"), Ok(Parsed::Revive));
        assert_eq!(of("serve x"), Err(UsageError::Stray("x".into())));
        assert_eq!(of("revive x"), Err(UsageError::Stray("x".into())));
        assert_eq!(of("x"), Err(UsageError::UnknownCommand("x".into())));
        assert_eq!(of(""), Err(UsageError::Nothing));
    }
}
