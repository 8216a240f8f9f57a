use crate::plan::tests::{PROJECT, USER, World, lines};
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

#[test]
fn a_file_that_has_gone_takes_everything_with_it() {
    let mut world = installed();
    std::fs::remove_file(world.path(".host.json")).unwrap();
    assert_eq!(world.uninstall(), ["db: left (gone)", "files: left (gone)", "hooks: restored"]);
    assert!(!world.path(".host.json").exists() && world.ledger.files.is_empty());
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
