/// What a person decided about secrets, beside the built-in rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Further names whose values are secrets.
    pub keys: Vec<String>,
    /// Names that hold none, though they look so.
    pub keep: Vec<String>,
    /// Further shapes of values, as regular expressions.
    pub patterns: Vec<String>,
    /// Match secret names as parts of other words, too (`BIR_REDACT_LEGACY_KEYS=1`).
    pub legacy_keys: bool,
}
