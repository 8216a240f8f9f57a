//! Runs as they look in the field: with every outcome, parallel calls, rounds, losses, hostile text, and one that goes on.

use bir_console::{Filter, Run};
use bir_model::record::{EndReason, HostInfo, Leg, Lost, ServerInfo, Source, Step, StepType};
use bir_model::{Era, Outcome, RunId, StepId, Tier};
use std::time::{SystemTime, UNIX_EPOCH};

/// Text that must stay text wherever it is shown.
const HOSTILE: &str = "</pre></details><script>document.title='broken'</script><img src=x onerror=alert(1)> \u{202e}txt.exe\u{202c} \u{1b}[31mred\u{7}";

/// A run with its rows.
pub(crate) struct Recorded {
    pub(crate) run: Run,
    pub(crate) steps: Vec<Step>,
    pub(crate) losses: Vec<Lost>,
    pub(crate) final_output: Option<String>,
}

/// All runs, newest first.
pub(crate) struct Fixture {
    pub(crate) runs: Vec<Recorded>,
    /// Grows with each change.
    pub(crate) version: u64,
}

fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

fn server(name: &str) -> ServerInfo {
    ServerInfo {
        name: name.into(),
        title: Some(format!("{name} server")),
        version: Some("2026.8.31".into()),
        era: Some(Era::Modern),
        tools: None,
    }
}

fn run(input: Option<&str>, servers: &[&str], started_at: u64) -> Recorded {
    let run = Run {
        id: RunId::new(),
        tier: if input.is_some() { Tier::Bound } else { Tier::Standalone },
        lossy: false,
        lost_calls: 0,
        input: input.map(str::to_owned),
        project: Some("/home/ada/code/shop".into()),
        host: Some(HostInfo { app: "claude-code".into(), version: Some("2.1.58".into()) }),
        servers: servers.iter().map(|s| server(s)).collect(),
        started_at,
        ended_at: None,
        end_reason: None,
        last_at: started_at,
        calls: 0,
        failed_calls: 0,
    };
    Recorded { run, steps: Vec::new(), losses: Vec::new(), final_output: None }
}

/// What a call is made of.
struct Call<'a> {
    tool: &'a str,
    server: &'a str,
    at: u64,
    us: u64,
    outcome: Outcome,
    input: &'a str,
    output: &'a str,
}

impl Recorded {
    fn begin(&mut self, tool: &str, server: &str, at: u64, input: &str) -> u32 {
        let index = self.steps.iter().map(|s| (s.step_index | 1) + 1).max().unwrap_or(0);
        self.steps.push(Step {
            id: StepId::new(),
            run_id: self.run.id,
            step_index: index,
            step_type: StepType::ToolSelected,
            tool_name: format!("mcp__{server}__{tool}"),
            server: Some(server.into()),
            tool: Some(tool.into()),
            call_id: Some(format!("toolu_{index:04}")),
            agent_id: None,
            sources: vec![Source::Hook, Source::Proxy],
            tool_input: Some(input.into()),
            model_input: None,
            context: None,
            tool_output: None,
            tool_error: None,
            outcome: None,
            at: self.run.started_at + at,
            duration_us: None,
            original_bytes: Some(input.len() as u64),
            truncated: false,
            ambiguous: false,
            bypassed: false,
            replayed: false,
            legs: Vec::new(),
        });
        self.run.calls += 1;
        self.run.last_at = self.run.last_at.max(self.run.started_at + at);
        index
    }

    fn end(&mut self, index: u32, us: u64, outcome: Outcome, output: &str) -> &mut Step {
        let position = self.steps.iter().position(|s| s.step_index == index).unwrap();
        let begin = self.steps[position].clone();
        let at = begin.at + us / 1_000;
        self.run.last_at = self.run.last_at.max(at);
        self.run.failed_calls += u32::from(outcome != Outcome::Ok);
        let is_result = matches!(outcome, Outcome::Ok | Outcome::ToolError);
        let end = Step {
            id: StepId::new(),
            step_index: index + 1,
            step_type: StepType::ToolResponse,
            tool_input: None,
            tool_output: is_result.then(|| output.to_owned()),
            tool_error: (!is_result && !output.is_empty()).then(|| output.to_owned()),
            outcome: Some(outcome),
            at,
            duration_us: Some(us),
            original_bytes: Some(output.len() as u64),
            ..begin
        };
        self.steps.insert(position + 1, end);
        &mut self.steps[position + 1]
    }

