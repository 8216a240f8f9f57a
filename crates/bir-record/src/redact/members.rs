//! Members of objects whose names say what part they have: the two of a pair, harmless variables of an environment, what describes a cookie, the
//! words of JSON Schema.

/// The part that a member has in a pair such as `{"name": "API_KEY", "value": "…"}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Its value is a name.
    Name,
    /// Its value is what the name stands for.
    Value,
    /// Neither.
    None,
}

/// The part that a member of this name has in a pair.
pub(super) fn role(name: &str) -> Role {
    let is = |list: &[&str]| list.iter().any(|w| w.eq_ignore_ascii_case(name));
    if name.len() > 13 {
        Role::None
    } else if is(&[
        "name",
        "key",
        "header",
        "headerName",
        "variable",
        "var",
        "k",
        "field",
        "param",
        "parameter",
        "parameterKey",
        "option",
        "n",
    ]) {
        Role::Name
    } else if is(&["value", "val", "v", "values", "parameterVal", "stringValue"]) {
        Role::Value
    } else {
        Role::None
    }
}

/// Environment variables whose values are kept.
const HARMLESS_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "LANG",
    "LANGUAGE",
    "TERM",
    "NODE_ENV",
    "SHELL",
    "USER",
    "LOGNAME",
    "PWD",
    "OLDPWD",
    "TZ",
    "EDITOR",
    "PAGER",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CI",
    "DEBUG",
    "LOG_LEVEL",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "PORT",
    "HOSTNAME",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SHLVL",
    "DISPLAY",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "NODE_PATH",
    "NODE_OPTIONS",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "VIRTUAL_ENV",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "RAILS_ENV",
    "FLASK_ENV",
    "APP_ENV",
    "PYTHONIOENCODING",
    "SYSTEMROOT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "COMSPEC",
    "PATHEXT",
];

/// Members of a thing called `environment` that is a deployment, not a list of variables.
const OF_A_DEPLOYMENT: &[&str] = &["name", "id", "url", "type", "status", "description", "slug", "region"];

/// Whether the value of this environment variable is kept. In a thing called `environment` (`all` is false) what describes a
/// deployment is kept too.
pub(super) fn harmless_variable(name: &str, all: bool) -> bool {
    HARMLESS_VARIABLES.iter().any(|w| w.eq_ignore_ascii_case(name))
        || (name.len() > 3 && name.get(..3).is_some_and(|p| p.eq_ignore_ascii_case("LC_")))
        || (!all && OF_A_DEPLOYMENT.contains(&name))
}

/// Whether a member describes a cookie rather than being its value.
pub(super) fn describes_cookie(name: &str) -> bool {
    [
        "name",
        "domain",
        "path",
        "expires",
        "expiry",
        "expirationDate",
        "maxAge",
        "max-age",
        "sameSite",
        "httpOnly",
        "secure",
        "size",
        "session",
        "hostOnly",
        "storeId",
        "priority",
        "sameParty",
        "sourceScheme",
        "sourcePort",
        "partitionKey",
        "url",
        "id",
        "count",
        "creation",
        "lastAccessed",
        "type",
        "description",
    ]
    .iter()
    .any(|w| w.eq_ignore_ascii_case(name))
}

/// Words of JSON Schema that may stand under a secret name when what is there describes a value instead of being one.
pub(super) fn describes_schema(name: &str) -> bool {
    [
        "type",
        "title",
        "description",
        "format",
        "minLength",
        "maxLength",
        "pattern",
        "nullable",
        "required",
        "readOnly",
        "writeOnly",
        "deprecated",
        "minimum",
        "maximum",
        "$ref",
        "items",
        "properties",
        "anyOf",
        "oneOf",
        "allOf",
        "additionalProperties",
        "sensitive",
        "optional",
        "minItems",
        "maxItems",
        "in",
    ]
    .contains(&name)
}
