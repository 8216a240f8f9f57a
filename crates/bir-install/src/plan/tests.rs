//! Plans of a host that has what hosts have: a file of the user with secrets, a committed one whose servers are copied, hooks in a third.

use super::*;
use crate::ledger::Hash;
use crate::survey::survey;
use crate::undo::{Out, undo};
use bir_hosts::config::{
    Config, ConfigFile, Found, HookChange, Memo, Role, Server, Shape, System, Wrap, servers, unwrap, wrap,
    wrapped_copy,
};
use bir_model::{Edit, Format, Place};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A host.
pub(crate) struct Fake;

const SHAPE: Shape = Shape::COMMON;

impl Config for Fake {
    fn host(&self) -> Host {
        Host::ClaudeCode
    }

    fn files(&self, machine: &Machine<'_>, project: &Path) -> Vec<ConfigFile> {
        let file = |path, scope, role| ConfigFile { path, scope, format: Format::Json, role };
        vec![
            file(project.join(".mcp.json"), Scope::Project, Role::Servers),
            file(machine.home.join(".host.json"), Scope::User, Role::Servers),
            file(project.join(".host/hooks.json"), Scope::Local, Role::Hooks),
        ]
    }

    fn servers(&self, _: &Machine<'_>, found: &Found) -> Vec<Server> {
        servers(&SHAPE, found)
    }

    fn wrap(
        &self,
        machine: &Machine<'_>,
        found: &Found,
        server: &Server,
        with: &Wrapping,
    ) -> Result<Wrap, Refusal> {
        let file = found.at(&server.file).unwrap().file.clone();
        if server.scope != Scope::Project || with.mcp_json {
            return wrap(&SHAPE, &file, server, server.scope, with);
        }
        let copy = wrapped_copy(&SHAPE, server, Scope::Local, with)?;
        let project = found.project.file_name().unwrap().to_string_lossy().to_uppercase();
        let place = Place::keys(["projects", &project, "mcpServers", &server.name]);
        let file = ConfigFile { path: machine.home.join(".host.json"), scope: Scope::Local, ..file };
        Ok(Wrap { file, edits: vec![Edit::Set { at: place.clone(), value: copy }], place, memo: None })
    }

    fn unwrap(&self, entry: &Value, place: &Place, memo: &Memo) -> Result<Vec<Edit>, Refusal> {
        unwrap(&SHAPE, entry, place, memo)
    }

    fn hooks(&self, _: &Machine<'_>, project: &Path, user: bool, program: &str) -> Option<HookChange> {
        let file = ConfigFile {
            path: project.join(".host/hooks.json"),
            scope: Scope::Local,
            format: Format::Json,
            role: Role::Hooks,
        };
        let element = |event: &str| json!({"hooks": [{"type": "command", "command": program, "args": ["hook", event]}]});
        let elements =
            ["Stop", "PreToolUse"].map(|event| (Place::keys(["hooks", event]), element(event))).into();
        (!user).then_some(HookChange::Appended { file, elements })
    }

    fn restart_hint(&self) -> &'static str {
        "start a new session"
    }
}

/// A home and a project of a test.
pub(crate) struct World {
    dir: tempfile::TempDir,
    pub(crate) ledger: Ledger,
    now: u64,
}

