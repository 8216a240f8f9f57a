//! What was handed to a proxy, on the disk before it is handed out: `control/orders.jsonl`.
//!
//! ```text
//!   CRC32 {"at":…,"intent":{"work":…,"server":…,"tool":…,"proxy":…,"session":…,"plan":…,"step":…}}     before the order is given
//!   CRC32 {"at":…,"ended":{"work":…,"how":"reported"}}                                                 after it has ended
//! ```
//!
//! The lines are framed as those of the journal. An intent is written before the order leaves; from then on it survives the
//! death of the process, as everything does that `write(2)` has taken. An intent without an end is *unknown*: whoever finds it
//! says so, and nobody tries it again. Arguments and results are not in here: they would have to be redacted, and are of no
//! use to that question.

use bir_record::spool::{decode, framed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Bytes of the file from which on it is begun anew, as soon as nothing in it is open.
const WORTH_EMPTYING: u64 = 256 * 1024;
/// Bytes of the file at which nothing more is handed out: something is wrong with whoever does not settle.
const FULL: u64 = 16 * 1024 * 1024;
/// Bytes of a line that is read at most.
const LONGEST_LINE: u64 = 64 * 1024;
/// Intents without an end that are remembered from before; of more the oldest go.
const MOST_UNSETTLED: usize = 256;

/// An order that was handed out before this process began and of which nobody knows how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unsettled {
    /// Names the order.
    pub work: String,
    /// The key of its server.
    pub server: String,
    /// The tool, as the server names it.
    pub tool: String,
    /// Which proxy had it.
    pub proxy: String,
    /// The session whose plan it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What the submitter called its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The plan's step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// When it was handed out, ms since the Unix epoch.
    #[serde(default)]
    pub at: u64,
}

#[derive(Serialize, Deserialize)]
struct Line {
    at: u64,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Intent(Unsettled),
    Ended { work: String, how: String },
}

/// The file.
pub(super) struct Ahead {
    path: PathBuf,
    file: Option<File>,
    bytes: u64,
    /// Handed out by this process and not ended.
    open: usize,
    /// From before.
    unsettled: BTreeMap<String, Unsettled>,
}

impl Ahead {
    /// What a state directory has, and nothing is made there yet. A line that is damaged says nothing: it was being written
    /// when its writer died, before the order left.
    pub(super) fn open(state_dir: &Path) -> Self {
        let path = state_dir.join("control").join("orders.jsonl");
        let unsettled = read(&path);
        let mut ahead = Self { path, file: None, bytes: 0, open: 0, unsettled };
        ahead.bytes = std::fs::metadata(&ahead.path).map_or(0, |found| found.len());
        ahead
    }

    /// Orders of which nobody knows how they ended, the oldest first.
    pub(super) fn unsettled(&self) -> Vec<Unsettled> {
        let mut all: Vec<_> = self.unsettled.values().cloned().collect();
        all.sort_by(|a, b| (a.at, &a.work).cmp(&(b.at, &b.work)));
        all
    }

    /// Whoever had to know has heard of it.
    pub(super) fn settle(&mut self, work: &str, now: u64) -> io::Result<()> {
        if self.unsettled.remove(work).is_none() {
            return Ok(());
        }
        self.write(now, What::Ended { work: work.to_owned(), how: "unknown".into() })?;
        self.tidy();
        Ok(())
    }

    /// An order is about to be handed out. It may be as soon as this has returned.
    ///
    /// # Errors
    ///
    /// It stands nowhere, and must not be handed out.
    pub(super) fn intend(&mut self, intent: Unsettled) -> io::Result<()> {
        if self.bytes >= FULL {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "control/orders.jsonl is full"));
        }
        self.write(intent.at, What::Intent(intent))?;
        self.open += 1;
        Ok(())
    }

    /// An order that was handed out has ended.
    pub(super) fn ended(&mut self, work: &str, how: &str, now: u64) -> io::Result<()> {
        self.open = self.open.saturating_sub(1);
        self.write(now, What::Ended { work: work.to_owned(), how: how.to_owned() })?;
        self.tidy();
        Ok(())
    }

    /// Begins the file anew where everything in it is settled.
    fn tidy(&mut self) {
        if self.open == 0
            && self.unsettled.is_empty()
            && self.bytes >= WORTH_EMPTYING
            && let Some(file) = &self.file
            && file.set_len(0).is_ok()
        {
            self.bytes = 0;
        }
    }

    fn write(&mut self, at: u64, what: What) -> io::Result<()> {
        let line = framed(&serde_json::to_string(&Line { at, what })?);
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                if let Some(folder) = self.path.parent() {
                    bir_home::ensure(folder)?;
                }
                let mut file = bir_home::private().append(true).create(true).open(&self.path)?;
                // A line that its writer did not end must not swallow this one.
                if file.metadata()?.len() > 0 {
                    file.write_all(b"\n")?;
                }
                self.bytes = file.metadata()?.len();
                none.insert(file)
            }
        };
        if let Err(e) = file.write_all(&line) {
            // Half a line of an order that does not leave means nothing.
            if file.set_len(self.bytes).is_err() {
                let _ = file.write_all(b"\n");
            }
            return Err(e);
        }
        self.bytes += line.len() as u64;
        Ok(())
    }
}

