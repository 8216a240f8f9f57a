//! An HTTP face for any stdio MCP server; see the crate's `README.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    bir_testkit::pipe_main()
}
