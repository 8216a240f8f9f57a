//! The state directory: is it ours alone, is there room, and is it clear what may be recorded?

use super::{Code, Finding};
use std::path::PathBuf;

/// The disk is almost full below so many bytes.
pub const LITTLE: u64 = 256 * 1024 * 1024;
/// The spool is near its bound from so many parts of a hundred on.
pub const NEAR: u64 = 80;

/// The off switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Off {
    /// It is on here.
    No,
    /// `BIR_OFF` is set where `bir doctor` runs.
    Variable,
    /// Everywhere.
    Everywhere,
    /// In the directory in which one works, by a line for it or for one above.
    Here,
}

/// What is odd about where things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusual {
    /// `HOME` is not absolute.
    Relative(PathBuf),
    /// `HOME` is no directory.
    NoDirectory(PathBuf),
    /// `HOME` belongs to another user, as after `sudo`.
    NotYours(PathBuf),
    /// `HOME` is not set; hosts that start us may have another.
    Unset,
    /// `BIR_HOME` is set: hosts may not pass it on.
    Moved(PathBuf),
}

/// What is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The state directory.
    pub dir: PathBuf,
    /// What of it others may read or change, the directory itself first.
    pub loose: Vec<PathBuf>,
    /// Bytes in the spool, and how many it may hold.
    pub spool: (u64, u64),
    /// Bytes that are free on its disk, where that is known.
    pub free: Option<u64>,
    /// Messages that found no room in the inbox.
    pub dropped: u64,
    /// Why it is not clear what may be recorded.
    pub unclear: Option<String>,
    /// The off switch.
    pub off: Off,
    /// What is odd about where it is.
    pub unusual: Vec<Unusual>,
}

/// Looks at it.
#[must_use]
pub fn findings(observed: &Observed) -> Vec<Finding> {
    let found = [
        unclear(observed),
        off(observed),
        loose(observed),
        spool(observed),
        disk(observed),
        dropped(observed),
    ];
    found.into_iter().flatten().chain(observed.unusual.iter().map(unusual)).collect()
}

fn unclear(observed: &Observed) -> Option<Finding> {
    let why = observed.unclear.as_ref()?;
    let file = observed.dir.join("config.toml");
    Some(
        Finding::fault(
            Code::ConfigUnclear,
            format!("nothing is recorded: {why}"),
            "it is not clear what may be kept, so nothing is",
        )
        .mend(format!("mend the file {}", file.display()))
        .file(&file),
    )
}

fn off(observed: &Observed) -> Option<Finding> {
    let (by, mend) = match observed.off {
        Off::No => return None,
        Off::Variable => ("in this shell and what it starts, by the variable BIR_OFF", "unset BIR_OFF"),
        Off::Everywhere => ("everywhere", "bir on"),
        Off::Here => ("in this directory", "bir on --here"),
    };
    Some(
        Finding::warning(
            Code::SwitchedOff,
            format!("recording is switched off {by}"),
            "servers run as if they were not wrapped, and hooks tell nothing",
        )
        .mend(mend),
    )
}

fn loose(observed: &Observed) -> Option<Finding> {
    let first = observed.loose.first()?;
    let more = observed.loose.len() - 1;
    let more =
        if more > 0 { format!(" and {more} more below {}", observed.dir.display()) } else { String::new() };
    Some(
        Finding::fault(
            Code::StateReadable,
            format!("other users of this machine may read {}{more}", first.display()),
            "it holds what was recorded, and tokens",
        )
        .safe(format!("chmod -R go-rwx {}", observed.dir.display()))
        .file(first),
    )
}

fn spool(observed: &Observed) -> Option<Finding> {
    let (bytes, limit) = observed.spool;
    let percent = bytes.saturating_mul(100) / limit.max(1);
    (percent >= NEAR).then(|| {
        Finding::warning(
            Code::SpoolFull,
            format!(
                "what waits for the hub takes {percent} % of its room ({} of {} MiB)",
                mib(bytes),
                mib(limit)
            ),
            "when it is full the oldest runs go, and are marked as not whole",
        )
        .mend("bir up, so that a hub takes it; or more room: record.spool_limit_mb in config.toml")
    })
}

fn disk(observed: &Observed) -> Option<Finding> {
    let free = observed.free.filter(|free| *free < LITTLE)?;
    Some(
        Finding::warning(
            Code::DiskFull,
            format!("{} MiB are free on the disk of {}", mib(free), observed.dir.display()),
            "what finds no room is not recorded, and runs are marked as not whole",
        )
        .mend("make room; bir runs rm takes runs away")
        .file(&observed.dir),
    )
}

