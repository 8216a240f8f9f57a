//! What no control server has taken waits here: files of lines, one [`Envelope`] each, whole or not there at all.
//!
//! ```text
//!   inbox/0001764500000000-4711-0.jsonl     written beside and renamed, so that nobody reads half of it
//!   inbox/dropped                           one byte for each message that found no room
//! ```
//!
//! Names sort by time. Whoever serves reads them in that order, takes what they hold, and removes them afterwards; every
//! message names itself, so reading a file twice books nothing twice.

use bir_model::control::Envelope;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Files that wait at most.
const MOST_FILES: usize = 10_000;
/// Longest file, in bytes. A longer one is no inbox file.
const LONGEST_FILE: u64 = 64 * 1024 * 1024;

/// The inbox of a state directory. It need not exist.
#[derive(Debug, Clone)]
pub struct Inbox(PathBuf);

/// Why messages are not in the inbox.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// It holds as many files as it may; the messages are counted in `dropped`.
    #[error("{MOST_FILES} files wait for a control server already")]
    Full,
    /// The disk or the directory.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Inbox {
    /// The inbox of a state directory.
    #[must_use]
    pub fn new(state_dir: &Path) -> Self {
        Self(state_dir.join("inbox"))
    }

    /// Leaves messages for the next control server. When this returns they survive the death of this process.
    ///
    /// # Errors
    ///
    /// They are not there. What found no room is counted.
    pub fn put(&self, messages: &[Envelope]) -> Result<(), InboxError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        bir_home::ensure(&self.0)?;
        if self.files().len() >= MOST_FILES {
            self.count_dropped(messages.len());
            return Err(InboxError::Full);
        }
        let mut lines = Vec::new();
        for message in messages {
            serde_json::to_writer(&mut lines, message).map_err(io::Error::from)?;
            lines.push(b'\n');
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let (pid, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let name = format!("{now:016}-{pid}-{number:06}.jsonl");
        let half = self.0.join(format!("{name}.tmp"));
        let written = bir_home::private()
            .write(true)
            .create_new(true)
            .open(&half)
            .and_then(|mut file| file.write_all(&lines))
            .and_then(|()| std::fs::rename(&half, self.0.join(name)));
        if let Err(e) = written {
            let _ = std::fs::remove_file(&half);
            self.count_dropped(messages.len());
            return Err(e.into());
        }
        Ok(())
    }

    /// A message is not left here, on purpose: it is counted alone, so that a run in which it is missing can say so.
    pub fn drop_one(&self) {
        if bir_home::ensure(&self.0).is_ok() {
            self.count_dropped(1);
        }
    }

    /// The files that wait, oldest first.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        // Whatever else has such a name may never end, or belongs to somebody else.
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut files: Vec<_> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
            .collect();
        files.sort();
        files
    }

    /// The messages of a file in their order, and how many lines are none.
    ///
    /// # Errors
    ///
    /// It cannot be read, or it is too long to be one.
    pub fn read(path: &Path) -> io::Result<(Vec<Envelope>, usize)> {
        if std::fs::metadata(path)?.len() > LONGEST_FILE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too long to be an inbox file"));
        }
        let text = std::fs::read(path)?;
        let (mut messages, mut damaged) = (Vec::new(), 0);
        for line in text.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(message) => messages.push(message),
                Err(_) => damaged += 1,
            }
        }
        Ok((messages, damaged))
    }

    /// Messages that found no room since somebody last took the number, as far as they could be counted.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        std::fs::metadata(self.0.join("dropped")).map_or(0, |found| found.len())
    }

    /// The same, and counting begins anew.
    #[must_use]
    pub fn take_dropped(&self) -> u64 {
        let count = self.dropped();
        let _ = std::fs::remove_file(self.0.join("dropped"));
        count
    }

    fn count_dropped(&self, messages: usize) {
        let file = bir_home::private().append(true).create(true).open(self.0.join("dropped"));
        let _ = file.and_then(|mut file| file.write_all(&vec![b'.'; messages]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_model::control::{HookEvent, HookWhat, Join};
    use bir_model::record::HostInfo;

    fn note(name: &str) -> Envelope {
        Envelope::Hook(Box::new(HookEvent {
            id: name.into(),
            host: HostInfo::default(),
            via: "claude-code".into(),
            session_id: "s".into(),
            turn_id: None,
            agent_id: None,
            cwd: "/p".into(),
            transcript: None,
            host_pids: vec![7],
            join: Join::CallId,
            permission_mode: None,
            at: 1,
            what: HookWhat::Note { name: name.into() },
        }))
    }

    #[test]
    fn what_was_put_is_read_in_its_order_and_is_private() {
        let home = tempfile::tempdir().unwrap();
        let inbox = Inbox::new(home.path());
        assert!(inbox.files().is_empty());
        inbox.put(&[note("a"), note("b")]).unwrap();
        inbox.put(&[note("c")]).unwrap();
        let files = inbox.files();
        let read: Vec<_> = files.iter().flat_map(|file| Inbox::read(file).unwrap().0).collect();
        assert_eq!(read, [note("a"), note("b"), note("c")]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&files[0]), mode(&home.path().join("inbox"))), (0o600, 0o700));
        }
    }

    #[test]
    fn a_damaged_line_costs_itself_and_what_finds_no_room_is_counted() {
        let home = tempfile::tempdir().unwrap();
        let inbox = Inbox::new(home.path());
        inbox.put(&[note("a")]).unwrap();
        let file = inbox.files().remove(0);
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{{\"hook\":\n\n{text}[]\n")).unwrap();
        assert_eq!(Inbox::read(&file).unwrap(), (vec![note("a")], 2));
        inbox.count_dropped(3);
        assert_eq!((inbox.take_dropped(), inbox.take_dropped()), (3, 0));
    }
}
