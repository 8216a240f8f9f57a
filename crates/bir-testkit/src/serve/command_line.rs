//! The command line of `bir-test-upstream`.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::log::Log;
use crate::script::{Eras, Script};
use crate::serve::engine::Engine;
use crate::serve::http_server::{Face, Server, Stop};
use crate::serve::process::{Process, Real};

/// Seconds after which the process ends by itself, so that a stubborn one is never left behind.
const DEFAULT_LIFE: u64 = 300;

/// Exit status when the life is over.
const LIFE_OVER: i32 = 86;

const USAGE: &str = "usage: bir-test-upstream [--stdio | --http ADDR | --sse ADDR] [--era legacy|modern|dual] \
[--script F] [--log F] [--port-file F] [--framing newline|content-length] [--max-seconds N] [-- IGNORED...]";

enum Transport {
    Stdio,
    Http(String),
    Sse(String),
}

struct Options {
    transport: Transport,
    script: Script,
    log: Log,
    port_file: Option<PathBuf>,
    life: u64,
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        transport: Transport::Stdio,
        script: Script::new(),
        log: Log::nowhere(),
        port_file: None,
        life: DEFAULT_LIFE,
    };
    let (mut era, mut content_length) = (None, false);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} wants a value"));
        match arg.as_str() {
            "--stdio" => options.transport = Transport::Stdio,
            "--http" => options.transport = Transport::Http(value()?),
            "--sse" => options.transport = Transport::Sse(value()?),
            "--era" => {
                era = Some(match value()?.as_str() {
                    "legacy" => Eras::Legacy,
                    "modern" => Eras::Modern,
                    "dual" => Eras::Dual,
                    other => return Err(format!("no such era: {other}")),
                });
            }
            "--script" => {
                let path = PathBuf::from(value()?);
                options.script = Script::load(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            }
            "--log" => {
                let path = PathBuf::from(value()?);
                options.log = Log::file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            }
            "--port-file" => options.port_file = Some(value()?.into()),
            "--framing" => content_length = value()? == "content-length",
            "--max-seconds" => options.life = value()?.parse().map_err(|_| "--max-seconds wants a number")?,
            // Whatever follows is only there to be seen in the log (`argv`).
            "--" => break,
            other => return Err(format!("unknown option {other}")),
        }
    }
    if let Some(era) = era {
        options.script.era = era;
    }
    options.script.framing.content_length_in |= content_length;
    options.script.framing.content_length_out |= content_length;
    Ok(options)
}

/// Runs `bir-test-upstream` with the process's own arguments.
pub fn upstream_main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    if args.peek().map(String::as_str) == Some("--hold") {
        let rest: Vec<String> = args.collect();
        let seconds = rest.get(1).and_then(|n| n.parse().ok()).unwrap_or(1);
        let done = crate::serve::process::hold(seconds, rest.iter().any(|arg| arg == "--stubborn"));
        return if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let options = match parse(args) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("bir-test-upstream: {problem}\n{USAGE}");
            return ExitCode::from(64);
        }
    };
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bir-test-upstream: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> io::Result<()> {
    let process = Arc::new(Real::start(options.log.clone())?);
    let (life, watched) = (options.life, process.clone());
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(life));
        watched.exit(LIFE_OVER);
    });
    let engine = Engine::new(options.script, options.log, process);
    let (address, face) = match options.transport {
        Transport::Stdio => {
            crate::serve::stdio::serve(&engine);
            return Ok(());
        }
        Transport::Http(address) => (address, Face::Streamable),
        Transport::Sse(address) => (address, Face::LegacySse),
    };
    let listener = loopback(&address)?;
    announce(listener.local_addr()?.port(), options.port_file.as_deref())?;
    Server::new(engine, face, Arc::new(Stop::default())).serve(&listener)
}

/// Listens, on a loopback address only: a test server has no business elsewhere.
pub(crate) fn loopback(address: &str) -> io::Result<TcpListener> {
    let address: SocketAddr = address
        .parse()
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, format!("no address: {address}")))?;
    if !address.ip().is_loopback() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{address} is not a loopback address"),
        ));
    }
    TcpListener::bind(address)
}

/// Writes the port (with a newline, whole or not at all) to the file, or else to stderr.
pub(crate) fn announce(port: u16, file: Option<&Path>) -> io::Result<()> {
    let Some(file) = file else {
        // In one write, so that a reader never sees half a port.
        return io::stderr().write_all(format!("listening on 127.0.0.1:{port}\n").as_bytes());
    };
    let half = file.with_extension("part");
    std::fs::write(&half, format!("{port}\n"))?;
    std::fs::rename(half, file)
}
