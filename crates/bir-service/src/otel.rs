//! Recorded calls as OpenTelemetry spans and measurements, for who has a collector.
//!
//! ```text
//! booked records ─▶ try_send ─▶ queue (2,048) ─▶ task: 512 spans or 2 s ─▶ OTLP over HTTP
//!                       │ full: dropped, counted
//! ```
//!
//! Times come from the records, so a run that is shipped a day later has the times of that day. Identities come from them
//! too: the trace id is the run's UUID, a span's id is of its row's UUID, so a record that is exported again is the same span.
//! Names and buckets are those of the semantic conventions for MCP (`tools/call {tool}`, kind CLIENT). Nothing here waits for
//! a collector, and without `OTEL_EXPORTER_OTLP_ENDPOINT` nothing here exists.

use crate::metrics::{MCP_BUCKETS, error_type, rpc_code};
use bir_model::RunId;
use bir_model::record::{Record, Step, StepType};
use bir_net::{Client, ClientOptions, Proxies, RequestBody, Target};
use bir_store::Store;
use bir_store::model::{Appended, RunDetail, View};
use bytes::Bytes;
use opentelemetry::metrics::{Histogram, MeterProvider as _};
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{
    MetricExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter as _, SpanLinks};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use uuid::Uuid;

/// Spans that wait for the collector.
const QUEUE: usize = 2_048;
/// Spans of one request to the collector.
const BATCH: usize = 512;
/// A smaller batch waits so long for more.
const WAIT: Duration = Duration::from_secs(2);
/// The collector has so long to take a batch.
const EXPORT: Duration = Duration::from_secs(10);
/// Measurements are sent this often.
const METRICS_EVERY: Duration = Duration::from_secs(30);
/// Bytes of a collector's answer that are looked at.
const ANSWER: usize = 64 << 10;

/// Telemetry cannot begin.
#[derive(Debug, thiserror::Error)]
#[error("OpenTelemetry cannot begin: {0}")]
pub struct TelemetryError(String);

/// The way of the exporters onto the network: our own client, on the service's runtime, whatever thread they run on.
#[derive(Clone)]
struct Http {
    client: Client,
    runtime: Handle,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Http")
    }
}

type HttpError = Box<dyn std::error::Error + Send + Sync + 'static>;

async fn send(client: Client, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, HttpError> {
    let (parts, body) = request.into_parts();
    let target = Target::parse(&parts.uri.to_string())?;
    let mut out = bir_net::Request::new(parts.method, target);
    out.headers = parts.headers;
    out.body = RequestBody::whole(body);
    let response = client.request(out).await?;
    let status = response.status();
    let body = response.head_of_body(ANSWER).await?;
    Ok(http::Response::builder().status(status).body(body.into())?)
}

#[async_trait::async_trait]
impl opentelemetry_http::HttpClient for Http {
    async fn send_bytes(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, HttpError> {
        let (done, answer) = oneshot::channel();
        let client = self.client.clone();
        self.runtime.spawn(async move {
            let sent = timeout(EXPORT, send(client, request)).await;
            // Whoever asked may have given up.
            let _ = done.send(sent.unwrap_or_else(|_| Err("the collector does not answer".into())));
        });
        answer.await?
    }
}

/// The way to the collector.
#[derive(Debug)]
pub struct Telemetry {
    spans: mpsc::Sender<SpanData>,
    dropped: Arc<AtomicU64>,
    durations: Histogram<f64>,
    meters: SdkMeterProvider,
    scope: InstrumentationScope,
    end: std::sync::Mutex<Option<oneshot::Sender<()>>>,
    task: tokio::sync::Mutex<Option<tokio::task::JoinHandle<()>>>,
}

fn time(ms: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(ms)
}

/// The last eight bytes hold the random part.
fn span_id(uuid: Uuid) -> SpanId {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&uuid.as_bytes()[8..]);
    SpanId::from_bytes(bytes)
}

fn context(run: RunId, span: SpanId) -> SpanContext {
    let trace = TraceId::from_bytes(*run.uuid().as_bytes());
    SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::default())
}

