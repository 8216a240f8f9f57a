//! Secrets that their names give away, in objects, headers, environments, command lines, files of settings and program code.

use super::rng::{ALNUM, BASE64, DIGITS, HEX, LOWER, LOWNUM, Rng, URLSAFE};
use super::{Said, Sample};
use serde_json::{Value, json};

/// Names in words; every one of them says secret in each convention.
const NAMES: &[&[&str]] = &[
    &["token"],
    &["access", "token"],
    &["refresh", "token"],
    &["auth", "token"],
    &["session", "token"],
    &["bearer", "token"],
    &["personal", "access", "token"],
    &["bot", "token"],
    &["csrf", "token"],
    &["github", "token"],
    &["api", "key"],
    &["x", "api", "key"],
    &["api", "keys"],
    &["openai", "api", "key"],
    &["basic", "auth"],
    &["client", "secret"],
    &["app", "secret"],
    &["webhook", "secret"],
    &["jwt", "secret"],
    &["secret"],
    &["secret", "key"],
    &["aws", "secret", "access", "key"],
    &["password"],
    &["db", "password"],
    &["user", "password"],
    &["new", "password"],
    &["smtp", "passwd"],
    &["passphrase"],
    &["private", "key"],
    &["encryption", "key"],
    &["signing", "key"],
    &["master", "key"],
    &["storage", "account", "key"],
    &["service", "account", "key"],
    &["credentials"],
    &["db", "credentials"],
];

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

fn snake(words: &[&str]) -> String {
    words.join("_")
}

fn camel(words: &[&str]) -> String {
    words.iter().enumerate().map(|(n, w)| if n == 0 { (*w).to_owned() } else { capital(w) }).collect()
}

fn scream(words: &[&str]) -> String {
    words.join("_").to_uppercase()
}

fn train(words: &[&str]) -> String {
    words.iter().map(|w| capital(w)).collect::<Vec<_>>().join("-")
}

/// A name in one of the conventions, sometimes with something before it.
fn name(rng: &mut Rng) -> String {
    let words = NAMES[rng.below(NAMES.len())];
    match rng.below(9) {
        0 => snake(words),
        1 => camel(words),
        2 => words.join("-"),
        3 => scream(words),
        4 => words.join("."),
        5 => train(words),
        6 => words.iter().map(|w| capital(w)).collect(),
        7 => format!("spring.datasource.{}", words.join("-")),
        _ => format!("{}_{}", rng.word(), snake(words)),
    }
}

fn variable(rng: &mut Rng) -> String {
    let words = NAMES[rng.below(NAMES.len())];
    if rng.chance(2) { scream(words) } else { format!("{}_{}", rng.word().to_uppercase(), scream(words)) }
}

/// A value without a shape of its own that can stand bare in most languages.
fn value(rng: &mut Rng) -> String {
    match rng.below(7) {
        0 => {
            let length = 20 + rng.below(44);
            rng.chars(ALNUM, length)
        }
        1 => rng.chars(HEX, 40),
        2 => format!("{}==", rng.chars(BASE64, 42)),
        3 => rng.uuid(),
        4 => rng.password("!*%^.-_"),
        5 => format!("{}{}", rng.chars("bcdfghkmnpqrstvwxz", 3), rng.chars(LOWNUM, 13)),
        _ => rng.password(""),
    }
}

/// A value with what has to be quoted or escaped.
fn wild(rng: &mut Rng) -> String {
    match rng.below(4) {
        0 => rng.password("!@#$%^&*()+=;:,.<>?/|~ "),
        1 => format!("{}ä{}ß{}", rng.chars(LOWER, 3), rng.chars(ALNUM, 4), rng.chars(ALNUM, 4)),
        2 => {
            let (a, b, c) = (rng.chars(LOWER, 7), rng.chars(LOWER, 6), rng.chars(LOWER, 8));
            format!("{a} {b} {c}")
        }
        _ => rng.password("\"\\'{}[]"),
    }
}

