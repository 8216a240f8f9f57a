//! What the pages need beside themselves, compiled in.
//!
//! A page names an asset with its hash as the query (`/static/console.css?v=…`), so that a browser may keep it for ever and a
//! new version of the hub is seen at once.

use std::sync::LazyLock;

/// A file below `/static/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// Its bytes.
    pub bytes: &'static [u8],
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// The value of `ETag`, quotes included. The file may be kept for ever where its address has `?v=`, for it then changes
    /// with the bytes.
    pub etag: &'static str,
}

const CSS: &[u8] = include_bytes!("../static/console.css");
const JS: &[u8] = include_bytes!("../static/console.js");
const ICON: &[u8] = include_bytes!("../static/icon.svg");

static TAGS: LazyLock<[String; 3]> =
    LazyLock::new(|| [CSS, JS, ICON].map(|file| format!("\"{:016x}\"", fnv(file))));

/// The asset of that name: what stands after `/static/` in the address.
#[must_use]
pub fn asset(path: &str) -> Option<Asset> {
    let (bytes, content_type, tag) = match path {
        "console.css" => (CSS, "text/css; charset=utf-8", 0),
        "console.js" => (JS, "text/javascript; charset=utf-8", 1),
        "icon.svg" => (ICON, "image/svg+xml", 2),
        _ => return None,
    };
    Some(Asset { bytes, content_type, etag: &TAGS[tag] })
}

/// The address of an asset, as pages write it.
pub(crate) fn address(name: &str) -> String {
    match asset(name) {
        Some(file) => format!("/static/{name}?v={}", file.etag.trim_matches('"')),
        None => format!("/static/{name}"),
    }
}

/// FNV-1a, 64 bits: tells versions of our own files apart, and nothing depends on its strength.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_are_found_by_name_and_nothing_else_is() {
        for name in ["console.css", "console.js", "icon.svg"] {
            let file = asset(name).unwrap();
            assert!(!file.bytes.is_empty());
            assert!(address(name).ends_with(file.etag.trim_matches('"')));
        }
        for name in ["", "/console.css", "../Cargo.toml", "console.css/", "CONSOLE.CSS"] {
            assert_eq!(asset(name), None, "{name}");
        }
    }

    #[test]
    fn what_a_first_visit_transfers_is_small() {
        assert!(CSS.len() + JS.len() + ICON.len() < 48 * 1024);
    }
}
