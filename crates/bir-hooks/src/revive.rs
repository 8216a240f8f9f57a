//! `bir-hooks revive`: starts the control server where it is not running.

use std::io::Write as _;

pub(crate) fn run() -> u8 {
    let _ = writeln!(std::io::stderr(), "bir-hooks: revive is not built yet");
    crate::USAGE
}
