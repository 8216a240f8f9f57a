//! `bir login` and `bir logout`.
//!
//! ```text
//!  password ── asked without echo, or the first line of stdin ── POST /auth/login ──────────┐
//!  device ──── code and address shown ── POST /auth/device/token until somebody decides ────┴─▶ credentials.json (0600, in one step)
//! ```
//!
//! No secret is ever an argument: other users of a machine see those.

mod device;
mod password;

use crate::error::CommandError;
use crate::home::{Home, block_on};
use crate::out::{self, safe, size};
use crate::say;
use bir_record::hub::{Credentials, Destination, HubClient, HubError, Login, Origin, Token, shown};
use clap::Args;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

/// How long another program may hold the credentials.
const LOCK: Duration = Duration::from_secs(35);

#[derive(Args)]
pub(crate) struct LoginArgs {
    /// The hub's address [default: the one signed in to last, or `[hub] url` of config.toml].
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Who signs in.
    #[arg(long, value_name = "EMAIL")]
    pub(crate) email: Option<String>,
    /// Sign in with a browser, here or on another machine.
    #[arg(long, conflicts_with_all = ["email", "password_stdin"])]
    pub(crate) device: bool,
    /// Read the password from stdin.
    #[arg(long, requires = "email")]
    pub(crate) password_stdin: bool,
    /// Print an object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct LogoutArgs {
    /// The hub's address [default: the one in use].
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Print an object.
    #[arg(long)]
    json: bool,
}

/// A pair of tokens.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pair {
    access_token: Token,
    refresh_token: Token,
    expires_at: u64,
    #[serde(default)]
    user: User,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    email: String,
}

/// Signs in.
pub(crate) fn run(args: &LoginArgs) -> Result<(), CommandError> {
    let home = Home::find()?;
    let credentials = Credentials::load(&home.dir)?;
    let url = args.server.as_deref().or(credentials.current.as_deref()).or(home.config.hub.as_deref());
    let url = url.ok_or_else(|| {
        CommandError::usage(
            "which hub? give --server URL; the hub of this machine needs no login, `bir up` starts it",
        )
    })?;
    let url = url.trim_end_matches('/').to_owned();
    if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(CommandError::usage(without_scheme(&url)));
    }
    // Nobody is signed in yet: a refusal is an answer and no reason to refresh. A client belongs to one runtime.
    let client = || HubClient::new(&home.dir, Destination::new(&url, None, Origin::Environment));
    // Whether it is a hub at all is found out before anybody types a password.
    block_on(async {
        client().health().await?;
        Ok(())
    })?;
    let waiting = home.spool().stats().runs;
    if waiting > 0 {
        say(format_args!(
            "note: {} here and will be sent to {} as well; to keep them on this machine, end this with Ctrl-C and run `bir up` first",
            waits(waiting),
            shown(&url)
        ));
    }
    let pair = if args.device {
        block_on(device::sign_in(&mut client()))?
    } else {
        let (email, secret) = password::ask(args.email.as_deref(), args.password_stdin)?;
        block_on(password::sign_in(&mut client(), &email, &secret))?
    };
    let email =
        Some(pair.user.email.clone()).filter(|email| !email.is_empty()).or_else(|| args.email.clone());
    block_on(save(&home, &url, pair, email.clone()))?;
    let who = email.as_deref().unwrap_or("you");
    if args.json {
        return Ok(out::json(&json!({ "url": url, "email": email }))?);
    }
    let waiting = match waiting {
        0 => String::new(),
        n => format!(", and so does what waits here ({})", size::count(n, "run")),
    };
    say(format_args!(
        "{} signed in at {}; what is recorded goes there from now on{waiting}",
        signed(who),
        shown(&url)
    ));
    if home.config.hub.as_deref().is_some_and(|hub| hub.trim_end_matches('/') != url) {
        say(
            "warning: `[hub] url` of config.toml names another hub, which goes first; take it out to use this one",
        );
    }
    Ok(())
}

fn waits(runs: u64) -> String {
    format!("{} {}", size::count(runs, "run"), if runs == 1 { "waits" } else { "wait" })
}

