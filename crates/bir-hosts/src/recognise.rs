//! Which host it is. Hosts load each other's hook files and start each other, so neither the file nor the environment is proof; both
//! together with the shape of the payload nearly always are (facts/other-hosts.md §0.5).

use crate::{Host, Payload};

/// The host that tells `payload` to a hook that was installed for `via`. A variable of the environment is asked for by name;
/// `prefixed` says whether any begins so.
#[must_use]
pub fn recognise(
    via: Host,
    payload: &Payload<'_>,
    variable: &dyn Fn(&str) -> bool,
    prefixed: &dyn Fn(&str) -> bool,
) -> Host {
    let any = |names: &[&str]| names.iter().any(|name| variable(name));
    let has = |name: &str| payload.raw(&[name]).is_some();
    // Our own plugin is loaded by nobody else.
    if via == Host::OpenCode {
        return via;
    }
    let claude = any(&["CLAUDECODE", "CLAUDE_PID"]);
    // Copilot and Gemini put a time into every payload, Claude Code into none; a turn is Codex's.
    let timed = has("timestamp");
    let turned = has("turn_id");
    if any(&["COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"]) && timed {
        Host::CopilotCli
    } else if variable("GEMINI_CLI") && variable("GEMINI_SESSION_ID") && timed {
        Host::GeminiCli
    } else if (prefixed("CODEX_") || via == Host::Codex) && !timed && (turned || via == Host::Codex) {
        Host::Codex
    } else if variable("CURSOR_VERSION") && (has("conversation_id") || has("cursor_version")) {
        Host::Cursor
    } else if claude && via == Host::ClaudeCode && !timed {
        Host::ClaudeCode
    } else {
        via
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(via: Host, payload: &str, environment: &[&str]) -> Host {
        let set = |name: &str| environment.contains(&name);
        let prefixed = |prefix: &str| environment.iter().any(|name| name.starts_with(prefix));
        recognise(via, &Payload::read(payload).unwrap(), &set, &prefixed)
    }

    #[test]
    fn the_environment_counts_where_the_payload_agrees() {
        use Host::{ClaudeCode, Codex, CopilotCli, Cursor, GeminiCli, OpenCode};
        let (plain, timed, turned) = ("{}", r#"{"timestamp":"t"}"#, r#"{"turn_id":"t"}"#);
        let gemini: &[&str] = &["GEMINI_CLI", "GEMINI_SESSION_ID"];
        for (via, payload, environment, host) in [
            (ClaudeCode, plain, &["CLAUDECODE", "CLAUDE_PID"][..], ClaudeCode),
            (ClaudeCode, plain, &[], ClaudeCode),
            (ClaudeCode, timed, &["COPILOT_CLI"], CopilotCli),
            // Claude Code was started by Copilot's shell, and the other way round.
            (ClaudeCode, plain, &["COPILOT_CLI", "CLAUDECODE"], ClaudeCode),
            (CopilotCli, timed, &["COPILOT_AGENT_SESSION_ID", "CLAUDECODE"], CopilotCli),
            (GeminiCli, timed, gemini, GeminiCli),
            (GeminiCli, timed, &["CLAUDECODE"], GeminiCli),
            (Codex, turned, &["CLAUDECODE"], Codex),
            (Codex, plain, &["CODEX_HOME"], Codex),
            (ClaudeCode, turned, &["CODEX_THREAD_ID"], Codex),
            (ClaudeCode, plain, &["CODEX_HOME"], ClaudeCode),
            (ClaudeCode, r#"{"conversation_id":"c"}"#, &["CURSOR_VERSION"], Cursor),
            (ClaudeCode, plain, &["CURSOR_VERSION", "CLAUDECODE"], ClaudeCode),
            (OpenCode, timed, &["COPILOT_CLI"], OpenCode),
        ] {
            assert_eq!(of(via, payload, environment), host, "{via:?} {payload} {environment:?}");
        }
    }
}
