//! Which projects are set up, and what the control server says that serves them.

use bir_control_client::{BUDGET, Contact, Control, ControlError, Discovery, Token, projects};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tokio::task::JoinSet;

/// A project that is set up.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    /// Its directory; `/` is everywhere.
    pub(crate) dir: PathBuf,
    /// Where a control server said that it is.
    pub(crate) contact: Option<Contact>,
    pub(crate) served: Served,
}

/// Whether a control server serves it.
#[derive(Debug, Clone)]
pub(crate) enum Served {
    /// None says so.
    No,
    /// One said so, and does not answer now, and why.
    Silent(String),
    /// It answers.
    By(Box<Health>),
}

/// What a control server tells of itself. What it leaves out is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) api_version: Option<u64>,
    pub(crate) version: Option<String>,
    pub(crate) pid: Option<u32>,
    /// ms since the Unix epoch.
    pub(crate) started_at: Option<u64>,
    /// It takes everything and keeps nothing, since it is not clear what may be kept.
    pub(crate) keeps_nothing: bool,
    pub(crate) sessions: Vec<Session>,
    pub(crate) proxies: Vec<Proxy>,
    /// Calls over MCP that no proxy saw, by server.
    pub(crate) bypassed: BTreeMap<String, u64>,
}

/// A session that is open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Session {
    pub(crate) host: String,
    pub(crate) id: String,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) run: Option<String>,
}

/// A proxy that reports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Proxy {
    pub(crate) server: String,
    pub(crate) pid: Option<u32>,
    pub(crate) session: Option<String>,
}

impl Health {
    /// Reads an answer. Members that are missing, or are something else than expected, cost only themselves.
    fn read(answer: &Map<String, Value>) -> Self {
        Self {
            api_version: member(answer, "apiVersion"),
            version: member(answer, "version"),
            pid: member(answer, "pid"),
            started_at: member(answer, "startedAt"),
            keeps_nothing: answer.get("status").is_some_and(|status| status == "not_recording"),
            sessions: list(answer, "sessions", session),
            proxies: list(answer, "proxies", proxy),
            bypassed: answer
                .get("bypassed")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .filter_map(|(server, calls)| Some((server.clone(), calls.as_u64().filter(|n| *n > 0)?)))
                .collect(),
        }
    }
}

fn member<T: DeserializeOwned>(of: &Map<String, Value>, name: &str) -> Option<T> {
    T::deserialize(of.get(name)?).ok()
}

fn list<T>(of: &Map<String, Value>, name: &str, read: fn(&Map<String, Value>) -> Option<T>) -> Vec<T> {
    let items = of.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| read(item.as_object()?)).collect()
}

fn session(of: &Map<String, Value>) -> Option<Session> {
    let host = of.get("host").map(|host| host.get("app").unwrap_or(host));
    Some(Session {
        host: host.and_then(Value::as_str).unwrap_or("a host").to_owned(),
        id: member(of, "sessionId")?,
        cwd: member(of, "cwd"),
        run: member(of, "run"),
    })
}

fn proxy(of: &Map<String, Value>) -> Option<Proxy> {
    Some(Proxy { server: member(of, "server")?, pid: member(of, "pid"), session: member(of, "sessionId") })
}

/// Looks at every project at once; takes as long as the slowest answer, [`BUDGET`] at most.
pub(crate) async fn look(state_dir: &Path) -> Vec<Project> {
    let mut asked = JoinSet::new();
    for (order, (_, found)) in projects::list(state_dir).into_iter().enumerate() {
        let Some(dir) = found.project.clone() else { continue };
        let contact = contact(found);
        asked.spawn(async move {
            let served = match &contact {
                None => Served::No,
                Some(contact) => match health(contact).await {
                    Ok(health) => Served::By(Box::new(health)),
                    Err(e) => Served::Silent(e.to_string()),
                },
            };
            (order, Project { dir, contact, served })
        });
    }
    let mut all = asked.join_all().await;
    all.sort_by_key(|(order, _)| *order);
    all.into_iter().map(|(_, project)| project).collect()
}

/// Where a discovery file says that a control server is.
pub(crate) fn contact(said: Discovery) -> Option<Contact> {
    let (url, token) = (said.url?, said.token.filter(|token| !token.is_empty())?);
    Some(Contact { url, token: Token::new(token), pid: said.pid, file: None })
}

/// What the control server of a contact says of itself.
pub(crate) async fn health(contact: &Contact) -> Result<Health, ControlError> {
    let answer: Map<String, Value> = Control::new(contact)?.get("/health", BUDGET).await?;
    Ok(Health { pid: member(&answer, "pid").or(contact.pid), ..Health::read(&answer) })
}

