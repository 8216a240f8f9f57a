//! `bir off` and `bir on`: the file `off` of the state directory, which every proxy and hook reads before anything else.

use crate::error::CommandError;
use crate::home::Home;
use crate::out::safe;
use crate::project::here;
use crate::say;
use bir_control_client::project_of;
use bir_home::off::edit::{self, Change};
use bir_home::off::{self, Reach};
use clap::Args;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct SwitchArgs {
    /// Only in the project you are in: the git root of the working directory, else it.
    #[arg(long)]
    here: bool,
}

/// Why a directory cannot be a line of the file.
const NO_LINE: &str = "cannot be written into the list, since it is not UTF-8, or begins or ends with white space, or has a line break";

/// The file.
struct File {
    path: PathBuf,
    text: Option<String>,
}

/// Switches recording off.
pub(crate) fn off(args: &SwitchArgs) -> Result<(), CommandError> {
    let home = Home::find()?;
    let file = File::read(&home)?;
    if !args.here {
        let text = match edit::off(file.text.as_deref()) {
            Change::None => "recording is off already, everywhere; `bir on` switches it on",
            change => {
                file.apply(&home, &change)?;
                "recording is off everywhere; `bir on` switches it on. Standalone connections that are open record until they end"
            }
        };
        say(text);
        return Ok(());
    }
    let project = project_of(&here()?);
    if project.to_str().is_none_or(|text| text.trim() != text || text.contains('\n')) {
        return Err(CommandError::failed(format!("{} {NO_LINE}", project.display())));
    }
    let shown = project.display();
    match edit::off_in(file.text.as_deref(), &project) {
        None => say("recording is off everywhere already; nothing was changed"),
        Some(Change::None) => {
            say(format_args!("recording is off in {shown} already; `bir on --here` switches it on"))
        }
        Some(change) => {
            file.apply(&home, &change)?;
            say(format_args!("recording is off in {shown}; `bir on --here` switches it on"));
        }
    }
    Ok(())
}

/// Switches recording on.
pub(crate) fn on(args: &SwitchArgs) -> Result<(), CommandError> {
    let home = Home::find()?;
    let file = File::read(&home)?;
    let here = here()?;
    let everywhere = file.reach() == Reach::Everywhere;
    let change = if args.here {
        if everywhere {
            return Err(CommandError::failed("recording is off everywhere; `bir on` switches it on"));
        }
        edit::on_in(file.text.as_deref(), &project_of(&here), &here, &|dir| dir.canonicalize().ok())
    } else {
        edit::on(file.text.as_deref())
    };
    file.apply(&home, &change)?;
    if let Change::Remove(comments) = &change
        && !comments.is_empty()
    {
        say(format_args!(
            "{} is gone, and these lines with it:\n{}",
            file.path.display(),
            comments.join("\n")
        ));
    }
    let after = File::read(&home)?;
    if let Some(why) = stays_off(&after.reach(), &here) {
        return Err(CommandError::failed(why));
    }
    let done = if change == Change::None { "is on already" } else { "is on" };
    let place = if args.here {
        format!(" in {}", safe::line(&project_of(&here).to_string_lossy()))
    } else {
        String::new()
    };
    say(format_args!("recording {done}{place}{}", elsewhere(&after.reach())));
    Ok(())
}

/// Why recording is off here all the same.
fn stays_off(reach: &Reach, here: &Path) -> Option<String> {
    if off::switch("BIR_OFF") {
        return Some("recording stays off here: BIR_OFF is set; unset it".into());
    }
    let Reach::In(lines) = reach else { return None };
    let covers = |line: &&String| {
        let named = Path::new(line.as_str());
        named.is_absolute()
            && (here.starts_with(named) || named.canonicalize().is_ok_and(|named| here.starts_with(named)))
    };
    let line = lines.iter().find(covers)?;
    let line = safe::line(line);
    Some(format!(
        "recording stays off here, since {line} is listed as off; `bir on --here` in {line} switches it on"
    ))
}

/// Where it is off, as the end of a sentence.
fn elsewhere(reach: &Reach) -> String {
    match reach {
        Reach::In(lines) => format!("; it stays off in {}", safe::line(&lines.join(", "))),
        _ => String::new(),
    }
}

impl File {
    fn read(home: &Home) -> Result<Self, CommandError> {
        let path = home.dir.join(off::FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Self { path, text: Some(text) }),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Self { path, text: None }),
            Err(e) => Err(CommandError::failed(format!("cannot read {}: {e}", path.display()))),
        }
    }

    fn reach(&self) -> Reach {
        self.text.as_deref().map_or(Reach::Nowhere, off::reach_of)
    }

    fn apply(&self, home: &Home, change: &Change) -> Result<(), CommandError> {
        let done = match change {
            Change::None => Ok(()),
            Change::Remove(_) => std::fs::remove_file(&self.path),
            Change::Write(text) => {
                home.ensure()?;
                bir_home::replace(&self.path, text.as_bytes())
            }
        };
        done.map_err(|e| CommandError::failed(format!("cannot change {}: {e}", self.path.display())))
    }
}
