//! The loop around the protocol: lines from stdin, calls under way, the off switch, and the word that we are there.

use crate::log;
use crate::protocol::{Act, Call, Session, answer};
use crate::recorder::Recorder;
use crate::words::{self, NOTHING, Went};
use bir_control_client::Contact;
use bir_model::control::{ScenarioHello, ScenarioRun};
use std::cell::RefCell;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// How long a call waits for the results: below the 5 minutes after which Claude Code gives up on an idle one.
const LONGEST_RUN: Duration = Duration::from_secs(290);
/// How often is looked at the off switch, and who serves.
const LOOK: Duration = Duration::from_secs(2);
/// How often it is said that we are there, whatever else happens.
const AGAIN: Duration = Duration::from_secs(5 * 60);
/// Bytes of a line. A longer one is no message for us.
const LONGEST_LINE: u64 = 1024 * 1024;
/// Lines that wait to be heard.
const QUEUE: usize = 64;
/// Calls under way.
const MOST_CALLS: usize = 32;

/// Serves until stdin ends.
pub(crate) fn run() -> i32 {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => {
            log(&format!("there is no runtime: {e}"));
            return 1;
        }
    };
    let (send, lines) = mpsc::channel(QUEUE);
    if let Err(e) = std::thread::Builder::new().name("stdin".into()).spawn(move || read(&send)) {
        log(&format!("there is no thread: {e}"));
        return 1;
    }
    let serving = Rc::new(Serving::new());
    let code = tokio::task::LocalSet::new().block_on(&runtime, serve(&serving, lines));
    runtime.shutdown_background();
    code
}

struct Serving {
    session: RefCell<Session>,
    recorder: Option<Recorder>,
    budget: Duration,
    /// Reasons are shown to the model.
    debug: bool,
    /// By the id as it is written.
    calls: RefCell<Vec<(Vec<u8>, AbortHandle)>>,
    /// Who was told that we are there, and when.
    greeted: RefCell<Option<(Contact, Instant)>>,
}

impl Serving {
    fn new() -> Self {
        let asked =
            std::env::var("BIR_SCENARIO_RUN_TIMEOUT_MS").ok().and_then(|text| text.trim().parse().ok());
        Self {
            session: RefCell::new(Session::new(bir_home::off::is_off())),
            recorder: Recorder::here(),
            budget: asked.map_or(LONGEST_RUN, Duration::from_millis).min(LONGEST_RUN),
            debug: bir_home::off::switch("BIR_SCENARIO_DEBUG"),
            calls: RefCell::default(),
            greeted: RefCell::default(),
        }
    }
}

async fn serve(serving: &Rc<Serving>, mut lines: mpsc::Receiver<Vec<u8>>) -> i32 {
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let acts = tokio::select! {
            line = lines.recv() => match line {
                Some(line) => serving.session.borrow_mut().hear(&line),
                None => return 0,
            },
            _ = look.tick() => {
                greet(serving, false);
                serving.session.borrow_mut().switch(bir_home::off::is_off())
            }
        };
        for act in acts {
            let done = match act {
                Act::Say(line) => say(&line),
                Act::Run(call) => start(serving, call),
                Act::Cancel(id) => {
                    cancel(serving, &id);
                    Ok(())
                }
                Act::Hello => {
                    greet(serving, true);
                    Ok(())
                }
            };
            if done.is_err() {
                // Nobody reads any more.
                return 0;
            }
        }
    }
}

/// Says that we are there: at once, or where there is somebody new, or a while after the last time. Nothing waits for it.
fn greet(serving: &Rc<Serving>, at_once: bool) {
    let Some(contact) = serving.recorder.as_ref().and_then(Recorder::contact) else {
        serving.greeted.replace(None);
        return;
    };
    let known =
        serving.greeted.borrow().as_ref().is_some_and(|(who, at)| *who == contact && at.elapsed() < AGAIN);
    if known && !at_once {
        return;
    }
    // Taken back where it fails: then the next look tries again.
    serving.greeted.replace(Some((contact.clone(), Instant::now())));
    let serving = Rc::clone(serving);
    tokio::task::spawn_local(async move {
        let hello = {
            let session = serving.session.borrow();
            ScenarioHello {
                pid: std::process::id(),
                version: env!("CARGO_PKG_VERSION").into(),
                tools: session.tools(),
                off: session.is_off(),
            }
        };
        let Some(recorder) = &serving.recorder else { return };
        if !recorder.hello(&contact, &hello).await {
            serving.greeted.replace(None);
        }
    });
}

fn start(serving: &Rc<Serving>, call: Call) -> io::Result<()> {
    if serving.session.borrow().is_off() || serving.calls.borrow().len() >= MOST_CALLS {
        return say(&answer(&call, NOTHING, false));
    }
    let id = call.id.clone();
    let for_task = Rc::clone(serving);
    let task = tokio::task::spawn_local(async move {
        let serving = for_task;
        let run = ScenarioRun { tool_use_id: call.tool_use_id.clone(), session_id: None };
        let went = match &serving.recorder {
            Some(recorder) => recorder.run(&run, serving.budget).await,
            None => Went::Nobody,
        };
        let (text, why) = words::of(&went);
        log(&format!("scenario.answered: {why}"));
        let is_plain = matches!(&went, Went::Answered(answer) if answer.ok || answer.note);
        let line =
            if serving.debug && !is_plain { answer(&call, &why, true) } else { answer(&call, &text, false) };
        serving.calls.borrow_mut().retain(|(open, _)| *open != call.id);
        // Whether somebody reads is seen with the next line.
        let _ = say(&line);
    });
    serving.calls.borrow_mut().push((id, task.abort_handle()));
    Ok(())
}

/// The host does not wait any more: the request is broken off, which is how the control server hears of it, and nothing is
/// answered.
fn cancel(serving: &Serving, id: &[u8]) {
    let mut calls = serving.calls.borrow_mut();
    if let Some(at) = calls.iter().position(|(open, _)| open == id) {
        calls.remove(at).1.abort();
        log("scenario.cancelled: the host has withdrawn the call");
    }
}

/// One frame, in one write.
fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    out.flush()
}

fn read(lines: &mpsc::Sender<Vec<u8>>) {
    let mut stdin = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        match stdin.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if !line.ends_with(b"\n") && line.len() as u64 == LONGEST_LINE {
            log("a line that is too long is passed over");
            if skip(&mut stdin).is_err() {
                return;
            }
            continue;
        }
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

fn skip(stdin: &mut impl io::BufRead) -> io::Result<()> {
    loop {
        let held = stdin.fill_buf()?;
        if held.is_empty() {
            return Ok(());
        }
        let (used, ended) = match held.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (held.len(), false),
        };
        stdin.consume(used);
        if ended {
            return Ok(());
        }
    }
}