impl Telemetry {
    /// Begins where the environment names a collector (`OTEL_EXPORTER_OTLP_ENDPOINT`). Must be called inside the runtime.
    ///
    /// # Errors
    /// The environment names one, and it makes no sense.
    pub fn from_env(version: &str) -> Result<Option<Self>, TelemetryError> {
        let named = |name: &str| std::env::var(name).is_ok_and(|v| !v.trim().is_empty());
        if !named("OTEL_EXPORTER_OTLP_ENDPOINT")
            || std::env::var("OTEL_SDK_DISABLED").is_ok_and(|v| v == "true")
        {
            return Ok(None);
        }
        let json = !std::env::var("OTEL_EXPORTER_OTLP_PROTOCOL").is_ok_and(|p| p == "http/protobuf");
        Self::begin(None, json, version).map(Some)
    }

    /// Begins with a collector's address (None: from the environment).
    ///
    /// # Errors
    /// The address makes no sense.
    pub fn begin(endpoint: Option<&str>, json: bool, version: &str) -> Result<Self, TelemetryError> {
        let failed = |e: &dyn std::fmt::Display| TelemetryError(e.to_string());
        let runtime = Handle::try_current().map_err(|e| failed(&e))?;
        let client = Client::new(ClientOptions { proxies: Proxies::from_env(), ..ClientOptions::default() });
        let http = Http { client, runtime };
        let protocol = if json { Protocol::HttpJson } else { Protocol::HttpBinary };
        let mut spans =
            SpanExporter::builder().with_http().with_http_client(http.clone()).with_protocol(protocol);
        let mut metrics =
            MetricExporter::builder().with_http().with_http_client(http).with_protocol(protocol);
        if let Some(endpoint) = endpoint {
            let base = endpoint.trim_end_matches('/');
            spans = spans.with_endpoint(format!("{base}/v1/traces"));
            metrics = metrics.with_endpoint(format!("{base}/v1/metrics"));
        }
        let mut exporter = spans.build().map_err(|e| failed(&e))?;
        let metrics = metrics.build().map_err(|e| failed(&e))?;
        let version = version.to_owned();
        let resource = Resource::builder()
            .with_service_name("bir-hub")
            .with_attribute(KeyValue::new("service.version", version.clone()))
            .build();
        exporter.set_resource(&resource);
        let reader = PeriodicReader::builder(metrics).with_interval(METRICS_EVERY).build();
        let meters = SdkMeterProvider::builder().with_reader(reader).with_resource(resource).build();
        let durations = meters
            .meter("bir-hub")
            .f64_histogram("mcp.client.operation.duration")
            .with_unit("s")
            .with_description("Recorded calls, from beginning to end")
            .with_boundaries(MCP_BUCKETS.to_vec())
            .build();
        let scope = InstrumentationScope::builder("bir-hub").with_version(version).build();
        let (spans, queue) = mpsc::channel(QUEUE);
        let (end, ended) = oneshot::channel();
        let dropped = Arc::new(AtomicU64::new(0));
        let task = tokio::spawn(export(exporter, queue, ended, dropped.clone()));
        Ok(Self {
            spans,
            dropped,
            durations,
            meters,
            scope,
            end: std::sync::Mutex::new(Some(end)),
            task: tokio::sync::Mutex::new(Some(task)),
        })
    }

