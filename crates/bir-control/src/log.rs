//! What the control server says of itself: on stderr, or in `logs/control.log` where it runs in the background.
//!
//! Lines hold no payload and no token. The file is readable by its user alone, and is renamed once it has grown to its bound;
//! the one before that goes.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of a log file, about.
const LONGEST: u64 = 1024 * 1024;

/// How grave a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The control server cannot do what it is for.
    Error,
    /// A person should know.
    Warn,
    /// How things go.
    Info,
    /// For whoever looks for a fault.
    Debug,
}

impl Level {
    /// As `BIR_LOG` says it: `off`, `error`, `warn`, `info` or `debug`; anything else is `warn`. None: nothing is said.
    #[must_use]
    pub fn of(text: Option<&str>) -> Option<Self> {
        match text {
            Some("off") => None,
            Some("error") => Some(Self::Error),
            Some("info") => Some(Self::Info),
            Some("debug") => Some(Self::Debug),
            _ => Some(Self::Warn),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// A log; clones are the same one.
#[derive(Clone)]
pub struct Log(Arc<Inner>);

struct Inner {
    most: Option<Level>,
    sink: Mutex<Sink>,
}

enum Sink {
    Stderr,
    File { path: PathBuf, file: File, length: u64 },
}

impl Log {
    /// On stderr.
    #[must_use]
    pub fn to_stderr(most: Option<Level>) -> Self {
        Self(Arc::new(Inner { most, sink: Mutex::new(Sink::Stderr) }))
    }

    /// In the file of a state directory.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub fn to_file(state_dir: &Path, most: Option<Level>) -> io::Result<Self> {
        let folder = state_dir.join("logs");
        bir_home::ensure(&folder)?;
        let path = folder.join("control.log");
        let file = open(&path)?;
        let length = file.metadata()?.len();
        Ok(Self(Arc::new(Inner { most, sink: Mutex::new(Sink::File { path, file, length }) })))
    }

    /// Says something. What cannot be written is not said.
    pub fn say(&self, level: Level, text: &str) {
        if self.0.most.is_none_or(|most| level > most) {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let line = format!("{} {} {}\n", stamp(now), level.as_str(), text.escape_debug());
        match &mut *self.0.sink.lock().unwrap_or_else(PoisonError::into_inner) {
            Sink::Stderr => drop(io::stderr().write_all(line.as_bytes())),
            Sink::File { path, file, length } => {
                if *length >= LONGEST
                    && std::fs::rename(&*path, path.with_extension("log.1")).is_ok()
                    && let Ok(next) = open(path)
                {
                    (*file, *length) = (next, 0);
                }
                if file.write_all(line.as_bytes()).is_ok() {
                    *length += line.len() as u64;
                }
            }
        }
    }

    /// Says that something cannot be done.
    pub fn error(&self, text: &str) {
        self.say(Level::Error, text);
    }

    /// Says what a person should know.
    pub fn warn(&self, text: &str) {
        self.say(Level::Warn, text);
    }

    /// Says how things go.
    pub fn info(&self, text: &str) {
        self.say(Level::Info, text);
    }

    /// Says something for whoever looks for a fault.
    pub fn debug(&self, text: &str) {
        self.say(Level::Debug, text);
    }
}

fn open(path: &Path) -> io::Result<File> {
    bir_home::private().append(true).create(true).open(path)
}

/// Seconds since the Unix epoch as `2026-11-30T11:32:11Z`.
fn stamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March, in eras of 400: howardhinnant.github.io/date_algorithms.html, civil_from_days.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_people_read_it() {
        // date -u -d @N +%FT%TZ
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_764_502_331, "2025-11-30T11:32:11Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
        ] {
            assert_eq!(stamp(seconds), text);
        }
    }

    #[test]
    fn the_file_is_private_and_bounded_and_says_no_more_than_is_asked() {
        let home = tempfile::tempdir().unwrap();
        let log = Log::to_file(home.path(), Some(Level::Info)).unwrap();
        log.debug("not this");
        log.warn("two\nlines");
        let path = home.path().join("logs/control.log");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("Z warn two\\nlines\n") && !text.contains("not this"), "{text}");
        let long = "x".repeat(100_000);
        (0..50).for_each(|_| log.info(&long));
        for name in ["control.log", "control.log.1"] {
            let found = std::fs::metadata(home.path().join("logs").join(name)).unwrap();
            assert!(found.len() < 2 * LONGEST, "{name}: {}", found.len());
            #[cfg(unix)]
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o777, 0o600);
        }
        assert_eq!(std::fs::read_dir(home.path().join("logs")).unwrap().count(), 2);
    }
}