impl World {
    pub(crate) fn new(user: &str, project: Option<&str>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("p")).unwrap();
        std::fs::write(dir.path().join(".host.json"), user).unwrap();
        if let Some(text) = project {
            std::fs::write(dir.path().join("p/.mcp.json"), text).unwrap();
        }
        Self { dir, ledger: Ledger::default(), now: 0 }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name).unwrap()).unwrap()
    }

    pub(crate) fn wish(&self) -> Wish {
        Wish {
            project: self.path("p"),
            hosts: vec![],
            servers: vec![],
            config_files: vec![],
            hooks: true,
            user: false,
            replay: false,
            wrapping: Wrapping {
                proxy: "/opt/bir/bir-proxy".into(),
                no_correlation: false,
                mcp_json: false,
                everywhere: false,
                host_named: false,
                named: false,
            },
            hooks_program: "/opt/bir/bir-hooks".into(),
            everywhere: None,
            set_up: self.ledger.projects.keys().cloned().collect(),
        }
    }

    pub(crate) fn plan(&self, wish: &Wish) -> Plan {
        let machine = Machine { home: self.dir.path().into(), system: System::Linux, variable: &|_| None };
        let modules = Modules { hosts: vec![&Fake] };
        let survey = survey(&modules, &machine, &wish.project, &wish.hosts, &wish.config_files);
        plan(&modules, &machine, &survey, wish, &self.ledger, self.now)
    }

    /// Carries a plan out: what `commit` does, without its care.
    pub(crate) fn write(&mut self, plan: Plan) {
        for change in plan.operation.changes {
            match change.after {
                Some(text) => {
                    std::fs::create_dir_all(change.path.parent().unwrap()).unwrap();
                    std::fs::write(&change.path, text).unwrap();
                }
                None => std::fs::remove_file(&change.path).unwrap(),
            }
        }
        for dir in plan.operation.empty_dirs {
            let _ = std::fs::remove_dir(dir);
        }
        self.ledger = plan.operation.ledger;
        self.now += 1;
    }

    pub(crate) fn install(&mut self, wish: &Wish) -> Vec<String> {
        let plan = self.plan(wish);
        let lines = lines(&plan);
        self.write(plan);
        lines
    }

    pub(crate) fn undo(&self, project: &str, all: bool) -> Plan {
        let modules = Modules { hosts: vec![&Fake] };
        undo(&modules, &self.ledger, &Out { project: self.path(project), all, hosts: vec![], forget: false })
    }

    pub(crate) fn uninstall(&mut self) -> Vec<String> {
        let plan = self.undo("p", false);
        let lines = lines(&plan);
        self.write(plan);
        lines
    }
}

/// `server: outcome` of every line.
pub(crate) fn lines(plan: &Plan) -> Vec<String> {
    let outcome = |outcome: &Outcome| match outcome {
        Outcome::Left(refusal) => format!("left ({})", refusal.code),
        other => other.code().to_owned(),
    };
    let servers = plan.servers.iter().map(|line| format!("{}: {}", line.server, outcome(&line.outcome)));
    servers.chain(plan.hooks.iter().map(|line| format!("hooks: {}", outcome(&line.outcome)))).collect()
}

pub(crate) const USER: &str = "{\n    \"oauthAccount\": {\"accessToken\": \"canary-of-account\"},\n    \"mcpServers\": {\n        \"files\": {\"command\": \"npx\", \"args\": [\"-y\", \"files\", \"--api-key\", \"canary-of-args\"], \"env\": {\"K\": \"canary-of-env\"}},\n        \"off\": {\"command\": \"x\", \"disabled\": true}\n    }\n}\n";
pub(crate) const PROJECT: &str =
    "{\"mcpServers\":{\"db\":{\"command\":\"db\",\"env\":{\"PASSWORD\":\"canary-of-db\"}}}}";

#[test]
fn what_may_be_wrapped_is_and_a_second_install_changes_nothing() {
    let mut world = World::new(USER, Some(PROJECT));
    let wish = world.wish();
    assert_eq!(
        world.install(&wish),
        ["db: wrapped", "files: wrapped", "off: left (disabled)", "hooks: wrapped"]
    );
    let user = world.json(".host.json");
    assert_eq!(user["mcpServers"]["files"]["command"], "/opt/bir/bir-proxy");
    assert_eq!(user["projects"]["P"]["mcpServers"]["db"]["command"], "/opt/bir/bir-proxy");
    assert_eq!(world.text("p/.mcp.json").unwrap(), PROJECT, "what is committed stays");
    assert_eq!(
        world.json("p/.host/hooks.json")["hooks"]["Stop"][0]["hooks"][0]["command"],
        "/opt/bir/bir-hooks"
    );
    assert!(world.ledger.projects[&wish.project].set_up_by_us);
    let again = world.plan(&world.wish());
    assert_eq!(lines(&again), ["db: already", "files: already", "off: left (disabled)", "hooks: already"]);
    assert!(!again.changes(), "{again:?}");
}

