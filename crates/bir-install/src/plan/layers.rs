//! What a plan does to one file for one project, as the ledger keeps it.

use super::secrets::Secrets;
use super::sheet::{Desk, Sheet, missing_dirs};
use crate::delta::Delta;
use crate::delta::private::comments;
use crate::ledger::{EntryRecord, FileRecord, Hash, HookRecord, Layer, Ledger, SetRecord};
use bir_hosts::config::{ConfigFile, Refusal, Scope};
use bir_model::{Edit, Place};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Changes that belong together.
#[derive(Debug)]
pub(crate) struct Action {
    pub(crate) file: ConfigFile,
    pub(crate) what: What,
    /// Which line of the plan it is.
    pub(crate) line: Line,
}

/// A line of a plan, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Server(usize),
    Hooks(usize),
}

/// What an action does.
#[derive(Debug)]
pub(crate) enum What {
    /// Edits, and what is remembered of them.
    Edits { edits: Vec<Edit>, entry: Option<EntryRecord>, hooks: Vec<HookRecord> },
    /// A file that is ours alone, whole.
    Own(String),
}

impl What {
    fn edits(&self) -> &[Edit] {
        match self {
            Self::Edits { edits, .. } => edits,
            Self::Own(_) => &[],
        }
    }
}

/// The layer of one group of actions, as it comes.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) entries: Vec<EntryRecord>,
    pub(crate) hooks: Vec<HookRecord>,
    pub(crate) set: Vec<SetRecord>,
    pub(crate) made: Vec<Place>,
    /// The way back, where it was looked for already.
    back: Option<WayBack>,
}

/// From one text to the one before it.
#[derive(Debug)]
enum WayBack {
    Known(Delta),
    /// There was no text, or it is the same.
    NotNeeded,
    /// There is none without a value that may be kept nowhere.
    None,
}

/// Where a layer belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner<'o> {
    pub(crate) host: &'o str,
    pub(crate) project: &'o Path,
    /// ms since the Unix epoch.
    pub(crate) now: u64,
}

/// A text, and what it says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'t> {
    pub(crate) bytes: Option<&'t [u8]>,
    pub(crate) value: &'t Value,
}

impl Draft {
    /// An action whose edits have been carried out.
    fn add(&mut self, sheet: &mut Sheet, action: Action) {
        match action.what {
            What::Own(text) => sheet.replace_own(Some(text.into_bytes())),
            What::Edits { entry, hooks, .. } => {
                self.entries.extend(entry);
                self.hooks.extend(hooks);
            }
        }
    }

    /// The layer between two texts.
    pub(crate) fn layer(
        self,
        project: Option<PathBuf>,
        now: u64,
        before: Text<'_>,
        after: Text<'_>,
        secrets: &Secrets,
    ) -> Option<Layer> {
        let new = after.bytes?;
        let back = match self.back {
            Some(WayBack::Known(delta)) => Some(delta),
            Some(WayBack::None) => None,
            Some(WayBack::NotNeeded) | None => before
                .bytes
                .and_then(|old| Delta::between(new, old, &both(secrets, before.value, after.value))),
        };
        // What stands in an entry of ours is its memo's affair.
        let within = |place: &Place| self.entries.iter().any(|entry| place.0.starts_with(&entry.place.0));
        let mut made: Vec<Place> = Vec::new();
        for place in self.made {
            if !within(&place) && !made.contains(&place) && place.of(after.value).is_some() {
                made.push(place);
            }
        }
        Some(Layer {
            project,
            at: now,
            before: before.bytes.map(Hash::of),
            after: Hash::of(new),
            back,
            entries: self.entries,
            hooks: self.hooks,
            set: self.set,
            made,
        })
    }
}

/// The credentials of a file before and after.
pub(crate) fn both(secrets: &Secrets, before: &Value, after: &Value) -> Vec<String> {
    let mut all = secrets.of(before);
    for secret in secrets.of(after) {
        if !all.contains(&secret) {
            all.push(secret);
        }
    }
    all.sort_by_key(|text| std::cmp::Reverse(text.len()));
    all
}

