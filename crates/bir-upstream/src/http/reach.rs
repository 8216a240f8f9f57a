//! Whether the server is there, and what a person is told when it is not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::Failure;

/// What has become of the messages so far. The host gets an answer to each; a person reads the log once per trouble.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    answered: AtomicBool,
    failed: AtomicBool,
    /// The trouble that was told last and has not ended.
    told: Mutex<Option<String>>,
    heard: watch::Sender<()>,
}

impl Reach {
    /// The server answered, whatever it said.
    pub(crate) fn answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
        self.heard.send_replace(());
    }

    /// Changes with each answer of the server.
    pub(crate) fn heard(&self) -> watch::Receiver<()> {
        self.heard.subscribe()
    }

    /// A message went well: the next trouble is a new one.
    pub(crate) fn well(&self) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// A message failed. Returns the line for the log when it says something new.
    pub(crate) fn failed(&self, failure: &Failure) -> Option<String> {
        self.failed.store(true, Ordering::Relaxed);
        let text = failure.to_string();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.as_ref() == Some(&text) {
            return None;
        }
        let line = format!("{text}{}", advice(failure));
        *told = Some(text);
        Some(line)
    }

    pub(crate) fn never(&self) -> bool {
        self.failed.load(Ordering::Relaxed) && !self.answered.load(Ordering::Relaxed)
    }
}

fn advice(failure: &Failure) -> &'static str {
    match failure {
        Failure::Net(error) if !error.may_have_acted() => {
            "; check the address, and that the server is running"
        }
        Failure::SignIn | Failure::Forbidden => "; check the headers in BIR_UPSTREAM_HEADERS",
        Failure::Status(404 | 405) | Failure::MediaType(_) => {
            "; check the path of the address and `--transport`"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_is_told_once_until_it_ends() {
        let reach = Reach::default();
        assert!(!reach.never());
        let line = reach.failed(&Failure::SignIn).unwrap();
        assert!(line.starts_with("upstream requires sign-in (HTTP 401); check"), "{line}");
        assert_eq!(reach.failed(&Failure::SignIn), None);
        assert!(reach.never());
        assert_eq!(reach.failed(&Failure::Status(500)).as_deref(), Some("upstream answered HTTP 500"));
        reach.answered();
        reach.well();
        assert!(reach.failed(&Failure::Status(500)).is_some());
        assert!(!reach.never());
    }
}
