//! Logs: lines on stderr, for people or as JSON.

use crate::config::LogFormat;
use tracing_subscriber::filter::targets::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Begins to log.
pub(crate) fn begin(format: LogFormat, filter: &str) {
    // The configuration has read it before; what is wrong here would be silent otherwise.
    let targets: Targets =
        filter.parse().unwrap_or_else(|_| Targets::new().with_default(tracing::Level::INFO));
    let registry = tracing_subscriber::registry().with(targets);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let begun = match format {
        LogFormat::Text => registry.with(layer).try_init(),
        LogFormat::Json => registry.with(layer.json().flatten_event(true)).try_init(),
    };
    // A second subscriber is the fault of a test in the same process.
    drop(begun);
}
