//! The load driver: acts as a host towards any proxy. `driver --help` lists what it measures.

use std::process::ExitCode;

fn main() -> ExitCode {
    match bir_bench::run(std::env::args_os()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("driver: {e}");
            ExitCode::from(2)
        }
    }
}
