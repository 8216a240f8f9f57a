//! Which project a directory belongs to, and the key under which its control server is found.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Bytes of the hash that make a key.
const KEY_BYTES: usize = 8;

/// The project of a directory: the nearest one at or above it that holds `.git` (a directory, or the file of a work tree),
/// else the directory itself. Symbolic links are resolved where that is possible.
#[must_use]
pub fn project_of(dir: &Path) -> PathBuf {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    dir.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok()).unwrap_or(&dir).to_path_buf()
}

/// The first 16 hexadecimal digits of the SHA-256 of a project's path.
#[must_use]
pub fn key(project: &Path) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, project.as_os_str().as_encoded_bytes());
    hash.as_ref().iter().take(KEY_BYTES).fold(String::new(), |mut key, byte| {
        let _ = write!(key, "{byte:02x}");
        key
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_the_git_root_or_the_directory() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let deep = home.join("repo/a/b");
        std::fs::create_dir_all(&deep).unwrap();
        assert_eq!(project_of(&deep), deep);
        std::fs::create_dir(home.join("repo/.git")).unwrap();
        assert_eq!(project_of(&deep), home.join("repo"));
        std::fs::write(home.join("repo/a/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(project_of(&deep), home.join("repo/a"), "a work tree or a submodule is its own");
        assert_eq!(project_of(Path::new("/no/such/place")), Path::new("/no/such/place"));
    }

    #[test]
    fn a_key_is_sixteen_hexadecimal_digits_of_the_path() {
        // printf %s /home/a | sha256sum
        assert_eq!(key(Path::new("/home/a")), HOME_A);
        assert_ne!(key(Path::new("/home/a")), key(Path::new("/home/a/")));
    }

    const HOME_A: &str = "29ce385229e85f71";
}
