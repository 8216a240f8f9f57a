//! What becomes of each server of a host.
//!
//! ```text
//!  the files as they are ── what is ours unwrapped, copies taken out ──▶ as if we had never been there ── wrap ──▶ as it should be
//!         └────────────────────────────── compared, entry by entry ───────────────────────────────────────────────┘
//! ```
//!
//! So a second install changes nothing, another path or option renews what differs, a copy follows what it copies, and one whose original has
//! gone goes as well.

use super::held::{Held, held, is_wrapped, locate};
use super::layers::{Action, Line, What};
use super::secrets::holds_credentials;
use super::sheet::Desk;
use super::{Copied, Outcome, ServerLine, Wish};
use crate::ledger::{EntryRecord, FileRecord, Ledger};
use crate::survey::{HostSurvey, Module, name_of};
use crate::undo::told;
use bir_hosts::config::{
    Found, FoundFile, Machine, Refusal, Role, Scope, Server, State, Wrap, Wrapping, carry_out,
};
use bir_model::{Edit, Place};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Codes of refusals after which what is wrapped does not stay so: the user or the operator does not want the server, or
/// its arguments hold a credential.
const TAKES_BACK: [&str; 4] = ["policy", "rejected", "forbidden", super::shaped::CODE];

/// The code of a refusal where an entry is none of a server.
const NO_SERVER: &str = "shape";

/// The lines of a host's servers, and what is to be done.
pub(crate) struct Decided {
    pub(crate) lines: Vec<ServerLine>,
    pub(crate) actions: Vec<Action>,
    /// Entries of ours that go: by which line, out of which file.
    pub(crate) gone: Vec<(Line, PathBuf, EntryRecord)>,
}

/// What all decisions of a host need.
struct Bench<'a> {
    config: Module<'a>,
    machine: &'a Machine<'a>,
    wish: &'a Wish,
    desk: &'a Desk,
    host_named: bool,
    host: &'static str,
    /// As the files are.
    found: Found,
    /// As they would be without us.
    bare: Found,
    held: Vec<Held<'a>>,
    decided: Decided,
}

/// Decides.
pub(crate) fn decide(
    config: Module<'_>,
    machine: &Machine<'_>,
    survey: &HostSurvey,
    desk: &Desk,
    wish: &Wish,
    ledger: &Ledger,
) -> Decided {
    let host = name_of(survey.host);
    let asked = |server: &str| wish.servers.is_empty() || wish.servers.iter().any(|name| name == server);
    let found = found_now(survey, desk);
    let held: Vec<Held<'_>> =
        held(ledger, host, &wish.project).into_iter().filter(|held| asked(&held.entry.server)).collect();
    let mut bench = Bench {
        config,
        machine,
        wish,
        desk,
        host_named: survey.host.is_none_or(|host| wish.hosts.contains(&host)),
        host,
        bare: bare(config, &found, &held),
        found,
        held,
        decided: Decided { lines: Vec::new(), actions: Vec::new(), gone: Vec::new() },
    };
    let servers = config.servers(machine, &bench.bare);
    let mut kept: Vec<Place> = Vec::new();
    for server in servers.iter().filter(|server| asked(&server.name)) {
        bench.server(server, &mut kept);
    }
    bench.orphans(&servers, &kept);
    bench.decided
}

/// A host's files as they are on the desk.
pub(crate) fn found_now(survey: &HostSurvey, desk: &Desk) -> Found {
    let value = |path: &Path| {
        let sheet = desk.at(path)?;
        sheet.now.as_ref()?;
        Some(sheet.value().clone())
    };
    let is_read = |path: &Path| survey.found.at(path).is_some();
    let files = survey.files.iter().filter(|read| read.file.role != Role::Own);
    let now = files.filter_map(|read| {
        // One that can be read and not written says what it says all the same.
        let known = survey.found.at(&read.file.path).map(|found| found.value.clone());
        let now = value(&read.file.path).filter(|value| !value.is_null() || !is_read(&read.file.path));
        Some(FoundFile { file: read.file.clone(), value: now.or(known)? })
    });
    Found { files: now.collect(), project: survey.found.project.clone() }
}

/// As if we had never been there.
fn bare(config: Module<'_>, found: &Found, held: &[Held<'_>]) -> Found {
    let mut bare = found.clone();
    for held in held {
        for file in bare.files.iter_mut().filter(|file| file.file.path == held.record.path) {
            let Some(place) = locate(&file.value, held.entry) else { continue };
            for edit in taken_back(config, &file.value, &place, held).unwrap_or_default() {
                carry_out(&mut file.value, &edit);
            }
        }
    }
    bare
}

/// The edits that take an entry of ours back. None: it is not ours any more.
fn taken_back(config: Module<'_>, document: &Value, place: &Place, held: &Held<'_>) -> Option<Vec<Edit>> {
    let entry = place.of(document)?;
    match &held.entry.memo {
        None => is_wrapped(entry).then(|| vec![Edit::Remove { at: place.clone() }]),
        Some(memo) => config.unwrap(entry, place, memo).ok(),
    }
}

