//! Whole pages, read tag by tag: whatever a recording holds stays text, and nothing needs more than the policy allows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod markup;

use bir_console::{
    Device, DeviceState, Filter, Message, Run, RunView, RunsView, SignIn, Viewer, device_page, message_page,
    run_list_rows, run_page, run_rows, runs_page, sign_in_page,
};
use bir_model::record::{EndReason, HostInfo, Leg, Lost, ServerInfo, Source, Step, StepType};
use bir_model::{Outcome, RunId, StepId, Tier};
use markup::{Tag, tags, text_of};
use proptest::prelude::*;

const NOW: u64 = 1_796_010_498_120;
const BEGAN: u64 = NOW - 3_600_000;

/// Ways in which stored text has become code elsewhere.
const HOSTILE: [&str; 10] = [
    "<script>alert(1)</script>",
    "</pre></details></section><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' autofocus onfocus='alert(1)",
    "</title><svg onload=alert(1)>",
    "<!--",
    "]]><![CDATA[",
    "&lt;script&gt;&#60;",
    "{{ 7*7 }}{% raw %}",
    "\u{202e}evil\u{202c}\u{0}\u{1b}[2J\u{200b}",
];

fn run(text: &str) -> Run {
    Run {
        id: RunId::new(),
        tier: Tier::Bound,
        lossy: true,
        lost_calls: 3,
        input: Some(text.into()),
        project: Some(text.into()),
        host: Some(HostInfo { app: text.into(), version: Some(text.into()) }),
        servers: vec![
            ServerInfo {
                name: text.into(),
                title: Some(text.into()),
                version: Some(text.into()),
                era: None,
                tools: None,
            },
            ServerInfo { name: "other".into(), ..ServerInfo::default() },
        ],
        started_at: BEGAN,
        ended_at: Some(BEGAN + 60_000),
        end_reason: Some(EndReason::Closed),
        last_at: BEGAN + 50_000,
        calls: 2,
        failed_calls: 1,
    }
}

fn step(run: RunId, index: u32, text: &str) -> Step {
    let begins = index.is_multiple_of(2);
    Step {
        id: StepId::new(),
        run_id: run,
        step_index: index,
        step_type: if begins { StepType::ToolSelected } else { StepType::ToolResponse },
        tool_name: text.into(),
        server: Some(text.into()),
        tool: Some(format!("{text} tool")),
        call_id: Some(text.into()),
        agent_id: Some(text.into()),
        sources: Vec::new(),
        tool_input: begins.then(|| text.into()),
        model_input: begins.then(|| text.into()),
        context: begins.then(|| text.into()),
        tool_output: (!begins).then(|| text.into()),
        tool_error: (!begins).then(|| text.into()),
        outcome: (!begins).then_some(Outcome::RpcError),
        at: BEGAN + u64::from(index) * 1_000,
        duration_us: (!begins).then_some(12_345),
        original_bytes: Some(2_485_125),
        truncated: true,
        ambiguous: true,
        bypassed: false,
        replayed: false,
        legs: if begins {
            Vec::new()
        } else {
            let leg = Leg {
                leg: 1,
                asked: text.into(),
                asked_at: 5,
                answered: Some(text.into()),
                answered_at: Some(9),
            };
            vec![leg]
        },
    }
}

fn run_view(text: &str) -> RunView {
    let run = run(text);
    let id = run.id;
    let lost =
        Lost { run_id: id, id: StepId::new(), calls: 3, records: 6, reason: text.into(), at: BEGAN + 500 };
    let object = serde_json::json!({ text: text }).to_string();
    RunView {
        viewer: Some(Viewer { name: text.into(), can_sign_out: true }),
        run,
        final_output: Some(text.into()),
        session_id: Some(text.into()),
        metadata: Some(object.clone()),
        metrics: Some(object),
        losses: vec![lost],
        steps: vec![step(id, 0, text), step(id, 1, text)],
        from: 0,
        next: None,
        now: NOW,
    }
}

fn runs_view(text: &str) -> RunsView {
    let filter = Filter {
        server: Some(text.into()),
        tool: Some(text.into()),
        project: Some(text.into()),
        ..Filter::default()
    };
    RunsView { viewer: None, runs: vec![run(text)], filter, next: Some(text.into()), now: NOW }
}

