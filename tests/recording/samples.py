"""Secrets of every kind that is to be found, and things that only look like one. All made up, from a seed.

A sample is a JSON value that stands in arguments, results or errors. A secret has needles: texts of which none may be
found anywhere afterwards, the secret itself and a piece from its middle, so that a part that was left is found too.

Written without a look at the redactor: a second opinion on what a secret is.
"""

import base64
import json
import string

ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"
HEX = "0123456789abcdef"
WORDS = "amber birch cedar delta ember fjord grove heron inlet jade kelp lotus maple north ocean pearl quartz river stone thorn".split()

# A piece of a secret of at least this length is a needle of its own.
PIECE = 16


class Sample:
    def __init__(self, kind, value, *secrets):
        self.kind, self.value, self.secrets = kind, value, secrets

    def needles(self):
        for secret in self.secrets:
            yield secret
            if len(secret) >= PIECE + 8:
                middle = (len(secret) - PIECE) // 2
                yield secret[middle:middle + PIECE]


class Maker:
    def __init__(self, rng):
        self.rng = rng

    def chars(self, alphabet, count):
        """Random characters with a digit and both cases in them where the alphabet has them."""
        while True:
            text = "".join(self.rng.choice(alphabet) for _ in range(count))
            if alphabet == HEX or count < 8 or (any(c.isdigit() for c in text) and any(c.islower() for c in text)
                                                and any(c.isupper() for c in text) and text[0] not in "-_" and text[-1] not in "-_"):
                return text

    def one(self, choices):
        return self.rng.choice(choices)

    def word(self):
        return self.one(WORDS)

    def password(self):
        """As people make them; long enough not to be found by accident."""
        return self.one([
            lambda: f"{self.word().title()}-{self.word()}-{self.rng.randrange(10**5, 10**6)}",
            lambda: f"{self.word()}{self.rng.randrange(10**6, 10**7)}!",
            lambda: f"{self.word().title()}{self.word()}{self.rng.randrange(10**4, 10**5)}",
            lambda: self.chars(ALNUM, 14),
        ])()

    def jwt(self):
        part = lambda value: base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).rstrip(b"=").decode()
        body = {"sub": str(self.rng.randrange(10**9)), "name": self.word().title(), "iat": self.rng.randrange(10**9, 2 * 10**9)}
        return f'{part({"alg": "HS256", "typ": "JWT"})}.{part(body)}.{self.chars(URLSAFE, 43)}'


NAMES = ["password", "passwd", "token", "accessToken", "access_token", "ACCESS_TOKEN", "x-api-key", "X-Api-Key", "api_key", "apiKey", "APIKey", "API_KEY",
         "basic_auth", "client_secret", "clientSecret", "secret", "refreshToken", "refresh_token", "private_key", "db_password", "userPassword",
         "AWS_SECRET_ACCESS_KEY", "secretAccessKey", "github_token", "auth_token", "authToken", "bearerToken", "webhookSecret", "signing_secret", "passphrase",
         "credentials", "session_token", "encryptionKey", "smtp-password", "newPassword", "old_password", "id_token", "csrf_token", "OPENAI_API_KEY"]


def named(m):
    """A value that nothing but its name gives away."""
    secret = m.one([m.password, lambda: m.chars(ALNUM, 24), lambda: m.chars(HEX, 32)])()
    name = m.one(NAMES)
    value = m.one([
        lambda: {name: secret},
        lambda: {"user": m.word(), name: secret, "active": True},
        lambda: {"config": {"list": [{"id": 1, name: secret}]}},
        lambda: {"headers": [{"name": name, "value": secret}]},
    ])()
    return Sample("named", value, secret)


def bearer(m):
    secret = m.chars(URLSAFE, m.one([24, 40, 64]))
    value = m.one([
        lambda: {"headers": {"Authorization": f"Bearer {secret}"}},
        lambda: {"text": f"GET /v1/items HTTP/1.1\nHost: example.com\nAuthorization: Bearer {secret}\n\n"},
        lambda: {"note": f"call it with `Authorization: bearer {secret}` and it works"},
        lambda: {"log": f"request sent, Bearer {secret}, status 200"},
    ])()
    return Sample("bearer", value, secret)


