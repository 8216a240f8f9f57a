//! The command line, and mistakes in it as one line each.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// The service that keeps runs, and its web console.
#[derive(Debug, Parser)]
#[command(name = "bir-hub", version, about, disable_help_subcommand = true)]
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
    #[command(subcommand, disable_help_subcommand = true)]
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

/// The command that is meant, `bir-hub user add`, as far as the words name one.
pub(crate) fn path(words: impl Iterator<Item = OsString>) -> String {
    let mut command = Args::command();
    let mut path = String::from("bir-hub");
    for word in words {
        let Some(next) = word.to_str().and_then(|word| command.find_subcommand(word)) else { break };
        path.push(' ');
        path.push_str(next.get_name());
        command = next.clone();
    }
    path
}

/// A mistake in the arguments of the command `path`: what, and where the way out is told.
pub(crate) fn one_line(e: &clap::Error, path: &str) -> String {
    let text = |kind| match e.get(kind) {
        Some(ContextValue::String(s)) => s.clone(),
        Some(ContextValue::Strings(s)) => s.join(", "),
        _ => String::new(),
    };
    let in_notation = text(ContextKind::InvalidArg);
    let arg = in_notation.split_once(" <").map_or(in_notation.as_str(), |(option, _)| option);
    let (value, known) = (text(ContextKind::InvalidValue), text(ContextKind::ValidValue));
    let what = match e.kind() {
        ErrorKind::UnknownArgument if arg.starts_with('-') => {
            let near = text(ContextKind::SuggestedArg);
            let hint = if near.is_empty() { near } else { format!("; did you mean `{near}`") };
            format!("unknown option `{arg}`{hint}")
        }
        ErrorKind::UnknownArgument => format!("unexpected argument `{arg}`"),
        ErrorKind::InvalidSubcommand => format!("unknown command `{}`", text(ContextKind::InvalidSubcommand)),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "no command".to_owned()
        }
        ErrorKind::MissingRequiredArgument => format!("`{arg}` is missing"),
        ErrorKind::InvalidValue if value.is_empty() => format!("`{arg}` needs a value"),
        ErrorKind::InvalidValue => return format!("`{arg}` cannot be `{value}`; it is one of {known}"),
        _ => {
            let whole = e.to_string();
            whole.lines().next().unwrap_or("wrong arguments").trim_start_matches("error: ").to_owned()
        }
    };
    format!("{what}; see `{path} --help`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mistake_is_one_line_that_names_it_and_the_way_out() {
        Args::command().debug_assert();
        for (line, what, hint) in [
            ("bir-hub", "no command", "bir-hub --help"),
            ("bir-hub frob", "unknown command `frob`", "bir-hub --help"),
            ("bir-hub serve --lisen x", "unknown option `--lisen`; did you mean `--listen`", "serve --help"),
            ("bir-hub serve --listen", "`--listen` needs a value", "bir-hub serve --help"),
            ("bir-hub serve now", "unexpected argument `now`", "bir-hub serve --help"),
            ("bir-hub serve --log a --log b", "--log", "bir-hub serve --help"),
            ("bir-hub user", "no command", "bir-hub user --help"),
            ("bir-hub user add", "`--email` is missing", "bir-hub user add --help"),
            (
                "bir-hub user add --email a@b --role king",
                "`--role` cannot be `king`",
                "member, admin, auditor, operator",
            ),
        ] {
            let e = Args::try_parse_from(line.split(' ')).unwrap_err();
            let shown = one_line(&e, &path(line.split(' ').skip(1).map(OsString::from)));
            assert!(shown.contains(what) && shown.contains(hint) && !shown.contains('\n'), "{line}: {shown}");
        }
    }
}
