//! Reference upstream: a fast MCP server with tools that exercise a proxy.
//!
//! ```text
//! ref-upstream                      stdio, newline-delimited JSON-RPC
//! ref-upstream --http 127.0.0.1:P   Streamable HTTP on /mcp (GET answers 405); prints its URL on a line (P may be 0)
//! ```

mod http;
mod tools;

use bir_bench::{Lines, locked};
use std::fs::File;
use std::io::{Error, Write};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, atomic::Ordering::Relaxed};
use std::time::Duration;
use tools::{Core, Sink};

/// How long a stubborn upstream outlives the end of its input.
const STUBBORN: Duration = Duration::from_secs(60);

struct Stdout(Mutex<File>);

impl Sink for Stdout {
    fn send(&self, message: &[u8], _last: bool) {
        let _ = locked(&self.0).write_all(&[message, b"\n"].concat());
    }
}

fn serve_stdio(core: &Arc<Core>) -> Result<(), Error> {
    let out = Arc::new(Stdout(Mutex::new(File::from(std::io::stdout().as_fd().try_clone_to_owned()?))));
    let mut lines = Lines::new(std::io::stdin().as_fd().try_clone_to_owned()?);
    while let Ok(line) = lines.next(None) {
        if tools::is_slow(&line) {
            let (core, out) = (core.clone(), out.clone());
            std::thread::spawn(move || tools::handle(&core, &line, &*out));
        } else {
            tools::handle(core, &line, &*out);
        }
    }
    if core.stubborn.load(Relaxed) {
        std::thread::sleep(STUBBORN);
    }
    Ok(())
}

fn serve_http(core: &Arc<Core>, address: &str) -> Result<(), Error> {
    let listener = TcpListener::bind(address)?;
    if !listener.local_addr()?.ip().is_loopback() {
        return Err(Error::other("the reference upstream listens on loopback only"));
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "http://{}/mcp", listener.local_addr()?)?;
    out.flush()?;
    for socket in listener.incoming().flatten() {
        let core = core.clone();
        std::thread::spawn(move || http::serve(&core, socket));
    }
    Ok(())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let served = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => serve_stdio(&Arc::new(Core::new(false))),
        ["--http", address] => serve_http(&Arc::new(Core::new(true)), address),
        _ => Err(Error::other("usage: ref-upstream [--http 127.0.0.1:PORT]")),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("ref-upstream: {e}");
            ExitCode::from(2)
        }
    }
}
