//! The edits of one entry, and what has to be remembered to undo them.

use super::remote::Remote;
use super::shape::{CommandAs, Shape};
use super::{ConfigFile, Memo, Recall, Refusal, Was, Wrap};
use bir_model::{Edit, Place};
use serde_json::{Map, Value};

/// The edits of one entry, and how to undo them.
pub(super) struct Change<'e> {
    entry: &'e Map<String, Value>,
    at: &'e Place,
    edits: Vec<Edit>,
    was: Vec<(String, Was)>,
    added: Vec<String>,
}

impl<'e> Change<'e> {
    /// No edit yet of an entry that stands at a place.
    pub(super) fn of(entry: &'e Map<String, Value>, at: &'e Place) -> Self {
        Self { entry, at, edits: Vec::new(), was: Vec::new(), added: Vec::new() }
    }

    fn set(&mut self, key: &str, value: Value, was: Was) {
        match self.entry.get(key) {
            None => self.added.push(key.to_owned()),
            Some(Value::Null) => self.was.push((key.to_owned(), Was::Value(Value::Null))),
            Some(_) => self.was.push((key.to_owned(), was)),
        }
        self.edits.push(Edit::Set { at: self.at.key(key), value });
    }

    fn remove(&mut self, key: &str, was: Was) {
        let Some(value) = self.entry.get(key) else { return };
        let was = if value.is_null() { Was::Value(Value::Null) } else { was };
        self.was.push((key.to_owned(), was));
        self.edits.push(Edit::Remove { at: self.at.key(key) });
    }

    /// The proxy's command line in front of `behind`, the server's own; what stands in a list keeps its text, comments and all.
    pub(super) fn command(&mut self, shape: &Shape, proxy: &str, options: Vec<String>, behind: String) {
        let mut front = options;
        front.push("--".into());
        match shape.command {
            CommandAs::Split { program, args } => {
                front.push(behind);
                self.set(program, proxy.into(), Was::Recall(Recall::Program));
                self.insert(args, front, Recall::Args);
            }
            CommandAs::Vector(member) => {
                front.insert(0, proxy.to_owned());
                self.insert(member, front, Recall::Command);
            }
        }
    }

    /// Texts in front of those of a list, which is made where there is none.
    fn insert(&mut self, key: &str, front: Vec<String>, recall: Recall) {
        let was = Was::Recall(recall);
        if !self.entry.get(key).is_some_and(Value::is_array) {
            return self.set(key, front.into(), was);
        }
        self.was.push((key.to_owned(), was));
        let values = front.into_iter().map(Value::from).collect();
        self.edits.push(Edit::Insert { into: self.at.key(key), at: 0, values });
    }

    /// The proxy's command line where there was none: nothing, or an empty list.
    fn command_alone(&mut self, shape: &Shape, proxy: &str, line: Vec<String>) {
        let entry = self.entry;
        let was = |key: &str| Was::Value(entry.get(key).cloned().unwrap_or_default());
        match shape.command {
            CommandAs::Split { program, args } => {
                self.set(program, proxy.into(), was(program));
                self.set(args, line.into(), was(args));
            }
            CommandAs::Vector(member) => {
                let whole: Vec<String> = std::iter::once(proxy.to_owned()).chain(line).collect();
                self.set(member, whole.into(), was(member));
            }
        }
    }

    /// The proxy's command line in the place of an address.
    pub(super) fn remote(
        &mut self,
        shape: &Shape,
        url: &str,
        proxy: &str,
        line: Vec<String>,
        remote: Remote,
    ) {
        let Remote { env, header_names, .. } = remote;
        self.remove(url, Was::Recall(Recall::Url));
        self.remove(shape.headers, Was::Recall(Recall::Headers(header_names)));
        for member in [shape.by_name.headers, shape.by_name.bearer].into_iter().flatten() {
            let names = self.entry.get(member).cloned().unwrap_or_default();
            self.remove(member, Was::Value(names));
        }
        if let Some(kinds) = shape.kinds {
            let was = Was::Value(self.entry.get(kinds.member).cloned().unwrap_or_default());
            match kinds.local {
                Some(local) if kinds.needed || self.entry.contains_key(kinds.member) => {
                    self.set(kinds.member, local.into(), was);
                }
                Some(_) => {}
                None => self.remove(kinds.member, was),
            }
        }
        self.command_alone(shape, proxy, line);
        if self.entry.get(shape.env).is_some_and(Value::is_object) {
            let at = self.at.key(shape.env);
            self.edits.extend(env.into_iter().map(|(name, value)| Edit::Set { at: at.key(name), value }));
        } else if !env.is_empty() {
            self.set(shape.env, Value::Object(env), Was::Value(Value::Null));
        }
    }

    /// For a host that hands on no variables but those that an entry names.
    pub(super) fn pass_on(&mut self, shape: &Shape, names: &[String]) -> Result<(), Refusal> {
        let Some(member) = shape.by_name.pass_on.filter(|_| !names.is_empty()) else { return Ok(()) };
        let was = self.entry.get(member).cloned().unwrap_or_default();
        let mut list = match &was {
            Value::Null => Vec::new(),
            Value::Array(list) => list.clone(),
            _ => return Err(Refusal::new("shape", format!("its `{member}` is no list"))),
        };
        for name in names {
            if !list.iter().any(|one| one == name) {
                list.push(name.as_str().into());
            }
        }
        self.set(member, list.into(), Was::Value(was));
        Ok(())
    }

    /// All of it.
    pub(super) fn done(mut self, file: &ConfigFile) -> Wrap {
        let order = |key: &str| self.entry.keys().position(|known| known == key);
        self.was.sort_by_key(|(key, _)| order(key));
        let memo = Memo { was: self.was, added: self.added };
        Wrap { file: file.clone(), edits: self.edits, place: self.at.clone(), memo: Some(memo) }
    }
}