    fn call(&mut self, c: &Call<'_>) -> &mut Step {
        let index = self.begin(c.tool, c.server, c.at, c.input);
        self.end(index, c.us, c.outcome, c.output)
    }

    /// A call of a tool of the host itself.
    fn builtin(&mut self, tool: &str, at: u64, input: &str, output: &str) {
        let index = self.begin(tool, "", at, input);
        self.end(index, 12_000, Outcome::Ok, output);
        for step in self.steps.iter_mut().filter(|step| step.step_index | 1 == index | 1) {
            (step.tool_name, step.tool, step.server) = (tool.into(), None, None);
            step.sources = vec![Source::Hook];
        }
    }

    fn over(mut self, after: u64, reason: EndReason) -> Self {
        self.run.ended_at = Some(self.run.started_at + after);
        self.run.end_reason = Some(reason);
        self
    }

    fn lose(&mut self, at: u64, calls: u64, reason: &str) {
        self.losses.push(Lost {
            run_id: self.run.id,
            id: StepId::new(),
            calls,
            records: calls * 2,
            reason: reason.into(),
            at: self.run.started_at + at,
        });
        self.run.lossy = true;
        self.run.lost_calls += calls;
    }
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let now = clock();
        let mut runs = vec![going_on(now), rich(now), hostile(now), long(now)];
        for n in 0..80_u64 {
            let prompt = [
                "Summarise the open issues of the shop and label what is stale",
                "Which invoices of October were never paid?",
                "Rename the column and update every query that uses it",
            ];
            let input = (n % 3 != 2).then(|| prompt[(n % 2) as usize]);
            let servers: &[&str] = if n % 4 == 0 { &["github", "postgres"] } else { &["everything"] };
            let mut it = run(input, servers, now - 7_200_000 - n * 3_100_000);
            if n % 5 == 1 {
                it.run.host = Some(HostInfo { app: "codex".into(), version: Some("0.128.0".into()) });
            }
            for call in 0..=n % 9 {
                let outcome = if n % 7 == 3 && call == 2 { Outcome::ToolError } else { Outcome::Ok };
                it.call(&Call {
                    tool: "echo",
                    server: servers[0],
                    at: call * 900,
                    us: 4_000 + n * 913,
                    outcome,
                    input: r#"{"message":"hello"}"#,
                    output: TEXT,
                });
            }
            if n % 11 == 6 {
                it.lose(10, n % 4, "backlog");
            }
            runs.push(it.over(2_000 + n * 7_919, EndReason::Closed));
        }
        Self { runs, version: 0 }
    }

    pub(crate) fn now(&self) -> u64 {
        clock()
    }

    /// The run that goes on gains a whole call.
    pub(crate) fn call(&mut self) {
        let it = &mut self.runs[0];
        let at = clock() - it.run.started_at;
        it.call(&Call {
            tool: "get-sum",
            server: "everything",
            at,
            us: 31_000,
            outcome: Outcome::Ok,
            input: r#"{"a":2,"b":3}"#,
            output: TEXT,
        });
        self.version += 1;
    }

    /// A call of it begins.
    pub(crate) fn begin(&mut self) {
        let it = &mut self.runs[0];
        let at = clock() - it.run.started_at;
        it.begin("trigger-long-running-operation", "everything", at, r#"{"duration":10,"steps":5}"#);
        self.version += 1;
    }

    /// Its last call ends.
    pub(crate) fn end(&mut self) {
        let it = &mut self.runs[0];
        let last = it.steps.last().unwrap();
        let (index, us) = (last.step_index & !1, (clock() - last.at) * 1_000);
        it.end(index, us, Outcome::Ok, TEXT);
        self.version += 1;
    }

    /// Another run begins.
    pub(crate) fn new_run(&mut self) {
        let mut it = run(Some("A run that appeared while you looked"), &["everything"], clock());
        it.call(&Call {
            tool: "echo",
            server: "everything",
            at: 0,
            us: 3_000,
            outcome: Outcome::Ok,
            input: "{}",
            output: TEXT,
        });
        self.runs.insert(1, it.over(10, EndReason::Closed));
        self.version += 1;
    }

    /// The run that goes on ends.
    pub(crate) fn finish(&mut self) {
        let now = clock();
        let it = &mut self.runs[0];
        it.run.ended_at = Some(now);
        it.run.end_reason = Some(EndReason::Closed);
        it.final_output = Some("Both sums are right.".into());
        self.version += 1;
    }
}

