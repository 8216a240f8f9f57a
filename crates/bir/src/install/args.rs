//! The arguments, and what they ask for.

use super::ground::Ground;
use crate::error::CommandError;
use crate::programs;
use crate::project::EVERYWHERE;
use crate::wrap::in_a_build_folder;
use bir_control_client::projects;
use bir_hosts::Host;
use bir_hosts::config::Wrapping;
use bir_install::plan::Wish;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};

#[derive(Args, Default)]
pub(crate) struct InstallArgs {
    /// The project [default: the git root of the working directory, else it].
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Only this host (repeatable) [default: all that are there].
    #[arg(long = "host", value_name = "HOST", value_parser = host())]
    pub(crate) hosts: Vec<Host>,
    /// Only this server (repeatable), even if it signs in by itself or was not approved yet.
    #[arg(long = "server", value_name = "NAME")]
    pub(crate) servers: Vec<String>,
    /// A configuration file of a host that is not known here (repeatable).
    #[arg(long = "config", value_name = "FILE")]
    pub(crate) configs: Vec<PathBuf>,
    /// Show what would be changed, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Record in every directory, not in this project alone.
    #[arg(long)]
    pub(crate) everywhere: bool,
    /// Put the hooks where they hold for every project of yours.
    #[arg(long)]
    pub(crate) user: bool,
    /// Wrap the servers of .mcp.json in that file instead of in a copy of your own.
    #[arg(long)]
    pub(crate) mcp_json: bool,
    /// Wrap servers alone; prompts and built-in tools are not recorded.
    #[arg(long)]
    pub(crate) no_hooks: bool,
    /// Note that replay is wanted in this project.
    #[arg(long)]
    pub(crate) replay: bool,
    /// Leave the arguments of calls as the model wrote them in every case.
    #[arg(long)]
    pub(crate) no_correlation: bool,
    /// Print an object: the plan, and whether it was carried out.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct UninstallArgs {
    /// The project [default: the git root of the working directory, else it].
    #[arg(value_name = "DIR", conflicts_with = "all")]
    pub(crate) dir: Option<PathBuf>,
    /// Every project, and what holds for all of them.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only this host (repeatable).
    #[arg(long = "host", value_name = "HOST", value_parser = host(), conflicts_with = "purge")]
    pub(crate) hosts: Vec<Host>,
    /// Take out the wish for replay alone.
    #[arg(long, conflicts_with_all = ["all", "hosts", "purge"])]
    pub(crate) replay: bool,
    /// Everything, then stop hub and control server and delete the state directory with all that was recorded.
    #[arg(long)]
    pub(crate) purge: bool,
    /// Show what would be changed, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print an object: the plan, and whether it was carried out.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct SetupArgs {
    /// The project [default: the git root of the working directory, else it].
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Sign in to this hub first.
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Who signs in.
    #[arg(long, value_name = "EMAIL", requires = "server")]
    pub(crate) email: Option<String>,
    /// Sign in with a browser, here or on another machine.
    #[arg(long, requires = "server", conflicts_with_all = ["email", "password_stdin"])]
    pub(crate) device: bool,
    /// Read the password from stdin.
    #[arg(long, requires = "email")]
    pub(crate) password_stdin: bool,
    /// Only this host (repeatable) [default: all that are there].
    #[arg(long = "host", value_name = "HOST", value_parser = host())]
    pub(crate) hosts: Vec<Host>,
    /// Record in every directory, not in this project alone.
    #[arg(long)]
    pub(crate) everywhere: bool,
    /// Put the hooks where they hold for every project of yours.
    #[arg(long)]
    pub(crate) user: bool,
    /// Wrap servers alone; prompts and built-in tools are not recorded.
    #[arg(long)]
    pub(crate) no_hooks: bool,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// A host by any of its names.
fn host() -> impl TypedValueParser<Value = Host> {
    let possible = |host: Host| PossibleValue::new(host.as_str()).aliases(host.other_name());
    PossibleValuesParser::new(Host::ALL.map(possible))
        .try_map(|name| Host::named(&name).ok_or_else(|| format!("there is no host `{name}`")))
}

impl InstallArgs {
    pub(crate) fn hosts(&self) -> Vec<Host> {
        self.hosts.clone()
    }

    /// What they ask for. Says where a program lies that does not stay.
    pub(super) fn wish(&self, ground: &Ground, project: &Path) -> Result<Wish, CommandError> {
        let program = |name: &str| {
            let found = programs::lasting(name).map_err(|e| CommandError::failed(e.to_string()))?;
            if let Some(warning) = in_a_build_folder(&found) {
                crate::say(warning);
            }
            let not_utf8 = |path: std::ffi::OsString| {
                CommandError::failed(programs::LocateError::NotUtf8(path.into()).to_string())
            };
            found.into_os_string().into_string().map_err(not_utf8)
        };
        let absolute = |file: &PathBuf| {
            let failed = |e| CommandError::failed(format!("`{}` is no path: {e}", file.display()));
            let file = std::path::absolute(file).map_err(failed)?;
            match file.metadata() {
                Ok(found) if found.is_file() => Ok(file),
                Ok(_) => Err(CommandError::failed(format!(
                    "{} is no regular file; name the configuration itself",
                    file.display()
                ))),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    Err(CommandError::failed(format!("there is no file {}", file.display())))
                }
                Err(e) => Err(CommandError::failed(format!("cannot look at {}: {e}", file.display()))),
            }
        };
        let set_up = projects::list(&ground.home.dir).into_iter().filter_map(|(_, found)| found.project);
        Ok(Wish {
            project: project.to_path_buf(),
            hosts: self.hosts.clone(),
            servers: self.servers.clone(),
            config_files: self.configs.iter().map(absolute).collect::<Result<_, _>>()?,
            hooks: !self.no_hooks,
            user: self.user || self.everywhere,
            replay: self.replay,
            wrapping: Wrapping {
                proxy: program(programs::PROXY)?,
                no_correlation: self.no_correlation,
                mcp_json: self.mcp_json,
                everywhere: self.everywhere,
                host_named: false,
                named: false,
            },
            hooks_program: program(programs::HOOKS)?,
            everywhere: self.everywhere.then(|| EVERYWHERE.into()),
            set_up: set_up.collect(),
        })
    }
}
