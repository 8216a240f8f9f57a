//! The off switch, looked at once a second for each directory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a look counts.
const FRESH: Duration = Duration::from_secs(1);
/// Directories that are remembered.
const MOST: usize = 256;

#[derive(Default)]
pub(super) struct Off(HashMap<PathBuf, (Instant, bool)>);

impl Off {
    /// Whether the recorder is switched off in a directory.
    pub(super) fn is_off(&mut self, dir: &Path) -> bool {
        let now = Instant::now();
        if let Some((at, off)) = self.0.get(dir)
            && now.duration_since(*at) < FRESH
        {
            return *off;
        }
        if self.0.len() >= MOST {
            self.0.clear();
        }
        let off = bir_home::off::is_off_in(dir);
        self.0.insert(dir.to_path_buf(), (now, off));
        off
    }
}
