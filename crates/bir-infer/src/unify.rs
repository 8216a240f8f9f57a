//! Several runs of one task: an explanation holds if it gives what was recorded in each of them.

use crate::explain::{Explained, explain};
use crate::leaves::{at, is_same, leaves};
use crate::probe::{Probe, Results};
use crate::prompt::{self, Draft};
use crate::witness::{Run, today};
use crate::wording::{Edit, Wording};
use bir_entity::Clock;
use bir_plan::expr::{At, Expr};
use bir_plan::param::Reading;
use bir_plan::template::Origin;
use bir_plan::trace::{Call, Trace};
use serde_json::{Map, Value};
use std::ops::Range;

/// Explanations that cost so much more than the best one, in bits, make no place in a wording.
const MARGIN: f64 = 8.0;
/// Calls behind this many are taken in their order.
const MOST_ARRANGED: usize = 12;
/// A prompt whose cheapest reading has more edits is another task.
const MOST_EDITS: usize = 4;

/// What several runs say together.
pub(crate) struct Unified<'t> {
    pub(crate) run: Run<'t>,
    pub(crate) leaves: Vec<Explained>,
    /// Whether the value of a leaf was not the same in all runs.
    pub(crate) varied: Vec<bool>,
    pub(crate) wording: Wording,
    pub(crate) drafts: Vec<Draft>,
    /// The runs that agree, the first before the others.
    pub(crate) agreeing: Vec<Agreeing<'t>>,
    /// What the agreeing runs say in each place of the wording.
    pub(crate) seen: Vec<Vec<Value>>,
    /// In what else their prompts differ.
    pub(crate) edits: Vec<Edit>,
    /// Steps that had other arguments in a run of the same words.
    pub(crate) doubtful: Vec<usize>,
}

/// A run that agrees.
pub(crate) struct Agreeing<'t> {
    pub(crate) number: usize,
    /// Its calls in the order of the first run.
    pub(crate) calls: Vec<&'t Call>,
    /// The values of the parameters in it.
    pub(crate) params: Map<String, Value>,
    pub(crate) today: String,
}

/// Explains the first run, and keeps what the others agree with.
pub(crate) fn unify<'t>(traces: &[&'t Trace]) -> Option<Unified<'t>> {
    let first = *traces.first()?;
    let run = Run::new(first);
    let mut leaves = explain(&run);
    let drafts = run.prompt.drafts();
    let wording = Wording::new(run.prompt.text, &first.clock, &places(&leaves, &drafts));
    let mut varied = vec![false; leaves.len()];
    let itself = Agreeing {
        number: 0,
        calls: run.calls.iter().collect(),
        params: run.prompt.samples().clone(),
        today: run.today.clone(),
    };
    let (mut agreeing, mut edits) = (vec![itself], Vec::new());
    let mut seen: Vec<Vec<Value>> = wording
        .places()
        .iter()
        .map(|place| vec![said(run.prompt.text, place.entity.as_ref(), &place.span)])
        .collect();

    let mut others: Vec<Other<'_>> = traces
        .iter()
        .enumerate()
        .skip(1)
        .filter_map(|(n, trace)| Other::new(n, trace, first, &wording, &drafts))
        .collect();
    let mut doubtful = Vec::new();
    others.sort_by_key(|other| other.edits.len());
    let mut alike: Vec<Other<'_>> = Vec::new();
    let mut different: Vec<Other<'_>> = Vec::new();
    for mut other in others {
        other.arrange(&leaves);
        let odd = other.odd(run.calls);
        let same = other.edits.iter().all(|edit| wording.is_harmless(edit));
        match (odd.is_empty(), same) {
            (true, true) => alike.push(other),
            (true, false) => different.push(other),
            // Other words may have asked for other arguments, the same words have not.
            (false, true) => doubtful.extend(odd),
            (false, false) => {}
        }
    }
    // A prompt that says the same but for its places is the same task: what does not hold there does not hold.
    for leaf in &mut leaves {
        let evidence: Vec<Vec<Verdict>> = alike.iter().map(|other| other.verdicts(leaf)).collect();
        let exceptions = leaf.exceptions(&evidence);
        leaf.contradicted = !exceptions.is_empty();
        leaf.keep(&evidence, &exceptions);
        for run in exceptions {
            alike[run].is_exception = true;
        }
    }
    // One that says something else besides may be another task: what is lost by it tells.
    let mut rejected = Vec::new();
    for other in different {
        let evidence: Vec<Vec<Verdict>> = leaves.iter().map(|leaf| other.verdicts(leaf)).collect();
        if leaves.iter().zip(&evidence).any(|(leaf, verdicts)| lost(leaf, verdicts)) {
            rejected.push(other);
            continue;
        }
        // Where its prompt could not be read whole, its words have shown nothing.
        let told = |verdicts: &Vec<Verdict>| verdicts.contains(&Verdict::Holds) || verdicts.is_empty();
        let mut other = other;
        other.told = evidence.iter().all(told);
        for (leaf, verdicts) in leaves.iter_mut().zip(evidence) {
            leaf.keep(&[verdicts], &[]);
        }
        alike.push(other);
    }
    // Where others say the same and lose nothing, it is not their words that make the difference; and where more lose a leaf than bear it
    // out, the first run is the odd one.
    let bearing = alike.len() + 1;
    let mut losing = vec![0; leaves.len()];
    for other in rejected {
        let excused =
            |edit: &Edit| !wording.is_harmless(edit) && !alike.iter().any(|known| known.edits.contains(edit));
        let excused = other.edits.iter().any(excused);
        for (leaf, losing) in leaves.iter_mut().zip(&mut losing) {
            let verdicts = other.verdicts(leaf);
            if lost(leaf, &verdicts) {
                *losing += 1;
                leaf.contradicted |= !excused || *losing > bearing;
            }
        }
    }
    for other in alike {
        for (leaf, varied) in leaves.iter().zip(&mut varied) {
            *varied |= at(&other.calls[leaf.call].input, &leaf.path) != Some(&leaf.value);
        }
        if other.told {
            edits.extend(other.edits.iter().cloned());
        }
        for (seen, value) in seen.iter_mut().zip(&other.said) {
            seen.extend(value.clone());
        }
        // Not all of it is explained, though what is bears the rest out.
        if other.is_exception {
            continue;
        }
        let Other { number, calls, params, today, .. } = other;
        agreeing.push(Agreeing { number, calls, params, today });
    }
    agreeing.sort_by_key(|run| run.number);
    Some(Unified { run, leaves, varied, wording, drafts, agreeing, seen, edits, doubtful })
}

