//! `codex app-server`, asked over its stdin and stdout: JSON-RPC, a message a line.

use super::Wanted;
use crate::plan::sheet::real;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How long all of it may take.
pub const BUDGET: Duration = Duration::from_secs(20);
/// How long the program may take to end by itself once nobody speaks to it.
const END: Duration = Duration::from_millis(500);
/// Longest line that is read, bytes.
const LONGEST_LINE: u64 = 16 << 20;

/// Why our hooks are not trusted. The text goes on after "Codex".
#[derive(Debug, Error)]
pub enum TrustError {
    /// The program does not start.
    #[error("does not start: {0}")]
    Start(std::io::Error),
    /// It said nothing in time.
    #[error("gives no answer within {} s", BUDGET.as_secs())]
    Silent,
    /// It ended.
    #[error("ended before it had answered")]
    Ended,
    /// It refused a question; its name and what was said.
    #[error("refuses `{0}`: {1}")]
    Refused(&'static str, String),
    /// It does not list our hooks.
    #[error("does not list our hooks")]
    NotListed,
    /// It was told nothing, since that could not be noted.
    #[error("was told nothing, since {0}")]
    Note(std::io::Error),
    /// It goes on distrusting so many of them.
    #[error("goes on distrusting {0} of our hooks")]
    Untrusted(usize),
}

/// Writes down which key is to get which hash.
type Noted<'n> = &'n dyn Fn(&[(String, String)]) -> std::io::Result<()>;

/// A hook as Codex lists it.
struct Listed {
    key: String,
    hash: String,
    trusted: bool,
}

/// Trusts our hooks, and says which key got which hash; those that were trusted already are not among them. `noted`: hears of them before
/// Codex does.
pub(super) fn trust(
    program: &Path,
    wanted: &Wanted,
    budget: Duration,
    noted: Noted<'_>,
) -> Result<Vec<(String, String)>, TrustError> {
    let mut server = Server::introduced(program, wanted, budget)?;
    let listed = server.ours(wanted)?;
    if listed.is_empty() {
        return Err(TrustError::NotListed);
    }
    let new: Vec<(String, String)> =
        listed.into_iter().filter(|hook| !hook.trusted).map(|hook| (hook.key, hook.hash)).collect();
    if new.is_empty() {
        return Ok(new);
    }
    noted(&new).map_err(TrustError::Note)?;
    let states: serde_json::Map<String, Value> =
        new.iter().map(|(key, hash)| (key.clone(), json!({ "trusted_hash": hash }))).collect();
    let edit = json!({ "keyPath": "hooks.state", "value": states, "mergeStrategy": "upsert" });
    server.ask("config/batchWrite", json!({ "edits": [edit], "reloadUserConfig": true }))?;
    match server.ours(wanted)?.iter().filter(|hook| !hook.trusted).count() {
        0 => Ok(new),
        left => Err(TrustError::Untrusted(left)),
    }
}

/// Which key would have to have which hash, for each of our hooks that it lists. Nothing is changed.
pub(super) fn hashes(program: &Path, wanted: &Wanted) -> Result<Vec<(String, String)>, TrustError> {
    let listed = Server::introduced(program, wanted, BUDGET)?.ours(wanted)?;
    Ok(listed.into_iter().map(|hook| (hook.key, hook.hash)).collect())
}

/// The program, with its end.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    until: Instant,
    asked: u64,
}

impl Server {
    fn start(program: &Path, project: &Path, budget: Duration) -> Result<Self, TrustError> {
        let mut command = Command::new(program);
        command.arg("app-server").current_dir(project);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // What is started may start the program in its turn: all of it is ended together.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(TrustError::Start)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (sender, lines) = channel();
        let server = Self { child, stdin, lines, until: Instant::now() + budget, asked: 0 };
        let stdout = stdout.ok_or(TrustError::Ended)?;
        let reader = move || {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while matches!(reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line), Ok(1..)) {
                if let Ok(message) = serde_json::from_slice(&line)
                    && sender.send(message).is_err()
                {
                    break;
                }
                line.clear();
            }
        };
        // Ends with the program: nobody else holds the other end of its stdout for long.
        std::thread::Builder::new().name("codex".into()).spawn(reader).map_err(TrustError::Start)?;
        Ok(server)
    }

    /// One that knows who asks.
    fn introduced(program: &Path, wanted: &Wanted, budget: Duration) -> Result<Self, TrustError> {
        let mut server = Self::start(program, &wanted.project, budget)?;
        let client = json!({ "name": "bir", "title": "bir", "version": env!("CARGO_PKG_VERSION") });
        server.ask(
            "initialize",
            json!({ "clientInfo": client, "capabilities": { "experimentalApi": true } }),
        )?;
        server.tell(&json!({ "method": "initialized" }))?;
        Ok(server)
    }

    fn tell(&mut self, message: &Value) -> Result<(), TrustError> {
        let stdin = self.stdin.as_mut().ok_or(TrustError::Ended)?;
        stdin
            .write_all(format!("{message}\n").as_bytes())
            .and_then(|()| stdin.flush())
            .map_err(|_| TrustError::Ended)
    }

    fn ask(&mut self, method: &'static str, params: Value) -> Result<Value, TrustError> {
        self.asked += 1;
        self.tell(&json!({ "id": self.asked, "method": method, "params": params }))?;
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            let mut message = self.lines.recv_timeout(left).map_err(|e| match e {
                RecvTimeoutError::Timeout => TrustError::Silent,
                RecvTimeoutError::Disconnected => TrustError::Ended,
            })?;
            // Its own questions and news are none of our business.
            if message.get("method").is_some() || message["id"] != self.asked {
                continue;
            }
            if let Some(error) = message.get("error") {
                let said = error.get("message").and_then(Value::as_str).unwrap_or("no reason is given");
                return Err(TrustError::Refused(method, said.chars().take(200).collect()));
            }
            return Ok(message["result"].take());
        }
    }

    /// Our hooks: those of our commands that stand in our file.
    fn ours(&mut self, wanted: &Wanted) -> Result<Vec<Listed>, TrustError> {
        let answer = self.ask("hooks/list", json!({ "cwds": [wanted.project] }))?;
        let file = real(&wanted.hooks_file);
        let text = |hook: &Value, name: &str| hook.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        let folders = answer["data"].as_array().into_iter().flatten();
        let hooks = folders.flat_map(|folder| folder["hooks"].as_array().into_iter().flatten());
        let mut ours: Vec<Listed> = Vec::new();
        for hook in hooks {
            let is_command = text(hook, "command").is_some_and(|command| wanted.commands.contains(&command));
            let is_there = text(hook, "sourcePath").is_none_or(|path| real(Path::new(&path)) == file);
            let (Some(key), Some(hash)) = (text(hook, "key"), text(hook, "currentHash")) else { continue };
            if is_command && is_there && !ours.iter().any(|known| known.key == key) {
                let trusted = text(hook, "trustStatus").as_deref() == Some("trusted");
                ours.push(Listed { key, hash, trusted });
            }
        }
        Ok(ours)
    }
}

impl Drop for Server {
    /// It ends when its stdin does; if not, it is ended.
    fn drop(&mut self) {
        drop(self.stdin.take());
        let until = Instant::now() + END;
        while Instant::now() < until {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