def basic(m):
    secret = base64.b64encode(f"{m.word()}:{m.password()}".encode()).decode()
    value = m.one([lambda: {"headers": {"authorization": f"Basic {secret}"}}, lambda: {"text": f"Authorization: Basic {secret}\nAccept: */*"}])()
    return Sample("basic", value, secret.rstrip("="))


def jwt(m):
    secret = m.jwt()
    value = m.one([lambda: {"data": secret}, lambda: {"text": f"the session is {secret}, valid for an hour"}, lambda: [secret, 1]])()
    return Sample("jwt", value, secret, secret.rsplit(".", 1)[1])


def prefixed(kind, *forms):
    def make(m):
        prefix, alphabet, count = m.one(forms)
        secret = prefix + m.chars(alphabet, count)
        value = m.one([
            lambda: {"value": secret},
            lambda: {"text": f"use {secret} for the demo"},
            lambda: {"output": f"line one\nfound key={secret};\nline three"},
            lambda: [f"--with={secret}", "next"],
            lambda: {"markdown": f"| name | value |\n|---|---|\n| it | `{secret}` |"},
        ])()
        return Sample(kind, value, secret, secret[len(prefix):])
    return make


sk = prefixed("sk-", ("sk-", ALNUM, 48), ("sk-proj-", ALNUM, 64), ("sk-ant-api03-", URLSAFE, 86), ("sk-svcacct-", ALNUM, 58))
github = prefixed("github", ("ghp_", ALNUM, 36), ("gho_", ALNUM, 36), ("ghs_", ALNUM, 36), ("ghu_", ALNUM, 36), ("github_pat_", ALNUM, 82))
slack = prefixed("slack", ("xoxb-", ALNUM, 40), ("xoxp-", ALNUM, 60), ("xapp-1-", ALNUM, 50))
google = prefixed("google", ("AIza", ALNUM, 35), ("ya29.", URLSAFE, 60), ("GOCSPX-", URLSAFE, 28))


def aws(m):
    key_id = "AKIA" + "".join(m.one(string.ascii_uppercase + "234567") for _ in range(16))
    secret = m.chars(ALNUM + "/+", 40)
    value = m.one([
        lambda: {"text": f"[default]\naws_access_key_id = {key_id}\naws_secret_access_key = {secret}\n"},
        lambda: {"AccessKeyId": key_id, "SecretAccessKey": secret},
        lambda: {"text": f"export AWS_ACCESS_KEY_ID={key_id}\nexport AWS_SECRET_ACCESS_KEY={secret}"},
    ])()
    return Sample("aws", value, key_id, secret)


def pem(m):
    label = m.one(["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY"])
    lines = [m.chars(ALNUM + "+/", 64) for _ in range(m.one([3, 12]))] + [m.chars(ALNUM, 30) + "=="]
    block = f"-----BEGIN {label}-----\n" + "\n".join(lines) + f"\n-----END {label}-----\n"
    value = m.one([lambda: {"content": block}, lambda: {"file": f"# key of {m.word()}\n{block}# end\n"}])()
    return Sample("pem", value, *lines)


def url(m):
    password = m.chars(ALNUM, 18)
    value, secret = m.one([
        lambda: ({"url": f"postgres://app:{password}@db.example.com:5432/shop"}, password),
        lambda: ({"text": f"clone https://{m.word()}:{password}@git.example.com/a/b.git first"}, password),
        lambda: ({"text": f"redis://:{password}@cache.example.com:6379/0"}, password),
        lambda: ({"url": f"https://api.example.com/v1?access_token={password}&page=2"}, password),
        lambda: ({"text": f"see https://api.example.com/items?limit=5&api_key={password}#top"}, password),
    ])()
    return Sample("url", value, secret)