type Maker = fn(&mut Rng) -> Sample;

fn text(kind: &'static str, text: String, secret: String) -> Sample {
    (kind, Said::Text(text), vec![secret])
}

fn object(kind: &'static str, value: Value, secret: String) -> Sample {
    (kind, Said::Value(value), vec![secret])
}

/// Values of objects.
const IN_OBJECTS: &[Maker] = &[
    |r| {
        let v = value(r);
        object("member", json!({name(r): v, "region": "eu-west-1"}), v)
    },
    |r| {
        let v = wild(r);
        object("member with signs", json!({"user": "bob", name(r): v}), v)
    },
    |r| {
        let v = r.chars(LOWER, 9);
        object("member, a word", json!({"login": {name(r): v}}), v)
    },
    |r| {
        let v = r.chars("123456789", 9);
        let n: u64 = v.parse().unwrap_or(1);
        object("member, a number", json!({name(r): n, "count": 3}), v)
    },
    |r| {
        let (a, b) = (value(r), value(r));
        ("member, a list", Said::Value(json!({name(r): [a, {"inner": b}]})), vec![a, b])
    },
    |r| {
        let v = value(r);
        object("member, deep", json!({"a": [{"b": {"c": [[{name(r): v}]]}}]}), v)
    },
    |r| {
        let (a, b) = (value(r), wild(r));
        (
            "env object",
            Said::Value(
                json!({"command": "npx", "env": {"PATH": "/usr/bin", "ANY_SETTING": a, variable(r): b}}),
            ),
            vec![a, b],
        )
    },
    |r| {
        let v = value(r);
        object("env list", json!({"env": ["HOME=/root", format!("{}={v}", variable(r))]}), v)
    },
    |r| {
        let v = value(r);
        object(
            "env pairs",
            json!({"env": [{"name": "LANG", "value": "C"}, {"name": variable(r), "value": v}]}),
            v,
        )
    },
    |r| {
        let v = value(r);
        object("pair", json!([{"name": name(r), "value": v, "enabled": true}]), v)
    },
    |r| {
        let v = value(r);
        object("pair, value first", json!([{"value": v, "key": name(r)}]), v)
    },
    |r| {
        let v = value(r);
        object("headers", json!({"headers": {"Accept": "*/*", "X-Api-Key": v}}), v)
    },
    |r| {
        let v = value(r);
        object("header pairs", json!({"headers": [["accept", "*/*"], ["x-auth-token", v]]}), v)
    },
    |r| {
        let v = format!("{}:{}", r.word(), r.chars(ALNUM, 18));
        let said = base64(&v);
        object("header, Basic", json!({"headers": {"Authorization": format!("Basic {said}")}}), said)
    },
    |r| {
        let v = r.chars(ALNUM, 32);
        let scheme = r.pick(&["Bearer", "token", "Token", "ApiKey", "Bot"]);
        object("header, scheme", json!({"headers": {"authorization": format!("{scheme} {v}")}}), v)
    },
    |r| {
        let v = value(r);
        object("argv, two words", json!({"args": ["deploy", "--password", v, "--verbose"]}), v)
    },
    |r| {
        let v = value(r);
        object("argv, one word", json!(["tool", "login", format!("--api-key={v}")]), v)
    },
    |r| {
        let v = value(r);
        object("argv, variable", json!(["docker", "run", "-e", format!("{}={v}", variable(r)), "image"]), v)
    },
    |r| {
        let v = r.password("");
        object("argv, curl -u", json!(["curl", "-u", format!("bob:{v}"), "https://example.com"]), v)
    },
    |r| {
        let v = r.password("");
        object("argv, mysql -p", json!(["mysql", "-h", "db", "-uroot", format!("-p{v}")]), v)
    },
    |r| {
        let v = value(r);
        object("argv, header", json!(["curl", "-H", format!("X-Api-Key: {v}"), "https://example.com"]), v)
    },
    |r| {
        let v = value(r);
        let inner = json!({name(r): v}).to_string();
        object("JSON in a string", json!({"body": inner}), v)
    },
    |r| {
        let v = wild(r);
        let inner = json!({"data": json!({name(r): v}).to_string()}).to_string();
        object("JSON in a string, twice", json!({"body": inner}), v)
    },
    |r| {
        let (a, b) = (r.chars(ALNUM, 26), r.chars(URLSAFE, 40));
        let jar = json!({"cookies": [{"name": "sid", "value": a, "domain": ".example.com", "path": "/", "secure": true}, {"name": "auth", "value": b}]});
        ("cookie jar", Said::Value(jar), vec![a, b])
    },
    |r| {
        let (a, b) = (r.chars(ALNUM, 26), r.chars(HEX, 32));
        (
            "cookie header",
            Said::Value(json!({"headers": {"Cookie": format!("sid={a}; csrf={b}; lang=en")}})),
            vec![a, b],
        )
    },
    |r| {
        let v = r.chars(URLSAFE, 40);
        object(
            "Set-Cookie header",
            json!({"headers": {"set-cookie": [format!("sid={v}; Path=/; HttpOnly; Secure; SameSite=Lax")]}}),
            v,
        )
    },
    |r| {
        let v = r.chars(ALNUM, 32);
        let name = *r.pick(&["auth", "_auth", "pass"]);
        object("random under a weak name", json!({name: v}), v)
    },
    |r| {
        let v = format!("aZ3{}", r.chars(ALNUM, 37));
        object("random under `key`", json!({"key": v, "id": 7}), v)
    },
];

