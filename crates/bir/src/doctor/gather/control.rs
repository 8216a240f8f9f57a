//! The control server, by the discovery file of each project.

use crate::control::look::{contact, health};
use crate::hub::process::Process;
use bir_control_client::{Contact, ControlError, projects, stopped_file};
use bir_install::doctor::control::{Control, Observed};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What was found.
pub(super) struct Controls {
    pub(super) observed: Observed,
    /// Calls that no proxy saw, by project and server.
    pub(super) bypassed: BTreeMap<PathBuf, BTreeMap<String, u64>>,
}

pub(super) async fn look(state_dir: &Path) -> Controls {
    let mut controls: Vec<Control> = Vec::new();
    let mut bypassed = BTreeMap::new();
    let all = projects::list(state_dir);
    let any_project = !all.is_empty();
    // What does not answer is asked once, for however many projects it should.
    let mut silent: Vec<(String, Control)> = Vec::new();
    for (_, said) in all {
        let (project, named) = (said.project.clone(), said.url.is_some());
        let Some(contact) = contact(said) else {
            // An address without a token is nobody's.
            if named {
                controls.push(Control::Asleep);
            }
            continue;
        };
        if let Some((_, known)) = silent.iter().find(|(url, _)| *url == contact.url) {
            controls.push(known.clone());
            continue;
        }
        match health(&contact).await {
            Ok(health) => {
                if let Some(project) = project {
                    bypassed.insert(project, health.bypassed);
                }
                controls.push(Control::Answers { version: health.version });
            }
            Err(e) => {
                let found = trouble(&contact, &e);
                silent.push((contact.url.clone(), found.clone()));
                controls.push(found);
            }
        }
    }
    let observed = Observed { controls, stopped: stopped_file(state_dir).exists(), any_project };
    Controls { observed, bypassed }
}

fn trouble(contact: &Contact, error: &ControlError) -> Control {
    match error {
        ControlError::Refused(_) | ControlError::NotUnderstood => {
            Control::Foreign { url: contact.url.clone() }
        }
        _ => match contact.pid {
            Some(pid) if Process::of(pid).is_none() => Control::Dead { pid },
            // What answers without the words of HTTP is no control server either.
            pid => Control::Silent { pid, why: error.to_string() },
        },
    }
}
