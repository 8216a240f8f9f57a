//! The embedded hub: one person's, on one machine, in the state directory. Everything is made at the first start.
//!
//! | file | when |
//! |---|---|
//! | `hub.lock` | held while the hub runs: one per state directory |
//! | `hub.db` | the store |
//! | `hub.token` | made once; made anew when the store does not know it |
//! | `hub.json` | after it listens, until it ends |
//!
//! Clients find the hub by `hub.json` alone. Who deletes the directory leaves a hub that nobody finds and nobody ends, on a store
//! that is in no directory any more; it sees that ([`StateDir::lost`]) and ends.

use crate::fault::Fault;
use bir_model::TenantId;
use bir_service::clock::SystemSource;
use bir_service::token::{self, Prefix};
use bir_store::Store;
use bir_store::model::{NewToken, NewUser, Role, TokenKind};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What `hub.json` says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HubFile {
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) pid: u32,
    pub(crate) instance: String,
    pub(crate) api_version: u32,
    pub(crate) started_at: u64,
    /// The default port, where another program had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) taken: Option<u16>,
}

/// The state directory while the hub holds it.
#[derive(Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    lock: File,
}

fn private(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Writes a file in one step: others see the old content or the new one.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = private(File::options().write(true).create(true).truncate(true)).open(&temporary).and_then(
        |mut file| {
            file.write_all(content)?;
            file.sync_data()
        },
    );
    let replaced = written.and_then(|()| fs::rename(&temporary, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

/// The state directory: `BIR_HOME`, else `~/.baseinstrunner`.
pub(crate) fn find() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    set("BIR_HOME").or_else(|| {
        set(if cfg!(windows) { "USERPROFILE" } else { "HOME" }).map(|home| home.join(".baseinstrunner"))
    })
}

impl StateDir {
    /// Makes it where it is missing, and takes its lock.
    pub(crate) fn hold(path: PathBuf) -> Result<Self, Fault> {
        let failed = |what: &str, e: &std::io::Error| Fault::new(format!("{what} {}: {e}", path.display()));
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(|e| failed("cannot make the state directory", &e))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700))
                .map_err(|e| failed("cannot make the state directory private:", &e))?;
        }
        let lock = private(File::options().write(true).create(true).truncate(false))
            .open(path.join("hub.lock"))
            .map_err(|e| failed("cannot open hub.lock in", &e))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, lock }),
            Err(fs::TryLockError::WouldBlock) => {
                let running =
                    read(&path).map(|f| format!(" at {}, pid {}", f.url, f.pid)).unwrap_or_default();
                Err(Fault::held(format!(
                    "a hub runs in {} already{running}; use that one, or end it with `bir down`",
                    path.display()
                )))
            }
            Err(fs::TryLockError::Error(e)) => Err(failed("cannot lock hub.lock in", &e)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The address of the store.
    pub(crate) fn store(&self) -> String {
        format!("sqlite:{}", self.path.join("hub.db").display())
    }

    /// The local token: the one of the file, where the store knows it and it holds, else a new one. Makes tenant and person at
    /// the first start.
    pub(crate) async fn token(&self, store: &dyn Store) -> Result<String, Fault> {
        let file = self.path.join("hub.token");
        let tenant = match store.tenants().await?.first() {
            Some(tenant) => tenant.id,
            None => store.add_tenant("local").await?,
        };
        if let Some(text) = fs::read_to_string(&file).ok().map(|text| text.trim().to_owned())
            && holds(store, tenant, &text).await?
        {
            return Ok(text);
        }
        let people = store.users(tenant).await?;
        let owner = match people.iter().find(|p| p.role == Role::Admin && !p.disabled) {
            Some(person) => person.id,
            None => {
                let name =
                    std::env::var("USER").ok().filter(|n| !n.is_empty()).unwrap_or_else(|| "you".to_owned());
                let email = "local@localhost".to_owned();
                store
                    .add_user(tenant, NewUser { email, name, role: Role::Admin, password_hash: None })
                    .await?
            }
        };
        let text =
            token::make(Prefix::Local, tenant, &SystemSource).map_err(|e| Fault::new(e.to_string()))?;
        // The file first: a token that is in the store and nowhere else would be good for nobody.
        replace(&file, format!("{text}\n").as_bytes())
            .map_err(|e| Fault::new(format!("cannot write {}: {e}", file.display())))?;
        let new = NewToken {
            owner,
            kind: TokenKind::Personal,
            name: "this machine".to_owned(),
            hash: token::hash(&text),
            scopes: vec!["api".to_owned(), "record".to_owned()],
            expires_at: None,
            family: None,
        };
        store.add_token(tenant, new).await?;
        Ok(text)
    }

    /// Tells others where the hub is.
    pub(crate) fn announce(&self, file: &HubFile) -> Result<(), Fault> {
        let path = self.path.join("hub.json");
        let text = serde_json::to_vec(file).map_err(|e| Fault::new(e.to_string()))?;
        replace(&path, &text).map_err(|e| Fault::new(format!("cannot write {}: {e}", path.display())))
    }

    /// Why the directory is this hub's no more, if so. What the system does not let it look at counts as in order.
    pub(crate) fn lost(&self, instance: &str) -> Option<&'static str> {
        let is_gone = |e: &std::io::Error| {
            matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
        };
        match fs::read(self.path.join("hub.json")) {
            Err(e) if is_gone(&e) => return Some("hub.json is gone"),
            Err(_) => {}
            Ok(text) => match serde_json::from_slice::<HubFile>(&text) {
                Ok(file) if file.pid == std::process::id() && file.instance == instance => {}
                _ => return Some("hub.json names another process"),
            },
        }
        match fs::metadata(self.path.join("hub.lock")) {
            Err(e) if is_gone(&e) => Some("hub.lock is gone"),
            Ok(there) if !self.is_lock(&there) => Some("hub.lock is another file"),
            _ => None,
        }
    }

    /// Whether this is the file that is locked.
    #[cfg(unix)]
    fn is_lock(&self, there: &fs::Metadata) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        self.lock.metadata().map_or(true, |held| (held.dev(), held.ino()) == (there.dev(), there.ino()))
    }

    /// Whether this is the file that is locked: there, nobody can put another in the place of an open one.
    #[cfg(not(unix))]
    fn is_lock(&self, _: &fs::Metadata) -> bool {
        let _ = &self.lock;
        true
    }

    /// Takes that back.
    pub(crate) fn withdraw(&self, instance: &str) {
        if read(&self.path).is_some_and(|file| file.instance == instance)
            && let Err(error) = fs::remove_file(self.path.join("hub.json"))
        {
            tracing::warn!(%error, "hub.json stays behind");
        }
    }
}

