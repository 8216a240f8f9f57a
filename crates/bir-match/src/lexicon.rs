//! Closed classes of words: what may differ without a difference, and what never may.
//!
//! General words of the languages only; nothing here names a task, a tool or a thing.

/// What a word does to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// It turns the request around: "not", "never", "without".
    Negation,
    /// It makes it depend on something: "if", "unless", "only", "except".
    Condition,
    /// It adds another one: "and", "then", "also".
    Compound,
    /// It points at an earlier turn: "it", "again", "same".
    Reference,
    /// It compares: "more", "under", "than".
    Comparator,
    /// It picks an extreme: "cheapest", "most".
    Superlative,
    /// It relates: "from", "to", "with".
    Preposition,
    /// It asks or commands something of its own: "what", "is", "please do".
    Clause,
}

const NEGATION: &[&str] = &[
    "not",
    "no",
    "never",
    "none",
    "nothing",
    "nobody",
    "neither",
    "nor",
    "without",
    "avoid",
    "stop",
    "dont",
    "cancel",
    "ignore",
    "nicht",
    "kein",
    "keine",
    "keinen",
    "nie",
    "niemals",
    "ohne",
    "pas",
    "jamais",
    "sans",
    "nunca",
    "sin",
    "non",
    "mai",
    "senza",
    "não",
    "nem",
    "sem",
    "niet",
    "geen",
    "zonder",
    "nooit",
    "keiner",
    "keines",
    "aucun",
    "aucune",
    "ningún",
    "ninguna",
    "nessun",
    "nessuno",
    "nessuna",
    "nenhum",
    "nenhuma",
    "ignoriere",
    "ignorez",
    "ignora",
    "forget",
    "disregard",
    "stopp",
    "arrête",
    "не",
    "без",
    "нет",
    "никогда",
    "кроме",
    "nie",
    "bez",
    "żaden",
    "żadnych",
    "inte",
    "utan",
    "ingen",
    "aldrig",
    "değil",
    "olmadan",
    "hiçbir",
    "yok",
    "不",
    "没",
    "沒",
    "非",
    "无",
    "無",
    "未",
    "别",
    "別",
    "勿",
    "莫",
    "말고",
    "아니",
    "아닌",
    "없이",
    "없는",
    "ليس",
    "غير",
    "لا",
    "بدون",
    "לא",
    "בלי",
    "ללא",
];
const CONDITION: &[&str] = &[
    "if",
    "unless",
    "only",
    "except",
    "excluding",
    "exclude",
    "but",
    "provided",
    "otherwise",
    "else",
    "instead",
    "rather",
    "when",
    "whenever",
    "while",
    "until",
    "till",
    "once",
    "as",
    "because",
    "since",
    "though",
    "although",
    "whether",
    "besides",
    "excepting",
    "sorted",
    "ordered",
    "filtered",
    "limited",
    "whose",
    "which",
    "who",
    "where",
    "that",
    "including",
    "include",
    "just",
    "wenn",
    "falls",
    "nur",
    "außer",
    "aber",
    "sofern",
    "si",
    "sauf",
    "seulement",
    "mais",
    "solo",
    "salvo",
    "pero",
    "se",
    "soltanto",
    "ma",
    "apenas",
    "mas",
    "als",
    "tenzij",
    "alleen",
    "maar",
    "behalve",
    "ausgenommen",
    "ausser",
    "sondern",
    "excepté",
    "hormis",
    "excepto",
    "excluyendo",
    "sólo",
    "solamente",
    "tranne",
    "eccetto",
    "solo",
    "exceto",
    "só",
    "somente",
    "если",
    "только",
    "но",
    "oprócz",
    "tylko",
    "ale",
    "jeśli",
    "bara",
    "endast",
    "förutom",
    "om",
    "hariç",
    "sadece",
    "yalnız",
    "ama",
    "除",
    "只",
    "仅",
    "僅",
    "外",
    "以",
    "但",
    "제외",
    "빼고",
    "만",
    "إلا",
    "فقط",
    "إذا",
    "חוץ",
    "רק",
    "אם",
];
const COMPOUND: &[&str] = &[
    "and",
    "or",
    "then",
    "also",
    "plus",
    "afterwards",
    "after",
    "before",
    "too",
    "additionally",
    "next",
    "finally",
    "followed",
    "und",
    "oder",
    "dann",
    "auch",
    "danach",
    "et",
    "ou",
    "puis",
    "ensuite",
    "aussi",
    "y",
    "o",
    "luego",
    "también",
    "e",
    "poi",
    "anche",
    "depois",
    "também",
    "daarna",
    "ook",
    "vs",
    "versus",
    "и",
    "или",
    "lub",
    "albo",
    "oraz",
    "och",
    "eller",
    "veya",
    "ve",
    "和",
    "与",
    "與",
    "及",
    "或",
    "그리고",
    "또는",
    "或者",
    "أو",
    "או",
];
const REFERENCE: &[&str] = &[
    "it",
    "its",
    "that",
    "this",
    "those",
    "these",
    "them",
    "they",
    "again",
    "same",
    "something",
    "anything",
    "everything",
    "some",
    "any",
    "someone",
    "previous",
    "previously",
    "earlier",
    "former",
    "latter",
    "another",
    "other",
    "others",
    "such",
    "there",
    "here",
    "above",
    "said",
    "aforementioned",
    "aforesaid",
    "foregoing",
    "ditto",
    "likewise",
    "usual",
    "mine",
    "yours",
    "hers",
    "ours",
    "theirs",
    "he",
    "she",
    "him",
    "her",
    "his",
    "their",
    "one",
    "ones",
    "before",
    "last",
    "es",
    "das",
    "dies",
    "dasselbe",
    "nochmal",
    "wieder",
    "derselbe",
    "ça",
    "cela",
    "encore",
    "même",
    "eso",
    "otra",
    "mismo",
    "ciò",
    "stesso",
    "ancora",
    "isso",
    "mesmo",
    "dat",
    "dit",
    "opnieuw",
    "zelfde",
];
const COMPARATOR: &[&str] = &[
    "more", "less", "fewer", "greater", "than", "over", "under", "above", "below", "least", "most",
    "exactly", "minimum", "maximum", "max", "min", "very", "too", "beyond", "within", "up", "down", "higher",
    "lower", "larger", "smaller", "bigger", "cheaper", "longer", "shorter", "older", "newer", "earlier",
    "later", "faster", "slower", "better", "worse", "mehr", "weniger", "über", "unter", "plus", "moins",
    "más", "menos", "più", "meno", "mais", "meer", "minder",
];
const SUPERLATIVE: &[&str] = &[
    "most",
    "least",
    "best",
    "worst",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "last",
    "next",
    "previous",
    "only",
    "top",
    "bottom",
    "max",
    "min",
    "favorite",
    "favourite",
];
const PREPOSITION: &[&str] = &[
    "from",
    "to",
    "in",
    "on",
    "at",
    "by",
    "for",
    "with",
    "about",
    "into",
    "onto",
    "off",
    "out",
    "of",
    "near",
    "between",
    "among",
    "during",
    "through",
    "against",
    "toward",
    "towards",
    "via",
    "per",
    "around",
    "across",
    "along",
    "behind",
    "beside",
    "inside",
    "outside",
    "upon",
    "using",
    "regarding",
    "called",
    "named",
    "titled",
    "von",
    "nach",
    "zu",
    "zum",
    "zur",
    "für",
    "mit",
    "bei",
    "aus",
    "auf",
    "an",
    "am",
    "im",
    "um",
    "bis",
    "à",
    "de",
    "du",
    "des",
    "pour",
    "avec",
    "chez",
    "dans",
    "sur",
    "a",
    "para",
    "con",
    "por",
    "desde",
    "hasta",
    "da",
    "di",
    "per",
    "su",
    "em",
    "com",
    "naar",
    "van",
    "voor",
    "met",
    "bij",
    "op",
];
const CLAUSE: &[&str] = &[
    "what", "why", "how", "is", "are", "was", "were", "am", "be", "do", "does", "did", "can", "could",
    "will", "would", "should", "shall", "may", "might", "must", "have", "has", "had", "i", "you", "we",
    "please", "let", "me", "us", "want", "need", "make", "tell", "give",
];