/// Puts a layer into the ledger.
pub(crate) fn push(
    ledger: &mut Ledger,
    host: &str,
    file: &ConfigFile,
    made_dirs: Vec<PathBuf>,
    layer: Layer,
) {
    let same = |record: &&mut FileRecord| record.path == file.path && record.host == host;
    if let Some(record) = ledger.files.iter_mut().find(same) {
        for dir in made_dirs {
            if !record.made_dirs.contains(&dir) {
                record.made_dirs.push(dir);
            }
        }
        record.layers.push(layer);
        return;
    }
    ledger.files.push(FileRecord {
        path: file.path.clone(),
        host: host.into(),
        scope: file.scope,
        format: file.format,
        role: file.role,
        made_dirs,
        layers: vec![layer],
    });
}

/// Takes an entry out of the layers of a file, which the newest one has taken out of the file. Where one of them has no way back byte by byte,
/// the newest has none either: it would bring the entry back, and nobody would know of it.
pub(crate) fn forget(ledger: &mut Ledger, host: &str, path: &Path, entry: &EntryRecord) {
    let records = ledger.files.iter_mut().filter(|record| record.path == path && record.host == host);
    for record in records {
        let is_it = |other: &EntryRecord| super::held::same_place(other, entry);
        let mut has_no_way = false;
        for layer in record.layers.iter_mut().filter(|layer| layer.entries.iter().any(is_it)) {
            layer.entries.retain(|other| !is_it(other));
            has_no_way |= layer.back.is_none();
        }
        if let Some(newest) = record.layers.last_mut().filter(|_| has_no_way) {
            newest.back = None;
        }
    }
}

/// Carries edits out, if no comment is lost with them: what stands in a comment may be a credential that is kept nowhere else, so the ledger
/// cannot keep it either.
fn edit_with_comments(sheet: &mut Sheet, edits: &[Edit]) -> Result<Vec<Place>, Refusal> {
    let text = |sheet: &Sheet| String::from_utf8_lossy(sheet.now.as_deref().unwrap_or_default()).into_owned();
    let old = text(sheet);
    let made = sheet.edit(edits).map_err(|why| Refusal { code: "file", why })?;
    let new = text(sheet);
    let count = |of: &str, comment: &str| of.matches(comment).count();
    let is_lost = |comment: &str| count(&new, comment) < count(&old, comment);
    if old == new || !comments(&old).into_iter().any(|at| is_lost(&old[at])) {
        return Ok(made);
    }
    let before = old.into_bytes();
    sheet.replace(Some(before));
    let why = "comments stand beside its address or within its headers, and would be lost; put them above the entry, then install again";
    Err(Refusal { code: "comments", why: why.into() })
}

/// For which project a file of a scope counts.
pub(crate) fn project_of(scope: Scope, project: &Path) -> Option<PathBuf> {
    (!super::held::is_of_user(scope)).then(|| project.to_path_buf())
}

/// A file before a group of actions.
struct Old {
    bytes: Option<Vec<u8>>,
    value: Value,
}

impl Old {
    /// What stands on the sheet, led back to it byte for byte.
    fn way_back(&self, sheet: &Sheet, secrets: &Secrets) -> WayBack {
        let (Some(old), Some(new)) = (&self.bytes, &sheet.now) else { return WayBack::NotNeeded };
        if old == new {
            return WayBack::NotNeeded;
        }
        let back = Delta::between(new, old, &both(secrets, &self.value, sheet.value()));
        back.map_or(WayBack::None, WayBack::Known)
    }
}

/// Whether an action wraps what the ledger does not know as wrapped: what it knows has lost its way back already, or keeps it.
fn is_new(ledger: &Ledger, host: &str, action: &Action) -> bool {
    let What::Edits { entry: Some(entry), .. } = &action.what else { return false };
    let records = ledger.files.iter().filter(|record| record.path == action.file.path && record.host == host);
    let mut known = records.flat_map(|record| &record.layers).flat_map(|layer| &layer.entries);
    !known.any(|known| super::held::same_place(known, entry))
}

/// The actions of one file as they are carried out.
struct Work<'w, F> {
    sheet: &'w mut Sheet,
    old: Old,
    secrets: &'w Secrets,
    is_new: F,
    draft: Draft,
    /// Nothing is new, or what was done so far has no way back and nothing that is new is to be blamed for that.
    unchecked: bool,
    failed: Vec<(Line, Refusal)>,
}