/// The control servers that answer, each once. There is one, but for the moments of a change.
pub(crate) fn servers(projects: &[Project]) -> Vec<(&Contact, &Health)> {
    let mut servers: Vec<(&Contact, &Health)> = Vec::new();
    for project in projects {
        if let (Some(contact), Served::By(health)) = (&project.contact, &project.served)
            && servers.iter().all(|(known, _)| known.url != contact.url)
        {
            servers.push((contact, health));
        }
    }
    servers
}

/// The open sessions of all projects, each once.
pub(crate) fn sessions(projects: &[Project]) -> Vec<&Session> {
    once(projects, |health| &health.sessions)
}

/// The proxies of all projects, each once.
pub(crate) fn proxies(projects: &[Project]) -> Vec<&Proxy> {
    once(projects, |health| &health.proxies)
}

fn once<T: Ord>(projects: &[Project], of: fn(&Health) -> &Vec<T>) -> Vec<&T> {
    let healths = projects.iter().filter_map(|project| match &project.served {
        Served::By(health) => Some(of(health)),
        _ => None,
    });
    let mut all: Vec<&T> = healths.flatten().collect();
    all.sort();
    all.dedup();
    all
}

/// Calls that no proxy saw, by server. What is told to a project covers those in it, so these are not asked.
pub(crate) fn bypassed(projects: &[Project]) -> BTreeMap<&str, u64> {
    let told = |project: &Project| matches!(project.served, Served::By(_));
    let covered = |dir: &Path| projects.iter().any(|p| told(p) && p.dir != dir && dir.starts_with(&p.dir));
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for project in projects.iter().filter(|project| !covered(&project.dir)) {
        if let Served::By(health) = &project.served {
            for (server, calls) in &health.bypassed {
                let known = all.entry(server).or_default();
                *known = known.saturating_add(*calls);
            }
        }
    }
    all
}

/// The open sessions of one project: those that work in it and in no project further down.
pub(crate) fn sessions_of<'a>(projects: &'a [Project], dir: &Path) -> Vec<&'a Session> {
    let nearest = |cwd: &Path| {
        let above = projects.iter().filter(|project| cwd.starts_with(&project.dir));
        above.max_by_key(|project| project.dir.components().count()).map(|project| project.dir.as_path())
    };
    let all = sessions(projects).into_iter();
    all.filter(|session| session.cwd.as_deref().and_then(nearest) == Some(dir)).collect()
}

#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    /// A project that a control server serves, with what it answers.
    pub(crate) fn served(dir: &str, answer: Value) -> Project {
        let contact = Contact {
            url: "http://127.0.0.1:1".into(),
            token: Token::new("t".into()),
            pid: Some(7),
            file: None,
        };
        let health = Health::read(answer.as_object().unwrap());
        Project { dir: dir.into(), contact: Some(contact), served: Served::By(Box::new(health)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_read_as_far_as_it_goes() {
        let read = |answer: Value| Health::read(answer.as_object().unwrap());
        assert_eq!(read(json!({})), Health::default());
        let odd = json!({"apiVersion": "1", "version": 7, "pid": -1, "startedAt": null, "sessions": {}, "bypassed": [],
            "proxies": [1, {}, {"server": "s"}]});
        let proxy = Proxy { server: "s".into(), pid: None, session: None };
        assert_eq!(read(odd), Health { proxies: vec![proxy], ..Health::default() });
        let whole = read(json!({"apiVersion": 1, "version": "0.1", "pid": 7, "startedAt": 5,
            "sessions": [{"host": {"app": "codex"}, "sessionId": "s", "cwd": "/p", "run": "run_1"}],
            "bypassed": {"github": 3, "fs": 0}}));
        assert_eq!(
            (whole.sessions[0].host.as_str(), whole.sessions[0].cwd.as_deref()),
            ("codex", Some(Path::new("/p")))
        );
        assert_eq!(whole.bypassed, [("github".to_owned(), 3)].into());
    }

    #[test]
    fn a_session_belongs_to_the_nearest_project_and_is_there_once() {
        let told = json!({"sessions": [
            {"host": "claude-code", "sessionId": "a", "cwd": "/p"}, {"host": "claude-code", "sessionId": "b", "cwd": "/p/q/r"},
            {"host": "codex", "sessionId": "c"}], "bypassed": {"s": 2}});
        let all = [samples::served("/p", told.clone()), samples::served("/p/q", told.clone())];
        let ids = |list: Vec<&Session>| list.iter().map(|s| s.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(sessions(&all)), ["a", "b", "c"]);
        assert_eq!(ids(sessions_of(&all, Path::new("/p"))), ["a"]);
        assert_eq!(ids(sessions_of(&all, Path::new("/p/q"))), ["b"]);
        assert_eq!(bypassed(&all), [("s", 2)].into());
        assert_eq!(
            bypassed(&[samples::served("/p", told.clone()), samples::served("/pp", told)]),
            [("s", 4)].into()
        );
        assert_eq!(servers(&all).len(), 1);
    }
}
