//! `bir down`.

use super::process::{End, Process};
use super::{Embedded, embedded};
use crate::control;
use crate::error::CommandError;
use crate::home::{Home, block_on};
use crate::out;
use crate::say;
use bir_record::hub::EmbeddedHub;
use clap::Args;
use serde_json::json;
use std::time::Duration;

/// How long the hub may take to end.
const END: Duration = Duration::from_secs(10);

#[derive(Args)]
pub(crate) struct DownArgs {
    /// Print an object.
    #[arg(long)]
    json: bool,
}

/// Ends the control server, then the embedded hub: what the one still ships the other still takes.
pub(crate) fn run(args: &DownArgs) -> Result<(), CommandError> {
    let home = Home::find()?;
    let control = control::down::stop(&home.dir)?;
    if !args.json {
        say(control.line());
    }
    let hub = end_hub(&home);
    if args.json {
        let (ended, url) = hub.as_ref().map_or((false, None), |(_, url)| (url.is_some(), url.as_ref()));
        out::json(&json!({ "ended": ended, "url": url, "control": control.json() }))?;
    }
    let (text, _) = hub?;
    if !args.json {
        say(text);
    }
    // Said already, and not as it was asked for.
    if control.has_left() { Err(CommandError::Nothing) } else { Ok(()) }
}

/// Ends both, for somebody who starts nothing again.
pub(crate) fn stop(home: &Home) -> Result<(), CommandError> {
    restart(home, true)
}

/// Ends the control server, and the embedded hub where it is in use (`hub`).
pub(super) fn restart(home: &Home, hub: bool) -> Result<(), CommandError> {
    let control = control::down::stop(&home.dir)?;
    if control.has_left() {
        return Err(CommandError::failed(control.line()));
    }
    if hub {
        end_hub(home)?;
    }
    Ok(())
}

/// Ends the embedded hub: what became of it, and where it was.
fn end_hub(home: &Home) -> Result<(String, Option<String>), CommandError> {
    // Held before it is confirmed, so that what is confirmed is what is ended.
    let held = EmbeddedHub::load(&home.dir).map(|hub| (Process::of(hub.pid), hub));
    let ended = match (block_on(async { Ok(embedded(&home.dir).await) })?, held) {
        (Embedded::Runs(hub, _), Some((Some(process), before))) if before.instance == hub.instance => {
            match process.end(END) {
                End::Ended => (format!("the hub at {} has ended", hub.url), Some(hub.url)),
                End::GoesOn => {
                    return Err(CommandError::failed(format!(
                        "the hub (process {}) was asked to end and goes on after {} s; it may be finishing its work, so look again with `bir status`",
                        hub.pid,
                        END.as_secs()
                    )));
                }
                End::Refused => {
                    return Err(CommandError::failed(format!(
                        "the hub (process {}) may not be ended by this user; end it as the user who started it",
                        hub.pid
                    )));
                }
            }
        }
        (Embedded::Runs(..), _) => {
            return Err(CommandError::failed("the hub started anew meanwhile; nothing was ended, try again"));
        }
        (Embedded::Silent(hub), Some((Some(_), _))) => {
            return Err(CommandError::failed(format!(
                "{} names process {}, which does not answer as a hub at {}; nothing was ended, since it may be another program; \
                 if it is the hub, end it with `kill {}`",
                home.dir.join(EmbeddedHub::FILE).display(),
                hub.pid,
                hub.url,
                hub.pid
            )));
        }
        (Embedded::Other(hub), _) => {
            (format!("no hub of yours runs; another program answers at {}", hub.url), None)
        }
        (Embedded::None | Embedded::Silent(_), _) => ("no hub runs here".to_owned(), None),
    };
    Ok(ended)
}
