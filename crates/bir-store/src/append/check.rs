//! What can be said about a record without a database.

use bir_model::record::Record;

/// Times, counts and durations at most: the databases' integers have 63 bits, and sums have to stay below that.
pub(crate) const MAX_NUMBER: u64 = 1 << 53;
/// Lost calls or records of one loss at most; sums of them stay far below 63 bits.
const MAX_LOST: u64 = 1 << 40;
/// A name (a tool's, a server's, a host's, a reason) in bytes at most.
pub(crate) const MAX_NAME: usize = 4096;
/// A project's path in bytes at most.
pub(crate) const MAX_PATH: usize = 8192;
/// A payload in bytes at most. The recorder cuts at 64 KiB; this is for what did not come from it.
pub(crate) const MAX_PAYLOAD: usize = 16 << 20;

/// Why a record can never be booked.
pub(crate) fn check(record: &Record) -> Result<(), String> {
    match record {
        Record::Run(run) => {
            number("startedAt", run.started_at)?;
            size("input", run.input.as_deref(), MAX_PAYLOAD)?;
            size("project", run.project.as_deref(), MAX_PATH)?;
            size("host.app", run.host.as_ref().map(|host| host.app.as_str()), MAX_NAME)?;
            run.servers.iter().try_for_each(|server| size("servers.name", Some(&server.name), MAX_NAME))
        }
        Record::Step(step) => {
            number("at", step.at)?;
            number("durationUs", step.duration_us.unwrap_or(0))?;
            size("toolName", Some(&step.tool_name), MAX_NAME)?;
            size("server", step.server.as_deref(), MAX_NAME)?;
            size("tool", step.tool.as_deref(), MAX_NAME)?;
            size("toolInput", step.tool_input.as_deref(), MAX_PAYLOAD)?;
            size("toolOutput", step.tool_output.as_deref(), MAX_PAYLOAD)?;
            size("toolError", step.tool_error.as_deref(), MAX_PAYLOAD)?;
            size("modelInput", step.model_input.as_deref(), MAX_PAYLOAD)?;
            size("context", step.context.as_deref(), MAX_PAYLOAD)
        }
        Record::Final(answer) => {
            number("at", answer.at)?;
            size("answer", Some(&answer.answer), MAX_PAYLOAD)
        }
        Record::Finish(finish) => {
            number("at", finish.at)?;
            size("finalOutput", finish.final_output.as_deref(), MAX_PAYLOAD)
        }
        Record::Tools(seen) => {
            number("at", seen.at)?;
            size("server", Some(&seen.server), MAX_NAME)?;
            if seen.hash.len() != 64
                || !seen.hash.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
            {
                return Err("`hash` is 64 hex digits".into());
            }
            if seen.set.as_ref().is_some_and(|set| set.canonical().len() > MAX_PAYLOAD) {
                return Err(format!("`set` has at most {MAX_PAYLOAD} bytes"));
            }
            Ok(())
        }
        Record::Lost(lost) => {
            number("at", lost.at)?;
            size("reason", Some(&lost.reason), MAX_NAME)?;
            if lost.calls > MAX_LOST || lost.records > MAX_LOST {
                return Err(format!("`calls` and `records` are at most {MAX_LOST}"));
            }
            Ok(())
        }
    }
}

fn number(name: &str, value: u64) -> Result<(), String> {
    if value > MAX_NUMBER { Err(format!("`{name}` is at most {MAX_NUMBER}")) } else { Ok(()) }
}

fn size(name: &str, text: Option<&str>, limit: usize) -> Result<(), String> {
    if text.is_some_and(|text| text.len() > limit) {
        return Err(format!("`{name}` has at most {limit} bytes"));
    }
    Ok(())
}
