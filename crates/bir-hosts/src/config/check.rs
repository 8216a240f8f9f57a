//! What tests of host modules share: a machine, a document, and what becomes of its servers.

use super::{
    Config, ConfigFile, Found, FoundFile, Machine, Refusal, Role, Server, System, Wrap, Wrapping, carry_out,
};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where the proxy stands in tests.
pub(crate) const PROXY: &str = "/opt/bir/bir-proxy";

/// Nothing asked for.
pub(crate) fn plain() -> Wrapping {
    Wrapping {
        proxy: PROXY.into(),
        no_correlation: false,
        mcp_json: false,
        everywhere: false,
        host_named: false,
        named: false,
    }
}

/// The server was named.
pub(crate) fn named() -> Wrapping {
    Wrapping { named: true, ..plain() }
}

/// What stands in files of the project is wrapped there.
pub(crate) fn in_place() -> Wrapping {
    Wrapping { mcp_json: true, ..plain() }
}

/// Does something with a machine whose home is `/h`, and whose environment has these variables.
pub(crate) fn on<T>(system: System, variables: &[(&str, &str)], what: impl FnOnce(&Machine<'_>) -> T) -> T {
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| OsString::from(value))
    };
    what(&Machine { home: "/h".into(), system, variable: &variable })
}

/// The files of a host for the project `/p`, each as `scope role path`.
pub(crate) fn files(config: &dyn Config, system: System, variables: &[(&str, &str)]) -> Vec<String> {
    let all = on(system, variables, |machine| config.files(machine, Path::new("/p")));
    let shown = |file: &ConfigFile| {
        let path = file.path.display().to_string().replace('\\', "/");
        format!("{:?} {:?} {path}", file.scope, file.role).to_lowercase_words()
    };
    all.iter().map(shown).collect()
}

trait Words {
    fn to_lowercase_words(self) -> String;
}

impl Words for String {
    /// The first two words in small letters; a path keeps its own.
    fn to_lowercase_words(self) -> String {
        let mut words = self.splitn(3, ' ');
        let mut next = || words.next().unwrap_or_default();
        format!("{} {} {}", next().to_lowercase(), next().to_lowercase(), next())
    }
}

/// What of a host's files says `document`; it stands in the first of a scope.
pub(crate) fn found(config: &dyn Config, machine: &Machine<'_>, document: &Value) -> Found {
    let project = PathBuf::from("/p");
    let files = config.files(machine, &project);
    let file = files.into_iter().find(|file| matches!(file.role, Role::Servers | Role::Both));
    let files = file.map(|file| FoundFile { file, value: document.clone() });
    Found { files: files.into_iter().collect(), project }
}

/// What becomes of each server of a document: `name: the wrapped entry`, or `name: ! code`. What is wrapped is read again, wrapped no second
/// time, and unwrapped to what it was.
pub(crate) fn becomes(config: &dyn Config, document: &Value, with: &Wrapping) -> Vec<String> {
    on(System::Linux, &[], |machine| {
        let found = found(config, machine, document);
        let servers = config.servers(machine, &found);
        let line = |server: &Server| match config.wrap(machine, &found, server, with) {
            Ok(wrap) => {
                format!("{}: {}", server.name, round_trip(config, machine, &found, server, &wrap, with))
            }
            Err(Refusal { code, why }) => {
                assert!(!why.is_empty() && !why.ends_with('.') && !why.contains('\n'), "{why}");
                format!("{}: ! {code}", server.name)
            }
        };
        servers.iter().map(line).collect()
    })
}

/// The wrapped entry, once it was shown to be what is expected of one.
pub(crate) fn round_trip(
    config: &dyn Config,
    machine: &Machine<'_>,
    found: &Found,
    server: &Server,
    wrap: &Wrap,
    with: &Wrapping,
) -> Value {
    let before = &found.at(&wrap.file.path).unwrap().value;
    let mut after = before.clone();
    for edit in &wrap.edits {
        assert!(carry_out(&mut after, edit), "{edit:?}");
    }
    let entry = wrap.place.of(&after).unwrap().clone();
    // The wrapped file reads as one, and what stands behind the proxy is what it was.
    let again = Found {
        files: vec![FoundFile { file: wrap.file.clone(), value: after.clone() }],
        project: found.project.clone(),
    };
    let read = config.servers(machine, &again);
    let wrapped = read.iter().find(|one| one.place == wrap.place).unwrap();
    assert_eq!(wrapped.wrapped.as_deref(), Some(with.proxy.as_str()));
    assert_eq!((&wrapped.name, &wrapped.reach), (&server.name, &server.reach));
    assert_eq!(config.wrap(machine, &again, wrapped, with).unwrap_err().code, "wrapped");
    // And back. The memo is read from a file meanwhile.
    if let Some(memo) = &wrap.memo {
        let memo = serde_json::from_str(&serde_json::to_string(memo).unwrap()).unwrap();
        for edit in config.unwrap(&entry, &wrap.place, &memo).unwrap() {
            assert!(carry_out(&mut after, &edit), "{edit:?}");
        }
        assert_eq!(&after, before);
        let back = wrap.place.of(&after).unwrap();
        assert!(config.unwrap(back, &wrap.place, &memo).is_err(), "it was unwrapped");
    }
    entry
}
