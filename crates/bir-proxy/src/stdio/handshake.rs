//! The host's handshake, remembered: to repeat it to an upstream that is started again, and to answer it before a lazy
//! upstream is started at all.

use crate::answer;
use bir_tap::Asked;
use bir_wire::{Envelope, Field, Kind, Limits, Message, Scanner};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Handshakes that one cache file keeps: a host and a revision each.
const MOST_ENTRIES: usize = 16;

/// How the member of an answer that is a result begins.
pub(super) const RESULT: &str = "\"result\":";

/// A request that opens a connection, as the host sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) asked: Asked,
    /// The revision that it asks for.
    pub(super) revision: String,
    line: Vec<u8>,
    id: std::ops::Range<usize>,
}

impl Opening {
    /// The opening request that this message is, when it is one and was kept whole.
    pub(super) fn of(message: &Message<'_>) -> Option<Self> {
        let envelope = message.envelope();
        let (asked, field) = match envelope {
            e if e.text_is(Field::Method, "initialize") => (Asked::Initialize, Field::InitProtocolVersion),
            e if e.text_is(Field::Method, "server/discover") => (Asked::Discover, Field::ProtocolVersion),
            _ => return None,
        };
        let span = envelope.span(Field::Id)?;
        let id = usize::try_from(span.start).ok()?..usize::try_from(span.end).ok()?;
        let line = (message.head().len() as u64 == message.len()).then(|| message.head().to_vec())?;
        let revision = envelope.text(field).unwrap_or_default().into_owned();
        Some(Self { asked, revision, line, id })
    }

    /// The request under another id.
    pub(super) fn under(&self, id: &str) -> Vec<u8> {
        let mut line = Vec::with_capacity(self.line.len() + id.len() + 1);
        line.extend_from_slice(&self.line[..self.id.start]);
        line.extend_from_slice(id.as_bytes());
        line.extend_from_slice(&self.line[self.id.end..]);
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        line
    }

    pub(super) fn id(&self) -> &[u8] {
        &self.line[self.id.clone()]
    }

    fn key(&self) -> Option<String> {
        let method = match self.asked {
            Asked::Initialize => "initialize",
            Asked::Discover => "server/discover",
            _ => return None,
        };
        let plain = self.revision.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.');
        plain.then(|| format!("{method} {}", self.revision))
    }
}

/// `"result":…` or `"error":…` of a response, as raw JSON, when it was kept whole.
pub(super) fn answer_member(message: &Message<'_>, envelope: &Envelope) -> Option<String> {
    let (name, field) =
        if envelope.has(Field::Result) { ("result", Field::Result) } else { ("error", Field::Error) };
    let raw = message.slice(envelope.span(field)?)?;
    Some(format!("\"{name}\":{}", std::str::from_utf8(raw).ok()?))
}

/// What the host has said to open its connection. A host may probe with one opening and go on with the other.
#[derive(Debug, Default)]
pub(super) struct Memory {
    discover: Option<Opening>,
    initialize: Option<Opening>,
    accepted: Option<Asked>,
    /// `notifications/initialized`, as it was sent.
    pub(super) initialized: Option<Vec<u8>>,
}

impl Memory {
    pub(super) fn opened(&mut self, opening: Opening) {
        match opening.asked {
            Asked::Discover => self.discover = Some(opening),
            _ => self.initialize = Some(opening),
        }
    }

    pub(super) fn opening(&self, asked: Asked) -> Option<&Opening> {
        match asked {
            Asked::Discover => self.discover.as_ref(),
            Asked::Initialize => self.initialize.as_ref(),
            _ => None,
        }
    }

    pub(super) fn accepted(&mut self, asked: Asked) {
        self.accepted = Some(asked);
    }

    /// The opening to repeat to another child: the one that was accepted.
    pub(super) fn to_repeat(&self) -> Option<&Opening> {
        self.opening(self.accepted?)
    }
}

/// Answers to openings, from earlier starts of the same command. Raw JSON, one line each.
#[derive(Debug)]
pub(super) struct Cache {
    file: PathBuf,
    answers: BTreeMap<String, String>,
}

impl Cache {
    /// Reads what is there; a cache that cannot be read is empty.
    pub(super) fn open(state_dir: &Path, server_name: &str, command: &[&OsStr]) -> Self {
        let file = state_dir.join("handshakes").join(format!("{:016x}", fingerprint(server_name, command)));
        let text = fs::read_to_string(&file).unwrap_or_default();
        let mut scanner = Scanner::new(Limits::default());
        let answers = text.lines().filter_map(|line| line.split_once('\t'));
        let sound = answers.filter(|(_, member)| is_answer(&mut scanner, member));
        Self { file, answers: sound.map(|(k, v)| (k.into(), v.into())).take(MOST_ENTRIES).collect() }
    }

    /// Whether no start has left an answer here.
    pub(super) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// The member that answers this opening.
    pub(super) fn answer(&self, opening: &Opening) -> Option<&str> {
        self.answers.get(&opening.key()?).map(String::as_str)
    }

    /// Keeps an answer for the next start. Says whether it is another one than was known.
    pub(super) fn keep(&mut self, opening: &Opening, member: &str) -> io::Result<bool> {
        let Some(key) = opening.key() else { return Ok(false) };
        // One line each: an answer of several lines cannot come over stdio.
        if member.contains(['\n', '\r']) || self.answers.get(&key).is_some_and(|known| known == member) {
            return Ok(false);
        }
        if self.answers.len() >= MOST_ENTRIES && !self.answers.contains_key(&key) {
            self.answers.clear();
        }
        self.answers.insert(key, member.to_owned());
        self.write()?;
        Ok(true)
    }

    fn write(&self) -> io::Result<()> {
        let dir = self.file.parent().unwrap_or(Path::new("."));
        create_private_dir(dir)?;
        let partial = self.file.with_extension(format!("{}.part", std::process::id()));
        let mut file = create_private_file(&partial)?;
        for (key, member) in &self.answers {
            writeln!(file, "{key}\t{member}")?;
        }
        file.sync_all()?;
        fs::rename(&partial, &self.file)
    }
}

/// Whether a response with this member is one. A file may be damaged, and its content goes to the host.
fn is_answer(scanner: &mut Scanner, member: &str) -> bool {
    let line = answer::envelope(b"0", member);
    scanner.reset();
    matches!(scanner.finish_whole(&line).kind(), Kind::Response | Kind::ErrorResponse)
}

/// FNV-1a, 64 bits: names a file, guards nothing.
fn fingerprint(server_name: &str, command: &[&OsStr]) -> u64 {
    // A server may answer by where it is started.
    let here = std::env::current_dir().unwrap_or_default();
    let parts = [server_name.as_bytes(), here.as_os_str().as_encoded_bytes()];
    let parts = parts.into_iter().chain(command.iter().map(|a| a.as_encoded_bytes()));
    parts
        .flat_map(|part| part.iter().chain(&[0]))
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(unix)]
fn create_private_dir(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

#[cfg(unix)]
fn create_private_file(path: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create_private_dir(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}

#[cfg(not(unix))]
fn create_private_file(path: &Path) -> io::Result<fs::File> {
    fs::File::create(path)
}
