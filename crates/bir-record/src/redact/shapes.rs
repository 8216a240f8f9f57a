//! Secrets that are known by their shape alone, wherever they stand: prefixed keys, JSON web tokens, `Bearer` and `Basic`, key ids of AWS, PEM armour.
//!
//! Each function is asked at one byte that such a shape cannot do without (its anchor), looks back and forth from there, and answers which part of
//! the text is the secret.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::look;
use super::placeholder::Kind;

/// A secret in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

/// Letters and digits alone, or dashes, underscores and dots too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Alnum,
    Dashed,
    Dotted,
}

/// Prefix, bytes that follow at least, which, what it is.
const PREFIXES: &[(&str, usize, Body, Kind)] = &[
    ("sk-", 16, Body::Dashed, Kind::ApiKey),
    ("sk_live_", 10, Body::Alnum, Kind::ApiKey),
    ("sk_test_", 10, Body::Alnum, Kind::ApiKey),
    ("rk_live_", 10, Body::Alnum, Kind::ApiKey),
    ("rk_test_", 10, Body::Alnum, Kind::ApiKey),
    ("whsec_", 16, Body::Alnum, Kind::ApiKey),
    ("gsk_", 30, Body::Alnum, Kind::ApiKey),
    ("xai-", 30, Body::Alnum, Kind::ApiKey),
    ("pplx-", 30, Body::Alnum, Kind::ApiKey),
    ("nvapi-", 30, Body::Dashed, Kind::ApiKey),
    ("r8_", 30, Body::Alnum, Kind::ApiKey),
    ("ghp_", 16, Body::Alnum, Kind::Github),
    ("gho_", 16, Body::Alnum, Kind::Github),
    ("ghu_", 16, Body::Alnum, Kind::Github),
    ("ghs_", 16, Body::Dashed, Kind::Github),
    ("ghr_", 16, Body::Alnum, Kind::Github),
    ("github_pat_", 20, Body::Dashed, Kind::Github),
    ("glpat-", 16, Body::Dotted, Kind::Token),
    ("gldt-", 16, Body::Dotted, Kind::Token),
    ("glrt-", 16, Body::Dotted, Kind::Token),
    ("glcbt-", 16, Body::Dotted, Kind::Token),
    ("glptt-", 16, Body::Dotted, Kind::Token),
    ("glagent-", 16, Body::Dotted, Kind::Token),
    ("glsa_", 20, Body::Dashed, Kind::Token),
    ("xoxa-", 10, Body::Dashed, Kind::Slack),
    ("xoxb-", 10, Body::Dashed, Kind::Slack),
    ("xoxe-", 10, Body::Dashed, Kind::Slack),
    ("xoxe.", 10, Body::Dashed, Kind::Slack),
    ("xoxo-", 10, Body::Dashed, Kind::Slack),
    ("xoxp-", 10, Body::Dashed, Kind::Slack),
    ("xoxr-", 10, Body::Dashed, Kind::Slack),
    ("xoxs-", 10, Body::Dashed, Kind::Slack),
    ("xoxc-", 10, Body::Dashed, Kind::Slack),
    ("xoxd-", 10, Body::Dashed, Kind::Slack),
    ("xapp-", 10, Body::Dashed, Kind::Slack),
    ("ya29.", 16, Body::Dotted, Kind::Google),
    ("GOCSPX-", 16, Body::Dashed, Kind::Google),
    ("npm_", 30, Body::Alnum, Kind::Token),
    ("pypi-", 30, Body::Dashed, Kind::Token),
    ("hf_", 28, Body::Alnum, Kind::Token),
    ("bir_pat_", 20, Body::Dashed, Kind::Token),
    ("bir_acc_", 20, Body::Dashed, Kind::Token),
    ("bir_ref_", 20, Body::Dashed, Kind::Token),
    ("bir_loc_", 20, Body::Dashed, Kind::Token),
    ("dop_v1_", 30, Body::Alnum, Kind::Token),
    ("shpat_", 24, Body::Alnum, Kind::Token),
    ("shpss_", 24, Body::Alnum, Kind::Token),
    ("lin_api_", 24, Body::Alnum, Kind::Token),
    ("figd_", 24, Body::Dashed, Kind::Token),
    ("dckr_pat_", 20, Body::Dashed, Kind::Token),
    ("sntrys_", 30, Body::Dashed, Kind::Token),
    ("rubygems_", 30, Body::Alnum, Kind::Token),
    ("tskey-", 16, Body::Dashed, Kind::Token),
    ("hvs.", 20, Body::Dashed, Kind::Token),
    ("sbp_", 30, Body::Alnum, Kind::Token),
    ("SG.", 40, Body::Dotted, Kind::Token),
    ("PMAK-", 30, Body::Dashed, Kind::Token),
    ("AGE-SECRET-KEY-", 30, Body::Alnum, Kind::Key),
];

