//! The splices of an edit. Lines are the unit in blocks, brackets have [`Flow`].

use bir_model::Step;
use granit_parser::ScalarStyle;
use serde_json::{Map, Value};

use super::tree::{Item, Kind, Member, Node, Tree};
use super::walk::{Holder, Slot, Walk, refuse_below, refused};
use super::write::{self, Layout};
use crate::EditError;
use crate::flow::Flow;
use crate::splice::{Splice, blank, line_end, line_start, next_line};

/// Adds what is not there, and the mappings above it.
pub(super) fn add(text: &str, tree: &Tree, walk: &Walk<'_>, value: &Value) -> Result<Vec<Splice>, EditError> {
    let mut value = value.clone();
    for step in walk.rest.iter().skip(1).rev() {
        let Step::Key(key) = step else { return Err(refused("there is no such element")) };
        value = Value::Object(Map::from_iter([(key.clone(), value)]));
    }
    let first = walk.rest.first().ok_or(EditError::Unfaithful)?;
    let Some(slot) = walk.slots.last() else {
        return match first {
            Step::Key(key) => Ok(vec![into_nothing(text, tree, &object(key, value))]),
            Step::Index(_) => Err(refused("there is no such element")),
        };
    };
    let node = tree.node(slot.node)?;
    match (&node.kind, first) {
        (Kind::Mapping { flow: false, members }, Step::Key(key)) => {
            let column = column(text, members.first().map_or(node.start, |member| member.start))?;
            let layout = layout(text, tree, Some(node));
            let member = write::member(key, &value, column, layout);
            Ok(vec![new_line(text, node.end, column, &member)])
        }
        (Kind::Mapping { flow: true, members }, Step::Key(key)) if !members.is_empty() => {
            let pair = write::pair(key, &value, quotes(tree, members));
            Ok(flow_of(text, tree, node)?.push(text, &pair, ""))
        }
        (kind, Step::Key(key)) if is_nothing(kind) => put(text, tree, slot, &object(key, value)),
        (_, Step::Key(key)) => Err(EditError::Place(format!("there is no mapping to hold `{key}`"))),
        (_, Step::Index(_)) => Err(refused("there is no such element")),
    }
}

/// Adds an item to a sequence.
pub(super) fn push(text: &str, tree: &Tree, slot: &Slot, value: &Value) -> Result<Vec<Splice>, EditError> {
    let node = tree.node(slot.node)?;
    if matches!(node.kind, Kind::Alias) {
        return Err(refused("an alias (`*`) stands at the place"));
    }
    refuse_below(tree, slot.node)?;
    match &node.kind {
        Kind::Sequence { flow: false, items } => {
            let column = column(text, items.first().map_or(node.start, |item| item.dash))?;
            let item = write::item(value, column, layout(text, tree, None));
            Ok(vec![new_line(text, node.end, column, &item)])
        }
        Kind::Sequence { flow: true, items } if !items.is_empty() => {
            let quoted = items.iter().all(|item| is_double(tree, item.node));
            Ok(flow_of(text, tree, node)?.push(text, &write::flow(value, quoted), ""))
        }
        kind if is_nothing(kind) || matches!(kind, Kind::Sequence { .. }) => {
            put(text, tree, slot, &Value::Array(vec![value.clone()]))
        }
        _ => Err(refused("there is no sequence at the place")),
    }
}

