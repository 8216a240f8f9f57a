//! `bir runs export`: records as JSON Lines, as they stream from the hub. A file appears when it is whole, and not before.

use super::args::ExportArgs;
use super::{api, find, show};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, progress, size};
use crate::say;
use bir_record::hub::{HubClient, HubError};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The longest record that is turned into an element of an array, in bytes.
const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// Where it goes.
enum Sink {
    /// stdout, as it comes.
    Lines,
    /// stdout, as an array; whether an element stands there, and what is not a line yet.
    Array { any: bool, rest: Vec<u8> },
    /// A file beside its later place.
    File { out: BufWriter<File>, temporary: PathBuf, path: PathBuf },
    /// What is there already and no file, a pipe or a device: it is written to, never put aside.
    Through { out: BufWriter<File>, path: PathBuf },
}

/// What was written.
#[derive(Default)]
struct Written {
    bytes: u64,
    records: u64,
}

/// Exports.
pub(crate) async fn run(home: &Home, args: &ExportArgs) -> Result<(), CommandError> {
    let query = args.filter.query()?;
    if args.ids.is_empty() && !args.all && query.is_empty() {
        return Err(CommandError::usage("which runs? name them, give filters such as --since 7d, or --all"));
    }
    if !query.is_empty() && !args.ids.is_empty() {
        return Err(CommandError::usage("a run that is named needs no filter; give one or the other"));
    }
    let mut client = home.swept().await?;
    let mut queries = Vec::new();
    for text in &args.ids {
        let id = find::find(home, &mut client, text).await?;
        queries.push((Some(id), vec![("run", id.to_string())]));
    }
    if queries.is_empty() {
        queries.push((None, query));
    }
    let mut sink = Sink::open(args.output.as_deref(), args.json)?;
    let (mut written, bar) = (Written::default(), progress::bytes(None, "exported"));
    let bar_shown = args.output.is_some();
    for (id, query) in queries {
        let path = api::path("/recordings/export", &query);
        let copied = copy(&mut client, &path, &mut sink, &mut written, |bytes| {
            if bar_shown {
                bar.set_position(bytes);
            }
        });
        if let Err(e) = copied.await {
            bar.finish_and_clear();
            sink.give_up();
            return Err(match id {
                Some(id) if matches!(&e, CommandError::Hub(e) if e.status() == Some(404)) => {
                    show::missing(e, id)
                }
                _ => broken(&e),
            });
        }
    }
    bar.finish_and_clear();
    sink.close()?;
    match (&args.output, args.json) {
        (Some(path), true) => Ok(out::json(&json!({
            "file": path, "records": written.records, "bytes": written.bytes
        }))?),
        (Some(path), false) => {
            let (records, bytes) = (size::count(written.records, "record"), size::bytes(written.bytes));
            say(format_args!("{records} in {} ({bytes})", path.display()));
            Ok(())
        }
        (None, _) => Ok(()),
    }
}

/// The export broke off: nothing of it is to be taken for the whole.
fn broken(e: &CommandError) -> CommandError {
    match e {
        CommandError::Closed => CommandError::Closed,
        e => CommandError::failed(format!("the export is not whole: {e}")),
    }
}

async fn copy(
    client: &mut HubClient,
    path: &str,
    sink: &mut Sink,
    written: &mut Written,
    progress: impl Fn(u64),
) -> Result<(), CommandError> {
    let mut response = client.download(path).await?;
    loop {
        let chunk = response
            .chunk()
            .await
            .map_err(|e| HubError::Unreachable { url: client.destination().shown(), why: e.to_string() })?;
        let Some(chunk) = chunk else { return Ok(()) };
        written.bytes += chunk.len() as u64;
        written.records += chunk.iter().filter(|byte| **byte == b'\n').count() as u64;
        sink.write(&chunk)?;
        progress(written.bytes);
    }
}

