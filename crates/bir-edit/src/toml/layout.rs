//! Where everything of a TOML document stands: its statements, each with the place that it is about.
//!
//! ```text
//!  [mcp_servers.a]          header of `mcp_servers`, `a`
//!  command = "x"            pair at `mcp_servers`, `a`, `command`
//!  env.K = "v"              pair at `mcp_servers`, `a`, `env`, `K`
//!  [[hooks.Stop]]           header of `hooks`, `Stop`, 0
//! ```
//!
//! The text was read by `toml_edit` before, so it is valid, and not nested deeply.

use std::collections::HashMap;
use std::ops::Range;

use bir_model::{Place, Step};
use toml_parser::Source;
use toml_parser::parser::{Event, EventKind, parse_document};

use crate::EditError;
use crate::flow::Flow;
use crate::splice::{line_start, next_line};

/// A key, without quotes, and its bytes.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) span: Range<usize>,
}

/// A member of a table: its keys, joined by dots, and its value.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) keys: Vec<Key>,
    pub(super) value: Node,
}

impl Pair {
    /// From its first key to the end of its value.
    pub(super) fn span(&self) -> Range<usize> {
        self.keys.first().map_or(self.value.span.start, |key| key.span.start)..self.value.span.end
    }
}

/// A value and its bytes.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) shape: Shape,
}

/// What a value is.
#[derive(Debug)]
pub(super) enum Shape {
    Scalar,
    Array(Vec<Node>),
    Table(Vec<Pair>),
}

impl Node {
    /// The items between its brackets; none of a scalar.
    pub(super) fn flow(&self) -> Flow {
        let items = match &self.shape {
            Shape::Scalar => Vec::new(),
            Shape::Array(nodes) => nodes.iter().map(|node| node.span.clone()).collect(),
            Shape::Table(pairs) => pairs.iter().map(Pair::span).collect(),
        };
        Flow { inside: self.span.start + 1..self.span.end.saturating_sub(1), items }
    }
}

/// A header, or a pair below one.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) place: Place,
    pub(super) kind: Kind,
    /// Its lines, with the last line feed.
    pub(super) lines: Range<usize>,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// `[a.b]` or `[[a.b]]`.
    Header,
    /// `a.b = 1`, below the header whose place has so many steps.
    Pair { pair: Pair, above: usize },
}

/// What stands at a place.
#[derive(Debug)]
pub(super) enum Found<'l> {
    /// A value behind `=`, or inside of one.
    Value(&'l Node),
    /// A table that headers or dotted keys make.
    Table,
    /// An array of tables that headers make; so many.
    Tables(usize),
    /// Inside of an inline table: a table that dotted keys make.
    Dotted,
    Nothing,
}

/// A document.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) statements: Vec<Statement>,
    tables: HashMap<Place, usize>,
}

impl Layout {
    /// Finds all statements.
    pub(super) fn of(text: &str) -> Result<Self, EditError> {
        let source = Source::new(text);
        let tokens = source.lex().into_vec();
        let mut events: Vec<Event> = Vec::new();
        parse_document(&tokens, &mut events, &mut ());
        events.retain(|event| {
            !matches!(event.kind(), EventKind::Whitespace | EventKind::Comment | EventKind::Newline)
        });
        Reader { text, source, events: &events, at: 0 }.document()
    }

    /// What stands at a place.
    pub(super) fn find(&self, place: &Place) -> Found<'_> {
        if place.0.is_empty() {
            return Found::Table;
        }
        if let Some(count) = self.tables.get(place) {
            return Found::Tables(*count);
        }
        let mut table = false;
        for statement in &self.statements {
            match &statement.kind {
                Kind::Pair { pair, .. } if place.0.starts_with(&statement.place.0) => {
                    return descend(&pair.value, place.0.get(statement.place.0.len()..).unwrap_or_default());
                }
                _ => table = table || statement.place.0.starts_with(&place.0),
            }
        }
        if table { Found::Table } else { Found::Nothing }
    }

    /// The pair statement that holds a place, or is one.
    pub(super) fn pair_above(&self, place: &Place) -> Option<(&Statement, &Pair)> {
        self.statements.iter().find_map(|statement| match &statement.kind {
            Kind::Pair { pair, .. } if place.0.starts_with(&statement.place.0) => Some((statement, pair)),
            _ => None,
        })
    }

    /// The statements that are about a place or what is in it.
    pub(super) fn below<'l>(
        &'l self,
        place: &'l Place,
    ) -> impl DoubleEndedIterator<Item = (usize, &'l Statement)> {
        self.statements.iter().enumerate().filter(|(_, statement)| statement.place.0.starts_with(&place.0))
    }

    /// The index of the header of a table.
    pub(super) fn header(&self, place: &Place) -> Option<usize> {
        self.statements.iter().position(|s| matches!(s.kind, Kind::Header) && s.place == *place)
    }
}