/// Whether a filter lets a run through, as far as the fixture needs it.
pub(crate) fn matches(it: &Recorded, filter: &Filter) -> bool {
    let server = filter.server.as_ref().is_none_or(|name| it.run.servers.iter().any(|s| s.name == *name));
    let outcome = filter.outcome.is_none_or(|o| it.steps.iter().any(|s| s.outcome == Some(o)));
    let tool = filter.tool.as_ref().is_none_or(|t| it.steps.iter().any(|s| s.tool.as_ref() == Some(t)));
    server && outcome && tool && filter.tier.is_none_or(|t| it.run.tier == t)
}

const TEXT: &str = r#"{"content":[{"type":"text","text":"Echo: hello"}],"isError":false}"#;

fn going_on(now: u64) -> Recorded {
    let mut it = run(None, &["everything"], now - 42_000);
    it.call(&Call {
        tool: "echo",
        server: "everything",
        at: 0,
        us: 3_120,
        outcome: Outcome::Ok,
        input: r#"{"message":"hello"}"#,
        output: TEXT,
    });
    it.call(&Call {
        tool: "get-sum",
        server: "everything",
        at: 800,
        us: 1_480,
        outcome: Outcome::Ok,
        input: r#"{"a":2,"b":40}"#,
        output: TEXT,
    });
    it
}

