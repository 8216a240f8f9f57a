//! What the ledger says is ours, found again in the files as they are now.

use crate::ledger::{EntryRecord, FileRecord, Ledger};
use bir_hosts::config::Scope;
use bir_model::{Place, Step};
use serde_json::Value;
use std::path::Path;

/// The file name of the proxy.
const PROXY: &str = "bir-proxy";

/// An entry of ours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held<'l> {
    pub(crate) record: &'l FileRecord,
    pub(crate) entry: &'l EntryRecord,
}

impl Held<'_> {
    /// It is a copy, which goes whole.
    pub(crate) fn is_copy(&self) -> bool {
        self.entry.memo.is_none()
    }

    /// It is the wrapped entry of a server that a file holds.
    pub(crate) fn is_in_place_of(&self, file: &Path, server: &str) -> bool {
        !self.is_copy() && self.record.path == file && self.entry.server == server
    }
}

/// Entries of a host that count in a project: its own and those of the user. Of one that was wrapped more than once, the last time.
pub(crate) fn held<'l>(ledger: &'l Ledger, host: &str, project: &Path) -> Vec<Held<'l>> {
    let mut all: Vec<Held<'l>> = Vec::new();
    for record in ledger.files.iter().filter(|record| record.host == host) {
        let counts = |of: &Option<std::path::PathBuf>| of.is_none() || of.as_deref() == Some(project);
        for layer in record.layers.iter().rev().filter(|layer| counts(&layer.project)) {
            for entry in &layer.entries {
                let known = |other: &Held<'_>| {
                    other.record.path == record.path
                        && other.entry.server == entry.server
                        && same_place(other.entry, entry)
                };
                if !all.iter().any(known) {
                    all.push(Held { record, entry });
                }
            }
        }
    }
    all
}

/// Whether two records are of one entry. In a list the key counts, not the index.
pub(crate) fn same_place(a: &EntryRecord, b: &EntryRecord) -> bool {
    a.server == b.server && without_index(&a.place) == without_index(&b.place)
}

fn without_index(place: &Place) -> &[Step] {
    match place.0.split_last() {
        Some((Step::Index(_), list)) => list,
        _ => &place.0,
    }
}

/// Where an entry stands now. None: it is not there any more.
pub(crate) fn locate(document: &Value, entry: &EntryRecord) -> Option<Place> {
    let Some((Step::Index(_), list)) = entry.place.0.split_last() else {
        return entry.place.of(document).map(|_| entry.place.clone());
    };
    let list = Place(list.to_vec());
    let items = list.of(document)?.as_array()?;
    let named = |item: &Value| item.get("name").and_then(Value::as_str) == Some(&entry.server);
    // Two may have one name; one of them may be as it was already.
    let index = items
        .iter()
        .position(|item| named(item) && is_wrapped(item))
        .or_else(|| items.iter().position(named))?;
    Some(list.index(index))
}

/// Whether an entry starts the proxy: some word of it names it.
pub(crate) fn is_wrapped(entry: &Value) -> bool {
    proxy_of(entry).is_some()
}

/// The proxy that an entry starts.
pub(crate) fn proxy_of(entry: &Value) -> Option<&str> {
    match entry {
        Value::Object(members) => members.values().find_map(proxy_of),
        Value::Array(items) => items.iter().find_map(proxy_of),
        Value::String(word) => names(word, PROXY).then_some(word),
        _ => None,
    }
}

/// Whether a word is the path of a program.
pub(crate) fn names(word: &str, program: &str) -> bool {
    let file = word.rsplit(['/', '\\']).next().unwrap_or_default();
    file == program || file.strip_suffix(".exe").is_some_and(|stem| stem == program)
}

/// Whether what stands in a file counts for every project of its user.
pub(crate) fn is_of_user(scope: Scope) -> bool {
    matches!(scope, Scope::User | Scope::Managed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_of_a_list_is_found_by_its_key() {
        let document = json!({"mcpServers": [{"name": "new"}, {"name": "a", "command": "/x/bir-proxy"}]});
        let entry =
            EntryRecord { server: "a".into(), place: Place::keys(["mcpServers"]).index(0), memo: None };
        let place = locate(&document, &entry).unwrap();
        assert_eq!(place, Place::keys(["mcpServers"]).index(1));
        assert!(is_wrapped(place.of(&document).unwrap()) && !is_wrapped(&document["mcpServers"][0]));
        assert_eq!(locate(&json!({}), &entry), None);
    }

    #[test]
    fn a_program_is_known_by_the_name_of_its_file() {
        for (word, is) in [
            ("/opt/bir/bir-proxy", true),
            (r"C:\Program Files\bir\bir-proxy.exe", true),
            ("bir-proxy", true),
            ("/opt/bir-proxy/other", false),
            ("bir-proxy-old", false),
        ] {
            assert_eq!(names(word, PROXY), is, "{word}");
        }
    }
}
