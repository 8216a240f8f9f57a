//! Sign-in, approval of a device, and the page that says one thing.

use super::{Keys, Shell, print};
use crate::text::{Html, plain, text};
use crate::view::{Device, DeviceState, Message, SignIn};
use askama::Template;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    shell: Shell,
    email: &'a str,
    error: Option<Html>,
    next: Option<&'a str>,
}

/// The form that signs a person in: it posts `email`, `password` and, where there is one, `next` to `/signin`.
#[must_use]
pub fn sign_in_page(view: &SignIn) -> String {
    print(&SignInPage {
        shell: Shell { nav: false, ..Shell::new("Sign in", None, Keys::None) },
        email: &view.email,
        error: view.error.as_deref().map(text),
        next: view.next.as_deref().filter(|path| is_own_path(path)),
    })
}

/// Whether a path stays on this hub. `//host` and `/\host` do not.
fn is_own_path(path: &str) -> bool {
    path.starts_with('/') && !path[1..].starts_with(['/', '\\']) && !path.contains(char::is_control)
}

#[derive(Template)]
#[template(path = "device.html")]
struct DevicePage<'a> {
    shell: Shell,
    state: &'a DeviceState,
    error: Option<Html>,
}

/// The page on which a signed-in person lets another machine in, or does not: it posts `user_code` and `decision`
/// (`allow` or `deny`) to `/device`.
#[must_use]
pub fn device_page(view: &Device) -> String {
    let error = match &view.state {
        DeviceState::Ask { error, .. } => error.as_deref().map(text),
        _ => None,
    };
    let shell = Shell::new("Sign in another machine", view.viewer.as_ref(), Keys::None);
    print(&DevicePage { shell, state: &view.state, error })
}

#[derive(Template)]
#[template(path = "message.html")]
struct MessagePage<'a> {
    shell: Shell,
    status: Option<u16>,
    title: Html,
    text: Html,
    link: Option<(String, &'a str)>,
    request_id: Option<Html>,
}

/// A page that says what is the matter and what to do: errors, nothing found, signed out.
#[must_use]
pub fn message_page(view: &Message) -> String {
    print(&MessagePage {
        shell: Shell::new(&view.title, view.viewer.as_ref(), Keys::None),
        status: view.status,
        title: text(&view.title),
        text: text(&view.text),
        link: view
            .link
            .as_ref()
            .filter(|(_, path)| is_own_path(path))
            .map(|(label, path)| (plain(label), path.as_str())),
        request_id: view.request_id.as_deref().map(text),
    })
}
