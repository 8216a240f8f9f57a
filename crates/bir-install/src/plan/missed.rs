//! What was asked for by name and is not done: a host, a server, a file. Where nothing was named, it counts only if nothing is done at all.

use super::{Outcome, Plan, Wish};
use crate::survey::{Survey, name_of};
use bir_hosts::config::Role;
use std::path::Path;

/// A sentence for each.
pub(super) fn of(plan: &Plan, survey: &Survey, wish: &Wish) -> Vec<String> {
    let mut all = Vec::new();
    for name in &wish.servers {
        let lines = || plan.servers.iter().filter(|line| line.server == *name);
        if lines().any(|line| line.outcome.stands()) {
            continue;
        }
        match lines().find_map(|line| reason(&line.outcome).map(|why| (line, why))) {
            Some((line, why)) => all.push(format!("`{name}` of {} is left alone: {why}", line.host)),
            None => all.push(format!("no host has a server named `{name}`")),
        }
    }
    for host in &survey.hosts {
        let is_named = host.host.is_none_or(|host| wish.hosts.contains(&host));
        let name = name_of(host.host);
        let servers = || plan.servers.iter().filter(|line| line.host == name);
        let hooks = || plan.hooks.iter().filter(|line| line.host == name);
        if is_named && host.host.is_some() && servers().next().is_none() && hooks().next().is_none() {
            let is_there = host.files.iter().any(crate::survey::ReadFile::is_there);
            let why = if is_there { "has no server in its files" } else { "has no file here" };
            // Of a server that was named it is said already.
            if wish.servers.is_empty() {
                all.push(format!("{name} {why}, so nothing can be put into it"));
            }
        }
        // Hooks for every project were asked for, and those of one stand in their way.
        let in_the_way =
            |outcome: &Outcome| matches!(outcome, Outcome::Left(refusal) if refusal.code == "project");
        for line in hooks().filter(|line| in_the_way(&line.outcome)) {
            all.extend(reason(&line.outcome).map(|why| format!("the hooks of {name} are left alone: {why}")));
        }
        for read in host.files.iter().filter(|_| is_named || is_idle(plan)) {
            let path = read.file.path.as_path();
            if let Some(why) = left_of(plan, name, path) {
                all.push(format!("{} is left alone: {why}", path.display()));
            }
        }
    }
    all.dedup();
    all
}

/// Whether a server that was named is one that no host has.
pub(super) fn is_unknown(plan: &Plan, wish: &Wish) -> bool {
    wish.servers.iter().any(|name| plan.servers.iter().all(|line| line.server != *name))
}

/// A sentence for each file that is left alone beside others that are not: it cannot be read, or what was to be put into it cannot be.
pub(super) fn partly(plan: &Plan, survey: &Survey) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for host in &survey.hosts {
        for read in host.files.iter().filter(|read| read.file.role != Role::Read) {
            let path = read.file.path.as_path();
            let why = left_of(plan, name_of(host.host), path);
            let is_of_line = plan.servers.iter().any(|line| line.file == path && is_file(&line.outcome))
                || plan.hooks.iter().any(|line| line.file == path && is_file(&line.outcome));
            if let Some(why) = why.filter(|_| is_of_line || (read.is_there() && read.document.is_err())) {
                let sentence = format!("{} is left alone: {why}", path.display());
                if !all.contains(&sentence) && !plan.missed.contains(&sentence) {
                    all.push(sentence);
                }
            }
        }
    }
    all
}

fn is_file(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Left(refusal) if refusal.code == "file")
}

/// Whether nothing changes, and nothing of ours stands.
fn is_idle(plan: &Plan) -> bool {
    let stands =
        plan.servers.iter().map(|line| &line.outcome).chain(plan.hooks.iter().map(|line| &line.outcome));
    !plan.changes() && !stands.into_iter().any(Outcome::stands)
}

fn reason(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Left(refusal) => Some(&refusal.why),
        _ => None,
    }
}

/// Why a file cannot be changed, where something was to be put into it.
fn left_of<'p>(plan: &'p Plan, host: &str, path: &Path) -> Option<&'p str> {
    let unchangeable = |outcome: &'p Outcome| match outcome {
        Outcome::Left(refusal) if refusal.code == "file" => Some(refusal.why.as_str()),
        _ => None,
    };
    let servers = plan.servers.iter().filter(|line| line.host == host && line.file == path);
    let hooks = plan.hooks.iter().filter(|line| line.host == host && line.file == path);
    let untouched = plan.untouched.iter().find(|(file, _)| file == path).map(|(_, why)| why.as_str());
    let of_line =
        servers.map(|line| &line.outcome).chain(hooks.map(|line| &line.outcome)).find_map(unchangeable);
    // A file that can be read, and in which nothing was to be changed, may be as locked as it likes.
    let is_unread =
        plan.servers.iter().all(|line| line.file != path) && plan.hooks.iter().all(|line| line.file != path);
    of_line.or(untouched.filter(|_| is_unread))
}
