//! What browsers see: the pages of `bir-console`, filled from what the service knows.

use crate::guard::Caller;
use bir_console::{Device, DeviceState, Message, SignIn, Viewer};

pub(crate) use bir_console::{
    Filter, RunView, RunsView, asset, run_list_rows, run_page, run_rows, runs_page,
};

/// Who looks.
pub(crate) fn viewer(caller: &Caller) -> Option<Viewer> {
    let account = &caller.principal.account;
    let name = if account.name.is_empty() { account.email.clone() } else { account.name.clone() };
    Some(Viewer { name, can_sign_out: caller.principal.token.is_none() })
}

/// A page that says one thing.
pub(crate) fn message(title: &str, text: &str, request_id: Option<&str>) -> String {
    bir_console::message_page(&Message {
        viewer: None,
        title: title.to_owned(),
        text: text.to_owned(),
        link: Some(("Runs".to_owned(), "/runs".to_owned())),
        request_id: request_id.map(str::to_owned),
    })
}

/// The form for e-mail address and password.
pub(crate) fn sign_in(email: &str, error: Option<&str>, next: Option<&str>) -> String {
    bir_console::sign_in_page(&SignIn {
        email: email.to_owned(),
        error: error.map(str::to_owned),
        next: next.map(str::to_owned),
    })
}

/// The form for a device's code.
pub(crate) fn device(caller: &Caller, code: &str, error: Option<&str>) -> String {
    let state = DeviceState::Ask { user_code: code.to_owned(), error: error.map(str::to_owned) };
    bir_console::device_page(&Device { viewer: viewer(caller), state })
}

/// What became of it.
pub(crate) fn device_decided(caller: &Caller, allowed: bool) -> String {
    let state = if allowed { DeviceState::Allowed } else { DeviceState::Denied };
    bir_console::device_page(&Device { viewer: viewer(caller), state })
}
