//! The reference upstream over HTTP, as a child of the driver.

use crate::Fail;
use crate::lines::Lines;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long the upstream may take to name its URL.
const START: Duration = Duration::from_secs(5);

/// Runs until it is dropped.
#[derive(Debug)]
pub(crate) struct HttpUpstream {
    child: Child,
    pub(crate) url: String,
}

impl HttpUpstream {
    pub(crate) fn start(program: &Path) -> Result<Self, Fail> {
        let mut child = Command::new(program)
            .args(["--http", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut lines = Lines::new(child.stdout.take().ok_or(Fail::Closed)?.into());
        match lines.next(Some(START)) {
            Ok(l) => Ok(Self { child, url: String::from_utf8_lossy(&l).into_owned() }),
            Err(e) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(e)
            }
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// The URL without its path.
    pub(crate) fn origin(&self) -> &str {
        self.url.strip_suffix("/mcp").unwrap_or(&self.url)
    }
}

impl Drop for HttpUpstream {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
