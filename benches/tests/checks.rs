//! The benchmark's own yardsticks: the pump keeps every byte that the checks look at, over the driver's real command line.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn one(peer: &str, part: &str) -> Value {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("checks");
    let run = Command::new(env!("CARGO_BIN_EXE_driver"))
        .args(["one", peer, "--part", part, "--quick"])
        .args([Path::new("--table"), &here.join("peers/peers.tsv"), Path::new("--here"), here])
        .args([Path::new("--out"), &out, Path::new("--installed"), &out])
        .args(["--proxy", env!("CARGO_BIN_EXE_pump")])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).unwrap()
}

/// Both host shapes of the reference upstream and the floor pass all checks that have one right outcome.
#[test]
fn the_direct_ways_and_the_pump_keep_every_byte() {
    // Beside this test's target binaries the driver finds its upstream and pump by name.
    assert!(Path::new(env!("CARGO_BIN_EXE_ref-upstream")).exists());
    for peer in ["direct", "direct-http", "byte-pump"] {
        let checks = one(peer, "fidelity");
        let checks = checks.as_object().unwrap();
        assert_eq!(checks.len(), 74, "{peer}: {checks:#?}");
        let other: Vec<_> = checks.iter().filter(|(_, v)| *v != "same").map(|(k, _)| k.as_str()).collect();
        assert_eq!(other, ["non-JSON line from upstream", "upstream dies during a call"], "{peer}");
    }
}

/// A proxy that does not even start misses its budgets, is named as failed, and fails a run that is asked to check.
#[test]
fn a_proxy_that_does_not_start_misses_its_budgets() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("budgets");
    let run = Command::new(env!("CARGO_BIN_EXE_driver"))
        .args(["budgets", "--quick", "--check", "--part", "start"])
        .args([Path::new("--out"), &out, Path::new("--node-relay"), &here.join("node/line-proxy.mjs")])
        // The pump takes its first argument for a command, and is given an option.
        .args(["--proxy", env!("CARGO_BIN_EXE_pump")])
        .output()
        .unwrap();
    let table = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.status.code(), Some(1), "{table}");
    assert!(
        table.contains("MISSED") && table.contains("bir-proxy stdio→stdio: FAILED: does not start: died"),
        "{table}"
    );
    let results: Value = serde_json::from_slice(&std::fs::read(out.join("budgets.json")).unwrap()).unwrap();
    assert!(results["ways"]["byte pump"]["values"]["start_ms"]["median"].as_f64().unwrap() > 0.0);
    assert_eq!(results["budgets"][0]["stdio"], false);
}
