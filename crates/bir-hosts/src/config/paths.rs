//! Where programs keep their files on each system.

use super::{ConfigFile, Machine, Role, Scope, System};
use bir_model::Format;
use std::path::{Path, PathBuf};

impl Machine<'_> {
    /// The directory that a variable names.
    #[must_use]
    pub fn dir(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// `~/.config`, or what stands for it (`XDG_CONFIG_HOME`).
    #[must_use]
    pub fn xdg_config(&self) -> PathBuf {
        self.dir("XDG_CONFIG_HOME")
            .filter(|dir| dir.is_absolute())
            .unwrap_or_else(|| self.home.join(".config"))
    }

    /// Where programs with windows keep their settings: `~/.config`, `~/Library/Application Support`, `%APPDATA%`.
    #[must_use]
    pub fn app_data(&self) -> PathBuf {
        match self.system {
            System::Linux => self.xdg_config(),
            System::MacOs => self.home.join("Library/Application Support"),
            System::Windows => {
                self.dir("APPDATA").unwrap_or_else(|| self.home.join("AppData").join("Roaming"))
            }
        }
    }
}

impl ConfigFile {
    /// A file with servers.
    #[must_use]
    pub fn servers(path: impl AsRef<Path>, scope: Scope, format: Format) -> Self {
        Self { path: path.as_ref().to_owned(), scope, format, role: Role::Servers }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::on;
    use super::*;

    #[test]
    fn each_system_has_its_own_places() {
        let of = |system, variables: &[(&str, &str)]| on(system, variables, |machine| machine.app_data());
        assert_eq!(of(System::Linux, &[]), Path::new("/h/.config"));
        assert_eq!(of(System::Linux, &[("XDG_CONFIG_HOME", "/x")]), Path::new("/x"));
        // What is not absolute is to be ignored, says the specification of the variable.
        assert_eq!(of(System::Linux, &[("XDG_CONFIG_HOME", "x")]), Path::new("/h/.config"));
        assert_eq!(
            of(System::MacOs, &[("XDG_CONFIG_HOME", "/x")]),
            Path::new("/h/Library/Application Support")
        );
        assert_eq!(of(System::Windows, &[("APPDATA", "/a")]), Path::new("/a"));
        assert_eq!(of(System::Windows, &[("APPDATA", "")]), Path::new("/h/AppData/Roaming"));
    }
}
