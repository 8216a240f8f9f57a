//! What Linux alone offers: the parent-death signal.

use rustix::process::Signal;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

pub(super) fn prepare(command: &mut Command) {
    command.process_group(0);
    let parent = rustix::process::getpid();
    let set_parent_death_signal = move || {
        // SIGKILL and not SIGTERM: a host that kills a server would have killed it like this without us.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // We may have died between fork and the line above; then nobody would send the signal.
        if rustix::process::getppid() != Some(parent) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec and makes two system calls; it allocates nothing and takes no lock.
    #[expect(unsafe_code, reason = "a parent-death signal can only be set by the child itself, before exec")]
    unsafe {
        command.pre_exec(set_parent_death_signal);
    }
}

pub(super) fn exec(command: &mut Command) -> io::Error {
    command.exec()
}

pub(super) fn is_exec_format_error(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error())
}
