//! How a file was, told by the file that it became: pieces of that one, and what is in neither.
//!
//! A file of a host may hold credentials, which are kept nowhere else. What they are made of stands in the new file as it stood in the old
//! one, so the delta copies it from there.
//!
//! ```text
//!  old ──┬─ what both begin and end with ──────────────▶ Copy
//!        ├─ blocks of the new text found again ────────▶ Copy     (blocks)
//!        ├─ a string that the newer text spells
//!        │  in another way ────────────────────────────▶ Copy, and Spelled for each character that differs     (spelled)
//!        ├─ a credential or a comment that neither of
//!        │  them covers (private), and any other word
//!        │  that is no key (words) ────────────────────▶ Copy, from wherever the new text holds it; else there is no delta
//!        └─ the rest ──────────────────────────────────▶ Text
//! ```

mod blocks;
pub(crate) mod private;
mod spelled;
mod words;

use blocks::Part;
use serde::{Deserialize, Serialize};
pub use spelled::Spelling;
use spelled::{Found, Quotes};
use std::collections::BTreeMap;
use std::ops::Range;

/// A shorter value is no credential: it would be found in every text.
const SHORTEST_SECRET: usize = 4;

/// A piece of the older text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Piece {
    /// Bytes of the newer text: where they begin, and how many.
    Copy(usize, usize),
    /// A character that the newer text spells in another way: where it begins there, its bytes there, and how it is to be spelled.
    Spelled(usize, usize, Spelling),
    /// What the newer text does not hold.
    Text(String),
}

/// From the newer text to the older one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Delta(pub Vec<Piece>);

impl Delta {
    /// The way back from `new` to `old`. None: a piece of text would hold a byte of one of `secrets` (as it is, or as JSON writes
    /// it), of a comment, of what the recorder's rules find, or a word that is neither a key nor a word of configurations; or the older
    /// text is not UTF-8. Secrets and words of fewer than four bytes are not looked for.
    #[must_use]
    pub fn between(new: &[u8], old: &[u8], secrets: &[String]) -> Option<Self> {
        let text = std::str::from_utf8(old).ok()?;
        let mut draft = Draft { parts: blocks::parts(new, text), spelled: BTreeMap::new(), new };
        draft.respell(text);
        for secret in secrets.iter().filter(|secret| secret.len() >= SHORTEST_SECRET) {
            for written in spellings(secret) {
                for (at, _) in text.match_indices(&written) {
                    draft.cover(at..at + written.len(), text)?;
                }
            }
        }
        for range in private::comments(text) {
            draft.cover(range, text)?;
        }
        let mut harmless = words::Harmless::of(text);
        for range in private::found(&draft.parts, text) {
            if draft.cover(range.clone(), text).is_none() {
                draft.cover_each(range, text, &mut harmless)?;
            }
        }
        for range in words::bare(&draft.parts, text) {
            if draft.cover(range.clone(), text).is_none() && !harmless.has(&range) {
                return None;
            }
        }
        let delta = draft.delta(text);
        // What was found in another spelling is looked at once more, since nothing else has compared it.
        let is_plain = !delta.0.iter().any(|piece| matches!(piece, Piece::Spelled(..)));
        (is_plain || delta.apply(new).as_deref() == Some(old)).then_some(delta)
    }

    /// The older text. None: it was made for another text.
    #[must_use]
    pub fn apply(&self, new: &[u8]) -> Option<Vec<u8>> {
        let mut old = Vec::with_capacity(new.len());
        for piece in &self.0 {
            match piece {
                Piece::Copy(at, length) => old.extend_from_slice(new.get(*at..at.checked_add(*length)?)?),
                Piece::Spelled(at, length, spelling) => {
                    let c = spelled::read(new.get(*at..at.checked_add(*length)?)?)?;
                    old.extend_from_slice(spelling.of(c)?.as_bytes());
                }
                Piece::Text(text) => old.extend_from_slice(text.as_bytes()),
            }
        }
        Some(old)
    }
}

/// A secret as it may stand in a file: itself, within a JSON text, and there with its slashes escaped.
fn spellings(secret: &str) -> Vec<String> {
    let mut all = vec![secret.to_owned()];
    let quoted = serde_json::Value::from(secret).to_string();
    let inner = &quoted[1..quoted.len() - 1];
    for other in [inner.to_owned(), inner.replace('/', "\\/")] {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    all
}

/// A delta in the making.
struct Draft<'n> {
    parts: Vec<Part>,
    /// Parts that the newer text spells in another way, by where they begin in the older one: their bytes in the newer one.
    spelled: BTreeMap<usize, (usize, Spelling)>,
    new: &'n [u8],
}

