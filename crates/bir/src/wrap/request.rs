//! What is to be wrapped, checked.

use super::{header, name};
use crate::cli::{Transport, WrapArgs};
use bir_model::{ServerName, ServerNameError};
use http::Uri;
use std::ffi::OsString;
use thiserror::Error;

/// The variable that carries a remote server's headers to the proxy.
pub(crate) const HEADERS: &str = "BIR_UPSTREAM_HEADERS";

/// What is wrong with the command line, and what to do.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum RequestError {
    #[error("no server to wrap; give its command after `--`, or `--url URL`")]
    NoServer,
    #[error("both a command and `--url` are given; an entry stands for one server, so leave one out")]
    TwoServers,
    #[error("the command after `--` is empty; give the server's program")]
    EmptyCommand,
    #[error(
        "argument {0:?} is not valid UTF-8, and a configuration file cannot hold it; rename what it names"
    )]
    NotUtf8(OsString),
    #[error("`{0}` belongs to `--url`; leave it out for a command")]
    OnlyRemote(&'static str),
    #[error("`{0}` belongs to a command; leave it out with `--url`")]
    OnlyCommand(&'static str),
    #[error("`{url}` is no URL of a server: {why}; it looks like https://example.com/mcp")]
    Url { url: String, why: String },
    #[error(
        "the URL holds a user name or password, and arguments are visible to others; use --header 'Authorization: …'"
    )]
    UrlSecret,
    #[error("{0}; change `--name`")]
    Name(#[from] ServerNameError),
    #[error("`--env {shown}`: {why}; write NAME=VALUE")]
    Env { shown: String, why: &'static str },
    #[error("environment variable {0} is given twice; give it once")]
    EnvTwice(String),
    #[error("`--env {HEADERS}` and `--header` are both given; use `--header` for all headers")]
    HeadersTwice,
    #[error("{0}")]
    Header(#[from] header::HeaderError),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Command { program: String, args: Vec<String> },
    Remote { url: String, transport: Option<Transport> },
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) name: ServerName,
    pub(crate) server: Server,
    pub(crate) env: Vec<(String, String)>,
    /// The headers as one JSON object, if there are any.
    pub(crate) headers: Option<String>,
    pub(crate) lazy: bool,
    pub(crate) restart: bool,
}

impl Request {
    pub(crate) fn new(args: WrapArgs) -> Result<Self, RequestError> {
        let env = env(&args.env)?;
        let headers = header::parse_all(&args.header)?;
        let server = match (args.url, args.command.is_empty()) {
            (None, true) => return Err(RequestError::NoServer),
            (Some(_), false) => return Err(RequestError::TwoServers),
            (None, false) if args.transport.is_some() => return Err(RequestError::OnlyRemote("--transport")),
            (None, false) if headers.is_some() => return Err(RequestError::OnlyRemote("--header")),
            (Some(_), true) if args.lazy => return Err(RequestError::OnlyCommand("--lazy")),
            (Some(_), true) if args.restart => return Err(RequestError::OnlyCommand("--restart")),
            (None, false) => command(args.command)?,
            (Some(url), true) => Server::Remote { url: checked_url(url)?, transport: args.transport },
        };
        if headers.is_some() && env.iter().any(|(k, _)| k == HEADERS) {
            return Err(RequestError::HeadersTwice);
        }
        let name = match args.name {
            Some(n) => n,
            None => match &server {
                Server::Command { program, args } => name::of_command(program, args),
                Server::Remote { url, .. } => name::of_url(url),
            },
        };
        Ok(Self {
            name: ServerName::new(&name)?,
            server,
            env,
            headers,
            lazy: args.lazy,
            restart: args.restart,
        })
    }

    pub(crate) fn url_has_query(&self) -> bool {
        matches!(&self.server, Server::Remote { url, .. } if url.contains('?'))
    }
}

fn command(words: Vec<OsString>) -> Result<Server, RequestError> {
    let mut words = words.into_iter().map(|w| w.into_string().map_err(RequestError::NotUtf8));
    let program =
        words.next().transpose()?.filter(|p| !p.trim().is_empty()).ok_or(RequestError::EmptyCommand)?;
    Ok(Server::Command { program, args: words.collect::<Result<_, _>>()? })
}

fn checked_url(url: String) -> Result<String, RequestError> {
    let bad = |why: String| RequestError::Url { url: without_secret(&url), why };
    let uri: Uri = url.parse().map_err(|e: http::uri::InvalidUri| bad(e.to_string()))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(bad("it does not begin with http:// or https://".into()));
    }
    let authority = uri.authority().map(|a| a.as_str()).unwrap_or_default();
    if authority.contains('@') {
        return Err(RequestError::UrlSecret);
    }
    if uri.host().is_none_or(str::is_empty) {
        return Err(bad("it names no host".into()));
    }
    let port = authority.rsplit_once(']').map_or(authority, |(_, p)| p).split_once(':').map(|(_, p)| p);
    if port.is_some_and(|p| p.parse::<u16>().is_err()) {
        return Err(bad("its port is no number up to 65535".into()));
    }
    Ok(url)
}

