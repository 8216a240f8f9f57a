//! A prompt as words to compare: lower case, contractions spelled out, each word with the bytes that it stands on. The signs of writing
//! (comma, dash, bracket, quote) are left out; a sign that says something ("%", "&", "€", "-" before a number) is a word.

use std::ops::Range;

/// A word of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its bytes.
    pub span: Range<usize>,
    /// In lower case; "what's" is "what" and "is".
    pub text: String,
    /// Written with a capital, or in digits.
    pub marked: bool,
    /// Written with a capital.
    pub capital: bool,
    /// A sign (comma, dash, bracket …) stands between it and the word before it.
    pub after_sign: bool,
}

/// What is written in one word and means two.
const JOINED: &[(&str, &[&str])] = &[
    ("cannot", &["can", "not"]),
    ("dont", &["do", "not"]),
    ("doesnt", &["does", "not"]),
    ("didnt", &["did", "not"]),
    ("wont", &["will", "not"]),
    ("cant", &["can", "not"]),
    ("isnt", &["is", "not"]),
    ("whats", &["what", "is"]),
    ("wheres", &["where", "is"]),
    ("hows", &["how", "is"]),
    ("im", &["i", "am"]),
    ("ive", &["i", "have"]),
    ("lets", &["let", "us"]),
    ("wanna", &["want", "to"]),
    ("gonna", &["going", "to"]),
    ("gimme", &["give", "me"]),
];

/// Words after which 's means "is".
const BEFORE_IS: &[&str] =
    &["what", "who", "where", "when", "how", "that", "there", "it", "here", "he", "she"];

/// The words of a text, in its order.
pub fn words(text: &str) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let mut sign = false;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if says(c, &text[..at], &text[at + c.len_utf8()..]) {
            let span = at..at + c.len_utf8();
            at = span.end;
            let after_sign = std::mem::take(&mut sign);
            found.push(Word { span, text: c.to_string(), marked: false, capital: false, after_sign });
            continue;
        }
        if !is_letter(c) {
            sign |= !c.is_whitespace() && !matches!(c, '\'' | '’');
            at += c.len_utf8();
            continue;
        }
        let script = script(c);
        let length = match script {
            // Each sign of these is a word as far as anybody can tell without a dictionary.
            Script::Han => c.len_utf8(),
            _ => text[at..]
                .find(|c: char| !is_letter(c) || self::script(c) != script)
                .unwrap_or(text.len() - at),
        };
        let span = at..at + length;
        at = span.end;
        push(text, span, std::mem::take(&mut sign), &mut found);
    }
    found
}

/// What a run of letters consists of; where it changes a word ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Digits,
    Han,
    Hiragana,
    Katakana,
    Other,
}

fn script(c: char) -> Script {
    match c {
        '0'..='9' => Script::Digits,
        '々'
        | '〆'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => Script::Han,
        '\u{3041}'..='\u{309f}' => Script::Hiragana,
        '\u{30a1}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' => Script::Katakana,
        _ => Script::Other,
    }
}

/// A sign of a script that is written without spaces between words.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(script(c), Script::Han | Script::Hiragana | Script::Katakana)
}

/// A word in the script of endings and small words.
pub(crate) fn is_hiragana(word: &str) -> bool {
    word.chars().all(|c| script(c) == Script::Hiragana)
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\u{300}'..='\u{36f}')
}

/// A sign that is no sign of writing.
fn says(c: char, before: &str, after: &str) -> bool {
    const WRITING: &str = ".,;:!?'\"()[]{}-_/\\`´¿¡…·•‐‑‒–—―‘’‚“”„«»‹›、。，；：！？（）「」『』《》・~*|";
    let number = after.starts_with(|c: char| c.is_ascii_digit()) && !before.ends_with(char::is_alphanumeric);
    match c {
        '-' | '−' | '–' => number,
        c if is_letter(c) || c.is_whitespace() || c.is_control() => false,
        // Marks of direction and joiners are not seen.
        '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        | '\u{fe00}'..='\u{fe0f}' => false,
        c => !WRITING.contains(c),
    }
}

fn push(text: &str, span: Range<usize>, after_sign: bool, found: &mut Vec<Word>) {
    let lower = text[span.clone()].to_lowercase();
    let apostrophe = matches!(text[..span.start].chars().next_back(), Some('\'' | '’'));
    let glued =
        found.last().is_some_and(|last| apostrophe && text[last.span.end..span.start].chars().count() == 1);
    if let Some(last) = found.last_mut().filter(|_| glued) {
        let before = last.text.as_str();
        let spelled = match lower.as_str() {
            "s" if BEFORE_IS.contains(&before) => "is",
            "s" if before == "let" => "us",
            "m" => "am",
            "re" => "are",
            "ll" => "will",
            "ve" => "have",
            "d" => "would",
            "t" if before.ends_with('n') => {
                match before {
                    "can" => {}
                    "won" => "will".clone_into(&mut last.text),
                    _ => {
                        last.text.pop();
                    }
                }
                "not"
            }
            _ => "",
        };
        if !spelled.is_empty() {
            found.push(Word { span, text: spelled.to_owned(), marked: false, capital: false, after_sign });
            return;
        }
    }
    let capital = text[span.clone()].chars().next().is_some_and(char::is_uppercase);
    let marked = capital || text[span.clone()].starts_with(|c: char| c.is_ascii_digit());
    match JOINED.iter().find(|(joined, _)| *joined == lower) {
        Some((_, parts)) => {
            for part in *parts {
                found.push(Word {
                    span: span.clone(),
                    text: (*part).to_owned(),
                    marked,
                    capital,
                    after_sign,
                });
            }
        }
        None => found.push(Word { span, text: lower, marked, capital, after_sign }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contractions_are_spelled_out() {
        let texts = |text| words(text).into_iter().map(|w| w.text).collect::<Vec<_>>().join(" ");
        assert_eq!(texts("What's on? I don't know, won't ask."), "what is on i do not know will not ask");
        assert_eq!(texts("Bob's can't let's dont"), "bob s can not let us do not");
        assert_eq!(texts("8:30pm R&B"), "8 30 pm r & b");
        assert_eq!(texts("6 % - at -5, 2024-11-15 x-9"), "6 % at - 5 2024 11 15 x 9");
        assert_eq!(texts(" \u{0} ,. "), "");
        assert_eq!(texts("東京ではないカフェ5番"), "東 京 ではない カフェ 5 番");
        let found = words("Hi, Bob");
        assert!(found[1].after_sign && found[1].marked && !found[0].after_sign);
    }
}
