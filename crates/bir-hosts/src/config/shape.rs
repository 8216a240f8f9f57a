//! How a host writes its servers down, as data. Most hosts are a table of this and a list of files.
//!
//! ```text
//!  root ── "mcpServers" ── "files" ── { "type": "stdio", "command": …, "args": […], "env": {…} }
//!                       └─ "web"   ── { "type": "http", "url": …, "headers": {…} }
//!
//!  wrapped:  command = bir-proxy, args = --server-name … -- what the command was
//!            url, headers gone:   args = --server-name … --url …,  env gets BIR_UPSTREAM_HEADERS
//! ```
//!
//! [`servers`](super::servers()) reads by it, [`wrap`](super::wrap()) and [`unwrap`](super::unwrap()) change by it; whatever
//! it does not name in an entry stays as it is.

use super::placeholder::Filled;

/// How a host writes a server down.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Where the servers stand in a file: every one of these places that holds some.
    pub roots: &'static [&'static [&'static str]],
    /// The servers are a list, and this member of each is its name. None: they are the members of an object.
    pub named_by: Option<&'static str>,
    /// How a command is written.
    pub command: CommandAs,
    /// The member with the variables of the environment.
    pub env: &'static str,
    /// The member that says which kind an entry is.
    pub kinds: Option<Kinds>,
    /// Members that are an address, those that count more first, each with the transport that it means where no kind is said (None: the
    /// proxy finds out).
    pub urls: &'static [(&'static str, Option<&'static str>)],
    /// The member with headers, by name.
    pub headers: &'static str,
    /// Members by which the host takes credentials from its own environment.
    pub by_name: ByName,
    /// How an entry is switched off.
    pub off: &'static [Off],
    /// Members by which the host signs in to a server.
    pub signs_in: &'static [&'static str],
    /// Members with which no proxy can stand in front of a server (unless they are false), and what they do, as part of a sentence
    /// ("its `x` …").
    pub unproxied: &'static [(&'static str, &'static str)],
    /// What the host fills in.
    pub filled: Filled,
    /// The host looks for shells in a command, which it would not find behind the proxy.
    pub judges_shells: bool,
}

impl Shape {
    /// What nearly every host has copied from the first: `mcpServers`, `command`, `args`, `env`, `url`, `headers`.
    pub const COMMON: Self = Self {
        roots: &[&["mcpServers"]],
        named_by: None,
        command: CommandAs::Split { program: "command", args: "args" },
        env: "env",
        kinds: Some(Kinds::COMMON),
        urls: &[("url", None)],
        headers: "headers",
        by_name: ByName { bearer: None, headers: None, pass_on: None },
        off: &[Off::If("disabled")],
        signs_in: &["oauth", "auth"],
        unproxied: &[("headersHelper", "makes headers by a command of its own, which a proxy cannot ask")],
        filled: Filled { env: &[], remote: &[] },
        judges_shells: false,
    };
}

/// How a command is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandAs {
    /// The program, and its arguments as an array.
    Split {
        /// The program's member.
        program: &'static str,
        /// The arguments' member; it may be absent.
        args: &'static str,
    },
    /// Both as one array, in this member.
    Vector(&'static str),
}

/// The member that says which kind an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds {
    /// Its key.
    pub member: &'static str,
    /// What it says of a command; none: a command has no such member.
    pub local: Option<&'static str>,
    /// An entry without it means nothing; otherwise it may be left out.
    pub needed: bool,
    /// What else it says.
    pub all: &'static [(&'static str, Kind)],
}

impl Kinds {
    /// `type`, as most hosts have it; it may be left out.
    pub const COMMON: Self = Self {
        member: "type",
        local: Some("stdio"),
        needed: false,
        all: &[
            ("stdio", Kind::Command),
            ("local", Kind::Command),
            ("http", Kind::Remote(None)),
            ("sse", Kind::Remote(Some("sse"))),
            ("streamable-http", Kind::Remote(Some("http"))),
            ("streamableHttp", Kind::Remote(Some("http"))),
            ("streamable_http", Kind::Remote(Some("http"))),
            ("remote", Kind::Remote(None)),
        ],
    };
}

/// What a kind means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A command.
    Command,
    /// An address, and the proxy's `--transport` for it (None: it finds out).
    Remote(Option<&'static str>),
}

/// Members by which a host takes credentials from its own environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByName {
    /// The variable of a bearer token (`bearer_token_env_var`).
    pub bearer: Option<&'static str>,
    /// Variables of headers, by header (`env_http_headers`).
    pub headers: Option<&'static str>,
    /// The list of variables that a command is given (`env_vars`), for a host that hands on no others.
    pub pass_on: Option<&'static str>,
}

/// How an entry is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    /// This member is true.
    If(&'static str),
    /// This member is false.
    Unless(&'static str),
}
