//! Progress on stderr, where a person looks on. indicatif draws nothing where stderr is no terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// How often a spinner turns.
const TURN: Duration = Duration::from_millis(120);

/// Something goes on, and nobody knows for how long.
pub(crate) fn spinner(message: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_message(message.to_owned());
    bar.enable_steady_tick(TURN);
    bar
}

/// So many bytes of so many; of an unknown number where there is none.
pub(crate) fn bytes(total: Option<u64>, message: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let template = if total.is_some() {
        "{msg} [{bar:30}] {bytes} of {total_bytes}, {eta} left"
    } else {
        "{spinner} {msg} {bytes}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(message.to_owned());
    bar
}
