//! JSON texts that a re-encoding parser changes, both ways.

use super::{Probe, WAIT, compare, result_text, short};
use crate::Fail;
use crate::raw::{find_key, quote};

const LITERALS: [(&str, &str); 19] = [
    ("1.0", "1.0"),
    ("1e2", "1e2"),
    ("-0", "-0"),
    ("1e400", "1e400"),
    ("u64 12345678901234567890", "12345678901234567890"),
    ("30 digits", "123456789012345678901234567890"),
    ("long decimal", "0.1000000000000000055511151231257827"),
    ("key order", "{\"b\":1,\"a\":2}"),
    ("integer-like keys", "{\"2\":1,\"1\":2,\"b\":0}"),
    ("duplicate keys", "{\"a\":1,\"a\":2}"),
    ("__proto__ key", "{\"__proto__\":{\"x\":1},\"y\":2}"),
    ("null member", "{\"a\":null}"),
    ("inner whitespace", "{ \"a\" : [ 1, 2 ] }"),
    ("\\u escapes", "\"\\u00e9\\u4e2d\\ud83d\\ude00\""),
    ("raw UTF-8", "\"é中😀\""),
    ("escaped slash", "\"a\\/b\""),
    ("\\u0000", "\"a\\u0000b\""),
    ("raw U+2028", "\"a\u{2028}b\""),
    ("lone surrogate", "\"\\ud800\""),
];
const DEPTHS: [usize; 2] = [120, 1000];

fn all() -> Vec<(String, String)> {
    let literals = LITERALS.iter().map(|(n, x)| (n.to_string(), x.to_string()));
    literals.chain(DEPTHS.map(|d| (format!("depth {d}"), "[".repeat(d) + &"]".repeat(d)))).collect()
}

pub(super) fn check(p: &mut Probe<'_>) {
    for (name, x) in all() {
        p.check(&format!("up {name}"), |c| {
            let r = c.call("rawline", &format!("{{\"probe\":{x}}}"), WAIT)?;
            let line = result_text(&r.raw).ok_or(Fail::Other(short(&r.raw)))?;
            Ok(compare(x.as_bytes(), find_key(line.as_bytes(), "probe"), line.as_bytes()))
        });
        p.check(&format!("down {name}"), |c| {
            let body =
                format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"ok\"}}],\"structuredContent\":{{\"probe\":{x}}}}}");
            let r = c.call("raw", &format!("{{\"result\":{}}}", quote(&body)), WAIT)?;
            Ok(compare(x.as_bytes(), find_key(&r.raw, "probe"), &r.raw))
        });
    }
}