def cookie(m):
    secret = m.chars(ALNUM, 32)
    value = m.one([
        lambda: {"headers": {"Cookie": f"theme=dark; session={secret}"}},
        lambda: {"headers": {"Set-Cookie": f"sid={secret}; Path=/; HttpOnly"}},
        lambda: {"text": f"HTTP/1.1 200 OK\r\nSet-Cookie: auth={secret}; Secure\r\n\r\nhello"},
        lambda: {"text": f"> GET / HTTP/1.1\n> Cookie: PHPSESSID={secret}\n"},
    ])()
    return Sample("cookie", value, secret)


def env_block(m):
    secret = m.one([m.password, lambda: m.chars(ALNUM, 20)])()
    name = m.one(["SERVICE_SETTING", "MY_THING", "DATABASE", "ACME_LOGIN", "PRIVATE_CHANNEL"])
    value = m.one([
        lambda: {"command": "npx", "args": ["-y", "thing"], "env": {"PATH": "/usr/bin", name: secret}},
        lambda: {"mcpServers": {"a": {"command": "x", "env": {name: secret, "NODE_ENV": "production"}}}},
    ])()
    return Sample("env", value, secret)


def entropy(m):
    secret = m.chars(ALNUM, m.one([32, 40, 64]))
    return Sample("entropy", {m.one(["auth", "key", "pass", "credential"]): secret, "size": 4}, secret)


def command_line(m):
    secret = m.chars(ALNUM, 20)
    value = m.one([
        lambda: {"command": f"curl -s -H 'Authorization: Bearer {secret}' https://api.example.com/me"},
        lambda: {"command": f"curl -u admin:{secret} https://example.com/"},
        lambda: {"command": f"mysql -h db -u root --password={secret} shop < dump.sql"},
        lambda: {"command": f"API_KEY={secret} npm run deploy"},
        lambda: {"command": f"docker run -e DB_PASSWORD={secret} image:1"},
        lambda: {"command": f"export GITHUB_TOKEN={secret} && gh pr list"},
        lambda: {"command": "tool", "args": ["--api-key", secret, "--verbose"]},
        lambda: {"command": f"tool login --token {secret} --user me"},
        lambda: {"command": f"PGPASSWORD={secret} psql -h db shop"},
    ])()
    return Sample("command line", value, secret)


def dotenv(m):
    secret = m.chars(ALNUM, 24)
    name = m.one(["API_KEY", "DB_PASSWORD", "STRIPE_SECRET", "JWT_SECRET", "SLACK_TOKEN"])
    value = m.one([
        lambda: {"content": f"# settings\nPORT=8080\n{name}={secret}\nDEBUG=1\n"},
        lambda: {"content": f'{name}="{secret}"\n'},
        lambda: {"content": f"server:\n  port: 80\n  {name.lower()}: {secret}\n"},
    ])()
    return Sample("settings file", value, secret)


KINDS = [named, bearer, basic, jwt, sk, github, slack, google, aws, pem, url, cookie, env_block, entropy, command_line, dotenv]


def in_string(m, sample):
    """The same as JSON in a string, once or twice."""
    value = {"body": json.dumps(sample.value)}
    if m.rng.random() < 0.3:
        value = {"content": [{"type": "text", "text": json.dumps(value)}]}
    return Sample(f"{sample.kind} in JSON in a string", value, *sample.secrets)


