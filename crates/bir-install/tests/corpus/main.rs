//! Configuration files as people have them, into which servers are wrapped and out of which they are taken again.
//!
//! Each file of a folder here is put to its place in a home of its own. `corpus.toml` says what has to come of it:
//!
//! - `identical`: servers are wrapped, and an uninstall gives the file back byte for byte;
//! - `nothing`: there is nothing to be wrapped, and the file is not changed;
//! - `refused`: the file is left as it is, and the plan says why (`because` is a piece of that).
//!
//! `wrapped` names the servers that have to be wrapped, `left` those that have to be left, each with the word that says why. What the file
//! says is read by parsers that take no part in the change (`tree.rs`), and looked at with knowledge of our own (`entries.rs`): every server that
//! should be wrapped is, nothing else has another value. Then it is uninstalled, once as it was left, and once after
//! another program has written the file. The credentials in the files all begin with `canary-`, and must be found nowhere in
//! the state directory or in what a person is shown.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test, which says why it cannot go on")]

mod disk;
mod entries;
mod hidden;
mod home;
mod keys;
mod large;
mod manifest;
mod spelled;
mod tree;

use bir_hosts::Host;
use bir_model::Format;
use home::{Asked, Home, Thing, shown};
use manifest::{Row, Then, content, rows};
use std::path::Path;
use tree::Tree;

const CANARY: &str = "canary-";
/// The file of Claude Code in which a project's own scope is.
const CLAUDE: &str = "~/.claude.json";

macro_rules! hosts {
    ($($test:ident: $name:literal,)*) => {$(
        #[test]
        fn $test() {
            through($name);
        }
    )*

    /// Every folder of files is one of the tests.
    #[test]
    fn every_file_belongs_to_a_host_that_is_tested() {
        let known = [$($name),*];
        for row in rows() {
            assert!(known.contains(&row.host()), "{} is of no host that is tested", row.path);
        }
        for host in Host::ALL {
            assert!(rows().iter().any(|row| row.host() == host.as_str()), "{} has no file", host.as_str());
        }
    }};
}

hosts! {
    claude_code: "claude-code",
    codex: "codex",
    cursor: "cursor",
    vs_code: "vs-code",
    copilot_cli: "copilot-cli",
    gemini_cli: "gemini-cli",
    opencode: "opencode",
    windsurf: "windsurf",
    claude_desktop: "claude-desktop",
    zed: "zed",
    cline: "cline",
    goose: "goose",
    continue_: "continue",
    amp: "amp",
    kiro: "kiro",
    hermes: "hermes",
    file: "file",
}

#[test]
fn there_are_at_least_a_hundred_and_fifty_and_every_one_is_in_the_manifest() {
    let rows = rows();
    assert!(rows.len() >= 150, "{} files", rows.len());
    let folder = manifest::folder();
    for host in
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        for file in
            std::fs::read_dir(&host).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
        {
            let path = file.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
            assert!(rows.iter().any(|row| row.path == path), "{path} is not in corpus.toml");
        }
    }
}

/// All files of a host; what is wrong with any of them is told together.
fn through(host: &str) {
    let problems: Vec<String> = rows()
        .iter()
        .filter(|row| row.host() == host)
        .flat_map(|row| {
            let mut problems = Problems { path: row.path.clone(), found: Vec::new() };
            one(row, &mut problems);
            problems.found
        })
        .collect();
    assert!(problems.is_empty(), "{} problems:\n  {}", problems.len(), problems.join("\n  "));
}

struct Problems {
    path: String,
    found: Vec<String>,
}

impl Problems {
    fn check(&mut self, good: bool, what: impl FnOnce() -> String) -> bool {
        if !good {
            self.found.push(format!("{}: {}", self.path, what()));
        }
        good
    }
}

