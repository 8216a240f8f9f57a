//! A host that is its [`Shape`] and a list of files.

use super::{
    Config, ConfigFile, Found, Machine, Memo, Refusal, Scope, Server, Shape, Wrap, Wrapping, committed,
    of_file, servers, unwrap, wrap,
};
use crate::Host;
use bir_model::{Edit, Place};
use serde_json::Value;
use std::path::Path;

/// A host.
pub(super) struct Table {
    pub(super) host: Host,
    pub(super) shape: Shape,
    /// Its files, those first that count more.
    pub(super) files: fn(&Machine<'_>, &Path) -> Vec<ConfigFile>,
    /// A server counts once, whichever files name it; otherwise each file's is started.
    pub(super) shadows: bool,
    /// Its servers are started in no project.
    pub(super) without_project: bool,
    pub(super) restart_hint: &'static str,
}

impl Config for Table {
    fn host(&self) -> Host {
        self.host
    }

    fn files(&self, machine: &Machine<'_>, project: &Path) -> Vec<ConfigFile> {
        committed::without_doubles((self.files)(machine, project))
    }

    fn servers(&self, _: &Machine<'_>, found: &Found) -> Vec<Server> {
        if self.shadows {
            servers(&self.shape, found)
        } else {
            found.files.iter().flat_map(|file| of_file(&self.shape, file)).collect()
        }
    }

    fn wrap(
        &self,
        _: &Machine<'_>,
        found: &Found,
        server: &Server,
        with: &Wrapping,
    ) -> Result<Wrap, Refusal> {
        let file = file_of(found, server)?;
        // What is wrapped, or never is, is told as everywhere.
        let may_be = server.wrapped.is_none() && !server.ours;
        if may_be {
            committed::asked(server, with)?;
        }
        let mut scope = server.scope;
        if self.without_project {
            if may_be && !(with.everywhere || with.host_named) {
                let title = self.host.title();
                let why = format!(
                    "{title} works in no project, so that it would be recorded always; ask for it with `--host {}`",
                    self.host.as_str()
                );
                return Err(Refusal::new("project", why));
            }
            // An entry of the user's records in projects that are set up, and this one is never in any.
            scope = Scope::Local;
        }
        wrap(&self.shape, file, server, scope, with)
    }

    fn unwrap(&self, entry: &Value, place: &Place, memo: &Memo) -> Result<Vec<Edit>, Refusal> {
        unwrap(&self.shape, entry, place, memo)
    }

    fn restart_hint(&self) -> &'static str {
        self.restart_hint
    }
}

/// The file in which a server was found.
pub(super) fn file_of<'f>(found: &'f Found, server: &Server) -> Result<&'f ConfigFile, Refusal> {
    let file = found.at(&server.file).map(|found| &found.file);
    file.ok_or_else(|| Refusal::new("shape", "its file was not read"))
}