/// Whether an explanation gives in a run what was recorded there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Holds,
    Fails,
    /// It reads words that could not be told in the prompt of that run.
    Unknown,
}

impl Explained {
    /// The runs in which the explanation fails that most runs bear out, where each fails in some; none where there is no such explanation.
    fn exceptions(&self, evidence: &[Vec<Verdict>]) -> Vec<usize> {
        let runs = |n: usize, wanted: Verdict| {
            let own = evidence.iter().enumerate().filter(move |(_, verdicts)| verdicts[n] == wanted);
            own.map(|(run, _)| run).collect::<Vec<usize>>()
        };
        let mut best: Option<(usize, Vec<usize>)> = None;
        for (n, candidate) in self.candidates.iter().enumerate() {
            let (holds, fails) = (1 + runs(n, Verdict::Holds).len(), runs(n, Verdict::Fails));
            if fails.is_empty() {
                return Vec::new();
            }
            if holds > fails.len()
                && candidate.origin != Origin::Constant
                && best.as_ref().is_none_or(|(most, _)| holds > *most)
            {
                best = Some((holds, fails));
            }
        }
        best.map(|(_, fails)| fails).unwrap_or_default()
    }

    /// Strikes out what fails in one of several runs but for some of them, and counts where the rest holds.
    fn keep(&mut self, evidence: &[Vec<Verdict>], but: &[usize]) {
        let own = |n: usize| evidence.iter().enumerate().map(move |(run, verdicts)| (run, verdicts[n]));
        let kept = |n: usize| !own(n).any(|(run, verdict)| verdict == Verdict::Fails && !but.contains(&run));
        let kept: Vec<bool> = (0..self.candidates.len()).map(kept).collect();
        for (n, candidate) in self.candidates.iter_mut().enumerate() {
            candidate.held += own(n).filter(|(_, verdict)| *verdict == Verdict::Holds).count();
        }
        let (mut first, mut second) = (kept.iter(), kept.iter());
        self.candidates.retain(|_| first.next() == Some(&true));
        self.probes.retain(|_| second.next() == Some(&true));
    }
}

/// What nothing but a constant explains may change from run to run.
fn lost(leaf: &Explained, verdicts: &[Verdict]) -> bool {
    verdicts.iter().all(|verdict| *verdict == Verdict::Fails)
        && leaf.candidates.iter().any(|candidate| candidate.origin != Origin::Constant)
}

/// Where text parameters stand that are likely enough.
fn places(leaves: &[Explained], drafts: &[Draft]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    for leaf in leaves {
        let Some(best) = leaf.candidates.first().map(|candidate| candidate.cost) else { continue };
        for candidate in leaf.candidates.iter().filter(|candidate| candidate.cost <= best + MARGIN) {
            for n in params(&candidate.expr) {
                if let Some(Draft { spans, reading: Reading::Text, .. }) = drafts.get(n) {
                    out.extend(spans.iter().cloned());
                }
            }
        }
    }
    out
}

/// The parameters of an expression, by their number.
pub(crate) fn params(expr: &Expr) -> Vec<usize> {
    let mut out = Vec::new();
    crate::walk::each(expr, &mut |part| {
        if let Expr::Param(name) = part
            && let Some(n) = name.strip_prefix('p').and_then(|n| n.parse().ok())
            && !out.contains(&n)
        {
            out.push(n);
        }
    });
    out
}

/// What a prompt says at a place.
pub(crate) fn said(prompt: &str, entity: Option<&bir_entity::Entity>, span: &Range<usize>) -> Value {
    entity.map_or_else(|| prompt.get(span.clone()).unwrap_or_default().into(), |entity| entity.normal.clone())
}

