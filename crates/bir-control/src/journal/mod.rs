//! What the control server was told, in the order in which it was told: one file a session, one line an entry.
//!
//! ```text
//!   control/journal/<hash of host and session>.jsonl     hook events, and reports of proxies that are bound to the session
//!   control/journal/proxy-<parent's pid>.jsonl           proxies: who they are, and what nobody could be found for
//!   control/journal/other.jsonl                          hosts that went
//! ```
//!
//! A line is `CRC32, space, JSON, line feed`, as in the spool. It is written before the entry is answered; from then on the
//! entry survives the death of the process. The files are read with [`replay`] and heard again in the order of their numbers.
//!
//! What a journal is for is to know again which run and which index a call has. So where there is too much of it, payloads are
//! what is left out first ([`Depth::Bare`]): the rows that they were for are in the spool.

mod line;
mod replay;

use crate::book::Entry;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use line::{Depth, write};
pub(crate) use replay::Replay;

/// Bytes of one journal from which on payloads are left out.
const FULL: u64 = 64 * 1024 * 1024;
/// The same for all of them together.
const ALL_FULL: u64 = 256 * 1024 * 1024;
/// Bytes of one journal, and of all of them, from which on nothing is written: so many times what is full.
const LAST: u64 = 2;
/// The file that says that something is in no journal.
const GAP: &str = "gap";
/// Files that are kept open.
const OPEN: usize = 64;

/// Which journal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place(String);