/// Texts.
const IN_TEXTS: &[Maker] = &[
    |r| {
        let v = value(r);
        text("dotenv", format!("# settings\nPORT=8080\n{}={v}\nDEBUG=false\n", variable(r)), v)
    },
    |r| {
        let v = r.password("!@#%^*+");
        text("dotenv, quoted", format!("A=1\n{}=\"{v}\"\nB=2", variable(r)), v)
    },
    |r| {
        let v = value(r);
        text("export", format!("set -e\nexport {}={v}\n./run.sh", variable(r)), v)
    },
    |r| {
        let v = value(r);
        text("variable before a command", format!("{}={v} npm run deploy -- --fast", variable(r)), v)
    },
    |r| {
        let v = value(r);
        let n = name(r);
        text("YAML", format!("server:\n  host: db.example.com\n  {n}: {v}\n  port: 5432\n"), v)
    },
    |r| {
        let v = r.password("!@#%^*+");
        text(
            "YAML, quoted",
            format!("db:\n  - {}: '{v}'\n    pool: 5\n", snake(NAMES[r.below(NAMES.len())])),
            v,
        )
    },
    |r| {
        let v = r.chars(LOWER, 10);
        text("YAML, a word", format!("database:\n  username: app\n  password: {v}\n"), v)
    },
    |r| {
        let v = value(r);
        text("TOML", format!("[auth]\nuser = \"bob\"\n{} = \"{v}\"\n", snake(NAMES[r.below(NAMES.len())])), v)
    },
    |r| {
        let v = value(r);
        text(
            "INI",
            format!("[default]\nregion = eu-west-1\n{} = {v}\n", snake(NAMES[r.below(NAMES.len())])),
            v,
        )
    },
    |r| {
        let v = value(r);
        text("properties", format!("spring.datasource.username=app\nspring.datasource.password={v}\n"), v)
    },
    |r| {
        let v = value(r);
        text(
            "TypeScript",
            format!("import x from 'y';\nconst {} = \"{v}\";\nrun();", camel(NAMES[r.below(NAMES.len())])),
            v,
        )
    },
    |r| {
        let v = value(r);
        text(
            "Python",
            format!(
                "client = Client(\n    {}='{v}',\n    timeout=30,\n)",
                snake(NAMES[r.below(NAMES.len())])
            ),
            v,
        )
    },
    |r| {
        let v = value(r);
        text(
            "Python dictionary",
            format!("config = {{'{}': '{v}', 'debug': True}}", snake(NAMES[r.below(NAMES.len())])),
            v,
        )
    },
    |r| {
        let v = value(r);
        text("Go", format!("cfg.{} = `{v}`", camel(NAMES[r.below(NAMES.len())])), v)
    },
    |r| {
        let v = value(r);
        text("headers set in code", format!("req.headers[\"x-api-key\"] = \"{v}\";"), v)
    },
    |r| {
        let v = value(r);
        text(
            "member in a text",
            format!("the server said {{\"ok\":true,\"{}\":\"{v}\"}} and closed", name(r)),
            v,
        )
    },
    |r| {
        let v = value(r);
        text("XML", format!("<server><id>x</id><username>u</username><password>{v}</password></server>"), v)
    },
    |r| {
        let v = value(r);
        text("flag", format!("vendor-cli login --user bob --password {v} --quiet"), v)
    },
    |r| {
        let v = r.password("!@#%^*+");
        text("flag, quoted", format!("tool --client-secret '{v}' push"), v)
    },
    |r| {
        let v = value(r);
        text("flag with a sign", format!("helm upgrade x ./x --set db.password={v} --token={v}"), v)
    },
    |r| {
        let v = r.password("");
        text("curl -u", format!("$ curl -sS -u admin:{v} https://example.com/api"), v)
    },
    |r| {
        let v = r.password("");
        text("mysql -p", format!("mysqldump -h db -u root -p{v} app > dump.sql"), v)
    },
    |r| {
        let v = r.password("");
        text("sshpass", format!("sshpass -p {v} ssh root@10.0.0.2 uptime"), v)
    },
    |r| {
        let v = r.password("");
        text("docker login", format!("docker login -u bob -p {v} registry.example.com"), v)
    },
    |r| {
        let v = r.password("");
        text("redis-cli", format!("redis-cli -h cache -a {v} PING"), v)
    },
    |r| {
        let v = r.chars(ALNUM, 32);
        text("PGPASSWORD", format!("PGPASSWORD={v} psql -h db -U app"), v)
    },
    |r| {
        let v = value(r);
        text("curl, header", format!("curl -H 'X-Api-Key: {v}' -H \"Accept: */*\" https://example.com"), v)
    },
    |r| {
        let (a, b) = (r.chars(ALNUM, 26), r.chars(URLSAFE, 30));
        ("curl, cookie", Said::Text(format!("curl -b 'sid={a}; auth={b}' https://example.com")), vec![a, b])
    },
    |r| {
        let v = r.chars(ALNUM, 40);
        let raw =
            format!("GET /v1/me HTTP/1.1\r\nHost: example.com\r\nX-Auth-Token: {v}\r\nAccept: */*\r\n\r\n");
        text("HTTP request", raw, v)
    },
    |r| {
        let (a, b) = (r.chars(ALNUM, 26), r.chars(HEX, 32));
        (
            "HTTP response",
            Said::Text(format!(
                "HTTP/1.1 200 OK\r\nSet-Cookie: sid={a}; Path=/; HttpOnly\r\nSet-Cookie: t={b}; Secure\r\nContent-Length: 0\r\n\r\n"
            )),
            vec![a, b],
        )
    },
    |r| {
        let v = format!("{}:{}", r.word(), r.chars(ALNUM, 18));
        let said = base64(&v);
        text("Authorization: Basic", format!("> Authorization: Basic {said}\n> Accept: */*"), said)
    },
    |r| {
        let v = r.chars(HEX, 40);
        text("Authorization: token", format!("Authorization: token {v}\n"), v)
    },
    |r| {
        let v = value(r);
        text("connection string", format!("Server=db;Database=app;User Id=sa;Password={v};Encrypt=true"), v)
    },
    |r| {
        let v = format!("{}==", r.chars(BASE64, 86));
        text(
            "AccountKey",
            format!(
                "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={v};EndpointSuffix=core.windows.net"
            ),
            v,
        )
    },
    |r| {
        let v = value(r).replace(['=', '+', '/', '%', '^'], "x");
        let n = *r.pick(&["access_token", "api_key", "apikey", "token", "client_secret", "password", "sig"]);
        text(
            "URL parameter",
            format!("GET https://api.example.com/v1/items?limit=5&{n}={v}&page=2 failed"),
            v,
        )
    },
    |r| {
        let v = r.chars(HEX, 64);
        text("signed URL", format!("https://b.s3.amazonaws.com/k?X-Amz-Expires=600&X-Amz-Signature={v}"), v)
    },
    |r| {
        let v = r.chars(DIGITS, 8);
        text("error text", format!("login failed (user=bob, password={v})"), v)
    },
    |r| {
        let v = r.password("!*%");
        text(
            "log line",
            format!("2024-05-01T10:00:00Z ERROR auth: rejected password=\"{v}\" from 10.0.0.9"),
            v,
        )
    },
    |r| {
        let v = r.chars(HEX, 36);
        text(
            "npmrc",
            format!("registry=https://registry.example.com/\n//registry.example.com/:_authToken={v}\n"),
            v,
        )
    },
    |r| {
        let (a, b) = (r.chars(ALNUM, 30), value(r));
        ("JSON and text", Said::Text(format!("{}\n\n{}={b}\n", json!({name(r): a}), variable(r))), vec![a, b])
    },
    |r| {
        let v = value(r);
        let inner = json!({"level1": json!({"level2": json!({name(r): v}).to_string()}).to_string()});
        text("JSON, three levels", inner.to_string(), v)
    },
    |r| {
        let v = r.chars(ALNUM, 24);
        text("Dockerfile", format!("FROM alpine\nENV {}={v}\nRUN true\n", variable(r)), v)
    },
    |r| {
        let v = r.password("");
        text("netrc", format!("machine example.com login bob password {v}\n"), v)
    },
    |r| {
        let v = r.chars(ALNUM, 24);
        text("PowerShell", format!("$env:{} = \"{v}\"\n./run.ps1", variable(r)), v)
    },
    |r| {
        let v = value(r);
        text("printed environment", format!("HOME=/root\nLANG=C\n{}={v}\nTERM=xterm\n", variable(r)), v)
    },
    |r| {
        let v = value(r);
        text("YAML, a block", format!("db:\n  user: app\n  password: |\n    {v}\n  port: 5432\n"), v)
    },
    |r| {
        let v = r.password("");
        text("XML, attributes", format!("<add key=\"ApiKey\" value=\"{v}\"/>"), v)
    },
    |r| {
        let v = r.password("");
        text("SQL", format!("CREATE USER bob IDENTIFIED BY '{v}';"), v)
    },
    |r| {
        let v = r.password("");
        text("call", format!("define('DB_PASSWORD', '{v}');"), v)
    },
    |r| {
        let v = r.chars(ALNUM, 40);
        text("configure set", format!("aws configure set aws_secret_access_key {v}"), v)
    },
    |r| {
        let v = r.password("");
        text("pgpass", format!("db.example.com:5432:app:bob:{v}\n"), v)
    },
];

/// The `n`-th kind.
pub(super) fn sample(rng: &mut Rng, n: usize) -> Sample {
    let all = IN_OBJECTS.len() + IN_TEXTS.len();
    match n % all {
        n if n < IN_OBJECTS.len() => IN_OBJECTS[n](rng),
        n => IN_TEXTS[n - IN_OBJECTS.len()](rng),
    }
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}
