//! The sets, in the forms in which their authors publish them.

use serde_json::Value;
use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What of the sets, and what is told.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) path: Option<PathBuf>,
    /// `a`, `b` or all.
    pub(crate) part: String,
    /// Prompts, at most.
    pub(crate) most: Option<usize>,
    /// Cases that are written out, at most.
    pub(crate) show: usize,
    /// See `bir_match::decide`.
    pub(crate) limit: f64,
    /// Counts by kind go to stderr.
    pub(crate) verbose: bool,
    /// Of several sets, this one alone.
    pub(crate) only: Option<String>,
    /// Where ATIS is.
    pub(crate) atis: Option<PathBuf>,
    /// Where the wheel with ComplexFuncBench is.
    pub(crate) wheel: Option<PathBuf>,
    /// Of what is put into contrast pairs.
    pub(crate) seed: u64,
}

impl Options {
    fn base(&self) -> PathBuf {
        let named = || std::env::var_os("BIR_EVAL_DATA").map(PathBuf::from);
        self.path.clone().or_else(named).unwrap_or_else(|| PathBuf::from("data"))
    }

    /// The wheel: where it was said to be, or beside the other sets.
    pub(crate) fn wheel(&self) -> Result<PathBuf, String> {
        if let Some(path) = &self.wheel {
            return Ok(path.clone());
        }
        let base = self.base();
        let is = |path: &PathBuf| {
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            name.starts_with("nestful_wrapper-") && name.ends_with(".whl")
        };
        let found = std::fs::read_dir(&base).into_iter().flatten().flatten().map(|e| e.path()).find(is);
        found.ok_or_else(|| format!("no nestful_wrapper-*.whl in {}; give `--wheel PATH`", base.display()))
    }
}

impl Default for Options {
    fn default() -> Self {
        let (part, limit) = ("all".to_owned(), bir_match::decide::READS);
        Self {
            path: None,
            part,
            most: None,
            show: 0,
            limit,
            verbose: false,
            only: None,
            atis: None,
            wheel: None,
            seed: 0,
        }
    }
}

/// A prompt of a set.
#[derive(Debug, Clone)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) intent: String,
    /// Bytes and type, in the order of the text.
    pub(crate) slots: Vec<(Range<usize>, String)>,
}

impl Prompt {
    /// The same intent and the same multiset of slot types are the same plan.
    pub(crate) fn plan(&self) -> String {
        let mut types: Vec<&str> = self.slots.iter().map(|(_, t)| t.as_str()).collect();
        types.sort_unstable();
        format!("{}({})", self.intent, types.join(" "))
    }
}

/// Where the sets are unless a path is given: `BIR_EVAL_DATA`, or `data` beside the workspace.
fn place(set: &str, options: &Options) -> Result<PathBuf, String> {
    let file = match set {
        "snips" => "snips-train.json.gz",
        "slurp" => "slurp-devel.jsonl.gz",
        "clinc150" => "clinc150-train-val.json.gz",
        "banking77" => "banking77-train.csv.gz",
        _ => "",
    };
    let mut base = options.base();
    if set == "atis" {
        // Given alone, the path is that of the set itself.
        base = options
            .atis
            .clone()
            .unwrap_or_else(|| if base.join("atis").exists() { base.join("atis") } else { base });
    } else if base.is_dir() {
        base = base.join(file);
    }
    if base.exists() {
        Ok(base)
    } else {
        Err(format!("there is nothing at {}; give its path, or set BIR_EVAL_DATA", base.display()))
    }
}

pub(crate) fn text(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut text = String::new();
    let read = if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text)
    } else {
        bytes.as_slice().read_to_string(&mut text)
    };
    read.map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(text)
}

/// A set, in its order.
pub(crate) fn load(set: &str, options: &Options) -> Result<Vec<Prompt>, String> {
    let path = place(set, options)?;
    let prompts = match set {
        "snips" => snips(&text(&path)?),
        "slurp" => slurp(&text(&path)?),
        "clinc150" => clinc(&text(&path)?),
        "banking77" => banking(&text(&path)?),
        "atis" => crate::atis::load(&path),
        other => Err(format!("there is no set {other}")),
    }?;
    // The same words twice would be found as they stand.
    let mut seen = std::collections::HashSet::new();
    Ok(prompts
        .into_iter()
        .filter(|p| !p.text.trim().is_empty() && seen.insert(p.text.to_lowercase()))
        .collect())
}

pub(crate) fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|e| e.to_string())
}

