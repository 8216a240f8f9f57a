//! The arguments, and mistakes in them as one line each: what, why, what to do.

use crate::demo::DemoArgs;
use crate::doctor::DoctorArgs;
use crate::hooks::HooksArgs;
use crate::hub::{DownArgs, status::StatusArgs, up::UpArgs};
use crate::install::{InstallArgs, SetupArgs, UninstallArgs};
use crate::login::{LoginArgs, LogoutArgs};
use crate::pages::{CompletionsArgs, ManArgs};
use crate::project::ProjectArgs;
use crate::runs::args::RunsArgs;
use crate::scenario::args::{MatchArgs, ScenarioArgs};
use crate::switch::SwitchArgs;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;

/// Records what coding agents do with their MCP servers.
#[derive(Parser)]
#[command(name = "bir", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Record a session of an MCP server, and show it.
    Demo(DemoArgs),
    /// Sign in where a hub is named, install, and start what records.
    Setup(SetupArgs),
    /// Put the recorder in front of the servers that your hosts have, and tell the hosts to report their prompts and tools.
    Install(InstallArgs),
    /// Put everything back.
    Uninstall(UninstallArgs),
    /// Start the hub of this machine, and the control server.
    Up(UpArgs),
    /// End both.
    Down(DownArgs),
    /// Say which hub is in use, what waits for it, which sessions are open, and whether anything is recorded.
    Status(StatusArgs),
    /// Find what is wrong with an installation, and say what mends it.
    Doctor(DoctorArgs),
    /// Look at what was recorded.
    Runs(Box<RunsArgs>),
    /// Say which scenario a prompt asks for, why or why not, and what would run.
    Match(MatchArgs),
    /// Look at what recorded runs became, and change it.
    Scenario(Box<ScenarioArgs>),
    /// Print the configuration entry that puts bir-proxy in front of an MCP server.
    Wrap(Box<WrapArgs>),
    /// Print the hooks that a host needs for its prompts and built-in tools to be recorded.
    Hooks(HooksArgs),
    /// Say where a host's whole session is recorded, not its MCP calls alone.
    Project(ProjectArgs),
    /// Switch recording off.
    Off(SwitchArgs),
    /// Switch recording on.
    On(SwitchArgs),
    /// Sign in to a team's hub.
    Login(LoginArgs),
    /// Sign out of it.
    Logout(LogoutArgs),
    /// Print what a shell needs to complete commands and options.
    Completions(CompletionsArgs),
    /// Write the manual pages.
    Man(ManArgs),
    /// A small MCP server on stdio.
    #[command(hide = true)]
    SampleServer,
    /// Become a program in a session of its own.
    #[command(hide = true)]
    Detach {
        /// The program with its arguments.
        #[arg(last = true)]
        argv: Vec<OsString>,
    },
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
    /// `mcp` as opencode 1.x has it.
    Opencode,
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

/// The command that is meant, `bir runs list`, as far as the words name one.
pub(crate) fn path(words: impl Iterator<Item = OsString>) -> String {
    let mut command = Cli::command();
    let mut path = String::from("bir");
    for word in words {
        let Some(next) = word.to_str().and_then(|word| command.find_subcommand(word)) else { break };
        path.push(' ');
        path.push_str(next.get_name());
        command = next.clone();
    }
    path
}

/// More values than these are not named in one line.
const MOST_VALUES: usize = 10;

/// A mistake in the arguments of the command `path` as one line.
pub(crate) fn one_line(e: &clap::Error, path: &str) -> String {
    let text = |kind| match e.get(kind) {
        Some(ContextValue::String(s)) => s.clone(),
        Some(ContextValue::Strings(s)) => s.join(", "),
        _ => String::new(),
    };
    let in_notation = text(ContextKind::InvalidArg);
    let arg = without_value_name(&in_notation);
    let is_wrap = path == "bir wrap";
    match e.kind() {
        ErrorKind::UnknownArgument if arg.starts_with('-') => {
            let near = text(ContextKind::SuggestedArg);
            let hint = if near.is_empty() { String::new() } else { format!("; did you mean `{near}`") };
            let own = if is_wrap { ", and give the server's own options after `--`" } else { "" };
            format!("unknown option `{arg}`{hint}; see `{path} --help`{own}")
        }
        ErrorKind::UnknownArgument if is_wrap => {
            format!("unexpected argument `{arg}`; the server's command goes after `--`: bir wrap -- {arg} …")
        }
        ErrorKind::UnknownArgument => format!("unexpected argument `{arg}`; see `{path} --help`"),
        ErrorKind::InvalidSubcommand => {
            let near = match e.get(ContextKind::SuggestedSubcommand) {
                // The nearest stands last.
                Some(ContextValue::Strings(all)) => all.last().cloned().unwrap_or_default(),
                _ => text(ContextKind::SuggestedSubcommand),
            };
            let hint =
                if near.is_empty() { String::new() } else { format!("; did you mean `{path} {near}`") };
            format!("unknown command `{}`{hint}; see `{path} --help`", text(ContextKind::InvalidSubcommand))
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            if path == "bir" =>
        {
            "no command; try `bir demo`, or see `bir --help`".into()
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("no command; see `{path} --help`")
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = in_notation.replace(['<', '>'], "").replace("...", "");
            format!("{missing} is missing; see `{path} --help`")
        }
        ErrorKind::InvalidValue if text(ContextKind::InvalidValue).is_empty() => {
            format!("`{arg}` needs a value; see `{path} --help`")
        }
        ErrorKind::InvalidValue => {
            let (value, near) = (text(ContextKind::InvalidValue), text(ContextKind::SuggestedValue));
            let known = match e.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(all)) if all.len() > MOST_VALUES && !near.is_empty() => {
                    format!("did you mean `{near}`; `{path} --help` names all")
                }
                Some(ContextValue::Strings(all)) if all.len() > MOST_VALUES => {
                    format!("`{path} --help` names what it can be")
                }
                _ => format!("it is one of {}", text(ContextKind::ValidValue)),
            };
            format!("`{arg}` cannot be `{value}`; {known}")
        }
        ErrorKind::ArgumentConflict if in_notation != text(ContextKind::PriorArg) => {
            let other = text(ContextKind::PriorArg);
            format!("{} and {} exclude each other; see `{path} --help`", quoted(&in_notation), quoted(&other))
        }
        _ => {
            let whole = e.to_string();
            let first = whole.lines().next().unwrap_or("wrong arguments").trim_start_matches("error: ");
            format!("{}; see `{path} --help`", without_value_names(first).trim_end_matches(':'))
        }
    }
}

