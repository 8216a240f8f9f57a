//! Installs and uninstalls of three projects that share a file, in every order.

use crate::plan::tests::{PROJECT, World};
use crate::plan::{Wish, tests::USER};
use proptest::prelude::*;

const PROJECTS: [&str; 3] = ["p", "q", "r"];

#[derive(Debug, Clone, Copy)]
enum Command {
    /// Which project, which program, without correlation or with it.
    Install(usize, usize, bool),
    Uninstall(usize),
    /// The host writes the shared file anew.
    Rewrite,
}

fn world() -> World {
    let world = World::new(USER, Some(PROJECT));
    for project in PROJECTS {
        std::fs::create_dir_all(world.path(project)).unwrap();
        std::fs::write(world.path(project).join(".mcp.json"), PROJECT).unwrap();
    }
    world
}

fn wish(world: &World, project: &str, program: usize, no_correlation: bool) -> Wish {
    let mut wish = world.wish();
    wish.project = world.path(project);
    let dir = ["/old", "/new", "/third"][program];
    wish.wrapping.proxy = format!("{dir}/bir-proxy");
    wish.hooks_program = format!("{dir}/bir-hooks");
    wish.wrapping.no_correlation = no_correlation;
    wish
}

/// What of ours stands in the file of a project, and in its part of the shared one.
fn ours_of(world: &World, project: &str) -> Option<String> {
    let hooks = world.text(&format!("{project}/.host/hooks.json")).filter(|text| text.contains("bir-"));
    let shared = world.json(".host.json");
    let part = &shared["projects"][project.to_uppercase()];
    hooks.or_else(|| part.to_string().contains("bir-proxy").then(|| part.to_string()))
}

fn run(commands: &[Command]) -> Result<(), TestCaseError> {
    let mut world = world();
    let mut rewritten = false;
    for command in commands.iter().copied().chain([0, 1, 2].map(Command::Uninstall)) {
        match command {
            Command::Install(project, program, no_correlation) => {
                let wish = wish(&world, PROJECTS[project], program, no_correlation);
                world.install(&wish);
                let part = &world.json(".host.json")["projects"][PROJECTS[project].to_uppercase()];
                let wrapped = part["mcpServers"]["db"]["command"].as_str();
                prop_assert_eq!(wrapped, Some(wish.wrapping.proxy.as_str()));
            }
            Command::Uninstall(project) => {
                let plan = world.undo(PROJECTS[project], false);
                world.write(plan);
                prop_assert_eq!(ours_of(&world, PROJECTS[project]), None, "{:?}", command);
            }
            Command::Rewrite => {
                rewritten = true;
                let text = format!("{:#}", world.json(".host.json"));
                std::fs::write(world.path(".host.json"), text).unwrap();
            }
        }
    }
    let text = world.text(".host.json").unwrap();
    if rewritten {
        let meant: serde_json::Value = serde_json::from_str(USER).unwrap();
        prop_assert_eq!(world.json(".host.json"), meant);
    } else {
        prop_assert_eq!(text, USER);
    }
    prop_assert!(world.ledger.is_empty(), "{:?}", world.ledger);
    for project in PROJECTS {
        prop_assert!(!world.path(project).join(".host").exists());
    }
    Ok(())
}

#[test]
fn what_was_renewed_in_two_projects_goes_from_both() {
    use Command::{Install, Uninstall};
    for options in [false, true] {
        let all =
            [Install(0, 0, false), Install(1, 0, false), Install(0, 1, options), Install(1, 1, options)];
        for first in [0, 1] {
            let mut commands = all.to_vec();
            commands.push(Uninstall(first));
            run(&commands).unwrap();
        }
    }
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        6 => (0..3_usize, 0..3_usize, any::<bool>()).prop_map(|(a, b, c)| Command::Install(a, b, c)),
        3 => (0..3_usize).prop_map(Command::Uninstall),
        1 => Just(Command::Rewrite),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_left_whatever_the_order(commands in proptest::collection::vec(command(), 1..14)) {
        run(&commands)?;
    }
}
