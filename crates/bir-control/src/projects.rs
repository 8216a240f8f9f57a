//! Who may speak to the control server: each project that is set up has a token, made anew with each start.

use bir_control_client::projects;
use bir_control_client::{Discovery, Token};
use ring::digest::{SHA256, digest};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Bytes of randomness in a token.
const TOKEN_BYTES: usize = 32;

/// Who shows a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Who {
    /// Somebody of a project; its directory.
    Project(Arc<Path>),
    /// Another control server of this user, which takes over.
    Successor,
}

impl Who {
    /// Whether a directory is a part of what it may speak of.
    pub(crate) fn may_speak_of(&self, dir: &Path) -> bool {
        match self {
            Self::Project(project) => resolved(dir).is_some_and(|dir| dir.starts_with(project)),
            Self::Successor => false,
        }
    }
}

/// A directory without symbolic links, as far as it exists. None: it is not absolute, or goes up from where nothing is.
pub(crate) fn resolved(dir: &Path) -> Option<PathBuf> {
    if !dir.is_absolute() {
        return None;
    }
    if let Ok(dir) = dir.canonicalize() {
        return Some(dir);
    }
    let there = dir.ancestors().skip(1).find_map(|above| Some((above, above.canonicalize().ok()?)));
    let (above, real) = there?;
    let rest = dir.strip_prefix(above).ok()?;
    let is_plain = rest.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    is_plain.then(|| real.join(rest))
}

/// A secret that nobody else has. None: the system gives no randomness.
pub(crate) fn secret() -> Option<Token> {
    let mut bytes = [0; TOKEN_BYTES];
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes).ok()?;
    Some(Token::new(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })))
}

/// What discovery files say of this process.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    pub(crate) url: String,
    pub(crate) pid: u32,
    pub(crate) started_at: u64,
    pub(crate) version: String,
}

/// The projects that are set up, with their tokens.
pub(crate) struct Projects {
    state_dir: PathBuf,
    served: Served,
    known: Vec<Known>,
    successor: [u8; 32],
    seen: Option<SystemTime>,
}

struct Known {
    project: Arc<Path>,
    file: PathBuf,
    token: Token,
    hash: [u8; 32],
    /// As its file says.
    replay: Option<bool>,
}

impl Projects {
    /// None is known before [`Projects::look`]. `successor` is what another control server shows.
    pub(crate) fn new(state_dir: &Path, served: Served, successor: &Token) -> Self {
        let successor = hashed(successor.secret());
        Self { state_dir: state_dir.to_path_buf(), served, known: Vec::new(), successor, seen: None }
    }

    /// Looks which projects are set up now, where anything has changed, and tells each of them where its control server is.
    /// True: others are set up than before.
    pub(crate) fn look(&mut self) -> bool {
        let folder = projects::folder(&self.state_dir);
        let changed = std::fs::metadata(folder).and_then(|found| found.modified()).ok();
        if changed.is_some() && changed == self.seen {
            return false;
        }
        let before: Vec<_> = self.projects().collect();
        let mut known = Vec::new();
        for (file, said) in projects::list(&self.state_dir) {
            let Some(project) = said.project.as_deref() else { continue };
            let old = self.known.iter().position(|known| *known.project == *project);
            let mut one = match old {
                Some(at) => self.known.swap_remove(at),
                None => {
                    let Some(token) = secret() else { continue };
                    let hash = hashed(token.secret());
                    Known { project: project.into(), file: file.clone(), token, hash, replay: None }
                }
            };
            one.replay = said.replay;
            if said.url.as_deref() != Some(&*self.served.url)
                || said.token.as_deref() != Some(one.token.secret())
                || said.pid != Some(self.served.pid)
            {
                // What cannot be written is tried again with the next look.
                let _ = self.discovery(&one).write(&file);
            }
            known.push(one);
        }
        self.known = known;
        // A change within the clock's grain after this look must not be missed: a young time does not count as seen.
        let is_old = |at: &SystemTime| at.elapsed().is_ok_and(|since| since.as_millis() > 100);
        self.seen = changed.filter(is_old);
        !before.iter().eq(self.projects().collect::<Vec<_>>().iter())
    }