fn format_of(path: &Path) -> Format {
    match path.extension().and_then(|ext| ext.to_str()) {
        Some("toml") => Format::Toml,
        Some("yaml") => Format::Yaml,
        _ => Format::Jsonc,
    }
}

/// A home with a row's files; where its own one stands.
fn set_up(row: &Row) -> (Home, std::path::PathBuf) {
    let home = Home::new();
    // Another installation, which is there.
    let other = home.put("~/.other/bir-proxy", b"");
    let names = [
        ("@PROJECT@", home.project.display().to_string()),
        ("@PROXY@", home::PROXY.to_owned()),
        ("@OTHER@", other.display().to_string()),
    ];
    for (at, path) in &row.beside {
        home.put(at, &content(path, &names));
    }
    let path = home.put(&row.at, &content(&row.path, &names));
    (home, path)
}

fn asked(row: &Row, home: &Home) -> Asked {
    let host = Host::ALL.into_iter().find(|host| host.as_str() == row.host() && !row.config);
    Asked {
        host,
        servers: row.servers.clone(),
        config_files: if host.is_none() { vec![home.place(&row.at)] } else { Vec::new() },
        mcp_json: row.mcp_json,
        everywhere: row.everywhere,
        hooks: false,
    }
}

fn one(row: &Row, problems: &mut Problems) {
    let (home, path) = set_up(row);
    let asked = asked(row, &home);
    let before = home.picture();
    let bytes = std::fs::read(&path).unwrap();
    let plan = home.plan(&asked);
    let what = shown(&plan);
    problems.check(!what.contains(CANARY), || format!("a credential is shown: {}", around(&what)));
    outcomes(row, &plan, problems);
    if let Err(why) = home.carry_out(&plan) {
        problems.check(false, || format!("it was not carried out: {why}"));
        return;
    }
    problems
        .check(!home.kept().contains(CANARY), || format!("a credential is kept: {}", around(&home.kept())));
    match row.then {
        Then::Nothing | Then::Refused => {
            problems.check(home.picture() == before, || "something was changed".into());
        }
        Then::Identical => {
            if row.unread || installed(row, &home, &bytes, problems) {
                again(&home, &asked, problems);
                way_back(row, &home, &before, problems);
                with_hooks(row, problems);
                written_meanwhile(row, problems);
            }
        }
    }
}

/// What the plan says of each server, and of the file.
fn outcomes(row: &Row, plan: &bir_install::plan::Plan, problems: &mut Problems) {
    use bir_install::plan::Outcome;
    let mut wrapped: Vec<&str> = plan
        .servers
        .iter()
        .filter(|line| line.outcome == Outcome::Wrapped)
        .map(|line| line.server.as_str())
        .collect();
    let mut expected: Vec<&str> = row.wrapped.iter().map(String::as_str).collect();
    wrapped.sort_unstable();
    expected.sort_unstable();
    problems.check(wrapped == expected, || {
        format!("wrapped are {wrapped:?}, expected {expected:?}; {:?}", plan.servers)
    });
    for (server, code) in &row.left {
        let found = plan.servers.iter().filter(|line| line.server == *server);
        let codes: Vec<&str> =
            found
                .map(|line| {
                    if let Outcome::Left(refusal) = &line.outcome {
                        refusal.code
                    } else {
                        line.outcome.code()
                    }
                })
                .collect();
        problems.check(codes.contains(&code.as_str()), || format!("{server} is {codes:?}, expected {code}"));
    }
    if row.then == Then::Refused {
        let reasons = plan.untouched.iter().map(|(_, why)| why.clone());
        let left = plan.servers.iter().filter_map(|line| {
            if let Outcome::Left(refusal) = &line.outcome { Some(refusal.why.clone()) } else { None }
        });
        let reasons: Vec<String> = reasons.chain(left).collect();
        problems.check(reasons.iter().any(|why| why.contains(&row.because)), || {
            format!("no reason has `{}` in it: {reasons:?}", row.because)
        });
    }
}