fn dropped(observed: &Observed) -> Option<Finding> {
    let count = observed.dropped;
    let (messages, were) = if count == 1 { ("message", "was") } else { ("messages", "were") };
    (count > 0).then(|| {
        Finding::warning(
            Code::MessagesDropped,
            format!("{count} {messages} of hooks or proxies {were} not kept"),
            "no control server ran for long, it was ended with bir down, or the disk was full; the next one marks the runs",
        )
        .mend("bir up")
    })
}

fn unusual(unusual: &Unusual) -> Finding {
    let (what, why, mend) = match unusual {
        Unusual::Unset => (
            "HOME is not set".to_owned(),
            "hosts have one, and look for their files and for ours there".to_owned(),
            "set HOME to your home directory",
        ),
        Unusual::Relative(home) => (
            format!("HOME is {}, which is not absolute", home.display()),
            "it means another place in every directory".to_owned(),
            "set HOME to your home directory",
        ),
        Unusual::NoDirectory(home) => (
            format!("HOME is {}, which is no directory", home.display()),
            "nothing can be kept there".to_owned(),
            "set HOME to your home directory",
        ),
        Unusual::NotYours(home) => (
            format!("HOME is {}, which belongs to another user", home.display()),
            "what bir writes there, the owner may not be able to change; that is so after sudo".to_owned(),
            "run bir as yourself, without sudo",
        ),
        Unusual::Moved(dir) => (
            format!("BIR_HOME is {}", dir.display()),
            "hosts that drop this variable would look in HOME, and their sessions would be recorded there"
                .to_owned(),
            "unset BIR_HOME, or set it where hosts start",
        ),
    };
    let finding = match unusual {
        Unusual::Moved(_) => Finding::note(Code::HomeUnusual, what, why),
        _ => Finding::warning(Code::HomeUnusual, what, why),
    };
    finding.mend(mend)
}

fn mib(bytes: u64) -> u64 {
    bytes / (1024 * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Severity;

    fn well() -> Observed {
        Observed {
            dir: "/s".into(),
            loose: Vec::new(),
            spool: (79, 100),
            free: Some(LITTLE),
            dropped: 0,
            unclear: None,
            off: Off::No,
            unusual: Vec::new(),
        }
    }

    #[test]
    fn each_trouble_has_its_finding_and_none_is_found_where_all_is_well() {
        assert_eq!(findings(&well()), []);
        assert_eq!(findings(&Observed { free: None, ..well() }), []);
        for (observed, code, mend) in [
            (Observed { unclear: Some("line 3".into()), ..well() }, Code::ConfigUnclear, "/s/config.toml"),
            (Observed { off: Off::Variable, ..well() }, Code::SwitchedOff, "unset BIR_OFF"),
            (Observed { off: Off::Everywhere, ..well() }, Code::SwitchedOff, "bir on"),
            (Observed { off: Off::Here, ..well() }, Code::SwitchedOff, "bir on --here"),
            (Observed { loose: vec!["/s".into(), "/s/x".into()], ..well() }, Code::StateReadable, "chmod"),
            (Observed { spool: (80, 100), ..well() }, Code::SpoolFull, "bir up"),
            (Observed { spool: (5, 0), ..well() }, Code::SpoolFull, "bir up"),
            (Observed { free: Some(LITTLE - 1), ..well() }, Code::DiskFull, "make room"),
            (Observed { dropped: 1, ..well() }, Code::MessagesDropped, "bir up"),
        ] {
            let found = findings(&observed);
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].code, code);
            assert!(found[0].mend.as_ref().is_some_and(|m| m.contains(mend)), "{:?}", found[0]);
            assert_eq!(found[0].safe, code == Code::StateReadable);
        }
    }

    #[test]
    fn an_unusual_home_is_told_and_a_moved_state_directory_is_only_a_note() {
        let home = || PathBuf::from("/h");
        let all = vec![
            Unusual::Unset,
            Unusual::Relative(home()),
            Unusual::NoDirectory(home()),
            Unusual::NotYours(home()),
            Unusual::Moved(home()),
        ];
        let found = findings(&Observed { unusual: all, ..well() });
        assert!(found.iter().all(|f| f.code == Code::HomeUnusual && f.mend.is_some()));
        assert!(found[..4].iter().all(|f| f.severity == Severity::Warning));
        assert_eq!(found[4].severity, Severity::Note);
    }
}
