//! `bir demo`: the recorder at work, on a fresh machine, without a question.
//!
//! ```text
//!  programs (built where they are missing) ── hub (started if none runs)
//!    └─ session: this program as a host ⇄ bir-proxy --standalone ⇄ server-everything, else the sample server
//!         └─ wait until the run is in the hub ── the run, as `bir runs show` prints it ── where to look, what to do next
//! ```
//!
//! The hub goes on running afterwards, and the run stays in its store.

mod client;
mod script;
mod server;

use crate::error::CommandError;
use crate::home::{Home, block_on};
use crate::hub::{self, status, up};
use crate::out::{self, paint, progress, safe, time};
use crate::runs::wire::{Summary, read};
use crate::runs::{api, show};
use crate::{programs, say};
use bir_model::RunId;
use bir_record::hub::{Destination, HubClient, Origin};
use clap::Args;
use serde_json::json;
use server::Server;
use std::time::{Duration, Instant};

/// How long the run may take from the end of the session into the hub.
const ARRIVAL: Duration = Duration::from_secs(30);
/// Between two looks.
const POLL: Duration = Duration::from_millis(200);
/// Looks between two sweeps of the spool.
const SWEEP_EVERY: u32 = 10;

#[derive(Args)]
pub(crate) struct DemoArgs {
    /// Use the sample server that comes with bir, whatever else is there.
    #[arg(long)]
    sample: bool,
    /// Print an object: the run with its rows, and where to look.
    #[arg(long)]
    json: bool,
}

/// The session as it was.
struct Session {
    server: Server,
    /// Calls that were made.
    calls: u32,
    /// When it began, ms.
    began: u64,
    /// What was said last on stderr, by the server or by the recorder.
    last_words: Option<String>,
}

/// Shows it.
pub(crate) fn run(args: &DemoArgs) -> Result<(), CommandError> {
    let home = Home::find()?;
    if let status::Off::Everywhere(by) = status::switch(&home.dir) {
        return Err(CommandError::failed(format!(
            "recording is off by {by}, so there would be nothing to see; switch it on and try again"
        )));
    }
    let proxy = programs::ensure(&[programs::PROXY, programs::HUB])?.remove(0);
    let destination = hub_of(&home)?;
    let session = record(&home, &proxy, args.sample)?;
    block_on(async {
        let mut client = HubClient::new(&home.dir, destination);
        let id = arrival(&home, &mut client, &session).await?;
        let page = format!("/runs/{id}");
        let url = format!("{}{page}", client.destination().shown());
        let link = hub::sign_in(&mut client, &page).await.ok();
        if args.json {
            let whole = api::run(&mut client, id).await?;
            return Ok(out::json(&json!({
                "run": whole.run, "steps": whole.steps, "server": session.server.name(), "url": url, "signIn": link.map(|link| link.url),
            }))?);
        }
        out::print("\n")?;
        show::print(&mut client, id, false, false).await?;
        Ok(out::print(&ending(&home, client.destination().origin, &url, link.as_ref()))?)
    })
}

/// The hub that is in use, which is started where it is the one of this machine.
fn hub_of(home: &Home) -> Result<Destination, CommandError> {
    if let Some(client) = up::elsewhere(home)? {
        block_on(async {
            client.health().await?;
            Ok(())
        })?;
        say(format_args!("the run goes to the hub that this machine uses, {}", client.destination().shown()));
        return Ok(client.destination().clone());
    }
    let up = up::ensure(home)?;
    let what = if up.started { "started the hub" } else { "the hub runs already" };
    say(format_args!("{what} at {}", up.hub.url));
    Ok(hub::client(&home.dir, &up.hub).destination().clone())
}

