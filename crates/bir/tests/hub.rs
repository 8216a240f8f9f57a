//! `bir` with the real hub, the real proxy and the sample server: up, down, status, demo, runs.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_testkit::{bins, procs};
use common::{Home, Said};
use serde_json::Value;
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

/// A home beside whose `bir` the other programs are.
fn home() -> Home {
    for name in ["bir-hub", "bir-proxy"] {
        bins::bin(name, name).unwrap();
    }
    Home::new()
}

/// A text whose ids, times, spans, processes and tickets are named instead.
fn calm(text: &str, home: &Home) -> String {
    let mut out =
        text.replace(home.path().to_str().unwrap(), "HOME").replace(env!("CARGO_BIN_EXE_bir"), "BIR");
    for (begin, name) in
        [("http://127.0.0.1:", "PORT"), ("run_", "ID"), ("ticket=", "TICKET"), ("process ", "PID")]
    {
        let mut calmed = String::new();
        let mut rest = out.as_str();
        while let Some((before, after)) = rest.split_once(begin) {
            let end =
                after.find(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c))).unwrap_or(after.len());
            calmed.push_str(&format!("{before}{begin}{name}"));
            rest = &after[end..];
        }
        calmed.push_str(rest);
        out = calmed;
    }
    out
}

fn pid(home: &Home) -> u32 {
    let told: Value = serde_json::from_slice(&std::fs::read(home.state().join("hub.json")).unwrap()).unwrap();
    told["pid"].as_u64().unwrap().try_into().unwrap()
}

#[test]
fn without_a_hub_each_command_names_the_next() {
    let home = Home::new();
    assert_eq!(
        home.bir(&["status"]).ok(),
        "hub       none; start one with `bir up`, or sign in to one with `bir login --server URL`\n\
         waiting   nothing\n\
         recording on\n\
         bound     no project is set up; `bir project add` in one records prompts and built-in tools as well\n\
         installed nothing; `bir install` puts the recorder in front of your servers\n"
    );
    for args in [
        &["runs", "list"][..],
        &["runs", "show", "last"],
        &["runs", "follow"],
        &["runs", "grep", "x", "--json"],
    ] {
        let said = home.bir(args).fails(1);
        assert!(said.contains("no hub is known; start one with `bir up`"), "{said}");
    }
    let said = home.bir(&["down"]);
    let none = "no control server runs here: no project is set up\nno hub runs here\n";
    assert_eq!((said.status, said.err.as_str()), (Some(0), none));
    assert_eq!(home.bir(&["down", "--json"]).json()["ended"], false);
    assert!(home.bir(&["login"]).fails(2).contains("which hub? give --server URL"));
    // Looking makes nothing.
    assert!(!home.state().exists());
}

#[test]
fn a_configuration_that_is_not_understood_is_told_as_recording_that_is_off() {
    let home = Home::new();
    std::fs::create_dir_all(home.state()).unwrap();
    std::fs::write(home.state().join("config.toml"), "[record]\nexclude = ['github']\n").unwrap();
    let said = home.bir(&["status"]);
    assert_eq!(said.status, Some(0), "{said:?}");
    let off = "recording off: config.toml line 2, column 12: `github` in record.exclude is not understood";
    assert!(said.out.contains(off), "{said:?}");
    let told = home.bir(&["status", "--json"]).json();
    let off = &told["off"];
    assert_eq!((&off["everywhere"], &off["by"]), (&true.into(), &"config.toml".into()), "{told}");
    assert!(off["why"].as_str().unwrap().starts_with("config.toml line 2"), "{told}");
    // What switches it off by will goes first, and mended is mended.
    std::fs::write(home.state().join("off"), "").unwrap();
    assert!(home.bir(&["status"]).out.contains("recording off, switched off with `bir off`; `bir on`"));
    std::fs::remove_file(home.state().join("off")).unwrap();
    std::fs::write(home.state().join("config.toml"), "[record]\nexclude = ['server:github']\n").unwrap();
    assert!(home.bir(&["status"]).ok().contains("recording on\n"));
}

