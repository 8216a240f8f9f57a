//! The walk-through of `docs/scenarios.md`: its blocks, from the page's own text, in a clean home, with the real programs.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_testkit::bins;
use common::{Home, Said};
use std::process::Command;

const PAGE: &str = include_str!("../../../docs/scenarios.md");

/// The blocks for a shell of one section.
fn blocks(section: &str) -> Vec<&'static str> {
    let (_, rest) = PAGE.split_once(&format!("\n## {section}\n")).unwrap();
    let text = rest.split("\n## ").next().unwrap();
    text.split("```sh\n").skip(1).map(|block| block.split("\n```").next().unwrap()).collect()
}

#[test]
fn the_page_leads_from_a_clean_home_to_a_first_scenario() {
    for name in ["bir-hub", "bir-proxy", "bir-sandbox"] {
        bins::bin(name, name).unwrap();
    }
    let home = Home::new();
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_bir")).parent().unwrap().to_owned();
    let shell = |block: &str| {
        let mut command = Command::new("sh");
        command.env_clear().env("BIR_HOME", home.state()).env("HOME", home.path()).env("TZ", "UTC");
        command.env("PATH", format!("{}:/usr/bin:/bin", programs.display())).current_dir(home.path());
        Said::from(command.args(["-euc", block]).output().unwrap())
    };
    let blocks = blocks("A first scenario");
    // What each block has to show, beside ending well.
    let shown: [&[&str]; 5] = [
        &["14 records booked", "12 records booked", "6 records booked"],
        &["is ready: 2 steps", "L1", "calculated from 2 runs", "of the result of step 0"],
        &["it matches: 2 steps would run", "a recorded result", "live, each call gives its own"],
        &["it reproduces the recording", "is changed", "input logic: edited", "redo it with"],
        &[
            "is approved",
            "has level L1",
            "is not approved",
            "not yet measured",
            "1 scenario in hotels.jsonl",
            "imported",
        ],
    ];
    assert_eq!(blocks.len(), shown.len());
    for (n, (block, parts)) in blocks.iter().zip(shown).enumerate() {
        let said = shell(block);
        assert_eq!(said.status, Some(0), "{block}\n{said:?}");
        let all = format!("{}{}", said.out, said.err);
        match n {
            0 => assert!(parts.iter().any(|part| all.contains(part)), "{all}"),
            _ => parts.iter().for_each(|part| assert!(all.contains(part), "no `{part}` in {all}")),
        }
        if n == 3 {
            let level = home.bir(&["scenario", "show", "last", "--json"]).json();
            assert_eq!(level["level"], "L1", "where it was: {level}");
        }
    }
}
