//! `bir-proxy`: the relay in front of one MCP server.
//!
//! The host starts it in place of the server. It passes every byte both ways, notices which of them are tool calls, and
//! ends as the server does. stdout carries frames and nothing else.

mod answer;
mod args;
mod call_ids;
mod environment;
mod exit;
mod log;
mod recording;
mod remote;
mod replay;
mod stdio;
mod watch;

use args::{Parsed, Relay, Target};
use bir_home::state_dir;
use bir_tap::Tap;
use bir_upstream::child::ChildCommand;
use call_ids::CallIds;
use environment::Environment;
use replay::OwnCalls;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
    log::init(relay.server_name.as_str(), std::env::var("BIR_LOG").ok().as_deref());
    for line in bir_home::off::mistakes() {
        log::warn!("`{line}` in the file `off` is no absolute directory and switches nothing off");
    }
    if let Target::Child { program, args } = &relay.target
        && bir_home::off::is_off()
    {
        log::flush();
        let failed = ChildCommand::new(program.clone(), args.clone()).replace_self();
        complain(&failed.to_string());
        return failed.exit_code();
    }
    log::quiet_panics();
    let environment = match Environment::take(&relay.target) {
        Ok(environment) => environment,
        Err(why) => return refuse(&why),
    };
    let Environment { headers: headers_variable, url: url_variable, named_headers, max_message, stay_up } =
        environment;
    let may_come = relay.call_ids.then(|| Arc::new(AtomicBool::new(recording::may_ids_come(&relay))));
    let own = OwnCalls::new();
    let (recorder, tap) = recording::prepare(&relay, may_come.clone(), &own).unzip();
    // Who does not record has no work to be given.
    let own = recorder.is_some().then_some(own);
    // Who does not record has nobody to declare anything for, and takes out what was declared by another.
    let call_ids =
        relay.call_ids.then(|| CallIds::new(may_come.filter(|_| recorder.is_some()), bir_home::off::is_off));
    let tap = tap.map(|tap| Box::new(tap) as Box<dyn Tap>);
    let Relay { server_name, target, restart, lazy, .. } = relay;
    let code = match target {
        Target::Child { program, args } => {
            let command = ChildCommand::new(program, args);
            let lazy = if lazy { state_dir() } else { None };
            let options = stdio::Options {
                server_name,
                command,
                restart,
                lazy,
                stay_up,
                max_message,
                call_ids,
                own,
                tap,
            };
            stdio::run(options)
        }
        Target::Remote { url, transport, headers } => {
            let headers: Vec<&str> = named_headers.iter().chain(&headers.given).map(String::as_str).collect();
            let settings = remote::Settings {
                url: match (&url, &url_variable) {
                    (args::Url::Given(url), _) => remote::Url::Argument(url),
                    (args::Url::Variable(_), url) => {
                        remote::Url::Variable(url.as_deref().unwrap_or_default())
                    }
                },
                transport,
                headers: &headers,
                headers_variable: headers_variable.as_deref(),
                max_message,
                stay_up,
            };
            match remote::prepare(&settings) {
                Ok(prepared) => remote::run(prepared, call_ids, own, tap),
                Err(why) => return refuse(&why),
            }
        }
    };
    if let Some(recorder) = recorder {
        recording::close(recorder);
    }
    code
}

fn refuse(why: &str) -> u8 {
    complain(why);
    exit::USAGE
}

/// What a person asked for goes to stdout; no protocol is spoken then.
fn print(text: &str) -> u8 {
    u8::from(std::io::stdout().write_all(text.as_bytes()).is_err())
}

/// One line on stderr, before there is a log.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "bir-proxy: {text}");
}
