use super::{Out, undo};
use crate::plan::tests::{PROJECT, USER, World, lines};
use crate::survey::Modules;
use serde_json::{Value, json};

fn installed() -> World {
    let mut world = World::new(USER, Some(PROJECT));
    let wish = world.wish();
    world.install(&wish);
    world
}

#[test]
fn what_a_host_has_written_anew_comes_back_by_its_meaning() {
    let mut world = installed();
    let mut value = world.json(".host.json");
    value["theme"] = json!("dark");
    std::fs::write(world.path(".host.json"), value.to_string()).unwrap();
    assert_eq!(world.uninstall(), ["db: restored", "files: restored", "hooks: restored"]);
    let mut meant: Value = serde_json::from_str(USER).unwrap();
    meant["theme"] = json!("dark");
    assert_eq!(world.json(".host.json"), meant);
    assert!(world.ledger.files.is_empty());
}

#[test]
fn what_others_have_changed_or_removed_is_left_and_said() {
    let mut world = installed();
    let mut value = world.json(".host.json");
    value["mcpServers"]["files"] = json!({"command": "theirs"});
    value["projects"]["P"]["mcpServers"].as_object_mut().unwrap().shift_remove("db");
    std::fs::write(world.path(".host.json"), value.to_string()).unwrap();
    let mut hooks = world.json("p/.host/hooks.json");
    hooks["hooks"]["Stop"] = json!([{"hooks": [{"type": "command", "command": "say"}]}]);
    std::fs::write(world.path("p/.host/hooks.json"), hooks.to_string()).unwrap();
    assert_eq!(world.uninstall(), ["db: left (changed)", "files: left (changed)", "hooks: left (changed)"]);
    assert_eq!(world.json(".host.json")["mcpServers"]["files"]["command"], "theirs");
    assert_eq!(
        world.json("p/.host/hooks.json"),
        json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}]}]}})
    );
    assert!(world.ledger.files.is_empty());
}

/// A project that was moved away, or whose disk is not mounted: nothing of it is forgotten, unless it is named.
#[test]
fn what_stands_in_a_project_that_is_away_stays_known_until_it_is_there_again() {
    let mut world = installed();
    let (here, away) = (world.path("p"), world.path("away"));
    std::fs::rename(&here, &away).unwrap();
    assert_eq!(world.uninstall(), ["db: restored", "files: restored", "hooks: left (gone)"]);
    assert_eq!((world.ledger.files.len(), world.ledger.projects.len()), (1, 1));
    assert_eq!(world.uninstall(), ["hooks: left (gone)"]);
    let modules = Modules { hosts: vec![] };
    let named = undo(
        &modules,
        &world.ledger,
        &Out { project: here.clone(), all: false, hosts: vec![], forget: true },
    );
    assert_eq!(lines(&named), ["hooks: left (forgotten)"]);
    assert!(named.operation.ledger.is_empty());
    std::fs::rename(&away, &here).unwrap();
    assert_eq!(world.uninstall(), ["hooks: restored"]);
    assert!(world.ledger.is_empty() && !world.path("p/.host").exists());
}

#[test]
fn a_file_that_is_not_there_or_empty_stays_known_until_it_is_there_again() {
    for empty in [None, Some(""), Some("\n"), Some("{}")] {
        let mut world = installed();
        let wrapped = world.text(".host.json").unwrap();
        match empty {
            Some(text) => std::fs::write(world.path(".host.json"), text).unwrap(),
            None => std::fs::remove_file(world.path(".host.json")).unwrap(),
        }
        assert_eq!(world.uninstall(), ["db: left (gone)", "files: left (gone)", "hooks: restored"]);
        assert_eq!(world.text(".host.json").as_deref(), empty);
        assert_eq!((world.ledger.files.len(), world.ledger.projects.len()), (1, 1));
        std::fs::write(world.path(".host.json"), wrapped).unwrap();
        assert_eq!(world.uninstall(), ["db: restored", "files: restored"]);
        assert_eq!(world.text(".host.json").unwrap(), USER);
        assert!(world.ledger.is_empty());
    }
}

#[test]
fn a_broken_file_stays_and_stays_known() {
    let mut world = installed();
    std::fs::write(world.path(".host.json"), "{ broken").unwrap();
    assert_eq!(world.uninstall(), ["db: left (file)", "files: left (file)", "hooks: restored"]);
    assert_eq!(world.text(".host.json").unwrap(), "{ broken");
    assert!(world.ledger.files.iter().all(|record| record.path == world.path(".host.json")));
    assert_eq!(world.ledger.projects.len(), 1, "the project is still there to be taken out");
}