fn read(path: &Path) -> BTreeMap<String, Unsettled> {
    let mut unsettled = BTreeMap::new();
    let Ok(file) = File::open(path) else { return unsettled };
    let mut file = BufReader::new(file.take(FULL * 2));
    let mut text = Vec::new();
    loop {
        text.clear();
        match file.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut text) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let line = text.strip_suffix(b"\n").unwrap_or(&text);
        let Some(line) = decode(line).and_then(|line| serde_json::from_slice::<Line>(line).ok()) else {
            continue;
        };
        match line.what {
            What::Intent(intent) => drop(unsettled.insert(intent.work.clone(), intent)),
            What::Ended { work, .. } => drop(unsettled.remove(&work)),
        }
    }
    while unsettled.len() > MOST_UNSETTLED {
        let oldest = unsettled.values().min_by_key(|one: &&Unsettled| one.at).map(|one| one.work.clone());
        oldest.map(|oldest| unsettled.remove(&oldest));
    }
    unsettled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent(work: &str, at: u64) -> Unsettled {
        Unsettled {
            work: work.into(),
            server: "s".into(),
            tool: "t".into(),
            proxy: "p".into(),
            session: Some("x".into()),
            plan: None,
            step: Some(2),
            at,
        }
    }

    fn works(ahead: &Ahead) -> Vec<String> {
        ahead.unsettled().into_iter().map(|one| one.work).collect()
    }

    #[test]
    fn what_was_handed_out_and_did_not_end_is_known_after_any_death() {
        let home = tempfile::tempdir().unwrap();
        let mut ahead = Ahead::open(home.path());
        assert!(works(&ahead).is_empty() && !home.path().join("control").exists());
        for (n, work) in ["a", "b", "c"].iter().enumerate() {
            ahead.intend(intent(work, n as u64)).unwrap();
        }
        ahead.ended("b", "reported", 9).unwrap();
        // The process dies here; the next one dies in the middle of a line.
        let mut next = Ahead::open(home.path());
        assert_eq!(next.unsettled(), [intent("a", 0), intent("c", 2)]);
        next.settle("a", 10).unwrap();
        next.settle("never", 10).unwrap();
        let path = home.path().join("control/orders.jsonl");
        let whole = std::fs::read(&path).unwrap();
        let mut cut = whole.clone();
        cut.extend_from_slice(b"0badc0de {\"at\":1,\"intent\":{\"wo");
        std::fs::write(&path, cut).unwrap();
        let mut third = Ahead::open(home.path());
        assert_eq!(works(&third), ["c"]);
        third.intend(intent("d", 11)).unwrap();
        assert_eq!(works(&Ahead::open(home.path())), ["c", "d"], "half a line swallows nothing");
    }

    #[test]
    fn it_says_which_tool_and_never_with_which_arguments() {
        let home = tempfile::tempdir().unwrap();
        Ahead::open(home.path()).intend(intent("a", 1)).unwrap();
        let text = std::fs::read_to_string(home.path().join("control/orders.jsonl")).unwrap();
        assert!(text.contains(r#""intent":{"work":"a","server":"s","tool":"t""#), "{text}");
    }

    #[test]
    fn it_is_begun_anew_where_nothing_in_it_is_open() {
        let home = tempfile::tempdir().unwrap();
        let mut ahead = Ahead::open(home.path());
        let long = "x".repeat(4000);
        for n in 0..200 {
            ahead.intend(Unsettled { plan: Some(long.clone()), ..intent(&n.to_string(), n) }).unwrap();
            ahead.ended(&n.to_string(), "reported", n).unwrap();
        }
        assert!(ahead.bytes < WORTH_EMPTYING + 10_000, "{}", ahead.bytes);
        ahead.bytes = FULL;
        assert!(ahead.intend(intent("more", 1)).is_err());
    }
}