/// Options in backquotes, what is no option as the help names it.
fn quoted(args: &str) -> String {
    let one = |arg: &str| match without_value_name(arg) {
        option if option.starts_with('-') => format!("`{option}`"),
        other => other.replace(['<', '>', '[', ']', '.'], ""),
    };
    args.split(", ").map(one).collect::<Vec<_>>().join(", ")
}

/// `--transport` of `--transport <TRANSPORT>`: people write the option, the parser names it with its value.
fn without_value_name(arg: &str) -> &str {
    arg.split_once(" <").map_or(arg, |(option, _)| option)
}

/// A whole line without the values' names.
fn without_value_names(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(" <") {
        out.push_str(before);
        rest = after.split_once('>').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out.replace(['<', '>'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_mistake_is_one_line_that_names_it_and_the_way_out() {
        for (line, what, hint) in [
            ("bir", "no command", "bir --help"),
            ("bir frob", "`frob`", "bir --help"),
            ("bir instal", "`instal`", "did you mean `bir install`"),
            ("bir run list", "`run`", "did you mean `bir runs`"),
            ("bir runs lst", "`lst`", "did you mean `bir runs list`"),
            (
                "bir install --host cursr",
                "`--host` cannot be `cursr`",
                "did you mean `cursor`; `bir install --help`",
            ),
            ("bir install --host qqqq", "`--host` cannot be `qqqq`", "`bir install --help` names"),
            ("bir wrap --nam x -- y", "`--nam`", "did you mean `--name`"),
            ("bir wrap npx -y thing", "`npx`", "-- npx"),
            ("bir wrap --format xml -- y", "`xml`", "json, toml, yaml"),
            ("bir wrap --transport x --url http://h/", "`--transport` cannot be `x`", "auto, http, sse"),
            ("bir wrap --timeout 0 -- y", "0", "--help"),
            ("bir wrap --timeout soon -- y", "soon", "--help"),
            ("bir wrap --name", "`--name`", "needs a value"),
            ("bir wrap --name a --name b -- y", "'--name' cannot", "--help"),
            ("bir runs", "no command", "bir runs --help"),
            ("bir runs frob", "`frob`", "bir runs --help"),
            ("bir runs grep", "TEXT is missing", "bir runs grep --help"),
            ("bir runs rm last --project .", "ID and `--project` exclude each other", "bir runs rm --help"),
            ("bir runs list --limt 3", "`--limt`", "did you mean `--limit`"),
            ("bir runs list --outcome good", "`--outcome` cannot be `good`", "ok, tool_error"),
            ("bir runs list x", "`x`", "bir runs list --help"),
            ("bir runs export --all run_1", "exclude each other", "bir runs export --help"),
            (
                "bir login --device --email a@b",
                "`--device` and `--email` exclude each other",
                "bir login --help",
            ),
            ("bir match", "PROMPT is missing", "bir match --help"),
            ("bir scenario", "no command", "bir scenario --help"),
            ("bir scenario lst", "`lst`", "did you mean `bir scenario list`"),
            ("bir scenario list --state good", "`--state` cannot be `good`", "pending, ready, unusable"),
            ("bir scenario check 0197", "--step N is missing", "bir scenario check --help"),
            ("bir scenario edit 0197 --step x", "x", "--help"),
            (
                "bir scenario edit 0197 --step 1 --freeze --unfreeze",
                "`--freeze` and `--unfreeze` exclude each other",
                "bir scenario edit --help",
            ),
            (
                "bir scenario undo 0197 --edit sedit_1 --step 1",
                "`--edit` and `--step` exclude each other",
                "bir scenario undo --help",
            ),
            ("bir scenario calc last --discard-edits", "--force is missing", "bir scenario calc --help"),
            ("bir scenario rm", "ID is missing", "bir scenario rm --help"),
            ("bir up now", "`now`", "bir up --help"),
        ] {
            let e = Cli::try_parse_from(line.split(' ')).err().unwrap();
            let words = line.split(' ').skip(1).map(OsString::from);
            let shown = one_line(&e, &path(words));
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
        let Command::Wrap(w) = c.command else { panic!("another command") };
        assert_eq!(w.command, ["npx", "-y", "--name", "x", "--", "--test"]);
        assert!(w.test && w.name.is_none());
    }
}