#[test]
fn a_home_that_cannot_be_had_is_named() {
    let home = home();
    let said = |command: &mut std::process::Command| Said::from(command.output().unwrap());
    for command in ["status", "up", "demo"] {
        let said = said(home.command(&[command]).env_remove("BIR_HOME").env_remove("HOME")).fails(1);
        assert!(said.contains("set HOME, or BIR_HOME to a directory"), "{said}");
    }
    let said = said(home.command(&["up"]).env("BIR_HOME", "/proc/nowhere")).fails(1);
    assert!(said.contains("cannot make /proc/nowhere") && said.contains("set BIR_HOME"), "{said}");
}

#[test]
fn the_hub_comes_up_once_and_goes_down() {
    let home = home();
    // Three at once: one starts it, each finds it.
    let children: Vec<_> = (0..3)
        .map(|_| {
            home.command(&["up", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let ups: Vec<Value> =
        children.into_iter().map(|child| Said::from(child.wait_with_output().unwrap()).json()).collect();
    assert_eq!(ups.iter().filter(|up| up["started"] == true).count(), 1, "{ups:?}");
    assert!(ups.iter().all(|up| up["pid"] == ups[0]["pid"] && up["url"] == ups[0]["url"]), "{ups:?}");

    // Whether somebody else has the default port is not for this test to say.
    let said = home.bir(&["up"]).ok();
    assert_eq!(said.starts_with("7411 is taken, so this time "), !said.contains("127.0.0.1:7411/"), "{said}");
    assert_eq!(
        calm(said.trim_start_matches("7411 is taken, so this time "), &home),
        "the hub runs already at http://127.0.0.1:PORT (process PID)\n\
         console  http://127.0.0.1:PORT/signin?ticket=TICKET\n         \
         this link signs you in, once, within 10 minutes\n\
         no control server was started, since no project is set up for bound recording; `bir project add` sets one up\n\
         stop it with `bir down`; see it with `bir status`\n"
    );
    assert_eq!(
        calm(&home.bir(&["status"]).ok(), &home),
        format!(
            "hub       http://127.0.0.1:PORT  on this machine  answers  version {}, process PID\n\
             console   http://127.0.0.1:PORT/  `bir up` prints a link that signs you in (once, within 10 minutes)\n\
             waiting   nothing\n\
             recording on\n\
             last run  none yet; put your servers behind the recorder with `bir install`, or try `bir demo`\n\
             bound     no project is set up; `bir project add` in one records prompts and built-in tools as well\n\
             installed nothing; `bir install` puts the recorder in front of your servers\n",
            env!("CARGO_PKG_VERSION")
        )
    );
    let said = home.bir(&["runs", "list"]);
    assert!(said.out.is_empty() && said.err.contains("try `bir demo`") && said.status == Some(0), "{said:?}");
    assert_eq!(home.bir(&["runs", "list", "--json"]).ok(), "[]\n");
    assert!(home.bir(&["runs", "show", "last"]).fails(1).contains("no run is recorded yet"));

    let hub = procs::find(pid(&home)).unwrap();
    assert_eq!(home.bir(&["down", "--json"]).json()["ended"], true);
    assert!(procs::wait_gone(&[hub], Duration::from_secs(20)).is_empty());
    assert!(!home.state().join("hub.json").exists());
    let said = home.bir(&["runs", "list"]).fails(1);
    assert!(
        said.ends_with("the hub of this machine is not running; `bir up` starts it (your runs are kept)"),
        "{said}"
    );
    assert!(
        home.bir(&["status"]).ok().starts_with("hub       the hub of this machine is not running; `bir up`")
    );
}

#[test]
fn a_hub_that_was_killed_is_told_and_started_again() {
    let home = home();
    home.bir(&["up"]).ok();
    let hub = procs::find(pid(&home)).unwrap();
    procs::kill_all(&[hub], Duration::from_secs(20));
    assert!(home.bir(&["status"]).ok().contains("it does not answer"));
    let said = home.bir(&["runs", "list"]).fails(1);
    assert!(said.ends_with("; start it with `bir up`"), "{said}");
    // Whether or not somebody has collected the process: there is none.
    let said = home.bir(&["down"]);
    let none = "no control server runs here: no project is set up\nno hub runs here\n";
    assert_eq!((said.status, said.err.as_str()), (Some(0), none));
    assert_eq!(home.bir(&["up", "--json"]).json()["started"], true);
    home.bir(&["down"]).ok();
}

#[test]
fn a_hub_that_cannot_start_says_why() {
    let home = home();
    std::fs::create_dir_all(home.state()).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = Said::from(home.command(&["up"]).env("BIR_HUB_LISTEN", &address).output().unwrap());
    assert!(said.status == Some(1) && said.out.is_empty(), "{said:?}");
    assert!(said.err.contains("another program has that port") && said.err.contains("hub.log"), "{said:?}");
    std::fs::write(home.state().join("config.toml"), "[hub]\nlisten = \"x\"\n").unwrap();
    let said = home.bir(&["up"]);
    assert!(said.status == Some(1) && said.err.contains("listen is wrong"), "{said:?}");
}

#[test]
fn the_demo_records_a_run_and_the_runs_are_there_to_be_read() {
    let home = home();
    let demo = home.bir(&["demo", "--sample"]);
    assert_eq!(demo.status, Some(0), "{demo:?}");
    assert!(demo.err.contains("started the hub at") && !demo.out.contains('\u{1b}'), "{demo:?}");
    let calmed = calm(&demo.out, &home);
    for part in ["servers  sample (Sample server of bir", "calls    7, 1 failed", "tool_error  sample/fail"] {
        assert!(calmed.contains(part), "{part}: {calmed}");
    }
    assert!(!demo.out.contains("0123456789abcdef"), "the made-up secret is recorded");
    let (_, ending) = calmed.rsplit_once("\n\n").unwrap();
    assert_eq!(
        ending,
        "open    http://127.0.0.1:PORT/signin?ticket=TICKET&next=/runs/run_ID\n        \
         the run in your browser; this link signs you in, once, within 10 minutes\n\
         next    BIR setup   in a project: records the servers that your hosts have\n        \
         BIR runs list\n        \
         BIR runs show last --full\n\
         stays   the hub goes on running; BIR down ends it\n        \
         the run is in HOME/state, with everything else that bir keeps\n"
    );
    // Nothing stays but the hub.
    let mine = format!("BIR_HOME={}", home.state().display());
    let left: Vec<u32> = procs::with_env(&mine).into_iter().map(|proc| proc.pid).collect();
    assert_eq!(left, [pid(&home)]);

    let list = home.bir(&["runs", "list", "--json"]).json();
    let id = list[0]["id"].as_str().unwrap().to_owned();
    let digits: String = id.trim_start_matches("run_").replace('-', "");
    for name in ["last", &id, &digits, &digits[..12], &digits[..8].to_uppercase()] {
        let run = home.bir(&["runs", "show", name, "--json"]).json();
        assert_eq!(
            (run["run"]["id"].as_str(), run["steps"].as_array().unwrap().len()),
            (Some(id.as_str()), 14)
        );
    }
    let foreign = home.bir(&["runs", "show", "run_01970000-0000-7000-8000-000000000001"]).fails(1);
    assert!(foreign.contains("`bir runs list` shows those that are there"), "{foreign}");
    assert!(home.bir(&["runs", "show", "0000"]).fails(1).contains("no run begins with"));
    assert!(home.bir(&["runs", "show", "x"]).fails(2).contains("is no run"));

    assert!(home.bir(&["runs", "grep", "Paris"]).ok().contains("sample/lookup"));
    let none = home.bir(&["runs", "grep", "pARIS", "--case", "--json"]);
    assert_eq!((none.status, none.out.as_str(), none.err.as_str()), (Some(1), "[]\n", ""));
    assert_eq!(
        home.bir(&["runs", "grep", "pARIS", "--case"]).fails(1),
        "no call holds this text; prompts and answers are not searched"
    );
    assert_eq!(home.bir(&["runs", "show"]).ok(), home.bir(&["runs", "show", "last"]).ok());
    let none = home.bir(&["runs", "list", "--server", "other"]);
    assert_eq!((none.out.as_str(), none.err.as_str()), ("", "no run matches\n"));
    assert!(
        home.bir(&["runs", "diff", "last", "last"])
            .ok()
            .ends_with("7 the same, 0 changed, 0 only in the first, 0 only in the second\n")
    );
    assert_eq!(home.bir(&["runs", "follow", "last"]).ok().lines().count(), 15);

    // The run, what its server's tools are, two rows of each call, its end.
    let written = home.bir(&["runs", "export", "--all", "-o", "all.jsonl", "--json"]).json();
    assert_eq!(written["records"], 17);
    assert_eq!(home.bir(&["runs", "export", "last", "--json"]).json().as_array().unwrap().len(), 17);
    let ask = Said::from(home.command(&["runs", "rm", "last"]).stdin(Stdio::null()).output().unwrap());
    assert!(ask.fails(2).contains("give --yes"));
    assert_eq!(home.bir(&["runs", "rm", "last", "--yes", "--json"]).json()["runs"], 1);
    assert_eq!(home.bir(&["runs", "list", "--json"]).ok(), "[]\n");
    let again = home.bir(&["runs", "import", "all.jsonl", "--json"]).json();
    assert_eq!((&again["booked"], &again["refused"]), (&17.into(), &0.into()));
    assert_eq!(home.bir(&["runs", "list", "--json"]).json()[0]["id"], id.as_str());

    readers_that_leave_and_disks_that_are_full(&home);
    home.bir(&["down"]).ok();
}

/// Nothing of it is a failure that nobody is told of, and nothing panics.
fn readers_that_leave_and_disks_that_are_full(home: &Home) {
    for args in [&["runs", "show", "last", "--full"][..], &["runs", "export", "--all"], &["--help"]] {
        let mut child = home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0; 1]).unwrap();
        drop(out);
        let said = Said::from(child.wait_with_output().unwrap());
        assert_eq!((said.status, said.err.as_str()), (Some(0), ""), "{args:?}");

        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let said = Said::from(home.command(args).stdout(full).output().unwrap()).fails(1);
        assert!(said.contains("No space left on device"), "{args:?}: {said}");
    }
    let full = home.bir(&["runs", "export", "--all", "-o", "/dev/full"]).fails(1);
    assert!(full.contains("cannot write /dev/full: No space left"), "{full}");
}

#[test]
fn ctrl_c_ends_a_follower_with_130() {
    let home = home();
    home.bir(&["up"]).ok();
    let mut child =
        home.command(&["runs", "follow"]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 7];
    child.stderr.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"waiting");
    let proc = procs::find(child.id()).unwrap();
    procs::send(proc.pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    home.bir(&["down"]).ok();
}

#[test]
fn a_demo_whose_run_cannot_be_kept_says_why() {
    let home = home();
    std::fs::create_dir_all(home.state()).unwrap();
    std::fs::write(home.state().join("spool"), "no directory").unwrap();
    let demo = home.bir(&["demo", "--sample"]);
    assert_eq!((demo.status, demo.out.as_str()), (Some(1), ""), "{demo:?}");
    let last = demo.err.lines().last().unwrap();
    assert!(
        last.contains("the run is not in the hub after") && last.contains("the spool takes no run"),
        "{last}"
    );
    home.bir(&["down"]).ok();
}
