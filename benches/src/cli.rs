//! The driver's arguments.

use crate::budgets::{self, Options, Part};
use crate::{Fail, machine, peers, procs, report};
use clap::{Args, Parser, Subcommand};
use serde_json::json;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Measures what an MCP proxy costs and what it does to messages (see benches/README.md).
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// bir-proxy against its budgets, beside the byte pump and a plain Node relay.
    Budgets(Budgets),
    /// Every proxy of the peers' table.
    Peers(Peers),
    /// One part of one peer, as JSON on stdout (what `peers` runs).
    One(One),
}

#[derive(Args)]
struct Common {
    /// The bir-proxy binary to measure.
    #[arg(long)]
    proxy: PathBuf,
    /// How it was built, for the report.
    #[arg(long, default_value = "unknown build")]
    build: String,
    /// Folder for results; made when missing.
    #[arg(long)]
    out: PathBuf,
    /// A short run, to try a command.
    #[arg(long)]
    quick: bool,
    /// Pin to this core (default: the first that may be used).
    #[arg(long)]
    cpu: Option<usize>,
    /// Priority of everything measured; below 0 only as root.
    #[arg(long, allow_negative_numbers = true)]
    nice: Option<i32>,
    /// A label such as the date, for the report.
    #[arg(long, default_value = "")]
    label: String,
}

#[derive(Args)]
struct Budgets {
    #[command(flatten)]
    common: Common,
    /// The Node baseline.
    #[arg(long)]
    node_relay: PathBuf,
    /// Repeated rounds of calls on fresh sessions.
    #[arg(long)]
    rounds: Option<usize>,
    /// Measure these parts only.
    #[arg(long = "part")]
    parts: Vec<Part>,
    /// Exit with status 1 when a budget is missed.
    #[arg(long)]
    check: bool,
}

#[derive(Args)]
struct Peers {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    place: peers::Place,
    /// Measure these peers only.
    names: Vec<String>,
    /// One part only.
    #[arg(long = "part")]
    parts: Vec<peers::Part>,
    /// Only print the tables of the last results.
    #[arg(long)]
    report: bool,
}

#[derive(Args)]
struct One {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    place: peers::Place,
    name: String,
    #[arg(long)]
    part: peers::Part,
}

/// Where our own binaries are: beside this one.
fn ours() -> Result<PathBuf, Fail> {
    let exe = std::env::current_exe()?;
    exe.parent().map(Path::to_path_buf).ok_or(Fail::Other("the driver has no folder".into()))
}

fn save(out: &Path, name: &str, text: &str) -> Result<(), Fail> {
    std::fs::create_dir_all(out)?;
    Ok(std::fs::write(out.join(name), text)?)
}

fn print(text: &str) -> Result<(), Fail> {
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

/// Runs the driver with a program's arguments. Arguments that are none end the process with status 2, as clap does.
///
/// # Errors
/// When the run could not be made. A proxy that fails is a result, not an error.
pub fn run(args: impl IntoIterator<Item = OsString>) -> Result<(), Fail> {
    let cli = Cli::parse_from(args);
    procs::become_subreaper()?;
    let common = match &cli.what {
        What::Budgets(a) => &a.common,
        What::Peers(a) => &a.common,
        What::One(a) => &a.common,
    };
    if let Some(n) = common.nice {
        machine::renice(n)?;
    }
    match &cli.what {
        What::Budgets(a) => run_budgets(a),
        What::Peers(a) => {
            let c = &a.common;
            let place = a.place.with(&c.proxy, &ours()?, &c.out)?;
            let parts = if a.parts.is_empty() { peers::Part::ALL.to_vec() } else { a.parts.clone() };
            if !a.report {
                peers::measure(&place, &a.names, &parts, c.quick, c.cpu)?;
            }
            let header = header(c)?;
            let text = format!("{header}\n{}", peers::tables(&place)?);
            save(&c.out, "peers.md", &text)?;
            print(&text)
        }
        What::One(a) => {
            let place = a.place.with(&a.common.proxy, &ours()?, &a.common.out)?;
            print(&format!("{}\n", peers::one(&place, &a.name, a.part, a.common.quick, a.common.cpu)?))
        }
    }
}

fn header(c: &Common) -> Result<String, Fail> {
    let kib =
        std::fs::metadata(&c.proxy).map_err(|e| Fail::Other(format!("{}: {e}", c.proxy.display())))?.len()
            >> 10;
    let short = if c.quick { ", short run" } else { "" };
    Ok(format!(
        "{} bir-proxy: {}, {kib} KiB. {}{short}.",
        c.label,
        c.build,
        machine::show(&machine::describe())
    ))
}

fn run_budgets(a: &Budgets) -> Result<(), Fail> {
    let c = &a.common;
    let mut header = header(c)?;
    let options = Options {
        proxy: c.proxy.clone(),
        state_dir: c.out.join("home-recording"),
        ours: ours()?,
        node_relay: a.node_relay.clone(),
        rounds: a.rounds.unwrap_or(if c.quick { 2 } else { 5 }),
        quick: c.quick,
        parts: a.parts.clone(),
    };
    let run = budgets::run(&options, c.cpu)?;
    header += &format!(
        " Pinned to core {}; load before {}, after {}. Median of {} rounds (smallest–largest).",
        run.core, run.loads[0], run.loads[1], options.rounds
    );
    let text = report::markdown(&run, header.trim());
    let mut all = report::json(&run);
    all["machine"] = machine::describe();
    all["proxy"] = json!({ "build": c.build });
    all["label"] = json!(c.label);
    save(&c.out, "budgets.json", &format!("{all:#}\n"))?;
    save(&c.out, "budgets.md", &text)?;
    print(&text)?;
    if a.check && !report::all_met(&run) {
        std::process::exit(1);
    }
    Ok(())
}