#[test]
fn what_is_renewed_and_rewritten_comes_back_once() {
    let mut world = installed();
    let mut wish = world.wish();
    (wish.wrapping.proxy, wish.hooks_program) = ("/new/bir-proxy".into(), "/new/bir-hooks".into());
    world.install(&wish);
    for name in [".host.json", "p/.host/hooks.json"] {
        let text = world.json(name).to_string();
        std::fs::write(world.path(name), text).unwrap();
    }
    assert_eq!(world.uninstall(), ["db: restored", "files: restored", "hooks: restored"]);
    assert_eq!(world.json(".host.json"), serde_json::from_str::<Value>(USER).unwrap());
    assert!(!world.path("p/.host/hooks.json").exists());
}

#[test]
fn projects_go_one_by_one_and_leave_no_trace() {
    for order in [["p", "q", "r"], ["r", "q", "p"], ["q", "p", "r"], ["q", "r", "p"]] {
        let mut world = World::new(USER, Some(PROJECT));
        for project in ["p", "q", "r"] {
            let mut wish = world.wish();
            let path = world.path(project);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join(".mcp.json"), PROJECT.replace("\"db\":", &format!("\"db-{project}\":")))
                .unwrap();
            (wish.project, wish.hooks) = (path, false);
            world.install(&wish);
        }
        for (n, project) in order.into_iter().enumerate() {
            let plan = world.undo(project, false);
            let expected = if n == 2 { 2 } else { 1 };
            assert_eq!(lines(&plan).len(), expected, "{order:?} {n}: {:?}", lines(&plan));
            world.write(plan);
        }
        assert_eq!(world.text(".host.json").unwrap(), USER, "{order:?}");
        assert!(world.ledger.files.is_empty() && world.ledger.projects.is_empty());
    }
}

#[test]
fn all_of_it_goes_at_once() {
    let mut world = installed();
    let plan = world.undo("elsewhere", false);
    assert!(plan.operation.changes.is_empty(), "another project is still there");
    let plan = world.undo("elsewhere", true);
    world.write(plan);
    assert_eq!(world.text(".host.json").unwrap(), USER);
}

/// A remote server and one that is started, wrapped; what somebody then does to the file, and what stands there after the uninstall.
fn touched(touch: &dyn Fn(&mut Value)) -> (World, Vec<String>, Value) {
    let text = json!({"theme": 1, "mcpServers": {
        "files": {"command": "npx", "args": ["files"], "env": {"K": "v"}},
        "web": {"type": "http", "url": "http://h.example/mcp", "headers": {"A": "canary-a", "B": "canary-b"}}}});
    let mut world = World::new(&format!("{text:#}\n"), None);
    let mut wish = world.wish();
    wish.hooks = false;
    world.install(&wish);
    let mut value = world.json(".host.json");
    touch(&mut value);
    std::fs::write(world.path(".host.json"), value.to_string()).unwrap();
    let lines = world.uninstall();
    let value = world.json(".host.json");
    (world, lines, value)
}

#[test]
fn what_was_renamed_copied_or_moved_is_unwrapped_where_it_stands() {
    let was = json!({"command": "npx", "args": ["files"], "env": {"K": "v"}});
    let headers = json!({"A": "canary-a", "B": "canary-b"});
    let (world, lines, value) = touched(&|value| {
        let all = value["mcpServers"].as_object_mut().unwrap();
        let web = all.shift_remove("web").unwrap();
        all.insert("renamed".into(), web);
        let copy = all["files"].clone();
        all.insert("copy".into(), copy);
    });
    assert_eq!(
        lines,
        ["copy: restored", "files: restored", "renamed: restored", "web: left (changed)"],
        "{value}"
    );
    assert_eq!((&value["mcpServers"]["copy"], &value["mcpServers"]["files"]), (&was, &was));
    assert_eq!(value["mcpServers"]["renamed"]["headers"], headers);
    assert!(!value.to_string().contains("bir-proxy") && world.ledger.is_empty());
    let (world, _, value) = touched(&|value| {
        let all = value["mcpServers"].take();
        value.as_object_mut().unwrap().shift_remove("mcpServers");
        value["mcpServersOff"] = all;
    });
    assert_eq!(
        (&value["mcpServersOff"]["files"], &value["mcpServersOff"]["web"]["headers"]),
        (&was, &headers)
    );
    assert!(world.ledger.is_empty());
}

