//! Credentials in URLs: the password of `scheme://user:password@host`, a token that stands alone before the `@`, the path of a webhook. Parameters are
//! assignments, see [`super::assign`].

use super::look;
use super::placeholder::{self, Kind};
use super::shapes::Found;

/// Bytes of a URL that are looked at.
const LONGEST: usize = 4096;

/// The secret of the URL whose `://` has its colon at `at`.
pub(super) fn credentials(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let from = at + 3;
    if !bytes.get(at.checked_sub(1)?)?.is_ascii_alphanumeric() {
        return None;
    }
    let rest = &bytes[from..bytes.len().min(from + LONGEST)];
    let all = rest
        .iter()
        .take_while(|b| !matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\') && !b.is_ascii_whitespace())
        .count();
    let url = &rest[..all];
    if let Some(found) = webhook(url, from) {
        return Some(found);
    }
    let authority = url.iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(url.len());
    let at_sign = memchr::memrchr(b'@', &url[..authority]).or_else(|| {
        // A password with a slash in it: what looks like a port is none.
        let colon = url[..authority].iter().position(|b| *b == b':')?;
        let port = &url[colon + 1..authority];
        let is_port = port.iter().all(u8::is_ascii_digit) || url[0] == b'[' || port.is_empty();
        if is_port { None } else { memchr::memrchr(b'@', url) }
    })?;
    let user = text.get(from..from + at_sign)?;
    let colon = placeholder::split(user).map(|(name, _)| name.len());
    let start = colon.map_or(0, |c| c + 1);
    let said = text.get(from + start..from + at_sign)?;
    let settled = [from, from + start].iter().any(|at| placeholder::end_at(bytes, *at).is_some());
    if said.is_empty() || settled || look::harmless(said) {
        return None;
    }
    // A name alone is no secret, unless it looks like a token.
    if colon.is_none() && !look::opaque(said, 20) {
        return None;
    }
    Some(Found { start: from + start, end: from + at_sign, kind: Kind::Url })
}

/// The path of an incoming webhook is its secret.
fn webhook(url: &[u8], from: usize) -> Option<Found> {
    const HOOKS: [(&[u8], Kind); 4] = [
        (b"hooks.slack.com/services/", Kind::Slack),
        (b"hooks.slack.com/workflows/", Kind::Slack),
        (b"discord.com/api/webhooks/", Kind::Url),
        (b"discordapp.com/api/webhooks/", Kind::Url),
    ];
    let (prefix, kind) = HOOKS.iter().find(|(prefix, _)| url.starts_with(prefix))?;
    let path = &url[prefix.len()..];
    let len =
        path.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'_')).count();
    let start = from + prefix.len();
    (len >= 16).then_some(Found { start, end: start + len, kind: *kind })
}