/// Last two bytes of the prefixes, one bit for each low six bits of the byte before the last.
const BEFORE_LAST: u64 = {
    let mut bits = 0;
    let mut n = 0;
    while n < PREFIXES.len() {
        let prefix = PREFIXES[n].0.as_bytes();
        bits |= 1 << (prefix[prefix.len() - 2] & 63);
        n += 1;
    }
    bits
};

/// Whether a word can begin at `at`: not within another one, but after an escape (`\n`, `%3D`) that ends in a letter.
pub(super) fn begins(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|i| bytes[i]) else { return true };
    if !before.is_ascii_alphanumeric() {
        return true;
    }
    (at >= 2 && bytes[at - 2] == b'\\' && matches!(before, b'n' | b'r' | b't'))
        || (at >= 3
            && bytes[at - 3] == b'%'
            && bytes[at - 2].is_ascii_hexdigit()
            && before.is_ascii_hexdigit())
}

/// After the sign of a line in a diff, or the dash of a list.
fn after_mark(bytes: &[u8], start: usize) -> bool {
    let before = bytes.get(start.saturating_sub(3)..start).unwrap_or_default();
    match before {
        [.., first, b'+' | b'-'] if first.is_ascii_whitespace() => true,
        [b'\\', b'n', b'+' | b'-'] | [b'+' | b'-'] => true,
        _ => false,
    }
}

fn run(bytes: &[u8], from: usize, body: Body) -> usize {
    let len = bytes[from..]
        .iter()
        .take_while(|b| {
            b.is_ascii_alphanumeric()
                || (body != Body::Alnum && matches!(b, b'-' | b'_'))
                || (body == Body::Dotted && **b == b'.')
        })
        .count();
    from + len
}

/// Without dashes, dots and underscores at the end, which belong to the sentence.
fn trimmed(bytes: &[u8], from: usize, mut end: usize) -> usize {
    while end > from && matches!(bytes[end - 1], b'-' | b'.') {
        end -= 1;
    }
    end
}

/// A key with a prefix whose last byte is at `at` (`-`, `_` or `.`).
pub(super) fn prefixed(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let before = *bytes.get(at.checked_sub(1)?)?;
    if BEFORE_LAST >> (before & 63) & 1 == 0
        || !matches!(bytes.get(at + 1)?, b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_')
    {
        return None;
    }
    let head = &bytes[..=at];
    for (prefix, least, body, kind) in PREFIXES {
        if !head.ends_with(prefix.as_bytes()) {
            continue;
        }
        let start = at + 1 - prefix.len();
        if !begins(bytes, start)
            || (*prefix == "sk-"
                && start > 0
                && matches!(bytes[start - 1], b'-' | b'_')
                && !after_mark(bytes, start))
        {
            return None;
        }
        let end = trimmed(bytes, at + 1, run(bytes, at + 1, *body));
        let said = text.get(at + 1..end)?;
        let made = if *prefix == "sk-" { look::key_body(said) } else { !look::harmless(said) };
        return (said.len() >= *least && made).then_some(Found { start, end, kind: *kind });
    }
    None
}

/// A JSON web token whose `eyJ` has its `J` at `at`.
pub(super) fn jwt(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let start = at.checked_sub(2)?;
    if &bytes[start..at] != b"ey"
        || !begins(bytes, start)
        || (start > 0 && matches!(bytes[start - 1], b'-' | b'_' | b'.' | b'+') && !after_mark(bytes, start))
    {
        return None;
    }
    let first = run(bytes, start, Body::Dashed);
    if first - start < 10 || bytes.get(first) != Some(&b'.') {
        return None;
    }
    // An encrypted one has five parts, and its second may be empty.
    let mut end = first;
    let mut parts = 1;
    while parts < 5 && bytes.get(end) == Some(&b'.') {
        let next = run(bytes, end + 1, Body::Dashed);
        if next == end + 1 && bytes.get(next) != Some(&b'.') {
            // An unsigned one ends with a dot; so may a sentence.
            break;
        }
        end = next;
        parts += 1;
    }
    let second = end.saturating_sub(first + 1);
    (parts >= 3 || (parts == 2 && second >= 16 && bytes[first + 1..].starts_with(b"eyJ"))).then_some(Found {
        start,
        end,
        kind: Kind::Jwt,
    })
}

/// An access key id of AWS, or an API key of Google, that begins at `at` with an `A`.
pub(super) fn capital(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let rest = &bytes[at..];
    if rest.starts_with(b"AIza") {
        if !begins(bytes, at) {
            return None;
        }
        let end = run(bytes, at, Body::Dashed);
        return (end - at >= 30).then_some(Found { start: at, end, kind: Kind::Google });
    }
    if !(rest.starts_with(b"AKIA") || rest.starts_with(b"ASIA")) || !begins(bytes, at) {
        return None;
    }
    let id = rest.get(4..20)?;
    let right = rest.get(20).is_none_or(|b| !b.is_ascii_alphanumeric());
    (right && id.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())).then_some(Found {
        start: at,
        end: at + 20,
        kind: Kind::Aws,
    })
}

