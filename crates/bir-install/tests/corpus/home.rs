//! A user's home with one file in it, and the way in and out as `bir` goes it: survey, plan, commit; ledger, undo, commit.

use bir_hosts::Host;
use bir_hosts::config::{Machine, System, Wrapping};
use bir_install::ledger::Ledger;
use bir_install::operation::{commit, read_ledger};
use bir_install::plan::adopt::adopt;
use bir_install::plan::{Plan, Wish, plan};
use bir_install::survey::{Modules, survey};
use bir_install::undo::{ByEntries, Out, undo};
use rustix::fs::{AtFlags, Gid, Uid};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What was found at a path: its text, or where a link leads, or that it is a folder.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Thing {
    File(Vec<u8>),
    Link(PathBuf),
    Folder,
    Other,
}

/// What is asked for beside the project.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) host: Option<Host>,
    pub(crate) servers: Vec<String>,
    pub(crate) config_files: Vec<PathBuf>,
    pub(crate) mcp_json: bool,
    pub(crate) everywhere: bool,
    pub(crate) hooks: bool,
}

pub(crate) struct Home {
    dir: tempfile::TempDir,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) state: PathBuf,
}

pub(crate) const PROXY: &str = "/opt/bir/bin/bir-proxy";
pub(crate) const HOOKS: &str = "/opt/bir/bin/bir-hooks";

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (home, state) = (root.join("home"), root.join("state"));
        let project = home.join("project");
        std::fs::create_dir_all(project.join(".git")).unwrap();
        std::fs::create_dir_all(&state).unwrap();
        Self { dir, home, project, state }
    }

    /// A path as the manifest has it.
    pub(crate) fn place(&self, at: &str) -> PathBuf {
        match at.split_once('/') {
            Some(("~", rest)) => self.home.join(rest),
            Some((".", rest)) => self.project.join(rest),
            _ => panic!("{at} is neither below ~/ nor below ./"),
        }
    }

    pub(crate) fn put(&self, at: &str, bytes: &[u8]) -> PathBuf {
        let path = self.place(at);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Makes everything somebody's, down from the root of it all.
    pub(crate) fn give_to(&self, user: Uid, group: Gid) {
        let mut paths = vec![self.dir.path().to_owned()];
        while let Some(path) = paths.pop() {
            rustix::fs::chownat(rustix::fs::CWD, &path, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
                .unwrap();
            if path.symlink_metadata().unwrap().is_dir() {
                paths.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
    }

    /// Everything below the home.
    pub(crate) fn picture(&self) -> BTreeMap<PathBuf, Thing> {
        let mut found = BTreeMap::new();
        look(&self.home, &mut found);
        found
    }

    /// A plan of an install.
    pub(crate) fn plan(&self, asked: &Asked) -> Plan {
        let variable = |_: &str| None;
        let machine = Machine { home: self.home.clone(), system: System::Linux, variable: &variable };
        let modules = Modules::all();
        let named: Vec<Host> = asked.host.into_iter().collect();
        let survey = survey(&modules, &machine, &self.project, &named, &asked.config_files);
        let wish = Wish {
            project: self.project.clone(),
            hosts: named,
            servers: asked.servers.clone(),
            config_files: asked.config_files.clone(),
            hooks: asked.hooks,
            user: false,
            replay: false,
            wrapping: Wrapping {
                proxy: PROXY.into(),
                no_correlation: false,
                mcp_json: asked.mcp_json,
                everywhere: asked.everywhere,
                host_named: asked.host.is_some(),
                named: false,
            },
            hooks_program: HOOKS.into(),
            everywhere: asked.everywhere.then(|| self.home.clone()),
            set_up: vec![self.project.clone()],
        };
        let ledger = read_ledger(&self.state).unwrap();
        plan(&modules, &machine, &survey, &wish, &ledger, 1_764_500_000_000)
    }

    /// A plan of an uninstall, `all`: of every project.
    pub(crate) fn out(&self, all: bool) -> Plan {
        self.out_of(&read_ledger(&self.state).unwrap(), all)
    }

    /// The ledger with what the files of every host hold beside it, as an uninstall takes it in.
    pub(crate) fn adopted(&self) -> Ledger {
        let variable = |_: &str| None;
        let machine = Machine { home: self.home.clone(), system: System::Linux, variable: &variable };
        let survey = survey(&Modules::all(), &machine, &self.project, &[], &[]);
        adopt(&survey, &read_ledger(&self.state).unwrap(), PROXY, HOOKS)
    }

    /// A plan of an uninstall of what a ledger knows.
    pub(crate) fn out_of(&self, ledger: &Ledger, all: bool) -> Plan {
        undo(
            &Modules::all(),
            ledger,
            &Out { project: self.project.clone(), all, hosts: Vec::new(), forget: false },
        )
    }

    pub(crate) fn carry_out(&self, plan: &Plan) -> Result<(), String> {
        commit(&self.state, &plan.operation, &ByEntries(&Modules::all())).map_err(|e| e.to_string())
    }

    /// Every file of the state directory, as one text.
    pub(crate) fn kept(&self) -> String {
        let mut found = BTreeMap::new();
        look(&self.state, &mut found);
        let texts = found.into_values().filter_map(|thing| match thing {
            Thing::File(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// What a person is shown of a plan.
pub(crate) fn shown(plan: &Plan) -> String {
    format!("{:?} {:?} {:?} {:?} {:?}", plan.servers, plan.hooks, plan.untouched, plan.notes, plan.diffs)
}

fn look(at: &Path, found: &mut BTreeMap<PathBuf, Thing>) {
    for entry in std::fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        let thing = if meta.is_symlink() {
            Thing::Link(std::fs::read_link(&path).unwrap())
        } else if meta.is_dir() {
            look(&path, found);
            Thing::Folder
        } else if meta.is_file() {
            Thing::File(std::fs::read(&path).unwrap())
        } else {
            Thing::Other
        };
        found.insert(path, thing);
    }
}
