//! Secrets in forms of their own, which no sign of an assignment gives away: blocks of YAML, attributes of XML, SQL, calls (`setPassword("x")`), commands
//! that set something, lines of `.pgpass`, a name and a tab.
//!
//! Each form is searched for by the piece that it cannot do without, looks back a bounded distance, and takes a value only under a name of a secret.

use memchr::memmem;

use super::lex::{Value, begins_line, ends_line, name_before, name_byte, quoted, shell_word, spaces};
use super::names::Class;
use super::placeholder::{self, Kind};
use super::shapes::Found;
use super::{Job, code, look};

/// Bytes before a value in which its name, or the word that says what it is, is looked for.
const WITHIN: usize = 256;
/// Bytes of a header with a digest.
const DIGEST_WITHIN: usize = 1024;

/// Finds the secrets of such forms.
pub(super) fn find(job: &Job<'_>, text: &str, mut found: impl FnMut(Found)) {
    let bytes = text.as_bytes();
    let secret = |name: &str| match job.classify(name) {
        Class::Secret(kind) => Some(kind),
        Class::Pwd => Some(Kind::Key),
        _ => None,
    };
    let named = |sign: usize| {
        let name = name_before(bytes, sign)?;
        let said = text.get(name.start..name.end)?;
        Some((name.start, said, secret(said)?))
    };
    let mut take = |value: Value, kind: Kind| {
        let Some(said) = text.get(value.start..value.end) else { return };
        let harmless = said.trim().is_empty() || look::harmless(said) || look::spared(kind, said);
        if !harmless && placeholder::end_at(bytes, value.start).is_none() {
            found(Found { start: value.start, end: value.end, kind });
        }
    };
    let said = |value: &Value| text.get(value.start..value.end).unwrap_or_default();

    // PASSWORD 'x', IDENTIFIED BY 'x', setPassword("x"), define('DB_PASSWORD', 'x')
    for at in memchr::memchr2_iter(b'\'', b'"', bytes) {
        if let Some(kind) = before_quote(text, at, &secret)
            && let Some(value) = quoted(bytes, at)
        {
            take(value, kind);
        }
    }
    // setx API_KEY x, aws configure set aws_secret_access_key x, npm config set //host/:_authToken x
    for command in ["setx ", "config set ", "configure set "] {
        for at in memmem::find_iter(bytes, command) {
            let Some(name) = shell_word(bytes, spaces(bytes, at + command.len())) else { continue };
            let last = said(&name).rsplit(':').next().unwrap_or_default();
            let gap = spaces(bytes, name.end);
            if let Some(kind) = secret(last)
                && gap > name.end
                && let Some(value) = shell_word(bytes, gap)
                && !said(&value).starts_with('-')
            {
                take(value, kind);
            }
        }
    }
    // A name, a tab, a value, and nothing else in the line.
    for at in memchr::memchr_iter(b'\t', bytes) {
        if at > 0
            && name_byte(bytes[at - 1])
            && let Some((start, _, kind)) = named(at)
            && begins_line(bytes, start)
            && let Some(value) = shell_word(bytes, spaces(bytes, at))
            && ends_line(bytes, value.end)
            && !code::word(said(&value))
            && !code::is_code(said(&value), "")
        {
            take(value, kind);
        }
    }
    // password -> x, **Password:** `x`, PASSWORD=="x"
    for sign in [" -> ", ":** ", "=="] {
        for at in memmem::find_iter(bytes, sign) {
            let Some((_, _, kind)) = named(at) else { continue };
            let start = spaces(bytes, at + sign.len());
            // What `==` compares with is a value only in quotes.
            let value = if sign == "==" { quoted(bytes, start) } else { shell_word(bytes, start) };
            if let Some(value) = value
                && (look::opaque(said(&value), 6) || (sign == ":** " && value.quoted))
                && !code::is_code(said(&value), "")
            {
                take(value, kind);
            }
        }
    }
    // <add key="ApiKey" value="x"/>
    for at in memmem::find_iter(bytes, b" value=") {
        let before = text.get(floor(text, at.saturating_sub(WITHIN))..at).unwrap_or_default();
        let Some(open) = before.rfind('<') else { continue };
        let tag = &before[open..];
        let name = [" key=\"", " name=\"", " key='", " name='"]
            .iter()
            .find_map(|p| tag.split_once(p)?.1.split(['"', '\'']).next());
        if !tag.contains('>')
            && let Some(kind) = name.and_then(secret)
            && let Some(value) = quoted(bytes, at + 7)
        {
            take(value, kind);
        }
    }
    // curl --user=bob:x
    let mut read = 0;
    for at in memmem::find_iter(bytes, b"--user=") {
        if at < read {
            continue;
        }
        let line = &bytes[at.saturating_sub(WITHIN)..at];
        let line = &line[line.iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1)..];
        let container = ["docker", "podman"].iter().any(|p| memmem::find(line, p.as_bytes()).is_some());
        let Some(value) = shell_word(bytes, at + 7).filter(|_| !container) else { continue };
        read = value.end;
        if let Some((user, password)) = said(&value).split_once(':')
            && !(user.bytes().all(|b| b.is_ascii_digit()) && password.bytes().all(|b| b.is_ascii_digit()))
        {
            take(Value { start: value.start + user.len() + 1, ..value }, Kind::Basic);
        }
    }
    // Authorization: Digest …, response="x"
    for at in memmem::find_iter(bytes, b"response=\"") {
        let Some(value) = quoted(bytes, at + 9) else { continue };
        let hex = said(&value).bytes().all(|b| b.is_ascii_hexdigit()) && said(&value).len() >= 32;
        if hex && memmem::find(&bytes[at.saturating_sub(DIGEST_WITHIN)..at], b"igest ").is_some() {
            take(value, Kind::Token);
        }
    }
    // host:5432:database:user:x
    for port in [":5432:", ":5433:", ":6432:", ":*:"] {
        for at in memmem::find_iter(bytes, port) {
            if let Some(value) = pgpass(bytes, at, at + port.len()) {
                take(value, Kind::Key);
            }
        }
    }
    // password: |
    let mut read = 0;
    for sign in [": |", ": >"] {
        for at in memmem::find_iter(bytes, sign) {
            if at >= read
                && let Some((start, _, kind)) = named(at)
                && let Some(value) = block(bytes, start, at + 3)
            {
                read = value.end;
                if !bytes[value.start..].starts_with(b"-----BEGIN ") {
                    take(value, kind);
                }
            }
        }
        read = 0;
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// What stands before the quote at `at` says that a secret is in it.
fn before_quote(text: &str, at: usize, secret: &impl Fn(&str) -> Option<Kind>) -> Option<Kind> {
    let bytes = text.as_bytes();
    let from = floor(text, at.saturating_sub(WITHIN));
    let before = text.get(from..at)?;
    let tail = before.trim_end_matches([' ', '\t']);
    let word = |s: &str| s.rsplit(|c: char| !c.is_ascii() || !name_byte(c as u8)).next().map(str::to_owned);
    let sets = |callee: &str| {
        let callee = callee.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        ["set", "put", "define", "with", "append"].iter().any(|w| callee.starts_with(w))
    };
    match *tail.as_bytes().last()? {
        b'(' => {
            let callee = word(&tail[..tail.len() - 1])?;
            sets(&callee).then(|| secret(&callee)).flatten()
        }
        b',' => {
            let name = tail[..tail.len() - 1].trim_end();
            let quote = name.chars().last().filter(|c| matches!(c, '"' | '\''))?;
            let (call, name) = name[..name.len() - 1].rsplit_once(quote)?;
            let callee = word(call.trim_end().strip_suffix('(')?)?;
            sets(&callee).then(|| secret(name)).flatten()
        }
        _ if tail.len() < before.len() && bytes[at] == b'\'' => {
            let last = word(tail)?;
            let by = last.eq_ignore_ascii_case("by") && tail.to_ascii_lowercase().contains("identified ");
            (by || last.eq_ignore_ascii_case("password")).then_some(Kind::Key)
        }
        _ => None,
    }
}

/// The password of a line of `.pgpass` whose host ends at `host` and whose database begins at `rest`.
fn pgpass(bytes: &[u8], host: usize, rest: usize) -> Option<Value> {
    let from = host.saturating_sub(WITHIN);
    let line = bytes[from..host].iter().rposition(|b| *b == b'\n').map_or(from, |n| from + n + 1);
    let end = rest + bytes[rest..].iter().take(WITHIN).take_while(|b| !matches!(b, b'\n' | b'\r')).count();
    let plain = |part: &[u8]| {
        !part.is_empty()
            && part.iter().all(|b| b.is_ascii_graphic() && !matches!(b, b'/' | b'"' | b'\'' | b'='))
    };
    let mut parts = bytes[rest..end].splitn(3, |b| *b == b':');
    let (database, user, password) = (parts.next()?, parts.next()?, parts.next()?);
    let whole = plain(&bytes[line..host]) && plain(database) && plain(user);
    (whole && !password.is_empty() && password.iter().all(u8::is_ascii_graphic)).then_some(Value {
        start: end - password.len(),
        end,
        quoted: false,
    })
}

/// The block of YAML under the name at `name`, whose sign ends at `at`.
fn block(bytes: &[u8], name: usize, at: usize) -> Option<Value> {
    let marks = bytes[at..].iter().take(2).take_while(|b| matches!(b, b'-' | b'+' | b'0'..=b'9')).count();
    let mut line = spaces(bytes, at + marks);
    if bytes.get(line) == Some(&b'\r') {
        line += 1;
    }
    if bytes.get(line) != Some(&b'\n') {
        return None;
    }
    let from = name.saturating_sub(WITHIN);
    let indent =
        bytes[from..name].iter().rposition(|b| *b == b'\n').map_or(name - from, |n| name - from - n - 1);
    let (mut start, mut end) = (None, line + 1);
    line += 1;
    while line < bytes.len() {
        let length = memchr::memchr(b'\n', &bytes[line..]).unwrap_or(bytes.len() - line);
        let said = &bytes[line..line + length];
        let blank = said.trim_ascii().is_empty();
        let depth = said.iter().take_while(|b| **b == b' ').count();
        if !blank && depth <= indent {
            break;
        }
        if !blank {
            start.get_or_insert(line + depth);
            end = line + said.trim_ascii_end().len();
        }
        line += length + 1;
    }
    start.map(|start| Value { start, end, quoted: false })
}