def hidden(rng, count):
    """`count` samples with secrets, every kind equally often, a quarter of them as JSON within strings."""
    m, found = Maker(rng), []
    for n in range(count):
        sample = KINDS[n % len(KINDS)](m)
        found.append(in_string(m, sample) if n // len(KINDS) % 4 == 3 else sample)
    return found


def lookalikes(rng, count):
    """`count` values that must come through byte for byte."""
    m = Maker(rng)
    number = lambda: rng.randrange(1, 10**6)
    uuid = lambda: "-".join(m.chars(HEX, n) for n in (8, 4, 4, 4, 12))
    forms = [
        lambda: {"max_tokens": number(), "maxTokens": number(), "prompt_tokens": number(), "usage": {"total_tokens": number()}},
        lambda: {"nextPageToken": m.chars(ALNUM, 20), "items": [number()]},
        lambda: {"next_page_token": m.chars(ALNUM, 12), "pageToken": m.chars(ALNUM, 8)},
        lambda: {"author": f"{m.word().title()} {m.word().title()}", "authority": m.word(), "authors": [m.word()]},
        lambda: {"commit": m.chars(HEX, 40), "tree": m.chars(HEX, 40), "short": m.chars(HEX, 7)},
        lambda: {"id": uuid(), "parent_id": uuid()},
        lambda: {"sha256": m.chars(HEX, 64), "etag": f'"{m.chars(HEX, 32)}"'},
        lambda: {"primary_key": "id", "sort_key": m.word(), "foreignKey": m.word(), "keyboard": "de"},
        lambda: {"text": f"the bearer of this letter is {m.word().title()} of {m.word().title()}"},
        lambda: {"text": f"a basic {m.word()} and a basic income"},
        lambda: {"text": f"please enter your password and press {m.word()}"},
        lambda: {"text": f"sk-{m.word()} and sk-learn-{m.word()} are packages"},
        lambda: {"text": f"Forgot your password? Ask {m.word().title()} for a new token."},
        lambda: {"password": "${DB_PASSWORD}", "token": "$TOKEN", "n": number()},
        lambda: {"api_key": "<your-api-key>", "hint": m.word()},
        lambda: {"token_type": "bearer", "expires_in": number(), "token_count": number()},
        lambda: {"cookie_recipe": f"{number()} g of flour", "cookieConsent": True},
        lambda: {"url": f"https://{m.word()}.example.com:8443/a/b?page={number()}&sort=asc#top"},
        lambda: {"remote": f"git@github.com:{m.word()}/{m.word()}.git", "mail": f"{m.word()}@example.com"},
        lambda: {"path": f"/home/{m.word()}/.config/{m.word()}/tokens.json", "secretName": f"{m.word()}-tls"},
        lambda: {"code": f"let token = lexer.next_token(); // {m.word()}\nif token.kind == Kind::{m.word().title()} {{ return None; }}"},
        lambda: {"code": f"def {m.word()}(self, password: str, *, secret: bytes) -> Token:\n    return self.tokens[{number()}]"},
        lambda: {"image": base64.b64encode(rng.randbytes(300)).decode(), "mimeType": "image/png"},
        lambda: {"at": f"2026-0{rng.randrange(1, 10)}-1{rng.randrange(10)}T12:00:00.{number()}Z", "version": f"1.{number()}.0-rc.1"},
        lambda: {"passwordPolicy": {"minLength": number()}, "passwordless": True, "password_length": 12},
        lambda: {"public_key": f"ssh-ed25519-of-{m.word()}", "publicKeyId": number()},
        lambda: {"monkey": m.word(), "turkey": number(), "hotkey": f"ctrl+{m.one(string.ascii_lowercase)}"},
        lambda: {"class": f"btn-{m.word()} is-{m.word()} {m.word()}-{number()}", "key": m.word()},
        lambda: {"passed": number(), "bypass": False, "compass": m.word(), "pass_rate": 0.5},
        lambda: {"dependencies": {f"js-tokens": "^9.0.0", "keytar": "~7.9.0", "cookie": f"0.{rng.randrange(9)}.1"}},
        lambda: {"type": "object", "properties": {"password": {"type": "string", "description": f"of {m.word()}"}}, "required": ["password"]},
        lambda: {"sql": f"SELECT token_id, key FROM {m.word()} WHERE author = ? LIMIT {number()}"},
    ]
    return [forms[n % len(forms)]() for n in range(count)]
