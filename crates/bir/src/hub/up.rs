//! `bir up`.

use super::ticket::Link;
use super::{Embedded, embedded, log, ticket};
use crate::control;
use crate::error::CommandError;
use crate::home::{Home, block_on};
use crate::out::{self, paint, progress, safe};
use crate::{programs, say};
use bir_record::hub::{EmbeddedHub, Health, HubClient, Origin};
use clap::Args;
use serde_json::json;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a hub may take until it answers.
const START: Duration = Duration::from_secs(10);
/// Between two looks.
const POLL: Duration = Duration::from_millis(50);
/// How long another `bir up` is waited for: longer than it takes to end and start hub and control server.
const PATIENCE: Duration = Duration::from_secs(60);
/// Exit status of a hub that finds the state directory held by another.
const HELD: i32 = 3;
/// Lines of the log that are shown when it died.
const LAST_LINES: usize = 8;

#[derive(Args, Default)]
pub(crate) struct UpArgs {
    /// Start the hub of this machine although another is in use.
    #[arg(long)]
    local: bool,
    /// End both first: after an upgrade, the new programs run.
    #[arg(long)]
    restart: bool,
    /// Print an object.
    #[arg(long)]
    json: bool,
}

/// A hub that runs here.
pub(crate) struct Up {
    pub(crate) hub: EmbeddedHub,
    pub(crate) health: Health,
    /// It was started just now.
    pub(crate) started: bool,
}

/// Starts the embedded hub, unless it runs or another hub is in use; and the control server in either case.
pub(crate) fn run(args: &UpArgs) -> Result<(), CommandError> {
    let home = Home::find()?;
    let other = if args.local { None } else { elsewhere(&home)? };
    // Two at once would end what the other has just started, and each would tell of what the other ends.
    let _turn = Turn::take(&home)?;
    if args.restart {
        super::down::restart(&home, other.is_none())?;
    }
    if let Some(client) = other {
        let health = block_on(answers(&client))?;
        let control = control::up::ensure(&home.dir)?;
        in_use(&client, &health, &control, args.json)?;
        return control.result();
    }
    let up = ensure(&home)?;
    let control = control::up::ensure(&home.dir)?;
    let link = block_on(async {
        let mut client = super::client(&home.dir, &up.hub);
        home.sweep(&mut client).await;
        // Without a link the console can still be opened by its address.
        Ok(ticket::sign_in(&mut client, "/").await.ok())
    })?;
    if args.json {
        out::json(&json!({
            "hub": "embedded", "started": up.started, "url": up.hub.url, "pid": up.hub.pid,
            "version": up.health.version, "instance": up.hub.instance, "signIn": link.map(|link| link.url),
            "control": control.json(),
        }))?;
    } else {
        out::print(&page(&up, link.as_ref(), &control))?;
    }
    control.result()
}

/// One `bir up` at a time. The file stays; the system takes the lock back when its holder ends, however it ends.
struct Turn(#[expect(dead_code, reason = "it is held, not read")] File);

impl Turn {
    fn take(home: &Home) -> Result<Self, CommandError> {
        home.ensure()?;
        let path = home.dir.join("up.lock");
        let failed =
            |e: std::io::Error| CommandError::failed(format!("cannot write {}: {e}", path.display()));
        let file =
            bir_home::private().write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        let until = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(POLL),
                Err(TryLockError::WouldBlock) => {
                    return Err(CommandError::failed(format!(
                        "another `bir up` goes on after {} s; wait for its end, then look with `bir status`",
                        PATIENCE.as_secs()
                    )));
                }
                Err(TryLockError::Error(e)) => return Err(failed(e)),
            }
        }
    }
}

fn page(up: &Up, link: Option<&Link>, control: &control::up::Up) -> String {
    let what = if up.started { "the hub is up" } else { "the hub runs already" };
    let taken = up.hub.taken.map(|port| format!("{port} is taken, so this time ")).unwrap_or_default();
    let mut page =
        format!("{taken}{what} at {} (process {})\n", paint::bold(&safe::line(&up.hub.url)), up.hub.pid);
    if let Some(link) = link {
        page.push_str(&format!(
            "console  {}\n         {}\n",
            safe::line(&link.url),
            paint::dim(&format!("this link signs you in, {}", link.works))
        ));
    }
    page.push_str(&control_line(control));
    page.push_str(&paint::dim("stop it with `bir down`; see it with `bir status`"));
    page.push('\n');
    page
}

/// The hub that is in use instead of the embedded one.
pub(crate) fn elsewhere(home: &Home) -> Result<Option<HubClient>, CommandError> {
    let destination = home.destination()?.filter(|destination| destination.origin != Origin::Embedded);
    Ok(destination.map(|destination| HubClient::new(&home.dir, destination)))
}