/// Words that may be there or not in a request.
const HARMLESS: &[&str] = &[
    "the", "a", "an", "please", "kindly", "pls", "plz", "thanks", "thank", "hey", "hi", "hello", "ok",
    "okay", "um", "uh", "well", "so",
];

/// Of these, the ones that only open a request: "as well" is another thing.
const OPENING: &[&str] = &["hey", "hi", "hello", "ok", "okay", "well", "so", "thank"];
const ARTICLES: &[&str] = &["the", "a", "an"];

/// Words at the beginning that ask politely for what follows.
const FRAMES: &[&[&str]] = &[
    &["can", "you"],
    &["could", "you"],
    &["would", "you"],
    &["will", "you"],
    &["would", "you", "mind"],
    &["i", "want", "you", "to"],
    &["i", "would", "like", "you", "to"],
    &["i", "need", "you", "to"],
    &["i", "want", "to"],
    &["i", "would", "like", "to"],
    &["i", "need", "to"],
    &["i", "wish", "to"],
    &["let", "us"],
    &["go", "ahead", "and"],
];

/// Whether a word may be there or not.
pub fn is_harmless(word: &str) -> bool {
    HARMLESS.contains(&word)
}

/// Whether a word may be there or not at the beginning alone.
pub fn opens(word: &str) -> bool {
    OPENING.contains(&word)
}