/// All layers are as we left them, and what stood below one of them starts a proxy where no layer names it.
#[test]
fn what_stood_elsewhere_before_a_layer_that_goes_byte_for_byte_is_unwrapped_as_well() {
    let text = json!({"mcpServers": {"files": {"command": "npx", "args": ["files"]}}});
    let was = &text["mcpServers"]["files"];
    for lost in [false, true] {
        let mut world = World::new(&text.to_string(), None);
        let mut wish = world.wish();
        wish.hooks = false;
        world.install(&wish);
        // Another program moves our entry to where no server is, or copies it there, and there is another one now.
        let mut value = world.json(".host.json");
        let entry = value["mcpServers"]["files"].clone();
        if lost {
            value["mcpServers"].as_object_mut().unwrap().shift_remove("files");
            world.ledger = crate::ledger::Ledger::default();
        }
        value["off"] = json!({ "files": entry });
        value["mcpServers"]["late"] = json!({"command": "x"});
        std::fs::write(world.path(".host.json"), value.to_string()).unwrap();
        assert!(world.install(&wish).contains(&"late: wrapped".to_owned()));
        let lines = world.uninstall();
        assert!(lines.contains(&"late: restored".to_owned()), "{lines:?}");
        let value = world.json(".host.json");
        assert_eq!((&value["off"]["files"], &value["mcpServers"]["late"]), (was, &json!({"command": "x"})));
        assert!(!value.to_string().contains("bir-proxy") && world.ledger.is_empty(), "{lost}: {value}");
    }
}

#[test]
fn headers_come_back_as_they_are_now() {
    let (world, lines, value) = touched(&|value| {
        value["mcpServers"]["web"]["env"]["BIR_UPSTREAM_HEADERS"] = r#"{"B":"2","New":"3"}"#.into();
    });
    assert_eq!(lines, ["files: restored", "web: restored"]);
    let web = &value["mcpServers"]["web"];
    assert_eq!(
        *web,
        json!({"type": "http", "url": "http://h.example/mcp", "headers": {"B": "2", "New": "3"}})
    );
    assert!(world.ledger.is_empty());
}

#[test]
fn what_cannot_be_told_any_more_stays_in_the_ledger_until_it_is_mended() {
    for name in ["web", "renamed"] {
        let (mut world, lines, value) = touched(&|value| {
            let all = value["mcpServers"].as_object_mut().unwrap();
            let mut web = all.shift_remove("web").unwrap();
            web["env"]["BIR_UPSTREAM_HEADERS"] = "{ broken".into();
            all.insert(name.into(), web);
        });
        assert!(lines.contains(&format!("{name}: left (stays)")), "{lines:?}");
        assert!(value["mcpServers"].get("files").is_some_and(|files| files["command"] == "npx"));
        assert!(!world.ledger.files.is_empty());
        let plan = world.undo("p", false);
        assert!(plan.servers.iter().any(|line| line.outcome.remains()));
        let mut value = value;
        value["mcpServers"][name]["env"]["BIR_UPSTREAM_HEADERS"] = "{}".into();
        std::fs::write(world.path(".host.json"), value.to_string()).unwrap();
        world.uninstall();
        assert!(!world.text(".host.json").unwrap().contains("bir-proxy"));
        assert!(world.ledger.is_empty(), "{:?}", world.ledger);
    }
}

#[test]
fn a_proxy_of_another_installation_stays() {
    let dir = tempfile::tempdir().unwrap();
    let foreign = dir.path().join("bir-proxy");
    std::fs::write(&foreign, "").unwrap();
    let (world, _, value) = touched(&|value| {
        value["mcpServers"]["other"] = json!({"command": foreign, "args": ["--", "x"]});
    });
    assert_eq!(value["mcpServers"]["other"]["args"], json!(["--", "x"]));
    assert_eq!(value["mcpServers"]["files"]["command"], "npx");
    assert!(world.ledger.is_empty());
}

