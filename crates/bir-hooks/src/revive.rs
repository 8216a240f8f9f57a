//! `bir-hooks revive`: starts the control server where it is not running, and waits until it answers.

use bir_control_client::{Contact, Token, ask, projects};
use bir_control_client::{ReviveError, revive};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it is asked.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn run() -> u8 {
    match start() {
        Ok(said) => {
            let _ = writeln!(std::io::stdout(), "{said}");
            0
        }
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "bir-hooks: {why}");
            1
        }
    }
}

fn start() -> Result<String, String> {
    let state_dir =
        bir_home::state_dir().ok_or("neither BIR_HOME nor HOME names a directory for the state")?;
    if projects::list(&state_dir).is_empty() {
        return Err("no project is set up (`bir project add`), so that nobody could be served".into());
    }
    if is_there(&state_dir) {
        return Ok("the control server runs".into());
    }
    let deadline = Instant::now() + PATIENCE;
    let mut started = false;
    while Instant::now() < deadline {
        if !started {
            match revive(&state_dir) {
                Ok(()) => started = true,
                // Whoever tried just now may have been successful; if not, it is our turn in a moment.
                Err(ReviveError::TooSoon) => {}
                Err(e) => return Err(e.to_string()),
            }
        }
        if is_there(&state_dir) {
            return Ok("the control server was started".into());
        }
        std::thread::sleep(LOOK);
    }
    Err(format!(
        "the control server does not answer after {} s; {} says more",
        PATIENCE.as_secs(),
        state_dir.join("logs").join("control.log").display()
    ))
}

fn is_there(state_dir: &Path) -> bool {
    projects::list(state_dir).into_iter().any(|(file, said)| {
        let Some((url, token)) = said.url.zip(said.token) else { return false };
        ask(&Contact { url, token: Token::new(token), pid: said.pid, file: Some(file) }).is_ok()
    })
}