fn rich(now: u64) -> Recorded {
    let prompt = "Find every issue of the shop that nobody touched for a month, look up who reported it, and write the list to a file.\nLeave out what is labelled \"keep\".";
    let mut it = run(Some(prompt), &["github", "postgres", "files"], now - 1_900_000);
    let issues = r#"{"content":[{"type":"text","text":"{\"total\":3,\"items\":[{\"number\":41,\"title\":\"Cart forgets the coupon\",\"author\":\"grace\",\"updatedAt\":\"2026-10-02T09:14:00Z\"},{\"number\":57,\"title\":\"Search is slow\",\"author\":\"alan\",\"updatedAt\":\"2026-09-21T17:40:12Z\"},{\"number\":63,\"title\":\"Typo on the receipt\",\"author\":\"edsger\",\"updatedAt\":\"2026-10-11T11:00:00Z\"}]}"}],"isError":false}"#;
    let step = it.call(&Call { tool: "list_issues", server: "github", at: 1_200, us: 412_000, outcome: Outcome::Ok, input: r#"{"owner":"ada","repo":"shop","state":"open","since":"2026-10-30","token":"[redacted:github:9f2c41aa07de]"}"#, output: issues });
    step.original_bytes = Some(2_485_125);
    step.truncated = true;
    for (n, who) in ["grace", "alan", "edsger"].iter().enumerate() {
        let n = n as u64;
        let input = format!(
            r#"{{"sql":"select id, email, created_at from people where login = $1","params":["{who}"]}}"#
        );
        it.call(&Call { tool: "query", server: "postgres", at: 1_900 + n * 30, us: 230_000 + n * 140_000, outcome: Outcome::Ok, input: &input, output: r#"{"content":[{"type":"text","text":"id\temail\tcreated_at\n7\t[redacted:custom:1b2c3d4e5f60]\t2024-03-01"}],"structuredContent":{"rows":[{"id":7,"balance":1.50,"big":12345678901234567890}]}}"# });
    }
    it.steps[2].context =
        Some("The three reporters are independent of each other, so I can look them up at once.".into());
    it.lose(2_600, 2, "backlog");
    it.call(&Call {
        tool: "query",
        server: "postgres",
        at: 3_000,
        us: 5_100,
        outcome: Outcome::ToolError,
        input: r#"{"sql":"select * from coupon"}"#,
        output: r#"{"content":[{"type":"text","text":"relation \"coupon\" does not exist"}],"isError":true}"#,
    });
    it.call(&Call {
        tool: "drop_table",
        server: "postgres",
        at: 3_300,
        us: 900,
        outcome: Outcome::Denied,
        input: r#"{"table":"coupon"}"#,
        output: "",
    });
    it.call(&Call { tool: "screenshot", server: "files", at: 3_500, us: 640_000, outcome: Outcome::Ok, input: r#"{"page":"/cart"}"#, output: r#"{"content":[{"type":"image","mimeType":"image/png","data":{"truncated":true,"originalBytes":918244}}]}"# });
    let begun = it.run.started_at;
    let step = it.call(&Call { tool: "write_file", server: "files", at: 4_300, us: 2_700_000, outcome: Outcome::Ok, input: r#"{"path":"/home/ada/code/shop/stale.md","content":"- #41 Cart forgets the coupon\n- #57 Search is slow\n- #63 Typo on the receipt\n"}"#, output: r#"{"content":[{"type":"text","text":"Wrote 3 lines."}]}"# });
    step.legs = vec![Leg {
        leg: 1,
        asked: r#"{"resultType":"input_required","inputRequests":[{"type":"elicitation","message":"The file exists. Overwrite it?"}],"requestState":"b3Zlcg"}"#.into(),
        asked_at: begun + 4_350,
        answered: Some(r#"[{"action":"accept","content":{"overwrite":true}}]"#.into()),
        answered_at: Some(begun + 6_800),
    }];
    it.call(&Call {
        tool: "no_such_tool",
        server: "github",
        at: 7_200,
        us: 1_100,
        outcome: Outcome::RpcError,
        input: "{}",
        output: r#"{"code":-32602,"message":"Unknown tool: no_such_tool"}"#,
    });
    it.call(&Call {
        tool: "list_issues",
        server: "github",
        at: 7_400,
        us: 60_000_000,
        outcome: Outcome::Timeout,
        input: r#"{"page":2}"#,
        output: "",
    })
    .ambiguous = true;
    it.call(&Call {
        tool: "query",
        server: "postgres",
        at: 68_000,
        us: 1_400_000,
        outcome: Outcome::Cancelled,
        input: r#"{"sql":"select pg_sleep(60)"}"#,
        output: "",
    });
    it.call(&Call {
        tool: "get_issue",
        server: "github",
        at: 70_000,
        us: 0,
        outcome: Outcome::Unknown,
        input: r#"{"number":41}"#,
        output: "",
    })
    .duration_us = None;
    it.builtin("Bash", 71_000, r#"{"command":"wc -l stale.md"}"#, r#"{"stdout":"3 stale.md","stderr":""}"#);
    let step = it.call(&Call {
        tool: "read_file",
        server: "files",
        at: 71_400,
        us: 2_100,
        outcome: Outcome::Ok,
        input: r#"{"path":"stale.md"}"#,
        output: TEXT,
    });
    (step.agent_id, step.tool_input) =
        (Some("a79f678f666613440".into()), Some(r#"{"path":"/home/ada/code/shop/stale.md"}"#.into()));
    let step = it.call(&Call {
        tool: "add_label",
        server: "gitea",
        at: 72_000,
        us: 91_000,
        outcome: Outcome::Ok,
        input: r#"{"number":41,"label":"stale"}"#,
        output: TEXT,
    });
    (step.bypassed, step.sources) = (true, vec![Source::Hook]);
    it.final_output = Some("Three issues are stale: #41, #57 and #63. The list is in stale.md.".into());
    it.over(74_000, EndReason::Closed)
}

fn hostile(now: u64) -> Recorded {
    let mut it = run(Some(HOSTILE), &["everything"], now - 5_400_000);
    it.run.servers[0].title = Some(HOSTILE.into());
    it.run.project = Some(format!("/home/{HOSTILE}"));
    it.run.host = Some(HostInfo { app: HOSTILE.into(), version: None });
    let json =
        serde_json::json!({ HOSTILE: HOSTILE, "content": [{ "type": "text", "text": HOSTILE }] }).to_string();
    it.call(&Call {
        tool: HOSTILE,
        server: "everything",
        at: 0,
        us: 1_000,
        outcome: Outcome::Ok,
        input: &json,
        output: &json,
    });
    it.call(&Call {
        tool: "text",
        server: HOSTILE,
        at: 5,
        us: 1_000,
        outcome: Outcome::RpcError,
        input: HOSTILE,
        output: HOSTILE,
    });
    it.lose(6, 1, HOSTILE);
    it.final_output = Some(HOSTILE.into());
    it.over(60_000, EndReason::Abandoned)
}

fn long(now: u64) -> Recorded {
    let mut it = run(None, &["files"], now - 6_000_000);
    let big = serde_json::json!({ "content": [{ "type": "text", "text": "line of a file\n".repeat(160) }] })
        .to_string();
    for n in 0..700_u64 {
        let outcome = if n % 97 == 40 { Outcome::ToolError } else { Outcome::Ok };
        let input = format!(r#"{{"path":"/home/ada/code/shop/src/part_{n}.rs","head":160}}"#);
        it.call(&Call {
            tool: "read_text_file",
            server: "files",
            at: n * 850,
            us: 2_000 + (n * 7_919) % 600_000,
            outcome,
            input: &input,
            output: &big,
        });
    }
    it.over(1_800_000 + 700 * 850, EndReason::Idle)
}
