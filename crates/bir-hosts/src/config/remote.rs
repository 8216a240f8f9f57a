//! What an address, its headers and its credentials become behind the proxy: options, and variables of the entry.
//!
//! Nothing that may be a credential goes into argv, where every user of the machine reads it.

use super::address::Address;
use super::entry::has_headers;
use super::placeholder::Moved;
use super::shape::Shape;
use super::{Refusal, Server, Wrapping};
use bir_model::is_reserved_header;
use serde_json::{Map, Value};

/// The option of the proxy for a variable that holds the address.
pub(super) const URL_ENV: &str = "--url-env";
/// The option for a header whose value a variable holds.
pub(super) const HEADER_ENV: &str = "--header-env";
/// The option for the variable of a bearer token.
pub(super) const BEARER_ENV: &str = "--bearer-env";
/// The variable of an address that does not go into argv.
const URL: &str = "BIR_UPSTREAM_URL";
/// The variable of headers, a JSON object.
pub(super) const HEADERS: &str = "BIR_UPSTREAM_HEADERS";
/// The variables of single headers, with a number from 1.
const HEADER: &str = "BIR_UPSTREAM_HEADER_";

/// Whether a variable of an entry is one of those that wrapping puts there.
pub(super) fn is_our_variable(name: &str) -> bool {
    name == URL
        || name == HEADERS
        || name.strip_prefix(HEADER).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()) && !n.is_empty())
}

/// What becomes of an address and its headers.
#[derive(Default)]
pub(super) struct Remote {
    pub(super) options: Vec<String>,
    pub(super) env: Map<String, Value>,
    pub(super) header_names: Vec<String>,
    pub(super) pass_on: Vec<String>,
}

pub(super) fn remote(
    shape: &Shape,
    server: &Server,
    member: &str,
    url: &str,
    transport: Option<&'static str>,
    with: &Wrapping,
) -> Result<Remote, Refusal> {
    let mut made = Remote::default();
    let unknown = |what: String| {
        Refusal::new(
            "variable",
            format!("{what} holds a variable, and it is not known how the host fills it in"),
        )
    };
    let (address, moved) = match shape.filled.moved(url) {
        Moved::Unknown => return Err(unknown(format!("its `{member}`"))),
        Moved::Filled => (None, true),
        Moved::Same => {
            let address = Address::read(url)?;
            let secret = address.secret;
            (Some(address), secret)
        }
    };
    let explicit = shape
        .signs_in
        .iter()
        .any(|member| !matches!(server.entry.get(member), None | Some(Value::Null | Value::Bool(false))));
    let bare = !has_headers(shape, &server.entry)
        && address.as_ref().is_none_or(|address| !address.loopback && !address.userinfo);
    if (explicit || bare) && !with.named {
        let why = "the host may sign in to it (OAuth), and a proxy cannot; if it needs no sign-in, name it with `--server`";
        return Err(Refusal::new("oauth", why));
    }
    if moved {
        made.options.extend([URL_ENV.to_owned(), URL.to_owned()]);
        made.env.insert(URL.into(), url.into());
    } else {
        made.options.extend(["--url".to_owned(), url.to_owned()]);
    }
    if let Some(transport) = transport {
        made.options.extend(["--transport".to_owned(), transport.to_owned()]);
    }
    headers(shape, &server.entry, &mut made)?;
    by_name(shape, &server.entry, &mut made)?;
    Ok(made)
}

/// Headers with their values: those that the host fills in get a variable each, the others one for all.
fn headers(shape: &Shape, entry: &Value, made: &mut Remote) -> Result<(), Refusal> {
    let headers = match entry.get(shape.headers) {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(headers)) => headers,
        Some(_) => return Err(Refusal::new("shape", format!("its `{}` is no object", shape.headers))),
    };
    let mut literal = Map::new();
    let mut filled = 0;
    for (name, value) in headers {
        check_header(shape, name)?;
        let Some(text) = value.as_str() else {
            return Err(Refusal::new("shape", format!("its header `{name}` is no text")));
        };
        if text.chars().any(|c| c.is_control() && c != '\t') {
            return Err(Refusal::new("shape", format!("its header `{name}` holds control characters")));
        }
        match shape.filled.moved(text) {
            Moved::Same => {
                literal.insert(name.clone(), value.clone());
            }
            Moved::Filled => {
                filled += 1;
                let variable = format!("{HEADER}{filled}");
                made.options.extend([HEADER_ENV.to_owned(), format!("{name}: {variable}")]);
                made.env.insert(variable, value.clone());
            }
            Moved::Unknown => {
                let why = format!(
                    "its header `{name}` holds a variable, and it is not known how the host fills it in"
                );
                return Err(Refusal::new("variable", why));
            }
        }
        made.header_names.push(name.clone());
    }
    if !literal.is_empty() {
        made.env.insert(HEADERS.into(), Value::Object(literal).to_string().into());
    }
    Ok(())
}

fn check_header(shape: &Shape, name: &str) -> Result<(), Refusal> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(is_token) || shape.filled.changes(name) {
        // It may be a whole header, and so hold a secret.
        return Err(Refusal::new("shape", "a name among its headers is none that HTTP allows"));
    }
    if is_reserved_header(name) {
        return Err(Refusal::new("shape", format!("its header `{name}` is one that the proxy sets itself")));
    }
    Ok(())
}

/// Credentials that the host takes from its own environment: the proxy takes them from there.
fn by_name(shape: &Shape, entry: &Value, made: &mut Remote) -> Result<(), Refusal> {
    let variable = |name: &str, member: &str| {
        let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if !name.is_empty() && name.bytes().all(fits) && !name.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(name.to_owned());
        }
        // A token itself, instead of its variable's name.
        Err(Refusal::new("shape", format!("its `{member}` names no variable")))
    };
    if let Some(member) = shape.by_name.headers {
        match entry.get(member) {
            None | Some(Value::Null) => {}
            Some(Value::Object(headers)) => {
                for (header, name) in headers {
                    check_header(shape, header)?;
                    let name = variable(name.as_str().unwrap_or_default(), member)?;
                    made.options.extend([HEADER_ENV.to_owned(), format!("{header}: {name}")]);
                    made.pass_on.push(name);
                }
            }
            Some(_) => return Err(Refusal::new("shape", format!("its `{member}` is no object"))),
        }
    }
    if let Some(member) = shape.by_name.bearer
        && let Some(name) = entry.get(member).filter(|value| !value.is_null())
    {
        let name = variable(name.as_str().unwrap_or_default(), member)?;
        made.options.extend([BEARER_ENV.to_owned(), name.clone()]);
        made.pass_on.push(name);
    }
    Ok(())
}
