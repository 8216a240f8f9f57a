//! What a person does about bound recording: project, off, on, hooks, and the control server in up, down and status. The control
//! server is a stub on loopback here.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_control_client::{Discovery, projects, stopped_file};
use common::stub::{Reply, Stub};
use common::{Home, Said};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// A home with a git work tree `repo`, and a directory in it.
fn home() -> (Home, PathBuf, PathBuf) {
    let home = Home::new();
    let repo = home.path().canonicalize().unwrap().join("repo");
    let deep = repo.join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::create_dir(repo.join(".git")).unwrap();
    (home, repo, deep)
}

fn bir_in(home: &Home, dir: &Path, args: &[&str]) -> Said {
    Said::from(home.command(args).current_dir(dir).output().unwrap())
}

/// Done, and what was said on stderr; stdout is empty.
#[track_caller]
fn said(said: Said) -> String {
    assert_eq!((said.status, said.out.as_str()), (Some(0), ""), "{said:?}");
    said.err
}

fn off_file(home: &Home) -> Option<String> {
    std::fs::read_to_string(home.state().join("off")).ok()
}

/// A process that stands for a control server; ended with the test.
struct Stand(Child);

impl Stand {
    fn new(program: &Path) -> Self {
        Self(Command::new(program).arg("600").spawn().unwrap())
    }

    fn ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes that a control server serves a project.
fn serve(home: &Home, project: &Path, url: &str, pid: u32) {
    let file = projects::add(&home.state(), project).unwrap();
    let found = Discovery::read(&file).unwrap();
    Discovery { url: Some(url.into()), token: Some("secret-token".into()), pid: Some(pid), ..found }
        .write(&file)
        .unwrap();
}

#[test]
fn a_project_is_set_up_listed_and_taken_out() {
    let (home, repo, deep) = home();
    let shown = repo.display().to_string();
    assert!(said(home.bir(&["project", "list"])).contains("no project is set up"));
    assert_eq!(home.bir(&["project", "list", "--json"]).ok(), "[]\n");
    // Looking makes nothing.
    assert!(!home.state().exists());

    let added = said(bir_in(&home, &deep, &["project", "add"]));
    assert!(
        added.starts_with(&format!("{shown} is set up")) && added.contains("`bir hooks claude-code`"),
        "{added}"
    );
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&projects::file_of(&home.state(), &repo)), 0o600);
    assert_eq!(mode(&projects::folder(&home.state())), 0o700);
    assert!(
        said(bir_in(&home, &repo, &["project", "add"])).starts_with(&format!("{shown} was set up already"))
    );
    let inner = said(bir_in(&home, &repo, &["project", "add", "a"]));
    assert!(inner.contains(&format!("note: {shown} is set up too, which covers it")), "{inner}");
    said(home.bir(&["project", "add", "--everywhere"]));
    let list = home.bir(&["project", "list"]).ok();
    assert!(list.contains("everywhere (/)") && list.contains("none runs"), "{list}");
    let dirs: Vec<Value> = home
        .bir(&["project", "list", "--json"])
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["dir"].clone())
        .collect();
    assert_eq!(dirs, ["/".to_owned(), shown.clone(), format!("{shown}/a")]);

    let missing = home.bir(&["project", "add", "no/such"]).fails(1);
    assert!(missing.contains("there is no directory") && missing.ends_with("no/such"), "{missing}");
    assert!(home.bir(&["project", "add", "x", "--everywhere"]).fails(2).contains("exclude each other"));
    let removed = said(bir_in(&home, &repo, &["project", "rm", "a"]));
    assert!(removed.contains("no project any more") && removed.contains("goes on covering it"), "{removed}");
    let not = bir_in(&home, &repo, &["project", "rm", "a"]).fails(1);
    assert!(not.contains(&format!("{shown}/a is not set up; it lies in {shown}, which is")), "{not}");
    // One whose directory has gone is taken out by its name.
    std::fs::remove_dir_all(&repo).unwrap();
    assert!(home.bir(&["project", "list"]).ok().contains("the directory is gone"));
    said(home.bir(&["project", "rm", &shown]));
    said(home.bir(&["project", "rm", "--everywhere"]));
    let not = home.bir(&["project", "rm", &shown]).fails(1);
    assert!(not.ends_with("is not set up; `bir project list` shows what is"), "{not}");
}

