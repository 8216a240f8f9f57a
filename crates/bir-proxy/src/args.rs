//! The command line, parsed by hand: the proxy starts in about a millisecond.

use bir_model::ServerName;
use bir_record::recorder::Scope;
use bir_upstream::http::Transport;
use std::ffi::{OsStr, OsString};
use thiserror::Error;

pub(crate) const USAGE: &str = "\
bir-proxy: a relay in front of one MCP server

usage: bir-proxy --server-name NAME [options] -- COMMAND [ARGS...]
       bir-proxy --server-name NAME --url URL|--url-env VARIABLE [--transport auto|http|sse] [options]

  --server-name NAME   the key under which the host knows the server
  --url URL            a remote server, http or https
  --url-env VARIABLE   the same, with the address in a variable; a user name and password in it are sent as `Authorization`
  --transport KIND     auto (default): Streamable HTTP, else HTTP+SSE; http; sse
  --header 'K: V'      a header for the remote server; wins over BIR_UPSTREAM_HEADERS
  --header-env 'K: VARIABLE'
                       a header whose value is in a variable; left out where the variable is not set or empty
  --bearer-env VARIABLE
                       `Authorization: Bearer` and the token in a variable
  --restart            restart a server that died, once, and repeat the host's handshake
  --lazy               start the server when it is needed; its handshake is answered from the last start
  --no-record          relay and record nothing
  --standalone         record by itself, and ship at once, without a look for a control server
  --call-id            take ids of calls out of the arguments, where a control server may put them there; tools declare the
                       argument `__bir_call_id__` then (messages up to 1 MiB)
  --no-correlation     no `--call-id`, whoever asks for it
  --scope SCOPE        whose entry this is: project, local, or user; one of the user's records only in projects that are
                       set up for it
  --version, --help

environment:
  BIR_UPSTREAM_HEADERS              headers as a JSON object of name to value; what an option says of one counts more
  BIR_UPSTREAM_CONNECT_TIMEOUT_MS   budget for connecting (default 10000)
  BIR_UPSTREAM_MAX_MESSAGE_BYTES    hold messages of the server and refuse larger ones (default: no limit)
  BIR_PROXY_STAY_UP=1               stay when the server is gone, and answer every request with an error
  BIR_OFF=1                         run the server itself, without the relay; a remote one is relayed and not recorded
  BIR_HOME                          the state directory (default ~/.baseinstrunner)
  BIR_LOG                           off, error, warn (default), info, debug; on stderr

exit status: the server's own; 128+N when signal N ended it; 127 no such command; 126 not executable;
2 wrong usage; 1 a remote server was never reached, or the server does not speak MCP over stdio
";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    Help,
    Version,
    Relay(Relay),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Relay {
    pub(crate) server_name: ServerName,
    pub(crate) target: Target,
    pub(crate) restart: bool,
    pub(crate) lazy: bool,
    pub(crate) record: bool,
    pub(crate) standalone: bool,
    pub(crate) call_ids: bool,
    pub(crate) scope: Option<Scope>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Child { program: OsString, args: Vec<OsString> },
    Remote { url: Url, transport: Transport, headers: Headers },
}

/// The address of a remote server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Url {
    Given(String),
    /// The variable that holds it.
    Variable(String),
}

/// Headers for a remote server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers {
    /// Each `--header`.
    pub(crate) given: Vec<String>,
    /// Each `--header-env`: its name, and the variable of its value.
    pub(crate) variables: Vec<(String, String)>,
    /// The variable of a bearer token.
    pub(crate) bearer: Option<String>,
}

impl Headers {
    /// An option that was given.
    fn option(&self) -> Option<&'static str> {
        let options = [
            (!self.given.is_empty(), "--header"),
            (!self.variables.is_empty(), "--header-env"),
            (self.bearer.is_some(), "--bearer-env"),
        ];
        options.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }
}

