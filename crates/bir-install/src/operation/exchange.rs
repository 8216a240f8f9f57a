//! One file, changed under the eyes of other programs.
//!
//! ```text
//!  .bir-ID-0-part.tmp ── whole and synced ──▶ .bir-ID-0-OURS-THEIRS.tmp ⇄ settings.json ── what came out is what was read ──▶ held
//!                                                                              └ it is not: back, and Faster
//! ```
//!
//! A temporary file's name says what we put into it (OURS, the first digits of its hash) and what we expect to come out (THEIRS). So whoever
//! finds one after a crash can tell a text of ours from one of another program, which is never thrown away while it is the newest.
//!
//! A program that writes in place may have opened the old file before the exchange. The old file is therefore held until it has closed
//! it ([`writers`](super::writers)), and looked at again: what has been written to it goes back as well.

use super::disk::Disk;
use super::place::read;
use crate::ledger::Hash;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Digits of a hash in a name.
const DIGITS: usize = 16;
/// In place of a hash: no file.
const NONE: &str = "none";
/// So often a text goes back and forth with a program that writes at every moment.
const ROUNDS: usize = 1000;

/// How a change went.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It is done; the old file is held under this name.
    Done(Option<PathBuf>),
    /// Another program was faster; its text is where it was.
    Faster,
}

/// A temporary file that is still there: OURS and THEIRS; none of both: a part.
type Found = (PathBuf, Option<(String, String)>);

/// The temporary names of one file in one operation.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) id: &'a str,
    pub(super) index: usize,
    pub(super) real: &'a Path,
}

impl Names<'_> {
    fn prefix(&self) -> String {
        format!(".bir-{}-{}-", self.id, self.index)
    }

    fn part(&self) -> PathBuf {
        self.real.with_file_name(format!("{}part.tmp", self.prefix()))
    }

    fn held(&self, ours: Option<&[u8]>, theirs: Option<&[u8]>) -> PathBuf {
        let name = format!("{}{}-{}.tmp", self.prefix(), digits(ours), digits(theirs));
        self.real.with_file_name(name)
    }

    fn found(&self) -> io::Result<Vec<Found>> {
        let Some(dir) = self.real.parent() else { return Ok(Vec::new()) };
        let entries = match fs::read_dir(dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let inner =
                name.to_str().and_then(|name| name.strip_prefix(&self.prefix())?.strip_suffix(".tmp"));
            let Some(inner) = inner else { continue };
            let both = inner.split_once('-').map(|(ours, theirs)| (ours.to_owned(), theirs.to_owned()));
            found.push((entry.path(), both));
        }
        Ok(found)
    }
}

fn digits(content: Option<&[u8]>) -> String {
    content.map_or_else(|| NONE.to_owned(), |content| Hash::of(content).0[..DIGITS].to_owned())
}

/// Makes `content` out of `expected`; none: no file. An error leaves temporary files to [`tidy`].
pub(super) fn change(
    disk: &Disk,
    names: Names<'_>,
    expected: Option<&[u8]>,
    content: Option<&[u8]>,
) -> io::Result<Change> {
    let real = names.real;
    if read(real)?.as_deref() != expected {
        return Ok(Change::Faster);
    }
    let done = match (expected, content) {
        (None, None) => Ok(Change::Done(None)),
        (None, Some(content)) => make(disk, names, content),
        (Some(expected), None) => take(disk, names, expected),
        (Some(expected), Some(content)) => replace(disk, names, expected, content),
    };
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound && expected.is_some() && read(real)?.is_none() => {
            Ok(Change::Faster)
        }
        done => done,
    }
}

fn make(disk: &Disk, names: Names<'_>, content: &[u8]) -> io::Result<Change> {
    let (part, held) = (names.part(), names.held(Some(content), None));
    disk.create(&part, content, None)?;
    disk.rename(&part, &held)?;
    match disk.rename_new(&held, names.real) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            disk.remove(&held)?;
            return Ok(Change::Faster);
        }
        done => done?,
    }
    disk.sync_dir_of(names.real)?;
    Ok(Change::Done(None))
}

