//! The pages of the hub as functions: a view goes in, HTML comes out.
//!
//! ```text
//!  bir-service ──▶ view (plain values) ──▶ page (askama) ──▶ String
//!                                │
//!                    timeline    │ rows of a run paired into calls, losses put where they happened
//!                    json        │ payloads pretty-printed from their tokens, nothing re-encoded
//!                    text        │ the only way from foreign text to HTML: escaped, hidden characters shown
//! ```
//!
//! Nothing here does I/O, knows a database or a web server, or reads a clock: "now" is part of the view. What the browser
//! needs beside the pages are the [`assets`](asset), compiled in. The pages hold no inline script and no style attribute, so
//! that [`CONTENT_SECURITY_POLICY`] can forbid both.
//!
//! A page that is live has one rendering, not two: the script hears from an event stream *that* something changed, and
//! fetches [`run_list_rows`] or [`run_rows`], which are parts of the page itself.
//!
//! | Route of the hub | Function |
//! |---|---|
//! | `GET /runs` (and `/`) | [`runs_page`] |
//! | `GET /runs/rows?…` with the same filter | [`run_list_rows`] |
//! | `GET /runs/:id?from=INDEX` | [`run_page`] |
//! | `GET /runs/:id/rows?from=INDEX` | [`run_rows`] |
//! | `GET /signin` and `POST /signin` (form: `email`, `password`, `next`) | [`sign_in_page`] |
//! | `POST /signout` | answered by the hub |
//! | `GET /device` and `POST /device` (form: `user_code`, `decision` = `allow` or `deny`) | [`device_page`] |
//! | `GET /static/*` | [`asset`] |
//! | whatever went wrong, for a browser | [`message_page`] |

mod assets;
#[cfg(feature = "store")]
mod from_store;
mod json;
mod pages;
mod text;
mod timeline;
mod units;
mod view;

pub use assets::{Asset, asset};
pub use pages::{device_page, message_page, run_list_rows, run_page, run_rows, runs_page, sign_in_page};
pub use view::{Device, DeviceState, Filter, Message, Run, RunView, RunsView, SignIn, Since, Viewer};

/// What the pages need, and nothing more. To be sent with each of them.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'; object-src 'none'";
