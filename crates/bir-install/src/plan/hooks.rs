//! What becomes of a host's hooks: appended behind those that are there, renewed in their places, or whole in a file that is ours alone.

use super::layers::{Action, Line, What};
use super::sheet::Desk;
use super::{HookLine, Outcome, Wish};
use crate::ledger::{FileRecord, Hash, HookRecord, Ledger};
use crate::survey::{HostSurvey, Module, name_of};
use crate::undo::hooks::within;
use bir_hosts::config::{ConfigFile, HookChange, Machine, Refusal, Role};
use bir_hosts::{Host, our_file, our_hook};
use bir_model::{Edit, Place, Step};
use serde_json::Value;
use std::path::Path;

/// The line of a host's hooks, and what is to be done. None: none are installed for it.
pub(crate) fn decide(
    config: Module<'_>,
    machine: &Machine<'_>,
    survey: &HostSurvey,
    desk: &mut Desk,
    wish: &Wish,
    ledger: &Ledger,
) -> Option<(HookLine, Option<Action>)> {
    let kind = survey.host?;
    let host = name_of(survey.host);
    let change = config.hooks(machine, &wish.project, wish.user, &wish.hooks_program)?;
    if let Some(refusal) = config.hooks_refused(machine, &survey.found) {
        let file = path_of(&change).path.clone();
        return Some((HookLine { host: host.into(), file, outcome: Outcome::Left(refusal) }, None));
    }
    // Those of the user count in every project: a second set would start each of them twice.
    if !wish.user
        && let Some(HookChange::Appended { file, .. } | HookChange::Own { file, .. }) =
            config.hooks(machine, &wish.project, true, &wish.hooks_program)
        && file.path != path_of(&change).path
        && stand(&file, desk, ledger, host)
    {
        let line = HookLine { host: host.into(), file: file.path, outcome: Outcome::Already };
        return Some((line, None));
    }
    let file = path_of(&change).clone();
    if wish.user
        && let Some((other, project)) = of_a_project(&file, desk, ledger, host)
    {
        let why = format!(
            "those of one project stand in {}, and each would run twice; run `bir uninstall {} --host {host}`, then `bir install --user --host {host}`",
            other.path.display(),
            quoted(project)
        );
        return Some((HookLine { host: host.into(), file: file.path, outcome: left("project", why) }, None));
    }
    let line = |outcome| HookLine { host: host.into(), file: file.path.clone(), outcome };
    let sheet = desk.sheet(&file);
    if let Some(why) = sheet.refused() {
        return Some((line(left("file", why.into())), None));
    }
    Some(match change {
        HookChange::Own { text, .. } => {
            match own(kind, sheet.now.as_deref(), &text, recorded(ledger, host, &file)) {
                Outcome::Already => (line(Outcome::Already), None),
                Outcome::Left(refusal) => (line(Outcome::Left(refusal)), None),
                outcome => (
                    line(outcome),
                    Some(Action { file: file.clone(), what: What::Own(text), line: Line::Hooks(0) }),
                ),
            }
        }
        HookChange::Appended { elements, .. } => {
            let ours: Vec<&HookRecord> = ledger
                .files
                .iter()
                .filter(|record| record.host == host && record.path == file.path)
                .flat_map(|record| record.layers.iter().flat_map(|layer| &layer.hooks))
                .collect();
            match appended(kind, sheet.value(), elements, &ours) {
                Err(refusal) => (line(Outcome::Left(refusal)), None),
                Ok((_, hooks, _)) if hooks.is_empty() => (line(Outcome::Already), None),
                Ok((edits, hooks, outcome)) => {
                    let what = What::Edits { edits, entry: None, hooks };
                    (line(outcome), Some(Action { file: file.clone(), what, line: Line::Hooks(0) }))
                }
            }
        }
    })
}

fn path_of(change: &HookChange) -> &ConfigFile {
    match change {
        HookChange::Own { file, .. } | HookChange::Appended { file, .. } => file,
    }
}

fn left(code: &'static str, why: String) -> Outcome {
    Outcome::Left(Refusal { code, why })
}

fn recorded<'l>(ledger: &'l Ledger, host: &str, file: &ConfigFile) -> Option<&'l FileRecord> {
    ledger
        .files
        .iter()
        .find(|record| record.host == host && record.path == file.path && record.role == Role::Own)
}

/// Whether hooks that the ledger knows stand in a file.
fn stand(file: &ConfigFile, desk: &mut Desk, ledger: &Ledger, host: &str) -> bool {
    let records = ledger.files.iter().filter(|record| record.host == host && record.path == file.path);
    let layers: Vec<_> = records.flat_map(|record| &record.layers).collect();
    let sheet = desk.sheet(file);
    let own = file.role == Role::Own
        && sheet.hash().is_some_and(|hash| layers.iter().any(|layer| layer.after == hash));
    let stands = |hook: &HookRecord| {
        hook.to.of(sheet.value()).and_then(Value::as_array).is_some_and(|all| all.contains(&hook.value))
    };
    own || layers.iter().any(|layer| layer.hooks.iter().any(&stands))
}

