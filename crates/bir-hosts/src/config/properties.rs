//! What holds of every entry, whatever stands in it: it comes back, and no secret goes where it was not.

use super::any as any_file;
use super::check::{becomes, named, plain};
use super::entry::Wrapped;
use super::{
    ByName, CommandAs, ConfigFile, Filled, Found, FoundFile, Kind, Kinds, Memo, Off, Role, Scope, Server,
    Shape, Syntax, Wrap, Wrapping, all, carry_out, servers, unwrap, wrap, wrapped_copy,
};
use bir_model::{Format, Place};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// What no memo and no command line of ours may hold.
const CANARY: &str = "s3cr3t";

const COMMON: Shape = Shape {
    filled: Filled { env: &[Syntax::DollarBraces, Syntax::Dollar], remote: &[Syntax::DollarBraces] },
    ..Shape::COMMON
};

/// As far from the common shape as any host is.
const OTHER: Shape = Shape {
    roots: &[&["mcp", "servers"], &["mcp"]],
    command: CommandAs::Vector("command"),
    env: "environment",
    kinds: Some(Kinds { local: Some("local"), needed: true, ..Kinds::COMMON }),
    urls: &[("httpUrl", Some("http")), ("url", Some("sse"))],
    headers: "http_headers",
    by_name: ByName { bearer: Some("bearer_var"), headers: Some("env_headers"), pass_on: Some("env_vars") },
    off: &[Off::Unless("enabled")],
    filled: Filled { env: &[Syntax::Braces], remote: &[Syntax::Braces] },
    ..Shape::COMMON
};

const LIST: Shape = Shape { named_by: Some("name"), ..COMMON };

fn found(shape: &Shape, name: &str, entry: Value) -> Found {
    let mut entry = entry;
    let servers = match shape.named_by {
        Some(by) => {
            entry[by] = name.into();
            Value::Array(vec![json!({"name": "other", "command": "x"}), entry])
        }
        None => Value::Object(Map::from_iter([
            ("other".to_owned(), json!({"command": "x"})),
            (name.to_owned(), entry),
        ])),
    };
    let value = shape.roots[0].iter().rev().fold(servers, |inner, key| json!({ *key: inner }));
    let file = ConfigFile {
        path: "/h/f.json".into(),
        scope: Scope::User,
        format: Format::Json,
        role: Role::Servers,
    };
    Found { files: vec![FoundFile { file, value }], project: "/p".into() }
}

fn server(shape: &Shape, found: &Found, name: &str) -> Server {
    servers(shape, found).into_iter().rfind(|server| server.name == name).unwrap()
}

fn carried(found: &Found, wrap: &Wrap) -> Value {
    let mut document = found.files[0].value.clone();
    wrap.edits.iter().for_each(|edit| assert!(carry_out(&mut document, edit), "{edit:?}"));
    document
}

/// The keys of an entry in their order.
fn keys(document: &Value, place: &Place) -> Vec<String> {
    place.of(document).unwrap().as_object().unwrap().keys().cloned().collect()
}

/// Wraps and unwraps; the wrapped entry and the memo. None: it is refused.
fn there_and_back(shape: &Shape, name: &str, entry: &Value, with: &Wrapping) -> Option<(Value, Memo)> {
    let found = found(shape, name, entry.clone());
    let of = server(shape, &found, name);
    let made = match wrap(shape, &found.files[0].file, &of, Scope::User, with) {
        Ok(made) => made,
        Err(refusal) => {
            assert!(!refusal.why.contains(CANARY), "{refusal:?}");
            return None;
        }
    };
    let mut document = carried(&found, &made);
    let wrapped = made.place.of(&document).unwrap().clone();
    assert_eq!(wrapped_copy(shape, &of, Scope::User, with).unwrap(), wrapped);
    let memo = made.memo.unwrap();
    for edit in unwrap(shape, &wrapped, &made.place, &memo).unwrap() {
        assert!(carry_out(&mut document, &edit), "{edit:?}");
    }
    let before = &found.files[0].value;
    assert_eq!(&document, before);
    // Members that were replaced are where they were; those that were removed are last, in their order.
    let (kept, back) = (keys(before, &made.place), keys(&document, &made.place));
    let is_gone = |key: &String| wrapped.get(key).is_none();
    let expected: Vec<_> = kept
        .iter()
        .filter(|key| !is_gone(key))
        .chain(kept.iter().filter(|key| is_gone(key)))
        .cloned()
        .collect();
    assert_eq!(back, expected);
    Some((wrapped, memo))
}

fn no_secret(shape: &Shape, wrapped: &Value, memo: &Memo) {
    let memo = serde_json::to_string(memo).unwrap();
    assert!(!memo.contains(CANARY), "{memo}");
    let ours = Wrapped::read(shape, wrapped).unwrap().options.join(" ");
    assert!(!ours.contains(CANARY), "{ours}");
}

fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~é]{0,12}".prop_map(|rest| format!("{CANARY}{rest}")),
        "[a-z]{0,4}".prop_map(|rest| format!("--{rest}={CANARY}")),
        Just("--".to_owned()),
        Just(format!("${{TOKEN_{CANARY}}}")),
        Just(format!("Bearer {{env:TOKEN_{CANARY}}}")),
        Just(format!("$TOKEN_{CANARY}")),
        Just(String::new()),
    ]
}

/// Members that are none of our business, and that hosts put anywhere.
fn others() -> impl Strategy<Value = Vec<(String, Value)>> {
    let value = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        secret().prop_map(Value::from),
        prop::collection::vec(secret(), 0..3).prop_map(Value::from),
    ];
    prop::collection::vec(("(timeout|cwd|tools|x[a-z]{0,3})", value), 0..4)
}

fn texts() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map("[A-Za-z][A-Za-z0-9-]{0,8}", secret().prop_map(Value::from), 0..4)
        .prop_map(Map::from_iter)
}

fn shuffled(members: Vec<(String, Value)>) -> impl Strategy<Value = Value> {
    Just(members).prop_shuffle().prop_map(|members| Value::Object(members.into_iter().collect()))
}

fn maybe(key: &str, value: impl Strategy<Value = Value>) -> impl Strategy<Value = Vec<(String, Value)>> {
    let key = key.to_owned();
    let value = prop_oneof![8 => value, 1 => Just(Value::Null)];
    prop::option::of(value)
        .prop_map(move |value| value.map(|value| (key.clone(), value)).into_iter().collect())
}

/// What an entry may say of its kind.
fn kinds(shape: &Shape, command: bool) -> impl Strategy<Value = Value> + use<> {
    let all = shape.kinds.unwrap_or(Kinds::COMMON).all.iter();
    let fit = all.filter(|(_, kind)| (*kind == Kind::Command) == command).map(|(word, _)| *word);
    prop::sample::select(fit.collect::<Vec<_>>()).prop_map(Value::from)
}

fn command(shape: &Shape) -> impl Strategy<Value = Value> + use<> {
    let (shape, env) = (*shape, shape.env);
    let kind = kinds(&shape, true);
    let line = ("[a-z/$ {}]{1,8}", prop::option::of(prop::collection::vec(secret(), 0..5)));
    let parts = (line, maybe(env, texts().prop_map(Value::from)), maybe("type", kind), others());
    parts.prop_flat_map(move |((program, args), env, kind, others)| {
        let mut members = match shape.command {
            CommandAs::Split { program: key, args: args_key } => {
                let args = args.map(|args| (args_key.to_owned(), args.into()));
                [(key.to_owned(), program.into())].into_iter().chain(args).collect()
            }
            CommandAs::Vector(key) => {
                let line: Vec<String> = [program].into_iter().chain(args.unwrap_or_default()).collect();
                vec![(key.to_owned(), line.into())]
            }
        };
        members.extend(env.into_iter().chain(kind).chain(others));
        shuffled(members)
    })
}

fn remote(shape: &Shape) -> impl Strategy<Value = Value> + use<> {
    let shape = *shape;
    let url = prop_oneof![
        Just("http://localhost:1/mcp".to_owned()),
        Just(format!("https://user:{CANARY}@example.com/mcp")),
        Just(format!("https://example.com/mcp?key={CANARY}")),
        Just(format!("https://example.com/#{CANARY}")),
        Just(format!("https://example.com/{CANARY}0123456789/mcp")),
        Just(format!("https://example.com/${{P_{CANARY}}}")),
        Just(format!("{{env:BASE_{CANARY}}}/mcp")),
        Just("https://example.com/mcp".to_owned()),
    ];
    let kind = kinds(&shape, false);
    let names = Just(json!({"X-From": "SOME_VARIABLE"}));
    let parts = (
        (0..shape.urls.len(), url),
        maybe(shape.headers, texts().prop_map(Value::from)),
        maybe(shape.env, texts().prop_map(Value::from)),
        maybe("type", kind),
        maybe(shape.by_name.headers.unwrap_or("unused"), names),
        maybe(shape.by_name.bearer.unwrap_or("unused2"), Just("TOKEN_VARIABLE".into())),
        others(),
    );
    parts.prop_flat_map(move |((which, url), headers, env, kind, names, bearer, others)| {
        let mut members = vec![(shape.urls[which].0.to_owned(), url.into())];
        members.extend([headers, env, kind, names, bearer, others].into_iter().flatten());
        shuffled(members)
    })
}

