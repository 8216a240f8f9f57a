//! What a file may be on its disk: behind links, locked, in use, or no file at all.

use crate::home::{Asked, Home, Thing};
use bir_hosts::Host;
use rustix::fs::{Gid, Uid};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

const AT: &str = "~/.cursor/mcp.json";
const TEXT: &[u8] =
    b"{\n  // mine\n  \"mcpServers\": { \"a\": { \"command\": \"node\", \"args\": [\"a.js\"] } }\n}\n";

fn asked() -> Asked {
    Asked { host: Some(Host::Cursor), ..Asked::default() }
}

/// In and out; everything is as it was, and in between the text at a path is another one.
fn in_and_out(home: &Home, file: &Path) {
    let before = home.picture();
    let plan = home.plan(&asked());
    assert!(!plan.operation.changes.is_empty(), "nothing is planned: {:?}", plan.untouched);
    home.carry_out(&plan).unwrap();
    assert!(String::from_utf8(std::fs::read(file).unwrap()).unwrap().contains("bir-proxy"));
    home.carry_out(&home.out(false)).unwrap();
    assert_eq!(home.picture(), before);
}

/// Nothing is changed, and the plan says why.
fn left(home: &Home, because: &str) {
    let before = home.picture();
    let plan = home.plan(&asked());
    home.carry_out(&plan).unwrap();
    assert_eq!(home.picture(), before);
    let reasons: Vec<&str> = plan.untouched.iter().map(|(_, why)| why.as_str()).collect();
    assert!(reasons.iter().any(|why| why.contains(because)), "{reasons:?}");
}

/// Does this as a user whom a mode can forbid something. The superuser may read and write everywhere, so a thread of it becomes
/// somebody else for as long as `act` takes; on Linux that is the thread's matter alone.
#[cfg(target_os = "linux")]
fn as_somebody(home: &Home, act: impl FnOnce() + Send) {
    use rustix::thread::set_thread_res_uid;
    if !rustix::process::geteuid().is_root() {
        return act();
    }
    let (user, group) = (Uid::from_raw(65534), Gid::from_raw(65534));
    home.give_to(user, group);
    let changed = std::thread::scope(|scope| {
        scope
            .spawn(|| {
                set_thread_res_uid(user, user, user).unwrap();
                act();
            })
            .join()
    });
    if let Err(panic) = changed {
        std::panic::resume_unwind(panic);
    }
}