impl Draft<'_> {
    /// Strings with escapes, and those that the newer text escapes, are told by its own spelling of them: whole, else word by word.
    fn respell(&mut self, text: &str) {
        let mut lines: Vec<Range<usize>> = Vec::new();
        for part in self.parts.iter().filter(|part| part.new.is_none()) {
            let start = text[..part.old.start].rfind('\n').map_or(0, |at| at + 1);
            let mut at = start.max(lines.last().map_or(0, |line| line.end));
            while at < part.old.end {
                let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
                lines.push(at..end);
                at = end;
            }
        }
        for (range, quotes) in lines.into_iter().flat_map(|line| spelled::strings(text, line)) {
            if self.holds(&range) {
                continue;
            }
            let Some(tokens) = spelled::tokens(text, range, quotes) else { continue };
            if let Some(found) = spelled::find(self.new, &tokens) {
                self.put(&found);
                continue;
            }
            for word in tokens.split(|token| text[token.old.clone()] == *" ") {
                let Some((first, last)) = word.first().zip(word.last()) else { continue };
                if !self.holds(&(first.old.start..last.old.end))
                    && let Some(found) = spelled::find(self.new, word)
                {
                    self.put(&found);
                }
            }
        }
    }

    /// The parts that a range of the older text has a share in.
    fn within(&self, range: &Range<usize>) -> Range<usize> {
        let first = self.parts.partition_point(|part| part.old.end <= range.start);
        first..self.parts.partition_point(|part| part.old.start < range.end)
    }

    /// Whether all of a range comes out of the newer text.
    fn holds(&self, range: &Range<usize>) -> bool {
        self.parts[self.within(range)].iter().all(|part| part.new.is_some())
    }

    /// Makes sure that no byte of what stands at `range` of the older text is in a text of its own.
    fn cover(&mut self, range: Range<usize>, text: &str) -> Option<()> {
        if self.holds(&range) {
            return Some(());
        }
        let secret = text[range.clone()].as_bytes();
        if let Some(at) = self.new.windows(secret.len()).position(|window| window == secret) {
            let new = at..at + secret.len();
            return self.put(&[Found { old: range, new, spelling: None }]);
        }
        let found = spelled::find(self.new, &spelled::tokens(text, range, Quotes::None)?)?;
        self.put(&found)
    }

    /// Of what the rules have found beyond the quotes of a value: each value and key of it by itself.
    fn cover_each(
        &mut self,
        range: Range<usize>,
        text: &str,
        harmless: &mut words::Harmless<'_>,
    ) -> Option<()> {
        let is_syntax = |c: char| c.is_whitespace() || ['"', '\''].contains(&c);
        let found = &text[range.clone()];
        if !found.contains(is_syntax) {
            return None;
        }
        let mut at = range.start;
        for piece in found.split_inclusive(is_syntax) {
            let word = at..at + piece.trim_end_matches(is_syntax).len();
            at += piece.len();
            let is_told = text[word.clone()].chars().all(|c| c.is_ascii_punctuation())
                || self.cover(word.clone(), text).is_some()
                || harmless.has(&word);
            is_told.then_some(())?;
        }
        Some(())
    }

    /// Puts what was found in the newer text in place of the parts that stand there. None: a character would be cut.
    fn put(&mut self, found: &[Found]) -> Option<()> {
        let range = found.first()?.old.start..found.last()?.old.end;
        let within = self.within(&range);
        let mut instead = Vec::with_capacity(found.len() + 2);
        let head = self.parts[within.clone()].first().filter(|part| part.old.start < range.start);
        let tail = self.parts[within.clone()].last().filter(|part| part.old.end > range.end);
        if [head, tail].into_iter().flatten().any(|part| self.spelled.contains_key(&part.old.start)) {
            return None;
        }
        instead.extend(head.map(|head| Part { old: head.old.start..range.start, new: head.new }));
        let tail = tail.map(|tail| {
            let new = tail.new.map(|new| new + (range.end - tail.old.start));
            Part { old: range.end..tail.old.end, new }
        });
        self.spelled.retain(|at, _| !range.contains(at));
        let mut last: Option<Range<usize>> = None;
        for Found { old, new, spelling } in found {
            if let Some(spelling) = spelling {
                self.spelled.insert(old.start, (new.len(), *spelling));
            }
            match (instead.last_mut(), &last) {
                (Some(part), Some(end)) if spelling.is_none() && end.end == new.start => {
                    part.old.end = old.end
                }
                _ => instead.push(Part { old: old.clone(), new: Some(new.start) }),
            }
            last = spelling.is_none().then(|| new.clone());
        }
        instead.extend(tail);
        self.parts.splice(within, instead);
        Some(())
    }

    fn delta(self, text: &str) -> Delta {
        let piece = |Part { old, new }: Part| match (new, self.spelled.get(&old.start)) {
            (Some(at), Some((length, spelling))) => Piece::Spelled(at, *length, *spelling),
            (Some(at), None) => Piece::Copy(at, old.len()),
            (None, _) => Piece::Text(text[old].to_owned()),
        };
        Delta(self.parts.into_iter().map(piece).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    const OLD: &str = "{\n  \"mcpServers\": {\n    \"db\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"db-mcp\"],\n      \"env\": {\"DB_TOKEN\": \"t0k3n-of-db\"}\n    }\n  }\n}\n";
    const NEW: &str = "{\n  \"mcpServers\": {\n    \"db\": {\n      \"command\": \"/opt/bir/bir-proxy\",\n      \"args\": [\"--server-name\", \"db\", \"--\", \"npx\", \"-y\", \"db-mcp\"],\n      \"env\": {\"DB_TOKEN\": \"t0k3n-of-db\"}\n    }\n  }\n}\n";

    fn texts(delta: &Delta) -> Vec<String> {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Copy(..) | Piece::Spelled(..) => None,
        };
        delta.0.iter().filter_map(text).collect()
    }

    fn between(new: &str, old: &str, secrets: &[&str]) -> Option<Delta> {
        let secrets: Vec<_> = secrets.iter().map(|&secret| secret.to_owned()).collect();
        Delta::between(new.as_bytes(), old.as_bytes(), &secrets)
    }

    #[test]
    fn an_entry_is_unwrapped_out_of_its_own_text() {
        let delta = between(NEW, OLD, &["t0k3n-of-db"]).unwrap();
        assert_eq!(delta.apply(NEW.as_bytes()).unwrap(), OLD.as_bytes());
        assert!(texts(&delta).concat().len() < 30, "{delta:?}");
        let written = serde_json::to_string(&delta).unwrap();
        assert!(written.starts_with(r#"[{"copy":[0,"#), "{written}");
        assert_eq!(serde_json::from_str::<Delta>(&written).unwrap(), delta);
    }

    #[test]
    fn texts_at_their_limits() {
        for (new, old) in [("", ""), ("abc", ""), ("", "abc"), ("abc", "abc"), ("aba", "ab aba"), ("aa", "a")]
        {
            let delta = between(new, old, &[]).unwrap();
            assert_eq!(delta.apply(new.as_bytes()).unwrap(), old.as_bytes(), "{new:?} {old:?}");
        }
        assert_eq!(between("", "abc", &[]).unwrap().0, [Piece::Text("abc".into())]);
        assert_eq!(Delta::between(b"abc", b"\xff", &[]), None, "no text");
        assert!(Delta::between(b"\xff\xfe", b"abc", &[]).is_some(), "only the older one must be text");
    }

    #[test]
    fn another_text_has_no_way_back() {
        assert_eq!(Delta(vec![Piece::Copy(2, 2)]).apply(b"abc"), None);
        assert_eq!(Delta(vec![Piece::Copy(usize::MAX, 2)]).apply(b"abc"), None);
    }

    #[test]
    fn a_secret_is_copied_or_there_is_no_delta() {
        let cases = [
            // Too short for a block, and its neighbours differ.
            ("x = 'pw12'", "{\"password\": \"pw12\"}", "pw12", true),
            ("x = 'other'", "{\"password\": \"pw12\"}", "pw12", false),
            // Half of it stands in a text that both begin with.
            ("token=abcdXXXX", "token=abcdefgh", "abcdefgh", false),
            ("token=abcdXXXX abcdefgh", "token=abcdefgh", "abcdefgh", true),
            // As JSON writes it.
            (r#"{"a": 1}"#, r#"{"a": "q\"uote"}"#, "q\"uote", false),
            (r#"["q\"uote"]"#, r#"{"a": "q\"uote"}"#, "q\"uote", true),
            // In another spelling, and within a JSON text within another.
            (r#"["ab&cd efgh"]"#, r#"{"a": "ab\u0026cd efgh"}"#, "ab&cd efgh", true),
            (r#"["ab&cd", "efgh"]"#, r#"{"a": "ab\u0026cd \u0065fgh"}"#, "ab&cd efgh", true),
            (r#"["ab&cd"]"#, r#"{"a": "ab\u0026ce"}"#, "ab&ce", false),
            (r#"["{\"a\":\"q\\\"uote\"}"]"#, r#"{"a": "q\"uote"}"#, "q\"uote", true),
            (r#"["{\"a\":\"q\\\"uote\"}"]"#, "a: 'q\"uote'", "q\"uote", true),
            (r#"["{\"a\":\"q\\\"uote\"}"]"#, "a: q\"uote", "q\"uote", true),
            (r#"["it's so"]"#, "a: 'it''s so'", "it's so", true),
            (r#"["ab&cd"]"#, r#"{"a": "ab\u00eFcd"}"#, "ab\u{ef}cd", false),
            (r#"{"a": 1}"#, r#"{"u": "https:\/\/u:p@h\/"}"#, "https://u:p@h/", false),
            // Twice.
            ("pw12", "pw12 and pw12", "pw12", true),
            // Fewer than four bytes are no secret.
            ("", "abc", "abc", true),
        ];
        for (new, old, secret, there) in cases {
            let delta = between(new, old, &[secret]);
            assert_eq!(delta.is_some(), there, "{new} {old}");
            let Some(delta) = delta else { continue };
            assert_eq!(delta.apply(new.as_bytes()).unwrap(), old.as_bytes());
            assert!(secret.len() < 4 || texts(&delta).iter().all(|text| !text.contains(secret)), "{delta:?}");
        }
    }

    #[test]
    fn a_comment_is_copied_or_there_is_no_delta() {
        let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        let stays = format!("a = 2 # old key: {token}\nb = 1\n");
        let was = format!("a = 1 # old key: {token}\n# Authorization = \"Bearer abcdef123456\"\nb = 1\n");
        for (new, old, there) in [
            (stays.as_str(), was.replace("# Authorization = \"Bearer abcdef123456\"\n", ""), true),
            (stays.as_str(), was.clone(), false),
            ("a = 2\nb = 1\n", was.clone(), false),
            ("a = 2\nb = 1\n", "a = 2 # plain words\nb = 1\n".to_owned(), false),
            ("# plain words\na = 2\nb = 1\n", "a = 2 # plain words\nb = 1\n".to_owned(), true),
            // No comment and no known value: the rules find it.
            ("{\"a\": 1}", format!("{{\"a\": 1, \"x\": \"{token}\"}}"), false),
        ] {
            let delta = between(new, &old, &[]);
            assert_eq!(delta.is_some(), there, "{new} {old}");
            let Some(delta) = delta else { continue };
            assert_eq!(delta.apply(new.as_bytes()).unwrap(), old.as_bytes());
            assert!(texts(&delta).iter().all(|text| !text.contains("words") && !text.contains("ghp_")));
        }
    }

    #[test]
    fn what_the_rules_find_beyond_quotes_is_looked_at_piece_by_piece() {
        let old = "x = \"first-one\"\nname = \"second\"\nother = \"third-one\"\n";
        let new = b"url = 'first-one'\nitem = 'second'\n";
        let found = |from: &str, to: &str| old.find(from).unwrap()..old.find(to).unwrap() + to.len();
        for (range, is_covered) in [
            (found("first-one", "second"), true),
            (found("first-one", "other"), true),
            (found("second", "third-one"), false),
            (found("third-one", "third-one"), false),
        ] {
            let mut draft = Draft { parts: Vec::new(), spelled: BTreeMap::new(), new };
            draft.parts.push(Part { old: 0..old.len(), new: None });
            let mut harmless = words::Harmless::of(old);
            assert_eq!(draft.cover_each(range, old, &mut harmless).is_some(), is_covered);
            assert!(
                !is_covered || texts(&draft.delta(old)).iter().all(|text| !text.contains("-one\"\nname"))
            );
        }
    }

    #[test]
    fn a_word_that_no_rule_knows_is_copied_or_there_is_no_delta() {
        for (new, old, there) in [
            // A key goes with its value, which stands elsewhere now.
            (
                "{\"a\": {\"env\": \"{\\\"X\\\": \\\"unknown1\\\"}\"}}",
                "{\"a\": {\"headers\": {\"X\": \"unknown1\"}}}",
                true,
            ),
            ("{\"a\": {\"env\": 1}}", "{\"a\": {\"headers\": {\"X\": \"unknown1\"}}}", false),
            ("{\"a\": {\"env\": 1}}", "{\"a\": {\"type\": \"http\"}}", true),
            // The head of a table is made of keys.
            ("[top.a]\nenv = 1\n", "[top.a]\n\n[top.a.headers]\nX = 1\n", true),
            ("[top.a]\nenv = 1\n", "[top.a]\nx = 'top.b.headers'\n", false),
            // Half of it is what both begin with.
            ("a: unkn", "a: unknown1", false),
        ] {
            let delta = between(new, old, &[]);
            assert_eq!(delta.is_some(), there, "{new} {old}");
            assert!(delta.is_none_or(|delta| delta.apply(new.as_bytes()).unwrap() == old.as_bytes()));
        }
    }

    #[test]
    fn a_large_file_with_changes_at_both_ends_is_quick() {
        let line = |i: usize| format!("  \"key{i}\": \"value of {}\",\n", i * 7919 % 104_729);
        let body: String = (0..100_000).map(line).collect();
        let old = format!("{{\n  \"first\": 1,\n{body}  \"last\": 2\n}}\n");
        let new = format!("{{\n  \"first\": \"another\",\n{body}  \"last\": \"ü\"\n}}\n");
        let began = Instant::now();
        let delta = between(&new, &old, &["value of 7919"]).unwrap();
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        assert_eq!(delta.apply(new.as_bytes()).unwrap(), old.as_bytes());
        assert!(texts(&delta).concat().len() < 64, "{:?}", texts(&delta));
    }

    /// Two texts that share much, in another order, with characters of every length.
    fn relatives() -> impl Strategy<Value = (String, String, String)> {
        let word = prop::sample::select(vec![
            "command",
            "\"npx\"",
            "{",
            "}",
            ": ",
            "\n    ",
            "ä",
            "𝄞𝄞",
            "日本語",
            "sEcReT-42",
            "sEcReT",
            "-42",
            "aaaaaaaaaaaa",
        ]);
        let text = || prop::collection::vec(word.clone(), 0..40).prop_map(|words| words.concat());
        (text(), text(), text(), text())
            .prop_map(|(a, b, c, d)| (format!("{a}{b}{c}"), format!("{a}{d}{b}{c}"), d))
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(new in any::<Vec<u8>>(), old in any::<Vec<u8>>()) {
            let delta = Delta::between(&new, &old, &[]);
            prop_assert!(delta.is_none() || std::str::from_utf8(&old).is_ok());
            if let Some(delta) = delta {
                prop_assert_eq!(delta.apply(&new).unwrap(), old);
            }
        }

        #[test]
        fn relatives_come_back_without_their_secret((new, old, other) in relatives()) {
            for (new, old) in [(&new, &old), (&old, &new), (&other, &old)] {
                let delta = between(new, old, &[]);
                // Pieces of the newer text make the older one, unless a word of it stands nowhere there.
                let is_made = |word: &str| word.len() < 4 || new.contains(word);
                prop_assert!(delta.is_some() || !old.split_whitespace().all(is_made));
                if let Some(delta) = delta {
                    prop_assert_eq!(delta.apply(new.as_bytes()).unwrap(), old.as_bytes());
                }
                let delta = between(new, old, &["sEcReT-42"]);
                if let Some(delta) = delta {
                    prop_assert_eq!(delta.apply(new.as_bytes()).unwrap(), old.as_bytes());
                    prop_assert!(!serde_json::to_string(&delta).unwrap().contains("sEcReT-42"));
                }
            }
        }

        #[test]
        fn damaged_deltas_do_no_harm(at in any::<usize>(), length in any::<usize>(), new in any::<Vec<u8>>()) {
            let out = Delta(vec![Piece::Copy(at, length)]).apply(&new);
            prop_assert!(out.is_none_or(|out| out.len() == length));
            drop(Delta(vec![Piece::Spelled(at, length % 32, Spelling::U)]).apply(&new));
        }
    }
}
