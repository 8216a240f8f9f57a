//! Everything that changes something on the disk, one step at a time.
//!
//! A test may watch the steps: it is asked before each, and can fail it, kill the process there, or let another program be faster. What
//! is written goes in two halves, so that there is a step between them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// What is asked before each step: its name, and the path that it changes.
pub type Watch = dyn Fn(&'static str, &Path) -> io::Result<()> + Send + Sync;

/// The disk.
pub struct Disk {
    watch: Option<Box<Watch>>,
    exchanges: bool,
}

impl Default for Disk {
    fn default() -> Self {
        Self { watch: None, exchanges: true }
    }
}

impl Disk {
    /// One whose steps are watched.
    #[must_use]
    pub fn watched(watch: Box<Watch>) -> Self {
        Self { watch: Some(watch), ..Self::default() }
    }

    /// One that cannot exchange two files, as some file systems.
    #[must_use]
    pub fn without_exchange(mut self) -> Self {
        self.exchanges = false;
        self
    }

    fn step(&self, name: &'static str, path: &Path) -> io::Result<()> {
        self.watch.as_ref().map_or(Ok(()), |watch| watch(name, path))
    }

    /// A new file that is on the disk when this returns; for this user alone (where root acts, for whom its directory belongs to), or with
    /// the attributes of `like`. An error: its owner or group cannot be kept.
    pub(crate) fn create(&self, path: &Path, content: &[u8], like: Option<&Path>) -> io::Result<()> {
        self.step("create", path)?;
        let mut file = bir_home::private().write(true).create_new(true).open(path)?;
        let (one, two) = content.split_at(content.len() / 2);
        self.step("write", path)?;
        file.write_all(one)?;
        self.step("write the rest", path)?;
        file.write_all(two)?;
        match like {
            Some(like) => {
                self.step("attributes", path)?;
                attributes(&file, like)?;
            }
            None => bir_home::hand_over(&file, path),
        }
        self.step("sync", path)?;
        file.sync_all()
    }

    /// A file of the state directory in place of the one that is there. An error: the old one is.
    pub(crate) fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let part = path.with_file_name(format!(".bir-{}.tmp", uuid::Uuid::now_v7().simple()));
        let done = self.create(&part, content, None).and_then(|()| self.rename(&part, path));
        if done.is_err() {
            let _ = self.remove(&part);
        }
        done?;
        // It is there for everybody now: an error would say that it is not.
        let _ = self.sync_dir_of(path);
        Ok(())
    }

    /// Renames over whatever is there.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("rename", to)?;
        fs::rename(from, to)
    }

    /// Renames where nothing is there; else `AlreadyExists`.
    pub(crate) fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("rename new", to)?;
        if let Some(done) = self.exchanges.then(|| system::rename_new(from, to)).flatten() {
            return done;
        }
        match fs::hard_link(from, to) {
            Ok(()) => self.remove(from),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // No links on this file system: what is left is to look first.
            Err(_) if fs::symlink_metadata(to).is_err() => fs::rename(from, to),
            Err(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    /// Two files change their places. None: the file system cannot do that.
    pub(crate) fn exchange(&self, one: &Path, other: &Path) -> Option<io::Result<()>> {
        if !self.exchanges {
            return None;
        }
        match self.step("exchange", other) {
            Ok(()) => system::exchange(one, other),
            Err(error) => Some(Err(error)),
        }
    }

    /// A second name of a file.
    pub(crate) fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        self.step("link", name)?;
        fs::hard_link(file, name)
    }

    /// Removes a file. One that is not there is removed.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.step("remove", path)?;
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Makes a directory for this user alone; where root acts, for whom the one above belongs to. False: it was there.
    pub(crate) fn make_dir(&self, path: &Path) -> io::Result<bool> {
        self.step("make directory", path)?;
        #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has a mode"))]
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(path) {
            Ok(()) => {
                bir_home::hand_over_dir(path);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes a directory if nothing is in it. That it stays is no error.
    pub(crate) fn remove_empty_dir(&self, path: &Path) -> io::Result<()> {
        self.step("remove directory", path)?;
        let _ = fs::remove_dir(path);
        Ok(())
    }

    /// Names in the directory of a file are on the disk when this returns. A directory that is gone has none.
    pub(crate) fn sync_dir_of(&self, path: &Path) -> io::Result<()> {
        let Some(dir) = path.parent() else { return Ok(()) };
        self.step("sync directory", dir)?;
        if cfg!(unix)
            && let Ok(dir) = File::open(dir)
        {
            // Some network file systems refuse that; the rename holds all the same.
            let _ = dir.sync_all();
        }
        Ok(())
    }
}

/// Mode, owner, group and, as far as this user may set them, extended attributes (an access list is one) of another file.
#[cfg(unix)]
fn attributes(file: &File, like: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let (have, want) = (file.metadata()?, fs::metadata(like)?);
    let mode = want.permissions().mode() & 0o777;
    if (have.uid(), have.gid()) != (want.uid(), want.gid()) {
        let owner = (have.uid() != want.uid()).then_some(want.uid());
        fchown(file, owner, Some(want.gid())).map_err(|error| {
            let why = format!(
                "its owner or group cannot be kept ({error}); run this as the user to whom it belongs"
            );
            io::Error::new(io::ErrorKind::PermissionDenied, why)
        })?;
    }
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    system::extended_attributes(file, like);
    Ok(())
}

#[cfg(not(unix))]
fn attributes(_: &File, like: &Path) -> io::Result<()> {
    fs::metadata(like).map(|_| ())
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod system {
    use rustix::fs::{CWD, RenameFlags, XattrFlags, fsetxattr, getxattr, listxattr, renameat_with};
    use rustix::io::Errno;
    use std::fs::File;
    use std::io;
    use std::path::Path;

    fn with(flags: RenameFlags, from: &Path, to: &Path) -> Option<io::Result<()>> {
        match renameat_with(CWD, from, CWD, to, flags) {
            // Not this kernel, or not this file system.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => None,
            done => Some(done.map_err(io::Error::from)),
        }
    }

    pub(super) fn exchange(one: &Path, other: &Path) -> Option<io::Result<()>> {
        with(RenameFlags::EXCHANGE, one, other)
    }

    pub(super) fn rename_new(from: &Path, to: &Path) -> Option<io::Result<()>> {
        with(RenameFlags::NOREPLACE, from, to)
    }

    /// What may not be set is left out: a label of the system is the system's.
    pub(super) fn extended_attributes(file: &File, like: &Path) {
        let mut names = vec![0; 64 << 10];
        let Ok(length) = listxattr(like, &mut names) else { return };
        let mut value = vec![0; 64 << 10];
        for name in names[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
            if let Ok(length) = getxattr(like, name, &mut value) {
                let _ = fsetxattr(file, name, &value[..length], XattrFlags::empty());
            }
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod system {
    use std::io;
    use std::path::Path;

    pub(super) fn exchange(_: &Path, _: &Path) -> Option<io::Result<()>> {
        None
    }

    pub(super) fn rename_new(_: &Path, _: &Path) -> Option<io::Result<()>> {
        None
    }
}
