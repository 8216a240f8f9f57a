//! Waiting for programs that had an old file open when it was exchanged.
//!
//! What they write goes to the file that is held, and is seen there; what they write after the last look would be lost with it. How long one
//! takes between opening and closing a file nobody can say, but on Linux the system tells who has it open.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// How long an old file is held at least before it is looked at for the last time, where nobody can tell who has it open. A program that
/// rewrites a configuration in place has truncated it when it opened it, and mostly closes it well within this.
const SETTLE: Duration = Duration::from_millis(25);
/// And how often it is looked once more while a program has it open for writing: two seconds, then that program keeps it open for ever.
#[cfg(target_os = "linux")]
const LOOKS: usize = 80;

/// Returns when nobody writes to these files any more, or has them open for long.
pub(super) fn wait_for(held: &[&Path]) {
    if held.is_empty() {
        return;
    }
    sleep(SETTLE);
    #[cfg(target_os = "linux")]
    for _ in 0..LOOKS {
        if !proc::is_written(held) {
            return;
        }
        sleep(SETTLE);
    }
}

#[cfg(target_os = "linux")]
mod proc {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    /// Whether a process that we may look into has one of the files open for writing.
    pub(super) fn is_written(files: &[&Path]) -> bool {
        let ids = files.iter().filter_map(|path| fs::metadata(path).ok());
        let ids: Vec<(u64, u64)> = ids.map(|found| (found.dev(), found.ino())).collect();
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        processes
            .flatten()
            .filter(|process| process.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
            .any(|process| writes(&process.path(), &ids))
    }

    fn writes(process: &Path, ids: &[(u64, u64)]) -> bool {
        let Ok(open) = fs::read_dir(process.join("fd")) else { return false };
        open.flatten().any(|descriptor| {
            let found = fs::metadata(descriptor.path()).map(|found| (found.dev(), found.ino()));
            found.is_ok_and(|id| ids.contains(&id)) && is_for_writing(process, &descriptor.file_name())
        })
    }

    fn is_for_writing(process: &Path, descriptor: &std::ffi::OsStr) -> bool {
        let Ok(info) = fs::read_to_string(process.join("fdinfo").join(descriptor)) else { return false };
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        // O_RDONLY is 0; O_WRONLY and O_RDWR are 1 and 2 on every processor.
        flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_some_and(|flags| flags & 3 != 0)
    }

    #[cfg(test)]
    mod tests {
        use super::is_written;
        use std::fs::{self, File, OpenOptions};

        #[test]
        fn who_has_it_open_for_writing_is_seen_and_a_reader_is_not() {
            let dir = tempfile::tempdir().unwrap();
            let (path, other) = (dir.path().join("settings"), dir.path().join("other"));
            fs::write(&path, "x").unwrap();
            fs::write(&other, "x").unwrap();
            let reader = File::open(&path).unwrap();
            assert!(!is_written(&[&path]));
            let writer = OpenOptions::new().write(true).open(&path).unwrap();
            assert!(is_written(&[&other, &path]));
            assert!(!is_written(&[&other]));
            // Another name for the same file.
            fs::rename(&path, dir.path().join("held")).unwrap();
            assert!(is_written(&[&dir.path().join("held")]));
            drop((reader, writer));
            assert!(!is_written(&[&dir.path().join("held")]));
        }
    }
}
