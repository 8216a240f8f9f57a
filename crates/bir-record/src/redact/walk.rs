//! JSON, read once: every value is copied as it stands but for the places that get a placeholder.
//!
//! The walk makes a list of edits of the text that it reads. Number text, order and repetition of keys, escapes and white space outside of the
//! edits stay what they were, at every depth of JSON within strings. It is bounded in depth, looks ahead by a bounded
//! distance, and says how far it came when the text is cut or broken ([`Walk::mend`] closes what is open then).

use super::Job;
use super::json::{self, Str};
use super::members::{self, Role};
use super::names::Class;
use super::placeholder::{Edit, Kind, marker};

mod list;

/// Objects and arrays within each other. What is deeper is replaced by a marker, since readers refuse it (serde_json at 128).
const MOST_DEPTH: u32 = 100;
/// Bytes that are looked at beyond a value for the name that belongs to it.
const LOOK_AHEAD: usize = 4096;
/// Members that are looked at beyond a value for its name.
const MOST_AHEAD: usize = 16;
/// Bytes of a name that a value of a pair or an element of an argument list can have.
const LONGEST_NAME: usize = 128;
/// A string that the recorded copy cuts off is kept when it has at least so many bytes …
const LEAST_CUT: usize = 16 * 1024;
/// … without so many at its end, where a secret may be cut in two.
const CUT_MARGIN: usize = 8 * 1024;

/// The text is no JSON from here on.
#[derive(Debug)]
pub(super) struct Broken;

pub(super) struct Walk<'w, 'r> {
    job: &'w mut Job<'r>,
    text: &'w str,
    edits: &'w mut Vec<Edit>,
    pos: usize,
    /// JSON in how many strings.
    level: u32,
    /// The text goes on beyond its end.
    cut: Option<u64>,
    /// Up to here everything is whole, but for what is open.
    whole: usize,
    /// Nothing stands yet in what is open innermost.
    fresh: bool,
    /// What is open, objects as ones, innermost lowest.
    open: u128,
    depth: u32,
    /// Where the member or element began that is being read.
    resume: usize,
    /// A cut string was kept, and closed by an edit.
    closed: bool,
}

impl<'w, 'r> Walk<'w, 'r> {
    pub(super) fn new(
        job: &'w mut Job<'r>,
        text: &'w str,
        at: usize,
        level: u32,
        edits: &'w mut Vec<Edit>,
    ) -> Self {
        Self {
            job,
            text,
            edits,
            pos: at,
            level,
            cut: None,
            whole: at,
            fresh: true,
            open: 0,
            depth: 0,
            resume: at,
            closed: false,
        }
    }

    /// The text is the beginning of a value of so many bytes.
    pub(super) fn cut_from(mut self, original_bytes: u64) -> Self {
        self.cut = Some(original_bytes);
        self
    }

    /// Reads one value.
    pub(super) fn run(&mut self, class: Class) -> Result<usize, Broken> {
        self.pos = json::space(self.text.as_bytes(), self.pos);
        self.value(class, false)?;
        Ok(self.pos)
    }

    /// How far was read before [`Broken`]: to the end, when something does not end.
    pub(super) fn reached(&self) -> usize {
        match self.byte() {
            None | Some(b'"' | b'{' | b'[') => self.text.len(),
            Some(_) => self.pos,
        }
    }

    /// Where reading as text goes on after [`Broken`].
    pub(super) fn resume(&self) -> usize {
        self.resume
    }