#[cfg(not(target_os = "linux"))]
fn as_somebody(_: &Home, act: impl FnOnce() + Send) {
    assert!(!rustix::process::geteuid().is_root(), "run this as a user whom a mode can forbid something");
    act();
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_changed() {
    for (link, target) in
        [("dotfiles/cursor.json", "../dotfiles/cursor.json"), ("elsewhere/mcp.json", "../elsewhere/mcp.json")]
    {
        let home = Home::new();
        let file = home.put(&format!("~/{link}"), TEXT);
        std::fs::create_dir_all(home.place("~/.cursor")).unwrap();
        symlink(target, home.place(AT)).unwrap();
        in_and_out(&home, &file);
        assert!(
            matches!(home.picture().get(&home.place(AT)), Some(Thing::Link(to)) if to == Path::new(target))
        );
    }
}

#[test]
fn so_does_a_chain_of_links() {
    let home = Home::new();
    let file = home.put("~/store/real.json", TEXT);
    std::fs::create_dir_all(home.place("~/.cursor")).unwrap();
    symlink(&file, home.place("~/store/second.json")).unwrap();
    symlink("store/second.json", home.place("~/first.json")).unwrap();
    symlink("../first.json", home.place(AT)).unwrap();
    in_and_out(&home, &file);
}

#[test]
fn a_folder_may_be_a_link_too() {
    let home = Home::new();
    let file = home.put("~/dotfiles/cursor/mcp.json", TEXT);
    symlink("dotfiles/cursor", home.place("~/.cursor")).unwrap();
    in_and_out(&home, &file);
}

#[test]
fn a_link_that_leads_nowhere_is_left() {
    let home = Home::new();
    std::fs::create_dir_all(home.place("~/.cursor")).unwrap();
    symlink("../nothing/here.json", home.place(AT)).unwrap();
    left(&home, "leads nowhere");
}

#[test]
fn comments_that_wrapping_would_lose_keep_an_entry_from_it_and_the_others_are_wrapped() {
    let entry = |inside: &str| {
        format!(
            "{{\n  // above\n  \"mcpServers\": {{\n    \"a\": {{ \"command\": \"node\" }}, // a\n    \"web\": {{{inside}}}\n  }}\n}}\n"
        )
    };
    let headers = "\"headers\": { \"X-Any\": \"some value\" }";
    for (inside, is_wrapped) in [
        (format!("\n      // above the address\n      \"url\": \"https://h.example/mcp\",\n      {headers}"), None),
        (format!("\"url\": \"https://h.example/mcp\", // beside it\n      {headers}"), None),
        (
            "\"url\": \"https://h.example/mcp\", \"headers\": {\n        // old: canary-x\n        \"X-Any\": \"b\" }".to_owned(),
            None,
        ),
        (format!("\"url\": \"https://h.example/mcp\", {headers}"), Some(true)),
    ] {
        let text = entry(&inside);
        let home = Home::new();
        let file = home.put(AT, text.as_bytes());
        let plan = home.plan(&asked());
        let told = |name: &str| {
            plan.servers.iter().find(|line| line.server == name).map(|line| line.outcome.clone()).unwrap()
        };
        assert!(told("a").stands(), "{text}");
        // Either it is wrapped with its comments, or left with the reason; they are never lost.
        let why = format!("{:?}", told("web"));
        assert!(told("web").stands() || why.contains("comments stand beside"), "{why}");
        assert!(is_wrapped.is_none() || told("web").stands(), "{text}");
        home.carry_out(&plan).unwrap();
        let now = std::fs::read_to_string(&file).unwrap();
        for comment in ["above the address", "beside it", "old: canary-x", "// above\n"] {
            assert_eq!(now.contains(comment), text.contains(comment), "{comment}: {now}");
        }
        // Another program writes the file, so that it is undone entry by entry.
        std::fs::write(&file, now.replace("// above\n", "// above, more\n")).unwrap();
        home.carry_out(&home.out(true)).unwrap();
        let back = std::fs::read_to_string(&file).unwrap();
        for comment in ["above the address", "beside it", "old: canary-x"] {
            assert_eq!(back.contains(comment), text.contains(comment), "{comment}: {back}");
        }
        assert!(!home.kept().contains("canary-x"));
    }
}

#[test]
fn links_that_lead_to_each_other_are_left() {
    let home = Home::new();
    std::fs::create_dir_all(home.place("~/.cursor")).unwrap();
    symlink("other.json", home.place(AT)).unwrap();
    symlink("mcp.json", home.place("~/.cursor/other.json")).unwrap();
    left(&home, "cannot be read");
}

#[test]
fn a_read_only_file_is_left() {
    let home = Home::new();
    let file = home.put(AT, TEXT);
    std::fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
    left(&home, "read-only");
}

#[test]
fn a_folder_in_which_nothing_may_be_written_is_left() {
    let home = Home::new();
    let file = home.put(AT, TEXT);
    let folder = file.parent().unwrap();
    std::fs::set_permissions(folder, Permissions::from_mode(0o555)).unwrap();
    as_somebody(&home, || left(&home, "writable"));
    std::fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
}

/// Whose everything below a directory is, but for one file.
fn owners(at: &Path, found: &mut Vec<(std::path::PathBuf, u32, u32)>) {
    for entry in std::fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        found.push((path.clone(), meta.uid(), meta.gid()));
        if meta.is_dir() {
            owners(&path, found);
        }
    }
}

