//! What a script can do to the process it runs in: end it, ignore signals, start a grandchild.
//!
//! [`Real`] is the `bir-test-upstream` binary. [`Inside`] stands for an upstream inside a test process,
//! which a script must not end: there an exit stops the server.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use signal_hook::consts as c;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::log::Log;
use crate::sync::lock;

/// The process around the engine.
pub(crate) trait Process: Send + Sync {
    /// Ends it with a status. May return; then nothing more may be sent.
    fn exit(&self, code: i32);
    /// Ends it by a signal.
    fn signal(&self, name: &str);
    /// Ignores `eof` or a signal from now on.
    fn ignore(&self, what: &[String]);
    /// Whether the end of stdin is ignored.
    fn ignores_eof(&self) -> bool;
    /// Bytes to stderr.
    fn stderr(&self, bytes: &[u8]) -> io::Result<()>;
    /// Starts a process that holds the pipes.
    fn grandchild(&self, seconds: u64, stubborn: bool, own_group: bool) -> io::Result<()>;
}

/// The number of a signal by its name.
pub(crate) fn signal_number(name: &str) -> Option<i32> {
    Some(match name {
        "SIGHUP" => SIGHUP,
        "SIGINT" => SIGINT,
        "SIGQUIT" => c::SIGQUIT,
        "SIGABRT" => c::SIGABRT,
        "SIGKILL" => c::SIGKILL,
        "SIGSEGV" => c::SIGSEGV,
        "SIGPIPE" => c::SIGPIPE,
        "SIGTERM" => SIGTERM,
        "SIGUSR1" => c::SIGUSR1,
        _ => return None,
    })
}

/// The `bir-test-upstream` process itself.
pub(crate) struct Real {
    log: Log,
    ignored: Arc<Mutex<Vec<String>>>,
}

impl Real {
    /// Logs the start and watches for signals: each is logged, and then ends the process the way it
    /// would have without a handler, unless it is ignored.
    pub(crate) fn start(log: Log) -> io::Result<Self> {
        let ignored: Arc<Mutex<Vec<String>>> = Arc::default();
        let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
        let (watched, known) = (log.clone(), ignored.clone());
        std::thread::spawn(move || {
            for signal in signals.forever() {
                let name = signal_hook::low_level::signal_name(signal).unwrap_or("unknown");
                watched.put("signal", vec![("name", name.into())]);
                if !lock(&known).iter().any(|ignored| ignored == name) {
                    watched.put("exit", vec![("signal", name.into())]);
                    // Only fails for a signal without a default action; then the exit below ends us.
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                    std::process::exit(128 + signal);
                }
            }
        });
        log.put("start", start_fields());
        Ok(Self { log, ignored })
    }
}

fn start_fields() -> Vec<(&'static str, serde_json::Value)> {
    let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
    let mut env: Vec<(String, String)> = std::env::vars_os().map(|(k, v)| (text(k), text(v))).collect();
    env.sort();
    let argv: Vec<String> = std::env::args_os().map(text).collect();
    let cwd = std::env::current_dir().map(|dir| dir.to_string_lossy().into_owned()).unwrap_or_default();
    vec![
        ("pid", std::process::id().into()),
        ("ppid", std::os::unix::process::parent_id().into()),
        ("pgid", rustix::process::getpgrp().as_raw_nonzero().get().into()),
        ("cwd", cwd.into()),
        ("argv", argv.into()),
        ("env", env.into_iter().map(|(k, v)| (k, v.into())).collect::<serde_json::Map<_, _>>().into()),
    ]
}

impl Process for Real {
    fn exit(&self, code: i32) {
        self.log.put("exit", vec![("code", code.into())]);
        std::process::exit(code);
    }

    fn signal(&self, name: &str) {
        self.log.put("exit", vec![("signal", name.into())]);
        let number = signal_number(name).unwrap_or(c::SIGKILL);
        // SIGKILL and the others without handler end us in raise; for the watched ones the default is emulated.
        let _ = signal_hook::low_level::emulate_default_handler(number);
        let _ = signal_hook::low_level::raise(number);
        std::process::exit(128 + number);
    }

    fn ignore(&self, what: &[String]) {
        lock(&self.ignored).extend(what.iter().cloned());
    }

    fn ignores_eof(&self) -> bool {
        lock(&self.ignored).iter().any(|ignored| ignored == "eof")
    }

    fn stderr(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let n = rustix::io::retry_on_intr(|| rustix::io::write(rustix::stdio::stderr(), bytes))?;
            bytes = &bytes[n..];
        }
        Ok(())
    }

    fn grandchild(&self, seconds: u64, stubborn: bool, own_group: bool) -> io::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--hold").arg(seconds.to_string());
        if stubborn {
            command.arg("--stubborn");
        }
        if own_group {
            command.process_group(0);
        }
        command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
        let child = command.spawn()?;
        self.log.put("grandchild", vec![("pid", child.id().into())]);
        Ok(())
    }
}

/// What the grandchild does: nothing, for so long.
pub(crate) fn hold(seconds: u64, stubborn: bool) -> io::Result<()> {
    let ended = Arc::new(AtomicBool::new(false));
    if stubborn {
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            signal_hook::flag::register(signal, ended.clone())?;
        }
    }
    std::thread::sleep(Duration::from_secs(seconds));
    Ok(())
}

/// An upstream inside a test process.
pub(crate) struct Inside {
    log: Log,
    stop: Arc<dyn Fn() + Send + Sync>,
    stopped: AtomicBool,
}

impl Inside {
    pub(crate) fn new(log: Log, stop: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self { log, stop, stopped: AtomicBool::new(false) }
    }

    fn end(&self, how: (&'static str, serde_json::Value)) {
        if !self.stopped.swap(true, SeqCst) {
            self.log.put("exit", vec![how]);
        }
        (self.stop)();
    }
}

impl Process for Inside {
    fn exit(&self, code: i32) {
        self.end(("code", code.into()));
    }

    fn signal(&self, name: &str) {
        self.end(("signal", name.into()));
    }

    fn ignore(&self, _: &[String]) {}

    fn ignores_eof(&self) -> bool {
        false
    }

    fn stderr(&self, bytes: &[u8]) -> io::Result<()> {
        self.log.put("stderr", crate::log::exact(bytes));
        Ok(())
    }

    fn grandchild(&self, _: u64, _: bool, _: bool) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "a grandchild needs the bir-test-upstream binary"))
    }
}