/// What became of the control server; a failure is said at the end instead.
fn control_line(control: &control::up::Up) -> String {
    match control {
        control::up::Up::Failed(_) => String::new(),
        control => format!("{}\n", control.line()),
    }
}

/// What the hub that is in use says of itself.
async fn answers(client: &HubClient) -> Result<Health, CommandError> {
    client.health().await.map_err(|e| {
        let url = client.destination().shown();
        CommandError::failed(format!(
            "this machine uses the hub at {url}, and: {e}; `bir up --local` starts one here all the same"
        ))
    })
}

/// Says that another hub is in use.
fn in_use(
    client: &HubClient,
    health: &Health,
    control: &control::up::Up,
    json: bool,
) -> Result<(), CommandError> {
    let url = client.destination().shown();
    if json {
        return Ok(out::json(&json!({
            "hub": "remote", "started": false, "url": url, "version": health.version, "instance": health.instance,
            "control": control.json(),
        }))?);
    }
    let text = format!(
        "this machine uses the hub at {} (version {}), which answers; no hub was started here\n{}{}\n",
        paint::bold(&safe::line(&url)),
        safe::line(&health.version),
        control_line(control),
        paint::dim("`bir up --local` starts one here all the same; `bir logout` leaves that one")
    );
    Ok(out::print(&text)?)
}

/// The embedded hub, started if it does not run.
///
/// # Errors
///
/// It cannot be started, or does not answer within its budget; the message has its last words.
pub(crate) fn ensure(home: &Home) -> Result<Up, CommandError> {
    if let Embedded::Runs(hub, health) = look(home)? {
        return Ok(Up { hub, health, started: false });
    }
    home.ensure()?;
    let program = programs::ensure(&[programs::HUB])?.remove(0);
    let failed = |e: std::io::Error| {
        CommandError::failed(format!("cannot write {}: {e}", log::path(&home.dir).display()))
    };
    let (file, begin) = log::open(&home.dir).map_err(failed)?;
    let second = file.try_clone().map_err(failed)?;
    let mut child = spawn(&program, &home.dir, file, second)?;
    let bar = progress::spinner("starting the hub");
    let up = wait(home, &mut child, begin);
    bar.finish_and_clear();
    up
}

fn look(home: &Home) -> Result<Embedded, CommandError> {
    block_on(async { Ok(embedded(&home.dir).await) })
}

fn spawn(program: &Path, dir: &Path, out: File, err: File) -> Result<Child, CommandError> {
    let mut command = Command::new(programs::this()?);
    command.arg("detach").arg("--").arg(program).arg("serve");
    command.stdin(Stdio::null()).stdout(out).stderr(err);
    // It is not to hold a directory in which somebody happened to stand, nor a token of another hub.
    command.current_dir(dir).env("BIR_HOME", dir).env_remove("BIR_HUB_TOKEN").env_remove("BIR_HUB_URL");
    command.spawn().map_err(|e| CommandError::failed(format!("cannot start {}: {e}", program.display())))
}

fn wait(home: &Home, child: &mut Child, begin: u64) -> Result<Up, CommandError> {
    let until = Instant::now() + START;
    // Somebody else may start one in the same moment. Then ours ends, and theirs is as good once it answers.
    let mut theirs = false;
    loop {
        let ended = if theirs { None } else { child.try_wait().ok().flatten() };
        // Looked at after that: what ours left to another has a hub to be seen.
        if let Embedded::Runs(hub, health) = look(home)? {
            let started = hub.pid == child.id();
            return Ok(Up { hub, health, started });
        }
        let log = log::path(&home.dir);
        match ended {
            Some(status) if status.code() == Some(HELD) => theirs = true,
            Some(status) => {
                let silent = if last_words(home, begin) { "" } else { " without a word: is the disk full" };
                return Err(CommandError::failed(format!(
                    "the hub ended while it started ({status}){silent}; see {}",
                    log.display()
                )));
            }
            None => {}
        }
        if Instant::now() >= until {
            last_words(home, begin);
            let which = if theirs {
                "another hub of this state directory".to_owned()
            } else {
                format!("the hub (process {})", child.id())
            };
            return Err(CommandError::failed(format!(
                "{which} does not answer after {} s; it goes on starting, so look with `bir status`, or see {}",
                START.as_secs(),
                log.display()
            )));
        }
        std::thread::sleep(POLL);
    }
}

/// Says what the hub said last. False: nothing.
fn last_words(home: &Home, begin: u64) -> bool {
    let lines = log::last_lines(&home.dir, begin, LAST_LINES);
    for line in &lines {
        say(format_args!("  {}", safe::line(line)));
    }
    !lines.is_empty()
}
