//! The floor: runs a command and copies bytes both ways, without looking at them.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, ExitCode, Stdio};

fn copy(mut from: impl Read, mut to: impl Write) {
    let mut buf = vec![0u8; 1 << 16];
    while let Ok(n) = from.read(&mut buf) {
        if n == 0 || to.write_all(&buf[..n]).is_err() {
            break;
        }
    }
}

fn pump() -> std::io::Result<u8> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((program, rest)) = args.split_first() else {
        return Err(std::io::Error::other("usage: pump COMMAND [ARGUMENTS…]"));
    };
    let mut child = Command::new(program).args(rest).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(to_child), Some(from_child)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(std::io::Error::other("the child's pipes are missing"));
    };
    let host_in = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let host_out = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    std::thread::spawn(move || copy(host_in, to_child));
    copy(from_child, host_out);
    Ok(child.wait()?.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(1))
}

fn main() -> ExitCode {
    match pump() {
        Ok(code) => ExitCode::from(code),
        Err(e) => {
            eprintln!("pump: {e}");
            ExitCode::from(2)
        }
    }
}
