//! What browsers see: the pages of `bir-console`, filled from what the service knows.

use crate::guard::Caller;
use crate::problem::{Code, Problem};
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

/// What went wrong, for a person: the API's words as a sentence, and the way on that helps.
pub(crate) fn problem(problem: &Problem, request_id: &str) -> String {
    let (title, way): (&str, Option<(&str, &str)>) = match problem.code {
        Code::NotFound => ("There is nothing here", Some(("All runs", "/runs"))),
        Code::Forbidden => ("You may not see this", Some(("Who you are signed in as", "/signout"))),
        Code::BadCursor | Code::BadType => (problem.code.title(), Some(("All runs", "/runs"))),
        code if code.status() == http::StatusCode::UNAUTHORIZED => {
            (code.title(), Some(("Sign in", "/signin")))
        }
        // Where it is the service or the network, the same page again is the way on, and a browser has a key for that.
        code => (code.title(), None),
    };
    bir_console::message_page(&Message {
        viewer: None,
        status: Some(problem.status().as_u16()),
        title: title.to_owned(),
        text: sentence(&problem.detail),
        link: way.map(|(label, path)| (label.to_owned(), path.to_owned())),
        request_id: Some(request_id.to_owned()),
    })
}

/// A fragment of the API's as a sentence of a page.
fn sentence(detail: &str) -> String {
    let mut chars = detail.chars();
    let Some(first) = chars.next() else { return String::new() };
    let end = if detail.ends_with(['.', '?']) { "" } else { "." };
    first.to_uppercase().chain(chars).chain(end.chars()).collect()
}

/// Who is signed in.
pub(crate) fn signed_in(caller: &Caller, text: &str) -> String {
    bir_console::message_page(&Message {
        viewer: viewer(caller),
        status: None,
        title: "Signed in".to_owned(),
        text: text.to_owned(),
        link: None,
        request_id: None,
    })
}

/// The form for e-mail address and password.
pub(crate) fn sign_in(email: &str, error: Option<&str>, next: Option<&str>) -> String {
    bir_console::sign_in_page(&SignIn {
        email: email.to_owned(),
        error: error.map(sentence),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_becomes_a_sentence() {
        for (detail, shown) in [
            ("there is no such run, or it is not yours", "There is no such run, or it is not yours."),
            ("Well.", "Well."),
            ("\u{e4}", "\u{c4}."),
            ("", ""),
        ] {
            assert_eq!(sentence(detail), shown);
        }
    }

    #[test]
    fn a_way_on_never_leads_back_to_the_same_refusal() {
        let page = problem(&Problem::new(Code::Forbidden, "no"), "r");
        assert!(page.contains("href=\"/signout\"") && page.contains("403"), "{page}");
        let page = problem(&Problem::not_found("run"), "r");
        assert!(page.contains("There is no such run, or it is not yours.") && page.contains("404"), "{page}");
    }
}