#[test]
fn whoever_installs_owner_and_group_stay_and_what_is_new_is_the_directorys_owners() {
    let home = Home::new();
    let file = home.put(AT, TEXT);
    // The superuser installs in the home of another one; anybody else in their own.
    let (user, group) = if rustix::process::geteuid().is_root() {
        (Uid::from_raw(65534), Gid::from_raw(65534))
    } else {
        (rustix::process::geteuid(), Gid::from_raw(file.metadata().unwrap().gid()))
    };
    home.give_to(user, group);
    let asked = Asked { hooks: true, ..asked() };
    let codex = Asked { host: Some(Host::Codex), hooks: true, ..Asked::default() };
    for asked in [&asked, &codex] {
        home.carry_out(&home.plan(asked)).unwrap();
    }
    assert!(String::from_utf8(std::fs::read(&file).unwrap()).unwrap().contains("bir-proxy"));
    // A directory with a file of our own, the state directory with the ledger, its lock and what is beside it.
    assert!(home.place("~/.codex/hooks.json").is_file());
    let mut all = Vec::new();
    owners(home.home.parent().unwrap(), &mut all);
    for (path, uid, gid) in all {
        assert_eq!((uid, gid), (user.as_raw(), group.as_raw()), "{}", path.display());
    }
    home.carry_out(&home.out(true)).unwrap();
    let meta = file.metadata().unwrap();
    assert_eq!((meta.uid(), meta.gid()), (user.as_raw(), group.as_raw()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_of_another_user_or_group_is_left_where_it_would_become_ours() {
    // Only the superuser can make such a file.
    if !rustix::process::geteuid().is_root() {
        assert!(
            rustix::fs::chown("/", Some(Uid::from_raw(0)), None).is_err(),
            "nobody else gives files away"
        );
        return;
    }
    let owned = |uid: u32, gid: u32, because: Option<&str>| {
        let home = Home::new();
        let file = home.put(AT, TEXT);
        let somebody = Uid::from_raw(65534);
        home.give_to(somebody, Gid::from_raw(65534));
        std::fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        rustix::fs::chown(&file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))).unwrap();
        std::thread::scope(|scope| {
            let act = || {
                rustix::thread::set_thread_res_uid(somebody, somebody, somebody).unwrap();
                match because {
                    Some(because) => left(&home, because),
                    None => {
                        home.carry_out(&home.plan(&asked())).unwrap();
                        assert_eq!(file.metadata().unwrap().gid(), gid);
                    }
                }
            };
            scope.spawn(act).join().unwrap();
        });
    };
    owned(0, 0, Some("belongs to another user"));
    owned(65534, 1234, Some("belongs to group 1234"));
    // The thread is in the superuser's group still.
    owned(65534, 0, None);
}

#[test]
fn a_file_that_may_not_be_read_is_left() {
    let home = Home::new();
    let file = home.put(AT, TEXT);
    std::fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
    as_somebody(&home, || {
        let plan = home.plan(&asked());
        assert!(plan.operation.changes.is_empty());
        assert!(plan.untouched.iter().any(|(_, why)| why.contains("cannot be read")), "{:?}", plan.untouched);
    });
}

#[test]
fn a_folder_in_the_place_of_the_file_is_left() {
    let home = Home::new();
    std::fs::create_dir_all(home.place(AT)).unwrap();
    left(&home, "directory");
}

#[test]
fn a_pipe_in_the_place_of_the_file_is_left_and_nobody_waits_for_it() {
    let home = Home::new();
    std::fs::create_dir_all(home.place("~/.cursor")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, home.place(AT), fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
    left(&home, "no regular file");
}

#[test]
fn permissions_stay_as_they_are() {
    for mode in [0o600, 0o640, 0o664, 0o700] {
        let home = Home::new();
        let file = home.put(AT, TEXT);
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let now = || file.metadata().unwrap().permissions().mode() & 0o777;
        home.carry_out(&home.plan(&asked())).unwrap();
        assert_eq!(now(), mode, "after the install");
        home.carry_out(&home.out(false)).unwrap();
        assert_eq!(now(), mode, "after the uninstall");
    }
}

#[test]
fn a_file_with_another_name_is_left() {
    let home = Home::new();
    let file = home.put(AT, TEXT);
    std::fs::hard_link(&file, home.place("~/backup.json")).unwrap();
    left(&home, "several names");
}

#[test]
fn what_cannot_be_changed_does_not_hold_up_the_others() {
    let home = Home::new();
    let file = home.put(AT, TEXT);
    std::fs::hard_link(&file, home.place("~/backup.json")).unwrap();
    let other = home.put("~/.kiro/settings/mcp.json", b"{\"mcpServers\": {\"b\": {\"command\": \"node\"}}}");
    home.carry_out(&home.plan(&Asked::default())).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), TEXT);
    assert!(String::from_utf8(std::fs::read(other).unwrap()).unwrap().contains("bir-proxy"));
}

#[test]
fn whoever_reads_meanwhile_reads_a_whole_file() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let home = Home::new();
    let file = home.put(AT, TEXT);
    home.carry_out(&home.plan(&asked())).unwrap();
    let installed = std::fs::read(&file).unwrap();
    home.carry_out(&home.out(false)).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !over.load(Ordering::Relaxed) {
                let text = std::fs::read(&file).unwrap();
                assert!(text == TEXT || text == installed, "half a file: {} bytes", text.len());
                seen += 1;
            }
            seen
        });
        for _ in 0..50 {
            home.carry_out(&home.plan(&asked())).unwrap();
            home.carry_out(&home.out(false)).unwrap();
        }
        over.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
}

#[test]
fn a_file_that_another_program_holds_open_and_locks_is_changed_all_the_same() {
    let home = Home::new();
    let path = home.put(AT, TEXT);
    let file = std::fs::File::open(&path).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    in_and_out(&home, &path);
    // Hosts lock nothing by the system's means; who reads by an open file reads the old text to its end.
    assert_eq!(file.metadata().unwrap().size(), TEXT.len() as u64);
}

#[test]
fn a_file_that_changes_after_the_plan_is_not_overwritten() {
    let home = Home::new();
    let path = home.put(AT, TEXT);
    let plan = home.plan(&asked());
    let other = [TEXT, b"// and this"].concat();
    std::fs::write(&path, &other).unwrap();
    assert!(home.carry_out(&plan).unwrap_err().contains("changed by another program"));
    assert_eq!(std::fs::read(&path).unwrap(), other);
    // So it is with an uninstall.
    home.carry_out(&home.plan(&asked())).unwrap();
    let plan = home.out(false);
    let installed = std::fs::read(&path).unwrap();
    let other = [&installed[..], b"// and that"].concat();
    std::fs::write(&path, &other).unwrap();
    assert!(home.carry_out(&plan).unwrap_err().contains("changed by another program"));
    assert_eq!(std::fs::read(&path).unwrap(), other);
}
