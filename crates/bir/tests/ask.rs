//! What `bir setup` and `bir uninstall --purge` ask, on a terminal and without one, and what comes of each answer.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_testkit::{bins, procs};
use common::terminal::{END, typed};
use common::{Home, Said};
use std::process::Command;
use std::time::Duration;

const CURSOR: &str = "{\"mcpServers\":{\"c\":{\"command\":\"c\"}}}";

/// A home with one host and a project.
fn home() -> Home {
    for name in ["bir-hub", "bir-proxy", "bir-hooks"] {
        bins::bin(name, name).unwrap();
    }
    let home = Home::new();
    std::fs::create_dir_all(home.path().join("p/.git")).unwrap();
    std::fs::create_dir(home.path().join(".cursor")).unwrap();
    std::fs::write(home.path().join(".cursor/mcp.json"), CURSOR).unwrap();
    home
}

fn command(home: &Home, args: &[&str]) -> Command {
    let mut command = home.command(args);
    command.current_dir(home.path().join("p"));
    command
}

fn cursor(home: &Home) -> String {
    std::fs::read_to_string(home.path().join(".cursor/mcp.json")).unwrap()
}

fn last(said: &Said) -> &str {
    said.err.lines().last().unwrap_or_default()
}

const SETUP: &str = "and start hub and control server? [y/N]";

#[test]
fn setup_does_nothing_unless_a_person_says_yes() {
    let home = home();
    let piped = Said::from(command(&home, &["setup"]).output().unwrap());
    assert!(piped.out.contains("cursor") && !piped.err.contains(SETUP), "{piped:?}");
    assert_eq!(
        (piped.status, last(&piped)),
        (Some(1), "bir setup: nothing was changed; `--yes` carries this out")
    );
    for answer in ["n\n", "\n", "yess\n", END] {
        let said = typed(command(&home, &["setup"]), answer);
        assert!(said.out.contains("cursor") && said.err.matches(SETUP).count() == 1, "{said:?}");
        assert!(
            said.status == Some(1) && last(&said).ends_with("nothing was changed"),
            "{answer:?}: {said:?}"
        );
    }
    assert!(cursor(&home) == CURSOR && !home.state().exists());
}

#[test]
fn setup_installs_and_starts_once_a_person_says_yes_and_purge_takes_all_of_it_back() {
    let home = home();
    let said = typed(command(&home, &["setup"]), "y\n");
    assert_eq!(said.status, Some(0), "{said:?}");
    assert!(said.err.contains(SETUP) && said.out.contains("the hub is up at"), "{said:?}");
    assert_eq!(
        last(&said),
        "next: restart cursor where it is open, and use it as always; then `bir runs show`"
    );
    assert!(cursor(&home).contains("bir-proxy") && home.state().join("hub.json").exists());
    // There is nothing to be asked any more, and what runs goes on.
    let again = typed(command(&home, &["setup"]), "");
    assert!(again.status == Some(0) && again.out.contains("the hub runs already"), "{again:?}");
    assert!(!again.err.contains("[y/N]") && !again.err.contains("next: "), "{again:?}");

    let mine = format!("BIR_HOME={}", home.state().display());
    let running = || procs::with_env(&mine).into_iter().filter(procs::runs).collect::<Vec<_>>();
    assert!(!running().is_empty());
    let asked = "and delete everything that was recorded on this machine? [y/N]";
    let piped = Said::from(command(&home, &["uninstall", "--purge"]).output().unwrap());
    assert!(piped.status == Some(1) && last(&piped).contains("`--yes` carries this out"), "{piped:?}");
    for answer in ["n\n", END] {
        let said = typed(command(&home, &["uninstall", "--purge"]), answer);
        assert!(said.status == Some(1) && said.err.matches(asked).count() == 1, "{said:?}");
        assert!(
            last(&said).ends_with("nothing was changed") && said.out.contains("is deleted with everything")
        );
    }
    assert!(
        cursor(&home).contains("bir-proxy") && home.state().join("hub.db").exists() && !running().is_empty()
    );
    let before = running();
    let said = typed(command(&home, &["uninstall", "--purge"]), "yes\n");
    assert_eq!(said.status, Some(0), "{said:?}");
    // Asked once, for all that the plan says.
    assert_eq!(said.err.matches("[y/N]").count(), 1, "{said:?}");
    assert!(cursor(&home) == CURSOR && !home.state().exists());
    assert!(procs::wait_gone(&before, Duration::from_secs(20)).is_empty());
}

#[test]
fn purge_asks_by_itself_where_nothing_is_installed() {
    let home = home();
    Said::from(command(&home, &["up"]).output().unwrap()).ok();
    let question =
        format!("Delete {} with everything that was recorded on this machine? [y/N]", home.state().display());
    let piped = Said::from(command(&home, &["uninstall", "--purge"]).output().unwrap());
    assert!(
        piped.status == Some(1) && last(&piped).ends_with("was not deleted; `--yes` does it"),
        "{piped:?}"
    );
    for answer in ["n\n", END] {
        let said = typed(command(&home, &["uninstall", "--purge"]), answer);
        assert!(said.status == Some(1) && said.err.matches(&question).count() == 1, "{said:?}");
        assert!(last(&said).ends_with("it stays") && home.state().join("hub.json").exists(), "{said:?}");
    }
    let said = typed(command(&home, &["uninstall", "--purge"]), "Y\n");
    assert!(
        said.status == Some(0) && last(&said).contains("is deleted; a host that is still open"),
        "{said:?}"
    );
    assert!(!home.state().exists());
}
