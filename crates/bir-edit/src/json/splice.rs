//! Members and elements put into a JSON text, and taken out of it. Taking out is putting in backwards: what was put in
//! last leaves the bytes that were there before, except for white space inside of empty braces.
//!
//! ```text
//!  own line                     one line              with a comma behind the last
//!  {                            {"a": 1}              {
//!    "a": 1 ▸,◂ // of a           └▸, "b": 2◂             "a": 1, // of a▸
//!  ▸  "b": 2◂                                             "b": 2,◂
//!  }                                                  }
//! ```

use std::ops::Range;

use super::layout::{self, behind};
use super::style::Style;
use super::tree::Node;
use crate::splice::Splice;

/// Where a new item goes, which is written then.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Where the comma of the item before it goes, if it has none yet.
    comma: Option<usize>,
    at: usize,
    before: String,
    after: String,
    /// The indentation of the line that the item will stand in.
    pub(super) indentation: String,
    /// Whether it has to be on one line.
    pub(super) flat: bool,
}

impl Slot {
    /// The splices that put an item there.
    pub(super) fn fill(self, item: &str) -> Vec<Splice> {
        let mut splices: Vec<Splice> = self.comma.map(|at| Splice::insert(at, ",")).into_iter().collect();
        splices.push(Splice::insert(self.at, format!("{}{item}{}", self.before, self.after)));
        splices
    }
}

/// Where a new last item of an object or array goes. `flat` says that what holds it is on one line and not empty.
pub(super) fn slot(text: &str, holder: &Node, style: &Style, flat: bool) -> Slot {
    match holder.items().last() {
        Some(last) => behind_last(text, holder, last, style),
        None => into_empty(text, holder, style, flat),
    }
}

fn behind_last(text: &str, holder: &Node, last: &Range<usize>, style: &Style) -> Slot {
    let found = behind(text, last.end, holder.span.end - 1);
    let own_line = layout::begins_line(text, last.start);
    let after = if found.comma.is_some() { ",".to_owned() } else { String::new() };
    if own_line || found.line_comment {
        let indentation = if own_line {
            layout::indentation(text, last.start).to_owned()
        } else {
            format!("{}{}", layout::indentation(text, holder.span.end - 1), style.unit)
        };
        // The line above keeps its own end, where lines end in two ways.
        let rest = &text[layout::behind_spaces(text, found.end)..];
        let above = &text[layout::line_end_before(text, layout::line_start(text, last.start))];
        let end = match (rest.starts_with("\r\n"), rest.starts_with('\n')) {
            (true, _) => "\r\n",
            (_, true) => "\n",
            _ if own_line => above,
            _ => style.end,
        };
        return Slot {
            comma: found.comma.is_none().then_some(last.end),
            at: found.end,
            before: format!("{end}{indentation}"),
            after,
            indentation,
            flat: false,
        };
    }
    Slot {
        comma: None,
        at: found.end,
        before: if found.comma.is_some() { style.gap() } else { style.comma() }.to_owned(),
        after,
        indentation: layout::indentation(text, last.start).to_owned(),
        flat: layout::one_line(text, &holder.span),
    }
}

fn into_empty(text: &str, holder: &Node, style: &Style, flat: bool) -> Slot {
    let (open, close) = (holder.span.start + 1, holder.span.end - 1);
    let outer = layout::indentation(text, holder.span.start);
    let inside = &text[open..close];
    if let Some(comment) = layout::comments(text, open..close).last() {
        if !inside.contains('\n') && !layout::to_line_end(text, comment) {
            return Slot {
                comma: None,
                at: comment.end,
                before: " ".to_owned(),
                after: String::new(),
                indentation: outer.to_owned(),
                flat: true,
            };
        }
        let indentation = if layout::begins_line(text, comment.start) {
            layout::indentation(text, comment.start).to_owned()
        } else {
            format!("{}{}", layout::indentation(text, close), style.unit)
        };
        return Slot {
            comma: None,
            at: comment.end,
            before: format!("{}{indentation}", style.end),
            after: String::new(),
            indentation,
            flat: false,
        };
    }
    if flat && !inside.contains(['\n', '\r']) {
        return Slot {
            comma: None,
            at: close,
            before: String::new(),
            after: inside.to_owned(),
            indentation: outer.to_owned(),
            flat: true,
        };
    }
    let indentation = format!("{outer}{}", style.unit);
    // What stands behind the opening brace makes way, so that `{}`, `{ }` and a pair on two lines come out the same.
    Slot {
        comma: None,
        at: close,
        before: format!("{}{indentation}", style.end),
        after: format!("{}{outer}", style.end),
        indentation,
        flat: false,
    }
}

