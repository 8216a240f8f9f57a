//! Prompts that look like a recorded one and ask for something else.

use crate::Options;

pub(crate) fn run(_options: &Options) -> Result<String, String> {
    Err("not yet".to_owned())
}