/// Whether a word is an article.
pub fn is_article(word: &str) -> bool {
    ARTICLES.contains(&word)
}

/// Whether a word is one of the English words that relate ("of", "in") and nothing else.
pub(crate) fn relates(word: &str) -> bool {
    matches!(
        word,
        "of" | "in" | "at" | "by" | "for" | "with" | "from" | "to" | "into" | "during" | "via" | "per"
    )
}

/// Whether a word joins parts of a request, where it stands between others; "of" joins parts of a name.
pub fn joins(word: &str) -> bool {
    !is_harmless(word)
        && word != "of"
        && (matches!(word, "and" | "or") || classes(word).any(|c| c == Class::Preposition))
}

/// How many words at the beginning only ask for what follows.
pub fn frame<'a>(words: impl Iterator<Item = &'a str> + Clone) -> usize {
    let fits = |frame: &&&[&str]| words.clone().take(frame.len()).eq(frame.iter().copied());
    FRAMES.iter().filter(fits).map(|frame| frame.len()).max().unwrap_or(0)
}

/// Whether a word is in one of the lists, rather than of a class by its ending.
pub(crate) fn is_listed(word: &str) -> bool {
    LISTS.iter().any(|(_, words)| words.contains(&word))
}

const LISTS: [(Class, &[&str]); 8] = [
    (Class::Negation, NEGATION),
    (Class::Condition, CONDITION),
    (Class::Compound, COMPOUND),
    (Class::Reference, REFERENCE),
    (Class::Comparator, COMPARATOR),
    (Class::Superlative, SUPERLATIVE),
    (Class::Preposition, PREPOSITION),
    (Class::Clause, CLAUSE),
];

/// Everything that a word does.
pub fn classes(word: &str) -> impl Iterator<Item = Class> {
    let extreme = word.len() > 5 && word.ends_with("est") && word.is_ascii();
    let word = word.to_owned();
    LISTS.into_iter().filter_map(move |(class, words)| {
        (words.contains(&word.as_str()) || (class == Class::Superlative && extreme)).then_some(class)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_classes() {
        for (word, class) in [
            ("not", Class::Negation),
            ("unless", Class::Condition),
            ("then", Class::Compound),
            ("again", Class::Reference),
            ("under", Class::Comparator),
            ("cheapest", Class::Superlative),
            ("from", Class::Preposition),
            ("ohne", Class::Negation),
        ] {
            assert!(classes(word).any(|c| c == class), "{word}");
        }
        assert_eq!(classes("paris").count(), 0);
    }

    #[test]
    fn frames_are_the_longest_that_fit() {
        let frame = |text: &str| frame(text.split(' '));
        assert_eq!(frame("would you mind telling"), 3);
        assert_eq!(frame("can you play"), 2);
        assert_eq!(frame("play it"), 0);
    }
}