/// The white space that makes way for the first item of an object or array that is written on lines.
pub(super) fn white_of_empty(text: &str, holder: &Node, slot: &Slot) -> Option<Range<usize>> {
    let inside = holder.span.start + 1..holder.span.end - 1;
    (!slot.flat && !inside.is_empty() && holder.items().is_empty() && layout::blank(text, inside.clone()))
        .then_some(inside)
}

/// The elements from `at` on, up to where the one behind them begins: what stood before that has put them there. None: no element
/// stands behind them, or a comment stands between.
pub(super) fn run(text: &str, array: &Node, at: usize, count: usize) -> Option<Range<usize>> {
    let items = array.items();
    let run = items.get(at..=at.checked_add(count)?)?;
    let plain = |pair: &[Range<usize>]| layout::comments(text, pair[0].end..pair[1].start).is_empty();
    run.windows(2).all(plain).then(|| run[0].start..run[count].start)
}

/// The stretches that go with an item.
pub(super) fn without(text: &str, holder: &Node, index: usize) -> Vec<Range<usize>> {
    let items = holder.items();
    let (open, close) = (holder.span.start + 1, holder.span.end - 1);
    let Some(item) = items.get(index) else { return Vec::new() };
    let next = items.get(index + 1).map_or(close, |next| next.start);
    let previous = index.checked_sub(1).and_then(|before| items.get(before));
    let found = behind(text, item.end, next);
    let mut gone = Vec::new();

    if items.len() == 1
        && let Some(stretch) = all_inside(text, open..close, item, found.comma)
    {
        gone.push(stretch);
        return gone;
    }

    let near = found.comma.is_none_or(|comma| layout::one_line(text, &(item.end..comma)));
    if let Some(previous) = previous
        && (found.comma.is_none() || !near)
        && begins_with_comma(text, previous.end..item.start)
    {
        gone.push(previous.end..item.end);
        return gone;
    }

    // The comma of the one before goes if this was the last and had none.
    if let Some(previous) = previous
        && index + 1 == items.len()
        && found.comma.is_none()
    {
        gone.extend(behind(text, previous.end, item.start).comma.map(|comma| comma..comma + 1));
    }

    let before = previous.map_or(open, |previous| previous.end)..item.start;
    let after_line_comment = layout::comments(text, before).last().is_some_and(|comment| {
        layout::to_line_end(text, comment) && layout::blank(text, comment.end..item.start)
    });
    let rest = layout::behind_spaces(text, found.end);
    let line_is_over = matches!(text.as_bytes().get(rest), Some(b'\n' | b'\r'));
    if layout::begins_line(text, item.start)
        && near
        && (line_is_over || (rest == close && !after_line_comment))
    {
        let start = layout::line_end_before(text, layout::line_start(text, item.start)).start;
        gone.push(start..found.end);
        return gone;
    }

    let white = layout::white_before(text, item.start);
    let white_goes =
        !after_line_comment && !text[white..item.start].contains('\n') && (index > 0 || white > open);
    gone.push(if white_goes { white..item.end } else { item.start..item.end });
    if let Some(comma) = found.comma {
        let spaces = layout::behind_spaces(text, comma + 1);
        let more = !white_goes && !matches!(text.as_bytes().get(spaces), Some(b'\n' | b'\r'));
        gone.push(comma..if more { spaces } else { comma + 1 });
    }
    gone
}

/// What goes with the only item if nothing but white space stands around it: all of it where lines were, so that `{}` is left.
fn all_inside(
    text: &str,
    inside: Range<usize>,
    item: &Range<usize>,
    comma: Option<usize>,
) -> Option<Range<usize>> {
    let rest = comma.map_or(item.end, |comma| comma + 1);
    let (before, after) = (inside.start..item.start, rest..inside.end);
    let blank = layout::blank(text, before.clone())
        && layout::blank(text, item.end..comma.unwrap_or(item.end))
        && layout::blank(text, after.clone());
    let one_line = layout::one_line(text, &before) && layout::one_line(text, &after);
    blank.then_some(if one_line { item.start..inside.end } else { inside })
}

/// Whether the comma between two items is the first of the second one's line.
fn begins_with_comma(text: &str, between: Range<usize>) -> bool {
    behind(text, between.start, between.end).comma.is_some_and(|comma| {
        !layout::one_line(text, &(between.start..comma))
            && layout::one_line(text, &(comma..between.end))
            && layout::comments(text, between).is_empty()
    })
}
