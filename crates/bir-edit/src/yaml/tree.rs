//! Where everything of a YAML document stands: its nodes, from the events of a parser that tells bytes.
//!
//! Events tell where a node's content stands. Indicators (`-`, `:`, `?`) and properties (`&anchor`, `!tag`) are found by going
//! on from where the event before ended: only white space, comments and they stand between.

use std::collections::HashSet;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle, options};

use crate::EditError;

/// A node in its [`Tree`].
pub(super) type Id = usize;

/// A node and its bytes.
#[derive(Debug)]
pub(super) struct Node {
    /// Where it begins, with its properties.
    pub(super) start: usize,
    /// Behind its last byte; the line feed that ends it does not belong to it.
    pub(super) end: usize,
    /// Its anchor's number.
    pub(super) anchor: Option<usize>,
    /// Whether it has a tag that changes how it is read.
    pub(super) tagged: bool,
    pub(super) kind: Kind,
}

/// What a node is.
#[derive(Debug)]
pub(super) enum Kind {
    /// Nothing at all, which is null.
    Empty,
    Scalar {
        text: String,
        style: ScalarStyle,
    },
    Alias,
    Sequence {
        flow: bool,
        items: Vec<Item>,
    },
    Mapping {
        flow: bool,
        members: Vec<Member>,
    },
}

/// An item of a sequence.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Where its `-` stands; in brackets where it begins.
    pub(super) dash: usize,
    pub(super) node: Id,
}

/// A member of a mapping.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Where it begins, with `?` and properties of the key.
    pub(super) start: usize,
    pub(super) key: Id,
    /// Behind its `:`, or behind the key where there is none.
    pub(super) behind: usize,
    /// Whether it has a `:`.
    pub(super) colon: bool,
    /// Whether the key is written as `? key`.
    pub(super) explicit: bool,
    pub(super) node: Id,
}

/// A document.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// Nothing where the document is empty.
    pub(super) root: Option<Id>,
    /// Where the document ends: its `...`, or the end of the text.
    pub(super) end: usize,
    aliased: HashSet<usize>,
}

/// What is open while events come in.
enum Open {
    Sequence { id: Id, flow: bool, items: Vec<Item> },
    Mapping { id: Id, flow: bool, members: Vec<Member>, half: Option<(usize, Id, bool)> },
}

impl Tree {
    /// Finds all nodes of a text.
    pub(super) fn of(text: &str) -> Result<Self, EditError> {
        let options = options! { emit_comments: false };
        let tree = Self { nodes: Vec::new(), root: None, end: text.len(), aliased: HashSet::new() };
        let mut builder = Builder { text, tree, open: Vec::new(), at: 0 };
        let mut documents = 0;
        for next in Parser::new_from_str_with_options(text, options) {
            let (event, span) = next.map_err(|error| {
                let at = error.marker();
                EditError::Syntax(format!("not valid YAML at line {}, column {}", at.line(), at.col() + 1))
            })?;
            if let Event::DocumentStart(marked, _) = event {
                documents += 1;
                if documents > 1 {
                    return Err(EditError::Place("the file holds more than one YAML document".to_owned()));
                }
                if marked {
                    builder.at = bytes(&span)?.1;
                }
            } else {
                builder.take(event, &span)?;
            }
        }
        Ok(builder.tree)
    }

    /// A node.
    pub(super) fn node(&self, id: Id) -> Result<&Node, EditError> {
        self.nodes.get(id).ok_or(EditError::Unfaithful)
    }

    /// Whether an alias stands for this node, or for one inside of it.
    pub(super) fn is_shared(&self, id: Id, deep: bool) -> bool {
        let Some(top) = self.nodes.get(id) else { return false };
        let shared = |node: &Node| node.anchor.is_some_and(|anchor| self.aliased.contains(&anchor));
        shared(top)
            || (deep && self.nodes.iter().any(|n| shared(n) && top.start <= n.start && n.end <= top.end))
    }

    /// All mappings and sequences in blocks, in their order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| {
            matches!(node.kind, Kind::Mapping { flow: false, .. } | Kind::Sequence { flow: false, .. })
        })
    }
}