impl Sink {
    fn open(path: Option<&Path>, json: bool) -> Result<Self, CommandError> {
        let Some(path) = path else {
            return Ok(if json { Self::Array { any: false, rest: Vec::new() } } else { Self::Lines });
        };
        // A link stays one: what it points to is what was meant.
        let path = &path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => {
                return Err(CommandError::usage(format!(
                    "{} is a directory; give -o a file name",
                    path.display()
                )));
            }
            Ok(there) if !there.is_file() => {
                let file = File::options().write(true).open(path).map_err(|e| unwritable(path, &e))?;
                return Ok(Self::Through { out: BufWriter::new(file), path: path.into() });
            }
            _ => {}
        }
        let mut name = path.file_name().map(ToOwned::to_owned).ok_or_else(|| {
            CommandError::usage(format!("{} is no file to write; give -o a file name", path.display()))
        })?;
        name.push(format!(".{}.part", std::process::id()));
        let temporary = path.with_file_name(name);
        let file = bir_home::private()
            .write(true)
            .create_new(true)
            .open(&temporary)
            .map_err(|e| CommandError::failed(format!("cannot write {}: {e}", path.display())))?;
        Ok(Self::File { out: BufWriter::new(file), temporary, path: path.into() })
    }

    fn write(&mut self, chunk: &[u8]) -> Result<(), CommandError> {
        match self {
            Self::Lines => Ok(out::raw(chunk)?),
            Self::Array { any, rest } => {
                rest.extend_from_slice(chunk);
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    element(any, &line)?;
                }
                if rest.len() > LONGEST_LINE {
                    return Err(CommandError::failed(format!("a record of more than {LONGEST_LINE} bytes")));
                }
                Ok(())
            }
            Self::File { out, path, .. } | Self::Through { out, path } => {
                out.write_all(chunk).map_err(|e| unwritable(path, &e))
            }
        }
    }

    fn close(self) -> Result<(), CommandError> {
        match self {
            Self::Lines => Ok(()),
            Self::Array { mut any, rest } => {
                if !rest.is_empty() {
                    element(&mut any, &rest)?;
                }
                Ok(out::raw(if any { b"\n]\n" } else { b"[]\n" })?)
            }
            Self::Through { mut out, path } => out.flush().map_err(|e| unwritable(&path, &e)),
            Self::File { mut out, temporary, path } => {
                let done = out.flush().and_then(|()| out.get_ref().sync_all());
                drop(out);
                done.and_then(|()| fs::rename(&temporary, &path)).map_err(|e| {
                    let _ = fs::remove_file(&temporary);
                    unwritable(&path, &e)
                })
            }
        }
    }

    /// What is not whole goes away again.
    fn give_up(self) {
        if let Self::File { temporary, .. } = self {
            let _ = fs::remove_file(temporary);
        }
    }
}

fn element(any: &mut bool, line: &[u8]) -> Result<(), CommandError> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    let value: Value = serde_json::from_slice(line).map_err(|_| {
        CommandError::failed("the hub exported a line that is no JSON; upgrade bir or the hub")
    })?;
    out::raw(if *any { b",\n" } else { b"[\n" })?;
    *any = true;
    Ok(out::raw(value.to_string().as_bytes())?)
}

fn unwritable(path: &Path, e: &io::Error) -> CommandError {
    CommandError::failed(format!("cannot write {}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.jsonl");
        let count = || fs::read_dir(dir.path()).unwrap().count();
        let mut sink = Sink::open(Some(&path), false).unwrap();
        sink.write(b"{}\n").unwrap();
        assert!(!path.exists());
        sink.close().unwrap();
        assert_eq!((fs::read(&path).unwrap(), count()), (b"{}\n".to_vec(), 1));
        let mut sink = Sink::open(Some(&path), false).unwrap();
        sink.write(b"half").unwrap();
        sink.give_up();
        assert_eq!((fs::read(&path).unwrap(), count()), (b"{}\n".to_vec(), 1));
        let directory = Sink::open(Some(dir.path()), false).err().unwrap().to_string();
        assert!(directory.contains("is a directory"), "{directory}");
        assert!(Sink::open(Some(Path::new("/")), false).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_what_is_no_file_is_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let mut sink = Sink::open(Some(&link), false).unwrap();
        sink.write(b"new").unwrap();
        sink.close().unwrap();
        assert!(link.is_symlink() && fs::read(&target).unwrap() == b"new");

        // A device is no file that could be put aside: the one that everybody has.
        use std::os::unix::fs::FileTypeExt;
        let null = Path::new("/dev/null");
        let mut sink = Sink::open(Some(null), false).unwrap();
        assert!(matches!(sink, Sink::Through { .. }));
        sink.write(b"gone").unwrap();
        sink.close().unwrap();
        assert!(fs::metadata(null).unwrap().file_type().is_char_device());
    }
}