fn take(disk: &Disk, names: Names<'_>, expected: &[u8]) -> io::Result<Change> {
    let held = names.held(None, Some(expected));
    disk.rename(names.real, &held)?;
    if read(&held)?.as_deref() != Some(expected) {
        give_back(disk, &held, names.real)?;
        return Ok(Change::Faster);
    }
    disk.sync_dir_of(names.real)?;
    Ok(Change::Done(Some(held)))
}

fn replace(disk: &Disk, names: Names<'_>, expected: &[u8], content: &[u8]) -> io::Result<Change> {
    let real = names.real;
    let (part, held) = (names.part(), names.held(Some(content), Some(expected)));
    disk.create(&part, content, Some(real))?;
    disk.rename(&part, &held)?;
    if let Some(done) = disk.exchange(&held, real) {
        done?;
        if read(&held)?.as_deref() != Some(expected) {
            put_back(disk, &held, real, &Hash::of(content))?;
            return Ok(Change::Faster);
        }
        disk.sync_dir_of(real)?;
        return Ok(Change::Done(Some(held)));
    }
    // Without an exchange there is a moment between the look and the rename; a second name of the old file makes at least sure that
    // what is written to it in place is seen.
    disk.rename(&held, &part)?;
    let linked = disk.link(real, &held).is_ok();
    if read(real)?.as_deref() != Some(expected) {
        disk.remove(&part)?;
        disk.remove(&held)?;
        return Ok(Change::Faster);
    }
    disk.rename(&part, real)?;
    disk.sync_dir_of(real)?;
    Ok(Change::Done(linked.then_some(held)))
}

/// Puts a removed file back; a newer one in its place stays.
fn give_back(disk: &Disk, held: &Path, real: &Path) -> io::Result<()> {
    match disk.rename_new(held, real) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => disk.remove(held)?,
        done => done?,
    }
    disk.sync_dir_of(real)
}

/// Puts a held text back in place of `placed`. If something else comes out, it is newer than both, and goes back in its turn.
fn put_back(disk: &Disk, held: &Path, real: &Path, placed: &Hash) -> io::Result<()> {
    let hash = |path: &Path| Ok::<_, io::Error>(read(path)?.as_deref().map(Hash::of));
    let mut placed = Some(placed.clone());
    for _ in 0..ROUNDS {
        let going = hash(held)?;
        match disk.exchange(held, real) {
            None if hash(real)? == placed => {
                return disk.rename(held, real).and_then(|()| disk.sync_dir_of(real));
            }
            None => return disk.remove(held),
            // The file was removed in the meantime, and stays so.
            Some(Err(error)) if error.kind() == ErrorKind::NotFound => return disk.remove(held),
            Some(done) => done?,
        }
        if hash(held)? == placed {
            disk.remove(held)?;
            return disk.sync_dir_of(real);
        }
        placed = going;
    }
    Err(io::Error::new(ErrorKind::ResourceBusy, "another program does not stop writing it"))
}

/// Temporary files of an operation that are still there: texts of ours go; the old text goes back if it is `wanted`, and a text of
/// another program that came out goes back unless there is a newer one.
pub(super) fn tidy(disk: &Disk, names: Names<'_>, wanted: Option<&Hash>) -> io::Result<()> {
    let real = names.real;
    for (held, both) in names.found()? {
        let Some((ours, theirs)) = both else {
            disk.remove(&held)?;
            continue;
        };
        let Some(content) = read(&held)? else { continue };
        let (text, now) = (Hash::of(&content), read(real)?.map(|now| Hash::of(&now)));
        let foreign = !text.0.starts_with(&theirs);
        if theirs == NONE || text.0.starts_with(&ours) || !(foreign || wanted == Some(&text)) {
            disk.remove(&held)?;
            continue;
        }
        match now {
            None if ours == NONE => give_back(disk, &held, real)?,
            Some(now) if now.0.starts_with(&ours) || (foreign && newer(&held, real)) => {
                put_back(disk, &held, real, &now)?;
            }
            _ => disk.remove(&held)?,
        }
    }
    Ok(())
}