/// A file with servers of any host's words, now and then in a form that none has.
fn anything() -> impl Strategy<Value = Value> {
    let text = |pattern: &'static str| pattern.prop_map(Value::from).boxed();
    let texts = || prop::collection::vec(text("(-y|--|x|)"), 0..3).prop_map(Value::from).boxed();
    let object = || {
        prop::collection::btree_map("(A|X-B|Host)", text("(b|\\$\\{C\\})"), 0..3)
            .prop_map(|members| Value::Object(members.into_iter().collect()))
            .boxed()
    };
    let odd = prop_oneof![Just(Value::Null), Just(json!(3)), Just(json!(true)), texts(), object()].boxed();
    let member = |key: &'static str, value: BoxedStrategy<Value>| {
        let value = prop_oneof![12 => value, 1 => odd.clone()];
        value.prop_map(move |value| (key.to_owned(), value)).boxed()
    };
    let url = || text("(http://localhost/|https://h/\\?k|https://\\$\\{H\\}/|unix://x)");
    let line = || prop::collection::vec(text("(npx|bir|bir-proxy|x)"), 1..3).prop_map(Value::from).boxed();
    let members = prop::collection::vec(
        prop_oneof![
            4 => member("command", prop_oneof![4 => text("(npx|/x/bir|bir-proxy|sh)"), 1 => line()].boxed()),
            2 => member("cmd", text("(npx|x)")),
            3 => member("args", texts()),
            1 => prop_oneof![member("env", object()), member("envs", object()), member("environment", object())],
            2 => prop_oneof![member("url", url()), member("uri", url()), member("serverUrl", url())],
            1 => prop_oneof![member("headers", object()), member("http_headers", object())],
            1 => member("type", text("(stdio|local|http|sse|remote|streamable_http|builtin)")),
            1 => member("transport", text("(sse|stdio)")),
            1 => prop_oneof![member("enabled", Just(true.into()).boxed()), member("disabled", Just(false.into()).boxed())],
            1 => member("timeout", Just(3.into()).boxed()),
        ],
        0..6,
    );
    let entry = members.prop_map(|members| Value::Object(members.into_iter().collect())).boxed();
    let entry = prop_oneof![12 => entry, 1 => odd.clone()].boxed();
    let map = prop::collection::btree_map("(a|b|servers)", entry.clone(), 0..3)
        .prop_map(|members| Value::Object(members.into_iter().collect()));
    let named = ("(a|b|)", entry).prop_map(|(name, mut entry)| {
        if let Value::Object(members) = &mut entry {
            members.insert("name".into(), name.into());
        }
        entry
    });
    let list = prop::collection::vec(named, 0..3).prop_map(Value::from);
    let root = "(mcpServers|servers|mcp_servers|context_servers|mcp|extensions|amp\\.mcpServers)";
    prop::collection::btree_map(root, prop_oneof![4 => map, 2 => list, 1 => odd], 0..7)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

fn shapes() -> impl Strategy<Value = Shape> {
    let of_hosts = [
        super::claude_code::SHAPE,
        super::codex::SHAPE,
        super::copilot_cli::SHAPE,
        super::gemini_cli::SHAPE,
        super::opencode::SHAPE,
    ];
    prop_oneof![Just(COMMON), Just(OTHER), Just(LIST), prop::sample::select(of_hosts.to_vec())]
}

proptest! {
    #[test]
    fn whatever_stands_in_a_file_comes_back_or_is_left_alone(document in anything()) {
        for config in all() {
            let with = Wrapping { host_named: true, mcp_json: true, ..named() };
            // Each of them is shown to come back.
            becomes(config, &document, &with);
        }
        let file = any_file::file("/f".as_ref(), "/p".as_ref(), &document.to_string());
        let found = Found { files: vec![FoundFile { file, value: document.clone() }], project: "/p".into() };
        for server in any_file::servers(&found) {
            if let Ok(wrap) = any_file::wrap_in(&found, &server, &named()) {
                let mut after = carried(&found, &wrap);
                let entry = wrap.place.of(&after).unwrap().clone();
                for edit in any_file::unwrap_in(&entry, &wrap.place, &wrap.memo.unwrap()).unwrap() {
                    prop_assert!(carry_out(&mut after, &edit), "{:?}", edit);
                }
                prop_assert_eq!(&after, &document);
            }
        }
    }

    #[test]
    fn a_command_comes_back_and_its_secrets_stay(
        (shape, entry) in shapes().prop_flat_map(|shape| (Just(shape), command(&shape))),
        name in "[a-z. é-]{1,8}",
    ) {
        let name = format!("n{name}");
        // Nothing in a command keeps it from being wrapped.
        let (wrapped, memo) = there_and_back(&shape, &name, &entry, &plain()).unwrap();
        no_secret(&shape, &wrapped, &memo);
        prop_assert_eq!(wrapped.get(shape.env), entry.get(shape.env));
    }

    #[test]
    fn an_address_comes_back_and_its_secrets_stay(
        (shape, entry) in shapes().prop_flat_map(|shape| (Just(shape), remote(&shape))),
    ) {
        if let Some((wrapped, memo)) = there_and_back(&shape, "n", &entry, &named()) {
            no_secret(&shape, &wrapped, &memo);
            for member in shape.urls.iter().map(|(member, _)| *member).chain([shape.headers]) {
                prop_assert!(wrapped.get(member).is_none());
            }
        }
    }
}
