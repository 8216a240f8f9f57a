//! Pages of `tools/list`, put together.
//!
//! A request without a cursor asks for the first page, and its answer begins the list anew: that is what a host does after
//! `notifications/tools/list_changed`, too. One with a cursor goes on with it. Answers are taken in the order in which they come.

use super::{Clean, Kept, SafeTools};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;

/// Bytes of all pages that are held at most: 4 MiB.
const MOST_BYTES: usize = 4 << 20;
/// Pages at most.
const MOST_PAGES: usize = 256;

/// Answers to `tools/list` as they came, bounded.
#[derive(Default, Clone)]
pub struct Listing {
    pages: Vec<Vec<u8>>,
    bytes: usize,
    /// Something did not fit.
    cut: bool,
}

/// Lengths only.
impl fmt::Debug for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listing({} pages, {} bytes)", self.pages.len(), self.bytes)
    }
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    cursor: Option<&'a RawValue>,
}

impl Listing {
    /// Takes an answer: the request's `params`, the first bytes of its result, and whether those are all.
    pub fn add(&mut self, params: Option<&[u8]>, head: &[u8], whole: bool) {
        let params = params.and_then(|params| serde_json::from_slice::<Params<'_>>(params).ok());
        if params.is_none_or(|params| params.cursor.is_none()) {
            *self = Self::default();
        } else if self.pages.is_empty() {
            // What it goes on with was taken away or never seen.
            self.cut = true;
        }
        self.cut |= !whole;
        if self.pages.len() >= MOST_PAGES || self.bytes + head.len() > MOST_BYTES {
            self.cut = true;
            return;
        }
        self.bytes += head.len();
        self.pages.push(head.to_vec());
    }

    /// The tools. A page that is cut off gives those before the cut; a last page that names another one says that some are
    /// missing.
    #[must_use]
    pub fn read(&self, clean: &dyn Clean) -> SafeTools {
        let mut kept = Kept::default();
        let mut goes_on = false;
        for page in &self.pages {
            goes_on = false;
            let mut reader = serde_json::Deserializer::from_slice(page);
            // What was read before an error stays.
            let _ = Page { kept: &mut kept, goes_on: &mut goes_on, clean }.deserialize(&mut reader);
        }
        if goes_on || self.cut {
            kept.leave_out();
        }
        kept.done()
    }
}

/// A result, read into what is kept.
struct Page<'k> {
    kept: &'k mut Kept,
    goes_on: &'k mut bool,
    clean: &'k dyn Clean,
}

impl<'de> DeserializeSeed<'de> for Page<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Page<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a result")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "tools" => map.next_value_seed(Tools { kept: self.kept, clean: self.clean })?,
                "nextCursor" => *self.goes_on = map.next_value::<Value>()?.is_string(),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The list, element by element.
struct Tools<'k> {
    kept: &'k mut Kept,
    clean: &'k dyn Clean,
}

impl<'de> DeserializeSeed<'de> for Tools<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_seq(self)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    name: String,
    #[serde(borrow)]
    input_schema: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
}

impl<'de> Visitor<'de> for Tools<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tools")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(raw) = list.next_element::<&RawValue>()? {
            // A tool without a name, or with two, is none that can be called with certainty.
            let Ok(tool) = serde_json::from_str::<Tool<'_>>(raw.get()) else {
                self.kept.leave_out();
                continue;
            };
            // What is nested too deeply is no value here.
            let read = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
            let schema = tool.input_schema.map(read);
            let annotations = tool.annotations.and_then(read);
            let unread = matches!(schema, Some(None));
            self.kept.add(&tool.name, schema.flatten().as_ref(), annotations.as_ref(), unread, self.clean);
        }
        Ok(())
    }
}