/// Two texts of other programs: the one that was written later stays.
fn newer(held: &Path, real: &Path) -> bool {
    let written = |path| fs::metadata(path).and_then(|found| found.modified()).ok();
    written(held) > written(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a crash may leave: the held text, the file's text, what is wanted; and what the file says afterwards. The operation was
    /// to make `ours` out of `then`.
    #[test]
    fn what_a_crash_left_is_told_apart_by_its_name() {
        let cases = [
            // Not exchanged yet, or exchanged back.
            ("ours", Some("then"), Some("then"), Some("then")),
            ("ours", Some("of another"), Some("then"), Some("of another")),
            // Exchanged: the old one goes back where it is wanted.
            ("then", Some("ours"), Some("then"), Some("then")),
            ("then", Some("ours"), Some("ours"), Some("ours")),
            ("then", Some("of another"), Some("then"), Some("of another")),
            // What came out is of another program: it goes back in either case.
            ("of another", Some("ours"), Some("then"), Some("of another")),
            ("of another", Some("ours"), Some("ours"), Some("of another")),
            // The file that is there was written later, or is not there any more.
            ("of another", Some("of a third"), Some("then"), Some("of a third")),
            ("of another", None, Some("then"), None),
        ];
        for exchanges in [true, false] {
            for (held, now, wanted, then) in cases {
                let dir = tempfile::tempdir().unwrap();
                let real = dir.path().join("a");
                let names = Names { id: "id", index: 3, real: &real };
                fs::write(names.held(Some(b"ours"), Some(b"then")), held).unwrap();
                fs::write(names.part(), "half").unwrap();
                std::thread::sleep(std::time::Duration::from_millis(if now == Some("of a third") {
                    20
                } else {
                    0
                }));
                if let Some(now) = now {
                    fs::write(&real, now).unwrap();
                }
                let other = Names { index: 30, ..names };
                fs::write(other.part(), "of another file").unwrap();
                let disk = if exchanges { Disk::default() } else { Disk::default().without_exchange() };
                let wanted = wanted.map(|text| Hash::of(text.as_bytes()));
                for _ in 0..2 {
                    tidy(&disk, names, wanted.as_ref()).unwrap();
                    assert_eq!(read(&real).unwrap().as_deref(), then.map(str::as_bytes), "{held} {now:?}");
                    let left = fs::read_dir(dir.path()).unwrap().count();
                    assert_eq!(left, 1 + usize::from(then.is_some()), "{held} {now:?}");
                }
            }
        }
    }

    #[test]
    fn a_removed_file_goes_back_unless_there_is_a_new_one() {
        for (held, now, wanted, then) in [
            ("then", None, true, Some("then")),
            ("then", None, false, None),
            ("of another", None, false, Some("of another")),
            ("of another", Some("newer"), true, Some("newer")),
            ("then", Some("newer"), true, Some("newer")),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let real = dir.path().join("a");
            let names = Names { id: "id", index: 0, real: &real };
            fs::write(names.held(None, Some(b"then")), held).unwrap();
            if let Some(now) = now {
                std::thread::sleep(std::time::Duration::from_millis(20));
                fs::write(&real, now).unwrap();
            }
            tidy(&Disk::default(), names, wanted.then(|| Hash::of(b"then")).as_ref()).unwrap();
            assert_eq!(read(&real).unwrap().as_deref(), then.map(str::as_bytes), "{held} {now:?}");
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), usize::from(then.is_some()));
        }
    }

    #[test]
    fn a_new_file_is_for_its_user_alone_and_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("a");
        let names = Names { id: "id", index: 0, real: &real };
        for disk in [Disk::default(), Disk::default().without_exchange()] {
            assert_eq!(change(&disk, names, None, Some(b"ours")).unwrap(), Change::Done(None));
            #[cfg(unix)]
            assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(&real).unwrap()) & 0o777, 0o600);
            assert_eq!(change(&disk, names, None, Some(b"more")).unwrap(), Change::Faster);
            // Between the look and the rename.
            fs::write(&real, "of another").unwrap();
            assert_eq!(make(&disk, names, b"ours").unwrap(), Change::Faster);
            assert_eq!(fs::read(&real).unwrap(), b"of another");
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
            fs::remove_file(&real).unwrap();
        }
    }
}
