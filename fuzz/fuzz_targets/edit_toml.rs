//! Any TOML under edits, with the check of `bir-edit` itself.

#![no_main]

use bir_model::Format;
use libfuzzer_sys::fuzz_target;

mod edit;

fuzz_target!(|data: &[u8]| edit::edit(data, Format::Toml));
