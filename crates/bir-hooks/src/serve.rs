//! `bir-hooks serve`: the control server as a program.

use std::io::Write as _;

pub(crate) fn run(_detached: bool, _force: bool) -> u8 {
    let _ = writeln!(std::io::stderr(), "bir-hooks: serve is not built yet");
    crate::USAGE
}
