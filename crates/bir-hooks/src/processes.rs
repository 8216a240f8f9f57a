//! The host's process, by which the control server knows which proxies are of the same host.

/// How many processes above this one are told of, beside its parent: between host and hook stand a shell or two.
#[cfg(unix)]
const MOST_ABOVE: usize = 4;

/// The process that the host names, else this process's parent and those above it, nearest first.
pub(crate) fn above(named: Option<u32>) -> Vec<u32> {
    named.map_or_else(parents, |pid| vec![pid])
}

#[cfg(unix)]
fn parents() -> Vec<u32> {
    let first = std::os::unix::process::parent_id();
    // 1 is where the orphans are.
    std::iter::successors(Some(first), |pid| parent_of(*pid))
        .take_while(|pid| *pid > 1)
        .take(1 + MOST_ABOVE)
        .collect()
}

#[cfg(not(unix))]
fn parents() -> Vec<u32> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // `pid (name) state ppid …`, and the name may hold anything.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(all(unix, not(target_os = "linux")))]
fn parent_of(_: u32) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_process_counts_alone() {
        assert_eq!(above(Some(7)), [7]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn parents_go_up() {
        let own = std::process::id();
        assert_eq!(parent_of(own), Some(std::os::unix::process::parent_id()));
        assert!(parents().len() <= 1 + MOST_ABOVE);
        assert_eq!(parent_of(u32::MAX), None);
    }
}