#[test]
fn off_and_on_change_the_file_and_leave_what_a_person_wrote() {
    let (home, repo, deep) = home();
    let shown = repo.display().to_string();
    assert!(said(home.bir(&["on"])).starts_with("recording is on already"));
    assert!(!home.state().exists());
    assert!(said(home.bir(&["off"])).starts_with("recording is off everywhere"));
    assert_eq!(off_file(&home).as_deref(), Some(""));
    assert_eq!(std::fs::metadata(home.state().join("off")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(said(home.bir(&["off"])).contains("off already"));
    assert!(
        said(bir_in(&home, &deep, &["off", "--here"])).contains("everywhere already; nothing was changed")
    );
    assert!(
        bir_in(&home, &deep, &["on", "--here"]).fails(1).contains("off everywhere; `bir on` switches it on")
    );
    assert_eq!(said(home.bir(&["on"])), "recording is on\n");
    assert_eq!(off_file(&home), None);

    std::fs::write(home.state().join("off"), "# mine\n/elsewhere").unwrap();
    said(bir_in(&home, &deep, &["off", "--here"]));
    assert_eq!(off_file(&home), Some(format!("# mine\n/elsewhere\n{shown}\n")));
    let status = bir_in(&home, &deep, &["status"]).ok();
    assert!(status.contains(&format!("off in /elsewhere, {shown}, so here as well")), "{status}");
    assert_eq!(bir_in(&home, &deep, &["status", "--json"]).json()["off"]["here"], true);
    assert_eq!(home.bir(&["status", "--json"]).json()["off"]["here"], false);
    let stays = bir_in(&home, &deep, &["on"]).fails(1);
    assert!(
        stays.contains(&format!("since {shown} is listed as off; `bir on --here` in {shown}")),
        "{stays}"
    );
    assert!(said(home.bir(&["on"])).contains("on already; it stays off in /elsewhere"));
    // Everything off and on again brings the list back.
    said(home.bir(&["off"]));
    assert!(home.bir(&["status"]).ok().contains("recording off, switched off with `bir off`; `bir on`"));
    said(home.bir(&["on"]));
    assert_eq!(off_file(&home), Some(format!("# mine\n/elsewhere\n{shown}\n")));
    let on = said(bir_in(&home, &deep, &["on", "--here"]));
    assert_eq!(on, format!("recording is on in {shown}; it stays off in /elsewhere\n"));
    assert_eq!(off_file(&home).as_deref(), Some("# mine\n/elsewhere\n"));

    // A directory above the project is not the project's to switch on.
    let above = repo.parent().unwrap().display().to_string();
    std::fs::write(home.state().join("off"), format!("# mine\n{above}\n")).unwrap();
    let stays = bir_in(&home, &deep, &["on", "--here"]).fails(1);
    assert!(stays.contains(&format!("since {above} is listed as off")), "{stays}");
    let gone = said(home.bir(&["on", "--here"]));
    assert!(
        gone.contains("is gone, and these lines with it:\n# mine") && off_file(&home).is_none(),
        "{gone}"
    );
    let set = Said::from(home.command(&["on"]).env("BIR_OFF", "1").output().unwrap()).fails(1);
    assert!(set.contains("BIR_OFF is set"), "{set}");
}

#[test]
fn status_says_who_serves_what_and_what_went_past_the_proxies() {
    let (home, repo, deep) = home();
    let control = Stub::new();
    let health = json!({"apiVersion": 1, "version": "0.9.9", "pid": 4_000_000, "startedAt": 1_000,
        "sessions": [{"host": "claude-code", "sessionId": "s1", "cwd": deep, "run": null}],
        "proxies": [{"server": "fs", "pid": 1}], "bypassed": {"github": 2}, "unknown": [{}]});
    control.on("GET /health", [Reply::Json(200, health.to_string())]);
    serve(&home, &repo, &control.url, 4_000_000);
    std::fs::create_dir(home.state().join("inbox")).unwrap();
    std::fs::write(home.state().join("inbox/0001-1-0.jsonl"), "not understood\n").unwrap();
    std::fs::write(home.state().join("inbox/dropped"), "..").unwrap();

    let status = home.bir(&["status"]).ok();
    for line in [
        "control   answers  version 0.9.9, process 4000000, since 1970-01-01 00:00:01\n".to_owned(),
        format!("projects  {}\n", repo.display()),
        format!("sessions  claude-code in {}\n", deep.display()),
        "proxies   fs\n".to_owned(),
        "bypassed  github (2): calls that no proxy saw; put the server behind one with `bir install`"
            .to_owned(),
        "inbox     1 message for the next control server\n".to_owned(),
        "lost      2 messages of hooks or proxies not kept: `bir down` had ended the control server"
            .to_owned(),
    ] {
        assert!(status.contains(&line), "{line}: {status}");
    }
    let told = home.bir(&["status", "--json"]).json();
    let bound = &told["bound"];
    assert_eq!(bound["control"]["version"], "0.9.9");
    assert_eq!(bound["bypassed"], json!({"github": 2}));
    assert_eq!(bound["sessions"][0]["sessionId"], "s1");
    assert_eq!(bound["inbox"], json!({"messages": 1, "more": false, "dropped": 2}));
    assert!(!told.to_string().contains("secret-token"));
    assert!(control.asked("GET /health").iter().all(|asked| asked.token == "secret-token"));
    let list = home.bir(&["project", "list", "--json"]).json();
    assert_eq!((&list[0]["served"], &list[0]["sessions"]), (&true.into(), &1.into()));

    control.on("GET /health", [Reply::Problem(401, "unauthorized", "no")]);
    let status = home.bir(&["status"]).ok();
    assert!(status.contains("does not answer: it answers 401"), "{status}");
    // Nothing that was looked at was changed.
    assert_eq!(home.bir(&["status", "--json"]).json()["bound"]["inbox"]["dropped"], 2);
}

#[test]
fn down_asks_the_control_server_to_end_and_keeps_others_from_starting_it() {
    let (home, repo, _) = home();
    let mut stand = Stand::new(Path::new("/bin/sleep"));
    let control = Stub::new();
    let pid = stand.0.id();
    control.on("GET /health", [Reply::Json(200, json!({"pid": pid}).to_string())]);
    control.on("POST /shutdown", [Reply::Json(200, "{}".into())]);
    serve(&home, &repo, &control.url, pid);
    // It has heard and does not go, so it gets the signal.
    let told = home.bir(&["down", "--json"]).json();
    assert_eq!((&told["control"]["ended"], &told["control"]["pid"]), (&true.into(), &pid.into()), "{told}");
    assert!(stand.ended());
    let asked = control.asked("POST /shutdown");
    assert_eq!((asked[0].body.as_str(), asked[0].token.as_str()), (r#"{"reason":"down"}"#, "secret-token"));
    assert!(stopped_file(&home.state()).exists());
    // The stub goes on answering, and its process is gone.
    control.on("GET /health", [Reply::Problem(401, "unauthorized", "another's")]);
    let again = said(home.bir(&["down"]));
    assert!(
        again.contains(
            "no control server runs here; hosts that go on record calls over MCP by themselves until `bir up`"
        ),
        "{again}"
    );
    assert!(home.bir(&["status"]).ok().contains("ended with `bir down`"));
}

#[test]
fn down_finds_a_control_server_that_serves_no_project_any_more() {
    let (home, repo, _) = home();
    let mut stand = Stand::new(Path::new("/bin/sleep"));
    let (control, pid) = (Stub::new(), stand.0.id());
    control.on("GET /health", [Reply::Json(200, json!({"pid": pid}).to_string())]);
    serve(&home, &repo, &control.url, pid);
    let file = projects::file_of(&home.state(), &repo);
    std::fs::rename(file, projects::folder(&home.state()).join("serve.json")).unwrap();
    let ended = said(home.bir(&["down"]));
    assert!(ended.contains(&format!("the control server (process {pid}) has ended")), "{ended}");
    assert!(stand.ended());
}

#[test]
fn down_leaves_a_process_that_may_be_another_program() {
    let (home, repo, _) = home();
    let mut stand = Stand::new(Path::new("/bin/sleep"));
    serve(&home, &repo, "http://127.0.0.1:9", stand.0.id());
    let said = home.bir(&["down"]);
    assert_eq!(said.status, Some(1), "{said:?}");
    assert!(said.err.contains("may be another program; nothing was done to it"), "{said:?}");
    assert!(!stand.ended());

    // Under our program's name it is ours, although it is silent.
    let program = home.path().join("bir-hooks");
    std::fs::copy("/bin/sleep", &program).unwrap();
    let mut hung = Stand::new(&program);
    serve(&home, &repo, "http://127.0.0.1:9", hung.0.id());
    let told = home.bir(&["down", "--json"]).json();
    assert_eq!(told["control"]["ended"], true, "{told}");
    assert!(hung.ended());
}

#[test]
fn up_finds_a_control_server_that_runs_and_lets_others_start_it_again() {
    bir_testkit::bins::bin("bir-hub", "bir-hub").unwrap();
    let (home, repo, _) = home();
    let control = Stub::new();
    control.on("GET /health", [Reply::Json(200, r#"{"version": "0.9.9", "pid": 4000000}"#.into())]);
    serve(&home, &repo, &control.url, 4_000_000);
    std::fs::write(stopped_file(&home.state()), "").unwrap();
    let up = home.bir(&["up"]).ok();
    assert!(up.contains("the control server 0.9.9 (process 4000000) runs already\n"), "{up}");
    assert!(!stopped_file(&home.state()).exists());
    let told = home.bir(&["up", "--json"]).json();
    assert_eq!((&told["control"]["running"], &told["control"]["started"]), (&true.into(), &false.into()));
    home.bir(&["down"]);
}

#[test]
fn the_hooks_of_a_host_are_on_stdout_and_their_place_on_stderr() {
    let home = Home::new();
    let program = home.path().join("bir-hooks");
    std::fs::write(&program, "").unwrap();
    let path = program.to_str().unwrap();
    let said = home.bir(&["hooks", "claude-code", "--program", path]);
    assert_eq!(said.status, Some(0), "{said:?}");
    let hooks: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(hooks["hooks"]["SessionStart"][0]["hooks"][0]["command"], path);
    assert!(said.err.contains("~/.claude/settings.json") && said.err.contains("bir project add"), "{said:?}");
    assert!(said.err.contains("> ~/.claude/settings.json"), "{said:?}");
    // Where somebody has such a file no command is told that would wipe it.
    std::fs::create_dir(home.path().join(".claude")).unwrap();
    std::fs::write(home.path().join(".claude/settings.json"), "{}").unwrap();
    let said = home.bir(&["hooks", "claude-code", "--program", path]);
    assert!(said.err.contains("bir install --host claude-code --dry-run"), "{said:?}");
    assert!(!said.err.contains("> ~/"), "{said:?}");
    assert!(
        home.bir(&["hooks", "claude-code", "--program", "no/such"]).fails(1).contains("no program no/such")
    );
    let unknown = home.bir(&["hooks", "emacs"]).fails(2);
    assert!(unknown.contains("`emacs`") && unknown.contains("claude-code"), "{unknown}");
    assert!(home.bir(&["hooks"]).fails(2).contains("HOST is missing; see `bir hooks --help`"));
}

#[test]
fn up_starts_the_control_server_where_a_project_is_set_up() {
    let hub = bir_testkit::bins::bin("bir-hub", "bir-hub").unwrap();
    let (home, repo, _) = home();
    // A bir of its own, so that the bir-hooks beside it is the test's.
    let bin = home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let bir = bin.join("bir");
    std::fs::copy(env!("CARGO_BIN_EXE_bir"), &bir).unwrap();
    std::os::unix::fs::symlink(hub, bin.join("bir-hub")).unwrap();
    let up = || {
        let mut command = Command::new(&bir);
        command
            .env_clear()
            .env("BIR_HOME", home.state())
            .env("HOME", home.path())
            .env("PATH", "/usr/bin:/bin");
        Said::from(command.args(["up", "--json"]).output().unwrap())
    };
    said(bir_in(&home, &repo, &["project", "add"]));
    let without = up();
    assert_eq!(without.status, Some(1), "{without:?}");
    assert!(without.err.contains("bir-hooks is not beside"), "{without:?}");
    // The hub is up all the same, and says so.
    let told: Value = serde_json::from_str(&without.out).unwrap();
    assert_eq!((&told["hub"], &told["control"]["running"]), (&"embedded".into(), &false.into()));

    let control = Stub::new();
    control.on("GET /health", [Reply::Json(200, r#"{"version": "9.9.9", "pid": 4000000}"#.into())]);
    let file = projects::file_of(&home.state(), &repo);
    let answer = json!({"project": repo, "url": control.url, "token": "secret-token", "pid": 4_000_000});
    let script =
        format!("#!/bin/sh\ntest \"$*\" = 'serve --detached' && echo '{answer}' > '{}'\n", file.display());
    let program = bin.join("bir-hooks");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let told = up().json();
    assert_eq!(
        (&told["control"]["started"], &told["control"]["version"]),
        (&true.into(), &"9.9.9".into()),
        "{told}"
    );
    home.bir(&["down"]);
}