/// Walks into a value.
fn descend<'l>(node: &'l Node, rest: &[Step]) -> Found<'l> {
    let Some((step, further)) = rest.split_first() else { return Found::Value(node) };
    match (&node.shape, step) {
        (Shape::Array(nodes), Step::Index(index)) => {
            nodes.get(*index).map_or(Found::Nothing, |node| descend(node, further))
        }
        (Shape::Table(pairs), Step::Key(_)) => {
            for pair in pairs {
                let fits = common(&pair.keys, rest);
                if fits == pair.keys.len() {
                    return descend(&pair.value, rest.get(fits..).unwrap_or_default());
                }
                if fits == rest.len() {
                    return Found::Dotted;
                }
            }
            Found::Nothing
        }
        _ => Found::Nothing,
    }
}

/// How many keys are the same as the first steps.
pub(super) fn common(keys: &[Key], steps: &[Step]) -> usize {
    keys.iter()
        .zip(steps)
        .take_while(|(key, step)| matches!(step, Step::Key(name) if *name == key.name))
        .count()
}

struct Reader<'t> {
    text: &'t str,
    source: Source<'t>,
    events: &'t [Event],
    at: usize,
}

impl Reader<'_> {
    fn document(mut self) -> Result<Layout, EditError> {
        let mut layout = Layout { statements: Vec::new(), tables: HashMap::new() };
        let mut above = Place::default();
        while let Some(event) = self.events.get(self.at) {
            let start = event.span().start();
            match event.kind() {
                EventKind::StdTableOpen | EventKind::ArrayTableOpen => {
                    let array = event.kind() == EventKind::ArrayTableOpen;
                    self.at += 1;
                    let keys = self.keys()?;
                    let end = self.next()?.span().end();
                    above = layout.header_place(&keys, array);
                    layout.statements.push(Statement {
                        place: above.clone(),
                        kind: Kind::Header,
                        lines: self.lines(start, end),
                    });
                }
                _ => {
                    let pair = self.pair()?;
                    let place = pair.keys.iter().fold(above.clone(), |place, key| place.key(&key.name));
                    let lines = self.lines(start, pair.value.span.end);
                    layout.statements.push(Statement {
                        place,
                        kind: Kind::Pair { pair, above: above.0.len() },
                        lines,
                    });
                }
            }
        }
        Ok(layout)
    }

    fn lines(&self, start: usize, end: usize) -> Range<usize> {
        line_start(self.text, start)..next_line(self.text, end)
    }

    fn next(&mut self) -> Result<Event, EditError> {
        let event = self.events.get(self.at).copied().ok_or(EditError::Unfaithful)?;
        self.at += 1;
        Ok(event)
    }

    fn keys(&mut self) -> Result<Vec<Key>, EditError> {
        let mut keys = Vec::new();
        while let Some(event) = self.events.get(self.at) {
            match event.kind() {
                EventKind::SimpleKey => {
                    let mut name = String::new();
                    let raw = self.source.get(event).ok_or(EditError::Unfaithful)?;
                    raw.decode_key(&mut name, &mut ());
                    keys.push(Key { name, span: event.span().start()..event.span().end() });
                }
                EventKind::KeySep => {}
                _ => break,
            }
            self.at += 1;
        }
        if keys.is_empty() { Err(EditError::Unfaithful) } else { Ok(keys) }
    }

    fn pair(&mut self) -> Result<Pair, EditError> {
        let keys = self.keys()?;
        if self.next()?.kind() != EventKind::KeyValSep {
            return Err(EditError::Unfaithful);
        }
        Ok(Pair { keys, value: self.value()? })
    }

    fn value(&mut self) -> Result<Node, EditError> {
        let first = self.next()?;
        let start = first.span().start();
        let (shape, end) = match first.kind() {
            EventKind::Scalar => (Shape::Scalar, first.span().end()),
            EventKind::ArrayOpen => {
                let mut nodes = Vec::new();
                while self.goes_on(EventKind::ArrayClose)? {
                    nodes.push(self.value()?);
                }
                (Shape::Array(nodes), self.next()?.span().end())
            }
            EventKind::InlineTableOpen => {
                let mut pairs = Vec::new();
                while self.goes_on(EventKind::InlineTableClose)? {
                    pairs.push(self.pair()?);
                }
                (Shape::Table(pairs), self.next()?.span().end())
            }
            _ => return Err(EditError::Unfaithful),
        };
        Ok(Node { span: start..end, shape })
    }

    /// Steps over commas, and tells whether something stands before the closing bracket.
    fn goes_on(&mut self, close: EventKind) -> Result<bool, EditError> {
        loop {
            let event = self.events.get(self.at).ok_or(EditError::Unfaithful)?;
            match event.kind() {
                EventKind::ValueSep => self.at += 1,
                kind => return Ok(kind != close),
            }
        }
    }
}

impl Layout {
    /// The place of a header: steps into an array of tables go to the last one.
    fn header_place(&mut self, keys: &[Key], array: bool) -> Place {
        let mut place = Place::default();
        for (index, key) in keys.iter().enumerate() {
            place = place.key(&key.name);
            if array && index + 1 == keys.len() {
                let count = self.tables.entry(place.clone()).or_default();
                *count += 1;
                place = place.index(*count - 1);
            } else if let Some(count) = self.tables.get(&place) {
                place = place.index(count.saturating_sub(1));
            }
        }
        place
    }
}
