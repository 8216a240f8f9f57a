//! The words of months, days and units of time, and the words around them, in several languages.

use crate::words::Language;
use Language::{Dutch, English, French, German, Italian, Portuguese, Spanish};

/// Months from January, with the short forms that are no other word.
const MONTHS: &[(Language, [&str; 12])] = &[
    (
        English,
        [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ],
    ),
    (English, ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    (English, ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sept", "oct", "nov", "dec"]),
    (
        German,
        [
            "januar",
            "februar",
            "märz",
            "april",
            "mai",
            "juni",
            "juli",
            "august",
            "september",
            "oktober",
            "november",
            "dezember",
        ],
    ),
    (
        French,
        [
            "janvier",
            "février",
            "mars",
            "avril",
            "mai",
            "juin",
            "juillet",
            "août",
            "septembre",
            "octobre",
            "novembre",
            "décembre",
        ],
    ),
    (
        Spanish,
        [
            "enero",
            "febrero",
            "marzo",
            "abril",
            "mayo",
            "junio",
            "julio",
            "agosto",
            "septiembre",
            "octubre",
            "noviembre",
            "diciembre",
        ],
    ),
    (
        Italian,
        [
            "gennaio",
            "febbraio",
            "marzo",
            "aprile",
            "maggio",
            "giugno",
            "luglio",
            "agosto",
            "settembre",
            "ottobre",
            "novembre",
            "dicembre",
        ],
    ),
    (
        Portuguese,
        [
            "janeiro",
            "fevereiro",
            "março",
            "abril",
            "maio",
            "junho",
            "julho",
            "agosto",
            "setembro",
            "outubro",
            "novembro",
            "dezembro",
        ],
    ),
    (
        Dutch,
        [
            "januari",
            "februari",
            "maart",
            "april",
            "mei",
            "juni",
            "juli",
            "augustus",
            "september",
            "oktober",
            "november",
            "december",
        ],
    ),
];

/// A month, from 1.
pub(crate) fn month(word: &str, language: Language) -> Option<i8> {
    let found =
        MONTHS.iter().filter(|(l, _)| *l == language).find_map(|(_, m)| m.iter().position(|w| *w == word))?;
    i8::try_from(found + 1).ok()
}

/// Weekdays from Monday.
const WEEKDAYS: &[(Language, [&str; 7])] = &[
    (English, ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]),
    (German, ["montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"]),
    (French, ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"]),
    (Spanish, ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"]),
    (Italian, ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"]),
    (Portuguese, ["segunda", "terça", "quarta", "quinta", "sexta", "sábado", "domingo"]),
    (Dutch, ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"]),
];

/// A weekday, from 0 for Monday.
pub(crate) fn weekday(word: &str, language: Language) -> Option<i8> {
    let found = WEEKDAYS
        .iter()
        .filter(|(l, _)| *l == language)
        .find_map(|(_, d)| d.iter().position(|w| *w == word))?;
    i8::try_from(found).ok()
}

/// Days that are named from today.
const RELATIVE: &[(Language, &[(&str, i64)])] = &[
    (English, &[("today", 0), ("tonight", 0), ("tomorrow", 1), ("yesterday", -1)]),
    (German, &[("heute", 0), ("morgen", 1), ("übermorgen", 2), ("gestern", -1), ("vorgestern", -2)]),
    (French, &[("demain", 1), ("hier", -1)]),
    (Spanish, &[("hoy", 0), ("ayer", -1)]),
    (Italian, &[("oggi", 0), ("domani", 1), ("ieri", -1)]),
    (Portuguese, &[("hoje", 0), ("amanhã", 1), ("ontem", -1)]),
    (Dutch, &[("vandaag", 0), ("morgen", 1), ("overmorgen", 2), ("gisteren", -1)]),
];

/// How many days from today.
pub(crate) fn relative_day(word: &str, language: Language) -> Option<i64> {
    let table = RELATIVE.iter().find(|(l, _)| *l == language)?.1;
    table.iter().find(|(w, _)| *w == word).map(|(_, n)| *n)
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

const TIME_UNITS: &[(Language, &[(&str, TimeUnit)])] = &[
    (
        English,
        &[
            ("second", TimeUnit::Second),
            ("seconds", TimeUnit::Second),
            ("sec", TimeUnit::Second),
            ("secs", TimeUnit::Second),
            ("minute", TimeUnit::Minute),
            ("minutes", TimeUnit::Minute),
            ("min", TimeUnit::Minute),
            ("mins", TimeUnit::Minute),
            ("hour", TimeUnit::Hour),
            ("hours", TimeUnit::Hour),
            ("hr", TimeUnit::Hour),
            ("hrs", TimeUnit::Hour),
            ("day", TimeUnit::Day),
            ("days", TimeUnit::Day),
            ("week", TimeUnit::Week),
            ("weeks", TimeUnit::Week),
            ("month", TimeUnit::Month),
            ("months", TimeUnit::Month),
            ("year", TimeUnit::Year),
            ("years", TimeUnit::Year),
        ],
    ),
    (
        German,
        &[
            ("sekunde", TimeUnit::Second),
            ("sekunden", TimeUnit::Second),
            ("minute", TimeUnit::Minute),
            ("minuten", TimeUnit::Minute),
            ("stunde", TimeUnit::Hour),
            ("stunden", TimeUnit::Hour),
            ("tag", TimeUnit::Day),
            ("tage", TimeUnit::Day),
            ("tagen", TimeUnit::Day),
            ("woche", TimeUnit::Week),
            ("wochen", TimeUnit::Week),
            ("monat", TimeUnit::Month),
            ("monate", TimeUnit::Month),
            ("monaten", TimeUnit::Month),
            ("jahr", TimeUnit::Year),
            ("jahre", TimeUnit::Year),
            ("jahren", TimeUnit::Year),
        ],
    ),
    (
        French,
        &[
            ("seconde", TimeUnit::Second),
            ("secondes", TimeUnit::Second),
            ("minute", TimeUnit::Minute),
            ("minutes", TimeUnit::Minute),
            ("heure", TimeUnit::Hour),
            ("heures", TimeUnit::Hour),
            ("jour", TimeUnit::Day),
            ("jours", TimeUnit::Day),
            ("semaine", TimeUnit::Week),
            ("semaines", TimeUnit::Week),
            ("mois", TimeUnit::Month),
            ("ans", TimeUnit::Year),
        ],
    ),
    (
        Spanish,
        &[
            ("segundos", TimeUnit::Second),
            ("minuto", TimeUnit::Minute),
            ("minutos", TimeUnit::Minute),
            ("hora", TimeUnit::Hour),
            ("horas", TimeUnit::Hour),
            ("día", TimeUnit::Day),
            ("días", TimeUnit::Day),
            ("semana", TimeUnit::Week),
            ("semanas", TimeUnit::Week),
            ("mes", TimeUnit::Month),
            ("meses", TimeUnit::Month),
            ("años", TimeUnit::Year),
        ],
    ),
    (
        Italian,
        &[
            ("secondi", TimeUnit::Second),
            ("minuti", TimeUnit::Minute),
            ("ora", TimeUnit::Hour),
            ("ore", TimeUnit::Hour),
            ("giorno", TimeUnit::Day),
            ("giorni", TimeUnit::Day),
            ("settimane", TimeUnit::Week),
            ("mesi", TimeUnit::Month),
            ("anni", TimeUnit::Year),
        ],
    ),
    (
        Portuguese,
        &[
            ("segundos", TimeUnit::Second),
            ("minutos", TimeUnit::Minute),
            ("hora", TimeUnit::Hour),
            ("horas", TimeUnit::Hour),
            ("dia", TimeUnit::Day),
            ("dias", TimeUnit::Day),
            ("semanas", TimeUnit::Week),
            ("meses", TimeUnit::Month),
            ("anos", TimeUnit::Year),
        ],
    ),
    (
        Dutch,
        &[
            ("seconden", TimeUnit::Second),
            ("minuut", TimeUnit::Minute),
            ("minuten", TimeUnit::Minute),
            ("uur", TimeUnit::Hour),
            ("dag", TimeUnit::Day),
            ("dagen", TimeUnit::Day),
            ("week", TimeUnit::Week),
            ("weken", TimeUnit::Week),
            ("maanden", TimeUnit::Month),
        ],
    ),
];

/// A unit of time.
pub(crate) fn time_unit(word: &str, language: Language) -> Option<TimeUnit> {
    let table = TIME_UNITS.iter().find(|(l, _)| *l == language)?.1;
    table.iter().find(|(w, _)| *w == word).map(|(_, u)| *u)
}

/// The words around relative times, of one language.
pub(crate) struct Around {
    /// "in" three days, "next" week, "last" week, "this" week, three days "ago".
    pub(crate) inside: &'static [&'static str],
    pub(crate) next: &'static [&'static str],
    pub(crate) last: &'static [&'static str],
    pub(crate) this: &'static [&'static str],
    pub(crate) ago: &'static [&'static str],
    /// Between the first and the last day of a stretch.
    pub(crate) until: &'static [&'static str],
    /// Where days are written with a point or a slash, the day comes first.
    pub(crate) day_first: bool,
    /// The articles that stand for one in "an hour".
    pub(crate) one: &'static [&'static str],
}

