//! `bir-hub user …`: the first people of a team's hub, and whoever forgot a password.

use crate::args::{Role as RoleArg, User};
use crate::config::store_of;
use crate::fault::Fault;
use crate::store;
use bir_model::TenantId;
use bir_service::password;
use bir_store::Store;
use bir_store::model::{Account, NewUser, Role, UserChange};
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::sync::Arc;

/// Memory of a password's hash in KiB.
const HASH_KIB: u32 = 19 * 1024;

fn say(line: &str) -> Result<(), Fault> {
    writeln!(std::io::stdout(), "{line}").map_err(|e| Fault::new(format!("cannot write: {e}")))
}

fn role(role: RoleArg) -> Role {
    match role {
        RoleArg::Member => Role::Member,
        RoleArg::Admin => Role::Admin,
        RoleArg::Auditor => Role::Auditor,
        RoleArg::Operator => Role::Operator,
    }
}

/// From the terminal, twice and without echo; else the first line of stdin.
fn ask_password() -> Result<String, Fault> {
    let failed = |e: std::io::Error| Fault::new(format!("the password cannot be read: {e}"));
    let password = if std::io::stdin().is_terminal() {
        let first = rpassword::prompt_password("Password: ").map_err(failed)?;
        if rpassword::prompt_password("Again: ").map_err(failed)? != first {
            return Err(Fault::new("the two passwords differ"));
        }
        first
    } else {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map_err(failed)?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    };
    if !password::LENGTH.contains(&password.len()) {
        return Err(Fault::new("the password has 8 to 1024 bytes"));
    }
    Ok(password)
}

fn hash(password: &str) -> Result<String, Fault> {
    password::hash_now(password, HASH_KIB).map_err(|e| Fault::new(e.to_string()))
}

async fn tenant(store: &dyn Store, name: Option<String>) -> Result<TenantId, Fault> {
    let tenants = store.tenants().await?;
    let found = match (&name, tenants.as_slice()) {
        (None, [only]) => Some(only.id),
        (None, []) => None,
        (None, _) => return Err(Fault::usage("there are several tenants; name one with --tenant")),
        (Some(name), all) => all.iter().find(|t| t.name == *name).map(|t| t.id),
    };
    match found {
        Some(id) => Ok(id),
        None => Ok(store.add_tenant(name.as_deref().unwrap_or("team")).await?),
    }
}

async fn add(
    store: &dyn Store,
    email: String,
    name: Option<String>,
    role: Role,
    at: Option<String>,
) -> Result<(), Fault> {
    let email = email.trim().to_owned();
    let parts = email.split_once('@');
    if email.len() > 254
        || parts.is_none_or(|(a, b)| a.is_empty() || b.is_empty())
        || email.contains(char::is_whitespace)
    {
        return Err(Fault::usage("--email: expected an e-mail address"));
    }
    if store.account(&email).await?.is_some() {
        return Err(Fault::new(format!("a person with the address {email} exists already")));
    }
    let password = ask_password()?;
    let tenant = tenant(store, at).await?;
    let name = name.unwrap_or_else(|| email.clone());
    let password_hash = Some(hash(&password)?);
    let id = store.add_user(tenant, NewUser { email: email.clone(), name, role, password_hash }).await?;
    say(&format!("added {email} ({id})"))
}

fn word(role: Role) -> &'static str {
    match role {
        Role::Member => "member",
        Role::Admin => "admin",
        Role::Auditor => "auditor",
        Role::Operator => "operator",
    }
}

async fn list(store: &dyn Store, json: bool) -> Result<(), Fault> {
    let mut rows: Vec<(String, Account)> = Vec::new();
    for tenant in store.tenants().await? {
        rows.extend(store.users(tenant.id).await?.into_iter().map(|person| (tenant.name.clone(), person)));
    }
    if json {
        let people: Vec<_> = rows
            .iter()
            .map(|(tenant, p)| {
                serde_json::json!({"id": p.id, "tenant": tenant, "email": p.email, "name": p.name, "role": p.role,
                    "disabled": p.disabled, "createdAt": p.created_at})
            })
            .collect();
        return say(&serde_json::Value::from(people).to_string());
    }
    let width = |f: &dyn Fn(&(String, Account)) -> usize| rows.iter().map(f).max().unwrap_or(0);
    let (emails, tenants) = (width(&|r| r.1.email.chars().count()), width(&|r| r.0.chars().count()));
    for (tenant, person) in &rows {
        let off = if person.disabled { "  disabled" } else { "" };
        say(&format!(
            "{:emails$}  {:8}  {tenant:tenants$}  {}{off}",
            person.email,
            word(person.role),
            person.name
        ))?;
    }
    Ok(())
}

async fn set_password(store: &dyn Store, email: &str) -> Result<(), Fault> {
    let account = store.account(email.trim()).await?;
    let account = account.ok_or_else(|| Fault::new(format!("there is nobody with the address {email}")))?;
    let password_hash = Some(hash(&ask_password()?)?);
    let change = UserChange { password_hash, ..UserChange::default() };
    store.change_user(account.tenant, account.id, change).await?;
    say(&format!("the password of {} is set", account.email))
}

/// Does it.
pub(crate) async fn user(what: User) -> Result<(), Fault> {
    let address = match &what {
        User::Add { store, .. } | User::List { store, .. } | User::SetPassword { store, .. } => {
            store_of(store.clone())?
        }
    };
    // Who only looks or changes makes no store: a slip in the path would leave an empty one.
    let store: Arc<dyn Store> = match &what {
        User::Add { .. } => store::open(&address).await?,
        User::List { .. } | User::SetPassword { .. } => store::open_existing(&address).await?,
    };
    let done = match what {
        User::Add { email, name, role: wanted, tenant, .. } => {
            add(&*store, email, name, role(wanted), tenant).await
        }
        User::List { json, .. } => list(&*store, json).await,
        User::SetPassword { email, .. } => set_password(&*store, &email).await,
    };
    store.close().await;
    done
}
