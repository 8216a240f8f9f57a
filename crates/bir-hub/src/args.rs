//! The command line.

use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// The service that keeps runs, and its web console.
#[derive(Debug, Parser)]
#[command(name = "bir-hub", version, about)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve, until SIGTERM or SIGINT.
    Serve(Serve),
    /// Bring a store to this version's schema; for PostgreSQL with the URL of the database's owner.
    Migrate(Migrate),
    /// People of a team's hub.
    #[command(subcommand)]
    User(User),
}

/// Each option also comes from the environment (`BIR_HUB_LISTEN` …) and from the file; a flag wins.
#[derive(Debug, Default, Parser)]
pub(crate) struct Serve {
    /// `sqlite:PATH` or `postgres://…`; without it the embedded hub of the state directory.
    #[arg(long)]
    pub(crate) store: Option<String>,
    /// Address and port [default: 127.0.0.1:7411]
    #[arg(long)]
    pub(crate) listen: Option<String>,
    /// How browsers and machines reach it, `https://hub.example.com`.
    #[arg(long)]
    pub(crate) public_url: Option<String>,
    /// A TOML file with a table `[hub]` [default, embedded: config.toml of the state directory]
    #[arg(long)]
    pub(crate) config: Option<PathBuf>,
    /// `text` or `json` [default: text]
    #[arg(long)]
    pub(crate) log_format: Option<String>,
    /// What to log, `info`, `debug`, `warn,request=info` … [default: info]
    #[arg(long)]
    pub(crate) log: Option<String>,
    /// Delete runs so many days after they ended; 0: never [default: 0]
    #[arg(long)]
    pub(crate) retention_days: Option<String>,
}

/// Options of `migrate`.
#[derive(Debug, Parser)]
pub(crate) struct Migrate {
    /// `sqlite:PATH` or `postgres://OWNER@HOST/DATABASE`; also `BIR_HUB_STORE`.
    #[arg(long)]
    pub(crate) store: Option<String>,
    /// PostgreSQL: the role under which the hub serves; it gets the rights that it needs and no others.
    #[arg(long)]
    pub(crate) app_role: Option<String>,
}

/// A role.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Role {
    /// Records, and sees their own.
    Member,
    /// Everything in the tenant.
    Admin,
    /// Sees everything in the tenant, and changes nothing.
    Auditor,
    /// Runs the hub: health and usage.
    Operator,
}

/// What to do with people.
#[derive(Debug, Subcommand)]
pub(crate) enum User {
    /// Add a person; the password is read from the terminal, or from stdin where that is none.
    Add {
        /// The store; also `BIR_HUB_STORE`.
        #[arg(long)]
        store: Option<String>,
        /// Signs in with it.
        #[arg(long)]
        email: String,
        /// Shown [default: the e-mail address]
        #[arg(long)]
        name: Option<String>,
        /// What they may do.
        #[arg(long, value_enum, default_value = "member")]
        role: Role,
        /// The tenant's name; it is made when there is none of that name [default: the only one, else `team`]
        #[arg(long)]
        tenant: Option<String>,
    },
    /// List people.
    List {
        /// The store; also `BIR_HUB_STORE`.
        #[arg(long)]
        store: Option<String>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Set a person's password; it is read as with `add`.
    SetPassword {
        /// The store; also `BIR_HUB_STORE`.
        #[arg(long)]
        store: Option<String>,
        /// Whose.
        #[arg(long)]
        email: String,
    },
}
