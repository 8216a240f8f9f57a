//! Who reads and changes a host's files: its module, or what is known of files that no module knows.

use bir_hosts::Host;
use bir_hosts::config::{
    self, Config, ConfigFile, Found, HookChange, Machine, Memo, Refusal, Server, Wrap, Wrapping, any,
};
use bir_model::{Edit, Place};
use serde_json::Value;
use std::path::Path;

/// The modules of the hosts.
pub struct Modules<'a> {
    /// One for each host that is known.
    pub hosts: Vec<&'a dyn Config>,
}

impl Modules<'static> {
    /// Those that there are.
    #[must_use]
    pub fn all() -> Self {
        Self { hosts: config::all().into() }
    }
}

impl<'a> Modules<'a> {
    /// The module of a host; none: of a file that `--config` named.
    #[must_use]
    pub fn of(&self, host: Option<Host>) -> Option<Module<'a>> {
        match host {
            Some(host) => {
                self.hosts.iter().find(|config| config.host() == host).map(|config| Module::Host(*config))
            }
            None => Some(Module::Any),
        }
    }
}

/// One of them.
#[derive(Clone, Copy)]
pub enum Module<'a> {
    /// A host's.
    Host(&'a dyn Config),
    /// That of any file.
    Any,
}

impl Module<'_> {
    /// The files of a host; those that `--config` named are not known here.
    #[must_use]
    pub fn files(&self, machine: &Machine<'_>, project: &Path) -> Vec<ConfigFile> {
        match self {
            Self::Host(config) => config.files(machine, project),
            Self::Any => Vec::new(),
        }
    }

    /// As [`Config::servers`].
    #[must_use]
    pub fn servers(&self, machine: &Machine<'_>, found: &Found) -> Vec<Server> {
        match self {
            Self::Host(config) => config.servers(machine, found),
            Self::Any => any::servers(found),
        }
    }

    /// As [`Config::wrap`].
    ///
    /// # Errors
    ///
    /// It is not to be wrapped, or cannot be.
    pub fn wrap(
        &self,
        machine: &Machine<'_>,
        found: &Found,
        server: &Server,
        with: &Wrapping,
    ) -> Result<Wrap, Refusal> {
        match self {
            Self::Host(config) => config.wrap(machine, found, server, with),
            Self::Any => any::wrap_in(found, server, with),
        }
    }

    /// As [`Config::unwrap`].
    ///
    /// # Errors
    ///
    /// The entry is not wrapped any more, or its memo does not fit it.
    pub fn unwrap(&self, entry: &Value, place: &Place, memo: &Memo) -> Result<Vec<Edit>, Refusal> {
        match self {
            Self::Host(config) => config.unwrap(entry, place, memo),
            Self::Any => any::unwrap_in(entry, place, memo),
        }
    }

    /// As [`Config::hooks`].
    #[must_use]
    pub fn hooks(
        &self,
        machine: &Machine<'_>,
        project: &Path,
        user: bool,
        program: &str,
    ) -> Option<HookChange> {
        match self {
            Self::Host(config) => config.hooks(machine, project, user, program),
            Self::Any => None,
        }
    }

    /// As [`Config::hooks_refused`].
    #[must_use]
    pub fn hooks_refused(&self, machine: &Machine<'_>, found: &Found) -> Option<Refusal> {
        match self {
            Self::Host(config) => config.hooks_refused(machine, found),
            Self::Any => None,
        }
    }

    /// As [`Config::restart_hint`].
    #[must_use]
    pub fn restart_hint(&self) -> &'static str {
        match self {
            Self::Host(config) => config.restart_hint(),
            Self::Any => any::RESTART_HINT,
        }
    }
}
