//! Core tasks of 2025-11-25: a tool call with `params.task` runs beside, and is asked for later.
//!
//! Times are fixed and ids are counted, so that two runs of one session give the same bytes.

use std::io;
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::Duration;

use crate::raw;
use crate::serve::call::Call;
use crate::serve::engine::Session;
use crate::serve::outlet::{Body, Outlet};
use crate::step::Chunking;
use crate::sync::{lock, wait_until};

const TIME: &str = "2026-01-01T00:00:00Z";

#[derive(Debug)]
struct Progress {
    status: &'static str,
    /// The whole answer of the call.
    answer: Option<Vec<u8>>,
}

#[derive(Debug)]
struct Task {
    id: String,
    ttl: Vec<u8>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

impl Task {
    fn body(&self) -> String {
        format!(
            "\"taskId\":\"{}\",\"status\":\"{}\",\"createdAt\":\"{TIME}\",\"lastUpdatedAt\":\"{TIME}\",\
             \"ttl\":{},\"pollInterval\":50",
            self.id,
            lock(&self.progress).status,
            String::from_utf8_lossy(&self.ttl)
        )
    }

    /// Sets a final status once; tells whether it was this one.
    fn settle(&self, status: &'static str, answer: Option<Vec<u8>>) -> bool {
        let mut progress = lock(&self.progress);
        if progress.status != "working" {
            return false;
        }
        *progress = Progress { status, answer };
        drop(progress);
        self.changed.notify_all();
        true
    }
}

/// The tasks of one session.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<Vec<Arc<Task>>>);

/// Takes the answer of a call that runs as a task.
struct TaskOutlet {
    task: Arc<Task>,
    session: Weak<Session>,
}

impl Outlet for TaskOutlet {
    fn message(&self, body: Body<'_>, last: bool, cut: &Chunking) -> io::Result<()> {
        let Some(session) = self.session.upgrade() else { return Ok(()) };
        if !last {
            return session.common.message(body, false, cut);
        }
        let mut answer = Vec::new();
        body.write(&mut answer)?;
        let failed = raw::get(&answer, "error").is_some()
            || raw::path(&answer, &["result", "isError"]) == Some(b"true");
        if self.task.settle(if failed { "failed" } else { "completed" }, Some(answer)) {
            return status(&session, &self.task);
        }
        Ok(())
    }

    fn bytes(&self, _: Body<'_>, _: &Chunking) -> io::Result<()> {
        Ok(())
    }
}

fn status(session: &Session, task: &Task) -> io::Result<()> {
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks/status\",\"params\":{{{}}}}}",
        task.body()
    );
    session.common.message(Body::Whole(line.as_bytes()), false, &Chunking::default())
}

impl Tasks {
    /// Makes a task for the call, answers with it, and gives the outlet that its real answer goes to.
    pub(crate) fn begin(&self, call: &Call<'_>) -> Arc<dyn Outlet> {
        let task = {
            let mut tasks = lock(&self.0);
            let ttl = raw::path(call.line, &["params", "task", "ttl"]).unwrap_or(b"null").to_vec();
            let task = Arc::new(Task {
                id: format!("task-{}", tasks.len() + 1),
                ttl,
                progress: Mutex::new(Progress { status: "working", answer: None }),
                changed: Condvar::new(),
            });
            tasks.push(task.clone());
            task
        };
        call.result(format!("{{\"task\":{{{}}}}}", task.body()).as_bytes());
        Arc::new(TaskOutlet { task, session: Arc::downgrade(call.session) })
    }

    /// Answers `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel`.
    pub(crate) fn handle(&self, call: &Call<'_>, method: &str, budget: Duration) {
        if method == "tasks/list" {
            let all: Vec<String> = lock(&self.0).iter().map(|task| format!("{{{}}}", task.body())).collect();
            return call.result(format!("{{\"tasks\":[{}]}}", all.join(",")).as_bytes());
        }
        let id = raw::path(call.line, &["params", "taskId"]).and_then(raw::string).unwrap_or_default();
        let Some(task) = lock(&self.0).iter().find(|task| task.id == id).cloned() else {
            return call.error(b"{\"code\":-32602,\"message\":\"Unknown task\"}");
        };
        match method {
            "tasks/get" => call.result(format!("{{{}}}", task.body()).as_bytes()),
            "tasks/cancel" => {
                if task.settle("cancelled", None) {
                    call.result(format!("{{{}}}", task.body()).as_bytes());
                } else {
                    call.error(b"{\"code\":-32602,\"message\":\"Task is already over\"}");
                }
            }
            _ => {
                wait_until(&task.progress, &task.changed, budget, |progress| progress.status != "working");
                let answer = lock(&task.progress).answer.clone();
                match answer.as_deref().map(|line| (raw::get(line, "result"), raw::get(line, "error"))) {
                    Some((Some(result), _)) => call.result(&related(result, &task.id)),
                    Some((None, Some(error))) => call.error(error),
                    _ => call.error(b"{\"code\":-32603,\"message\":\"Task has no result\"}"),
                }
            }
        }
    }
}

/// The result with the related task in its `_meta`, unless it has a `_meta` of its own.
fn related(result: &[u8], id: &str) -> Vec<u8> {
    if raw::get(result, "_meta").is_some() || !result.starts_with(b"{") {
        return result.to_vec();
    }
    let head = format!("{{\"_meta\":{{\"io.modelcontextprotocol/related-task\":{{\"taskId\":\"{id}\"}}}}");
    let comma = if raw::members(result).is_empty() { "" } else { "," };
    [head.as_bytes(), comma.as_bytes(), &result[1..]].concat()
}
