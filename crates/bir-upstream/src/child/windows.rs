//! Windows: no process groups and no `exec`; a process that stands for another one waits for it and passes on its status.

use std::io;
use std::process::Command;

/// `ERROR_BAD_EXE_FORMAT`.
const BAD_EXE_FORMAT: i32 = 193;

pub(super) fn prepare(_command: &mut Command) {}

pub(super) fn exec(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}

pub(super) fn is_exec_format_error(error: &io::Error) -> bool {
    error.raw_os_error() == Some(BAD_EXE_FORMAT)
}