    /// After [`Broken`]: up to where the text stands and what closes it; `None` when there is nothing to keep.
    pub(super) fn mend(&mut self, original_bytes: u64) -> Option<(usize, String)> {
        if self.depth == 0 && !self.closed {
            return None;
        }
        let mut tail = String::new();
        let end = if self.closed {
            self.text.len()
        } else {
            let marker = marker(original_bytes);
            let comma = if self.fresh { "" } else { "," };
            tail.push_str(comma);
            if self.open & 1 == 1 {
                tail.push_str(&marker[1..marker.len() - 1]);
            } else {
                tail.push_str(&marker);
            }
            self.whole
        };
        while self.edits.last().is_some_and(|e| e.end > end || (e.start >= end && !self.closed)) {
            self.edits.pop();
        }
        for n in 0..self.depth {
            tail.push(if self.open >> n & 1 == 1 { '}' } else { ']' });
        }
        Some((end, tail))
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn space(&mut self) {
        self.pos = json::space(self.text.as_bytes(), self.pos);
    }

    fn value(&mut self, class: Class, in_array: bool) -> Result<(), Broken> {
        match self.byte().ok_or(Broken)? {
            b'"' => self.string(class),
            open @ (b'{' | b'[') => {
                if self.depth >= MOST_DEPTH {
                    let end = json::skip(self.text.as_bytes(), self.pos).ok_or(Broken)?;
                    let size = (end - self.pos) as u64;
                    if self.text[self.pos..end].starts_with("{\"truncated\":true,\"originalBytes\":")
                        && size < 64
                    {
                        self.pos = end;
                        return Ok(());
                    }
                    self.edits.push(Edit { start: self.pos, end, text: marker(size) });
                    self.pos = end;
                    return Ok(());
                }
                self.open = self.open << 1 | u128::from(open == b'{');
                self.depth += 1;
                self.pos += 1;
                self.whole = self.pos;
                self.fresh = true;
                if open == b'{' {
                    self.object(class)?
                } else {
                    self.array(class, in_array)?
                }
                self.open >>= 1;
                self.depth -= 1;
                self.whole = self.pos;
                self.fresh = false;
                Ok(())
            }
            b'-' | b'0'..=b'9' => {
                let end = json::number(self.text.as_bytes(), self.pos).ok_or(Broken)?;
                // At the end of a copy that was cut, nobody knows whether the number goes on.
                if end == self.text.len() && self.cut.is_some() {
                    return Err(Broken);
                }
                if let Class::Secret(kind) = class
                    && !super::look::spared(kind, &self.text[self.pos..end])
                {
                    let placeholder = self.job.placeholder(kind, &self.text[self.pos..end]);
                    self.edits.push(Edit { start: self.pos, end, text: format!("\"{placeholder}\"") });
                }
                self.pos = end;
                Ok(())
            }
            _ => {
                self.pos = json::literal(self.text.as_bytes(), self.pos).ok_or(Broken)?;
                Ok(())
            }
        }
    }

    fn string(&mut self, class: Class) -> Result<(), Broken> {
        let Some(token) = json::string(self.text.as_bytes(), self.pos) else {
            self.cut_string(class);
            return Err(Broken);
        };
        self.redact(token, class);
        self.pos = token.end + 1;
        Ok(())
    }

    /// Redacts the inside of a string.
    fn redact(&mut self, token: Str, class: Class) {
        let level = self.level;
        self.inside(token, |job, said, found| job.string(said, class, level, found));
    }

    /// Puts into place what `look` finds in what a string says, and mends what readers refuse of how it is written.
    fn inside(&mut self, token: Str, look: impl FnOnce(&mut Job<'_>, &str, &mut Vec<Edit>)) {
        let raw = &self.text[token.start..token.end];
        let mut found = Vec::new();
        if token.escaped {
            let mut said = self.job.scratch.pop().unwrap_or_default();
            json::decode(raw, &mut said);
            look(self.job, &said, &mut found);
            self.job.scratch.push(said);
        } else {
            look(self.job, raw, &mut found);
        }
        let mend = self.level == 0;
        if !found.is_empty() || (mend && token.faulty) {
            json::place(raw, token, token.start, &mut found, mend, self.edits);
        }
    }

    /// A long string that the copy cuts off keeps its head, under `head` of a marker.
    fn cut_string(&mut self, class: Class) {
        let (Some(original_bytes), start) = (self.cut, self.pos + 1) else { return };
        if self.level > 0 || self.text.len() - start < LEAST_CUT {
            return;
        }
        let mut end = self.text.len() - CUT_MARGIN;
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        // Never through an escape: a surrogate pair is the longest.
        let bytes = self.text.as_bytes();
        if let Some(back) = bytes[end.saturating_sub(12).max(start)..end].iter().position(|b| *b == b'\\') {
            let mut first = end.saturating_sub(12).max(start) + back;
            while first > start && bytes[first - 1] == b'\\' {
                first -= 1;
            }
            end = first;
        }
        let mut head = marker(original_bytes);
        head.pop();
        head.push_str(",\"head\":");
        self.edits.push(Edit { start: self.pos, end: self.pos, text: head });
        let inside = &bytes[start..end];
        let token = Str { start, end, escaped: memchr::memchr(b'\\', inside).is_some(), faulty: true };
        self.redact(token, class);
        self.edits.push(Edit { start: end, end: self.text.len(), text: "\"}".into() });
        self.closed = true;
    }

    fn object(&mut self, class: Class) -> Result<(), Broken> {
        let schema = matches!(class, Class::Secret(_)) && self.is_schema();
        // What the value of a pair is, once the name of the pair was read.
        let mut pair: Option<Class> = None;
        self.space();
        if self.byte() == Some(b'}') {
            self.pos += 1;
            return Ok(());
        }
        loop {
            self.space();
            self.resume = self.pos;
            if self.byte() != Some(b'"') {
                return Err(Broken);
            }
            let key = json::string(self.text.as_bytes(), self.pos).ok_or(Broken)?;
            let mut said = None;
            if key.escaped {
                let mut name = self.job.scratch.pop().unwrap_or_default();
                json::decode(&self.text[key.start..key.end], &mut name);
                said = Some(name);
            }
            let text = self.text;
            let name = said.as_deref().unwrap_or(&text[key.start..key.end]);
            let role = members::role(name);
            let mut member = match class {
                Class::Secret(_) if schema && members::describes_schema(name) => Class::Plain,
                // The size in a marker of our own.
                Class::Secret(_) | Class::Env(_) | Class::Cookie
                    if name == "originalBytes" && self.counts(key.end + 1) =>
                {
                    Class::Plain
                }
                Class::Secret(kind) => Class::Secret(kind),
                Class::Env(all) if members::harmless_variable(name, all) => Class::Plain,
                Class::Env(_) => Class::Secret(Kind::Env),
                Class::Cookie if members::describes_cookie(name) => Class::Plain,
                Class::Cookie => Class::Secret(Kind::Cookie),
                _ => self.job.classify(name),
            };
            if let Some(mut name) = said {
                name.clear();
                self.job.scratch.push(name);
            }
            // Keys can be secrets too; only shapes are looked for.
            self.inside(key, |job, said, found| job.shapes(said, found));
            self.pos = key.end + 1;
            self.space();
            if self.byte() != Some(b':') {
                return Err(Broken);
            }
            self.pos += 1;
            self.space();
            let start = self.pos;
            if role == Role::Value && matches!(member, Class::Plain | Class::WeakKey) {
                let named = pair.or_else(|| self.name_ahead(class));
                member = named.unwrap_or(member);
            }
            if role == Role::Name && class == Class::EnvItem {
                member = Class::Plain;
            }
            self.value(member, false)?;
            if role == Role::Name && pair.is_none() {
                pair = self.pair_of(start, self.pos, class);
            }
            self.whole = self.pos;
            self.fresh = false;
            self.space();
            match self.byte() {
                Some(b',') => self.pos += 1,
                Some(b'}') => {
                    self.pos += 1;
                    return Ok(());
                }
                _ => return Err(Broken),
            }
        }
    }

    /// Whether the value of the member whose name ends at `at` is a number without a sign.
    fn counts(&self, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        let colon = json::space(bytes, at);
        bytes.get(json::space(bytes, colon + 1)).is_some_and(u8::is_ascii_digit)
    }

    /// What the name between `start` and `end` makes of the value that it belongs to.
    fn pair_of(&self, start: usize, end: usize, class: Class) -> Option<Class> {
        let name = self.text.get(start..end)?.strip_prefix('"')?.strip_suffix('"')?;
        if name.len() > LONGEST_NAME {
            return None;
        }
        if class == Class::EnvItem {
            return Some(if members::harmless_variable(name, true) {
                Class::Plain
            } else {
                Class::Secret(Kind::Env)
            });
        }
        match self.job.classify(name) {
            Class::Plain | Class::WeakKey | Class::Env(_) => None,
            other => Some(other),
        }
    }

    /// The name of a pair whose value comes first.
    fn name_ahead(&self, class: Class) -> Option<Class> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.pos) != Some(&b'"') {
            return None;
        }
        let mut pos = json::string(bytes, self.pos)?.end + 1;
        let bytes = &bytes[..bytes.len().min(pos + LOOK_AHEAD)];
        for _ in 0..MOST_AHEAD {
            pos = json::space(bytes, pos);
            if bytes.get(pos) != Some(&b',') {
                return None;
            }
            let quote = json::space(bytes, pos + 1);
            if bytes.get(quote) != Some(&b'"') {
                return None;
            }
            let key = json::string(bytes, quote)?;
            let colon = json::space(bytes, key.end + 1);
            if bytes.get(colon) != Some(&b':') {
                return None;
            }
            let value = json::space(bytes, colon + 1);
            let end = json::skip(bytes, value)?;
            if members::role(self.text.get(key.start..key.end)?) == Role::Name {
                return self.pair_of(value, end, class);
            }
            pos = end;
        }
        None
    }

