//! `bir setup`: sign in where a hub is named, install, start what records.

use super::args::{InstallArgs, SetupArgs};
use super::{Ground, install, text};
use crate::error::CommandError;
use crate::hub::up::{self, UpArgs};
use crate::login::{self, LoginArgs};
use crate::say;
use bir_install::plan::Plan;

/// Does the three.
pub(crate) fn run(args: &SetupArgs) -> Result<(), CommandError> {
    if args.server.is_some() {
        login::run(&LoginArgs {
            server: args.server.clone(),
            email: args.email.clone(),
            device: args.device,
            password_stdin: args.password_stdin,
            json: false,
        })?;
    }
    let ground = Ground::find()?;
    let wanted = InstallArgs {
        dir: args.dir.clone(),
        hosts: args.hosts.clone(),
        everywhere: args.everywhere,
        user: args.user,
        no_hooks: args.no_hooks,
        yes: args.yes,
        ..InstallArgs::default()
    };
    // What could be installed is recorded all the same.
    let (done, partly) = match install(&ground, &wanted, "bir setup", question) {
        Ok(done) => (done, None),
        Err(partly @ CommandError::Partly(_)) => (None, Some(partly)),
        Err(e) => return Err(e),
    };
    up::run(&UpArgs::default())?;
    if let Some(hosts) = done.as_ref().and_then(text::changed_hosts) {
        say(format_args!(
            "next: restart {hosts} where it is open, and use it as always; then `bir runs show`"
        ));
    }
    partly.map_or(Ok(()), Err)
}

/// A person accepts all three at once.
fn question(plan: &Plan) -> String {
    format!("{}, and start hub and control server?", text::question(plan).trim_end_matches('?'))
}