    /// Their directories.
    pub(crate) fn projects(&self) -> impl Iterator<Item = Arc<Path>> {
        self.known.iter().map(|known| Arc::clone(&known.project))
    }

    /// Whose token it is. Hashes are compared, so that the time it takes tells nothing of a token.
    pub(crate) fn who(&self, token: &str) -> Option<Who> {
        let shown = hashed(token);
        let same = |hash: &[u8; 32]| hash.iter().zip(&shown).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0;
        let mut found = same(&self.successor).then_some(Who::Successor);
        for known in &self.known {
            if same(&known.hash) {
                found = Some(Who::Project(Arc::clone(&known.project)));
            }
        }
        found
    }

    /// The end: files that still speak of this process say no more where it is.
    pub(crate) fn leave(&self) {
        for known in &self.known {
            let said = Discovery::read(&known.file).ok();
            let ours = |said: &Discovery| {
                said.pid == Some(self.served.pid) && said.url.as_deref() == Some(&self.served.url)
            };
            if let Some(said) = said.filter(ours) {
                let (project, replay) = (Some(known.project.to_path_buf()), said.replay);
                let _ = Discovery { project, replay, ..Discovery::default() }.write(&known.file);
            }
        }
    }

    fn discovery(&self, known: &Known) -> Discovery {
        Discovery {
            project: Some(known.project.to_path_buf()),
            url: Some(self.served.url.clone()),
            token: Some(known.token.secret().to_owned()),
            pid: Some(self.served.pid),
            started_at: Some(self.served.started_at),
            version: Some(self.served.version.clone()),
            api_version: Some(bir_model::control::API_VERSION),
            replay: known.replay,
        }
    }
}

fn hashed(token: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(pid: u32) -> Served {
        Served { url: format!("http://127.0.0.1:{pid}"), pid, started_at: 1, version: "1".into() }
    }

    #[test]
    fn each_project_has_a_token_of_its_own_and_is_told_of_a_new_server() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let state = home.join("state");
        let dirs = ["a", "b"].map(|name| home.join(name));
        dirs.iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
        let file = projects::add(&state, &dirs[0]).unwrap();
        let successor = secret().unwrap();
        let mut known = Projects::new(&state, served(7), &successor);
        assert!(known.look());
        assert!(!known.look());
        projects::add(&state, &dirs[1]).unwrap();
        assert!(known.look());
        let token = |dir: &Path| Discovery::read(&projects::file_of(&state, dir)).unwrap().token.unwrap();
        let (a, b) = (token(&dirs[0]), token(&dirs[1]));
        assert_ne!(a, b);
        assert_eq!(known.who(&a), Some(Who::Project(dirs[0].as_path().into())));
        assert_eq!((known.who(successor.secret()), known.who("")), (Some(Who::Successor), None));
        projects::remove(&state, &dirs[1]).unwrap();
        assert!(known.look());
        assert_eq!(known.who(&b), None);
        // Another control server has the file by now.
        let mut next = Projects::new(&state, served(8), &successor);
        next.look();
        known.leave();
        assert_eq!(Discovery::read(&file).unwrap().pid, Some(8));
        next.leave();
        let left = Discovery::read(&file).unwrap();
        assert_eq!((left.project, left.pid, left.token), (Some(dirs[0].clone()), None, None));
    }

    #[test]
    fn a_project_speaks_of_what_is_in_it_alone() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join("p/sub")).unwrap();
        std::fs::create_dir(home.join("p2")).unwrap();
        let who = Who::Project(home.join("p").into());
        let may = |dir: &str| who.may_speak_of(&home.join(dir));
        assert!(may("p") && may("p/sub") && may("p/gone") && may("p/sub/../sub"));
        assert!(!may("p2") && !may("") && !may("p/../p2") && !may("p/gone/../../p2"));
        assert!(!who.may_speak_of(Path::new("p")) && !who.may_speak_of(Path::new("")));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(home.join("p2"), home.join("p/link")).unwrap();
            assert!(!may("p/link") && !may("p/link/new"));
        }
        assert!(Who::Project(Path::new("/").into()).may_speak_of(&home));
    }
}
