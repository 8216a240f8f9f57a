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