/// Puts items before one of a sequence, or behind the last one.
pub(super) fn insert(
    text: &str,
    tree: &Tree,
    slot: &Slot,
    at: usize,
    values: &[Value],
) -> Result<Vec<Splice>, EditError> {
    let node = tree.node(slot.node)?;
    if matches!(node.kind, Kind::Alias) {
        return Err(refused("an alias (`*`) stands at the place"));
    }
    refuse_below(tree, slot.node)?;
    match &node.kind {
        _ if values.is_empty() => Ok(Vec::new()),
        Kind::Sequence { flow: false, items } => {
            let column = column(text, items.first().map_or(node.start, |item| item.dash))?;
            let layout = layout(text, tree, None);
            let lines = values.iter().map(|value| write::item(value, column, layout));
            let indentation = " ".repeat(column);
            Ok(vec![match items.get(at) {
                Some(next) => Splice::insert(
                    next.dash,
                    lines.map(|line| format!("{line}\n{indentation}")).collect::<String>(),
                ),
                None => Splice::insert(
                    line_end(text, node.end),
                    lines.map(|line| format!("\n{indentation}{line}")).collect::<String>(),
                ),
            }])
        }
        Kind::Sequence { flow: true, items } if !items.is_empty() => {
            let quoted = items.iter().all(|item| is_double(tree, item.node));
            let items: Vec<String> = values.iter().map(|value| write::flow(value, quoted)).collect();
            Ok(flow_of(text, tree, node)?.insert(text, at, &items))
        }
        kind if is_nothing(kind) || matches!(kind, Kind::Sequence { .. }) => {
            put(text, tree, slot, &values.to_vec().into())
        }
        _ => Err(refused("there is no sequence at the place")),
    }
}

/// Takes items away up to where the one behind them begins. None: none stands behind them, or a comment stands between.
pub(super) fn cut(
    text: &str,
    tree: &Tree,
    slot: &Slot,
    at: usize,
    count: usize,
) -> Result<Option<Splice>, EditError> {
    refuse_below(tree, slot.node)?;
    let node = tree.node(slot.node)?;
    let Kind::Sequence { flow, items } = &node.kind else {
        return Err(refused("there is no sequence at the place"));
    };
    if *flow {
        return Ok(flow_of(text, tree, node)?.cut(text, at, count));
    }
    let Some(run) = at.checked_add(count).and_then(|end| items.get(at..=end)) else { return Ok(None) };
    for pair in run.windows(2) {
        if !blank(text, tree.node(pair[0].node)?.end..pair[1].dash) {
            return Ok(None);
        }
    }
    Ok(Some(Splice::cut(run[0].dash..run[count].dash)))
}

/// Puts a value in the place of a node.
pub(super) fn put(text: &str, tree: &Tree, slot: &Slot, value: &Value) -> Result<Vec<Splice>, EditError> {
    refuse_below(tree, slot.node)?;
    let node = tree.node(slot.node)?;
    let behind = slot.behind;
    let in_brackets =
        matches!(node.kind, Kind::Mapping { flow: true, .. } | Kind::Sequence { flow: true, .. });
    let in_block =
        matches!(node.kind, Kind::Mapping { flow: false, .. } | Kind::Sequence { flow: false, .. });
    let same_line = !text.get(behind..node.start).unwrap_or_default().contains('\n');
    let inside_flow = matches!(slot.holder, Holder::Flow { .. });
    if inside_flow || !write::is_block(value) || (in_brackets && !is_nothing(&node.kind)) {
        let inline = inline(text, tree, node, value)?;
        return Ok(match (&node.kind, slot.holder) {
            (Kind::Empty, Holder::Flow { bare: true }) => vec![Splice::insert(behind, format!(": {inline}"))],
            (Kind::Empty, _) => vec![Splice::insert(node.end, format!(" {inline}"))],
            (_, Holder::Document) => vec![Splice::replace(node.start..node.end, inline)],
            _ if in_block && same_line => vec![Splice::replace(behind..node.end, format!(" {inline}"))],
            _ if in_block => vec![
                Splice::insert(behind, format!(" {inline}")),
                Splice::cut(line_end(text, behind)..node.end),
            ],
            _ => vec![Splice::replace(node.start..node.end, inline)],
        });
    }
    let layout = layout(text, tree, None);
    let bare = node.anchor.is_none() && text.get(node.start..).is_some_and(|rest| rest.starts_with('-'));
    if matches!(node.kind, Kind::Sequence { flow: false, .. }) && value.is_array() && bare {
        let block = write::block(value, column(text, node.start)?, layout);
        return Ok(vec![Splice::replace(node.start..node.end, block)]);
    }
    match slot.holder {
        Holder::Member(start) => {
            let below = write::below(value, column(text, start)?, layout);
            Ok(match node.kind {
                Kind::Empty => vec![Splice::insert(line_end(text, node.end), below)],
                _ if in_block && same_line => vec![Splice::replace(behind..node.end, below)],
                _ if in_block => vec![Splice::replace(line_end(text, behind)..node.end, below)],
                _ if same_line => {
                    vec![Splice::cut(behind..node.end), Splice::insert(line_end(text, node.end), below)]
                }
                _ => {
                    let block = write::block(value, column(text, node.start)?, layout);
                    vec![Splice::replace(node.start..node.end, block)]
                }
            })
        }
        Holder::Item(dash) => {
            let block = write::block(value, column(text, dash)? + 2, layout);
            Ok(vec![Splice::replace(behind..node.end, format!(" {block}"))])
        }
        Holder::Document if is_nothing(&node.kind) && node.start < node.end => {
            let line = if blank(text, line_start(text, node.start)..node.start) { "" } else { "\n" };
            Ok(vec![Splice::replace(
                node.start..node.end,
                format!("{line}{}", write::block(value, 0, layout)),
            )])
        }
        Holder::Document if is_nothing(&node.kind) => Ok(vec![into_nothing(text, tree, value)]),
        _ => Err(EditError::Unfaithful),
    }
}

