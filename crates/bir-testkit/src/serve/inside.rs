//! A test upstream inside the test process, over HTTP or SSE.
//!
//! Steps that end the process stop this server instead and close its connections; what would go to stderr is
//! logged as `stderr`; a grandchild cannot be started.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::log::{Event, Log};
use crate::script::Script;
use crate::serve::engine::Engine;
use crate::serve::http_server::{Face, Server, Stop};
use crate::serve::process::Inside;

/// A server on a thread of this process; stops when dropped.
pub struct InsideUpstream {
    /// Its port on 127.0.0.1.
    pub port: u16,
    path: String,
    log: Log,
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl InsideUpstream {
    /// Streamable HTTP.
    ///
    /// # Errors
    /// No port can be bound.
    pub fn http(script: Script) -> io::Result<Self> {
        Self::serve(script, Face::Streamable)
    }

    /// Legacy HTTP+SSE.
    ///
    /// # Errors
    /// No port can be bound.
    pub fn sse(script: Script) -> io::Result<Self> {
        Self::serve(script, Face::LegacySse)
    }

    fn serve(script: Script, face: Face) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let (log, stop) = (Log::memory(), Arc::new(Stop::default()));
        let path = script.http.path.clone();
        let ends = stop.clone();
        let process = Arc::new(Inside::new(log.clone(), Arc::new(move || ends.now())));
        let server = Server::new(Engine::new(script, log.clone(), process), face, stop.clone());
        let thread = std::thread::spawn(move || {
            // An accept that fails ends the server; its clients then see a refused connection.
            let _ = server.serve(&listener);
        });
        Ok(Self { port, path, log, stop, thread: Some(thread) })
    }

    /// The endpoint's URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.port, self.path)
    }

    /// What it has seen so far.
    pub fn events(&self) -> Vec<Event> {
        self.log.events()
    }
}

impl Drop for InsideUpstream {
    fn drop(&mut self) {
        self.stop.now();
        if let Some(thread) = self.thread.take() {
            // It only panics if a connection's thread could not be started.
            let _ = thread.join();
        }
    }
}