impl Place {
    /// A session's.
    pub(crate) fn session(app: &str, session: &str) -> Self {
        let hash = ring::digest::digest(&ring::digest::SHA256, format!("{app}\0{session}").as_bytes());
        Self(hash.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// That of the proxies of one host's process.
    pub(crate) fn proxies_of(parent: u32) -> Self {
        Self(format!("proxy-{parent}"))
    }

    /// That of what belongs to nobody.
    pub(crate) fn other() -> Self {
        Self("other".into())
    }

    fn path(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{}.jsonl", self.0))
    }
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It survives the death of the process.
    Yes,
    /// It is nowhere but in the memory.
    No,
}

/// All journals of a state directory.
pub(crate) struct Journal {
    dir: PathBuf,
    kept: HashMap<Place, Held>,
    open: usize,
    bytes: u64,
    next: u64,
    limits: Limits,
    has_gap: bool,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    full: u64,
    all_full: u64,
}

#[derive(Debug, Default)]
struct Held {
    file: Option<File>,
    bytes: u64,
    unsynced: bool,
}

impl Journal {
    /// The journals of a state directory; those that are there already go on.
    pub(crate) fn open(state_dir: &Path) -> io::Result<Self> {
        let dir = state_dir.join("control").join("journal");
        bir_home::ensure(&dir)?;
        let mut journal = Self {
            dir,
            kept: HashMap::new(),
            open: 0,
            bytes: 0,
            next: 0,
            limits: Limits { full: FULL, all_full: ALL_FULL },
            has_gap: false,
        };
        for path in files(&journal.dir) {
            let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
            let bytes = fs::metadata(&path).map_or(0, |found| found.len());
            journal.bytes += bytes;
            journal.kept.insert(Place(stem.into()), Held { bytes, ..Held::default() });
        }
        Ok(journal)
    }

    /// Everything that is there, to be heard again. Numbers go on behind it when it has been read.
    pub(crate) fn replay(&self) -> Replay {
        Replay::of(files(&self.dir))
    }

    /// When the last entry was written, about, ms since the Unix epoch.
    pub(crate) fn newest(&self) -> u64 {
        let times = files(&self.dir).into_iter().filter_map(|path| fs::metadata(path).ok()?.modified().ok());
        let epoch_ms = |at: SystemTime| at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        times.max().map_or(0, |at| u64::try_from(epoch_ms(at)).unwrap_or_default())
    }

    /// Entries to come have higher numbers than this one.
    pub(crate) fn passed(&mut self, number: u64) {
        self.next = self.next.max(number.saturating_add(1));
    }

    /// Notes an entry. It is to be heard whatever comes of that.
    pub(crate) fn note(&mut self, place: &Place, entry: &Entry) -> Kept {
        let held = self.kept.get(place).map_or(0, |kept| kept.bytes);
        let over =
            |times: u64| held >= self.limits.full * times || self.bytes >= self.limits.all_full * times;
        if over(LAST) {
            self.leave_gap();
            return Kept::No;
        }
        let depth = if over(1) { Depth::Bare } else { Depth::Whole };
        let number = self.next;
        let Some(line) = write(number, entry, depth) else { return Kept::No };
        self.next += 1;
        match self.append(place, &line) {
            Ok(()) => Kept::Yes,
            Err(_) => {
                self.leave_gap();
                Kept::No
            }
        }
    }

    /// Something was heard that is in no journal; whoever hears them again is to know. An empty file takes no room.
    fn leave_gap(&mut self) {
        if !std::mem::replace(&mut self.has_gap, true) {
            let _ = bir_home::private().write(true).create(true).truncate(true).open(self.dir.join(GAP));
        }
    }

    /// Whether something was heard before that is in no journal. Asked for once.
    pub(crate) fn take_gap(&mut self) -> bool {
        fs::remove_file(self.dir.join(GAP)).is_ok()
    }

    /// Whether there is any journal of a session or of proxies.
    pub(crate) fn has_any(&self) -> bool {
        self.kept.keys().any(|place| *place != Place::other())
    }

    fn append(&mut self, place: &Place, line: &[u8]) -> io::Result<()> {
        if self.open >= OPEN {
            self.close_all();
        }
        let kept = self.kept.entry(place.clone()).or_default();
        let file = match &mut kept.file {
            Some(file) => file,
            none => {
                let (file, bytes) = open_to_append(&place.path(&self.dir))?;
                kept.bytes = bytes;
                self.open += 1;
                none.insert(file)
            }
        };
        if let Err(e) = file.write_all(line) {
            // A part of it may stand there; what cannot be cut off is damage, and a reader passes over it.
            if file.set_len(kept.bytes).is_err() {
                let _ = file.write_all(b"\n");
            }
            return Err(e);
        }
        kept.bytes += line.len() as u64;
        kept.unsynced = true;
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// A session is settled: of its journal only these entries stay.
    pub(crate) fn settle(&mut self, place: &Place, carried: &[Entry]) -> io::Result<()> {
        let Some(mut kept) = self.kept.remove(place) else { return Ok(()) };
        self.bytes = self.bytes.saturating_sub(kept.bytes);
        self.open -= usize::from(kept.file.take().is_some());
        let path = place.path(&self.dir);
        if carried.is_empty() {
            return match fs::remove_file(path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
                _ => Ok(()),
            };
        }
        let mut text = Vec::new();
        for entry in carried {
            if let Some(line) = write(self.next, entry, Depth::Whole) {
                text.extend_from_slice(&line);
                self.next += 1;
            }
        }
        bir_home::replace(&path, &text)?;
        let bytes = text.len() as u64;
        self.bytes += bytes;
        self.kept.insert(place.clone(), Held { bytes, ..Held::default() });
        Ok(())
    }

    /// Files with lines that may not be on the disk itself yet. Syncing is done where nothing waits for it.
    pub(crate) fn take_unsynced(&mut self) -> Vec<File> {
        let dirty = |held: &mut Held| {
            let file = held.file.as_ref().filter(|_| held.unsynced)?.try_clone().ok();
            held.unsynced = false;
            file
        };
        self.kept.values_mut().filter_map(dirty).collect()
    }

    /// Sets everything aside that is there: it cannot be heard.
    pub(crate) fn set_aside(state_dir: &Path) -> io::Result<()> {
        let dir = state_dir.join("control").join("journal");
        let aside = dir.with_file_name("journal.aside");
        let _ = fs::remove_dir_all(&aside);
        fs::rename(dir, aside)
    }

    fn close_all(&mut self) {
        for kept in self.kept.values_mut() {
            if let Some(file) = kept.file.take()
                && std::mem::take(&mut kept.unsynced)
            {
                // Rarely so many sessions are open at once; then each waits for the disk now and then.
                let _ = file.sync_data();
            }
        }
        self.open = 0;
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    // Whatever else has such a name may never end, or belongs to somebody else.
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let regular = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut files: Vec<_> = regular
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .collect();
    files.sort();
    files
}

/// A file with its length. What was cut off at its end is made a line of its own, so that the next one is whole.
fn open_to_append(path: &Path) -> io::Result<(File, u64)> {
    let mut file = bir_home::private().read(true).append(true).create(true).open(path)?;
    let mut bytes = file.metadata()?.len();
    if bytes > 0 {
        let mut last = [0];
        file.seek(io::SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
            bytes += 1;
        }
    }
    Ok((file, bytes))
}

#[cfg(test)]
mod tests;