fn snips(text: &str) -> Result<Vec<Prompt>, String> {
    let mut prompts = Vec::new();
    for (intent, all) in json(text)?.as_object().ok_or("no object of intents")? {
        for one in all.as_array().into_iter().flatten() {
            let mut prompt = Prompt { text: String::new(), intent: intent.clone(), slots: Vec::new() };
            for part in one["data"].as_array().into_iter().flatten() {
                let words = part["text"].as_str().unwrap_or_default();
                let from = prompt.text.len();
                prompt.text += words;
                if let Some(kind) = part["entity"].as_str() {
                    let inner = words.trim();
                    let start = from + (words.len() - words.trim_start().len());
                    prompt.slots.push((start..start + inner.len(), kind.to_owned()));
                }
            }
            prompts.push(prompt);
        }
    }
    Ok(prompts)
}

fn slurp(text: &str) -> Result<Vec<Prompt>, String> {
    let mut prompts = Vec::new();
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let one = json(line)?;
        let mut prompt = Prompt {
            text: String::new(),
            intent: one["intent"].as_str().unwrap_or_default().to_owned(),
            slots: Vec::new(),
        };
        let mut spans = Vec::new();
        for token in one["tokens"].as_array().into_iter().flatten() {
            if !prompt.text.is_empty() {
                prompt.text.push(' ');
            }
            let from = prompt.text.len();
            prompt.text += token["surface"].as_str().unwrap_or_default();
            spans.push(from..prompt.text.len());
        }
        for entity in one["entities"].as_array().into_iter().flatten() {
            let ids: Vec<usize> = entity["span"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|v| usize::try_from(v.as_u64()?).ok())
                .collect();
            let (Some(first), Some(last)) =
                (ids.iter().min().and_then(|i| spans.get(*i)), ids.iter().max().and_then(|i| spans.get(*i)))
            else {
                continue;
            };
            prompt
                .slots
                .push((first.start..last.end, entity["type"].as_str().unwrap_or_default().to_owned()));
        }
        prompt.slots.sort_by_key(|s| s.0.start);
        prompts.push(prompt);
    }
    Ok(prompts)
}

fn clinc(text: &str) -> Result<Vec<Prompt>, String> {
    let mut prompts = Vec::new();
    for all in json(text)?.as_object().ok_or("no object of parts")?.values() {
        for one in all.as_array().into_iter().flatten() {
            let word = |at: usize| one[at].as_str().unwrap_or_default().to_owned();
            prompts.push(Prompt { text: word(0), intent: word(1), slots: Vec::new() });
        }
    }
    Ok(prompts)
}

fn banking(text: &str) -> Result<Vec<Prompt>, String> {
    let mut prompts = Vec::new();
    for row in rows(text).into_iter().skip(1) {
        let [said, category] = row.as_slice() else { continue };
        prompts.push(Prompt { text: said.clone(), intent: category.clone(), slots: Vec::new() });
    }
    Ok(prompts)
}

/// Comma-separated values, with quotes that may hold commas, quotes and lines.
fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field).trim_end_matches('\r').to_owned());
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push(row);
    }
    rows
}

/// The hash of a text that cuts the sets.
pub(crate) fn hash(text: &str) -> u64 {
    let mixed = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    (mixed ^ (mixed >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

/// The prompts of the part that was asked for, as memory and as those that ask.
pub(crate) fn halves(prompts: Vec<Prompt>, options: &Options) -> (Vec<Prompt>, Vec<Prompt>) {
    let mut part: Vec<Prompt> = prompts
        .into_iter()
        .filter(|p| match options.part.as_str() {
            "a" => hash(&p.text).is_multiple_of(2),
            "b" => !hash(&p.text).is_multiple_of(2),
            _ => true,
        })
        .collect();
    part.sort_by_key(|p| hash(&p.text) / 4);
    part.truncate(options.most.unwrap_or(usize::MAX));
    part.into_iter().partition(|p| (hash(&p.text) / 2).is_multiple_of(2))
}

/// Groups prompts by a key, in a fixed order.
pub(crate) fn grouped(prompts: &[Prompt], key: impl Fn(&Prompt) -> String) -> Vec<(String, Vec<&Prompt>)> {
    let mut groups: HashMap<String, Vec<&Prompt>> = HashMap::new();
    for prompt in prompts {
        groups.entry(key(prompt)).or_default().push(prompt);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|a, b| a.0.cmp(&b.0));
    groups
}