/// Where the next token begins: behind white space and comments, in brackets behind commas too.
fn skip(text: &str, mut at: usize, commas: bool) -> usize {
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        match c {
            '#' => at += text.get(at..).and_then(|rest| rest.find('\n')).unwrap_or(text.len() - at),
            ',' if commas => at += 1,
            c if c.is_whitespace() => at += c.len_utf8(),
            _ => break,
        }
    }
    at
}

fn bytes(span: &Span) -> Result<(usize, usize), EditError> {
    span.byte_range().map(|range| (range.start, range.end)).ok_or(EditError::Unfaithful)
}

struct Builder<'t> {
    text: &'t str,
    tree: Tree,
    open: Vec<Open>,
    /// Behind what was taken last.
    at: usize,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), EditError> {
        let (start, end) = bytes(span)?;
        match event {
            Event::Scalar(value, style, anchor, tag) => {
                let lead = self.lead()?;
                let tagged = tag.is_some_and(|tag| tag.core_suffix() != Some("str"));
                let empty = style == ScalarStyle::Plain && start == end;
                let (from, end) = match (empty, style) {
                    (true, _) if lead.properties => (skip(self.text, self.at, false), start.max(self.at)),
                    (true, _) => (self.at, self.at),
                    (_, ScalarStyle::Literal | ScalarStyle::Folded) => {
                        let from = skip(self.text, self.at, false);
                        (from, self.block_end(from, start, end))
                    }
                    _ => (skip(self.text, self.at, lead.flow), end),
                };
                let kind = match empty {
                    true => Kind::Empty,
                    false => Kind::Scalar { text: value.into_owned(), style },
                };
                self.leaf(lead, Node { start: from, end, anchor: some(anchor), tagged, kind })
            }
            Event::Alias(target) => {
                self.tree.aliased.insert(target);
                let lead = self.lead()?;
                let kind = Kind::Alias;
                self.leaf(lead, Node { start, end, anchor: None, tagged: false, kind })
            }
            Event::SequenceStart(style, anchor, tag) => {
                let flow = style == StructureStyle::Flow;
                let properties = usize::from(anchor != 0) + usize::from(tag.is_some());
                let id = self.begin(some(anchor), tag.is_some_and(|tag| tag.core_suffix() != Some("seq")))?;
                if flow {
                    self.at = end;
                } else {
                    self.skip_properties(properties);
                }
                self.open.push(Open::Sequence { id, flow, items: Vec::new() });
                Ok(())
            }
            Event::MappingStart(style, anchor, tag) => {
                let flow = style == StructureStyle::Flow;
                let properties = usize::from(anchor != 0) + usize::from(tag.is_some());
                let id = self.begin(some(anchor), tag.is_some_and(|tag| tag.core_suffix() != Some("map")))?;
                if flow && self.text.get(start..).is_some_and(|rest| rest.starts_with('{')) {
                    self.at = end;
                } else if flow {
                    // `[a: b]` without braces of its own.
                    if let Some(node) = self.tree.nodes.get_mut(id) {
                        node.tagged = true;
                    }
                } else {
                    self.skip_properties(properties);
                }
                self.open.push(Open::Mapping { id, flow, members: Vec::new(), half: None });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(end),
            Event::DocumentEnd => {
                self.tree.end = if start == end { self.text.len() } else { start };
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Goes behind so many of `&anchor` and `!tag`.
    fn skip_properties(&mut self, count: usize) {
        for _ in 0..count {
            let at = skip(self.text, self.at, false);
            let rest = self.text.get(at..).unwrap_or_default();
            self.at = at + rest.find(char::is_whitespace).unwrap_or(rest.len());
        }
    }

    /// Where a literal or folded scalar ends. Blank lines behind it belong to it where they are kept (`|+`).
    fn block_end(&self, from: usize, start: usize, end: usize) -> usize {
        let head = self.text.get(from..start).unwrap_or_default();
        let head = head.lines().find(|line| line.contains(['|', '>'])).unwrap_or_default();
        let keeps = head.split('#').next().is_some_and(|head| head.contains('+'));
        let whole = self.text.get(from..end).unwrap_or_default().trim_end_matches([' ', '\t']);
        let kept = match (keeps, whole.ends_with('\n')) {
            (true, true) => whole.strip_suffix('\n').unwrap_or(whole),
            (true, false) => self.text.get(from..end).unwrap_or_default(),
            (false, true) => whole.trim_end_matches('\n'),
            (false, false) => self.text.get(from..end).unwrap_or_default(),
        };
        from + kept.len()
    }

    /// Steps over the indicator before a node, and tells what the node is to what is open.
    fn lead(&mut self) -> Result<Lead, EditError> {
        let flow = matches!(
            self.open.last(),
            Some(Open::Sequence { flow: true, .. } | Open::Mapping { flow: true, .. })
        );
        let next = skip(self.text, self.at, flow);
        let rest = self.text.get(next..).unwrap_or_default();
        let mut lead = Lead { mark: next, colon: false, explicit: false, flow, properties: false };
        match self.open.last() {
            Some(Open::Sequence { flow: false, .. }) => {
                if !rest.starts_with('-') {
                    return Err(EditError::Unfaithful);
                }
                self.at = next + 1;
            }
            Some(Open::Mapping { half: None, .. }) => {
                let mut after = rest.chars();
                if after.next() == Some('?') && after.next().is_none_or(char::is_whitespace) {
                    lead.explicit = true;
                    self.at = next + 1;
                } else {
                    self.at = next;
                }
            }
            Some(Open::Mapping { half: Some(_), .. }) => {
                let next = skip(self.text, self.at, false);
                if self.text.get(next..).is_some_and(|rest| rest.starts_with(':')) {
                    lead.colon = true;
                    self.at = next + 1;
                }
            }
            Some(Open::Sequence { flow: true, .. }) | None => {}
        }
        lead.mark = if matches!(self.open.last(), Some(Open::Mapping { half: Some(_), .. })) {
            self.at
        } else {
            next
        };
        let node = skip(self.text, self.at, flow);
        lead.properties = self.text.get(node..).is_some_and(|rest| rest.starts_with(['&', '!']));
        Ok(lead)
    }

    fn leaf(&mut self, lead: Lead, node: Node) -> Result<(), EditError> {
        self.at = self.at.max(node.end);
        let id = self.tree.nodes.len();
        self.tree.nodes.push(node);
        self.attach(lead, id)
    }

    fn begin(&mut self, anchor: Option<usize>, tagged: bool) -> Result<Id, EditError> {
        let lead = self.lead()?;
        let start = skip(self.text, self.at, lead.flow);
        let id = self.tree.nodes.len();
        self.tree.nodes.push(Node { start, end: start, anchor, tagged, kind: Kind::Empty });
        self.attach(lead, id)?;
        Ok(id)
    }

    fn attach(&mut self, lead: Lead, id: Id) -> Result<(), EditError> {
        match self.open.last_mut() {
            None => self.tree.root = Some(id),
            Some(Open::Sequence { items, .. }) => items.push(Item { dash: lead.mark, node: id }),
            Some(Open::Mapping { half, members, .. }) => match half.take() {
                None => *half = Some((lead.mark, id, lead.explicit)),
                Some((start, key, explicit)) => {
                    let (behind, colon) = (lead.mark, lead.colon);
                    members.push(Member { start, key, behind, colon, explicit, node: id });
                }
            },
        }
        Ok(())
    }

    fn close(&mut self, end: usize) -> Result<(), EditError> {
        let (id, kind, flow, last) = match self.open.pop().ok_or(EditError::Unfaithful)? {
            Open::Sequence { id, flow, items } => {
                let last = items.last().map(|item| item.node);
                (id, Kind::Sequence { flow, items }, flow, last)
            }
            Open::Mapping { id, flow, members, .. } => {
                let last = members.last().map(|member| member.node);
                (id, Kind::Mapping { flow, members }, flow, last)
            }
        };
        let end = if flow { end } else { self.tree.node(last.ok_or(EditError::Unfaithful)?)?.end };
        self.at = self.at.max(end);
        let node = self.tree.nodes.get_mut(id).ok_or(EditError::Unfaithful)?;
        node.end = end;
        node.kind = kind;
        Ok(())
    }
}

/// What stood before a node.
struct Lead {
    /// Its `-`, the beginning of a key, or behind the `:` of a value.
    mark: usize,
    colon: bool,
    explicit: bool,
    /// Whether it stands in brackets.
    flow: bool,
    /// Whether an anchor or a tag comes next.
    properties: bool,
}

fn some(anchor: usize) -> Option<usize> {
    (anchor != 0).then_some(anchor)
}