/// Every page and fragment that shows foreign text.
fn everything(text: &str) -> Vec<(&'static str, String)> {
    let device = |state| device_page(&Device { viewer: None, state });
    let message = Message {
        viewer: None,
        status: Some(404),
        title: text.into(),
        text: text.into(),
        link: Some((text.into(), format!("/{text}"))),
        request_id: Some(text.into()),
    };
    let view = run_view(text);
    vec![
        ("runs", runs_page(&runs_view(text))),
        (
            "older runs",
            runs_page(&RunsView {
                filter: Filter { cursor: Some(text.into()), ..Filter::default() },
                ..runs_view(text)
            }),
        ),
        ("rows of runs", run_list_rows(&runs_view(text))),
        ("run", run_page(&view)),
        (
            "run that goes on",
            run_page(&RunView { run: Run { ended_at: None, ..view.run.clone() }, ..view.clone() }),
        ),
        ("page of a run", run_page(&RunView { next: Some(2), ..view.clone() })),
        ("rows of a run", run_rows(&view, 0)),
        (
            "sign in",
            sign_in_page(&SignIn {
                email: text.into(),
                error: Some(text.into()),
                next: Some(format!("/{text}")),
            }),
        ),
        ("device", device(DeviceState::Ask { user_code: text.into(), error: Some(text.into()) })),
        ("message", message_page(&message)),
    ]
}

/// What a tag of ours may not have under the policy, and what only foreign text would bring.
fn check(name: &str, page: &str) -> Result<(), String> {
    let tags = tags(page).map_err(|e| format!("{name}: {e}"))?;
    for Tag { element, attributes } in &tags {
        if ["img", "iframe", "style", "object", "embed", "base"].contains(&element.as_str()) {
            return Err(format!("{name}: <{element}>"));
        }
        if element == "script"
            && !attributes.iter().any(|(n, v)| n == "src" && v.starts_with("/static/console.js?v="))
        {
            return Err(format!("{name}: a script that is not ours"));
        }
        for (attribute, value) in attributes {
            if attribute.starts_with("on") || attribute == "style" || attribute == "srcdoc" {
                return Err(format!("{name}: <{element} {attribute}>"));
            }
            if ["href", "src", "action"].contains(&attribute.as_str())
                && !value.starts_with('/')
                && !value.starts_with('#')
            {
                return Err(format!("{name}: {attribute}={value}"));
            }
        }
    }
    let ids: Vec<&str> =
        tags.iter().flat_map(|t| &t.attributes).filter(|(n, _)| n == "id").map(|(_, v)| v.as_str()).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    if unique.len() == ids.len() { Ok(()) } else { Err(format!("{name}: an id twice in {ids:?}")) }
}

#[test]
fn hostile_text_stays_text_on_every_page() {
    for text in HOSTILE {
        for (name, page) in everything(text) {
            check(name, &page).unwrap();
        }
    }
}

#[test]
fn what_hides_is_shown() {
    for (name, page) in everything("\u{202e}evil\u{0}") {
        let in_values = ["runs", "older runs", "sign in", "device"].contains(&name);
        if !in_values {
            assert!(!page.contains(['\u{202e}', '\u{0}']), "{name}");
            assert!(page.contains("U+202E"), "{name}");
        }
    }
}

#[test]
fn a_run_says_what_happened() {
    let page = text_of(&run_page(&run_view("hello")));
    for said in [
        "3 calls were lost here",
        "The recorder's reason: hello.",
        "protocol error",
        "ambiguous",
        "2.37 MiB on the wire, cut to fit",
        "Round 1: the server asked, the host answered after 4 ms",
        "12.3 ms",
        "lossy, 3 calls lost",
        "1 m 00 s",
        "The run is finished.",
        "Final answer",
    ] {
        assert!(page.contains(said), "{said}\n{page}");
    }
}

#[test]
fn the_wait_that_ends_an_idle_run_is_no_part_of_it() {
    let view = run_view("x");
    let end = BEGAN + 60_000 + 30 * 60_000;
    let run =
        Run { ended_at: Some(end), last_at: end, end_reason: Some(EndReason::Idle), ..view.run.clone() };
    let page = text_of(&run_page(&RunView { run: run.clone(), ..view.clone() }));
    assert!(page.contains("1 m 00 s") && !page.contains("31 m"), "{page}");
    let closed = Run { end_reason: Some(EndReason::Closed), ..run.clone() };
    assert!(text_of(&run_page(&RunView { run: closed, ..view })).contains("31 m 00 s"));
    let early = Run { ended_at: Some(BEGAN + 5), last_at: BEGAN + 5, ..run };
    assert!(
        text_of(&run_list_rows(&RunsView { runs: vec![early], now: NOW, ..RunsView::default() }))
            .contains("0 µs")
    );
}