/// Whether every server that should be wrapped is, and nothing else has another value.
fn installed(row: &Row, home: &Home, bytes: &[u8], problems: &mut Problems) -> bool {
    let format = format_of(Path::new(&row.path));
    let path = home.place(&row.at);
    let (before, after) = (tree::read(bytes, format), tree::read(&std::fs::read(&path).unwrap(), format));
    let (before, after) = match (before, after) {
        (Ok(before), Ok(after)) => (before, after),
        other => return problems.check(false, || format!("the other parser does not read it: {other:?}")),
    };
    let mut good = true;
    let mut expected = before.clone();
    let mut own = None;
    if several_of_a_name(row) {
        return every_element(row, &before, &after, problems);
    }
    for name in &row.wrapped {
        let Some(original) = original(row, home, &before, name) else {
            return problems.check(false, || format!("{name} is in no place that the manifest knows"));
        };
        let Some((wrapped, place)) = wrapped_one(row, home, &after, name, &mut own) else {
            good = problems.check(false, || format!("{name} is not wrapped"));
            continue;
        };
        let wrong = entries::wrong(name, &original, &wrapped);
        good &= problems.check(wrong.is_none(), || wrong.unwrap_or_default());
        put(&mut expected, &place, name, wrapped);
    }
    if own.is_some() {
        good &= problems.check(std::fs::read(&path).unwrap() == bytes, || {
            "a file that was to be copied was changed".into()
        });
    } else {
        good &= problems.check(after == expected, || {
            format!("something else has another value: {}", difference(&expected, &after, String::new()))
        });
    }
    comments(bytes, &std::fs::read(&path).unwrap(), problems);
    good
}

/// Whether a list has two servers of one name.
fn several_of_a_name(row: &Row) -> bool {
    row.wrapped.iter().enumerate().any(|(at, name)| row.wrapped[..at].contains(name))
}

/// Each element of a list behind the proxy, by its index.
fn every_element(row: &Row, before: &Tree, after: &Tree, problems: &mut Problems) -> bool {
    let list = |document: &Tree| {
        entries::servers(row.host(), document).map(|servers| servers.list().to_vec()).unwrap_or_default()
    };
    let (before, after) = (list(before), list(after));
    let mut good = problems.check(before.len() == after.len() && before.len() == row.wrapped.len(), || {
        "not every element is there".into()
    });
    for ((name, original), wrapped) in row.wrapped.iter().zip(&before).zip(&after) {
        let wrong = entries::wrong(name, original, wrapped);
        good &= problems.check(wrong.is_none(), || wrong.unwrap_or_default());
    }
    good
}

/// The path of the project's own servers in Claude Code's file.
fn local(home: &Home) -> Vec<String> {
    vec!["projects".into(), home.project.display().to_string(), "mcpServers".into()]
}

fn original(row: &Row, home: &Home, before: &Tree, name: &str) -> Option<Tree> {
    if row.host() == "claude-code"
        && let Some(entry) = before.at(&local(home)).and_then(|servers| entries::find(servers, name))
    {
        return Some(entry.clone());
    }
    entries::find(entries::servers(row.host(), before)?, name).cloned()
}

/// A wrapped entry, and where it stands. Claude Code's stand in the project's own scope, unless they were to be wrapped in place; `own` is that
/// file where it is another one.
fn wrapped_one(
    row: &Row,
    home: &Home,
    after: &Tree,
    name: &str,
    own: &mut Option<Tree>,
) -> Option<(Tree, Vec<String>)> {
    let in_place = row.host() != "claude-code" || row.mcp_json || row.everywhere;
    if in_place {
        let place = entries::places(row.host()).iter().find(|place| after.at(place).is_some())?;
        let entry = entries::find(after.at(place)?, name)?;
        return entries::is_wrapped(entry)
            .then(|| (entry.clone(), place.iter().map(|key| (*key).to_owned()).collect()));
    }
    let document = if row.at == CLAUDE {
        after
    } else {
        let bytes = std::fs::read(home.place(CLAUDE)).ok()?;
        own.insert(tree::read(&bytes, Format::Json).ok()?)
    };
    let entry = entries::find(document.at(&local(home))?, name)?;
    entries::is_wrapped(entry).then(|| (entry.clone(), local(home)))
}

