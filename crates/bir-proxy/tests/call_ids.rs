//! Ids of calls that come in the arguments: declared where somebody may put one there, taken out in any case, and nothing else
//! is touched.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;
#[path = "common/control.rs"]
mod control;
#[path = "common/remote.rs"]
mod remote;
#[path = "common/spool.rs"]
mod spool;

use bir_testkit::{Eras, Script};
use common::*;
use control::{Control, Project};
use remote::{Leg, Stage};

const DECLARED: &str =
    r#""properties":{"__bir_call_id__":{"type":"string","description":"Reserved. Leave unset."}},"#;
const WITH_ID: &str = r#"{"b" : 1e400 , "__bir_call_id__" : "c-1","a":[ 1 ]}"#;
const WITHOUT_ID: &str = r#"{"b" : 1e400 ,"a":[ 1 ]}"#;

/// The list as the upstream alone gives it.
fn plain_list(eras: Eras) -> String {
    let setup = front(Script::era(eras)).option("--no-record");
    if eras == Eras::Modern {
        return setup.start().ask(modern("7", "tools/list", ""));
    }
    setup.start().open().ask(request("7", "tools/list", "{}"))
}

/// What the upstream has received of calls.
fn calls_of(front: &Front) -> String {
    front.received().into_iter().filter(|line| line.contains("tools/call")).collect()
}

#[test]
fn a_bound_proxy_declares_it_and_takes_it_out_in_both_eras() {
    for eras in [Eras::Legacy, Eras::Modern] {
        let control = Control::start();
        let setup = front(Script::era(eras)).option("--call-id");
        let home = setup.home();
        let project = Project::new(&home);
        project.served_by(&control);
        let mut front = setup.dir(&project.path()).start();
        let (list, line) = if eras == Eras::Modern {
            (modern("7", "tools/list", ""), modern_call("8", "echo", WITH_ID))
        } else {
            front = front.open();
            (request("7", "tools/list", "{}"), call("8", "echo", WITH_ID))
        };
        let listed = front.ask(&list);
        assert!(listed.matches(DECLARED).count() > 3, "{listed}");
        assert_eq!(listed.replace(DECLARED, ""), plain_list(eras), "nothing else is touched");
        wait_until("it is introduced before the first call", || {
            control.seen(|seen| !seen.registrations.is_empty())
        });
        assert!(control.seen(|seen| seen.registrations[0].takes_call_id && seen.reports.is_empty()));
        front.ask(&line);
        wait_until("it is told", || control.told().len() == 2);
        assert_eq!(front.finish(), 0);
        assert_eq!(calls_of(&front).trim_end(), line.replace(WITH_ID, WITHOUT_ID));
        control.seen(|seen| {
            assert!(seen.reports.iter().all(|report| report.call_id.as_deref() == Some("c-1")));
            assert!(!seen.bodies.contains("__bir_call_id__"));
        });
        assert!(spool::runs(&home).is_empty());
    }
}

#[test]
fn where_none_can_come_it_is_not_declared_and_taken_out_all_the_same() {
    for options in [&["--call-id", "--standalone"][..], &["--call-id", "--no-record"], &["--call-id"]] {
        let mut setup = front(Script::new());
        for option in options {
            setup = setup.option(option);
        }
        let home = setup.home();
        let project = Project::new(&home);
        if options.len() == 1 {
            project.served_by_nobody();
            std::fs::write(bir_control_client::stopped_file(&home), "").unwrap();
        }
        let mut front = setup.dir(&project.path()).start().open();
        let list = request("7", "tools/list", "{}");
        assert_eq!(front.ask(&list), plain_list(Eras::Legacy), "{options:?}");
        front.ask(call("8", "echo", WITH_ID));
        assert_eq!(front.finish(), 0);
        assert_eq!(calls_of(&front).trim_end(), call("8", "echo", WITHOUT_ID));
        for run in spool::runs(&home) {
            assert_eq!(run.call(0).0.call_id.as_deref(), Some("c-1"), "{options:?}");
            assert_eq!(run.call(0).0.tool_input.as_deref(), Some(WITHOUT_ID));
        }
    }
}

#[test]
fn who_did_not_ask_for_it_passes_it_on() {
    let control = Control::start();
    for options in [&[][..], &["--call-id", "--no-correlation"]] {
        let mut setup = front(Script::new());
        for option in options {
            setup = setup.option(option);
        }
        let setup = setup.env("BIR_CONTROL_URL", &control.url).env("BIR_CONTROL_TOKEN", &control.token);
        let mut front = setup.start().open();
        assert_eq!(front.ask(request("7", "tools/list", "{}")), plain_list(Eras::Legacy));
        front.ask(call("8", "echo", WITH_ID));
        wait_until("it is told", || control.seen(|seen| std::mem::take(&mut seen.reports).len() == 2));
        assert_eq!(front.finish(), 0);
        assert_eq!(calls_of(&front).trim_end(), call("8", "echo", WITH_ID), "{options:?}");
        assert!(!control.seen(|seen| seen.registrations.pop().unwrap().takes_call_id));
    }
}

#[test]
fn a_long_message_is_held_for_it_and_a_very_long_one_passes_as_it_came() {
    for (size, is_edited) in [(100 << 10, true), (900 << 10, true), (3 << 20, false)] {
        let mut front = front(Script::new()).option("--call-id").option("--no-record").start().open();
        let long = "y".repeat(size);
        let with = format!(r#"{{"x":"{long}","__bir_call_id__":"c-1"}}"#);
        let answer = front.ask(call("8", "echo", &with));
        assert!(answer.contains(&long), "{size}");
        let after = front.ask(call("9", "echo", WITH_ID));
        assert!(after.contains("\"id\":9"));
        assert_eq!(front.finish(), 0);
        assert_eq!(!calls_of(&front).contains("__bir_call_id__"), is_edited, "{size}");
    }
}

#[test]
fn a_remote_server_has_it_declared_and_taken_out_over_every_leg() {
    for leg in Leg::ALL {
        let control = Control::start();
        let (url, token) = (control.url.clone(), control.token.clone());
        let mut stage = Stage::with(&Script::new(), leg, |command| {
            command.arg("--call-id").env("BIR_CONTROL_URL", &url).env("BIR_CONTROL_TOKEN", &token)
        });
        stage.open();
        let list =
            if leg.is_modern() { modern("7", "tools/list", "") } else { request("7", "tools/list", "{}") };
        let listed = stage.ask(list);
        assert!(listed.matches(DECLARED).count() > 3, "{leg:?}: {listed}");
        let echoed = stage.ask(stage.call("8", "echo", WITH_ID));
        assert!(!echoed.contains("__bir_call_id__"), "{leg:?}: {echoed}");
        wait_until("it is told", || control.told().len() == 2);
        assert_eq!(stage.host.finish(BUDGET).unwrap(), 0);
        control.seen(|seen| {
            assert!(seen.reports.iter().all(|report| report.call_id.as_deref() == Some("c-1")), "{leg:?}");
            let bir_model::control::ProxyWhat::Began { input: Some(input) } = &seen.reports[0].what else {
                panic!()
            };
            assert_eq!(input.text, WITHOUT_ID, "{leg:?}");
            assert!(seen.registrations[0].takes_call_id);
        });
    }
}
