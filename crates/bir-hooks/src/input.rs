//! stdin, read to its end within a budget: a host that never closes it must not hang on us.

use std::time::Duration;

/// How long reading may take.
const BUDGET: Duration = Duration::from_secs(2);
/// Longest payload, in bytes.
const LONGEST: usize = 64 * 1024 * 1024;

/// All of stdin. None: it did not end in time, it is longer than any payload, or it cannot be read. What is too long is read to its end
/// all the same: a host may take a pipe that breaks for an error.
pub(crate) fn read() -> Option<String> {
    let bytes = bytes()?;
    Some(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

#[cfg(unix)]
fn bytes() -> Option<Vec<u8>> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::io::Read as _;
    use std::time::Instant;

    let stdin = rustix::stdio::stdin();
    // Unbuffered, so that what `poll` says is true of what is read.
    let mut file = std::fs::File::from(stdin.try_clone_to_owned().ok()?);
    let deadline = Instant::now() + BUDGET;
    let mut bytes = Vec::with_capacity(16 * 1024);
    let mut chunk = [0; 64 * 1024];
    let mut is_too_long = false;
    loop {
        let left = deadline.checked_duration_since(Instant::now())?;
        let left = Timespec::try_from(left).ok()?;
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&left)) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
        }
        match file.read(&mut chunk) {
            Ok(0) => return (!is_too_long).then_some(bytes),
            Ok(n) if is_too_long || bytes.len() + n > LONGEST => {
                is_too_long = true;
                bytes = Vec::new();
            }
            Ok(n) => bytes.extend_from_slice(&chunk[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

#[cfg(not(unix))]
fn bytes() -> Option<Vec<u8>> {
    use std::io::Read as _;

    // Nothing here can wait for a pipe within a budget but a thread, which ends with the process.
    let (done, waits) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().take(LONGEST as u64).read_to_end(&mut bytes);
        let rest = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = done.send(matches!((read, rest), (Ok(_), Ok(0))).then_some(bytes));
    });
    waits.recv_timeout(BUDGET).ok().flatten()
}
