//! The stdio transport of the test upstream: frames in, frames out, with every fault of framing on request.

use std::io::{self, BufRead, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::log::exact;
use crate::script::{Framing, Moment};
use crate::serve::engine::{Engine, Session};
use crate::serve::outlet::{Body, CutWriter, Outlet};
use crate::step::Chunking;
use crate::sync::lock;

/// Frames up to this size go out in one write.
const ONE_WRITE: u64 = 64 * 1024;

/// How long calls may go on after the end of stdin, if they are waited for.
const FINISH_BUDGET: Duration = Duration::from_secs(60);

/// Descriptor 1 without a buffer: one call of `write`, one `write(2)` (or more when the pipe is full).
struct RawStdout;

impl Write for RawStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| rustix::io::write(rustix::stdio::stdout(), bytes))?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Wire {
    begun: bool,
    closed: bool,
}

/// Stdout as an outlet.
pub(crate) struct Stdout {
    framing: Framing,
    wire: Mutex<Wire>,
    ended: AtomicBool,
}

impl Stdout {
    pub(crate) fn new(framing: Framing) -> Self {
        Self { framing, wire: Mutex::default(), ended: AtomicBool::new(false) }
    }

    fn put(&self, body: Body<'_>, framed: bool, cut: &Chunking) -> io::Result<()> {
        let mut wire = lock(&self.wire);
        if wire.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let (mut before, mut after) = (Vec::new(), &b""[..]);
        if self.framing.bom && !std::mem::replace(&mut wire.begun, true) {
            before.extend_from_slice("\u{feff}".as_bytes());
        }
        if framed {
            before.extend_from_slice(self.framing.before_each.as_bytes());
            if self.framing.content_length_out {
                before.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            } else {
                after = self.framing.line_end.as_bytes();
            }
        }
        let mut out = CutWriter::new(RawStdout, cut);
        if body.len() <= ONE_WRITE {
            body.write(&mut before)?;
            before.extend_from_slice(after);
            return out.write_all(&before);
        }
        out.write_all(&before)?;
        body.write(&mut out)?;
        out.write_all(after)
    }
}

impl Outlet for Stdout {
    fn message(&self, body: Body<'_>, _: bool, cut: &Chunking) -> io::Result<()> {
        self.put(body, true, cut)
    }

    fn bytes(&self, bytes: Body<'_>, cut: &Chunking) -> io::Result<()> {
        self.put(bytes, false, cut)
    }

    fn close(&self) {
        let mut wire = lock(&self.wire);
        wire.closed = true;
        // Descriptor 1 becomes /dev/null: closed for the reader, and never reused for something else.
        if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
            let _ = rustix::stdio::dup2_stdout(&null);
        }
    }

    fn gone(&self) -> bool {
        self.ended.load(SeqCst)
    }
}

/// Reads one message; `None` at the end of stdin.
fn read(input: &mut impl BufRead, engine: &Engine) -> io::Result<Option<Vec<u8>>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let whole = line.pop_if(|last| *last == b'\n').is_some();
        if engine.script.framing.content_length_in {
            let text = String::from_utf8_lossy(&line).trim().to_ascii_lowercase();
            match (text.strip_prefix("content-length:"), length) {
                (Some(number), _) => length = number.trim().parse::<usize>().ok(),
                (None, Some(n)) if text.is_empty() => {
                    let mut body = Vec::new();
                    input.by_ref().take(n as u64).read_to_end(&mut body)?;
                    return Ok(Some(body));
                }
                _ => engine.log.put("noise", exact(&line)),
            }
            continue;
        }
        if !whole {
            let mut fields = exact(&line);
            fields.push(("partial", true.into()));
            engine.log.put("line", fields);
            return Ok(None);
        }
        line.pop_if(|last| *last == b'\r');
        if line.is_empty() {
            engine.log.put("noise", exact(&line));
            continue;
        }
        return Ok(Some(line));
    }
}

/// Serves stdin and stdout until stdin ends.
pub(crate) fn serve(engine: &Arc<Engine>) {
    let stdout = Arc::new(Stdout::new(engine.script.framing.clone()));
    let outlet: Arc<dyn Outlet> = stdout.clone();
    let session = Session::new("", outlet.clone());
    engine.add_session(&session);
    engine.moment(Moment::Start, &session);
    let mut input = io::BufReader::with_capacity(64 * 1024, io::stdin().lock());
    while let Ok(Some(line)) = read(&mut input, engine) {
        engine.receive(&session, line, outlet.clone(), true);
    }
    engine.log.put("eof", vec![]);
    engine.moment(Moment::Eof, &session);
    while engine.process.ignores_eof() {
        std::thread::sleep(Duration::from_millis(50));
    }
    stdout.ended.store(true, SeqCst);
    if engine.script.server.finish_calls {
        engine.wait_idle(FINISH_BUDGET);
    }
    engine.process.exit(0);
}
