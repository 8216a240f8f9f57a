//! The people of a tenant.

use crate::auth::login::EMAIL;
use crate::auth::shown;
use crate::body;
use crate::guard::Caller;
use crate::json;
use crate::password::LENGTH;
use crate::problem::{Code, Problem};
use crate::state::State;
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use bir_model::UserId;
use bir_store::model::{Account, NewUser, Role, UserChange};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

/// Bytes of a name.
const NAME: usize = 200;

/// Whether a text can be an e-mail address; whether it is one, only a mail can tell.
#[must_use]
pub(crate) fn is_email(text: &str) -> bool {
    let parts = text.split_once('@');
    text.len() <= EMAIL
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
        && parts
            .is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'))
}

fn name(text: &str) -> Result<String, Problem> {
    let text = text.trim();
    if text.is_empty() || text.len() > NAME || text.contains(char::is_control) {
        return Err(Problem::new(Code::Invalid, "`name`: expected 1 to 200 bytes of text"));
    }
    Ok(text.to_owned())
}

async fn password(state: &State, text: Option<String>) -> Result<Option<String>, Problem> {
    match text {
        None => Ok(None),
        Some(text) if LENGTH.contains(&text.len()) => state.passwords.hash(text).await.map(Some),
        Some(_) => Err(Problem::new(Code::Invalid, "`password`: expected 8 to 1024 bytes")),
    }
}

/// `GET /people`.
pub(crate) async fn list(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
) -> Result<Response, Problem> {
    let people = state.store.users(caller.principal.account.tenant).await?;
    json::ok(&json!({"people": people.iter().map(shown).collect::<Vec<Value>>()}))
}

#[derive(Deserialize)]
struct Wanted {
    email: String,
    name: Option<String>,
    #[serde(default)]
    role: Option<Role>,
    #[serde(default)]
    password: Option<String>,
}

/// `POST /people`.
pub(crate) async fn add(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let wanted: Wanted = json::parse(&bytes)?;
    let email = wanted.email.trim().to_owned();
    if !is_email(&email) {
        return Err(Problem::new(Code::Invalid, "`email`: expected an e-mail address"));
    }
    let new = NewUser {
        name: name(wanted.name.as_deref().unwrap_or(&email))?,
        email,
        role: wanted.role.unwrap_or(Role::Member),
        password_hash: password(&state, wanted.password).await?,
    };
    let tenant = caller.principal.account.tenant;
    let id = state.store.add_user(tenant, new).await?;
    let account = state.store.user(tenant, id).await?.ok_or_else(|| Problem::not_found("person"))?;
    tracing::info!(person = %id, by = %caller.principal.account.id, "a person was added");
    json::answer(StatusCode::CREATED, &shown(&account))
}

#[derive(Deserialize)]
struct Change {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    role: Option<Role>,
    #[serde(default)]
    password: Option<String>,
    #[serde(default)]
    disabled: Option<bool>,
}

/// Somebody must be left who can undo it.
async fn keep_an_admin(state: &State, person: &Account) -> Result<(), Problem> {
    if person.role != Role::Admin || person.disabled {
        return Ok(());
    }
    let others = state.store.users(person.tenant).await?;
    if others.iter().any(|u| u.id != person.id && u.role == Role::Admin && !u.disabled) {
        return Ok(());
    }
    Err(Problem::new(Code::Conflict, "this is the last admin; make somebody else one first"))
}

async fn person(state: &State, caller: &Caller, id: &str) -> Result<Account, Problem> {
    let id: UserId = id.parse().map_err(|_| Problem::not_found("person"))?;
    let found = state.store.user(caller.principal.account.tenant, id).await?;
    found.ok_or_else(|| Problem::not_found("person"))
}

/// `PATCH /people/:id`.
pub(crate) async fn change(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let wanted: Change = json::parse(&bytes)?;
    let account = person(&state, &caller, &id).await?;
    if wanted.role.is_some_and(|r| r != Role::Admin) || wanted.disabled == Some(true) {
        keep_an_admin(&state, &account).await?;
    }
    let change = UserChange {
        name: wanted.name.as_deref().map(name).transpose()?,
        role: wanted.role,
        password_hash: password(&state, wanted.password).await?,
        disabled: wanted.disabled,
    };
    if !state.store.change_user(account.tenant, account.id, change).await? {
        return Err(Problem::not_found("person"));
    }
    state.principals.forget();
    let account = person(&state, &caller, &id).await?;
    tracing::info!(person = %account.id, by = %caller.principal.account.id, "a person was changed");
    json::ok(&shown(&account))
}

/// `DELETE /people/:id`: with their tokens, sessions and runs.
pub(crate) async fn remove(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let account = person(&state, &caller, &id).await?;
    keep_an_admin(&state, &account).await?;
    if !state.store.delete_user(account.tenant, account.id).await? {
        return Err(Problem::not_found("person"));
    }
    state.principals.forget();
    tracing::info!(person = %account.id, by = %caller.principal.account.id, "a person was deleted");
    Ok(StatusCode::NO_CONTENT.into_response())
}
