//! The codes of findings. A code that was given out keeps its meaning.

use serde::Serialize;

macro_rules! codes {
    ($($(#[doc = $means:literal])+ $code:ident = $text:literal,)+) => {
        /// What was found, for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        pub enum Code {
            $($(#[doc = $means])+ #[serde(rename = $text)] $code,)+
        }

        impl Code {
            /// All of them, in the order in which they are told.
            pub const ALL: &[Self] = &[$(Self::$code),+];

            /// As it is written.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => $text,)+
                }
            }
        }
    };
}

codes! {
    /// Replay was asked for in a project.
    ReplayOn = "replay-on",
    /// `config.toml` is not understood, so nothing is recorded.
    ConfigUnclear = "config-unclear",
    /// Recording is switched off.
    SwitchedOff = "switched-off",
    /// The home or state directory is not where one would look for it.
    HomeUnusual = "home-unusual",
    /// Others may read the state directory.
    StateReadable = "state-readable",
    /// The spool is near its bound.
    SpoolFull = "spool-full",
    /// The disk of the state directory is almost full.
    DiskFull = "disk-full",
    /// Messages found no room in the inbox.
    MessagesDropped = "messages-dropped",
    /// An install or uninstall was interrupted.
    InstallInterrupted = "install-interrupted",
    /// `installed.json` cannot be read.
    LedgerBroken = "ledger-broken",
    /// A host's file cannot be read as what it is.
    FileBroken = "file-broken",
    /// A file that the ledger names is gone.
    FileGone = "file-gone",
    /// An entry or hook that the ledger names is gone, or was unwrapped by another program.
    EntryGone = "entry-gone",
    /// A program that an entry or a hook starts is not there.
    DeadPath = "dead-path",
    /// A program that an entry or a hook starts is of another release.
    OtherVersion = "other-version",
    /// A wrapped entry does not count.
    ShadowedEntry = "shadowed-entry",
    /// A wrapped copy is not as its original any more.
    OutdatedCopy = "outdated-copy",
    /// An entry is wrapped twice.
    WrappedTwice = "wrapped-twice",
    /// A policy of the machine forbids a server.
    PolicyForbids = "policy-forbids",
    /// The host has not asked yet whether a server may run.
    PendingApproval = "pending-approval",
    /// Calls of a wrapped server were made that no proxy saw.
    Bypassed = "bypassed",
    /// A wrapped server's proxy has never registered, and sessions began since.
    NeverRegistered = "never-registered",
    /// A name of a tool is too long for hosts or models.
    LongName = "long-name",
    /// A project with wrapped entries is not set up.
    NotSetUp = "not-set-up",
    /// Servers of a host are wrapped, and it has no hooks of ours.
    HooksMissing = "hooks-missing",
    /// A host is told to run no hooks, so that ours do nothing.
    HooksOff = "hooks-off",
    /// A host skips hooks of ours, for want of trust.
    UntrustedHook = "untrusted-hook",
    /// Two recorders would see one session.
    TwoRecorders = "two-recorders",
    /// The hooks of a directory above do not count here.
    HooksNotReached = "hooks-not-reached",
    /// A file with paths of this machine is not ignored by git.
    NotIgnored = "not-ignored",
    /// The directory of a project is gone.
    ProjectGone = "project-gone",
    /// A project lies in another one.
    ProjectsNested = "projects-nested",
    /// The control server is gone without a word.
    ControlDead = "control-dead",
    /// Another program answers where the control server was.
    ControlForeign = "control-foreign",
    /// The control server is of an older release.
    ControlOld = "control-old",
    /// The control server was ended with `bir down`.
    ControlStopped = "control-stopped",
    /// No hub is known, and runs wait.
    HubNone = "hub-none",
    /// The hub does not answer.
    HubUnreachable = "hub-unreachable",
    /// The hub does not accept the token.
    TokenRefused = "token-refused",
    /// The clocks of this machine and of the hub differ.
    ClockSkew = "clock-skew",
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn codes_differ_and_are_written_alike_everywhere() {
        let all: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(all.len(), Code::ALL.len());
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert!(code.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'-'));
        }
    }

    #[test]
    fn the_documentation_has_a_line_for_each_and_no_other() {
        let doc = include_str!("../../../../docs/doctor.md");
        let lines = doc.lines().filter_map(|line| line.strip_prefix("| `"));
        let documented: Vec<&str> = lines.filter_map(|line| line.split('`').next()).collect();
        let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(documented, codes);
    }
}
