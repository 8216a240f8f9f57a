//! What a value looks like: a secret, a reference to one, or a word that stands where a secret would.

use super::placeholder::Kind;

/// Words that stand where a secret would and are none.
const HARMLESS: &[&str] = &[
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "required",
    "optional",
    "include",
    "omit",
    "same-origin",
    "string",
    "str",
    "number",
    "integer",
    "int",
    "float",
    "bool",
    "boolean",
    "any",
    "object",
    "array",
    "bytes",
    "unknown",
    "redacted",
    "masked",
    "hidden",
    "yes",
    "no",
    "on",
    "off",
    "enabled",
    "disabled",
    "n/a",
    "-",
    "missing",
    "empty",
    "unset",
    "invalid",
    "inherit",
    "never",
    "void",
    "option",
    "text",
    "not",
];

/// Longest value that is looked at for being a reference.
const LONGEST_REFERENCE: usize = 256;

/// Whether a value that stands where a secret would is none: a word of that kind, a mask, a template or a reference.
pub(super) fn harmless(value: &str) -> bool {
    let v = value.trim();
    if v.is_empty() || v.len() > LONGEST_REFERENCE {
        return v.is_empty();
    }
    let bytes = v.as_bytes();
    let first = bytes[0];
    let last = bytes[bytes.len() - 1];
    if HARMLESS.iter().any(|w| w.eq_ignore_ascii_case(v)) {
        return true;
    }
    // Places of a statement that is prepared: ?, %s, %(name)s.
    if matches!(v, "?" | "%s" | "%d") || v.starts_with("%(") && v.ends_with(")s") || stands_for_yours(v) {
        return true;
    }
    // ********, xxxx, ...
    if bytes.len() > 2
        && matches!(first, b'*' | b'x' | b'X' | b'.' | b'-' | b'_')
        && bytes.iter().all(|b| *b == first)
    {
        return true;
    }
    let name =
        |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-. :".contains(&b));
    if v.strip_prefix("${").and_then(|r| r.strip_suffix('}')).is_some_and(|r| {
        // ${NAME}, ${{ secrets.NAME }}, ${NAME:?missing}; a default after `:-` may be a secret.
        !r.contains(":-") && !r.contains(":=")
    }) {
        return true;
    }
    let variable = |s: &str| {
        !s.is_empty() && s.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    v.strip_prefix('$').is_some_and(variable)
        || v.strip_prefix("$env:").is_some_and(name)
        || v.starts_with("$(") && last == b')'
        || v.starts_with("{{") && v.ends_with("}}")
        || first == b'%' && last == b'%' && v.len() > 2 && variable(&v[1..v.len() - 1])
        || first == b'<' && last == b'>' && name(&v[1..v.len() - 1])
        || first == b'{' && last == b'}' && v.len() > 2 && name(&v[1..v.len() - 1])
        || first == b'['
            && last == b']'
            && v[1..v.len() - 1].bytes().all(|b| b.is_ascii_alphabetic() || b == b'_')
        || [
            "process.env.",
            "os.environ",
            "os.getenv(",
            "env.",
            "secrets.",
            "op://",
            "arn:aws:secretsmanager:",
            "arn:aws:ssm:",
            "import.meta.env.",
        ]
        .iter()
        .any(|p| v.starts_with(p))
}

/// `your_api_key_here`.
fn stands_for_yours(v: &str) -> bool {
    v.get(..4).is_some_and(|w| w.eq_ignore_ascii_case("your"))
        && matches!(v.as_bytes().get(4), Some(b'_' | b'-'))
        && v.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-'))
}

/// A value that stays under a name of this kind, though another one would go.
pub(super) fn spared(kind: Kind, v: &str) -> bool {
    match kind {
        Kind::KeyFile => place(v),
        Kind::AnyKey => v.len() <= 3,
        Kind::Pin => !(4..=12).contains(&v.len()) || !v.bytes().all(|b| b.is_ascii_digit()),
        _ => false,
    }
}

/// The place of a file, told from base64, which may begin with a slash and hold more of them, but no dot, dash or underscore.
fn place(v: &str) -> bool {
    let rooted = ["/", "~/", "./", "../"].iter().any(|p| v.starts_with(p)) || v.get(1..3) == Some(":\\");
    rooted
        && v.len() <= LONGEST_REFERENCE
        && v.bytes().all(|b| b.is_ascii_alphanumeric() || b"/\\:._-~ ".contains(&b))
        && (v.bytes().any(|b| matches!(b, b'.' | b'-' | b'_' | b'~' | b'\\'))
            || v.bytes().all(|b| b == b'/' || b.is_ascii_lowercase()))
}

#[derive(Default)]
struct Mix {
    upper: usize,
    lower: usize,
    digit: usize,
    other: usize,
    space: usize,
    hex: bool,
}

fn mix(v: &str) -> Mix {
    let mut m = Mix { hex: true, ..Mix::default() };
    for b in v.bytes() {
        match b {
            b'A'..=b'Z' => m.upper += 1,
            b'a'..=b'z' => m.lower += 1,
            b'0'..=b'9' => m.digit += 1,
            b' ' | b'\t' | b'\n' | b'\r' => m.space += 1,
            _ => m.other += 1,
        }
        m.hex &= b.is_ascii_hexdigit() || b == b'-';
    }
    m
}

/// Looks like something a machine made or a careful person chose: no white space, at least `least` bytes, letters and digits mixed, or
/// both cases with a sign.
pub(super) fn opaque(v: &str, least: usize) -> bool {
    let m = mix(v);
    v.len() >= least
        && m.space == 0
        && ((m.digit > 0 && m.upper + m.lower > 0)
            || (m.other > 0 && m.upper > 0 && m.lower > 0)
            || (m.upper > 1 && m.lower > 1 && v.len() >= 16 && !camel(v)))
}

/// `someCamelCaseName`: humps with at least three letters on average.
fn camel(v: &str) -> bool {
    let humps = v.bytes().filter(u8::is_ascii_uppercase).count();
    v.bytes().all(|b| b.is_ascii_alphabetic()) && v.len() / (humps + 1) >= 4
}

/// Looks random: long, all three classes mixed, no path, no word in it, no UUID, no hexadecimal digest.
pub(super) fn random(v: &str) -> bool {
    let m = mix(v);
    let signs = v.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+' | b'='));
    // Of letters alone: names have a capital where a word begins, chance has one at every other place.
    let cases = v.len() >= 24 && m.upper * 3 > v.len() && m.lower * 4 > v.len();
    v.len() >= 20
        && signs
        && !m.hex
        && m.upper > 1
        && m.lower > 1
        && (m.digit > 1 || cases)
        && entropy(v) > 3.5
}

/// Shannon's entropy in bits per byte.
fn entropy(v: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for b in v.bytes() {
        counts[usize::from(b)] += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
    let total = v.len() as f64;
    counts.iter().filter(|c| **c > 0).map(|c| f64::from(*c) / total).map(|p| -p * p.log2()).sum()
}

/// The body of a prefixed key looks made by a machine: a run of letters and digits, not words joined by dashes.
pub(super) fn key_body(v: &str) -> bool {
    v.split(['-', '_']).any(|run| {
        let m = mix(run);
        (run.len() >= 10 && m.digit > 0 && m.upper + m.lower > 0)
            || (run.len() >= 16 && ((m.upper > 1 && m.lower > 1) || m.digit > 9))
    })
}

/// A place in a file system.
pub(super) fn path(v: &str) -> bool {
    v.starts_with(['/', '~', '.'])
        || v.get(1..3) == Some(":\\")
        || v.get(1..3) == Some(":/")
        || v.starts_with("$HOME")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_stands_there() {
        for v in [
            "",
            "  ",
            "none",
            "NULL",
            "****",
            "xxxxxx",
            "${API_KEY}",
            "$API_KEY",
            "${{ secrets.TOKEN }}",
            "{{token}}",
            "%TOKEN%",
            "<your-token>",
            "<YOUR API KEY>",
            "{token}",
            "[REDACTED]",
            "process.env.KEY",
            "op://vault/item/field",
            "$(cat token.txt)",
            "required",
            "$env:TOKEN",
            "?",
            "%s",
            "%(token)s",
            "$1",
            "your_api_key_here",
            "YOUR_API_KEY",
            "your-token",
        ] {
            assert!(harmless(v), "{v}");
        }
        for v in [
            "hunter2",
            "$ecret",
            "<a>b",
            "correct horse",
            "{\"a\":1}",
            "x",
            "${A:-hunter2}",
            "0",
            "yourpassword1",
            "your_pass1",
            "[redacted:key:0011]",
        ] {
            assert!(!harmless(v), "{v}");
        }
    }

    #[test]
    fn what_a_kind_spares() {
        for v in ["/etc/ssl/key.pem", "~/.ssh/id_rsa", "./key", "C:\\keys\\x.pem", "/run/secrets/key"] {
            assert!(spared(Kind::KeyFile, v), "{v}");
            assert!(!spared(Kind::Key, v), "{v}");
        }
        for v in ["/bPxRfiCYEXAMPLEKEYwJalrXUtnFEMI/K7MDENG", "S3cr3t.x", "/a+b.c", "hunter2"] {
            assert!(!spared(Kind::KeyFile, v), "{v}");
        }
        assert!(spared(Kind::AnyKey, "F5") && !spared(Kind::AnyKey, "hunter2"));
        assert!(spared(Kind::Pin, "13") && spared(Kind::Pin, "needle") && !spared(Kind::Pin, "1234"));
    }

    #[test]
    fn looks() {
        for v in ["a1b2c3d4", "hunter2x", "S3cr3t!!", "aB!aBcD?"] {
            assert!(opaque(v, 8), "{v}");
        }
        for v in ["password", "someCamelCaseIdentifier", "two words 12", "short1"] {
            assert!(!opaque(v, 8), "{v}");
        }
        assert!(random("aZ3kQ9xLm2Pq8RtV5wYb"));
        assert!(random("xlSZIBZgZVcKxfFP4pbqegdOSCujFJKs"));
        for v in [
            "550e8400-e29b-41d4-a716-446655440000",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "uploads/2024/IMG_1234567.jpg",
            "user.profile.settings",
            "PROJ-123",
            "someLongCamelCaseIdentifierNameOfAnHTTPServer2",
            "org.example.SomeVeryLongClassName",
            "SOME_VERY_LONG_CONSTANT_NAME_V2",
        ] {
            assert!(!random(v), "{v}");
        }
    }
}
