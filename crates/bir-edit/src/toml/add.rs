//! Where a new member goes, and how it is written: as its neighbours are.

use bir_model::{Place, Step};
use serde_json::{Map, Value};

use super::layout::{Found, Kind, Layout, Shape, Statement};
use super::write;
use crate::EditError;
use crate::splice::{Splice, blank, indentation, line_end, line_start, next_line};

/// Adds what is not there, and the tables above it.
pub(super) fn member(
    text: &str,
    layout: &Layout,
    at: &Place,
    value: &Value,
) -> Result<Vec<Splice>, EditError> {
    let mut depth = at.0.len().saturating_sub(1);
    while matches!(layout.find(&Place(at.0.get(..depth).unwrap_or_default().to_vec())), Found::Nothing) {
        depth = depth.checked_sub(1).ok_or(EditError::Unfaithful)?;
    }
    let (holder, rest) = at.0.split_at(depth);
    let holder = Place(holder.to_vec());
    let mut value = value.clone();
    for step in rest.iter().skip(1).rev() {
        let Step::Key(key) = step else { return Err(no_element()) };
        value = Value::Object(Map::from_iter([(key.clone(), value)]));
    }
    let Some(Step::Key(name)) = rest.first() else { return Err(no_element()) };
    match layout.find(&holder) {
        Found::Table => Ok(vec![to_table(text, layout, &holder, name, &value)?]),
        Found::Value(node) if matches!(node.shape, Shape::Table(_)) => {
            Ok(node.flow().push(text, &write::pair(name, &value)?, " "))
        }
        Found::Dotted => {
            Err(EditError::Place("an inline table with dotted keys takes no new members".to_owned()))
        }
        _ => Err(EditError::Place(format!("there is no table to hold `{name}`"))),
    }
}

fn no_element() -> EditError {
    EditError::Place("there is no such element".to_owned())
}

/// Adds a table behind the last one of an array of tables.
pub(super) fn element(text: &str, layout: &Layout, to: &Place, value: &Value) -> Result<Splice, EditError> {
    let section = write::sections(to, &Value::Array(vec![value.clone()]))?;
    Ok(place_section(text, layout, to, section))
}

fn to_table(
    text: &str,
    layout: &Layout,
    holder: &Place,
    name: &str,
    value: &Value,
) -> Result<Splice, EditError> {
    let header = layout.header(holder);
    let headers = layout.below(holder).any(|(_, statement)| matches!(statement.kind, Kind::Header));
    let dots = layout
        .below(holder)
        .any(|(_, s)| matches!(s.kind, Kind::Pair { above, .. } if above < holder.0.len()));
    if dots && !(headers && write::is_sections(value)) {
        return dotted(text, layout, holder, name, value);
    }
    if write::is_sections(value) && !inline_neighbours(layout, holder) {
        let section = write::sections(&holder.key(name), value)?;
        return Ok(place_section(text, layout, holder, section));
    }
    let pair = write::pair(name, value)?;
    match header {
        Some(header) => Ok(below_header(text, layout, header, &pair)),
        None if holder.0.is_empty() => Ok(at_the_top(text, layout, &pair)),
        None => {
            // Only its parts have headers; it gets its own before the first of them.
            let first = layout.below(holder).find(|(_, s)| matches!(s.kind, Kind::Header));
            let at = first.map_or(text.len(), |(index, _)| block_start(text, layout, index));
            Ok(Splice::insert(at, format!("{}\n{pair}\n\n", write::header(holder, false))))
        }
    }
}

/// Whether the tables beside are written inline, and none with a header.
fn inline_neighbours(layout: &Layout, holder: &Place) -> bool {
    let mut inline = false;
    for (_, statement) in layout.below(holder) {
        match &statement.kind {
            Kind::Header if statement.place.0.len() > holder.0.len() => return false,
            Kind::Pair { pair, .. } if statement.place.0.len() == holder.0.len() + 1 => {
                inline = inline || matches!(pair.value.shape, Shape::Table(_));
            }
            _ => {}
        }
    }
    inline
}