#[test]
fn another_path_or_option_renews_and_everything_comes_back() {
    let mut world = World::new(USER, Some(PROJECT));
    let mut wish = world.wish();
    world.install(&wish);
    wish.wrapping.proxy = "/new/bir-proxy".into();
    wish.hooks_program = "/new/bir-hooks".into();
    assert_eq!(
        world.install(&wish),
        ["db: renewed", "files: renewed", "off: left (disabled)", "hooks: renewed"]
    );
    assert_eq!(world.json("p/.host/hooks.json")["hooks"]["Stop"].as_array().unwrap().len(), 1);
    wish.wrapping.no_correlation = true;
    assert_eq!(world.install(&wish)[..2], ["db: renewed", "files: renewed"]);
    assert_eq!(world.uninstall(), ["db: restored", "files: restored", "hooks: restored"]);
    assert_eq!(world.text(".host.json").unwrap(), USER);
    assert!(!world.path("p/.host").exists(), "what was made for it goes with it");
    assert_eq!((world.ledger.files.len(), world.ledger.projects.len()), (0, 0));
}

#[test]
fn a_copy_follows_its_original_and_goes_with_it() {
    let mut world = World::new(USER, Some(PROJECT));
    let wish = world.wish();
    world.install(&wish);
    std::fs::write(world.path("p/.mcp.json"), PROJECT.replace("\"db\",", "\"db2\",")).unwrap();
    assert_eq!(world.install(&wish)[0], "db: renewed");
    std::fs::write(world.path("p/.mcp.json"), "{}").unwrap();
    assert!(world.install(&wish).contains(&"db: removed".to_owned()));
    assert!(world.json(".host.json")["projects"]["P"]["mcpServers"].get("db").is_none());
    world.uninstall();
    assert_eq!(world.text(".host.json").unwrap(), USER);
}

#[test]
fn what_was_asked_for_once_stays() {
    let mut world = World::new("{}", Some(PROJECT));
    let mut wish = world.wish();
    wish.wrapping.mcp_json = true;
    world.install(&wish);
    assert_ne!(world.text("p/.mcp.json").unwrap(), PROJECT);
    assert_eq!(lines(&world.plan(&world.wish())), ["db: already", "hooks: already"]);
    world.uninstall();
    assert_eq!(world.text("p/.mcp.json").unwrap(), PROJECT);
}

#[test]
fn a_copy_that_is_wrapped_in_place_instead_is_missed_by_nobody() {
    let mut world = World::new("{}", Some(PROJECT));
    world.install(&world.wish());
    let mut wish = world.wish();
    wish.wrapping.mcp_json = true;
    world.install(&wish);
    assert_ne!(world.text("p/.mcp.json").unwrap(), PROJECT);
    // One, whose program is none in a test.
    let told: Vec<_> =
        crate::standing::standing(&world.ledger).into_iter().map(|one| one.state.code()).collect();
    assert_eq!(told, ["dead"]);
    let says = |record: &crate::ledger::FileRecord| {
        let text = std::fs::read(&record.path).unwrap();
        crate::doctor::ledger::Now::Says(value_of(&text, record.format))
    };
    assert_eq!(crate::doctor::ledger::findings(&world.ledger, &says), []);
    world.uninstall();
    assert_eq!(world.text("p/.mcp.json").unwrap(), PROJECT);
    assert_eq!(world.json(".host.json"), json!({}));
}