#[test]
fn hooks_that_somebody_has_changed_go_all_the_same_and_what_is_theirs_stays() {
    let mine = json!({"type": "command", "command": "mine"});
    let before = json!({"hooks": {"Stop": [{"hooks": [mine]}], "PreToolUse": []}, "x": 1});
    type Touch<'t> = &'t dyn Fn(&mut Value);
    let timeout = |value: &mut Value| value["hooks"]["Stop"][1]["hooks"][0]["timeout"] = json!(99);
    let matcher = |value: &mut Value| value["hooks"]["Stop"][1]["matcher"] = json!("*");
    let renamed = |value: &mut Value| {
        let ours = value["hooks"]["Stop"].as_array_mut().unwrap().pop().unwrap();
        value["hooks"]["Elsewhere"] = json!([ours]);
    };
    let twice = |value: &mut Value| {
        let ours = value["hooks"]["Stop"][1].clone();
        value["hooks"]["Stop"].as_array_mut().unwrap().push(ours);
    };
    let beside = |value: &mut Value| {
        let ours = value["hooks"]["Stop"].as_array_mut().unwrap().pop().unwrap()["hooks"][0].clone();
        value["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap().insert(0, ours);
    };
    let touches: [Touch<'_>; 5] = [&timeout, &matcher, &renamed, &twice, &beside];
    for (n, touch) in touches.into_iter().enumerate() {
        for upgrade in [false, true] {
            let mut world = World::new("{}", None);
            std::fs::create_dir(world.path("p/.host")).unwrap();
            std::fs::write(world.path("p/.host/hooks.json"), before.to_string()).unwrap();
            world.install(&world.wish());
            let mut value = world.json("p/.host/hooks.json");
            touch(&mut value);
            std::fs::write(world.path("p/.host/hooks.json"), value.to_string()).unwrap();
            if upgrade {
                let mut wish = world.wish();
                wish.hooks_program = "/new/bir-hooks".into();
                assert_eq!(world.install(&wish), ["hooks: renewed"], "{n}");
                let ours = world.text("p/.host/hooks.json").unwrap();
                let old = ours.matches("/opt/bir/bir-hooks").count();
                // What stands twice or elsewhere is not missed where it belongs.
                assert!(old <= usize::from([2, 3].contains(&n)), "{n} {ours}");
            }
            assert_eq!(world.uninstall(), ["hooks: restored"], "{n}");
            assert_eq!(world.json("p/.host/hooks.json"), before, "{n}");
            assert!(world.ledger.is_empty(), "{n}");
        }
    }
}

#[test]
fn a_lost_ledger_is_made_anew_out_of_what_stands_there() {
    for (program, outcome) in [("/opt/bir", "already"), ("/new", "renewed")] {
        let text = json!({"mcpServers": {
            "files": {"command": "npx", "args": ["files"]},
            "web": {"type": "http", "url": "http://h.example/mcp", "headers": {"A": "canary-a"}}}});
        let mut world = World::new(&text.to_string(), None);
        world.install(&world.wish());
        world.ledger = crate::ledger::Ledger::default();
        let mut wish = world.wish();
        wish.wrapping.proxy = format!("{program}/bir-proxy");
        wish.hooks_program = format!("{program}/bir-hooks");
        let lines = world.install(&wish);
        assert_eq!(lines, ["files", "web", "hooks"].map(|what| format!("{what}: {outcome}")));
        assert!(world.text(".host.json").unwrap().contains(&wish.wrapping.proxy));
        wish.set_up = vec![wish.project.clone()];
        assert!(!world.plan(&wish).changes());
        assert!(!serde_json::to_string(&world.ledger).unwrap().contains("canary"));
        assert_eq!(world.uninstall(), ["files: restored", "web: restored", "hooks: restored"]);
        assert_eq!(world.json(".host.json"), text);
        assert!(!world.text("p/.host/hooks.json").unwrap_or_default().contains("bir-hooks"));
        assert!(world.ledger.is_empty(), "{:?}", world.ledger);
    }
}

#[test]
fn an_entry_beside_an_adopted_one_comes_back_with_it() {
    let text =
        json!({"mcpServers": {"files": {"command": "npx", "args": ["files"]}, "late": {"command": "x"}}});
    let mut world = World::new(&text.to_string(), None);
    let mut wish = world.wish();
    (wish.hooks, wish.servers) = (false, vec!["files".into()]);
    world.install(&wish);
    world.ledger = crate::ledger::Ledger::default();
    wish.servers.clear();
    assert_eq!(world.install(&wish), ["files: already", "late: wrapped"]);
    assert_eq!(world.uninstall(), ["files: restored", "late: restored"]);
    assert_eq!(world.json(".host.json"), text);
    assert!(world.ledger.is_empty());
}
