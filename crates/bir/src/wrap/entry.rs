//! The wrapped entry: what any host needs to start the proxy in front of the server.

use super::request::{HEADERS, Request, Server};
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Absolute, since hosts start with a PATH of their own.
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
}

impl Entry {
    pub(crate) fn new(request: &Request, proxy: PathBuf) -> Self {
        let mut args = vec!["--server-name".to_string(), request.name.as_str().into()];
        for (on, option) in [(request.lazy, "--lazy"), (request.restart, "--restart")] {
            if on {
                args.push(option.into());
            }
        }
        match &request.server {
            Server::Command { program, args: given } => {
                args.extend(["--".into(), program.clone()]);
                args.extend(given.iter().cloned());
            }
            Server::Remote { url, transport } => {
                args.extend(["--url".into(), url.clone()]);
                if let Some(t) = transport {
                    args.extend(["--transport".into(), t.as_str().into()]);
                }
            }
        }
        let mut env = request.env.clone();
        env.extend(request.headers.iter().map(|h| (HEADERS.to_string(), h.clone())));
        Self { name: request.name.as_str().into(), command: proxy.to_string_lossy().into_owned(), args, env }
    }

    pub(crate) fn holds_secrets(&self) -> bool {
        self.env.iter().any(|(k, _)| k == HEADERS)
    }
}