#[test]
fn named_servers_alone_are_looked_at() {
    let world = World::new(USER, Some(PROJECT));
    let mut wish = world.wish();
    (wish.servers, wish.hooks) = (vec!["files".into(), "none".into()], false);
    let plan = world.plan(&wish);
    assert_eq!(lines(&plan), ["files: wrapped"]);
    assert!(plan.missed.iter().any(|missed| missed.contains("`none`")) && plan.unknown);
    wish.servers = vec!["files".into()];
    assert!(!world.plan(&wish).unknown);
}

#[test]
fn a_broken_file_costs_itself_alone() {
    let mut world = World::new("{ broken", Some(PROJECT));
    let mut wish = world.wish();
    wish.wrapping.mcp_json = true;
    let plan = world.plan(&wish);
    assert_eq!(lines(&plan), ["db: wrapped", "hooks: wrapped"]);
    assert_eq!(plan.untouched[0].0, world.path(".host.json"));
    assert!(plan.missed.is_empty() && plan.partly.len() == 1, "{:?} {:?}", plan.missed, plan.partly);
    assert!(plan.partly[0].contains(".host.json is left alone"), "{:?}", plan.partly);
    wish.wrapping.mcp_json = false;
    assert_eq!(lines(&world.plan(&wish))[0], "db: left (file)");
    world.install(&wish);
    assert_eq!(world.text(".host.json").unwrap(), "{ broken");
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_written_is_left() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new(USER, None);
    std::fs::set_permissions(world.path(".host.json"), PermissionsExt::from_mode(0o444)).unwrap();
    let plan = world.plan(&world.wish());
    assert_eq!(lines(&plan)[0], "files: left (file)");
    assert!(plan.untouched[0].1.contains("read-only"));
}

#[test]
fn the_ledger_holds_no_secret() {
    let mut world = World::new(USER, Some(PROJECT));
    world.install(&world.wish());
    let ledger = serde_json::to_string(&world.ledger).unwrap();
    assert!(!ledger.contains("canary"), "{ledger}");
    let left = Hash::of(world.text(".host.json").unwrap().as_bytes());
    assert!(world.ledger.files.iter().any(|record| record.layers.last().unwrap().after == left));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever the credentials look like, nobody is shown one.
    #[test]
    fn no_secret_is_shown(
        canaries in proptest::collection::vec("[A-Za-z0-9/+=_.~%-]{12,24}", 8),
        one_line in any::<bool>(),
    ) {
        let [env, header, option, word, query, user, account, bearer] = &canaries[..] else { unreachable!() };
        let document = json!({
            "oauthAccount": {"accessToken": account},
            "mcpServers": {
                "a": {"command": "npx", "args": ["-y", "pkg", "--token", option, format!("--api-key={word}")], "env": {"ANY": env}},
                "b": {"type": "http", "url": format!("https://u:{user}@host.example.com/mcp?k={query}"),
                    "headers": {"X-Any": header, "Authorization": format!("Bearer {bearer}")}},
            },
        });
        let text = if one_line { document.to_string() } else { format!("{document:#}\n") };
        let mut world = World::new(&text, Some(&json!({"mcpServers": document["mcpServers"]}).to_string()));
        let mut wish = world.wish();
        wish.servers = vec!["a".into(), "b".into()];
        let plan = world.plan(&wish);
        prop_assert!(plan.servers.iter().any(|line| line.outcome == Outcome::Wrapped));
        let mut shown = format!("{:?} {:?} {:?} {:?} {:?}", plan.servers, plan.hooks, plan.untouched, plan.notes, plan.diffs);
        world.write(plan);
        shown.push_str(&serde_json::to_string(&world.ledger).unwrap());
        let back = world.undo("p", false);
        shown.push_str(&format!("{:?} {:?} {:?}", back.servers, back.notes, back.diffs));
        for canary in &canaries {
            prop_assert!(!shown.contains(canary.as_str()), "{canary} in {shown}");
        }
        world.write(back);
        prop_assert_eq!(world.text(".host.json").unwrap(), text);
    }
}
