//! What a file may be on its disk: behind links, locked, in use, or no file at all.

use crate::home::{Asked, Home, Thing};
use bir_hosts::Host;
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
    use rustix::fs::{Gid, Uid};
    use rustix::thread::set_thread_res_uid;
    if !rustix::process::geteuid().is_root() {
        return act();
    }
    let (user, group) = (Uid::from_raw(65534), Gid::from_raw(65534));
    home.give_to(user, group);
    let changed = std::thread::scope(|scope| {
        scope
            .spawn(|| {
                set_thread_res_uid(user, user, user).expect("the superuser may become anybody");
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
