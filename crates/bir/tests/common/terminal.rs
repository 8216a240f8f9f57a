//! A person at a terminal: stdin and stderr of a program are one, its stdout goes into a pipe.

use super::Said;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// How long a command may take.
const BUDGET: Duration = Duration::from_secs(60);
/// The key that ends the input.
pub(crate) const END: &str = "\u{4}";

/// Runs a command, and types an answer that it reads once it asks.
pub(crate) fn typed(mut command: Command, answer: &str) -> Said {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    command.stdin(slave.try_clone().unwrap()).stderr(slave).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The command holds the other end as well.
    drop(command);
    let mut master = File::from(master);
    master.write_all(answer.as_bytes()).unwrap();
    let (done, read) = channel();
    let (out, mut stdout) = (done.clone(), child.stdout.take().unwrap());
    std::thread::spawn(move || {
        let mut said = Vec::new();
        // Ends with an error once nobody holds the other end.
        let _ = master.read_to_end(&mut said);
        done.send((true, said))
    });
    std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = stdout.read_to_end(&mut said);
        out.send((false, said))
    });
    let until = Instant::now() + BUDGET;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() >= until {
            child.kill().unwrap();
            panic!("it goes on after {BUDGET:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let mut said = Said { status: status.code(), out: String::new(), err: String::new() };
    for _ in 0..2 {
        let (is_err, bytes) = read.recv_timeout(BUDGET).unwrap();
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        if is_err { said.err = text } else { said.out = text }
    }
    said
}
