//! Progress on stderr, where a person looks on. indicatif draws nothing where stderr is no terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// How often a spinner turns.
const TURN: Duration = Duration::from_millis(120);

/// Something goes on, and nobody knows for how long.
pub(crate) fn spinner(message: &str) -> ProgressBar {
    let bar =
        ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_message(message.to_owned());
    bar.enable_steady_tick(TURN);
    bar
}

/// So many bytes of so many; of an unknown number where there is none. It is drawn with the first of them, not before: an empty bar that
/// flashes tells nobody anything.
pub(crate) fn bytes(total: Option<u64>, message: &str) -> ProgressBar {
    let template = if total.is_some() {
        "{msg} [{bar:30}] {bytes} of {total_bytes}, {eta} left"
    } else {
        "{spinner} {msg} {bytes}"
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr())
        .with_style(style.progress_chars("=> "))
        .with_message(message.to_owned())
}
