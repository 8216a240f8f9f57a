//! The routes of replay: work for proxies, and the delivery of a plan's results.

use super::{ANSWER, Problem, Server};
use crate::core::{Reply, Seated, Work};
use crate::projects::Who;
use crate::work::{Registry, Reported, Seat};
use bir_model::control::{ScenarioAnswer, ScenarioHello, ScenarioRun, WorkAnswer, WorkPoll, WorkReport};
use serde::Serialize;
use std::path::Path;
use tokio::sync::oneshot;

impl Server {
    /// A proxy asks for work. The answer is held back until there is some.
    pub(super) async fn poll(&self, poll: WorkPoll, who: Who) -> Reply {
        let Seated { seat, cwd, is_out } = self.seated(&poll.proxy_id, who).await?;
        if is_out || !self.desk.is_on(&cwd) {
            return json(&WorkAnswer::default());
        }
        json(&self.desk.poll(&seat, &poll).await)
    }

    /// A proxy reports how an order ended.
    pub(super) async fn result(&self, report: WorkReport, who: Who) -> Reply {
        // Only who may speak for that proxy says how its orders ended. Whether it is on any more makes no difference.
        self.seated(&report.proxy_id, who).await?;
        match self.desk.report(report) {
            Reported::Taken => Ok(b"{}".to_vec()),
            Reported::TooLate => Err(Problem::UnknownWork),
        }
    }

    /// Somebody delivers results in a project.
    pub(super) fn hello(&self, hello: &ScenarioHello, who: &Who) -> Reply {
        let Who::Project(project) = who else { return Err(Problem::ForeignDirectory) };
        self.desk.hello(project, hello);
        Ok(b"{}".to_vec())
    }

    /// The model has called `run_scenario`. Nothing arms a plan yet, so none is armed.
    pub(super) fn run(&self, run: &ScenarioRun, who: &Who) -> Reply {
        let Who::Project(_) = who else { return Err(Problem::ForeignDirectory) };
        let named = if run.tool_use_id.is_some() { "a call that is named" } else { "a call without an id" };
        self.log.info(&format!("replay: run_scenario, {named}: no plan is armed"));
        json(&ScenarioAnswer::no_plan())
    }

    async fn seated(&self, proxy_id: &str, who: Who) -> Result<Seated, Problem> {
        let (reply, answer) = oneshot::channel();
        let work = Work::Seat { proxy_id: proxy_id.to_owned(), who, reply };
        self.core.try_send(work).map_err(|_| Problem::Unavailable)?;
        match tokio::time::timeout(ANSWER, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => Err(Problem::Unavailable),
        }
    }
}

impl Registry for Server {
    async fn seats(&self, project: &Path) -> Option<(Vec<Seat>, Vec<String>)> {
        let (reply, answer) = oneshot::channel();
        self.core.try_send(Work::Seats { project: project.to_path_buf(), reply }).ok()?;
        tokio::time::timeout(ANSWER, answer).await.ok()?.ok()
    }
}

fn json(answer: &impl Serialize) -> Reply {
    serde_json::to_vec(answer).map_err(|_| Problem::Internal)
}
