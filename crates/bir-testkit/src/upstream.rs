//! Starting the test upstream from a test.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::bins::{self, BinError};
use crate::host::{HostCommand, HostError, StdioHost};
use crate::log::{self, Event};
use crate::script::{Eras, Script};

/// Budget for the binary to write its port.
const START_BUDGET: Duration = Duration::from_secs(20);

/// Why an upstream could not be started.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The binary is not to be had.
    #[error(transparent)]
    Bin(#[from] BinError),
    /// It did not start.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A file or socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It gave no port in time.
    #[error("the upstream wrote no port within {START_BUDGET:?}: {0}")]
    NoPort(String),
}

/// A test upstream: its script, its log, and how to start it.
///
/// For stdio, [`TestUpstream::command`] is what a host (or a proxy) starts; each start is a process of its
/// own that appends to the same log. Over HTTP and SSE, [`TestUpstream::http`] and [`TestUpstream::sse`] start the
/// binary; [`crate::InsideUpstream`] serves from a thread of the test instead.
pub struct TestUpstream {
    dir: TempDir,
    script: Script,
    program: PathBuf,
}

impl TestUpstream {
    /// An upstream with this script.
    ///
    /// # Errors
    /// The binary is not to be had, or the script cannot be written.
    pub fn new(script: Script) -> Result<Self, UpstreamError> {
        let dir = tempfile::Builder::new().prefix("bir-testkit-").tempdir()?;
        script.save(&dir.path().join("script.json"))?;
        std::fs::write(dir.path().join("log.jsonl"), "")?;
        Ok(Self { dir, script, program: bins::test_upstream()? })
    }

    /// A well-behaved upstream with the default tools.
    ///
    /// # Errors
    /// As [`TestUpstream::new`].
    pub fn plain(era: Eras) -> Result<Self, UpstreamError> {
        Self::new(Script::era(era))
    }

    /// Its script.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// A directory that lives as long as this value.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The file of its log.
    pub fn log_path(&self) -> PathBuf {
        self.dir.path().join("log.jsonl")
    }

    fn base(&self) -> HostCommand {
        HostCommand::new(&self.program)
            .arg("--script")
            .arg(self.dir.path().join("script.json"))
            .arg("--log")
            .arg(self.log_path())
    }

    /// The command that serves stdio.
    pub fn command(&self) -> HostCommand {
        self.base().arg("--stdio")
    }

    /// Starts it on stdio, with the test as the host.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn host(&self) -> Result<StdioHost, UpstreamError> {
        Ok(self.command().start()?)
    }

    /// The events so far.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn events(&self) -> io::Result<Vec<Event>> {
        log::read(&self.log_path())
    }

    /// The exact bytes of every message it has received, without line ends.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn lines(&self) -> io::Result<Vec<Vec<u8>>> {
        Ok(self.events()?.iter().filter(|event| event.name() == "line").map(Event::bytes).collect())
    }

    /// Waits until the log has what is asked for; gives all events then.
    ///
    /// # Errors
    /// The log cannot be read, or the budget is over (the message has the events so far).
    pub fn wait_log(&self, budget: Duration, ready: impl Fn(&[Event]) -> bool) -> io::Result<Vec<Event>> {
        let deadline = Instant::now() + budget;
        loop {
            let events = self.events()?;
            if ready(&events) {
                return Ok(events);
            }
            if Instant::now() >= deadline {
                let names: Vec<String> =
                    events.iter().map(|e| format!("{} {}", e.name(), e.str("text"))).collect();
                return Err(io::Error::new(io::ErrorKind::TimedOut, names.join("\n")));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts it as a Streamable HTTP server on a free loopback port.
    ///
    /// # Errors
    /// It cannot be started or gives no port.
    pub fn http(&self) -> Result<HttpUpstream, UpstreamError> {
        self.serve("--http")
    }

    /// Starts it as a legacy HTTP+SSE server on a free loopback port.
    ///
    /// # Errors
    /// It cannot be started or gives no port.
    pub fn sse(&self) -> Result<HttpUpstream, UpstreamError> {
        self.serve("--sse")
    }

    fn serve(&self, transport: &str) -> Result<HttpUpstream, UpstreamError> {
        self.serve_at(transport, "127.0.0.1:0")
    }

    /// Starts it again at an address it had before (`--http` or `--sse`), for restarts under a client.
    ///
    /// # Errors
    /// It cannot be started or gives no port.
    pub fn serve_at(&self, transport: &str, address: &str) -> Result<HttpUpstream, UpstreamError> {
        let port_file = self.dir.path().join("port");
        // A port of an earlier start must not be taken for this one's.
        if let Err(error) = std::fs::remove_file(&port_file)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error.into());
        }
        let command = self.base().args([transport, address]).arg("--port-file").arg(&port_file);
        let mut host = command.start()?;
        let deadline = Instant::now() + START_BUDGET;
        loop {
            let written = std::fs::read_to_string(&port_file).unwrap_or_default();
            if let Some(port) = written.strip_suffix('\n').and_then(|port| port.parse().ok()) {
                let path = self.script.http.path.clone();
                return Ok(HttpUpstream { host, port, path });
            }
            if Instant::now() >= deadline || host.wait_exit(Duration::ZERO).is_ok() {
                return Err(UpstreamError::NoPort(host.stderr_text()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A running HTTP or SSE upstream; ends when dropped.
pub struct HttpUpstream {
    /// The process.
    pub host: StdioHost,
    /// Its port on 127.0.0.1.
    pub port: u16,
    path: String,
}

impl HttpUpstream {
    /// The endpoint's URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.port, self.path)
    }
}
