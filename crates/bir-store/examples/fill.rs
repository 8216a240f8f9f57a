//! Fills a store with runs of one call each, and measures how fast its newest page is listed.
//!
//! ```text
//! cargo run --release -p bir-store --example fill -- sqlite:/tmp/big.db [RUNS, 100,000] [LISTINGS, 500]
//! cargo run --release -p bir-store --example fill -- postgres://bir_hub@127.0.0.1/bir 100000
//! ```
//!
//! The runs are those of `benches/hub`, which measures the same through HTTP. They go to the first tenant and its first
//! person, who are made when there are none; a hub that is started on the store shows them. A second call adds as many again.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use bir_model::record::{Record, RunStart};
use bir_model::{RunId, StepId};
use bir_store::model::{NewUser, Page, Role, RunFilter, View};
use bir_store::{Options, Store, StoreError};
use serde_json::json;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Runs that are booked together; each is four records, and a hub takes 2,000 of them at once.
const TOGETHER: usize = 500;
/// Runs of a page, as the console shows it.
const PAGE: u32 = 50;
/// A listing may take so long (p50), as issue and documentation say.
const BUDGET: Duration = Duration::from_millis(20);
/// Runs begin this long after each other, ms.
const APART: u64 = 1_000;

fn record(value: serde_json::Value) -> Result<Record, StoreError> {
    serde_json::from_value(value).map_err(|error| StoreError::Failed(error.to_string()))
}

/// A run with one call.
fn run(at: u64) -> Result<[Record; 4], StoreError> {
    let id = RunId::new();
    let text = json!({"text": "plain words of no special meaning ".repeat(6)}).to_string();
    let start = json!({"id": id, "tier": "standalone", "framework": "baseinstrunner", "startedAt": at,
        "project": "/home/a/project", "servers": [{"name": "it"}]});
    let start: RunStart =
        serde_json::from_value(start).map_err(|error| StoreError::Failed(error.to_string()))?;
    Ok([
        Record::Run(start),
        record(
            json!({"type": "step", "id": StepId::new(), "runId": id, "stepIndex": 0, "stepType": "tool_selected",
            "toolName": "search", "server": "it", "tool": "search", "sources": ["proxy"], "at": at + 1, "toolInput": text}),
        )?,
        record(
            json!({"type": "step", "id": StepId::new(), "runId": id, "stepIndex": 1, "stepType": "tool_response",
            "toolName": "search", "server": "it", "tool": "search", "sources": ["proxy"], "at": at + 2, "toolOutput": text,
            "outcome": "ok", "durationUs": 1200}),
        )?,
        record(json!({"type": "finish", "runId": id, "at": at + 5, "reason": "closed"}))?,
    ])
}

/// The first person of the first tenant, or a new one of a new tenant.
async fn somebody(store: &dyn Store) -> Result<View, StoreError> {
    let tenant = match store.tenants().await?.first() {
        Some(tenant) => tenant.id,
        None => store.add_tenant("filled").await?,
    };
    let user = match store.users(tenant).await?.first() {
        Some(account) => account.id,
        None => {
            let email = "filled@example.com".to_owned();
            let user = NewUser { email, name: "Filled".into(), role: Role::Admin, password_hash: None };
            store.add_user(tenant, user).await?
        }
    };
    Ok(View { tenant, user, whole_tenant: true })
}

async fn fill(store: &dyn Store, who: &View, runs: usize) -> Result<(), StoreError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let first = u64::try_from(now).unwrap_or(0).saturating_sub(runs as u64 * APART);
    let begun = Instant::now();
    for part in (0..runs).collect::<Vec<_>>().chunks(TOGETHER) {
        let mut records = Vec::with_capacity(4 * part.len());
        for n in part {
            records.extend(run(first + *n as u64 * APART)?);
        }
        store.append(who, &records).await?;
    }
    println!("{runs} runs in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// The p50 of a listing.
async fn measure(store: &dyn Store, who: &View, times: usize) -> Result<Duration, StoreError> {
    let mut median = Duration::ZERO;
    let own = View { whole_tenant: false, ..*who };
    let tool = RunFilter { tool: Some("search".into()), ..RunFilter::default() };
    let all = RunFilter::default();
    for (name, who, filter) in
        [("of the tenant", who, &all), ("of one person", &own, &all), ("of one tool", who, &tool)]
    {
        let mut took = Vec::with_capacity(times);
        for _ in 0..times {
            let begun = Instant::now();
            let page = store.runs(who, filter, &Page { cursor: None, limit: PAGE }).await?;
            took.push(begun.elapsed());
            if page.runs.is_empty() {
                return Err(StoreError::Failed("the page is empty".into()));
            }
        }
        took.sort_unstable();
        let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
        println!(
            "newest page {name}: p50 {:.2} ms, p99 {:.2} ms, slowest {:.2} ms of {times}",
            at(0.5).as_secs_f64() * 1e3,
            at(0.99).as_secs_f64() * 1e3,
            at(1.0).as_secs_f64() * 1e3
        );
        median = median.max(at(0.5));
    }
    Ok(median)
}

async fn all(address: &str, runs: usize, times: usize) -> Result<bool, StoreError> {
    let store = bir_store::open(address, Options::default()).await?;
    let who = somebody(&*store).await?;
    fill(&*store, &who, runs).await?;
    let median = measure(&*store, &who, times).await;
    store.close().await;
    Ok(median? <= BUDGET)
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next();
    let mut number = |default: usize| arguments.next().map_or(Some(default), |text| text.parse().ok());
    let (runs, times) = (number(100_000), number(500));
    let (Some(address), Some(runs), Some(times @ 1..)) = (address, runs, times) else {
        eprintln!("fill STORE [RUNS [LISTINGS]]: the store is sqlite:PATH or postgres://USER@HOST/DATABASE");
        return ExitCode::from(2);
    };
    match all(&address, runs, times).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("a listing took longer than {} ms (p50)", BUDGET.as_millis());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