/// What to write instead of an address without `http://`. A token goes in the clear to this machine alone.
fn without_scheme(url: &str) -> String {
    if url.contains("://") || url.contains('@') {
        return "the address of a hub begins with http:// or https://, as in https://hub.example.com".into();
    }
    let here = ["127.", "localhost", "[::1]"].iter().any(|host| url.starts_with(host));
    let scheme = if here { "http" } else { "https" };
    format!("`{url}` has no http:// or https:// before it; did you mean `--server {scheme}://{url}`?")
}

fn signed(who: &str) -> String {
    if who == "you" { "you are".into() } else { format!("{} is", safe::line(who)) }
}

async fn save(home: &Home, url: &str, pair: Pair, email: Option<String>) -> Result<(), CommandError> {
    let _held = Credentials::lock(&home.dir, LOCK).await?;
    let mut credentials = Credentials::load(&home.dir)?;
    let login = Login {
        access_token: Some(pair.access_token),
        refresh_token: Some(pair.refresh_token),
        expires_at: Some(pair.expires_at),
        token: None,
        email,
    };
    credentials.servers.insert(url.to_owned(), login);
    credentials.current = Some(url.to_owned());
    Ok(credentials.save(&home.dir)?)
}

/// Signs out: the hub forgets the tokens, and so does this machine. That the hub is away does not keep them here.
pub(crate) fn logout(args: &LogoutArgs) -> Result<(), CommandError> {
    let home = Home::find()?;
    block_on(async {
        let credentials = Credentials::load(&home.dir)?;
        let url =
            args.server.as_deref().map(|url| url.trim_end_matches('/').to_owned()).or(credentials.current);
        let login = url.as_ref().and_then(|url| credentials.servers.get(url));
        let (Some(url), Some(login)) = (&url, login) else {
            if args.json {
                return Ok(out::json(&json!({ "url": url, "removed": false, "revoked": false }))?);
            }
            say("nobody is signed in");
            return Ok(());
        };
        let revoked = match &login.refresh_token {
            Some(token) => Some(revoke(&home, url, token).await),
            None => None,
        };
        let _held = Credentials::lock(&home.dir, LOCK).await?;
        let mut credentials = Credentials::load(&home.dir)?;
        credentials.servers.remove(url);
        if credentials.current.as_ref() == Some(url) {
            credentials.current = None;
        }
        credentials.save(&home.dir)?;
        let gone = matches!(revoked, Some(Ok(())));
        if args.json {
            return Ok(out::json(&json!({ "url": url, "removed": true, "revoked": gone }))?);
        }
        say(format_args!("signed out of {}", shown(url)));
        match revoked {
            Some(Ok(())) => {}
            Some(Err(e)) => say(format_args!(
                "warning: the hub was not told, and its tokens end by themselves: {}",
                safe::line(&CommandError::from(e).to_string())
            )),
            None => {
                say("note: the token that was removed here is valid until it is revoked in the hub's console")
            }
        }
        Ok(())
    })
}

/// Has the hub revoke the sign-in. Any refresh token of it will do, one that another program has used meanwhile too; so
/// nothing is locked while the hub is waited for, and no access token is needed, which may have ended.
async fn revoke(home: &Home, url: &str, refresh: &Token) -> Result<(), HubError> {
    let mut client = HubClient::new(&home.dir, Destination::new(url, None, Origin::Environment));
    client.post("/auth/logout", &json!({ "refreshToken": refresh.reveal() })).await.map(drop)
}

/// A refusal of a sign-in in words that say what to do.
fn refused(e: HubError) -> CommandError {
    match e.code() {
        Some("bad_credentials") => {
            CommandError::failed("the hub does not know this e-mail address with this password; try again")
        }
        Some("rate_limited") => CommandError::failed("too many attempts; wait a minute, then try again"),
        Some("expired_token") => {
            CommandError::failed("nobody approved the code in time; run `bir login --device` again")
        }
        Some("access_denied") => CommandError::failed("the sign-in was refused in the browser"),
        _ => e.into(),
    }
}
