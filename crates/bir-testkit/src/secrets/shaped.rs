//! Secrets that are known by their own shape, as their issuers write them, in the middle of anything.

use super::rng::{ALNUM, BASE64, DIGITS, HEX, LOWNUM, Rng, UPPER, URLSAFE};
use super::{Said, Sample};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;

/// A secret as it is written: what is not random before it, and the random parts.
struct Shape {
    kind: &'static str,
    written: String,
    parts: Vec<String>,
}

fn prefixed(kind: &'static str, prefix: &str, body: String) -> Shape {
    Shape { kind, written: format!("{prefix}{body}"), parts: vec![body] }
}

type Maker = fn(&mut Rng) -> Shape;

/// Shapes of one word, that can stand in any place of any text.
const WORDS: &[Maker] = &[
    |r| prefixed("OpenAI, old", "sk-", format!("{}T3BlbkFJ{}", r.chars(ALNUM, 20), r.chars(ALNUM, 20))),
    |r| prefixed("OpenAI, project", "sk-proj-", r.chars(URLSAFE, 74) + "T3BlbkFJ" + &r.chars(ALNUM, 74)),
    |r| prefixed("OpenAI, service account", "sk-svcacct-", r.chars(ALNUM, 60)),
    |r| prefixed("OpenRouter", "sk-or-v1-", r.chars(HEX, 64)),
    |r| prefixed("Anthropic", "sk-ant-api03-", r.chars(URLSAFE, 92) + "AA"),
    |r| prefixed("Anthropic, OAuth", "sk-ant-oat01-", r.chars(URLSAFE, 92) + "AA"),
    |r| prefixed("DeepSeek", "sk-", r.chars(HEX, 32)),
    |r| prefixed("GitHub", "ghp_", r.chars(ALNUM, 36)),
    |r| prefixed("GitHub, OAuth", "gho_", r.chars(ALNUM, 36)),
    |r| prefixed("GitHub, app", "ghs_", r.chars(ALNUM, 36)),
    |r| prefixed("GitHub, user of an app", "ghu_", r.chars(ALNUM, 36)),
    |r| prefixed("GitHub, refresh", "ghr_", r.chars(ALNUM, 76)),
    |r| {
        prefixed(
            "GitHub, fine-grained",
            "github_pat_",
            format!("{}_{}", r.chars(ALNUM, 22), r.chars(ALNUM, 59)),
        )
    },
    |r| prefixed("GitLab", "glpat-", r.chars(URLSAFE, 19) + "x"),
    |r| prefixed("GitLab, routable", "glpat-", format!("{}.01.{}", r.chars(URLSAFE, 27), r.chars(LOWNUM, 9))),
    |r| prefixed("AWS id", "AKIA", r.chars(UPPER, 16)),
    |r| prefixed("AWS id, temporary", "ASIA", r.chars(UPPER, 16)),
    |r| {
        prefixed(
            "Slack, bot",
            &format!("xoxb-{}-{}-", r.chars("123456789", 12), r.chars("123456789", 13)),
            r.chars(ALNUM, 24),
        )
    },
    |r| prefixed("Slack, user", &format!("xoxp-{}-", r.chars("123456789", 11)), r.chars(HEX, 32)),
    |r| {
        prefixed(
            "Slack, app",
            &format!("xapp-1-A{}-{}-", r.chars(UPPER, 10), r.chars("123456789", 13)),
            r.chars(HEX, 64),
        )
    },
    |r| prefixed("Google API", "AIza", r.chars(URLSAFE, 34) + "Q"),
    |r| prefixed("Google, client secret", "GOCSPX-", r.chars(URLSAFE, 27) + "q"),
    |r| prefixed("Google, access", "ya29.", format!("a0{}", r.chars(URLSAFE, 130))),
    |r| prefixed("npm", "npm_", r.chars(ALNUM, 36)),
    |r| prefixed("PyPI", "pypi-AgEIcHlwaS5vcmc", r.chars(URLSAFE, 90) + "x"),
    |r| prefixed("Hugging Face", "hf_", r.chars("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 34)),
    |r| prefixed("Stripe", "sk_live_", r.chars(ALNUM, 24)),
    |r| prefixed("Stripe, test", "sk_test_", r.chars(ALNUM, 99)),
    |r| prefixed("Stripe, restricted", "rk_live_", r.chars(ALNUM, 24)),
    |r| prefixed("Groq", "gsk_", r.chars(ALNUM, 52)),
    |r| prefixed("bir", "bir_pat_", r.chars(URLSAFE, 42) + "x"),
    |r| jwt(r, "JWT, HS256", r#"{"alg":"HS256","typ":"JWT"}"#, 43),
    |r| jwt(r, "JWT, RS256", r#"{"alg":"RS256","kid":"k1","typ":"JWT"}"#, 342),
];

fn jwt(r: &mut Rng, kind: &'static str, header: &str, signature: usize) -> Shape {
    let claims = format!(
        r#"{{"sub":"{}","name":"{}","iat":1516239022,"jti":"{}"}}"#,
        r.chars(DIGITS, 10),
        r.word(),
        r.uuid()
    );
    let (head, claims) = (URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = r.chars(URLSAFE, signature - 1) + "8";
    Shape { kind, written: format!("{head}.{claims}.{signature}"), parts: vec![claims, signature] }
}

/// Shapes that are more than a word.
const PHRASES: &[Maker] = &[
    |r| {
        let v = r.chars(ALNUM, 40);
        Shape { kind: "Bearer", written: format!("Bearer {v}"), parts: vec![v] }
    },
    |r| {
        let v = format!("{}=", r.chars("ABCDEFabcdef0123456789-._~+/", 30));
        Shape { kind: "bearer, lower case", written: format!("bearer {v}"), parts: vec![v] }
    },
    |r| {
        let v = STANDARD.encode(format!("{}:{}", r.word(), r.chars(ALNUM, 20)));
        Shape { kind: "Basic", written: format!("Basic {v}"), parts: vec![v] }
    },
    |r| {
        let (id, secret) = (r.chars(UPPER, 16), r.chars(BASE64, 37) + "aA1");
        let written = match r.below(3) {
            0 => format!("AWS_ACCESS_KEY_ID=AKIA{id}\nAWS_SECRET_ACCESS_KEY={secret}"),
            1 => format!("[default]\naws_access_key_id = AKIA{id}\naws_secret_access_key = {secret}"),
            _ => format!("AKIA{id},{secret}"),
        };
        Shape { kind: "AWS pair", written, parts: vec![id, secret] }
    },
    |r| pem(r, "RSA PRIVATE KEY", 13),
    |r| pem(r, "PRIVATE KEY", 26),
    |r| pem(r, "EC PRIVATE KEY", 3),
    |r| pem(r, "OPENSSH PRIVATE KEY", 6),
    |r| pem(r, "ENCRYPTED PRIVATE KEY", 20),
    |r| pem(r, "PGP PRIVATE KEY BLOCK", 9),
    |r| url(r, "URL, PostgreSQL", "postgres://app:", "@db.example.com:5432/app"),
    |r| url(r, "URL, MySQL", "mysql+pymysql://root:", "@127.0.0.1/app?charset=utf8"),
    |r| url(r, "URL, MongoDB", "mongodb+srv://app:", "@cluster0.example.net/?retryWrites=true"),
    |r| url(r, "URL, Redis without a user", "redis://:", "@cache:6379/0"),
    |r| url(r, "URL, AMQP", "amqps://user:", "@mq.example.com/vhost"),
    |r| url(r, "URL, git over https", "https://oauth2:", "@git.example.com/team/app.git"),
    |r| url(r, "URL, a token alone", "https://", "@git.example.com/team/app.git"),
    |r| url(r, "URL, JDBC", "jdbc:postgresql://db/app?user=app&password=", "&ssl=true"),
    |r| {
        let v = format!("T{}/B{}/{}", r.chars(UPPER, 8), r.chars(UPPER, 10), r.chars(ALNUM, 24));
        Shape {
            kind: "Slack webhook",
            written: format!("https://hooks.slack.com/services/{v}"),
            parts: vec![v],
        }
    },
    |r| {
        let (a, b) = (r.chars(ALNUM, 26), r.chars(URLSAFE, 40));
        Shape {
            kind: "Cookie",
            written: format!("Cookie: session={a}; id={b}; theme=dark"),
            parts: vec![a, b],
        }
    },
    |r| {
        let v = r.chars(URLSAFE, 40) + "x";
        Shape {
            kind: "Set-Cookie",
            written: format!(
                "Set-Cookie: connect.sid={v}; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; HttpOnly"
            ),
            parts: vec![v],
        }
    },
];

/// The lines of a key, between its armour.
fn pem(r: &mut Rng, label: &str, lines: usize) -> Shape {
    let mut body: Vec<String> = (0..lines).map(|_| r.chars(BASE64, 64)).collect();
    body.push(r.chars(BASE64, 30) + "==");
    let kind = match label {
        "RSA PRIVATE KEY" => "PEM, RSA",
        "PRIVATE KEY" => "PEM, PKCS 8",
        "EC PRIVATE KEY" => "PEM, EC",
        "OPENSSH PRIVATE KEY" => "PEM, OpenSSH",
        "ENCRYPTED PRIVATE KEY" => "PEM, encrypted",
        _ => "PEM, PGP",
    };
    let header = if label.starts_with("RSA") && r.chance(2) { "Proc-Type: 4,ENCRYPTED\n\n" } else { "" };
    Shape {
        kind,
        written: format!("-----BEGIN {label}-----\n{header}{}\n-----END {label}-----\n", body.join("\n")),
        parts: body,
    }
}

fn url(r: &mut Rng, kind: &'static str, before: &str, after: &str) -> Shape {
    let v = match r.below(3) {
        0 => r.password(""),
        1 => r.chars(ALNUM, 24),
        _ => format!("{}%40{}%21", r.chars(ALNUM, 10), r.chars(ALNUM, 10)),
    };
    // A token that stands alone is long, or it could not be told from a name.
    let v = if before.ends_with("//") { format!("x7{}", r.chars(ALNUM, 24)) } else { v };
    Shape { kind, written: format!("{before}{v}{after}"), parts: vec![v] }
}

/// A text around a secret.
fn around(rng: &mut Rng, written: &str) -> String {
    let w = rng.word();
    match rng.below(12) {
        0 => written.to_owned(),
        1 => format!("found {written} in {w}.txt"),
        2 => format!("{w}: {written}\n"),
        3 => format!("use ({written}), then go on"),
        4 => format!("`{written}`"),
        5 => format!("const {w} = '{written}';"),
        6 => format!("{w}={written}"),
        7 => {
            format!("Error: request to {w} failed: 401 Unauthorized ({written})\n    at fetch (index.js:1:2)")
        }
        8 => format!("a\tb\n{w}\t{written}\tok\n"),
        9 => format!("<p>{written}</p>"),
        10 => json!({"log": format!("got {written}"), "n": 1.50}).to_string(),
        _ => format!("diff --git a/x b/x\n@@ -1 +1 @@\n-{w}\n+{written}\n"),
    }
}

/// The `n`-th kind.
pub(super) fn sample(rng: &mut Rng, n: usize) -> Sample {
    let all = WORDS.len() + PHRASES.len();
    let n = n % all;
    let Shape { kind, written, parts } =
        if n < WORDS.len() { WORDS[n](rng) } else { PHRASES[n - WORDS.len()](rng) };
    let said = match rng.below(5) {
        0 => Said::Value(json!({rng.word(): written})),
        1 => Said::Value(json!({"items": [{"id": 1, "note": around(rng, &written)}], "total": 1})),
        2 if n < WORDS.len() => Said::Value(json!({written: true, "shown": "no"})),
        3 => Said::Value(json!([rng.word(), written])),
        _ => Said::Text(around(rng, &written)),
    };
    (kind, said, parts)
}
