//! A file that is ours alone, of which the ledger knows the hash and nothing more: it goes whole where it is as we left it. Where another
//! program has written in it, what starts our program is taken out, and where that cannot be told from the rest, the file stays and stays
//! known.

use super::anew::before_of;
use super::file::{Stacked, changed_by_others, records, tell};
use super::structural::Done;
use crate::ledger::FileRecord;
use crate::plan::sheet::Sheet;
use crate::plan::{Outcome, Plan};
use bir_edit::Document;
use bir_hosts::config::Refusal;
use bir_hosts::{Host, our_file, our_hook};
use bir_model::{Edit, Format, Place};
use serde_json::Value;

/// The file name of the program that such a file starts.
const PROGRAM: &[u8] = b"bir-hooks";

/// What of a text is ours.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing.
    Theirs,
    /// All of it.
    Ours,
    /// Something; this is left without it.
    Text(Vec<u8>),
    /// Something, which cannot be told from the rest.
    Unclear,
}

/// Takes the layers off that go; the records that stay.
pub(super) fn take_off(sheet: &mut Sheet, mut stack: Vec<Stacked<'_>>, plan: &mut Plan) -> Vec<FileRecord> {
    if sheet.now.is_none() && stack.iter().any(|stacked| stacked.goes && stacked.is_away()) {
        for stacked in stack.iter().filter(|stacked| stacked.goes) {
            tell(plan, stacked, &stacked.gone());
        }
        stack.retain(|stacked| !stacked.goes || (stacked.is_away() && !stacked.forgotten));
        return records(stack);
    }
    let mut exact = Vec::new();
    for (at, stacked) in stack.iter().enumerate().rev().filter(|(_, stacked)| stacked.goes) {
        if let Some(before) = before_of(sheet.now.as_deref(), &stacked.layer) {
            sheet.replace_own(before);
            exact.push(at);
        }
    }
    let first = stack.first().map(|stacked| stacked.record);
    let outcome = match (&sheet.now, first) {
        // Others still want what stands there.
        _ if stack.iter().any(|stacked| !stacked.goes) => None,
        (Some(text), Some(record)) => match rest(Host::named(&record.host), record.format, text) {
            Rest::Theirs => None,
            Rest::Ours => {
                sheet.replace_own(None);
                Some(Outcome::Restored)
            }
            Rest::Text(text) => {
                sheet.replace_own(Some(text));
                Some(Outcome::Restored)
            }
            Rest::Unclear => Some(unclear()),
        },
        _ => None,
    };
    for (at, stacked) in stack.iter().enumerate().filter(|(_, stacked)| stacked.goes) {
        let outcome = outcome.clone().unwrap_or_else(|| match exact.contains(&at) {
            true => Outcome::Restored,
            false => changed_by_others(),
        });
        tell(plan, stacked, &Done { entries: Vec::new(), hooks: Some(outcome) });
    }
    let stays = outcome.is_some_and(|outcome| !outcome.changes());
    if stays && let (Some(lowest), Some(now)) = (stack.first_mut(), sheet.hash()) {
        // As it is now it is not ours to take away whole, so its hash is no way back.
        (lowest.layer.before, lowest.layer.after, lowest.layer.back) = (Some(now.clone()), now, None);
        stack.truncate(1);
    } else {
        stack.retain(|stacked| !stacked.goes);
    }
    records(stack)
}

fn unclear() -> Outcome {
    let why = "another program has written in it, and what is ours cannot be told from that; remove it, or take out by hand what starts \
               bir-hooks, then uninstall again";
    Outcome::Left(Refusal { code: "stays", why: why.into() })
}

/// What is left of a text without what is ours.
pub(super) fn rest(host: Option<Host>, format: Format, text: &[u8]) -> Rest {
    if text.trim_ascii().is_empty() {
        return Rest::Ours;
    }
    if !names_ours(text) {
        return Rest::Theirs;
    }
    match host {
        Some(host @ Host::CopilotCli) => without_hooks(host, format, text).unwrap_or(Rest::Unclear),
        Some(host) if is_as_written(host, text) => Rest::Ours,
        _ => Rest::Unclear,
    }
}