    /// How many spans were dropped since this was last asked.
    pub fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }

    fn push(&self, span: SpanData) {
        if self.spans.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Tells of what was booked.
    pub(crate) async fn booked(
        &self,
        store: &dyn Store,
        who: &View,
        records: &[Record],
        verdicts: &[Appended],
    ) {
        for (record, verdict) in records.iter().zip(verdicts) {
            if *verdict != Appended::Booked {
                continue;
            }
            match record {
                Record::Step(step) if step.step_type == StepType::ToolResponse && step.server.is_some() => {
                    self.call(step);
                }
                Record::Finish(finish) => match store.run(who, finish.run_id).await {
                    Ok(Some(run)) => self.run(&run, finish.at),
                    Ok(None) | Err(_) => {
                        self.dropped.fetch_add(1, Ordering::Relaxed);
                    }
                },
                _ => {}
            }
        }
    }

    fn call(&self, step: &Step) {
        let tool = step.tool.clone().unwrap_or_else(|| step.tool_name.clone());
        let mut attributes = vec![
            KeyValue::new("mcp.method.name", "tools/call"),
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", tool.clone()),
        ];
        let error = error_type(step);
        if let Some(error) = &error {
            attributes.push(KeyValue::new("error.type", error.clone()));
        }
        if let Some(duration) = step.duration_us {
            self.durations.record(Duration::from_micros(duration).as_secs_f64(), &attributes);
        }
        if let Some(code) = rpc_code(step) {
            attributes.push(KeyValue::new("rpc.response.status_code", code.to_string()));
        }
        if let Some(server) = &step.server {
            attributes.push(KeyValue::new("bir.server", server.clone()));
        }
        let end = time(step.at);
        let start = end.checked_sub(Duration::from_micros(step.duration_us.unwrap_or(0))).unwrap_or(end);
        self.push(SpanData {
            span_context: context(step.run_id, span_id(step.id.uuid())),
            parent_span_id: span_id(step.run_id.uuid()),
            parent_span_is_remote: false,
            span_kind: SpanKind::Client,
            name: format!("tools/call {tool}").into(),
            start_time: start,
            end_time: end,
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: error.map_or(Status::Unset, Status::error),
            instrumentation_scope: self.scope.clone(),
        });
    }

    fn run(&self, run: &RunDetail, ended: u64) {
        let run = &run.summary;
        let mut attributes = vec![
            KeyValue::new("bir.run.id", run.id.to_string()),
            KeyValue::new("bir.run.tier", run.tier.as_str()),
            KeyValue::new("bir.run.lossy", run.lossy),
        ];
        if let Some(host) = &run.host {
            attributes.push(KeyValue::new("bir.host", host.app.clone()));
        }
        let start = time(run.started_at);
        self.push(SpanData {
            span_context: context(run.id, span_id(run.id.uuid())),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: "run".into(),
            start_time: start,
            end_time: time(ended).max(start),
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: self.scope.clone(),
        });
    }

    /// Sends what waits, within the budget.
    pub async fn close(&self, budget: Duration) {
        let end = self.end.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(end) = end {
            let _ = end.send(());
        }
        let task = self.task.lock().await.take();
        if let Some(task) = task
            && timeout(budget, task).await.is_err()
        {
            tracing::warn!("the collector did not take the last spans in time");
        }
        let meters = self.meters.clone();
        let last = tokio::task::spawn_blocking(move || meters.shutdown_with_timeout(budget));
        if !matches!(timeout(budget, last).await, Ok(Ok(Ok(())))) {
            tracing::warn!("the collector did not take the last measurements in time");
        }
    }
}

async fn export(
    exporter: SpanExporter,
    mut queue: mpsc::Receiver<SpanData>,
    mut ended: oneshot::Receiver<()>,
    dropped: Arc<AtomicU64>,
) {
    let mut over = false;
    let mut told = false;
    while !over {
        let mut batch = Vec::new();
        tokio::select! {
            got = queue.recv_many(&mut batch, BATCH) => over = got == 0,
            _ = &mut ended => over = true,
        }
        // What came in until now, and while waiting for more of it.
        if !over && batch.len() < BATCH {
            tokio::select! {
                () = fill(&mut queue, &mut batch) => {}
                () = tokio::time::sleep(WAIT) => {}
                _ = &mut ended => over = true,
            }
        }
        loop {
            while over && batch.len() < BATCH {
                let Ok(span) = queue.try_recv() else { break };
                batch.push(span);
            }
            if batch.is_empty() {
                break;
            }
            let count = batch.len() as u64;
            match timeout(EXPORT, exporter.export(std::mem::take(&mut batch))).await {
                Ok(Ok(())) => told = false,
                failed => {
                    dropped.fetch_add(count, Ordering::Relaxed);
                    // Once per outage: a log line per batch would say nothing new.
                    if !std::mem::replace(&mut told, true) {
                        let why =
                            failed.map_or_else(|_| "it does not answer".to_owned(), |r| format!("{r:?}"));
                        tracing::warn!(
                            why,
                            "the collector does not take spans; they are dropped and counted"
                        );
                    }
                }
            }
            if !over {
                break;
            }
        }
    }
}

async fn fill(queue: &mut mpsc::Receiver<SpanData>, batch: &mut Vec<SpanData>) {
    while batch.len() < BATCH {
        match queue.recv().await {
            Some(span) => batch.push(span),
            None => return,
        }
    }
}