/// The words around relative times.
pub(crate) fn around(language: Language) -> &'static Around {
    const E: Around = Around {
        inside: &["in"],
        next: &["next"],
        last: &["last"],
        this: &["this"],
        ago: &["ago"],
        until: &["to", "until", "till", "through", "and", "-", "–"],
        day_first: false,
        one: &["a", "an"],
    };
    const D: Around = Around {
        inside: &["in"],
        next: &["nächste", "nächsten", "nächster", "nächstes"],
        last: &["letzte", "letzten", "letzter"],
        this: &["diese", "diesen", "dieser", "dieses"],
        ago: &[],
        until: &["bis", "und", "-", "–"],
        day_first: true,
        one: &["ein", "eine", "einen", "einer", "einem"],
    };
    const F: Around = Around {
        inside: &["dans"],
        next: &[],
        last: &[],
        this: &[],
        ago: &[],
        until: &["au", "à", "-", "–"],
        day_first: true,
        one: &["un", "une"],
    };
    const S: Around = Around {
        inside: &["en"],
        next: &["próximo", "próxima"],
        last: &["pasado", "pasada"],
        this: &["este", "esta"],
        ago: &[],
        until: &["al", "hasta", "-", "–"],
        day_first: true,
        one: &["un", "una"],
    };
    const I: Around = Around {
        inside: &["tra", "fra"],
        next: &["prossimo", "prossima"],
        last: &["scorso", "scorsa"],
        this: &["questo", "questa"],
        ago: &["fa"],
        until: &["al", "-", "–"],
        day_first: true,
        one: &["un", "una"],
    };
    const P: Around = Around {
        inside: &["em"],
        next: &["próximo", "próxima"],
        last: &["passado", "passada"],
        this: &["este", "esta"],
        ago: &["atrás"],
        until: &["a", "até", "-", "–"],
        day_first: true,
        one: &["um", "uma"],
    };
    const N: Around = Around {
        inside: &["over"],
        next: &["volgende"],
        last: &["vorige"],
        this: &["deze", "dit"],
        ago: &["geleden"],
        until: &["tot", "en", "-", "–"],
        day_first: true,
        one: &["een"],
    };
    match language {
        English => &E,
        German => &D,
        French => &F,
        Spanish => &S,
        Italian => &I,
        Portuguese => &P,
        Dutch => &N,
    }
}