/// Another file in which hooks stand that were put there for one project, and which project that is.
fn of_a_project<'l>(
    file: &ConfigFile,
    desk: &mut Desk,
    ledger: &'l Ledger,
    host: &str,
) -> Option<(ConfigFile, &'l Path)> {
    let mut others = ledger.files.iter().filter(|record| record.host == host && record.path != file.path);
    others.find_map(|record| {
        let project = record.layers.iter().find_map(|layer| layer.project.as_deref())?;
        let other = ConfigFile {
            path: record.path.clone(),
            scope: record.scope,
            format: record.format,
            role: record.role,
        };
        stand(&other, desk, ledger, host).then_some((other, project))
    })
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || "/._-+~".contains(c));
    if is_plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// A file that is ours alone.
fn own(host: Host, now: Option<&[u8]>, text: &str, record: Option<&FileRecord>) -> Outcome {
    let Some(now) = now else { return Outcome::Wrapped };
    if now == text.as_bytes() {
        return Outcome::Already;
    }
    let written = record.and_then(|record| record.layers.last()).map(|layer| &layer.after);
    if written.is_some_and(|written| *written == Hash::of(now)) {
        return Outcome::Renewed;
    }
    // One that `bir hooks` printed stands in no ledger.
    let is_ours = std::str::from_utf8(now).is_ok_and(|text| our_file(host, text).is_some());
    if record.is_none() && is_ours {
        return Outcome::Renewed;
    }
    let why = if record.is_some() {
        "another program has changed it since it was written; remove it, then install again"
    } else {
        "there is a file of that name which is not ours; rename it, then install again"
    };
    left("foreign", why.into())
}

/// Why nothing can be appended to a list of a file: what stands there, or above it, is something else.
pub(crate) fn misshapen(document: &Value, to: &Place) -> Option<String> {
    let named = |depth: usize| {
        let keys = to.0.iter().take(depth).map(|step| match step {
            Step::Key(key) => key.clone(),
            Step::Index(at) => at.to_string(),
        });
        keys.collect::<Vec<_>>().join(".")
    };
    for depth in 0..=to.0.len() {
        let last = depth == to.0.len();
        match Place(to.0[..depth].to_vec()).of(document) {
            None | Some(Value::Null) => return None,
            Some(Value::Object(_)) if !last => {}
            Some(Value::Array(_)) if last => {}
            Some(_) if last => return Some(format!("what should hold hooks is no list ({})", named(depth))),
            Some(_) => return Some(format!("what should hold {} is not an object", named(depth + 1))),
        }
    }
    None
}

type Appended = (Vec<Edit>, Vec<HookRecord>, Outcome);