    /// Whether the object that was just opened describes a value (JSON Schema) rather than being one.
    fn is_schema(&self) -> bool {
        let bytes = self.text.as_bytes();
        let bytes = &bytes[..bytes.len().min(self.pos + LOOK_AHEAD)];
        let mut pos = self.pos;
        let member = || -> Option<bool> {
            let quote = json::space(bytes, pos);
            let key = (bytes.get(quote) == Some(&b'"')).then(|| json::string(bytes, quote)).flatten()?;
            let value = json::space(bytes, json::space(bytes, key.end + 1) + 1);
            let end = json::skip(bytes, value)?;
            let said = bytes.get(value..end)?;
            let found = match &bytes[key.start..key.end] {
                b"type" => {
                    [
                        &br#""string""#[..],
                        br#""number""#,
                        br#""integer""#,
                        br#""boolean""#,
                        br#""object""#,
                        br#""array""#,
                        br#""null""#,
                    ]
                    .contains(&said)
                        || said.first() == Some(&b'[')
                }
                b"$ref" => true,
                _ => false,
            };
            pos = json::space(bytes, end);
            let more = bytes.get(pos) == Some(&b',');
            pos += 1;
            (found || more).then_some(found)
        };
        std::iter::from_fn(member).any(|found| found)
    }
}
