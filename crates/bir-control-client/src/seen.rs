//! Who has come to the control server, kept beyond its life: `control/seen.json`, readable by its user alone.
//!
//! A wrapped entry proves nothing by itself: a host may read another file, or start another entry of the same name. That a proxy
//! has registered is the proof (seed 01 phase 7). So the control server notes the last registration of each server of a project, and
//! the last start of a session, and `bir doctor` compares them with what is wrapped.

use crate::projects::folder;
use serde::{Deserialize, Serialize};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Servers that are remembered, and as many sessions' hosts; of more the oldest are forgotten.
pub const MOST: usize = 512;
/// Longest file that is read, in bytes.
const LONGEST_FILE: u64 = 1024 * 1024;
/// Longest text that is kept of what others say, in bytes.
const LONGEST_TEXT: usize = 256;

/// The last registration of a server's proxies in a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenProxy {
    /// The project that is set up.
    pub project: PathBuf,
    /// The server's key.
    pub server: String,
    /// The host, as it introduced itself to the server, where the proxy knew that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The version of the proxy's program.
    #[serde(default)]
    pub version: String,
    /// When, ms since the Unix epoch.
    pub at: u64,
}

/// The last session of a host that began in a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenSession {
    /// The project that is set up.
    pub project: PathBuf,
    /// The host's name, as its hooks tell it.
    pub host: String,
    /// When it was heard of first, ms since the Unix epoch.
    pub at: u64,
}

/// What the file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seen {
    /// Registrations, each server of a project once.
    pub proxies: Vec<SeenProxy>,
    /// Sessions, each host of a project once.
    pub sessions: Vec<SeenSession>,
}

impl Seen {
    /// Where it is.
    #[must_use]
    pub fn file(state_dir: &Path) -> PathBuf {
        folder(state_dir).join("seen.json")
    }

    /// Reads it. What is missing or broken says nothing: it is written anew with the next registration.
    #[must_use]
    pub fn read(state_dir: &Path) -> Self {
        let read = || -> io::Result<Self> {
            let mut text = Vec::new();
            std::fs::File::open(Self::file(state_dir))?.take(LONGEST_FILE).read_to_end(&mut text)?;
            Ok(serde_json::from_slice(&text)?)
        };
        read().unwrap_or_default()
    }

    /// Writes it in one step, and does not wait for the disk: hosts wait for whoever calls this. One process writes at a time, the
    /// one that serves.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn write(&self, state_dir: &Path) -> io::Result<()> {
        let file = Self::file(state_dir);
        let half = file.with_extension("json.tmp");
        let mut open = bir_home::private().write(true).create(true).truncate(true).open(&half)?;
        open.write_all(&serde_json::to_vec(self)?)?;
        drop(open);
        std::fs::rename(half, file)
    }

    /// A proxy has registered. True: that is to be written. An older one than is known says nothing.
    pub fn registered(&mut self, proxy: SeenProxy) -> bool {
        let proxy = SeenProxy {
            server: short(proxy.server),
            host: proxy.host.map(short),
            version: short(proxy.version),
            ..proxy
        };
        let same = |known: &SeenProxy| (&known.project, &known.server) == (&proxy.project, &proxy.server);
        let keep_host = |known: &SeenProxy| proxy.host.clone().or_else(|| known.host.clone());
        match self.proxies.iter_mut().find(|known| same(known)) {
            Some(known) if known.at >= proxy.at => return false,
            Some(known) => *known = SeenProxy { host: keep_host(known), ..proxy },
            None => self.proxies.push(proxy),
        }
        forget(&mut self.proxies, |known| known.at);
        true
    }

    /// A session was heard of for the first time. True: that is to be written.
    pub fn began(&mut self, session: SeenSession) -> bool {
        let session = SeenSession { host: short(session.host), ..session };
        let same = |known: &SeenSession| (&known.project, &known.host) == (&session.project, &session.host);
        match self.sessions.iter_mut().find(|known| same(known)) {
            Some(known) if known.at >= session.at => return false,
            Some(known) => *known = session,
            None => self.sessions.push(session),
        }
        forget(&mut self.sessions, |known| known.at);
        true
    }

    /// When a server's proxy has registered last in a project.
    #[must_use]
    pub fn registration(&self, project: &Path, server: &str) -> Option<&SeenProxy> {
        self.proxies.iter().find(|known| known.project == project && known.server == short(server.to_owned()))
    }

    /// When a session of a host began last in a project.
    #[must_use]
    pub fn session(&self, project: &Path, host: &str) -> Option<u64> {
        self.sessions
            .iter()
            .find(|known| known.project == project && known.host == host)
            .map(|known| known.at)
    }
}

/// Lets the oldest go.
fn forget<T>(all: &mut Vec<T>, at: impl Fn(&T) -> u64) {
    while all.len() > MOST {
        let oldest = all.iter().enumerate().min_by_key(|(_, one)| at(one)).map(|(index, _)| index);
        let Some(oldest) = oldest else { return };
        all.swap_remove(oldest);
    }
}

fn short(mut text: String) -> String {
    let end = (0..=LONGEST_TEXT.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.truncate(end);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(server: &str, at: u64) -> SeenProxy {
        SeenProxy { project: "/p".into(), server: server.into(), host: None, version: "1".into(), at }
    }

    #[test]
    fn the_last_registration_of_each_server_is_kept_and_read_again() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(Seen::read(home.path()), Seen::default());
        let mut seen = Seen::default();
        assert!(seen.registered(SeenProxy { host: Some("codex".into()), ..proxy("fs", 5) }));
        assert!(!seen.registered(proxy("fs", 5)) && !seen.registered(proxy("fs", 4)));
        assert!(seen.registered(proxy("fs", 6)) && seen.registered(proxy("git", 1)));
        assert!(seen.began(SeenSession { project: "/p".into(), host: "codex".into(), at: 9 }));
        assert!(!seen.began(SeenSession { project: "/p".into(), host: "codex".into(), at: 9 }));
        bir_home::ensure(&folder(home.path())).unwrap();
        seen.write(home.path()).unwrap();
        let read = Seen::read(home.path());
        assert_eq!(read, seen);
        let fs = read.registration(Path::new("/p"), "fs").unwrap();
        assert_eq!((fs.at, fs.host.as_deref()), (6, Some("codex")), "who it was is not forgotten");
        assert_eq!(read.registration(Path::new("/q"), "fs"), None);
        assert_eq!(
            (read.session(Path::new("/p"), "codex"), read.session(Path::new("/p"), "x")),
            (Some(9), None)
        );
        std::fs::write(Seen::file(home.path()), "{").unwrap();
        assert_eq!(Seen::read(home.path()), Seen::default());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            seen.write(home.path()).unwrap();
            let mode = std::fs::metadata(Seen::file(home.path())).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn it_is_bounded_and_the_oldest_go() {
        let mut seen = Seen::default();
        for n in 0..MOST as u64 + 10 {
            assert!(seen.registered(proxy(&format!("s{n}"), n + 1)));
        }
        assert_eq!(seen.proxies.len(), MOST);
        assert!(seen.registration(Path::new("/p"), "s9").is_none());
        assert!(seen.registration(Path::new("/p"), "s10").is_some());
        seen.registered(proxy(&"ü".repeat(LONGEST_TEXT), u64::MAX));
        let longest = seen.proxies.iter().map(|known| known.server.len()).max().unwrap();
        assert_eq!(longest, LONGEST_TEXT);
        assert!(seen.registration(Path::new("/p"), &"ü".repeat(LONGEST_TEXT)).is_some());
    }
}
