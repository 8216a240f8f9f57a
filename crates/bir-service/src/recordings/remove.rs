//! Deleting runs: one, a project's, a person's.

use super::run_id;
use crate::access::Reach;
use crate::guard::Caller;
use crate::json;
use crate::problem::{Code, Problem};
use crate::query::Params;
use crate::state::State;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use bir_model::UserId;
use http::{StatusCode, Uri};

/// `DELETE /recordings/runs/:id`.
pub(crate) async fn one(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    if state.store.delete_run(&caller.view(), run_id(&id)?).await? {
        tracing::info!(run = id, user = %caller.principal.account.id, "a run was deleted");
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Err(Problem::not_found("run"))
}

/// `DELETE /recordings/runs?project=…` and `?user=…`. Without either it deletes nothing.
pub(crate) async fn many(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let mut params = Params::of(&uri)?;
    let (project, user) = (params.text("project"), params.text("user"));
    params.end()?;
    let deleted = match (project, user) {
        (Some(project), None) => state.store.delete_project(&caller.view(), &project).await?,
        (None, Some(user)) => {
            let user: UserId = user
                .parse()
                .map_err(|_| Problem::new(Code::BadType, "`user`: expected an id of a person"))?;
            if user != caller.principal.account.id && caller.reach != Reach::Tenant {
                return Err(Problem::new(Code::Forbidden, "only an admin deletes what others recorded"));
            }
            if state.store.user(caller.principal.account.tenant, user).await?.is_none() {
                return Err(Problem::not_found("person"));
            }
            state.store.delete_recordings_of(&caller.view(), user).await?
        }
        _ => return Err(Problem::new(Code::BadType, "expected either `project` or `user`")),
    };
    tracing::info!(runs = deleted.runs, user = %caller.principal.account.id, "runs were deleted");
    json::ok(&deleted)
}