/// The secrets of 40 bytes that stand beside the id of an AWS key.
pub(super) fn aws_secrets(text: &str, mut found: impl FnMut(Found)) {
    let bytes = text.as_bytes();
    let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'+');
    let mut at = 0;
    while at < bytes.len() {
        let len = bytes[at..].iter().take_while(|b| part(**b)).count();
        if len == 40 {
            let run = &bytes[at..at + 40];
            let has = |is: fn(&u8) -> bool| run.iter().any(is);
            if has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit) {
                found(Found { start: at, end: at + 40, kind: Kind::Aws });
            }
        }
        at += len.max(1);
    }
}

/// A token of a Telegram bot, whose colon is at `at`: its number and 35 characters.
pub(super) fn telegram(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let digits = bytes[..at].iter().rev().take(12).take_while(|b| b.is_ascii_digit()).count();
    let start = at - digits;
    let end = run(bytes, at + 1, Body::Dashed);
    let free = begins(bytes, start) || bytes[..start].ends_with(b"bot");
    ((8..=11).contains(&digits) && free && end - at == 36 && look::opaque(text.get(at + 1..end)?, 35))
        .then_some(Found { start, end, kind: Kind::Token })
}

/// Whether this is `user:password` in base64.
pub(super) fn is_basic(run: &str) -> bool {
    let decoded = STANDARD
        .decode(run)
        .or_else(|_| STANDARD_NO_PAD.decode(run.trim_end_matches('=')))
        .or_else(|_| URL_SAFE_NO_PAD.decode(run.trim_end_matches('=')));
    decoded.ok().and_then(|d| String::from_utf8(d).ok()).is_some_and(|d| {
        d.contains(':') && !d.starts_with(':') && !d.chars().any(char::is_control) && d.len() >= 3
    })
}

/// `Bearer …` or `Basic …` that begins at `at`; the secret is what follows the word.
pub(super) fn scheme(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let is =
        |word: &str| bytes.get(at..at + word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word.as_bytes()));
    let (word, kind) = if is("bearer") {
        (6, Kind::Bearer)
    } else if is("basic") {
        (5, Kind::Basic)
    } else {
        return None;
    };
    if !begins(bytes, at) {
        return None;
    }
    let gap = bytes[at + word..].iter().take_while(|b| matches!(b, b' ' | b'\t' | b'+')).take(8).count();
    let encoded = bytes[at + word..].starts_with(b"%20");
    if gap == 0 && !encoded {
        return None;
    }
    let start = at + word + if encoded { 3 } else { gap };
    let len = bytes[start..]
        .iter()
        .take_while(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
        })
        .count();
    let end = trimmed(bytes, start, start + len);
    let said = text.get(start..end)?;
    let secret = match kind {
        Kind::Basic => said.len() >= 8 && said.len() <= 4096 && is_basic(said),
        _ => look::opaque(said, 8) && !look::harmless(said),
    };
    secret.then_some(Found { start, end, kind })
}

/// A private key in PEM armour whose first dash is at `at`; one without an end goes to the end of the text.
pub(super) fn pem(text: &str, at: usize) -> Option<Found> {
    let rest = text.get(at..)?;
    let label = rest.strip_prefix("-----BEGIN ")?;
    let label = label.get(..label.find("-----").filter(|n| *n <= 64)?)?;
    if !label.contains("PRIVATE KEY") {
        return None;
    }
    let closing = memchr::memmem::find(rest.as_bytes(), b"-----END ");
    let end = match closing {
        Some(closing) => {
            let tail = &rest[closing + 9..];
            closing + 9 + tail.find("-----").filter(|n| *n <= 64).map_or(0, |n| n + 5)
        }
        None => rest.len(),
    };
    Some(Found { start: at, end: at + end, kind: Kind::Pem })
}