/// `a.b.new = value` below the last `a.b.…`, with the same beginning.
fn dotted(
    text: &str,
    layout: &Layout,
    holder: &Place,
    name: &str,
    value: &Value,
) -> Result<Splice, EditError> {
    let mut pairs = layout.below(holder).filter_map(|(_, statement)| match &statement.kind {
        Kind::Pair { pair, above } => Some((statement, pair, *above)),
        Kind::Header => None,
    });
    let (statement, pair, above) = pairs.next_back().ok_or(EditError::Unfaithful)?;
    let keys = pair.keys.get(..holder.0.len().saturating_sub(above)).unwrap_or_default();
    let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Err(EditError::Unfaithful) };
    let above = text.get(first.span.start..last.span.end).ok_or(EditError::Unfaithful)?;
    Ok(after_line(text, statement, &format!("{above}.{}", write::pair(name, value)?)))
}

/// Behind the last pair of a section, or its header.
fn below_header(text: &str, layout: &Layout, header: usize, pair: &str) -> Splice {
    let section = layout.statements.iter().skip(header + 1).take_while(|s| !matches!(s.kind, Kind::Header));
    match section.last().or_else(|| layout.statements.get(header)) {
        Some(last) => after_line(text, last, pair),
        None => Splice::insert(text.len(), pair),
    }
}

fn after_line(text: &str, statement: &Statement, line: &str) -> Splice {
    let indentation = indentation(text, statement.lines.start);
    let at = statement.lines.end;
    if text.get(..at).is_some_and(|before| before.ends_with('\n')) {
        Splice::insert(at, format!("{indentation}{line}\n"))
    } else {
        Splice::insert(at, format!("\n{indentation}{line}"))
    }
}

/// Behind the last pair that stands before all headers.
fn at_the_top(text: &str, layout: &Layout, pair: &str) -> Splice {
    let top = layout.statements.iter().take_while(|s| !matches!(s.kind, Kind::Header)).last();
    match (top, layout.statements.is_empty()) {
        (Some(last), _) => after_line(text, last, pair),
        (None, false) => Splice::insert(block_start(text, layout, 0), format!("{pair}\n\n")),
        (None, true) if text.is_empty() || text.ends_with('\n') => {
            Splice::insert(text.len(), format!("{pair}\n"))
        }
        (None, true) => Splice::insert(text.len(), format!("\n{pair}")),
    }
}

/// Behind everything that belongs to the holder; at the end of the file behind what comes there too.
fn place_section(text: &str, layout: &Layout, holder: &Place, section: String) -> Splice {
    let last = layout.below(holder).next_back();
    let at = match last {
        Some((index, last)) if index + 1 < layout.statements.len() => {
            past_comments(text, layout, index, last)
        }
        _ => text.len(),
    };
    let before = text.get(..at).unwrap_or_default();
    if before.is_empty() {
        return Splice::insert(at, section);
    }
    if before.ends_with('\n') {
        return Splice::insert(at, format!("\n{section}"));
    }
    Splice::insert(at, format!("\n\n{}", section.trim_end_matches('\n')))
}

/// Behind comments that directly follow a statement, unless they belong to the header that they lead to.
fn past_comments(text: &str, layout: &Layout, index: usize, statement: &Statement) -> usize {
    let end = layout.statements.get(index + 1).map_or(text.len(), |_| block_start(text, layout, index + 1));
    let mut at = statement.lines.end;
    while at < end && is_comment(text, at) {
        at = next_line(text, at);
    }
    at
}

/// Where the comments begin that stand directly above a statement. Those that begin the file are about the file.
pub(super) fn block_start(text: &str, layout: &Layout, index: usize) -> usize {
    let Some(statement) = layout.statements.get(index) else { return text.len() };
    let floor = index.checked_sub(1).and_then(|i| layout.statements.get(i)).map_or(0, |s| s.lines.end);
    let mut at = statement.lines.start;
    while at > floor && is_comment(text, line_start(text, at - 1)) {
        at = line_start(text, at - 1);
    }
    if at == 0 { statement.lines.start } else { at }
}

fn is_comment(text: &str, start: usize) -> bool {
    let line = start..line_end(text, start);
    !blank(text, line.clone()) && text.get(line).is_some_and(|line| line.trim_start().starts_with('#'))
}