/// Takes a member or an item away. What held it and holds nothing now is written `{}` or `[]`.
pub(super) fn remove(text: &str, tree: &Tree, walk: &Walk<'_>) -> Result<Vec<Splice>, EditError> {
    let [.., holder, slot] = walk.slots.as_slice() else {
        return Err(refused("there is nothing at the place"));
    };
    if !walk.rest.is_empty() {
        return Err(refused("there is nothing at the place"));
    }
    if tree.is_shared(slot.node, true) {
        return Err(refused("an alias elsewhere stands for what is to be changed"));
    }
    let node = tree.node(holder.node)?;
    let (starts, end): (Vec<usize>, usize) = match &node.kind {
        Kind::Mapping { flow: true, .. } | Kind::Sequence { flow: true, .. } => {
            return Ok(flow_of(text, tree, node)?.remove(text, walk.index));
        }
        Kind::Mapping { members, .. } => {
            (members.iter().map(|m| m.start).collect(), tree.node(slot.node)?.end)
        }
        Kind::Sequence { items, .. } => (items.iter().map(|i| i.dash).collect(), tree.node(slot.node)?.end),
        _ => return Err(EditError::Unfaithful),
    };
    let start = *starts.get(walk.index).ok_or(EditError::Unfaithful)?;
    let alone = blank(text, line_start(text, start)..start);
    if let [_] = starts.as_slice() {
        return match (&node.kind, holder.holder) {
            (Kind::Mapping { .. }, Holder::Document) if alone => Ok(vec![lines(text, start, end)]),
            (Kind::Mapping { .. }, _) => put(text, tree, holder, &Value::Object(Map::new())),
            _ => put(text, tree, holder, &Value::Array(Vec::new())),
        };
    }
    match starts.get(walk.index + 1) {
        Some(next) if !alone => Ok(vec![Splice::cut(start..*next)]),
        _ if alone => Ok(vec![lines(text, start, end)]),
        _ => Err(EditError::Unfaithful),
    }
}

/// Whole lines; at the end of a text without a last line feed, that of the line above instead of their own.
fn lines(text: &str, start: usize, end: usize) -> Splice {
    let (start, end) = (line_start(text, start), next_line(text, end));
    let unended = end == text.len() && !text.ends_with('\n');
    Splice::cut(if unended { start.saturating_sub(1) } else { start }..end)
}

/// The first content of a document, behind its comments.
fn into_nothing(text: &str, tree: &Tree, value: &Value) -> Splice {
    let block = write::block(value, 0, layout(text, tree, None));
    match text.get(..tree.end) {
        Some(before) if !before.is_empty() && !before.ends_with('\n') => {
            Splice::insert(tree.end, format!("\n{block}"))
        }
        _ => Splice::insert(tree.end, format!("{block}\n")),
    }
}

/// A line of its own below what ends here.
fn new_line(text: &str, end: usize, column: usize, line: &str) -> Splice {
    Splice::insert(line_end(text, end), format!("\n{}{line}", " ".repeat(column)))
}

