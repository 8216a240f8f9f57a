//! The files of the spool and who may touch them.

use bir_model::RunId;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One segment. Ordered by run, oldest first (ids hold their time), then by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentName {
    pub(crate) run: RunId,
    pub(crate) number: u32,
}

impl SegmentName {
    pub(crate) fn file_name(self) -> String {
        format!("{}-{:06}.spool", self.run, self.number)
    }

    fn parse(name: &str) -> Option<Self> {
        let (run, number) = name.strip_suffix(".spool")?.rsplit_once('-')?;
        let digits = number.len() >= 6 && number.bytes().all(|b| b.is_ascii_digit());
        Some(Self { run: run.parse().ok()?, number: number.parse().ok().filter(|_| digits)? })
    }
}

fn file_names(dir: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// All segments, in their order.
pub(crate) fn segments(dir: &Path) -> Vec<SegmentName> {
    let mut all: Vec<SegmentName> = file_names(dir).filter_map(|name| SegmentName::parse(&name)).collect();
    all.sort_unstable();
    all
}

/// A segment that is being dropped. Its name says what was in it, so that nothing has to be written to remember that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GoneName {
    pub(crate) segment: SegmentName,
    pub(crate) calls: u64,
    pub(crate) records: u64,
}

impl GoneName {
    pub(crate) fn file_name(self) -> String {
        let SegmentName { run, number } = self.segment;
        format!("{run}-{number:06}-{}-{}.gone", self.calls, self.records)
    }

    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(".gone")?.rsplitn(4, '-');
        let (records, calls) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let (number, run) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Self { segment: SegmentName { run, number }, calls, records })
    }
}

/// The segments whose dropping was not finished, of one run or of all.
pub(crate) fn gone(dir: &Path, run: Option<RunId>) -> Vec<GoneName> {
    let names = file_names(dir).filter_map(|name| GoneName::parse(&name));
    names.filter(|gone| run.is_none_or(|run| gone.segment.run == run)).collect()
}

/// Takes away every file beside a run's segments, what an interrupted replacement left too. The lock goes last: as long as it
/// is there, the others are somebody's.
pub(crate) fn remove_sides(dir: &Path, run: RunId) {
    let beside = format!("{run}.");
    let lock = format!("{run}.lock");
    for name in file_names(dir).filter(|name| name.starts_with(&beside) && *name != lock) {
        let _ = fs::remove_file(dir.join(name));
    }
    let _ = fs::remove_file(dir.join(lock));
}

/// The segments of one run, in their order.
pub(crate) fn segments_of(dir: &Path, run: RunId) -> Vec<SegmentName> {
    segments(dir).into_iter().filter(|segment| segment.run == run).collect()
}

/// All runs of which there is any file, oldest first.
pub(crate) fn runs(dir: &Path) -> Vec<RunId> {
    let of = |name: &str| {
        let segment = SegmentName::parse(name).or_else(|| Some(GoneName::parse(name)?.segment));
        segment.map(|segment| segment.run).or_else(|| {
            let stem = [".lock", ".lost", ".missed"].iter().find_map(|side| name.strip_suffix(side))?;
            stem.parse().ok()
        })
    };
    file_names(dir).filter_map(|name| of(&name)).collect::<BTreeSet<_>>().into_iter().collect()
}

pub(crate) fn side(dir: &Path, run: RunId, what: &str) -> PathBuf {
    dir.join(format!("{run}.{what}"))
}

/// The length of a file; 0 when it is gone.
pub(crate) fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |m| m.len())
}

/// Takes the lock of a run. None: somebody has it, or it cannot be made.
pub(crate) fn try_lock(dir: &Path, run: RunId) -> Option<File> {
    let path = side(dir, run, "lock");
    let file = bir_home::private().write(true).create(true).truncate(false).open(path).ok()?;
    file.try_lock().ok()?;
    // Whoever had it may have removed the file between our opening and our locking it. A lock that has no name protects
    // nothing: the next one would make a new file and have a lock, too.
    is_named(&file, &side(dir, run, "lock")).then_some(file)
}

/// Takes the lock of a run that begins, of which nobody else can have more than a look.
pub(crate) fn lock_new(dir: &Path, run: RunId) -> Option<File> {
    for _ in 0..TRIES {
        if let Some(file) = try_lock(dir, run) {
            return Some(file);
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    None
}

/// How often the lock of a new run is tried for.
const TRIES: u32 = 50;
/// Between two tries.
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let key = |m: &fs::Metadata| (m.dev(), m.ino());
    matches!((&file.metadata(), &fs::metadata(path)), (Ok(ours), Ok(named)) if key(ours) == key(named))
}

#[cfg(not(unix))]
fn is_named(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_found_by_its_name_and_nothing_else_is() {
        let run = RunId::new();
        for number in [0, 7, 999_999, 1_000_000] {
            let name = SegmentName { run, number };
            assert_eq!(SegmentName::parse(&name.file_name()), Some(name));
        }
        let others = [
            format!("{run}.lock"),
            format!("{run}.spool"),
            format!("{run}-1.spool"),
            format!("{run}-00000x.spool"),
            format!("{run}-000001.spool.tmp"),
            "x-000001.spool".into(),
        ];
        for name in others {
            assert_eq!(SegmentName::parse(&name), None, "{name}");
        }
        let gone = GoneName { segment: SegmentName { run, number: 12 }, calls: 7, records: 15 };
        assert_eq!(GoneName::parse(&gone.file_name()), Some(gone));
        assert_eq!(SegmentName::parse(&gone.file_name()), None);
    }

    #[test]
    fn a_lock_is_held_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunId::new();
        let held = try_lock(dir.path(), run);
        assert!(held.is_some());
        assert!(try_lock(dir.path(), run).is_none());
        drop(held);
        assert!(try_lock(dir.path(), run).is_some());
    }

    #[test]
    fn whoever_takes_a_lock_away_takes_nobody_elses() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let run = RunId::new();
        // A sweeper that finds a lock and nothing else takes it away. Bounded, so that a failure ends the test.
        let sweeper = || {
            for _ in 0..20_000 {
                if let Some(_held) = try_lock(dir, run) {
                    remove_sides(dir, run);
                }
                std::thread::yield_now();
            }
        };
        std::thread::scope(|scope| {
            let sweeping = scope.spawn(sweeper);
            let mut taken = 0;
            while !sweeping.is_finished() {
                if let Some(_held) = try_lock(dir, run) {
                    taken += 1;
                    assert!(try_lock(dir, run).is_none(), "somebody else could have the lock, too");
                }
            }
            assert!(taken > 0, "the two met");
        });
        assert!(lock_new(dir, run).is_some());
    }
}
