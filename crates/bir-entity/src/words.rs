//! The words of numbers, days and units in several languages, and which of them a text is written in.
//!
//! Languages share spellings that mean different things ("once" is eleven in one and an adverb in another), so only the words of
//! the text's own language are looked up.

/// A language with its own words here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
}

use Language::{Dutch, English, French, German, Italian, Portuguese, Spanish};

/// Words that are frequent in one language and rare in the others.
const FREQUENT: &[(Language, &[&str])] = &[
    (
        English,
        &["the", "of", "and", "to", "for", "what", "is", "my", "with", "at", "this", "it", "on", "please"],
    ),
    (
        German,
        &[
            "der", "die", "das", "und", "ist", "ich", "von", "nach", "für", "mit", "am", "um", "bitte",
            "ein", "eine", "uhr", "den",
        ],
    ),
    (
        French,
        &[
            "le", "la", "les", "et", "est", "je", "une", "pour", "avec", "du", "des", "à", "au", "mon",
            "moi", "vers",
        ],
    ),
    (
        Spanish,
        &[
            "el", "los", "las", "y", "es", "una", "para", "con", "del", "por", "mi", "qué", "al", "desde",
            "hasta",
        ],
    ),
    (
        Italian,
        &["il", "gli", "e", "è", "una", "per", "con", "della", "di", "che", "mio", "alle", "dal", "un"],
    ),
    (Portuguese, &["o", "os", "as", "e", "é", "uma", "para", "com", "do", "da", "em", "meu", "não", "às"]),
    (Dutch, &["het", "een", "en", "is", "ik", "van", "naar", "voor", "met", "op", "mijn", "de", "om"]),
];

/// The language of a text, from the first few hundred of its words; English where nothing speaks for another.
pub(crate) fn language<'a>(words: impl Iterator<Item = &'a str>) -> Language {
    let mut hits = [0_usize; 7];
    for word in words.take(400) {
        for (at, (_, frequent)) in FREQUENT.iter().enumerate() {
            hits[at] += usize::from(frequent.contains(&word));
        }
    }
    let mut best = 0;
    for at in 1..hits.len() {
        if hits[at] > hits[best] {
            best = at;
        }
    }
    FREQUENT[best].0
}

/// How a number word counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NumberWord {
    /// It adds.
    Unit(u64),
    /// It multiplies what was said before it.
    Times(u64),
}

const ONES: &[(Language, &[&str])] = &[
    (
        English,
        &[
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ],
    ),
    (
        German,
        &[
            "null",
            "eins",
            "zwei",
            "drei",
            "vier",
            "fünf",
            "sechs",
            "sieben",
            "acht",
            "neun",
            "zehn",
            "elf",
            "zwölf",
            "dreizehn",
            "vierzehn",
            "fünfzehn",
            "sechzehn",
            "siebzehn",
            "achtzehn",
            "neunzehn",
        ],
    ),
    (
        French,
        &[
            "zéro", "", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze",
            "douze", "treize", "quatorze", "quinze", "seize",
        ],
    ),
    (
        Spanish,
        &[
            "cero",
            "",
            "dos",
            "tres",
            "cuatro",
            "cinco",
            "seis",
            "siete",
            "ocho",
            "nueve",
            "diez",
            "once",
            "doce",
            "trece",
            "catorce",
            "quince",
            "dieciséis",
            "diecisiete",
            "dieciocho",
            "diecinueve",
        ],
    ),
    (
        Italian,
        &[
            "zero",
            "",
            "due",
            "tre",
            "quattro",
            "cinque",
            "sei",
            "sette",
            "otto",
            "nove",
            "dieci",
            "undici",
            "dodici",
            "tredici",
            "quattordici",
            "quindici",
            "sedici",
            "diciassette",
            "diciotto",
            "diciannove",
        ],
    ),
    (
        Portuguese,
        &[
            "zero",
            "",
            "dois",
            "três",
            "quatro",
            "cinco",
            "seis",
            "sete",
            "oito",
            "nove",
            "dez",
            "onze",
            "doze",
            "treze",
            "catorze",
            "quinze",
            "dezesseis",
            "dezessete",
            "dezoito",
            "dezenove",
        ],
    ),
    (
        Dutch,
        &[
            "nul",
            "één",
            "twee",
            "drie",
            "vier",
            "vijf",
            "zes",
            "zeven",
            "acht",
            "negen",
            "tien",
            "elf",
            "twaalf",
            "dertien",
            "veertien",
            "vijftien",
            "zestien",
            "zeventien",
            "achttien",
            "negentien",
        ],
    ),
];

const TENS: &[(Language, &[&str])] = &[
    (English, &["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]),
    (German, &["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]),
    (French, &["vingt", "trente", "quarante", "cinquante", "soixante"]),
    (Spanish, &["veinte", "treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa"]),
    (Italian, &["venti", "trenta", "quaranta", "cinquanta", "sessanta", "settanta", "ottanta", "novanta"]),
    (Portuguese, &["vinte", "trinta", "quarenta", "cinquenta", "sessenta", "setenta", "oitenta", "noventa"]),
    (Dutch, &["twintig", "dertig", "veertig", "vijftig", "zestig", "zeventig", "tachtig", "negentig"]),
];

const TIMES: &[(Language, &[(&str, u64)])] = &[
    (
        English,
        &[
            ("hundred", 100),
            ("thousand", 1_000),
            ("million", 1_000_000),
            ("billion", 1_000_000_000),
            ("dozen", 12),
        ],
    ),
    (
        German,
        &[
            ("hundert", 100),
            ("tausend", 1_000),
            ("million", 1_000_000),
            ("millionen", 1_000_000),
            ("dutzend", 12),
        ],
    ),
    (
        French,
        &[("cent", 100), ("cents", 100), ("mille", 1_000), ("million", 1_000_000), ("millions", 1_000_000)],
    ),
    (Spanish, &[("cien", 100), ("mil", 1_000), ("millón", 1_000_000), ("millones", 1_000_000)]),
    (Italian, &[("cento", 100), ("mille", 1_000), ("mila", 1_000), ("milioni", 1_000_000)]),
    (Portuguese, &[("cem", 100), ("mil", 1_000), ("milhão", 1_000_000), ("milhões", 1_000_000)]),
    (Dutch, &[("honderd", 100), ("duizend", 1_000), ("miljoen", 1_000_000)]),
];

/// What a word counts.
pub(crate) fn number_word(word: &str, language: Language) -> Option<NumberWord> {
    let of = |table: &[(Language, &'static [&'static str])]| {
        table
            .iter()
            .find(|(l, _)| *l == language)
            .and_then(|(_, words)| words.iter().position(|w| *w == word && !w.is_empty()))
    };
    if let Some(n) = of(ONES) {
        return Some(NumberWord::Unit(n as u64));
    }
    if let Some(n) = of(TENS) {
        return Some(NumberWord::Unit((n as u64 + 2) * 10));
    }
    let times = TIMES.iter().find(|(l, _)| *l == language)?.1;
    times.iter().find(|(w, _)| *w == word).map(|(_, n)| NumberWord::Times(*n))
}
