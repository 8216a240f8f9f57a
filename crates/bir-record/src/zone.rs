//! The system's time zone by its IANA name, so that whoever reads a run later knows which day "tomorrow" was in it.
//!
//! Read from `TZ`, else from where `/etc/localtime` points. Where neither says a name (a POSIX rule, a copied file, Windows), there is none.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Links that are followed.
const LINKS: usize = 8;
/// Bytes of a name.
const LONGEST: usize = 64;
/// Where systems keep the rules of zones.
const FOLDERS: [&str; 4] =
    ["/usr/share/zoneinfo", "/var/db/timezone/zoneinfo", "/usr/lib/zoneinfo", "/etc/zoneinfo"];

/// The name of a time zone, such as `Europe/Berlin`: letters, digits and `/_+-`, so that it holds nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(String);

impl Zone {
    /// That of the system now. None: it does not say one.
    #[must_use]
    pub fn system() -> Option<Self> {
        let tz = std::env::var_os("TZ");
        Self::of(tz.as_deref(), Path::new("/etc/localtime"), &FOLDERS.map(Path::new))
    }

    fn of(tz: Option<&OsStr>, localtime: &Path, folders: &[&Path]) -> Option<Self> {
        let Some(tz) = tz else { return Self::behind(localtime) };
        let tz = tz.to_str()?;
        let tz = tz.strip_prefix(':').unwrap_or(tz);
        if tz.is_empty() {
            // As the C library has it: set, and to nothing.
            return Some(Self("UTC".into()));
        }
        if Path::new(tz).is_absolute() {
            return Self::in_path(Path::new(tz)).or_else(|| Self::behind(Path::new(tz)));
        }
        // `CET-1CEST` looks like a name, and is a rule.
        let is_known = tz == "UTC" || tz.contains('/') || folders.iter().any(|dir| dir.join(tz).is_file());
        Self::named(tz).filter(|_| is_known)
    }

    /// The name that a link leads to.
    fn behind(link: &Path) -> Option<Self> {
        let mut at: PathBuf = link.to_owned();
        for _ in 0..LINKS {
            let next = fs::read_link(&at).ok()?;
            at = at.parent()?.join(next);
            if let Some(zone) = Self::in_path(&at) {
                return Some(zone);
            }
        }
        None
    }

    /// What stands behind the folder of the zones in a path.
    fn in_path(path: &Path) -> Option<Self> {
        let mut parts = path.components();
        parts.by_ref().find(|part| {
            matches!(part, Component::Normal(name) if name.to_str().is_some_and(|name| name.starts_with("zoneinfo")))
        })?;
        let name = parts.as_path().to_str()?;
        let bare = ["posix/", "right/"].iter().find_map(|folder| name.strip_prefix(folder));
        Self::named(bare.unwrap_or(name))
    }

    /// A name. None: it is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let part = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphabetic())
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-'))
        };
        (name.len() <= LONGEST && name.split('/').all(part)).then(|| Self(name.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tz: Option<&str>, localtime: &Path, folders: &[&Path]) -> Option<String> {
        Zone::of(tz.map(OsStr::new), localtime, folders).map(|zone| zone.as_str().to_owned())
    }

    #[test]
    fn a_name_is_told_and_what_is_none_is_not() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("EST5EDT"), "").unwrap();
        let nowhere = Path::new("/nowhere/localtime");
        for (tz, name) in [
            ("Europe/Berlin", Some("Europe/Berlin")),
            (":America/Argentina/Buenos_Aires", Some("America/Argentina/Buenos_Aires")),
            ("Etc/GMT+3", Some("Etc/GMT+3")),
            ("/usr/share/zoneinfo/Asia/Tokyo", Some("Asia/Tokyo")),
            (":/usr/share/zoneinfo/posix/Asia/Tokyo", Some("Asia/Tokyo")),
            ("UTC", Some("UTC")),
            ("", Some("UTC")),
            ("EST5EDT", Some("EST5EDT")),
            ("CET-1CEST", None),
            ("<+03>-3", None),
            ("CET-1CEST,M3.5.0,M10.5.0/3", None),
            ("Europe/../../etc/passwd", None),
            ("Europe//Berlin", None),
            ("Europe/Berlin\n", None),
            ("/etc/hostname", None),
            ("/usr/share/zoneinfo", None),
        ] {
            assert_eq!(of(Some(tz), nowhere, &[dir.path()]).as_deref(), name, "{tz:?}");
        }
        let long = format!("Europe/{}", "a".repeat(LONGEST));
        assert_eq!(of(Some(&long), nowhere, &[]), None);
        assert_eq!(of(None, nowhere, &[]), None);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_to_the_name_and_no_further_than_they_are_bounded() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        symlink("../usr/share/zoneinfo/Europe/Berlin", at("relative")).unwrap();
        assert_eq!(of(None, &at("relative"), &[]).as_deref(), Some("Europe/Berlin"));
        symlink("/var/db/timezone/zoneinfo/Asia/Tokyo", at("absolute")).unwrap();
        symlink("absolute", at("twice")).unwrap();
        assert_eq!(of(None, &at("twice"), &[]).as_deref(), Some("Asia/Tokyo"));
        assert_eq!(of(at("twice").to_str(), &at("relative"), &[]).as_deref(), Some("Asia/Tokyo"));
        fs::write(at("copied"), "TZif2").unwrap();
        assert_eq!(of(None, &at("copied"), &[]), None);
        symlink("around", at("around")).unwrap();
        assert_eq!(of(None, &at("around"), &[]), None);
        // What `TZ` says counts, also where it says no name.
        assert_eq!(of(Some("CET-1CEST"), &at("relative"), &[]), None);
    }
}