/// The expected file: the wrapped entry in the place of the original, or as a copy at the end.
fn put(expected: &mut Tree, place: &[String], name: &str, wrapped: Tree) {
    match expected.make(place) {
        Tree::List(list) => {
            if let Some(entry) =
                list.iter_mut().find(|entry| entry.get("name").and_then(Tree::as_text) == Some(name))
            {
                *entry = wrapped;
            }
        }
        servers => *servers.make(&[name]) = wrapped,
    }
}

/// Where two trees begin to differ.
fn difference(expected: &Tree, found: &Tree, at: String) -> String {
    match (expected, found) {
        (Tree::Map(a), Tree::Map(b)) => {
            let keys = |map: &[(String, Tree)]| map.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
            if keys(a) != keys(b) {
                return format!("{at}: the members are {:?}, expected {:?}", keys(b), keys(a));
            }
            let differing = a.iter().zip(b).find(|(a, b)| a != b);
            differing.map_or_else(String::new, |((key, a), (_, b))| difference(a, b, format!("{at}/{key}")))
        }
        _ => format!("{at}: {found:?}, expected {expected:?}"),
    }
}

/// Comments outside of what was wrapped are where they were; those inside say so.
fn comments(before: &[u8], after: &[u8], problems: &mut Problems) {
    let lines = |bytes: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let comment = |line: &str| ["//", "#", "/*", "*"].iter().any(|mark| line.starts_with(mark));
        text.split(['\n', '\r'])
            .map(|line| line.trim().to_owned())
            .filter(|line| comment(line) && !line.contains("inside"))
            .collect()
    };
    let (before, after) = (lines(before), lines(after));
    problems.check(before == after, || format!("the comments are {after:?}, they were {before:?}"));
}

/// A second install changes nothing.
fn again(home: &Home, asked: &Asked, problems: &mut Problems) {
    let installed = home.picture();
    let plan = home.plan(asked);
    problems.check(plan.operation.changes.is_empty(), || {
        let changes: Vec<_> = plan.operation.changes.iter().map(|change| &change.path).collect();
        format!("a second install would change {changes:?}")
    });
    let done = home.carry_out(&plan);
    problems.check(done.is_ok() && home.picture() == installed, || {
        format!("a second install changed something: {done:?}")
    });
}

/// Uninstalled, everything is as it was.
fn way_back(
    row: &Row,
    home: &Home,
    before: &std::collections::BTreeMap<std::path::PathBuf, Thing>,
    problems: &mut Problems,
) {
    let plan = home.out(row.everywhere);
    problems.check(!shown(&plan).contains(CANARY), || "a credential is shown by the uninstall".into());
    if let Err(why) = home.carry_out(&plan) {
        problems.check(false, || format!("the uninstall was not carried out: {why}"));
        return;
    }
    for (path, thing) in &home.picture() {
        problems.check(before.contains_key(path), || format!("{} is left behind", path.display()));
        if let (Some(Thing::File(then)), Thing::File(now)) = (before.get(path), thing) {
            problems.check(then == now, || {
                let at = then.iter().zip(now).position(|(a, b)| a != b).unwrap_or(then.len().min(now.len()));
                format!("{} is not as it was, from byte {at} on", path.display())
            });
        }
    }
    problems.check(home.picture() == *before, || "something is not as it was".into());
    problems.check(!home.kept().contains(CANARY), || "a credential is kept after the uninstall".into());
}

