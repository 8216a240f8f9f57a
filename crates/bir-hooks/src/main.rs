//! `bir-hooks`: what a host's hooks start, and the control server.

mod revive;
mod serve;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let code = match args.first().map(String::as_str) {
        Some("serve") => serve::run(has("--detached"), has("--force")),
        Some("revive") => revive::run(),
        _ => 2,
    };
    std::process::exit(i32::from(code));
}