/// What is wrong with the command line, and what to do.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum UsageError {
    #[error("unknown option `{0}`; the server's own options go after `--`")]
    UnknownOption(String),
    #[error("`{0}` needs a value")]
    NoValue(&'static str),
    #[error("`{0}` is given twice")]
    Twice(&'static str),
    #[error("`{0}` is not valid UTF-8")]
    NotUtf8(&'static str),
    #[error("no server name; add `--server-name NAME`, the key under which the host knows the server")]
    NoServerName,
    #[error("{0}; change the value of `--server-name`")]
    BadServerName(bir_model::ServerNameError),
    #[error("no server: add `-- COMMAND [ARGS...]` or `--url URL`")]
    NoTarget,
    #[error("no command after `--`")]
    NoCommand,
    #[error("both `--url` and a command are given; a proxy stands in front of one server")]
    TwoTargets,
    #[error("unexpected argument `{0}`; the server's command goes after `--`")]
    Stray(String),
    #[error("both `--url` and `--url-env` are given; one of them is the address")]
    TwoUrls,
    #[error("`{0}` takes the name of a variable: letters, digits and `_`")]
    BadVariable(&'static str),
    #[error("`--header-env` needs the form 'Name: VARIABLE'")]
    BadHeaderEnv,
    #[error("unknown transport `{0}`; it is auto, http or sse")]
    BadTransport(String),
    #[error("unknown scope `{0}`; it is user, project or local")]
    BadScope(String),
    #[error("`--no-record` and `--standalone` contradict each other")]
    Contradiction,
    #[error("`{0}` belongs to `--url`")]
    OnlyRemote(&'static str),
    #[error("`{0}` belongs to a command, not to `--url`")]
    OnlyChild(&'static str),
}

pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed, UsageError> {
    let mut args = args.into_iter();
    let (mut name, mut url, mut transport, mut headers) = (None, None, None, Headers::default());
    let mut url_env = None;
    let (mut restart, mut lazy, mut command) = (false, false, None);
    let (mut record, mut standalone, mut scope) = (true, false, None);
    let (mut call_id, mut correlation) = (false, true);
    while let Some(arg) = args.next() {
        let text = arg.to_str().unwrap_or_default();
        let (key, inline) = match text.split_once('=') {
            Some((key, value)) if key.starts_with("--") => (key, Some(value.to_owned())),
            _ => (text, None),
        };
        let mut value = |option: &'static str| match inline.clone() {
            Some(value) => Ok(value),
            None => {
                let next = args.next().ok_or(UsageError::NoValue(option))?;
                next.into_string().map_err(|_| UsageError::NotUtf8(option))
            }
        };
        match key {
            "--" => {
                command = Some(args.by_ref().collect::<Vec<_>>());
                break;
            }
            "--server-name" => set_once(&mut name, value("--server-name")?, "--server-name")?,
            "--url" => set_once(&mut url, value("--url")?, "--url")?,
            "--transport" => set_once(&mut transport, value("--transport")?, "--transport")?,
            "--url-env" => {
                let name = variable(&value("--url-env")?, "--url-env")?;
                set_once(&mut url_env, name, "--url-env")?;
            }
            "--header" => headers.given.push(value("--header")?),
            "--header-env" => {
                let value = value("--header-env")?;
                let (name, from) = value.split_once(':').ok_or(UsageError::BadHeaderEnv)?;
                let from = variable(from.trim(), "--header-env")?;
                headers.variables.push((name.trim().to_owned(), from));
            }
            "--bearer-env" => {
                let name = variable(&value("--bearer-env")?, "--bearer-env")?;
                set_once(&mut headers.bearer, name, "--bearer-env")?;
            }
            "--restart" if inline.is_none() => restart = true,
            "--lazy" if inline.is_none() => lazy = true,
            "--no-record" if inline.is_none() => record = false,
            "--standalone" if inline.is_none() => standalone = true,
            "--call-id" if inline.is_none() => call_id = true,
            "--no-correlation" if inline.is_none() => correlation = false,
            "--scope" => set_once(&mut scope, value("--scope")?, "--scope")?,
            "--help" | "-h" if inline.is_none() => return Ok(Parsed::Help),
            "--version" | "-V" if inline.is_none() => return Ok(Parsed::Version),
            _ if text.starts_with('-') => return Err(UsageError::UnknownOption(key.into())),
            _ => return Err(UsageError::Stray(shown(&arg))),
        }
    }
    let url = match (url, url_env) {
        (Some(_), Some(_)) => return Err(UsageError::TwoUrls),
        (url, None) => url.map(Url::Given),
        (None, variable) => variable.map(Url::Variable),
    };
    let target = target(command, url, transport, headers, restart, lazy)?;
    let name = name.ok_or(UsageError::NoServerName)?;
    let server_name = ServerName::new(&name).map_err(UsageError::BadServerName)?;
    if !record && standalone {
        return Err(UsageError::Contradiction);
    }
    let scope = match scope.as_deref() {
        None => None,
        Some("user") => Some(Scope::User),
        Some("project") => Some(Scope::Project),
        Some("local") => Some(Scope::Local),
        Some(other) => return Err(UsageError::BadScope(other.into())),
    };
    let call_ids = call_id && correlation;
    Ok(Parsed::Relay(Relay { server_name, target, restart, lazy, record, standalone, call_ids, scope }))
}

fn target(
    command: Option<Vec<OsString>>,
    url: Option<Url>,
    transport: Option<String>,
    headers: Headers,
    restart: bool,
    lazy: bool,
) -> Result<Target, UsageError> {
    match (command, url) {
        (Some(_), Some(_)) => Err(UsageError::TwoTargets),
        (None, None) => Err(UsageError::NoTarget),
        (Some(_), None) if transport.is_some() => Err(UsageError::OnlyRemote("--transport")),
        (Some(command), None) => {
            if let Some(option) = headers.option() {
                return Err(UsageError::OnlyRemote(option));
            }
            let mut command = command.into_iter();
            let program = command.next().filter(|p| !p.is_empty()).ok_or(UsageError::NoCommand)?;
            Ok(Target::Child { program, args: command.collect() })
        }
        (None, Some(_)) if restart => Err(UsageError::OnlyChild("--restart")),
        (None, Some(_)) if lazy => Err(UsageError::OnlyChild("--lazy")),
        (None, Some(url)) => {
            let transport = match transport.as_deref() {
                None | Some("auto") => Transport::Auto,
                Some("http" | "streamable-http") => Transport::Http,
                Some("sse") => Transport::Sse,
                Some(other) => return Err(UsageError::BadTransport(other.into())),
            };
            Ok(Target::Remote { url, transport, headers })
        }
    }
}

/// A value in the place of a name may be a secret, and is not repeated.
fn variable(name: &str, option: &'static str) -> Result<String, UsageError> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if name.is_empty() || !name.bytes().all(fits) {
        return Err(UsageError::BadVariable(option));
    }
    Ok(name.to_owned())
}

fn set_once(slot: &mut Option<String>, value: String, option: &'static str) -> Result<(), UsageError> {
    if slot.replace(value).is_some() { Err(UsageError::Twice(option)) } else { Ok(()) }
}

/// A stray argument may be a header whose option was forgotten: only a plain word is repeated.
fn shown(arg: &OsStr) -> String {
    const LONGEST: usize = 40;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._/@-".contains(&b);
    match arg.to_str() {
        Some(text) if text.len() <= LONGEST && text.bytes().all(plain) => text.into(),
        _ => "...".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(line: &str) -> Result<Parsed, UsageError> {
        parse(line.split_whitespace().map(OsString::from))
    }

    fn relay(line: &str) -> Relay {
        match parse_text(line) {
            Ok(Parsed::Relay(relay)) => relay,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_command_is_taken_as_it_is() {
        let r = relay("--server-name a --restart --lazy -- npx -y --help --url x");
        assert_eq!(r.server_name.as_str(), "a");
        assert!(r.restart && r.lazy);
        let args = ["-y", "--help", "--url", "x"].map(OsString::from).to_vec();
        assert_eq!(r.target, Target::Child { program: "npx".into(), args });
    }

    #[test]
    fn a_remote_server_has_a_transport_and_headers() {
        let r = relay("--server-name=b --url=http://h/?a=b --transport sse --header A:1 --header B:2");
        let given = vec!["A:1".to_owned(), "B:2".to_owned()];
        let (url, headers) = (Url::Given("http://h/?a=b".into()), Headers { given, ..Headers::default() });
        assert_eq!(r.target, Target::Remote { url, transport: Transport::Sse, headers });
    }

    #[test]
    fn address_and_headers_may_be_in_variables() {
        let line = [
            "--server-name=b",
            "--url-env=U",
            "--header-env",
            "X-A:  V_1",
            "--header-env=X-B:V2",
            "--bearer-env",
            "T",
        ];
        let Ok(Parsed::Relay(r)) = parse(line.map(OsString::from)) else { panic!("{line:?}") };
        let pair = |name: &str, variable: &str| (name.to_owned(), variable.to_owned());
        let variables = vec![pair("X-A", "V_1"), pair("X-B", "V2")];
        let headers = Headers { given: vec![], variables, bearer: Some("T".into()) };
        assert_eq!(
            r.target,
            Target::Remote { url: Url::Variable("U".into()), transport: Transport::Auto, headers }
        );
    }

    #[test]
    fn recording_is_on_unless_it_is_refused() {
        let of = |line: &str| {
            let r = relay(line);
            (r.record, r.standalone, r.scope)
        };
        assert_eq!(of("--server-name a -- x"), (true, false, None));
        assert_eq!(of("--server-name a --no-record -- x"), (false, false, None));
        assert_eq!(of("--server-name a --standalone --scope user -- x"), (true, true, Some(Scope::User)));
        assert_eq!(of("--server-name a --scope=project -- x"), (true, false, Some(Scope::Project)));
        assert_eq!(of("--server-name a --url http://h --scope local"), (true, false, Some(Scope::Local)));
    }

    #[test]
    fn ids_in_arguments_are_asked_for_and_can_be_refused() {
        assert!(!relay("--server-name a -- x").call_ids);
        assert!(relay("--server-name a --call-id -- x").call_ids);
        assert!(!relay("--server-name a --no-correlation -- x").call_ids);
        assert!(!relay("--server-name a --no-correlation --call-id --url http://h").call_ids);
    }

    #[test]
    fn what_is_wrong_is_named() {
        use UsageError as E;
        for (line, error) in [
            ("", E::NoTarget),
            ("-- x", E::NoServerName),
            ("--server-name a", E::NoTarget),
            ("--server-name a --", E::NoCommand),
            ("--server-name", E::NoValue("--server-name")),
            ("--server-name a --server-name b -- x", E::Twice("--server-name")),
            ("--server-name a --wat -- x", E::UnknownOption("--wat".into())),
            ("--server-name a --lazy=1 -- x", E::UnknownOption("--lazy".into())),
            ("--heder=Authorization:secret", E::UnknownOption("--heder".into())),
            ("--server-name a Authorization:secret", E::Stray("...".into())),
            ("--server-name a x", E::Stray("x".into())),
            ("--server-name a --url u -- x", E::TwoTargets),
            ("--server-name a --url u --transport carrier-pigeon", E::BadTransport("carrier-pigeon".into())),
            ("--server-name a --transport sse -- x", E::OnlyRemote("--transport")),
            ("--server-name a --scope galaxy -- x", E::BadScope("galaxy".into())),
            ("--server-name a --no-record=1 -- x", E::UnknownOption("--no-record".into())),
            ("--server-name a --no-record --standalone -- x", E::Contradiction),
            ("--server-name a --header A:1 -- x", E::OnlyRemote("--header")),
            ("--server-name a --header-env A:B -- x", E::OnlyRemote("--header-env")),
            ("--server-name a --bearer-env B -- x", E::OnlyRemote("--bearer-env")),
            ("--server-name a --url-env U -- x", E::TwoTargets),
            ("--server-name a --url u --url-env U", E::TwoUrls),
            ("--server-name a --url-env U --url-env U", E::Twice("--url-env")),
            ("--server-name a --url-env http://h?s3cret", E::BadVariable("--url-env")),
            ("--server-name a --url u --bearer-env s3-cret", E::BadVariable("--bearer-env")),
            ("--server-name a --url u --bearer-env A --bearer-env A", E::Twice("--bearer-env")),
            ("--server-name a --url u --header-env A", E::BadHeaderEnv),
            ("--server-name a --url u --header-env A:=", E::BadVariable("--header-env")),
            ("--server-name a --url-env U --lazy", E::OnlyChild("--lazy")),
            ("--server-name a --url u --restart", E::OnlyChild("--restart")),
            ("--server-name a --url u --lazy", E::OnlyChild("--lazy")),
        ] {
            assert_eq!(parse_text(line), Err(error), "{line}");
        }
    }
}
