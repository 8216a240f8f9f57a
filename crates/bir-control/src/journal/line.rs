//! One entry as a line of a journal. What is read goes through the redactor again: it alone makes what may reach a disk.

use crate::book::{Entry, EntryWhat, TranscriptFacts};
use bir_model::control::{HookEvent, PayloadKind, ProxyReport, Registration, Told};
use bir_model::{Outcome, RunId};
use bir_record::SafeTold;
use bir_record::redact::Redactor;
use bir_record::spool::{decode, framed};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// An entry, and its place among those of all journals.
#[derive(Debug)]
pub(crate) struct Numbered {
    pub(crate) number: u64,
    pub(crate) entry: Entry,
}

#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "P: Clone + Deserialize<'de>"))]
struct Line<'a, P: Clone = Told> {
    #[serde(rename = "n")]
    number: u64,
    #[serde(rename = "t")]
    taken_at: u64,
    #[serde(rename = "w")]
    what: What<'a, P>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", bound(deserialize = "P: Clone + Deserialize<'de>"))]
enum What<'a, P: Clone = Told> {
    Hook {
        event: Cow<'a, HookEvent<P>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<P>,
    },
    Register(Cow<'a, Registration>),
    Report {
        proxy: Cow<'a, str>,
        report: Cow<'a, ProxyReport<P>>,
    },
    Transcript {
        run: RunId,
        #[serde(default)]
        outcomes: Cow<'a, [(String, Outcome)]>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<P>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Cow<'a, serde_json::Value>>,
    },
    HostGone {
        pid: u32,
    },
}

/// How much of an entry is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// All of it.
    Whole,
    /// What tells runs and indexes apart, without payloads: those are in the spool already.
    Bare,
}

/// The line of an entry.
pub(super) fn write(number: u64, entry: &Entry, depth: Depth) -> Option<Vec<u8>> {
    let text = match depth {
        Depth::Whole => {
            let what = match &entry.what {
                EntryWhat::Hook { event, context } => {
                    What::Hook { event: Cow::Borrowed(&**event), context: context.clone() }
                }
                EntryWhat::Report { proxy_id, report } => {
                    What::Report { proxy: proxy_id.into(), report: Cow::Borrowed(&**report) }
                }
                EntryWhat::Transcript { run, facts } => transcript(*run, facts, facts.final_answer.clone()),
                EntryWhat::Register(registration) => What::Register(Cow::Borrowed(&**registration)),
                EntryWhat::HostGone { pid } => What::HostGone { pid: *pid },
            };
            serde_json::to_string(&Line::<SafeTold> { number, taken_at: entry.taken_at, what })
        }
        Depth::Bare => {
            let mut bare = |kind, _| bare(kind);
            let what = match &entry.what {
                EntryWhat::Hook { event, .. } => {
                    What::Hook { event: Cow::Owned(event.as_ref().clone().map(&mut bare)), context: None }
                }
                EntryWhat::Report { proxy_id, report } => What::Report {
                    proxy: proxy_id.into(),
                    report: Cow::Owned(report.as_ref().clone().map(&mut bare)),
                },
                EntryWhat::Transcript { run, facts } => transcript(*run, facts, None),
                EntryWhat::Register(registration) => What::Register(Cow::Borrowed(&**registration)),
                EntryWhat::HostGone { pid } => What::HostGone { pid: *pid },
            };
            serde_json::to_string(&Line::<Told> { number, taken_at: entry.taken_at, what })
        }
    };
    text.ok().map(|text| framed(&text))
}

fn transcript<P: Clone>(run: RunId, facts: &TranscriptFacts, answer: Option<P>) -> What<'_, P> {
    let (outcomes, usage) = (Cow::Borrowed(&facts.outcomes[..]), facts.usage.as_ref().map(Cow::Borrowed));
    What::Transcript { run, outcomes, answer, usage }
}

fn bare(kind: PayloadKind) -> Told {
    let text = if kind == PayloadKind::Json { "null" } else { "" };
    Told { text: text.into(), original_bytes: 0, truncated: true }
}

/// The entry of a line without its line feed. None: it is damaged, or of a release that knows more.
pub(super) fn read(line: &[u8], redactor: &Redactor) -> Option<Numbered> {
    let Line { number, taken_at, what } = serde_json::from_slice::<Line<'static>>(decode(line)?).ok()?;
    let mut again = |kind, told| redactor.again(kind, told);
    let what = match what {
        What::Hook { event, context } => EntryWhat::Hook {
            context: context.map(|context| again(PayloadKind::Text, context)),
            event: Box::new(event.into_owned().map(&mut again)),
        },
        What::Register(registration) => EntryWhat::Register(Box::new(registration.into_owned())),
        What::Report { proxy, report } => EntryWhat::Report {
            proxy_id: proxy.into_owned(),
            report: Box::new(report.into_owned().map(&mut again)),
        },
        What::Transcript { run, outcomes, answer, usage } => EntryWhat::Transcript {
            run,
            facts: Box::new(TranscriptFacts {
                outcomes: outcomes.into_owned(),
                final_answer: answer.map(|answer| again(PayloadKind::Text, answer)),
                usage: usage.map(Cow::into_owned),
            }),
        },
        What::HostGone { pid } => EntryWhat::HostGone { pid },
    };
    Some(Numbered { number, entry: Entry { taken_at, what } })
}
