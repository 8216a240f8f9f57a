//! The step between `bir up` and the hub: a session of its own, so that neither the end of the terminal nor Ctrl-C in it
//! ends the hub. This process becomes the hub, so the hub has the pid that `bir up` started.

use crate::error::CommandError;
use std::ffi::OsString;
use std::process::Command;

/// Becomes the program, in a new session. Comes back only if that fails.
///
/// # Errors
///
/// The program cannot be run.
pub(crate) fn run(argv: &[OsString]) -> Result<(), CommandError> {
    let (program, arguments) =
        argv.split_first().ok_or_else(|| CommandError::usage("no program; this command is for `bir up`"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    let shown = program.to_string_lossy();
    let failed = |e: std::io::Error| CommandError::failed(format!("cannot start {shown}: {e}"));
    #[cfg(unix)]
    {
        // Fails only for the leader of a group, which is alone in it already.
        let _ = rustix::process::setsid();
        Err(failed(std::os::unix::process::CommandExt::exec(&mut command)))
    }
    #[cfg(not(unix))]
    {
        command.spawn().map(|_| ()).map_err(failed)
    }
}
