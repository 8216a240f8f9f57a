//! What looks like a secret and is none: it must come out with every byte as it was.

use super::Said;
use super::rng::{ALNUM, BASE64, DIGITS, HEX, LOWER, LOWNUM, Rng, UPPER, URLSAFE};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

type OfValue = (&'static str, fn(&mut Rng) -> Value);
type OfText = (&'static str, fn(&mut Rng) -> String);

const VALUES: &[OfValue] = &[
    (
        "max_tokens",
        |r| json!({"model": "m-1", "max_tokens": 100 + r.below(4000), "maxTokens": 5, "max_output_tokens": 9, "min-tokens": 1}),
    ),
    (
        "usage",
        |r| json!({"usage": {"input_tokens": r.below(999), "output_tokens": r.below(999), "prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "cached_tokens": 0, "reasoningTokens": 7}}),
    ),
    ("nextPageToken", |r| json!({"items": [], "nextPageToken": r.chars(URLSAFE, 40)})),
    ("next_page_token", |r| json!({"next_page_token": r.chars(ALNUM, 64), "page_token": "CAoQAA"})),
    ("NextToken", |r| json!({"NextToken": format!("{}==", r.chars(BASE64, 60))})),
    ("ContinuationToken", |r| json!({"IsTruncated": true, "NextContinuationToken": r.chars(BASE64, 44)})),
    ("syncToken", |r| json!({"syncToken": r.chars(URLSAFE, 24), "nextSyncToken": r.chars(URLSAFE, 24)})),
    ("progressToken", |r| json!({"_meta": {"progressToken": r.chars(ALNUM, 12)}})),
    (
        "cursor",
        |r| json!({"pageInfo": {"endCursor": STANDARD.encode(format!("cursor:v2:{}", r.chars(DIGITS, 12))), "hasNextPage": true}}),
    ),
    (
        "author",
        |r| json!({"author": r.word(), "authors": ["a", "b"], "authored_at": "2024-05-01T10:00:00Z", "authorId": r.below(99999), "co_author": "x"}),
    ),
    (
        "authority",
        |r| json!({"authority": format!("{}.example.com", r.word()), "certificateAuthority": "x1", "authoritative": true}),
    ),
    (
        "auth words",
        |_| json!({"auth": "none", "auth_method": "password", "authType": "oauth2", "authenticated": true, "auth_url": "https://example.com/login"}),
    ),
    (
        "keys of tables",
        |r| json!({"primary_key": "id", "foreignKey": "user_id", "sort_key": r.word(), "partitionKey": "tenant", "cache_key": format!("user:{}", r.below(999)), "key_id": r.below(99)}),
    ),
    (
        "key of an issue",
        |r| json!({"key": format!("PROJ-{}", r.below(9999)), "summary": "Reset of passwords fails"}),
    ),
    (
        "key of a keyboard",
        |r| json!({"key": *r.pick(&["Enter", "ArrowDown", "Control+Shift+R", "a", "F12"]), "code": "KeyA", "keyCode": 13}),
    ),
    (
        "key of a bucket",
        |r| json!({"key": format!("uploads/2024/05/{}-IMG_{}.jpg", r.word(), r.below(99999)), "bucket": "b"}),
    ),
    ("key, a UUID", |r| json!({"key": r.uuid()})),
    ("key, a digest", |r| json!({"key": r.chars(HEX, 40), "etag": format!("\"{}\"", r.chars(HEX, 32))})),
    (
        "keys",
        |_| json!({"keys": ["id", "name"], "keywords": ["a", "b"], "keyboard": "de", "monkey": 1, "hotkey": "ctrl+k"}),
    ),
    (
        "publicKey",
        |r| json!({"publicKey": format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} bob@host", r.chars(BASE64, 43))}),
    ),
    (
        "public_key, PEM",
        |r| json!({"public_key": format!("-----BEGIN PUBLIC KEY-----\n{}\n{}\n-----END PUBLIC KEY-----\n", r.chars(BASE64, 64), r.chars(BASE64, 60))}),
    ),
    (
        "UUID",
        |r| json!({"id": r.uuid(), "requestId": r.uuid(), "traceId": r.chars(HEX, 32), "spanId": r.chars(HEX, 16)}),
    ),
    ("session id", |r| json!({"session_id": r.uuid(), "sessionId": r.chars(ALNUM, 20)})),
    (
        "digest",
        |r| json!({"digest": format!("sha256:{}", r.chars(HEX, 64)), "md5": r.chars(HEX, 32), "sha": r.chars(HEX, 40)}),
    ),
    (
        "integrity",
        |r| json!({"resolved": "https://example.com/x/-/x-1.0.0.tgz", "integrity": format!("sha512-{}==", r.chars(BASE64, 86))}),
    ),
    (
        "image",
        |r| json!({"type": "image", "data": format!("iVBORw0KGgo{}", r.chars(BASE64, 400)), "mimeType": "image/png"}),
    ),
    ("data URL", |r| json!({"src": format!("data:image/png;base64,iVBORw0KGgo{}=", r.chars(BASE64, 200))})),
    (
        "base64 of a text",
        |r| json!({"encoding": "base64", "content": STANDARD.encode(format!("# {}\n\nHello, here is the readme of a project.\n", r.word()))}),
    ),
    (
        "ULID and snowflake",
        |r| json!({"ulid": format!("01H{}", r.chars("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 23)), "snowflake": format!("1{}", r.chars(DIGITS, 17))}),
    ),
    (
        "dates",
        |r| json!({"created": format!("2024-0{}-1{}T10:00:00.000Z", 1 + r.below(9), r.below(9)), "expires_in": 3600, "refresh_token_expires_in": 7200}),
    ),
    ("numbers", |r| json!([1.50, r.below(99999), 1e100, -0.0, 12_345_678_901_234_567_890_u64])),
    (
        "token words",
        |r| json!({"token_type": "bearer", "token_endpoint": "https://example.com/oauth/token", "tokenizer": "cl100k_base", "token_count": r.below(99), "tokenUri": "https://example.com/token"}),
    ),
    (
        "tokens of a text",
        |r| json!({"tokens": [r.word(), r.word(), "."], "tokens_used": 12, "stop_token": "</s>", "eos_token": "<|endoftext|>"}),
    ),
    (
        "design tokens",
        |r| json!({"design_tokens": {"color": {"primary": format!("#{}", r.chars(HEX, 6))}}, "colorToken": "blue-500"}),
    ),
    (
        "password words",
        |r| json!({"password_policy": {"minLength": 8 + r.below(9), "expires": true}, "passwordless": true, "passwordLength": 12, "password_reset_url": "https://example.com/reset"}),
    ),
    (
        "secret words",
        |r| json!({"secretary": r.word(), "secretName": "db-prod", "secret_arn": "arn:aws:secretsmanager:eu-west-1:1:secret:x", "secretsCount": 4}),
    ),
    (
        "cookie words",
        |r| json!({"cookie_recipe": "200g flour", "cookieConsent": true, "cookie_banner_text": format!("We use cookies. {}", r.word())}),
    ),
    (
        "pass words",
        |r| json!({"pass": true, "passed": r.below(99), "pass_rate": 0.5, "bypass": "no", "passenger": "Bob", "compass": "N", "passport_country": "DE"}),
    ),
    (
        "null and empty",
        |_| json!({"token": null, "password": "", "secret": false, "api_key": true, "credentials": {}, "tokens": []}),
    ),
    (
        "references",
        |r| json!({"password": "${DB_PASSWORD}", "token": "{{token}}", "api_key": format!("op://vault/{}/key", r.word()), "secret": "$SECRET"}),
    ),
    (
        "masks",
        |r| json!({"password": "********", "token": "xxxxxxxx", "secret": "<your-secret>", "api_key": "[REDACTED]", "note": r.word()}),
    ),
    (
        "fetch options",
        |r| json!({"credentials": *r.pick(&["include", "omit", "same-origin"]), "mode": "cors"}),
    ),
    (
        "schema",
        |r| json!({"type": "object", "properties": {"token": {"type": "string", "description": "The token to use"}, "password": {"type": "string", "minLength": 8}, "apiKey": {"type": ["string", "null"]}, "n": {"type": "integer", "maximum": r.below(99)}}, "required": ["token", "password"]}),
    ),
    (
        "env, harmless",
        |_| json!({"env": {"PATH": "/usr/bin:/bin", "HOME": "/home/bob", "LANG": "C.UTF-8", "NODE_ENV": "production", "TERM": "xterm", "CI": "1"}}),
    ),
    ("env, a word", |r| json!({"env": *r.pick(&["production", "staging"]), "environment": "production"})),
    (
        "environment of a deployment",
        |r| json!({"environment": {"name": r.word(), "url": "https://example.com", "id": r.below(99)}}),
    ),
    (
        "kinds",
        |r| json!({"type": *r.pick(&["token", "password", "secret", "cookie"]), "name": "credentials", "label": "API key"}),
    ),
    (
        "headers, harmless",
        |r| json!({"headers": {"content-type": "application/json", "x-request-id": r.uuid(), "etag": format!("W/\"{}\"", r.chars(HEX, 20)), "traceparent": format!("00-{}-{}-01", r.chars(HEX, 32), r.chars(HEX, 16)), "www-authenticate": "Bearer realm=\"x\""}}),
    ),
    ("names of headers", |_| json!(["Authorization", "X-Api-Key", "Cookie", "Accept"])),
    ("argv, harmless", |r| json!(["git", "log", "--author", r.word(), "--max-count", "5", "-p", "-u"])),
    ("argv, files of secrets", |r| {
        json!([
            "tool",
            "--password-file",
            "/run/secrets/db",
            "--token-type",
            "bearer",
            "--key-id",
            r.word(),
            "--page-token",
            r.chars(ALNUM, 12)
        ])
    }),
    ("argv, ssh", |_| {
        json!(["ssh", "-i", "/home/bob/.ssh/id_ed25519", "-p", "2222", "host", "mkdir", "-p", "/srv/app"])
    }),
    ("cookie preferences", |r| json!({"name": "cookie", "value": r.word()})),
    (
        "pair, harmless",
        |r| json!([{"name": "max_tokens", "value": r.below(999)}, {"name": "author", "value": "Bob"}, {"key": "region", "value": "eu-west-1"}]),
    ),
    (
        "coordinates",
        |r| json!({"lat": 52.5200, "lon": 13.4050, "hash": r.chars("0123456789bcdefghjkmnpqrstuvwxyz", 9)}),
    ),
    (
        "phone and address",
        |r| json!({"phone": format!("+49 30 {}", r.chars(DIGITS, 7)), "mac": "00:1b:63:84:45:e6", "ip": "2001:db8::ff00:42:8329"}),
    ),
    (
        "a path",
        |r| json!({"path": format!("/home/bob/{}/secrets/token.ts", r.word()), "cwd": "/srv/password-manager", "pwd": "/srv/app"}),
    ),
    ("a signature", |_| json!({"signature": "fn main() -> Result<(), Error>", "keySignature": "C# minor"})),
    (
        "a name with sk-",
        |r| json!({"slug": format!("task-{}-2024-05-01-review-of-the-{}", r.below(9999), r.word()), "id": format!("disk-usage-{}", r.chars(LOWNUM, 24)), "locale": "sk-SK"}),
    ),
    (
        "a name with dashes",
        |r| json!({"service": format!("risk-assessment-{}-{}", r.word(), r.chars(LOWER, 5)), "desk": "desk-lamp-0123456789abcdef"}),
    ),
    (
        "AKIA elsewhere",
        |r| json!({"city": "Slovakia", "name": format!("AKIA{}", r.chars(UPPER, 4)), "file": format!("MAKIA{}", r.chars(UPPER, 16))}),
    ),
    (
        "odd prefixes",
        |r| json!({"graph": format!("high_{}", r.word()), "pkg": "npm_config_cache", "hf": "hf_hub_download", "a": "r8_g8_b8", "b": "ghp_", "c": "xoxb-", "d": "glpat-"}),
    ),
    (
        "emails and handles",
        |r| json!({"email": format!("{}@example.com", r.word()), "handle": "@bob", "ssh": "git@github.com:team/app.git"}),
    ),
];

const TEXTS: &[OfText] = &[
    ("prose, passwords", |r| {
        format!(
            "Your password must be at least {} characters long. Forgot your password? Reset it in the settings.",
            8 + r.below(9)
        )
    }),
    ("prose, a colon", |_| {
        "About the password: it should be long, and the token: it expires after a day.".into()
    }),
    ("prose, tokens", |r| {
        format!(
            "The model has a limit of {} tokens; the token expired, so a new token is needed.",
            r.below(99999)
        )
    }),
    ("prose, bearer", |r| {
        format!(
            "The bearer of bad news came to {}. Use a bearer token, Basic authentication or basic knowledge.",
            r.word()
        )
    }),
    ("prose, prefixes", |_| {
        "GitHub tokens begin with ghp_ or github_pat_, Slack's with xoxb-, and keys of OpenAI with sk-."
            .into()
    }),
    ("prose, secrets", |r| {
        format!("The secret of {} is patience; the secret: start early. No credentials are needed.", r.word())
    }),
    ("prose, cookies", |r| format!("Cookie: 200g flour, {} eggs. Cookies are delicious.", 1 + r.below(9))),
    ("prose, keys", |_| "Press any key: Enter or Escape. The key = the idea; the primary key is id.".into()),
    ("libraries", |_| "pip install sk-learn sk-video; uses sk-learn-contrib and task-queue-manager".into()),
    ("git log", |r| {
        format!(
            "commit {}\nAuthor: Bob <bob@example.com>\nDate:   Wed May 1 10:00:00 2024 +0200\n\n    Add token refresh\n",
            r.chars(HEX, 40)
        )
    }),
    ("git, short", |r| {
        format!("{} fix password reset\n{} rename secret\n", r.chars(HEX, 7), r.chars(HEX, 9))
    }),
    ("ls", |r| {
        format!(
            "-rw-r--r-- 1 bob bob {} May  1 10:00 token.rs\n-rw-r--r-- 1 bob bob 12 May  1 10:00 password_reset.html\n",
            r.below(99999)
        )
    }),
    ("JavaScript, call", |r| {
        format!(
            "const token = await getToken();\nif (!token) return;\nconst {} = token.split('.');\n",
            r.word()
        )
    }),
    ("JavaScript, environment", |_| {
        "const client = new Client({ apiKey: process.env.API_KEY, token, password: config.password });".into()
    }),
    ("JavaScript, lexer", |_| {
        "while ((token = lexer.next()) !== null) { tokens.push(token.value); if (token.type === 'string') i += 1; }".into()
    }),
    ("TypeScript, types", |_| {
        "interface Login { user: string; password: string; token?: string; apiKey: string | undefined; }\nfunction f(token: string, secret: Buffer): void {}".into()
    }),
    ("Python, parameters", |r| {
        format!(
            "def login(user, password=None, token: str = None, secret: Optional[str] = None):\n    self.token = token\n    self.{} = password\n",
            r.word()
        )
    }),
    ("Python, environment", |_| {
        "token = os.environ[\"API_TOKEN\"]\npassword = os.getenv(\"DB_PASSWORD\")\nsecret = get_secret()\n"
            .into()
    }),
    ("Rust", |_| {
        "let api_key = std::env::var(\"API_KEY\")?;\nfn next(&self, token: &Token) -> Option<Token> { match token { Token::Plus => None, _ => self.token.clone() } }".into()
    }),
    ("Rust, structs", |_| {
        "pub struct Login {\n    pub password: String,\n    pub token: Option<Secret>,\n    pub(crate) api_key: Arc<str>,\n}\n".into()
    }),
    ("Go", |_| "password := r.FormValue(\"user\")\ntoken, err := parse(src)\ncfg.Token = token\n".into()),
    ("Java", |_| {
        "private final String password;\nprivate Token token;\nthis.password = password;\nString token = request.getHeader(name);".into()
    }),
    ("C", |_| {
        "static token_t *next_token(parser *p) { token = p->token; token->kind = TOK_END; return token; }"
            .into()
    }),
    ("SQL", |_| {
        "CREATE TABLE tokens (id BIGINT PRIMARY KEY, user_id BIGINT, token_hash BYTEA NOT NULL, password_changed_at TIMESTAMPTZ);\nSELECT token_id FROM tokens WHERE author = 'bob';".into()
    }),
    ("YAML, references", |_| {
        "env:\n  TOKEN: ${{ secrets.GITHUB_TOKEN }}\n  PASSWORD: ${DB_PASSWORD}\nsecrets: inherit\n".into()
    }),
    ("YAML, Kubernetes", |r| {
        format!(
            "env:\n  - name: DB_PASSWORD\n    valueFrom:\n      secretKeyRef:\n        name: {}\n        key: password\nsecretName: db-prod\n",
            r.word()
        )
    }),
    ("YAML, OpenAPI", |_| {
        "password:\n  type: string\n  format: password\n  minLength: 8\ntoken:\n  type: string\n  description: The token of the user.\n".into()
    }),
    ("shell, references", |_| {
        "export TOKEN=$TOKEN\ncurl -H \"Authorization: Bearer $TOKEN\" -H \"X-Api-Key: ${API_KEY}\" https://example.com\nPASSWORD=$(cat /run/secrets/db) ./run".into()
    }),
    ("help text", |_| {
        "  --token TOKEN        the token to use\n  --password <PASSWORD>  password of the user\n  --api-key KEY        key\n  --password-file PATH\n  --max-tokens N       most tokens\n".into()
    }),
    ("template", |_| {
        "Authorization: Bearer <token>\nAuthorization: Bearer ${token}\nCookie: <cookie>\n".into()
    }),
    ("HTML", |_| {
        "<form><label for=\"password\">Password</label><input type=\"password\" name=\"password\" id=\"password\" autocomplete=\"current-password\"><input type=\"hidden\" name=\"page\" value=\"2\"></form>".into()
    }),
    ("CSS", |r| {
        format!(
            ":root {{ --token-color: #{}; --secret-margin: 4px; }}\n.mask-image {{ mask-size: 20px; }}\n.task-{} {{ color: red }}",
            r.chars(HEX, 6),
            r.below(99)
        )
    }),
    ("errors of parsers", |r| {
        format!(
            "SyntaxError: Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON at position {}\nerror: expected one of `;` or `}}`, found token: `{{`",
            r.below(999)
        )
    }),
    ("HTTP, challenge", |_| {
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"files\"\r\nContent-Length: 0\r\n\r\n"
            .into()
    }),
    ("HTTP, caching", |r| {
        format!(
            "HTTP/1.1 200 OK\r\nETag: \"{}\"\r\nX-Request-Id: {}\r\nDate: Wed, 01 May 2024 10:00:00 GMT\r\n\r\n",
            r.chars(HEX, 32),
            r.uuid()
        )
    }),
    ("URLs", |r| {
        format!(
            "see https://example.com:8080/@bob/post-{} and https://medium.com/@user/x, http://localhost:3000/@fs/srv/app, ssh://git@example.com/o/r",
            r.below(999)
        )
    }),
    ("URL, page token", |r| {
        format!("GET /v1/items?page_token={}&sort_key=name&max_tokens=5&author=bob", r.chars(ALNUM, 30))
    }),
    ("URL, OAuth words", |_| {
        "https://example.com/oauth/authorize?response_type=code&client_id=app&scope=token+read&grant_type=authorization_code".into()
    }),
    ("UUIDs in a log", |r| {
        format!(
            "2024-05-01T10:00:00Z INFO request {} took {} ms, session {}",
            r.uuid(),
            r.below(999),
            r.uuid()
        )
    }),
    ("container", |r| {
        format!("docker.io/library/alpine@sha256:{}\nCONTAINER {}\n", r.chars(HEX, 64), r.chars(HEX, 12))
    }),
    ("lock file", |r| {
        format!("[[package]]\nname = \"token\"\nversion = \"0.1.0\"\nchecksum = \"{}\"\n", r.chars(HEX, 64))
    }),
    ("certificate", |r| {
        format!(
            "-----BEGIN CERTIFICATE-----\n{}\n{}\n-----END CERTIFICATE-----\n",
            r.chars(BASE64, 64),
            r.chars(BASE64, 64)
        )
    }),
    ("ssh public key", |r| {
        format!("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{} bob@host\n", r.chars(BASE64, 180))
    }),
    ("known hosts", |r| {
        format!(
            "example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{}\nSHA256:{}\n",
            r.chars(BASE64, 43),
            r.chars(BASE64, 43)
        )
    }),
    ("base64 in a text", |r| {
        format!(
            "decoded from {} it reads well",
            STANDARD.encode(format!("the quick brown {} jumps over the lazy dog", r.word()))
        )
    }),
    ("stack trace", |r| {
        format!(
            "TypeError: token is undefined\n    at Lexer.next (/srv/app/src/token.ts:{}:7)\n    at parsePassword (password.ts:1:1)",
            r.below(999)
        )
    }),
    ("test output", |r| {
        format!(
            "test auth::token_is_refreshed ... ok\ntest password::too_short ... ok\ntest result: ok. {} passed; 0 failed",
            r.below(99)
        )
    }),
    ("diff of code", |_| {
        "@@ -1,3 +1,3 @@\n-const token = parse(a);\n+const token = parse(b);\n password: string;\n".into()
    }),
    ("Markdown", |_| {
        "| name | type |\n|---|---|\n| `token` | string |\n| `password` | string |\n\n**Token**: the *token* of the page. **Secret**: none.\n".into()
    }),
    ("JSON of code, in a text", |r| {
        json!({"max_tokens": r.below(99), "author": "Bob", "nextPageToken": "CAEQAA", "token_type": "bearer"})
            .to_string()
    }),
    ("GraphQL", |_| {
        "query($token: String!, $password: String) { viewer(token: $token) { author { login } pageInfo { endCursor } } }".into()
    }),
    ("regular expression", |_| {
        "/(token|secret|password|api[_-]?key|authorization|cookie)/i matches too much".into()
    }),
    ("chess and music", |_| "1. e4 e5 2. Nf3 Nc6; key: C major; pass: 3; auth: none".into()),
    ("ini of a formatter", |r| {
        format!(
            "[format]\nmax_tokens = {}\nauthor = bob\nkey_case = lower\ntoken_style = short\n",
            r.below(99)
        )
    }),
    ("passwd file", |_| "root:x:0:0:root:/root:/bin/bash\nbob:x:1000:1000:Bob,,,:/home/bob:/bin/sh\n".into()),
    ("arithmetic", |r| {
        format!("tokens = {} * 4\ntoken_count += 1\npass += 2\nkey == other_key\n", r.below(99))
    }),
    ("SQL, prepared", |r| {
        format!("UPDATE users SET password = ?, token = :token WHERE id = {}", r.below(99))
    }),
    ("files of keys", |_| {
        "SSL_KEY=/etc/ssl/key.pem\nprivate_key: /etc/x.pem\nssh_key: ~/.ssh/id_rsa\n".into()
    }),
    ("questions", |r| {
        format!("Which token: A or B? What is the password policy of {}? Is secret=true allowed?", r.word())
    }),
];

/// The `n`-th kind.
pub(super) fn sample(rng: &mut Rng, n: usize) -> (&'static str, Said) {
    let n = n % (VALUES.len() + TEXTS.len());
    if n < VALUES.len() {
        (VALUES[n].0, Said::Value(VALUES[n].1(rng)))
    } else {
        let (kind, make) = TEXTS[n - VALUES.len()];
        (kind, Said::Text(make(rng)))
    }
}