/// Records a session with the first server that works.
fn record(home: &Home, proxy: &std::path::Path, sample: bool) -> Result<Session, CommandError> {
    for server in server::candidates(sample)? {
        if let Some(note) = server.note() {
            say(note);
        }
        let bar = progress::spinner(&format!("starting {}", server.what()));
        let opened = client::Client::open(server.command(proxy, &home.dir), server.budget());
        bar.finish_and_clear();
        let mut client = match opened {
            Ok(client) => client,
            Err(why) if !server.is_last() => {
                say(format_args!(
                    "{} does not start here ({why}); the sample server takes its place",
                    server.what()
                ));
                continue;
            }
            Err(why) => return Err(CommandError::failed(format!("{} does not start: {why}", server.what()))),
        };
        say(format_args!("recording a session of {}", server.what()));
        let began = time::now_ms();
        let calls = script::play(&mut client, |what| say(format_args!("  {what}")));
        let last_words = client.close();
        let calls = calls.map_err(|why| {
            CommandError::failed(format!("the session of {} broke off: {why}", server.what()))
        })?;
        return Ok(Session { server, calls, began, last_words });
    }
    Err(CommandError::failed("there is no server to record"))
}

/// Waits until the run is in the hub, whole.
async fn arrival(home: &Home, client: &mut HubClient, session: &Session) -> Result<RunId, CommandError> {
    let bar = progress::spinner("waiting for the run");
    let until = Instant::now() + ARRIVAL;
    let query = [
        ("server", session.server.name().to_owned()),
        ("since", session.began.saturating_sub(1_000).to_string()),
    ];
    let mut looks = 0;
    let found = loop {
        let newest = api::runs(client, &query, 1).await?.into_iter().next();
        let newest = newest.map(|run| read::<Summary>(&run)).transpose()?;
        if let Some(run) = newest.as_ref().filter(|run| run.ended_at.is_some() && run.calls >= session.calls)
        {
            break Some(run.id);
        }
        if Instant::now() >= until {
            // A part of it is better than nothing; what is missing says so itself.
            break newest.map(|run| run.id);
        }
        looks += 1;
        // Should the proxy have ended without sending all of it.
        if looks % SWEEP_EVERY == 0 {
            home.sweep(client).await;
        }
        tokio::time::sleep(POLL).await;
    };
    bar.finish_and_clear();
    found.ok_or_else(|| {
        // A recorder that cannot write says so there, and relays all the same.
        let why = session.last_words.as_ref().map(|words| format!(" ({words})")).unwrap_or_default();
        CommandError::failed(format!(
            "the run is not in the hub after {} s{why}; see `bir status`, and {}",
            ARRIVAL.as_secs(),
            home.dir.join("logs").join("hub.log").display()
        ))
    })
}

/// Where to look, what to do next, and what stays behind.
fn ending(home: &Home, origin: Origin, url: &str, link: Option<&hub::Link>) -> String {
    let me = myself();
    let mut page = String::from("\n");
    let mut field = |name: &str, value: String| {
        page.push_str(&format!("{} {value}\n", paint::dim(&format!("{name:<7}"))));
    };
    match link {
        Some(link) => {
            field("open", paint::bold(&safe::line(&link.url)));
            field(
                "",
                paint::dim(&format!("the run in your browser; this link signs you in, {}", link.works)),
            );
        }
        None => field("open", paint::bold(&safe::line(url))),
    }
    field(
        "next",
        format!("{me} setup   {}", paint::dim("in a project: records the servers that your hosts have")),
    );
    field("", format!("{me} runs list"));
    field("", format!("{me} runs show last --full"));
    match origin {
        Origin::Embedded => {
            field("stays", format!("the hub goes on running; {me} down ends it"));
            field("", format!("the run is in {}, with everything else that bir keeps", home.dir.display()));
        }
        Origin::Login | Origin::Environment => {
            field(
                "stays",
                format!("the run, in the hub that this machine uses; {me} runs rm last deletes it"),
            );
        }
    }
    page
}

/// How this program is called here: by its name where that finds it.
fn myself() -> String {
    let exe = programs::this().ok().and_then(|exe| exe.canonicalize().ok());
    let named = programs::on_path("bir").and_then(|found| found.canonicalize().ok());
    if exe.is_some() && exe == named {
        return "bir".into();
    }
    let first = std::env::args_os().next().map(|arg| arg.to_string_lossy().into_owned());
    safe::line(&first.unwrap_or_else(|| "bir".into())).into_owned()
}