/// A value on one line, in the style of what stood there; an array in brackets keeps a line for each item.
fn inline(text: &str, tree: &Tree, old: &Node, value: &Value) -> Result<String, EditError> {
    match (&old.kind, value) {
        (Kind::Scalar { style: ScalarStyle::DoubleQuoted, .. }, Value::String(new)) => {
            Ok(write::string(new, true))
        }
        (Kind::Scalar { style: ScalarStyle::SingleQuoted, .. }, Value::String(new)) => {
            Ok(write::single(new).unwrap_or_else(|| write::string(new, true)))
        }
        (Kind::Sequence { flow: true, items }, Value::Array(values)) if !items.is_empty() => {
            let quoted = items.iter().all(|item| is_double(tree, item.node));
            let values: Vec<String> = values.iter().map(|value| write::flow(value, quoted)).collect();
            let tall = flow_of(text, tree, old)?.rewritten(text, &values);
            Ok(tall.map_or_else(|| format!("[{}]", values.join(", ")), |tall| format!("[{tall}]")))
        }
        (Kind::Mapping { flow: true, members }, value) => Ok(write::flow(value, quotes(tree, members))),
        (_, value) => Ok(write::flow(value, false)),
    }
}

/// Whether the keys are written as JSON has them.
fn quotes(tree: &Tree, members: &[Member]) -> bool {
    !members.is_empty() && members.iter().all(|member| is_double(tree, member.key))
}

fn is_double(tree: &Tree, id: usize) -> bool {
    let kind = tree.node(id).map(|node| &node.kind);
    matches!(kind, Ok(Kind::Scalar { style: ScalarStyle::DoubleQuoted, .. }))
}

/// Whether a node is null, or a collection in brackets without anything inside.
fn is_nothing(kind: &Kind) -> bool {
    match kind {
        Kind::Empty => true,
        Kind::Scalar { text, style } => {
            *style == ScalarStyle::Plain && matches!(text.as_str(), "~" | "null" | "Null" | "NULL")
        }
        Kind::Mapping { members, .. } => members.is_empty(),
        Kind::Sequence { items, .. } => items.is_empty(),
        Kind::Alias => false,
    }
}

fn flow_of(text: &str, tree: &Tree, node: &Node) -> Result<Flow, EditError> {
    let (items, open): (Result<Vec<_>, EditError>, _) = match &node.kind {
        Kind::Mapping { members, .. } => {
            let span = |m: &Member| Ok(m.start..tree.node(m.node)?.end.max(m.behind));
            (members.iter().map(span).collect(), '{')
        }
        Kind::Sequence { items, .. } => {
            let span = |item: &Item| tree.node(item.node).map(|node| node.start..node.end);
            (items.iter().map(span).collect(), '[')
        }
        _ => return Err(EditError::Unfaithful),
    };
    // An anchor or a tag may stand before the bracket.
    let open = text.get(node.start..).and_then(|rest| rest.find(open)).ok_or(EditError::Unfaithful)?;
    Ok(Flow { inside: node.start + open + 1..node.end.saturating_sub(1), items: items? })
}

fn object(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

/// The column of a byte, where only spaces and indicators stand before it.
fn column(text: &str, at: usize) -> Result<usize, EditError> {
    let before = text.get(line_start(text, at)..at).ok_or(EditError::Unfaithful)?;
    if before.contains('\t') {
        return Err(refused("a tab indents the place"));
    }
    Ok(before.chars().count())
}

/// How the file is laid out: told by what stands in the mapping, else by the first that stands anywhere.
fn layout(text: &str, tree: &Tree, near: Option<&Node>) -> Layout {
    let (mut step, mut dash) = (None, None);
    for node in near.into_iter().chain(tree.blocks()) {
        let Kind::Mapping { members, .. } = &node.kind else { continue };
        for member in members {
            let Ok(inner) = tree.node(member.node) else { continue };
            let below = text.get(member.behind..inner.start).is_some_and(|between| between.contains('\n'));
            let columns = || column(text, inner.start).ok()?.checked_sub(column(text, member.start).ok()?);
            match inner.kind {
                Kind::Mapping { flow: false, .. } if below => step = step.or_else(columns),
                Kind::Sequence { flow: false, .. } if below => dash = dash.or_else(columns),
                _ => {}
            }
        }
    }
    let step = step.filter(|step| *step > 0).unwrap_or(2);
    Layout { step, dash: dash.unwrap_or(step) }
}