impl<F: Fn(&Action) -> bool> Work<'_, F> {
    /// All at once, since each look at a large file costs; where that cannot be done, in halves. An entry that would take the way back from
    /// the whole file, byte for byte, is left alone: what is spelled in a way that the wrapped file does not tell would come back in
    /// another, and with it everything else.
    fn carry_out(&mut self, mut group: Vec<Action>) {
        let before = self.sheet.now.clone();
        let edits: Vec<Edit> = group.iter().flat_map(|action| action.what.edits()).cloned().collect();
        let done = edit_with_comments(self.sheet, &edits).and_then(|made| self.with_way_back(&group, made));
        match done {
            Ok((made, back)) => {
                self.draft.made.extend(made);
                self.draft.back = back;
                group.into_iter().for_each(|action| self.draft.add(self.sheet, action));
            }
            Err(why) => {
                self.sheet.replace(before);
                if group.len() > 1 {
                    let rest = group.split_off(group.len() / 2);
                    self.carry_out(group);
                    self.carry_out(rest);
                } else {
                    self.failed.extend(group.into_iter().map(|action| (action.line, why.clone())));
                }
            }
        }
    }

    fn with_way_back(
        &mut self,
        group: &[Action],
        made: Vec<Place>,
    ) -> Result<(Vec<Place>, Option<WayBack>), Refusal> {
        let has_new = group.iter().any(&self.is_new);
        if self.unchecked {
            return Ok((made, None));
        }
        let back = self.old.way_back(self.sheet, self.secrets);
        if matches!(back, WayBack::None) {
            if has_new {
                let why = "how one of its values is written would not come back byte for byte; write it plainly (on one line, without unusual escapes), then install again";
                return Err(Refusal { code: "spelling", why: why.into() });
            }
            self.unchecked = true;
        }
        Ok((made, Some(back)))
    }
}

/// Carries a host's actions out on the desk, a layer for each file and scope; what could not be done is told by its line.
pub(crate) fn carry_out(
    desk: &mut Desk,
    ledger: &mut Ledger,
    owner: Owner<'_>,
    actions: Vec<Action>,
    secrets: &Secrets,
) -> Vec<(Line, Refusal)> {
    let mut failed = Vec::new();
    let mut groups: Vec<(ConfigFile, Vec<Action>)> = Vec::new();
    for action in actions {
        let same = |(file, _): &&mut (ConfigFile, Vec<Action>)| {
            file.path == action.file.path && file.scope == action.file.scope
        };
        match groups.iter_mut().find(same) {
            Some((_, group)) => group.push(action),
            None => groups.push((action.file.clone(), vec![action])),
        }
    }
    for (file, group) in groups {
        let sheet = desk.sheet(&file);
        let old = Old { bytes: sheet.now.clone(), value: sheet.value().clone() };
        let is_new = |action: &Action| is_new(ledger, owner.host, action);
        let (draft, unchecked, none) = (Draft::default(), !group.iter().any(is_new), Vec::new());
        let mut work = Work { sheet: &mut *sheet, old, secrets, is_new, draft, unchecked, failed: none };
        work.carry_out(group);
        failed.append(&mut work.failed);
        let (draft, Old { bytes: old, value: old_value }) = (work.draft, work.old);
        // What stood there already and was in no ledger is taken into it.
        let is_adopted = sheet.now == old;
        if is_adopted && draft.entries.is_empty() && draft.hooks.is_empty() {
            continue;
        }
        for proxy in
            draft.entries.iter().filter_map(|entry| super::held::proxy_of(entry.place.of(sheet.value())?))
        {
            if !ledger.proxies.iter().any(|known| known == proxy) {
                ledger.proxies.push(proxy.to_owned());
            }
        }
        let before = Text { bytes: old.as_deref(), value: &old_value };
        let after = Text { bytes: sheet.now.as_deref(), value: sheet.value() };
        let made_dirs = if old.is_none() { missing_dirs(&file.path) } else { Vec::new() };
        if let Some(mut layer) =
            draft.layer(project_of(file.scope, owner.project), owner.now, before, after, secrets)
        {
            if is_adopted {
                // The text before it holds ours as well.
                layer.back = None;
            }
            push(ledger, owner.host, &file, made_dirs, layer);
        }
    }
    failed
}
