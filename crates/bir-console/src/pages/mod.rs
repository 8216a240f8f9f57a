//! The pages. Each module turns a view into the values that its template prints.

mod call;
mod run;
mod runs;
mod small;

pub use run::{run_page, run_rows};
pub use runs::{run_list_rows, runs_page};
pub use small::{device_page, message_page, sign_in_page};

use crate::view::Viewer;
use crate::{assets, text};
use askama::Template;

/// What stands around each page.
struct Shell {
    title: String,
    css: String,
    js: String,
    icon: String,
    viewer: Option<Viewer>,
    /// Whether there is anywhere to go: not before one is signed in.
    nav: bool,
    /// Whether the help on keys makes sense.
    keys: Keys,
}

/// Which keys a page answers to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    None,
    List,
    Run,
}

impl Shell {
    fn new(title: &str, viewer: Option<&Viewer>, keys: Keys) -> Self {
        let address = assets::address;
        Self {
            title: text::plain(title),
            css: address("console.css"),
            js: address("console.js"),
            icon: address("icon.svg"),
            viewer: viewer.map(|v| Viewer { name: text::plain(&v.name), ..v.clone() }),
            nav: true,
            keys,
        }
    }

    fn is_list(&self) -> bool {
        self.keys == Keys::List
    }

    fn is_run(&self) -> bool {
        self.keys == Keys::Run
    }
}

/// Prints a template. Printing into a string fails only where a value's own printing does, and none of ours does; a reader
/// would still be told.
fn print(template: &impl Template) -> String {
    template
        .render()
        .unwrap_or_else(|_| "<!doctype html><title>bir</title><p>This page could not be made.".into())
}