/// The same with hooks.
fn with_hooks(row: &Row, problems: &mut Problems) {
    let (home, _) = set_up(row);
    let before = home.picture();
    let plan = home.plan(&Asked { hooks: true, ..asked(row, &home) });
    match home.carry_out(&plan) {
        Ok(()) => way_back(row, &home, &before, problems),
        Err(why) => {
            problems.check(false, || format!("with hooks it was not carried out: {why}"));
        }
    }
}

/// Another program writes the file while we are in it: an uninstall takes out what is ours, and leaves what the other has written.
fn written_meanwhile(row: &Row, problems: &mut Problems) {
    const OTHER: &str = "touched_by_another";
    let (home, _) = set_up(row);
    // The file that holds something of ours afterwards.
    let at = if row.host() == "claude-code" && !row.mcp_json { CLAUDE } else { &row.at };
    let path = home.place(at);
    let format = format_of(&path);
    let before =
        std::fs::read(&path).ok().map_or(Ok(Tree::Map(Vec::new())), |bytes| tree::read(&bytes, format));
    let Ok(mut before) = before else { return };
    if home.carry_out(&home.plan(&asked(row, &home))).is_err() {
        return;
    }
    let installed = std::fs::read(&path).unwrap();
    let Ok(mut now) = tree::read(&installed, format) else { return };
    let touched = match format {
        Format::Json | Format::Jsonc => {
            *now.make(&[OTHER]) = Tree::Bool(true);
            now.json(0).into_bytes()
        }
        Format::Toml => {
            [format!("{OTHER} = true # first of all\n").as_bytes(), unmarked(&installed)].concat()
        }
        Format::Yaml if before.members().is_empty() || in_flow(&installed) => return,
        Format::Yaml => [format!("{OTHER}: true # first of all\n").as_bytes(), unmarked(&installed)].concat(),
    };
    std::fs::write(&path, &touched).unwrap();
    let plan = home.out(row.everywhere);
    if let Err(why) = home.carry_out(&plan) {
        problems.check(false, || format!("after another's writing the uninstall was not carried out: {why}"));
        return;
    }
    let bytes = std::fs::read(&path).unwrap_or_default();
    let after = match tree::read(&bytes, format) {
        Ok(after) => after,
        Err(why) => {
            problems.check(false, || {
                format!("after another's writing the uninstall left something broken: {why}")
            });
            return;
        }
    };
    match format {
        Format::Json | Format::Jsonc => *before.make(&[OTHER]) = Tree::Bool(true),
        _ => {
            if let Tree::Map(members) = &mut before {
                members.insert(0, (OTHER.into(), Tree::Bool(true)));
            }
        }
    }
    problems.check(sorted(&after) == sorted(&before), || {
        format!("after another's writing: {}", difference(&sorted(&before), &sorted(&after), String::new()))
    });
    problems.check(!home.kept().contains(CANARY), || "a credential is kept after another's writing".into());
}

/// Without the order of members: an entry that is put together again has them in the order of its kind. A key that was there twice is
/// there once, as parsers have it.
fn sorted(tree: &Tree) -> Tree {
    match tree {
        Tree::List(list) => Tree::List(list.iter().map(sorted).collect()),
        Tree::Map(map) => {
            let members: std::collections::BTreeMap<_, _> =
                map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            Tree::Map(members.into_iter().collect())
        }
        other => other.clone(),
    }
}

/// Without the byte order mark.
fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Whether a YAML text is one flow mapping, or has lines before its first that a line cannot be put in front of.
fn in_flow(bytes: &[u8]) -> bool {
    unmarked(bytes).iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| b"{%-".contains(byte))
}

/// The surroundings of the first credential in a text.
fn around(text: &str) -> String {
    let at = text.find(CANARY).unwrap_or_default();
    let from = text.floor_char_boundary(at.saturating_sub(120));
    let to = text.ceil_char_boundary((at + 40).min(text.len()));
    text[from..to].to_owned()
}
