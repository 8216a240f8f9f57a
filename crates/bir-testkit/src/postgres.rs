//! A private PostgreSQL for tests: from `BIR_TEST_POSTGRES_URL` (a superuser's URL), else a cluster made of the installed
//! binaries in a directory of its own, which ends with the value.
//!
//! When there is neither, [`Postgres::start`] gives `None`, says so on stderr, and adds a line to the file that
//! `BIR_TEST_SKIPS` names.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a new cluster may take; machines are slow at times.
const START: Duration = Duration::from_secs(120);
/// How long it may take to end before it is killed.
const END: Duration = Duration::from_secs(20);
/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// A running PostgreSQL.
#[derive(Debug)]
pub struct Postgres {
    url: String,
    cluster: Option<Cluster>,
}

#[derive(Debug)]
struct Cluster {
    server: Child,
    _dir: tempfile::TempDir,
}

impl Postgres {
    /// Starts one, or takes the one that is named. None: skipped, and said so for `test`.
    #[must_use]
    pub fn start(test: &str) -> Option<Self> {
        if let Ok(url) = std::env::var("BIR_TEST_POSTGRES_URL")
            && !url.is_empty()
        {
            return Some(Self { url, cluster: None });
        }
        let started = binaries()
            .ok_or_else(|| "no PostgreSQL binaries are installed".to_owned())
            .and_then(|bin| private(&bin));
        match started {
            Ok(postgres) => Some(postgres),
            Err(why) => {
                skip(test, &why);
                None
            }
        }
    }

    /// A superuser's URL of the database `postgres`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The superuser's URL of another database.
    #[must_use]
    pub fn url_in(&self, database: &str) -> String {
        let (url, query) = self.url.split_once('?').map_or((self.url.as_str(), None), |(u, q)| (u, Some(q)));
        let after_scheme = url.find("://").map_or(0, |at| at + 3);
        let server = url[after_scheme..].find('/').map_or(url, |at| &url[..after_scheme + at]);
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{server}/{database}{query}")
    }

    /// The URL with another role and database.
    #[must_use]
    pub fn url_of(&self, role: &str, password: &str, database: &str) -> String {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        let (host, query) = host.split_once('?').map_or((host, ""), |(host, query)| (host, query));
        let host = host.split('/').next().unwrap_or_default();
        let query = if query.is_empty() { String::new() } else { format!("?{query}") };
        format!("postgres://{role}:{password}@{host}/{database}{query}")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let Some(cluster) = &mut self.cluster else { return };
        let pid = cluster.server.id();
        // SIGINT is PostgreSQL's fast shutdown.
        let _ = crate::procs::send(pid, rustix::process::Signal::INT);
        let deadline = Instant::now() + END;
        while Instant::now() < deadline {
            if matches!(cluster.server.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(LOOK);
        }
        let _ = cluster.server.kill();
        let _ = cluster.server.wait();
    }
}

/// Says that a test was skipped, where people and a report find it.
pub fn skip(test: &str, why: &str) {
    let line = format!("skipped: {test}: {why}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(file) = std::env::var_os("BIR_TEST_SKIPS") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// The newest installed version's directory.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.flatten().map(|entry| entry.path()).max_by_key(|path| number(path))?;
    Some(newest.join("bin")).filter(|bin| bin.join("initdb").exists() && bin.join("postgres").exists())
}

/// PostgreSQL does not run as root: then everything is done as the user `postgres`.
fn command(program: &Path) -> Command {
    if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL", "--"])
            .arg(program);
        command
    } else {
        Command::new(program)
    }
}

fn private(bin: &Path) -> Result<Postgres, String> {
    let dir = tempfile::Builder::new().prefix("bir-pg-").tempdir_in("/tmp").map_err(|e| e.to_string())?;
    let run = |command: &mut Command| {
        let output = command.stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
        if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    };
    if rustix::process::geteuid().is_root() {
        run(Command::new("chown").arg("postgres").arg(dir.path()))?;
    }
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700))
        .map_err(|e| e.to_string())?;
    let data = dir.path().join("data");
    let args = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"];
    run(command(&bin.join("initdb")).args(args).arg("-D").arg(&data).current_dir(dir.path()))?;
    // Taken and given back: another process may take it in between, and then the start below says so.
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    let port = free.map_err(|e| e.to_string())?.port().to_string();
    let mut server = command(&bin.join("postgres"));
    server.arg("-D").arg(&data).arg("-k").arg(dir.path()).args(["-p", &port]);
    for setting in ["listen_addresses=127.0.0.1", "fsync=off", "max_connections=100", "logging_collector=off"]
    {
        server.args(["-c", setting]);
    }
    let server = server
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    let server = server.spawn().map_err(|e| e.to_string())?;
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable");
    let mut postgres = Postgres { url, cluster: Some(Cluster { server, _dir: dir }) };
    let deadline = Instant::now() + START;
    loop {
        let mut ask = command(&bin.join("pg_isready"));
        ask.args(["-q", "-h", "127.0.0.1", "-p", &port]).stdin(Stdio::null());
        if ask.status().is_ok_and(|status| status.success()) {
            return Ok(postgres);
        }
        let ended = postgres.cluster.as_mut().and_then(|cluster| cluster.server.try_wait().ok().flatten());
        if ended.is_some() || Instant::now() >= deadline {
            return Err("the private cluster did not start".to_owned());
        }
        std::thread::sleep(LOOK);
    }
}