fn read(dir: &Path) -> Option<HubFile> {
    serde_json::from_slice(&fs::read(dir.join("hub.json")).ok()?).ok()
}

async fn holds(store: &dyn Store, tenant: TenantId, text: &str) -> Result<bool, Fault> {
    if token::read(text) != Some((Prefix::Local, tenant)) {
        return Ok(false);
    }
    let found = store.token(tenant, &token::hash(text)).await?;
    Ok(found.is_some_and(|t| t.revoked_at.is_none() && !t.owner.disabled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(pid: u32) -> HubFile {
        HubFile {
            url: "http://127.0.0.1:1".into(),
            token: "t".into(),
            pid,
            instance: "i".into(),
            api_version: 1,
            started_at: 0,
            taken: None,
        }
    }

    #[test]
    fn a_directory_is_lost_when_its_files_are_gone_or_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let held = StateDir::hold(path.clone()).unwrap();
        assert_eq!(held.lost("i"), Some("hub.json is gone"));
        held.announce(&file(std::process::id())).unwrap();
        assert_eq!(held.lost("i"), None);
        assert_eq!(held.lost("other"), Some("hub.json names another process"));
        held.announce(&file(std::process::id() + 1)).unwrap();
        assert_eq!(held.lost("i"), Some("hub.json names another process"));
        fs::write(path.join("hub.json"), "{").unwrap();
        assert_eq!(held.lost("i"), Some("hub.json names another process"));
        held.announce(&file(std::process::id())).unwrap();
        fs::rename(path.join("hub.lock"), path.join("old")).unwrap();
        assert_eq!(held.lost("i"), Some("hub.lock is gone"));
        fs::write(path.join("hub.lock"), "").unwrap();
        assert_eq!(held.lost("i"), Some("hub.lock is another file"));
        fs::rename(path.join("old"), path.join("hub.lock")).unwrap();
        assert_eq!(held.lost("i"), None);
        fs::remove_dir_all(&path).unwrap();
        assert_eq!(held.lost("i"), Some("hub.json is gone"));
    }

    #[test]
    fn one_hub_holds_a_state_directory_and_the_next_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        let held = StateDir::hold(path.clone()).unwrap();
        held.announce(&file(7)).unwrap();
        let fault = StateDir::hold(path.clone()).unwrap_err().to_string();
        assert!(fault.contains("http://127.0.0.1:1, pid 7"), "{fault}");
        held.withdraw("another");
        assert!(path.join("hub.json").exists());
        held.withdraw("i");
        assert!(!path.join("hub.json").exists());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(&path.join("hub.lock"))), (0o700, 0o600));
        }
        drop(held);
        StateDir::hold(path).unwrap();
    }
}