/// A URL for a message: what stands before an `@` may be a password.
fn without_secret(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}"),
        None => url.chars().filter(|c| !c.is_control()).collect(),
    }
}

fn env(given: &[String]) -> Result<Vec<(String, String)>, RequestError> {
    let mut out: Vec<(String, String)> = vec![];
    for e in given {
        // The value may be a secret, so a message shows at most the name.
        let bad = |shown: &str, why| RequestError::Env { shown: shown.escape_debug().to_string(), why };
        let (k, v) = e.split_once('=').ok_or(bad("…", "there is no `=`"))?;
        if k.is_empty() {
            return Err(bad("=…", "the name is empty"));
        }
        if k.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(bad(&format!("{k}=…"), "a name cannot hold spaces or control characters"));
        }
        if out.iter().any(|(known, _)| known == k) {
            return Err(RequestError::EnvTwice(k.into()));
        }
        out.push((k.into(), v.into()));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn request(words: &[&str]) -> Result<Request, RequestError> {
        let all = ["bir", "wrap"].iter().chain(words);
        let Command::Wrap(args) = Cli::try_parse_from(all).ok().unwrap().command else {
            unreachable!("`wrap` is what was asked")
        };
        Request::new(*args)
    }

    #[test]
    fn mistakes_are_told_apart() {
        type E = RequestError;
        let cases: &[(&[&str], E)] = &[
            (&[], E::NoServer),
            (&["--url", "http://h/", "--", "x"], E::TwoServers),
            (&["--", ""], E::EmptyCommand),
            (&["--transport", "sse", "--", "x"], E::OnlyRemote("--transport")),
            (&["--header", "A: b", "--", "x"], E::OnlyRemote("--header")),
            (&["--lazy", "--url", "http://h/"], E::OnlyCommand("--lazy")),
            (&["--restart", "--url", "http://h/"], E::OnlyCommand("--restart")),
            (&["--url", "http://me:secret@h/"], E::UrlSecret),
            (&["--name", " ", "--", "x"], E::Name(ServerNameError::Empty)),
            (&["--env", "A=1", "--env", "A=2", "--", "x"], E::EnvTwice("A".into())),
            (
                &["--env", "BIR_UPSTREAM_HEADERS={}", "--header", "A: b", "--url", "http://h/"],
                E::HeadersTwice,
            ),
        ];
        for (words, error) in cases {
            assert_eq!(request(words).as_ref(), Err(error), "{words:?}");
            assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn what_is_no_url_is_refused_with_a_reason() {
        for url in [
            "",
            "x",
            "example.com/mcp",
            "ftp://h/",
            "http://",
            "http:///x",
            "http://h:99999/",
            "http://h:x/",
            "ht tp://h",
            "http://h/\u{7}",
        ] {
            let e = request(&["--url", url]).unwrap_err();
            assert!(matches!(e, RequestError::Url { .. }), "{url}: {e:?}");
            assert!(e.to_string().contains("https://example.com/mcp"), "{e}");
        }
        for url in ["http://localhost:3000/mcp", "https://[::1]:8443/a?b=c", "https://h"] {
            assert!(request(&["--url", url]).is_ok(), "{url}");
        }
    }

    #[test]
    fn environment_values_are_kept_and_never_shown() {
        let r = request(&["--env", "A=x=y\n", "--env", "B=", "--", "x"]).unwrap();
        assert_eq!(r.env, [("A".into(), "x=y\n".into()), ("B".into(), String::new())]);
        for bad in ["hunter2", "=hunter2", "A B=hunter2"] {
            let e = request(&["--env", bad, "--", "x"]).unwrap_err().to_string();
            assert!(!e.contains("hunter2") && e.contains("NAME=VALUE"), "{e}");
        }
    }
}
