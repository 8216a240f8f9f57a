//! `bir match`: which scenario a prompt asks for, why or why not, and what would run.

use super::args::MatchArgs;
use crate::error::CommandError;
use crate::home::Home;

/// Asks.
pub(super) async fn run(home: &Home, args: &MatchArgs) -> Result<(), CommandError> {
    let _ = (home, &args.prompt);
    Err(CommandError::failed("x"))
}