impl Bench<'_> {
    fn line(&mut self, server: &Server, file: &Path, scope: Scope, outcome: Outcome) -> Line {
        self.decided.lines.push(ServerLine {
            host: self.host.into(),
            server: server.name.clone(),
            scope,
            file: file.to_path_buf(),
            outcome,
            copied: None,
        });
        Line::Server(self.decided.lines.len() - 1)
    }

    fn left(&mut self, server: &Server, mut refusal: Refusal) {
        // Of one that is there twice only the last was looked at, which may be the one that is of no use.
        if refusal.code == NO_SERVER
            && let Some(why) = self.desk.at(&server.file).and_then(|sheet| sheet.obstacle(&server.place))
        {
            refusal = Refusal { code: "file", why };
        }
        self.line(server, &server.file, server.scope, Outcome::Left(refusal));
    }

    /// `kept`: places of copies that stay or are made.
    fn server(&mut self, server: &Server, kept: &mut Vec<Place>) {
        if server.ours {
            let why = "it is a server of bir itself".into();
            return self.left(server, Refusal { code: "ours", why });
        }
        if let Some(proxy) = server.wrapped.as_ref().filter(|_| super::shaped::refusal(server).is_none()) {
            return self.wrapped_elsewhere(server, &proxy.clone());
        }
        let in_place = self.held.iter().copied().find(|held| held.is_in_place_of(&server.file, &server.name));
        let wrap = match super::shaped::refusal(server) {
            Some(refusal) => Err(refusal),
            None => self.config.wrap(self.machine, &self.bare, server, &self.wrapping(server, in_place)),
        };
        match wrap {
            Ok(wrap) => self.wrap(server, wrap, kept),
            Err(refusal) => self.refused(server, refusal, in_place, kept),
        }
    }

    /// Wrapped, and not known to the ledger.
    fn wrapped_elsewhere(&mut self, server: &Server, proxy: &str) {
        if told::is_by_hand(&server.entry) {
            let is_gone = Path::new(proxy).is_absolute() && !Path::new(proxy).exists();
            let why = format!(
                "it is wrapped by hand, and {proxy} is not there; put the path of a bir-proxy that is into the entry"
            );
            let outcome = match is_gone && proxy != self.wish.wrapping.proxy {
                true => Outcome::Left(Refusal { code: "by-hand", why }),
                false => Outcome::ByHand,
            };
            self.line(server, &server.file, server.scope, outcome);
            return;
        }
        if proxy == self.wish.wrapping.proxy {
            self.line(server, &server.file, server.scope, Outcome::Already);
            return;
        }
        let why = format!(
            "it is wrapped with {proxy}, and not by this installation; take that out of the entry, then install again"
        );
        self.left(server, Refusal { code: "foreign", why });
    }

    /// With what a server is wrapped. What was asked for once need not be asked for again.
    fn wrapping(&self, server: &Server, in_place: Option<Held<'_>>) -> Wrapping {
        let asked = &self.wish.wrapping;
        let was = in_place.is_some();
        let of_user = super::held::is_of_user(server.scope);
        Wrapping {
            named: was || self.copy_of(server).is_some() || self.wish.servers.contains(&server.name),
            host_named: was || self.host_named,
            mcp_json: asked.mcp_json || (was && !of_user),
            everywhere: asked.everywhere || (was && of_user),
            ..asked.clone()
        }
    }

    /// A copy of ours of the server's name that is still there.
    fn copy_of(&self, server: &Server) -> Option<Held<'_>> {
        let there = |held: &&Held<'_>| {
            let file = self.found.at(&held.record.path);
            let entry = file.and_then(|file| locate(&file.value, held.entry)?.of(&file.value).cloned());
            entry.is_some_and(|entry| is_wrapped(&entry))
        };
        self.held
            .iter()
            .filter(|held| held.is_copy() && held.entry.server == server.name)
            .find(there)
            .copied()
    }

    fn wrap(&mut self, server: &Server, wrap: Wrap, kept: &mut Vec<Place>) {
        let mut meant =
            self.bare.at(&wrap.file.path).map_or_else(|| serde_json::json!({}), |file| file.value.clone());
        for edit in &wrap.edits {
            carry_out(&mut meant, edit);
        }
        let entry =
            EntryRecord { server: server.name.clone(), place: wrap.place.clone(), memo: wrap.memo.clone() };
        let now = self.found.at(&wrap.file.path);
        let place = now.and_then(|file| locate(&file.value, &entry));
        let stands = place.as_ref().and_then(|place| place.of(&now?.value));
        let of_same = |held: &&Held<'_>| {
            held.record.path == wrap.file.path && super::held::same_place(held.entry, &entry)
        };
        let held = self.held.iter().find(of_same).copied();
        if wrap.memo.is_none() {
            kept.push(wrap.place.clone());
        }
        // What stands there and is wrapped is ours, since nobody else's came so far.
        let mut edits = Vec::new();
        let outcome = match (held, place.as_ref(), stands) {
            (Some(_), _, Some(stands)) if wrap.place.of(&meant) == Some(stands) => {
                self.line(server, &wrap.file.path, wrap.file.scope, Outcome::Already);
                self.copied(server, &wrap);
                return;
            }
            (Some(held), Some(place), Some(_)) => {
                let document = now.map_or(&Value::Null, |file| &file.value);
                match taken_back(self.config, document, place, &held) {
                    Some(back) => {
                        edits = back;
                        Outcome::Renewed
                    }
                    None => Outcome::Wrapped,
                }
            }
            _ => Outcome::Wrapped,
        };
        let line = self.line(server, &wrap.file.path, wrap.file.scope, outcome);
        self.copied(server, &wrap);
        edits.extend(wrap.edits);
        let what = What::Edits { edits: renewed(edits), entry: Some(entry), hooks: Vec::new() };
        self.decided.actions.push(Action { file: wrap.file, what, line });
    }

    /// Says of the newest line what it is a copy of, if it is one.
    fn copied(&mut self, server: &Server, wrap: &Wrap) {
        if wrap.memo.is_some() {
            return;
        }
        let is_filled = |value: &Value| value.as_object().is_some_and(|members| !members.is_empty());
        let of_entry = server.entry.as_object().into_iter().flatten();
        let members = of_entry.filter(|(name, value)| holds_credentials(name) && is_filled(value));
        let copied = Copied {
            scope: server.scope,
            file: server.file.clone(),
            members: members.map(|(name, _)| super::shaped::key(name)).collect(),
        };
        if let Some(line) = self.decided.lines.last_mut() {
            line.copied = Some(copied);
        }
    }

    /// A server that is not to be wrapped, and may be so.
    fn refused(
        &mut self,
        server: &Server,
        refusal: Refusal,
        in_place: Option<Held<'_>>,
        kept: &mut Vec<Place>,
    ) {
        let is_still = |held: Held<'_>| {
            let file = self.found.at(&held.record.path)?;
            let place = locate(&file.value, held.entry)?;
            let back = taken_back(self.config, &file.value, &place, &held)?;
            Some((held.record.clone(), held.entry.clone(), back))
        };
        let held = in_place.and_then(is_still).or_else(|| self.copy_of(server).and_then(is_still));
        let Some((record, entry, back)) = held else { return self.left(server, refusal) };
        kept.push(entry.place.clone());
        let takes_back = TAKES_BACK.contains(&refusal.code)
            || matches!(server.state, State::Forbidden(_) | State::Rejected);
        if !takes_back {
            self.line(server, &record.path, record.scope, Outcome::Already);
            return;
        }
        let line = self.line(server, &record.path, record.scope, Outcome::Restored);
        self.take_back(&record, entry, back, line);
    }

    /// Copies whose original is not there any more.
    fn orphans(&mut self, servers: &[Server], kept: &[Place]) {
        let mut gone = Vec::new();
        for held in self.held.iter().filter(|held| held.is_copy() && !kept.contains(&held.entry.place)) {
            let Some(file) = self.found.at(&held.record.path) else { continue };
            let Some(place) = locate(&file.value, held.entry) else { continue };
            if let Some(back) = taken_back(self.config, &file.value, &place, held) {
                gone.push((held.record.clone(), held.entry.clone(), back));
            }
        }
        for (record, entry, back) in gone {
            let server = entry.server.clone();
            // Somebody may have put an entry of that name into the same place by hand.
            let original = servers.iter().any(|other| other.name == server && other.file == record.path);
            if original {
                continue;
            }
            self.decided.lines.push(ServerLine {
                host: self.host.into(),
                server,
                scope: record.scope,
                file: record.path.clone(),
                outcome: Outcome::Removed,
                copied: None,
            });
            let line = Line::Server(self.decided.lines.len() - 1);
            self.take_back(&record, entry, back, line);
        }
    }

    fn take_back(&mut self, record: &FileRecord, entry: EntryRecord, edits: Vec<Edit>, line: Line) {
        self.decided.gone.push((line, record.path.clone(), entry));
        let file = bir_hosts::config::ConfigFile {
            path: record.path.clone(),
            scope: record.scope,
            format: record.format,
            role: record.role,
        };
        let what = What::Edits { edits, entry: None, hooks: Vec::new() };
        self.decided.actions.push(Action { file, what, line });
    }
}

/// A copy that is taken out and set again is set in its place: its members keep their order among the others.
fn renewed(edits: Vec<Edit>) -> Vec<Edit> {
    match edits.as_slice() {
        [Edit::Remove { at }, Edit::Set { at: to, .. }] if at == to => edits.into_iter().skip(1).collect(),
        _ => edits,
    }
}