/// What another prompt says.
pub(crate) struct Values {
    /// The values of the parameters, as far as they can be read.
    pub(crate) params: Map<String, Value>,
    /// What stands in each place of the wording.
    pub(crate) said: Vec<Option<Value>>,
    /// In what it differs besides.
    pub(crate) edits: Vec<Edit>,
}

/// The values of parameters in another prompt. A parameter of several places has a value where all of them say the same.
pub(crate) fn values(wording: &Wording, drafts: &[Draft], prompt: &str, clock: &Clock) -> Option<Values> {
    let text = prompt::head(prompt);
    let reading = wording.read(text, clock)?;
    let found: Vec<Option<Value>> = reading
        .fills
        .iter()
        .map(|fill| fill.as_ref().map(|fill| said(text, fill.entity.as_ref(), &fill.span)))
        .collect();
    let mut values = Map::new();
    for (n, draft) in drafts.iter().enumerate() {
        let mut own = draft.spans.iter().filter_map(|span| {
            let place = wording.places().iter().position(|place| place.span == *span)?;
            Some(found[place].clone())
        });
        if let Some(Some(first)) = own.next()
            && own.all(|other| other.as_ref() == Some(&first))
        {
            values.insert(prompt::key(n), first);
        }
    }
    Some(Values { params: values, said: found, edits: reading.edits })
}

/// A further run, read by the wording of the first.
struct Other<'t> {
    number: usize,
    calls: Vec<&'t Call>,
    params: Map<String, Value>,
    results: Results<'t>,
    today: String,
    said: Vec<Option<Value>>,
    edits: Vec<Edit>,
    /// A leaf of it is not explained as in the other runs.
    is_exception: bool,
    /// Some explanation of every leaf could be asked in it.
    told: bool,
}

impl<'t> Other<'t> {
    /// None: it is another task.
    fn new(
        number: usize,
        trace: &'t Trace,
        first: &Trace,
        wording: &Wording,
        drafts: &[Draft],
    ) -> Option<Self> {
        let calls = &trace.calls[..trace.calls.len().min(crate::witness::MOST_CALLS)];
        let same = trace.calls.len() == first.calls.len()
            && trace.calls.iter().zip(&first.calls).all(|(a, b)| a.tool == b.tool && a.server == b.server);
        if !same {
            return None;
        }
        let Values { params, said, edits } = values(wording, drafts, &trace.prompt, &trace.clock)?;
        if edits.len() > MOST_EDITS {
            return None;
        }
        let (results, calls) = (Results::new(calls), calls.iter().collect());
        Some(Self {
            number,
            calls,
            params,
            results,
            today: today(trace),
            said,
            edits,
            is_exception: false,
            told: true,
        })
    }

    /// Calls of one tool may have been made in another order: the one in which more is explained.
    fn arrange(&mut self, leaves: &[Explained]) {
        let explained = |own: &Self| leaves.iter().filter(|leaf| !lost(leaf, &own.verdicts(leaf))).count();
        let mut known = explained(self);
        for i in 0..self.calls.len().min(MOST_ARRANGED) {
            for j in i + 1..self.calls.len().min(MOST_ARRANGED) {
                if known == leaves.len() {
                    return;
                }
                if self.calls[i].tool != self.calls[j].tool || self.calls[i].server != self.calls[j].server {
                    continue;
                }
                self.swap(i, j);
                let swapped = explained(self);
                if swapped > known {
                    known = swapped;
                } else {
                    self.swap(i, j);
                }
            }
        }
    }

    fn swap(&mut self, i: usize, j: usize) {
        self.calls.swap(i, j);
        self.results.swap(i, j);
    }

    /// Calls with other arguments.
    fn odd(&self, first: &[Call]) -> Vec<usize> {
        let calls = self.calls.iter().zip(first).enumerate();
        calls.filter(|(_, (own, first))| !same_shape(&own.input, &first.input)).map(|(n, _)| n).collect()
    }

    /// Which explanations of a leaf hold here.
    fn verdicts(&self, leaf: &Explained) -> Vec<Verdict> {
        let value = self.calls.get(leaf.call).and_then(|call| at(&call.input, &leaf.path));
        let verdict = |expr: &Expr, probe: &Probe| {
            self.results.ask(probe, &self.params, &self.today, |given| match (given, value) {
                (Ok(given), Some(value)) if is_same(&given, value) => Verdict::Holds,
                (Err(_), Some(_))
                    if params(expr).iter().any(|n| !self.params.contains_key(&prompt::key(*n))) =>
                {
                    Verdict::Unknown
                }
                _ => Verdict::Fails,
            })
        };
        leaf.candidates
            .iter()
            .zip(&leaf.probes)
            .map(|(candidate, probe)| verdict(&candidate.expr, probe))
            .collect()
    }
}

/// Whether two inputs have the same leaves, whatever their values.
fn same_shape(a: &Value, b: &Value) -> bool {
    let ways = |value: &Value| -> std::collections::BTreeSet<Vec<At>> {
        leaves(value).into_iter().map(|(path, _)| path).collect()
    };
    ways(a) == ways(b)
}