/// The edits for elements that are to stand in arrays. `ours`: those that we have put there before.
fn appended(
    host: Host,
    document: &Value,
    elements: Vec<(Place, Value)>,
    ours: &[&HookRecord],
) -> Result<Appended, Refusal> {
    let (mut edits, mut hooks, mut outcome) = (Vec::new(), Vec::new(), Outcome::Wrapped);
    let foreign = |why: &str| Refusal { code: "foreign", why: why.into() };
    let mut taken: Vec<(Place, usize)> = Vec::new();
    for (to, value) in elements {
        let there: &[Value] = match to.of(document) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) => items,
            Some(_) => {
                // As where the file as a whole is not what it should be.
                let why = misshapen(document, &to).unwrap_or_default();
                return Err(Refusal { code: "file", why });
            }
        };
        if there.contains(&value) {
            // The ledger may have been lost.
            if !ours.iter().any(|hook| hook.to == to) {
                hooks.push(HookRecord { to, value });
                outcome = Outcome::Renewed;
            }
            continue;
        }
        let is_free = |at: &usize| !taken.iter().any(|(place, index)| *place == to && index == at);
        // One of ours, as it was or as somebody has changed it: in the place of which nothing moves, and what else was changed stays.
        let older = ours.iter().filter(|hook| hook.to == to).find_map(|hook| {
            there.iter().enumerate().find(|(at, item)| **item == hook.value && is_free(at)).map(|(at, _)| at)
        });
        let changed = || {
            let mut all = there.iter().enumerate().filter(|(at, _)| is_free(at));
            all.find_map(|(at, item)| {
                let (inner, hook) = within(host, item).into_iter().next()?;
                Some((at, inner, hook))
            })
        };
        if let Some(at) = older {
            taken.push((to.clone(), at));
            outcome = Outcome::Renewed;
            edits.push(Edit::Set { at: to.index(at), value: value.clone() });
        } else if let Some((at, inner, hook)) = changed() {
            taken.push((to.clone(), at));
            let is_same = our_hook(host, &value).is_some_and(|new| new.program == hook.program);
            let is_recorded = ours.iter().any(|hook| hook.to == to);
            if is_same && is_recorded {
                continue;
            }
            if !is_same {
                let new = value.get("hooks").and_then(|hooks| hooks.get(0)).cloned().unwrap_or_default();
                edits.push(Edit::Set { at: to.index(at).key("hooks").index(inner), value: new });
            }
            outcome = Outcome::Renewed;
        } else if there.iter().any(|item| our_hook(host, item).is_some()) {
            return Err(foreign(
                "hooks of bir stand there in a form that is not known; take them out, then install again",
            ));
        } else {
            edits.push(Edit::Append { to: to.clone(), value: value.clone() });
        }
        hooks.push(HookRecord { to, value });
    }
    Ok((edits, hooks, outcome))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Layer;
    use bir_hosts::config::Scope;
    use bir_model::Format;
    use serde_json::json;

    const COPILOT: Host = Host::CopilotCli;

    fn element(program: &str) -> Value {
        json!({"hooks": [{"type": "command", "command": program, "args": ["hook", "Stop"]}]})
    }

    #[test]
    fn hooks_are_appended_once_and_renewed_where_they_stand() {
        let to = Place::keys(["hooks", "Stop"]);
        let (new, old, theirs) =
            (element("/new/bir-hooks"), element("/old/bir-hooks"), element("/usr/bin/say"));
        let run = |there: Vec<Value>, ours: &[&HookRecord]| {
            appended(
                Host::ClaudeCode,
                &json!({"hooks": {"Stop": there}}),
                vec![(to.clone(), new.clone())],
                ours,
            )
        };
        let (edits, hooks, outcome) = run(vec![theirs.clone()], &[]).unwrap();
        assert_eq!(edits, [Edit::Append { to: to.clone(), value: new.clone() }]);
        assert_eq!((hooks.len(), outcome), (1, Outcome::Wrapped));
        let (edits, hooks, _) = run(vec![new.clone(), theirs.clone()], &[]).unwrap();
        assert!(edits.is_empty() && hooks.len() == 1, "what no ledger knows is adopted");
        let known = HookRecord { to: to.clone(), value: new.clone() };
        let (edits, hooks, _) = run(vec![new.clone()], &[&known]).unwrap();
        assert!(edits.is_empty() && hooks.is_empty());
        let record = HookRecord { to: to.clone(), value: old.clone() };
        let (edits, _, outcome) = run(vec![old.clone(), theirs.clone()], &[&record]).unwrap();
        assert_eq!(edits, [Edit::Set { at: to.index(0), value: new.clone() }]);
        assert_eq!(outcome, Outcome::Renewed);
        let mut beside = old.clone();
        beside["matcher"] = json!("*");
        beside["hooks"].as_array_mut().unwrap().insert(0, theirs["hooks"][0].clone());
        for known in [&[][..], &[&record]] {
            let (edits, hooks, outcome) = run(vec![theirs.clone(), beside.clone()], known).unwrap();
            let at = to.index(1).key("hooks").index(1);
            assert_eq!(edits, [Edit::Set { at, value: new["hooks"][0].clone() }]);
            assert_eq!((hooks.len(), outcome), (1, Outcome::Renewed));
        }
        assert!(appended(Host::ClaudeCode, &json!({"hooks": {"Stop": {}}}), vec![(to, new)], &[]).is_err());
    }

    #[test]
    fn a_file_of_our_own_is_written_renewed_or_left() {
        let record = |written: &[u8]| FileRecord {
            path: "/h/bir.json".into(),
            host: "copilot-cli".into(),
            scope: Scope::User,
            format: Format::Json,
            role: Role::Own,
            made_dirs: vec![],
            layers: vec![Layer {
                project: None,
                at: 0,
                before: None,
                after: Hash::of(written),
                back: None,
                entries: vec![],
                hooks: vec![],
                set: vec![],
                made: vec![],
            }],
        };
        let older = bir_hosts::hooks(COPILOT, "/old/bir-hooks").unwrap().text;
        let older = older.as_bytes();
        assert_eq!(own(COPILOT, None, "new", None), Outcome::Wrapped);
        assert_eq!(own(COPILOT, Some(b"new"), "new", None), Outcome::Already);
        assert_eq!(own(COPILOT, Some(b"older"), "new", Some(&record(b"older"))), Outcome::Renewed);
        assert_eq!(own(COPILOT, Some(older), "new", None), Outcome::Renewed);
        for (now, record) in [(&b"theirs"[..], None), (older, Some(record(b"something else")))] {
            assert!(
                matches!(own(COPILOT, Some(now), "new", record.as_ref()), Outcome::Left(refusal) if refusal.code == "foreign")
            );
        }
    }
}
