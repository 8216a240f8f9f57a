//! The arguments, and mistakes in them as one line each: what, why, what to do.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;

/// Puts bir-proxy, a relay, in front of the MCP servers of coding agents.
#[derive(Parser)]
#[command(name = "bir", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print the configuration entry that puts bir-proxy in front of an MCP server.
    Wrap(Box<WrapArgs>),
}

/// How the entry is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// `mcpServers` as most hosts have it.
    Json,
    /// `[mcp_servers.NAME]` as Codex has it.
    Toml,
    /// `mcpServers` as a mapping, as LibreChat has it; for Continue and Goose a note says what to change.
    Yaml,
}

/// How a remote server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// Found out: Streamable HTTP, else HTTP with server-sent events.
    Auto,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, as revision 2024-11-05 has it.
    Sse,
}

impl Transport {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

#[derive(Args, Debug)]
#[command(
    override_usage = "bir wrap [OPTIONS] -- COMMAND [ARGUMENTS]...\n       bir wrap [OPTIONS] --url URL"
)]
pub(crate) struct WrapArgs {
    /// The server's key in the host's configuration [default: derived from the command or URL].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// How the entry is written.
    #[arg(long, value_enum, default_value = "json", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// An environment variable of the entry (repeatable).
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Answer the host's handshake from the last start, and start the server when it is needed.
    #[arg(long)]
    pub(crate) lazy: bool,
    /// Restart a server that died, once.
    #[arg(long)]
    pub(crate) restart: bool,
    /// A remote server instead of a command, http or https.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// How the remote server is spoken to [default: auto].
    #[arg(long, value_enum, value_name = "TRANSPORT")]
    pub(crate) transport: Option<Transport>,
    /// A header for the remote server (repeatable); it goes into the entry's env, never into arguments.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// Start the printed entry once, and say what answers.
    #[arg(long)]
    pub(crate) test: bool,
    /// How long the test may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
    /// The server's command with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// A mistake in the arguments as one line.
pub(crate) fn one_line(e: &clap::Error) -> String {
    let text = |kind| match e.get(kind) {
        Some(ContextValue::String(s)) => s.clone(),
        Some(ContextValue::Strings(s)) => s.join(", "),
        _ => String::new(),
    };
    let in_notation = text(ContextKind::InvalidArg);
    let arg = without_value_name(&in_notation);
    match e.kind() {
        ErrorKind::UnknownArgument if arg.starts_with('-') => {
            let near = text(ContextKind::SuggestedArg);
            let hint = if near.is_empty() { String::new() } else { format!("; did you mean `{near}`") };
            format!(
                "unknown option `{arg}`{hint}; see `bir wrap --help`, and give the server's own options after `--`"
            )
        }
        ErrorKind::UnknownArgument => {
            format!("unexpected argument `{arg}`; the server's command goes after `--`: bir wrap -- {arg} …")
        }
        ErrorKind::InvalidSubcommand => {
            format!("unknown command `{}`; see `bir --help`", text(ContextKind::InvalidSubcommand))
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "no command; try `bir wrap -- COMMAND`, or see `bir --help`".into()
        }
        ErrorKind::InvalidValue if text(ContextKind::InvalidValue).is_empty() => {
            format!("`{arg}` needs a value; see `bir wrap --help`")
        }
        ErrorKind::InvalidValue => {
            let (value, known) = (text(ContextKind::InvalidValue), text(ContextKind::ValidValue));
            format!("`{arg}` cannot be `{value}`; it is one of {known}")
        }
        _ => {
            let whole = e.to_string();
            let first = whole.lines().next().unwrap_or("wrong arguments").trim_start_matches("error: ");
            let first = if in_notation.is_empty() { first.into() } else { first.replace(&in_notation, arg) };
            format!("{first}; see `bir wrap --help`")
        }
    }
}

/// `--transport` of `--transport <TRANSPORT>`: people write the option, the parser names it with its value.
fn without_value_name(arg: &str) -> &str {
    arg.split_once(" <").map_or(arg, |(option, _)| option)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_mistake_is_one_line_that_names_it_and_the_way_out() {
        for (line, what, hint) in [
            ("bir", "no command", "bir --help"),
            ("bir frob", "`frob`", "bir --help"),
            ("bir wrap --nam x -- y", "`--nam`", "did you mean `--name`"),
            ("bir wrap npx -y thing", "`npx`", "-- npx"),
            ("bir wrap --format xml -- y", "`xml`", "json, toml, yaml"),
            ("bir wrap --transport x --url http://h/", "`--transport` cannot be `x`", "auto, http, sse"),
            ("bir wrap --timeout 0 -- y", "0", "--help"),
            ("bir wrap --timeout soon -- y", "soon", "--help"),
            ("bir wrap --name", "`--name`", "needs a value"),
            ("bir wrap --name a --name b -- y", "'--name' cannot", "--help"),
        ] {
            let e = Cli::try_parse_from(line.split(' ')).err().unwrap();
            let shown = one_line(&e);
            assert!(shown.contains(what) && shown.contains(hint), "{line}: {shown}");
            assert!(!shown.contains(['\n', '<', '>']), "{line}: {shown}");
        }
    }

    #[test]
    fn what_stands_after_the_dashes_belongs_to_the_server() {
        let c =
            Cli::try_parse_from(["bir", "wrap", "--test", "--", "npx", "-y", "--name", "x", "--", "--test"])
                .ok()
                .unwrap();
        let Command::Wrap(w) = c.command;
        assert_eq!(w.command, ["npx", "-y", "--name", "x", "--", "--test"]);
        assert!(w.test && w.name.is_none());
    }
}
