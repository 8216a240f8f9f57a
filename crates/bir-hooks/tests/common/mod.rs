//! A home with a project that is set up, a control server that answers as it is told, and the program with a stand-in beside it for the
//! control server that it starts.

use bir_control_client::{Discovery, Inbox, projects};
use bir_model::control::{Envelope, HookEvent};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

pub(crate) const TOKEN: &str = "the-token";
/// A secret by its shape and by its name.
pub(crate) const SECRET: &str = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";

/// The program under another name; `bir-hooks` beside it notes how it was called.
///
/// Made once and before any process is started, since a file that some child still holds open for writing cannot be run.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hooks-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (program, stand_in) = (dir.join("hooks-under-test"), dir.join("bir-hooks"));
        for file in [&program, &stand_in] {
            let _ = std::fs::remove_file(file);
        }
        std::fs::hard_link(env!("CARGO_BIN_EXE_bir-hooks"), &program).unwrap();
        let script = "#!/bin/sh\necho \"$@\" >\"$BIR_HOME/revived.tmp\"\nmv \"$BIR_HOME/revived.tmp\" \"$BIR_HOME/revived\"\n";
        std::fs::write(&stand_in, script).unwrap();
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&stand_in, std::fs::Permissions::from_mode(0o700)).unwrap();
        program
    })
}

/// A home directory with one project.
pub(crate) struct Lab {
    pub(crate) home: tempfile::TempDir,
    pub(crate) state: PathBuf,
    pub(crate) project: PathBuf,
}

impl Lab {
    /// Nothing is set up.
    pub(crate) fn new() -> Self {
        program();
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let project = root.join("project");
        std::fs::create_dir(&project).unwrap();
        Self { home, state: root.join("state"), project }
    }

    /// The project is set up, and served at `url` where there is one.
    pub(crate) fn set_up(url: Option<&str>) -> Self {
        let lab = Self::new();
        projects::add(&lab.state, &lab.project).unwrap();
        if let Some(url) = url {
            lab.serve_at(url);
        }
        lab
    }

    pub(crate) fn serve_at(&self, url: &str) {
        write_discovery(&self.state, &self.project, url);
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(args).env_clear().current_dir(&self.project);
        command.env("HOME", self.home.path()).env("BIR_HOME", &self.state).env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a hook of Claude Code; it has to say nothing on stderr and to exit 0.
    pub(crate) fn hook(&self, payload: &str) -> String {
        run(self.command(&["hook", "PreToolUse"]).env("CLAUDECODE", "1"), payload.as_bytes())
    }

    /// A payload of this lab's session.
    pub(crate) fn payload(&self, members: &str) -> String {
        format!(r#"{{"session_id":"s1","cwd":{:?},"prompt_id":"p1",{members}}}"#, self.project)
    }

    /// What waits in the inbox.
    pub(crate) fn inbox(&self) -> Vec<HookEvent> {
        let files = Inbox::new(&self.state).files();
        let read = files.iter().flat_map(|file| Inbox::read(file).unwrap().0);
        read.map(|envelope| match envelope {
            Envelope::Hook(event) => *event,
            Envelope::Proxy { .. } => panic!("a hook is no proxy"),
        })
        .collect()
    }

    /// How the control server was started, once it was.
    pub(crate) fn revived(&self) -> String {
        let (file, begun) = (self.state.join("revived"), Instant::now());
        while !file.exists() {
            assert!(begun.elapsed() < Duration::from_secs(10), "nobody was started");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::fs::read_to_string(file).unwrap()
    }

    /// Whether a start was tried: who tries leaves this file, before anything else.
    pub(crate) fn was_revived(&self) -> bool {
        self.state.join("control/revive.lock").exists()
    }

    /// The files below the state directory that hold a text.
    pub(crate) fn holding(&self, text: &str) -> Vec<PathBuf> {
        let (mut found, mut left) = (Vec::new(), vec![self.state.clone()]);
        while let Some(dir) = left.pop() {
            for path in std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
                if path.is_dir() {
                    left.push(path);
                } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(text) {
                    found.push(path);
                }
            }
        }
        found
    }
}

fn write_discovery(state: &Path, project: &Path, url: &str) {
    let found = Discovery {
        project: Some(project.into()),
        url: Some(url.into()),
        token: Some(TOKEN.into()),
        ..Discovery::default()
    };
    found.write(&projects::file_of(state, project)).unwrap();
}

/// Runs a command with this on its stdin. What it says on stdout; nothing else may be said, and it exits 0.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> String {
    let output = finish(command, input);
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

fn finish(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command.spawn().unwrap();
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input).unwrap();
    }
    child.wait_with_output().unwrap()
}

/// A request that the control server got.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) bearer: String,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn event(&self) -> HookEvent {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// How it answers: a status and a body. None: not at all.
type Answer = Box<dyn FnMut() -> Option<(u16, String)> + Send>;

/// A control server that answers as it is told.
pub(crate) struct Control {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Control {
    pub(crate) fn answering(mut answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        // It ends with the process that runs the tests.
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming().flatten() {
                let Some(request) = read(&stream) else { continue };
                seen.lock().unwrap().push(request);
                match answer() {
                    Some((status, body)) => {
                        let length = body.len();
                        let head = format!(
                            "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
                        );
                        let _ = (&stream).write_all((head + &body).as_bytes());
                    }
                    None => held.push(stream),
                }
            }
        });
        Self { url, asked }
    }

    /// One that takes everything and wants nothing.
    pub(crate) fn taking() -> Self {
        Self::saying(200, "{}")
    }

    pub(crate) fn saying(status: u16, body: &str) -> Self {
        let body = body.to_owned();
        Self::answering(Box::new(move || Some((status, body.clone()))))
    }

    /// What it was asked. Whoever asked has ended, so that nothing more is coming.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The one event that it was told of.
    pub(crate) fn event(&self) -> HookEvent {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked[0].event()
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let (mut reader, mut head) = (BufReader::new(stream), Vec::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let header = |name: &str| {
        head.iter().find_map(|line| {
            line.to_ascii_lowercase().starts_with(name).then(|| line[name.len()..].trim().to_owned())
        })
    };
    let mut body = vec![0; header("content-length:")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Asked {
        line: head.first()?.clone(),
        bearer: header("authorization:").unwrap_or_default(),
        body: String::from_utf8(body).ok()?,
    })
}

/// A moment after which a second control server is served in the place of the first.
pub(crate) fn moves_to(lab: &Lab, url: &str) -> Answer {
    let (state, project, url) = (lab.state.clone(), lab.project.clone(), url.to_owned());
    Box::new(move || {
        write_discovery(&state, &project, &url);
        Some((401, String::new()))
    })
}

/// An address where nobody listens: what does has to be root's.
pub(crate) const NOBODY: &str = "http://127.0.0.1:1";
