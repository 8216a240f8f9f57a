//! The control server: is it there, is it ours, and of this release?

use super::{Code, Finding};

/// What a discovery file and whoever answers at its address say together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// No project is set up, or none is said to be served: the next event of a host starts one.
    Asleep,
    /// It answers.
    Answers {
        /// Its release, where it tells.
        version: Option<String>,
    },
    /// The process that is named is gone.
    Dead {
        /// It.
        pid: u32,
    },
    /// The process is there, and does not answer.
    Silent {
        /// It, where it is named.
        pid: Option<u32>,
        /// Why there is no answer.
        why: String,
    },
    /// Somebody answers who is no control server, or does not know the token.
    Foreign {
        /// The address.
        url: String,
    },
}

/// What is known of the control server of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// What each project's file leads to.
    pub controls: Vec<Control>,
    /// `bir down` has ended it.
    pub stopped: bool,
    /// A project is set up.
    pub any_project: bool,
}

/// Looks at it. `version`: the release of this program. Each trouble is told once, however many projects have it.
#[must_use]
pub fn findings(observed: &Observed, version: &str) -> Vec<Finding> {
    if observed.stopped {
        let stopped = Finding::warning(
            Code::ControlStopped,
            "the control server was ended with bir down, and nobody starts it again",
            "calls over MCP become runs of their own meanwhile; prompts and built-in tools are not recorded",
        );
        return observed.any_project.then(|| stopped.mend("bir up")).into_iter().collect();
    }
    let mut found: Vec<Finding> = observed.controls.iter().filter_map(|one| finding(one, version)).collect();
    found.sort_by(|a, b| (a.code, &a.what).cmp(&(b.code, &b.what)));
    found.dedup();
    found
}

fn finding(control: &Control, version: &str) -> Option<Finding> {
    const MEND: &str = "bir up --restart";
    const WAITS: &str =
        "what hosts tell waits in the inbox until one answers; the next event of a host starts one";
    let finding = match control {
        Control::Asleep => return None,
        Control::Answers { version: theirs } => {
            let theirs = theirs.as_deref().filter(|theirs| is_older(theirs, version))?;
            Finding::warning(
                Code::ControlOld,
                format!("the control server is release {theirs}, and this is {version}"),
                "an upgrade has left it running; what only the newer one knows is not recorded",
            )
        }
        Control::Dead { pid } => Finding::fault(
            Code::ControlDead,
            format!("the control server (process {pid}) is gone, and its files say that it serves"),
            format!("it was killed, or the machine was switched off; {WAITS}"),
        ),
        Control::Silent { pid, why } => {
            let which = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
            Finding::fault(
                Code::ControlDead,
                format!("the control server{which} does not answer: {why}"),
                format!("it hangs, or the process is another one by now; {WAITS}"),
            )
        }
        Control::Foreign { url } => Finding::fault(
            Code::ControlForeign,
            format!("another program answers at {url}, where the control server was"),
            format!("the control server is gone, and its port was taken; {WAITS}"),
        ),
    };
    Some(finding.safe(MEND))
}

/// Whether a release is older than another. Of one that tells no number nothing is known.
#[must_use]
pub fn is_older(theirs: &str, ours: &str) -> bool {
    numbers(theirs).zip(numbers(ours)).is_some_and(|(theirs, ours)| theirs < ours)
}

fn numbers(version: &str) -> Option<[u64; 3]> {
    let mut parts = version.split(['-', '+']).next()?.split('.').map(str::parse);
    let mut next = || parts.next()?.ok();
    Some([next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trouble_is_told_once() {
        let found = |controls: Vec<Control>, stopped: bool| -> Vec<Code> {
            let observed = Observed { any_project: !controls.is_empty(), controls, stopped };
            let found = findings(&observed, "0.2.0");
            assert!(found.iter().all(|f| f.mend.is_some() && f.safe != stopped));
            found.into_iter().map(|finding| finding.code).collect()
        };
        let answers = |version: &str| Control::Answers { version: Some(version.into()) };
        assert_eq!(
            found(vec![Control::Asleep, answers("0.2.0"), Control::Answers { version: None }], false),
            []
        );
        assert_eq!(found(vec![answers("0.10.0"), answers("odd")], false), [], "a newer one");
        assert_eq!(found(vec![answers("0.1.9"), answers("0.1.9")], false), [Code::ControlOld]);
        let dead = Control::Dead { pid: 7 };
        let silent = Control::Silent { pid: Some(8), why: "no answer within 500 ms".into() };
        let foreign = Control::Foreign { url: "http://127.0.0.1:1".into() };
        assert_eq!(
            found(vec![foreign, dead.clone(), silent, dead.clone()], false),
            [Code::ControlDead, Code::ControlDead, Code::ControlForeign]
        );
        assert_eq!(found(vec![dead], true), [Code::ControlStopped]);
        assert_eq!(found(Vec::new(), true), [], "nobody misses it");
    }
}
