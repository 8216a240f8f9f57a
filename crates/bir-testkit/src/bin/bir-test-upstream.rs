//! A scriptable MCP server for tests; see the crate's `README.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    bir_testkit::upstream_main()
}