#[test]
fn a_folded_call_says_what_it_was_about() {
    let mut view = run_view("x");
    view.steps[0].tool_input = Some(r#"{"path":"/home/ada/<b>.md","head":160}"#.into());
    view.steps[1].tool_error = Some(r#"{"code":-32602,"message":"Unknown tool: x"}"#.into());
    let page = run_page(&view);
    assert!(
        page.contains("<span class=\"gist bad\">Unknown tool: x</span>"),
        "the error is the more important one"
    );
    view.steps[1].tool_error = None;
    view.steps[1].outcome = Some(Outcome::Ok);
    let page = run_page(&view);
    assert!(page.contains("<span class=\"gist\">path: /home/ada/&lt;b&gt;.md, head: 160</span>"), "{page}");
}

/// A bound run: a built-in tool, a call over MCP of a sub-agent that hook and proxy saw, and one that no proxy saw.
fn bound_view() -> RunView {
    let view = run_view("x");
    let plain = |index: u32, tool: &str, server: Option<&str>, sources: &[Source]| Step {
        tool_name: tool.into(),
        tool: None,
        server: server.map(Into::into),
        call_id: None,
        agent_id: None,
        sources: sources.to_vec(),
        model_input: None,
        context: None,
        tool_error: None,
        outcome: (!index.is_multiple_of(2)).then_some(Outcome::Ok),
        original_bytes: None,
        truncated: false,
        ambiguous: false,
        legs: Vec::new(),
        ..step(view.run.id, index, "{}")
    };
    let (hook, proxy) = ([Source::Hook], [Source::Proxy]);
    let mut steps = vec![
        plain(0, "Bash", None, &hook),
        plain(1, "Bash", None, &hook),
        plain(2, "mcp__fs__read", None, &hook),
        plain(3, "mcp__fs__read", Some("fs"), &proxy),
        plain(4, "mcp__git__log", Some("git"), &hook),
        plain(5, "mcp__git__log", Some("git"), &hook),
    ];
    steps[0].context = Some("I look around first".into());
    steps[2].agent_id = Some("a79f678f666613440".into());
    steps[2].tool_input = Some(r#"{"path":"asked"}"#.into());
    steps[3].tool = Some("read".into());
    steps[3].tool_input = Some(r#"{"path":"ran"}"#.into());
    steps[3].ambiguous = true;
    steps[5].bypassed = true;
    steps[5].outcome = Some(Outcome::Denied);
    let run = Run {
        input: Some("find it\nand say where".into()),
        servers: vec![ServerInfo { name: "fs".into(), ..ServerInfo::default() }],
        ..view.run.clone()
    };
    let metrics = serde_json::json!({"models": {"m<1>": {"inputTokens": 20}}, "totals":
        {"inputTokens": 20, "outputTokens": 1_234, "cacheReadTokens": 1_000}, "compaction": true});
    RunView {
        run,
        steps,
        losses: Vec::new(),
        final_output: Some("It is in the attic.".into()),
        metadata: Some(r#"{"join":"fingerprint"}"#.into()),
        metrics: Some(metrics.to_string()),
        ..view
    }
}

#[test]
fn a_bound_run_is_a_turn_from_its_prompt_to_its_answer() {
    let view = bound_view();
    let page = run_page(&view);
    check("bound", &page).unwrap();
    let said = text_of(&page);
    let places = [
        "find it",
        "and say where",
        "Timeline",
        "Bash",
        "read",
        "mcp__git__log",
        "Final answer",
        "It is in the attic.",
    ];
    let mut rest = said.as_str();
    for part in places {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part} in {rest}"));
        rest = &rest[at..];
    }
    for part in [
        "at least 1,020 in, 1,234 out",
        "by server, tool and arguments: a guess where equal calls run side by side",
        "What the model said before it",
        "I look around first",
        "none: a tool of the host itself",
        "Arguments as the model wrote them",
        "Arguments as they ran",
        "hook and proxy",
        "sub-agent a79f678f6666…",
        "Ambiguous: equal calls ran side by side",
        "Bypassed: the host's hooks saw this call and no proxy did.",
        "denied",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    assert!(
        page.contains("1,000 read from a cache, m&#60;1&#62;")
            || page.contains("1,000 read from a cache, m&lt;1&gt;"),
        "{page}"
    );
    // The folded row says what ran.
    assert!(page.contains("<span class=\"gist\">path: ran</span>"), "{page}");
    assert_eq!(page.matches("<li class=\"call of-agent\"").count(), 1);
    assert_eq!(page.matches(">bypassed</span>").count(), 1);
    // One server in the header, and calls of it are told from built-in tools all the same.
    assert!(page.contains("<span class=\"server\">fs/</span>"), "{page}");
    let without = Run { input: None, ..view.run.clone() };
    assert!(text_of(&run_page(&RunView { run: without, ..view })).contains("Run without a prompt"));
}

#[test]
fn a_run_that_a_proxy_began_for_want_of_a_control_server_says_so() {
    let view = run_view("x");
    let lost = Lost { calls: 0, records: 0, reason: "downgrade".into(), ..view.losses[0].clone() };
    let run = Run { tier: Tier::Standalone, lost_calls: 0, ..view.run.clone() };
    let page = text_of(&run_page(&RunView { run, losses: vec![lost], ..view }));
    assert!(page.contains("lossy: a downgrade") && !page.contains("calls lost"), "{page}");
    assert!(page.contains("Recorded without the control server. It was gone"), "{page}");
}

#[test]
fn a_prompt_is_not_said_twice() {
    let view = run_view("x");
    let with = |input: &str| {
        let run = Run { input: Some(input.into()), ..view.run.clone() };
        text_of(&run_page(&RunView { run, ..view.clone() }))
    };
    let page = with("the first line\n\nand the rest");
    assert_eq!(page.matches("the first line").count(), 2, "title and heading: {page}");
    assert_eq!(page.matches("and the rest").count(), 1, "{page}");
    let long = "word ".repeat(40);
    assert!(with(&long).contains(long.trim()));
}

#[test]
fn a_run_that_goes_on_is_followed_on_its_last_page_only() {
    let view = run_view("x");
    let going = RunView { run: Run { ended_at: None, end_reason: None, ..view.run.clone() }, ..view.clone() };
    let stream = format!("data-stream=\"/recordings/runs/{}/stream?after=1\"", view.run.id);
    assert!(run_page(&going).contains(&stream));
    assert!(!run_page(&RunView { next: Some(2), ..going }).contains("data-stream"));
    assert!(!run_page(&view).contains("data-stream"));
}

#[test]
fn a_fragment_is_a_part_of_the_page() {
    let view = run_view("same");
    let (page, rows) = (run_page(&view), run_rows(&view, 0));
    assert!(page.contains(rows.trim()));
    let view = runs_view("same");
    assert!(runs_page(&view).contains(run_list_rows(&view).trim()));
}

#[test]
fn an_empty_list_teaches_the_next_command() {
    let page = text_of(&runs_page(&RunsView { now: NOW, ..RunsView::default() }));
    assert!(page.contains("bir demo") && page.contains("bir wrap --"), "{page}");
    let filter = Filter { tool: Some("x".into()), ..Filter::default() };
    let page = text_of(&runs_page(&RunsView { filter, now: NOW, ..RunsView::default() }));
    assert!(page.contains("No run matches this filter."));
}

#[test]
fn only_paths_of_this_hub_are_gone_on_to() {
    for (next, taken) in [
        ("/runs/run_1?from=2", true),
        ("/", true),
        ("//evil.example", false),
        ("/\\evil.example", false),
        ("https://evil.example", false),
        ("javascript:alert(1)", false),
        ("/\n/evil.example", false),
        ("", false),
    ] {
        let page = sign_in_page(&SignIn { next: Some(next.into()), ..SignIn::default() });
        assert_eq!(page.contains("name=\"next\""), taken, "{next}");
    }
}

#[test]
fn a_page_has_room_for_so_much_and_links_to_the_rest() {
    let mut view = run_view("x");
    let big = serde_json::json!({ "text": "y".repeat(60_000) }).to_string();
    let row =
        |index| Step { tool_output: Some(big.clone()), tool_input: None, ..step(view.run.id, index, "x") };
    view.steps = (0..200).map(row).collect();
    let page = run_page(&view);
    assert!(page.len() < 2_500_000, "{}", page.len());
    assert!(page.contains(&format!("href=\"/runs/{}?from=198\"", view.run.id)));
    let alone = RunView { steps: view.steps.split_off(198), from: 198, ..view };
    assert!(!run_page(&alone).contains("Show arguments and result"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_stays_text(text in any::<String>()) {
        for (name, page) in everything(&text) {
            if let Err(why) = check(name, &page) {
                prop_assert!(false, "{why}");
            }
        }
    }
}
