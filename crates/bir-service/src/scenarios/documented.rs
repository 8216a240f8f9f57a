//! `docs/scenarios.md` against what the program can say: every code and word of the routes, and no other where a list is whole.

use crate::problem::Code;
use bir_calc::calculate::Code as Unusable;
use bir_model::scenario::{
    Act, Decision, Effect, HandOver, Level, MadeFrom, Mark, MatchSaid, Mode, Outcome, ParamRole, Part,
    ProblemKind, ScenarioState, Source, Stage, StepVerdict, Trust,
};
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../docs/scenarios.md");

/// The words in backticks of the paragraph that begins so.
fn listed(beginning: &str) -> BTreeSet<&'static str> {
    let at = PAGE.find(beginning).unwrap_or_else(|| panic!("no paragraph begins with {beginning}"));
    let paragraph = PAGE[at + beginning.len()..].split("\n\n").next().unwrap();
    paragraph.split('`').skip(1).step_by(2).collect()
}

fn words<T: std::fmt::Display>(all: &[T]) -> BTreeSet<String> {
    all.iter().map(ToString::to_string).collect()
}

fn same(beginning: &str, all: BTreeSet<String>) {
    let listed: BTreeSet<String> = listed(beginning).into_iter().map(str::to_owned).collect();
    assert_eq!(listed, all, "the list of {beginning}");
}

#[test]
fn every_code_of_a_match_and_of_a_hand_over_is_listed_and_no_other() {
    same("`code` of a match:", words(&MatchSaid::CODES));
    same("`handOver.code`:", words(&HandOver::CODES));
    same(
        "`result` of a calculation of which nothing can be had, in metrics:",
        Unusable::ALL.iter().map(|code| code.as_str().to_owned()).collect(),
    );
}

#[test]
fn every_word_of_the_routes_is_listed_and_no_other() {
    same("`state`:", words(ScenarioState::ALL));
    same("`level`:", words(Level::ALL));
    same("`decision`:", words(Decision::ALL));
    same("`act`:", words(Act::ALL));
    same("`by`:", words(Source::ALL));
    same("`from.origin`:", words(MadeFrom::ALL));
    same("`effect`:", words(Effect::ALL));
    same("`confidence`:", words(Trust::ALL));
    same("`role`:", words(ParamRole::ALL));
    same("`mark`:", words(Mark::ALL));
    same("`outcome`:", words(Outcome::ALL));
    same("`mode`:", words(Mode::ALL));
    same("`status` of a step:", words(StepVerdict::ALL));
    same("`stage`:", words(Stage::ALL));
    same("`kind` of a problem:", words(ProblemKind::ALL));
    same("`part`:", words(Part::ALL));
}

#[test]
fn every_refusal_of_the_routes_is_in_the_table_with_its_status() {
    let (_, table) = PAGE.split_once("| code | status | means |").unwrap();
    let rows: Vec<(&str, u16)> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let mut cells = line.split('|').map(str::trim).skip(1);
            (cells.next().unwrap().trim_matches('`'), cells.next().unwrap().parse().unwrap())
        })
        .collect();
    // Those of scenarios alone stand behind those that every route has, before the fault of the service.
    let own = Code::ALL.iter().skip_while(|code| **code != Code::NothingToChange);
    let own: Vec<&Code> = own.take_while(|code| **code != Code::Internal).collect();
    assert!(own.len() >= 8);
    for code in own {
        assert!(
            rows.contains(&(code.as_str(), code.status().as_u16())),
            "{} is not in the table",
            code.as_str()
        );
    }
    for (name, status) in rows {
        let known = Code::ALL.iter().find(|code| code.as_str() == name);
        assert_eq!(known.map(|code| code.status().as_u16()), Some(status), "{name}");
    }
}
