//! `bir setup`: sign in where a hub is named, install, start what records.

use super::args::{InstallArgs, SetupArgs};
use super::{Ground, install};
use crate::error::CommandError;
use crate::hub::up::{self, UpArgs};
use crate::login::{self, LoginArgs};

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
    install(&ground, &wanted)?;
    up::run(&UpArgs::default())
}