fn names_ours(text: &[u8]) -> bool {
    text.windows(PROGRAM.len()).any(|part| part == PROGRAM)
}

/// Whether a text is what this release writes, up to the ends of its lines.
fn is_as_written(host: Host, text: &[u8]) -> bool {
    let lines =
        |text: &str| text.trim_end().lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let written = our_file(host, text).and_then(|program| bir_hosts::hooks(host, &program));
    written.is_some_and(|written| written.whole_file && lines(&written.text) == lines(text))
}

/// A file of arrays of hooks, one for each event. None: it cannot be read, or something of ours stands elsewhere in it.
fn without_hooks(host: Host, format: Format, text: &[u8]) -> Option<Rest> {
    let mut document = Document::parse(text, format).ok()?;
    let under = Place::keys(["hooks"]);
    let mut edits = Vec::new();
    for (event, hooks) in document.value().get("hooks")?.as_object()? {
        let (at, hooks) = (under.key(event), hooks.as_array()?);
        let ours = |hook: &Value| our_hook(host, hook).is_some();
        if !hooks.is_empty() && hooks.iter().all(ours) {
            edits.push(Edit::Remove { at });
            continue;
        }
        let each = hooks.iter().enumerate().rev().filter(|(_, hook)| ours(hook));
        edits.extend(each.map(|(index, _)| Edit::Remove { at: at.index(index) }));
    }
    document.edit_all(&edits).ok()?;
    let left = document.bytes();
    if names_ours(&left) {
        return None;
    }
    let members = document.value().as_object()?;
    let says_nothing = |(key, value): (&String, &Value)| match key.as_str() {
        "version" => true,
        "hooks" => value.as_object().is_some_and(serde_json::Map::is_empty),
        _ => false,
    };
    Some(if members.iter().all(says_nothing) { Rest::Ours } else { Rest::Text(left) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Hash, Layer, Ledger};
    use crate::survey::Modules;
    use crate::undo::{Out, undo};
    use bir_hosts::config::{Role, Scope};
    use serde_json::json;

    const PROGRAM: &str = "/opt/bir/bir-hooks";

    /// What an uninstall does to a file that we wrote, in its place stands what somebody made of it: the text that is left, the line, and
    /// what the ledger knows then.
    fn uninstalled(host: Host, touch: &dyn Fn(&str) -> String) -> (Option<String>, Outcome, Ledger) {
        let dir = tempfile::tempdir().unwrap();
        let written = bir_hosts::hooks(host, PROGRAM).unwrap().text;
        let path = dir.path().join("bir");
        std::fs::write(&path, touch(&written)).unwrap();
        let layer = Layer {
            project: None,
            at: 0,
            before: None,
            after: Hash::of(written.as_bytes()),
            back: None,
            entries: vec![],
            hooks: vec![],
            set: vec![],
            made: vec![],
        };
        let record = FileRecord {
            path: path.clone(),
            host: host.as_str().into(),
            scope: Scope::User,
            format: if host == Host::CopilotCli { Format::Json } else { Format::Jsonc },
            role: Role::Own,
            made_dirs: vec![],
            layers: vec![layer],
        };
        let ledger = Ledger { files: vec![record], ..Ledger::default() };
        let all = Out { project: dir.path().into(), all: true, hosts: vec![], forget: false };
        let mut plan = undo(&Modules { hosts: vec![] }, &ledger, &all);
        let left = match plan.operation.changes.pop() {
            Some(change) => change.after.map(|text| String::from_utf8(text).unwrap()),
            None => std::fs::read_to_string(&path).ok(),
        };
        assert_eq!(plan.hooks.len(), 1);
        (left, plan.hooks.remove(0).outcome, plan.operation.ledger)
    }

    fn is_left(outcome: &Outcome, code: &str) -> bool {
        matches!(outcome, Outcome::Left(refusal) if refusal.code == code)
    }

    type Touch<'t> = &'t dyn Fn(&str) -> String;

    #[test]
    fn what_is_as_we_left_it_or_differs_in_nothing_that_counts_goes() {
        for host in [Host::CopilotCli, Host::OpenCode] {
            let crlf = |text: &str| text.replace('\n', "\r\n");
            let same = |text: &str| text.to_owned();
            let empty = |_: &str| "\n".to_owned();
            let touches: [Touch<'_>; 3] = [&same, &crlf, &empty];
            for touch in touches {
                let (left, outcome, ledger) = uninstalled(host, touch);
                assert_eq!((left, outcome, ledger.is_empty()), (None, Outcome::Restored, true), "{host:?}");
            }
        }
        // Written anew by a formatter, with another time limit and one event less.
        let (left, outcome, ledger) = uninstalled(Host::CopilotCli, &|text| {
            let mut value: Value = serde_json::from_str(text).unwrap();
            value["hooks"]["SessionStart"][0]["timeoutSec"] = json!(99);
            value["hooks"].as_object_mut().unwrap().remove("PreToolUse");
            value.to_string()
        });
        assert_eq!((left, outcome, ledger.is_empty()), (None, Outcome::Restored, true));
    }

    #[test]
    fn what_another_program_has_put_in_stays_without_ours() {
        let theirs = json!({"type": "command", "command": "say"});
        let (left, outcome, ledger) = uninstalled(Host::CopilotCli, &|text| {
            let mut value: Value = serde_json::from_str(text).unwrap();
            value["hooks"]["SessionStart"].as_array_mut().unwrap().insert(0, theirs.clone());
            value["hooks"]["Theirs"] = json!([theirs]);
            value.to_string()
        });
        let left: Value = serde_json::from_str(&left.unwrap()).unwrap();
        assert_eq!(left, json!({"version": 1, "hooks": {"SessionStart": [theirs], "Theirs": [theirs]}}));
        assert_eq!((outcome, ledger.is_empty()), (Outcome::Restored, true));
        // Nothing of it is ours any more.
        for host in [Host::CopilotCli, Host::OpenCode] {
            let (left, outcome, ledger) = uninstalled(host, &|_| "export default 1".into());
            assert!(is_left(&outcome, "changed") && ledger.is_empty(), "{outcome:?}");
            assert_eq!(left.as_deref(), Some("export default 1"));
        }
    }

    #[test]
    fn what_cannot_be_told_from_ours_stays_known_and_is_said() {
        let longer = |text: &str| format!("{text}\nexport const more = 1\n");
        let broken = |text: &str| text.replacen('{', "", 1);
        let elsewhere = |text: &str| text.replacen("\"hooks\"", "\"hooks_off\"", 1);
        let cases: [(Host, Touch<'_>); 3] =
            [(Host::OpenCode, &longer), (Host::CopilotCli, &broken), (Host::CopilotCli, &elsewhere)];
        for (host, touch) in cases {
            let (left, outcome, ledger) = uninstalled(host, touch);
            assert!(is_left(&outcome, "stays") && outcome.remains(), "{outcome:?}");
            assert!(left.unwrap().contains(PROGRAM));
            assert_eq!(ledger.files[0].layers.len(), 1);
            // Another uninstall, once somebody has mended it, is the end of it; until then nothing is deleted.
            let path = ledger.files[0].path.clone();
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let out = Out { project: "/p".into(), all: true, hosts: vec![], forget: false };
            let again = |ledger: &Ledger| undo(&Modules { hosts: vec![] }, ledger, &out);
            std::fs::write(&path, touch(&bir_hosts::hooks(host, PROGRAM).unwrap().text)).unwrap();
            let plan = again(&ledger);
            assert!(plan.operation.changes.is_empty() && !plan.operation.ledger.is_empty());
            std::fs::remove_file(&path).unwrap();
            let plan = again(&plan.operation.ledger);
            assert!(plan.operation.ledger.is_empty() && !plan.hooks[0].outcome.remains());
            std::fs::remove_dir(path.parent().unwrap()).unwrap();
        }
    }
}
