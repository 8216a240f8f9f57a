//! macOS has no parent-death signal: when we are killed, the child learns of it by the end of its stdin.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

pub(super) fn prepare(command: &mut Command) {
    command.process_group(0);
}

pub(super) fn exec(command: &mut Command) -> io::Error {
    command.exec()
}

pub(super) fn is_exec_format_error(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error())
}
