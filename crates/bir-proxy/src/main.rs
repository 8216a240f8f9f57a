//! `bir-proxy`: the relay in front of one MCP server.
//!
//! The host starts it in place of the server. It passes every byte both ways, notices which of them are tool calls, and
//! ends as the server does. stdout carries frames and nothing else.

mod answer;
mod args;
mod exit;
mod log;
mod off;
mod remote;
mod stdio;

use args::{Parsed, Relay, Target};
use bir_upstream::child::ChildCommand;
use std::io::Write as _;

fn main() {
    let code = match args::parse(std::env::args_os().skip(1)) {
        Ok(Parsed::Help) => print(args::USAGE),
        Ok(Parsed::Version) => print(concat!("bir-proxy ", env!("CARGO_PKG_VERSION"), "\n")),
        Ok(Parsed::Relay(relay)) => relay_one(relay),
        Err(e) => {
            complain(&format!("{e} (`bir-proxy --help` shows the usage)"));
            exit::USAGE
        }
    };
    log::flush();
    // The pumps may be blocked in reads that never return.
    std::process::exit(i32::from(code));
}

fn relay_one(relay: Relay) -> u8 {
    let Relay { server_name, target, restart, lazy } = relay;
    log::init(server_name.as_str(), std::env::var("BIR_LOG").ok().as_deref());
    match target {
        Target::Child { program, args } => {
            let command = ChildCommand::new(program, args);
            if off::is_off() {
                let failed = command.replace_self();
                complain(&failed.to_string());
                return failed.exit_code();
            }
            let max_message = match max_message() {
                Ok(max) => max,
                Err(why) => {
                    complain(&why);
                    return exit::USAGE;
                }
            };
            let lazy = if lazy { off::state_dir() } else { None };
            let stay_up = std::env::var_os("BIR_PROXY_STAY_UP").is_some_and(|v| v == "1");
            stdio::run(stdio::Options {
                server_name,
                command,
                restart,
                lazy,
                stay_up,
                max_message,
                tap: None,
            })
        }
        Target::Remote { url, transport, headers } => {
            let max_message = match max_message() {
                Ok(max) => max,
                Err(why) => {
                    complain(&why);
                    return exit::USAGE;
                }
            };
            let variable = std::env::var("BIR_UPSTREAM_HEADERS").ok();
            let settings = remote::Settings {
                url: &url,
                transport: match transport {
                    args::Transport::Auto => bir_upstream::http::Transport::Auto,
                    args::Transport::Http => bir_upstream::http::Transport::Http,
                    args::Transport::Sse => bir_upstream::http::Transport::Sse,
                },
                headers: &headers,
                headers_variable: variable.as_deref(),
                max_message,
                stay_up: std::env::var_os("BIR_PROXY_STAY_UP").is_some_and(|v| v == "1"),
            };
            match remote::prepare(&settings) {
                Ok(prepared) => remote::run(prepared, None),
                Err(why) => {
                    complain(&why);
                    exit::USAGE
                }
            }
        }
    }
}

fn max_message() -> Result<Option<usize>, String> {
    const NAME: &str = "BIR_UPSTREAM_MAX_MESSAGE_BYTES";
    let Some(value) = std::env::var_os(NAME).filter(|v| !v.is_empty()) else { return Ok(None) };
    match value.to_str().and_then(|v| v.parse().ok()) {
        Some(bytes) if bytes > 0 => Ok(Some(bytes)),
        _ => Err(format!("{NAME} is `{}`; it takes a number of bytes above 0", value.to_string_lossy())),
    }
}

/// What a person asked for goes to stdout; no protocol is spoken then.
fn print(text: &str) -> u8 {
    u8::from(std::io::stdout().write_all(text.as_bytes()).is_err())
}

/// One line on stderr, before there is a log.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "bir-proxy: {text}");
}
