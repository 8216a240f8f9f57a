//! What the service counts, as Prometheus text.
//!
//! Labels are of bounded number: routes are patterns, and of tool names the first [`TOOLS`] are told apart.

use crate::problem::Problem;
use crate::state::State;
use axum::response::Response;
use bir_model::Outcome;
use bir_model::record::{Record, Step, StepType};
use bir_model::scenario::Decision;
use bir_store::model::Appended;
use http::{HeaderValue, Method, StatusCode, header};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Tool names that have a label of their own; further ones are `other`.
const TOOLS: usize = 200;

/// The buckets of the OpenTelemetry conventions for MCP, in seconds.
pub(crate) const MCP_BUCKETS: [f64; 14] =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
const HTTP_BUCKETS: [f64; 12] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerdictLabels {
    verdict: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StoreLabels {
    operation: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    mcp_method_name: &'static str,
    gen_ai_tool_name: String,
    error_type: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MatchLabels {
    decision: &'static str,
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HelpLabels {
    purpose: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ExecutionLabels {
    result: &'static str,
    outcome: &'static str,
}

fn http_histogram() -> Histogram {
    Histogram::new(HTTP_BUCKETS)
}

fn mcp_histogram() -> Histogram {
    Histogram::new(MCP_BUCKETS)
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// The counters.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Histograms<RequestLabels>,
    records: Family<VerdictLabels, Counter>,
    store: Histograms<StoreLabels>,
    calls: Histograms<CallLabels>,
    subscribers: Gauge,
    dropped_spans: Counter,
    matches: Histograms<MatchLabels>,
    calculations: Histograms<ResultLabels>,
    waiting: Gauge,
    builds: Histogram,
    executions: Family<ExecutionLabels, Counter>,
    edits: Family<ResultLabels, Counter>,
    help: Family<HelpLabels, Counter>,
    tools: Mutex<HashSet<String>>,
}

/// `error.type` of a call: the JSON-RPC code, `tool_error`, or what else ended it; None: it went well.
pub(crate) fn error_type(step: &Step) -> Option<String> {
    match step.outcome {
        None | Some(Outcome::Ok) => None,
        Some(Outcome::RpcError) => {
            Some(rpc_code(step).map_or_else(|| "rpc_error".to_owned(), |c| c.to_string()))
        }
        Some(other) => Some(other.as_str().to_owned()),
    }
}

/// The code of a JSON-RPC error.
pub(crate) fn rpc_code(step: &Step) -> Option<i64> {
    #[derive(serde::Deserialize)]
    struct Code {
        code: i64,
    }
    serde_json::from_str::<Code>(step.tool_error.as_deref()?).ok().map(|c| c.code)
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let requests: Histograms<RequestLabels> =
            Family::new_with_constructor(http_histogram as fn() -> Histogram);
        registry.register_with_unit(
            "bir_http_request_duration",
            "Requests by route and status, until the answer begins",
            Unit::Seconds,
            requests.clone(),
        );
        let records = Family::<VerdictLabels, Counter>::default();
        registry.register("bir_records", "Records taken in, by what became of them", records.clone());
        let store: Histograms<StoreLabels> =
            Family::new_with_constructor(http_histogram as fn() -> Histogram);
        registry.register_with_unit(
            "bir_store_duration",
            "How long the store took",
            Unit::Seconds,
            store.clone(),
        );
        let calls: Histograms<CallLabels> = Family::new_with_constructor(mcp_histogram as fn() -> Histogram);
        registry.register_with_unit(
            "mcp_client_operation_duration",
            "Recorded calls, from beginning to end",
            Unit::Seconds,
            calls.clone(),
        );
        let subscribers = Gauge::default();
        registry.register("bir_live_subscribers", "Live streams that are open", subscribers.clone());
        let dropped_spans = Counter::default();
        registry.register(
            "bir_telemetry_dropped",
            "Spans and measurements that no collector took",
            dropped_spans.clone(),
        );
        let matches: Histograms<MatchLabels> =
            Family::new_with_constructor(http_histogram as fn() -> Histogram);
        registry.register_with_unit(
            "bir_match_duration",
            "Questions whether a prompt asks for a scenario, by what was decided and why",
            Unit::Seconds,
            matches.clone(),
        );
        let calculations: Histograms<ResultLabels> =
            Family::new_with_constructor(http_histogram as fn() -> Histogram);
        registry.register_with_unit(
            "bir_calculation_duration",
            "Calculations of scenarios, by what became of them",
            Unit::Seconds,
            calculations.clone(),
        );
        let waiting = Gauge::default();
        registry.register(
            "bir_calculations_waiting",
            "Runs that wait for their calculation",
            waiting.clone(),
        );
        let builds = http_histogram();
        registry.register_with_unit(
            "bir_matcher_build_duration",
            "How long it took to hold the prompts of a person ready",
            Unit::Seconds,
            builds.clone(),
        );
        let executions = Family::<ExecutionLabels, Counter>::default();
        registry.register(
            "bir_executions",
            "Reports of executions, by what became of report and execution",
            executions.clone(),
        );
        let edits = Family::<ResultLabels, Counter>::default();
        registry.register("bir_scenario_edits", "Changes by hand, by what became of them", edits.clone());
        let help = Family::<HelpLabels, Counter>::default();
        registry.register(
            "bir_model_help",
            "Questions to a model endpoint, by purpose and end",
            help.clone(),
        );
        Self {
            help,
            matches,
            calculations,
            waiting,
            builds,
            executions,
            edits,
            registry,
            requests,
            records,
            store,
            calls,
            subscribers,
            dropped_spans,
            tools: Mutex::default(),
        }
    }

    pub(crate) fn request(&self, method: &Method, route: &'static str, status: StatusCode, took: Duration) {
        let known = [Method::GET, Method::POST, Method::PATCH, Method::DELETE, Method::HEAD];
        let method = if known.contains(method) { method.to_string() } else { "other".to_owned() };
        let labels = RequestLabels { method, route, status: status.as_u16() };
        self.requests.get_or_create(&labels).observe(took.as_secs_f64());
    }

    pub(crate) fn store(&self, operation: &'static str, took: Duration) {
        self.store.get_or_create(&StoreLabels { operation }).observe(took.as_secs_f64());
    }

    pub(crate) fn refused(&self, count: u64) {
        if count > 0 {
            self.records.get_or_create(&VerdictLabels { verdict: "refused" }).inc_by(count);
        }
    }

    pub(crate) fn subscribed(&self, by: i64) {
        self.subscribers.inc_by(by);
    }

    /// A prompt was matched.
    pub(crate) fn asked(&self, decision: Decision, code: &'static str, took: Duration) {
        let labels = MatchLabels { decision: decision.as_str(), code };
        self.matches.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Runs were calculated.
    pub(crate) fn calculated(&self, result: &'static str, took: Duration) {
        self.calculations.get_or_create(&ResultLabels { result }).observe(took.as_secs_f64());
    }

    /// A matcher was built.
    pub(crate) fn matcher_built(&self, took: Duration) {
        self.builds.observe(took.as_secs_f64());
    }

    /// What became of an execution was told.
    pub(crate) fn executed(&self, result: &'static str, outcome: bir_model::scenario::Outcome) {
        self.executions.get_or_create(&ExecutionLabels { result, outcome: outcome.as_str() }).inc();
    }

    /// A change by hand was asked for.
    /// A question to a model endpoint ended.
    pub(crate) fn helped(&self, purpose: &'static str, result: &'static str) {
        self.help.get_or_create(&HelpLabels { purpose, result }).inc();
    }

    pub(crate) fn edited(&self, result: &'static str) {
        self.edits.get_or_create(&ResultLabels { result }).inc();
    }

    pub(crate) fn telemetry_dropped(&self, count: u64) {
        self.dropped_spans.inc_by(count);
    }

    /// Counts what a batch became, and times the calls that it booked.
    pub(crate) fn booked(&self, records: &[Record], verdicts: &[Appended]) {
        let (mut booked, mut duplicates, mut refused) = (0, 0, 0);
        for (record, verdict) in records.iter().zip(verdicts) {
            match verdict {
                Appended::Duplicate => duplicates += 1,
                Appended::Refused { .. } => refused += 1,
                Appended::Booked => {
                    booked += 1;
                    if let Record::Step(step) = record {
                        self.call(step);
                    }
                }
            }
        }
        self.refused(refused);
        for (verdict, count) in [("booked", booked), ("duplicate", duplicates)] {
            if count > 0 {
                self.records.get_or_create(&VerdictLabels { verdict }).inc_by(count);
            }
        }
    }

    fn call(&self, step: &Step) {
        let (StepType::ToolResponse, Some(duration)) = (step.step_type, step.duration_us) else { return };
        // Without a server it is a tool of the host's own, which no MCP operation stands behind.
        if step.server.is_none() {
            return;
        }
        let labels = CallLabels {
            mcp_method_name: "tools/call",
            gen_ai_tool_name: self.tool(step.tool.as_deref().unwrap_or(&step.tool_name)),
            error_type: error_type(step).unwrap_or_default(),
        };
        self.calls.get_or_create(&labels).observe(Duration::from_micros(duration).as_secs_f64());
    }

    fn tool(&self, name: &str) -> String {
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if tools.contains(name) {
            return name.to_owned();
        }
        if tools.len() >= TOOLS {
            return "other".to_owned();
        }
        tools.insert(name.to_owned());
        name.to_owned()
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            tracing::error!("the metrics cannot be written");
        }
        text
    }
}

/// `GET /metrics`.
pub(crate) async fn show(
    axum::extract::State(state): axum::extract::State<State>,
) -> Result<Response, Problem> {
    if let Some(telemetry) = &state.telemetry {
        state.metrics.telemetry_dropped(telemetry.take_dropped());
    }
    state.metrics.waiting.set(i64::try_from(state.work.waiting()).unwrap_or(i64::MAX));
    let mut response = Response::new(state.metrics.text().into());
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
