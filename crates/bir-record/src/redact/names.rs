//! Does a name say that its value is secret?
//!
//! A name is cut into [`Segments`], and whole segments are compared. The last segment is the head of the compound and decides: a `token_count` is a count and a `cookieRecipe` a
//! recipe. Segments that say nothing about what a thing is (`password_value`, `tokenRaw`) are looked through. `key` and `token` are decided by the
//! segment before them: an `api_key` is a secret and a `sort_key` is not, a `pageToken` is a place in a list.

use super::placeholder::Kind;
use super::segments::Segments;
use super::words::{
    CODE_OF, FILE_OF, KEY_OF, LOOKED_THROUGH, NO_KEY, NO_TOKEN, PASS_OF, PASSWORDS, PIN_OF, TOKENS, TOKENS_OF,
};

/// What the value under a name is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Nothing special.
    Plain,
    /// A secret, whatever it looks like.
    Secret(Kind),
    /// A secret, unless it is a path: `pwd` is a password or the working directory.
    Pwd,
    /// A secret if it looks like one: `auth`, `pass`, `tokens`.
    Weak,
    /// A secret if it looks random: a bare `key`.
    WeakKey,
    /// A cookie header, a cookie jar, or a biscuit.
    Cookie,
    /// Environment variables; `true` when every name in it is one.
    Env(bool),
    /// One entry of a list of environment variables.
    EnvItem,
}

fn is_in(word: &[u8], list: &[&str]) -> bool {
    list.iter().any(|w| w.as_bytes() == word)
}

/// The last segment with digits at its end taken off: `password2`.
fn without_digits(word: &[u8]) -> &[u8] {
    let end = word.iter().rposition(|b| !b.is_ascii_digit()).map_or(word.len(), |at| at + 1);
    &word[..end]
}

/// What the value under `name` is, by the built-in rules.
#[cfg(test)]
pub(super) fn classify(name: &str) -> Class {
    let segments = Segments::of(name);
    class_of(&segments)
}

/// What the value under a name is, by the built-in rules.
pub(super) fn class_of(segments: &Segments) -> Class {
    let mut count = segments.count;
    if count == 0 {
        return Class::Plain;
    }
    if let Some(class) = environment(segments) {
        return class;
    }
    while count > 0 {
        let word = segments.get(count - 1);
        if !is_in(word, LOOKED_THROUGH) && !word.iter().all(u8::is_ascii_digit) {
            break;
        }
        count -= 1;
    }
    if count == 0 {
        return Class::Plain;
    }
    let last = without_digits(segments.get(count - 1));
    let before = if count > 1 { segments.get(count - 2) } else { b"" };
    let caps = segments.caps && count > 1;
    let key = Class::Secret(Kind::Key);
    match last {
        b"pwd" if count == 1 => Class::Pwd,
        b"oldpwd" => Class::Plain,
        b"token" if is_in(before, NO_TOKEN) => Class::Plain,
        b"token" => Class::Secret(Kind::Token),
        b"tokens" if is_in(before, TOKENS_OF) => Class::Secret(Kind::Token),
        b"tokens" if count == 1 => Class::Weak,
        b"key" if count == 1 => Class::WeakKey,
        b"key" if is_in(before, FILE_OF) => Class::Secret(Kind::KeyFile),
        b"key" | b"keys" if is_in(before, KEY_OF) => key,
        b"key" if segments.get(0) == b"x" => key,
        b"key" if caps && !is_in(before, NO_KEY) => Class::Secret(Kind::AnyKey),
        // `client-key-data` of a kubeconfig.
        b"data" if before == b"key" => key,
        b"code" | b"codes" if is_in(before, CODE_OF) => key,
        b"seed" if matches!(before, b"otp" | b"totp" | b"mfa" | b"wallet") => key,
        b"phrase" if matches!(before, b"seed" | b"recovery" | b"secret" | b"mnemonic" | b"backup") => key,
        b"passe" if before == b"de" => key,
        b"kubeconfig" => Class::Pwd,
        b"pin" if count == 1 || is_in(before, PIN_OF) => Class::Secret(Kind::Pin),
        b"auth" if is_in(before, &["basic", "http", "proxy", "registry", "docker", "digest", "bearer"]) => {
            key
        }
        b"auth" => Class::Weak,
        b"pass" if is_in(before, PASS_OF) || caps => key,
        b"pass" if count == 1 => Class::Weak,
        b"cookie" | b"cookies" => Class::Cookie,
        b"bearer" => Class::Secret(Kind::Bearer),
        b"jwt" => Class::Secret(Kind::Jwt),
        b"pat"
            if is_in(before, &["github", "gitlab", "gh", "azure", "ado", "devops", "jira"])
                || segments.caps =>
        {
            Class::Secret(Kind::Token)
        }
        b"pat" => Class::Weak,
        _ if is_in(last, PASSWORDS) => key,
        _ if is_in(last, TOKENS) => Class::Secret(Kind::Token),
        // Glued words: PGPASSWORD, mysqlpassword, openaiapikey.
        _ if ["password", "passwd", "passphrase", "apikey"].iter().any(|w| last.ends_with(w.as_bytes())) => {
            key
        }
        _ => Class::Plain,
    }
}

fn environment(segments: &Segments) -> Option<Class> {
    let last = segments.get(segments.count - 1);
    let before = if segments.count > 1 { segments.get(segments.count - 2) } else { b"" };
    match last {
        b"env" | b"envvars" | b"environ" | b"envs" => Some(Class::Env(true)),
        b"vars" | b"variables" if matches!(before, b"env" | b"environment") => Some(Class::Env(true)),
        b"environment" => Some(Class::Env(false)),
        _ => None,
    }
}

/// The rule of 0.2.12, by substring: `/(token|secret|password|api[_-]?key|authorization|cookie)/i`.
pub(super) fn legacy(name: &str) -> bool {
    let bytes = &name.as_bytes()[name.len().saturating_sub(1024)..];
    let has = |word: &str| bytes.windows(word.len()).any(|w| w.eq_ignore_ascii_case(word.as_bytes()));
    ["token", "secret", "password", "apikey", "api_key", "api-key", "authorization", "cookie"]
        .iter()
        .any(|w| has(w))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: &str) -> bool {
        matches!(classify(name), Class::Secret(_) | Class::Pwd)
    }

    #[test]
    fn names_of_secrets() {
        for name in [
            "token",
            "accessToken",
            "access_token",
            "x-api-key",
            "basic_auth",
            "api_keys",
            "APIKey",
            "apiKey",
            "API_KEY",
            "apikey",
            "DIFY_KEY",
            "client_secret",
            "passwd",
            "pwd",
            "passphrase",
            "private_key",
            "privateKey",
            "credentials",
            "authorization",
            "Authorization",
            "Proxy-Authorization",
            "PGPASSWORD",
            "MYSQL_PWD",
            "db_pass",
            "DB_PASS",
            "secret",
            "secretValue",
            "password_confirmation",
            "newPassword",
            "password2",
            "AWS_SECRET_ACCESS_KEY",
            "aws_session_token",
            "refresh_token",
            "id_token",
            "csrf-token",
            "X-Vault-Token",
            "PRIVATE-TOKEN",
            "x-goog-api-key",
            "Ocp-Apim-Subscription-Key",
            "secret_key_base",
            "SECRET_KEY",
            "signingKey",
            "webhook_secret",
            "bearer",
            "jwt",
            "otp",
            "API_KEY_2",
            "OPENAI_API_KEY",
            "github_pat",
            "NPM_TOKEN",
            "session_token",
            "encryption_key",
            "spring.datasource.password",
            "_authToken",
            "userPassword",
            "dbpassword",
            "vault_pass",
            "PAT",
            "mfa_code",
            "mfaCode",
            "otp_seed",
            "recovery_code",
            "recovery_codes",
            "backupCodes",
            "seed_phrase",
            "SEED_PHRASE",
            "mnemonic",
            "kubeconfig",
            "contraseña",
            "CONTRASEÑA",
            "mot_de_passe",
            "motDePasse",
            "client-key-data",
            "pin",
            "cardPin",
        ] {
            assert!(secret(name), "{name}: {:?}", classify(name));
        }
    }

    #[test]
    fn names_of_other_things() {
        for name in [
            "max_tokens",
            "maxTokens",
            "nextPageToken",
            "next_page_token",
            "pageToken",
            "NextToken",
            "tokens_used",
            "author",
            "authority",
            "primary_key",
            "sort_key",
            "key",
            "publicKey",
            "public_key",
            "token_count",
            "passwordless",
            "keyboard",
            "secretary",
            "tokenizer",
            "token_type",
            "token_endpoint",
            "secretName",
            "secret_arn",
            "password_policy",
            "passwordLength",
            "cookie_recipe",
            "keyword",
            "keys",
            "foreignKey",
            "cache_key",
            "PRIMARY_KEY",
            "PUBLIC_KEY",
            "PARTITION_KEY",
            "monkey",
            "turkey",
            "hotkey",
            "progressToken",
            "continuation_token",
            "stop_token",
            "eos_token",
            "total_tokens",
            "prompt_tokens",
            "input_tokens",
            "design_tokens",
            "authenticated",
            "auth_url",
            "session_id",
            "sessionId",
            "bypass",
            "compass",
            "passenger",
            "pass_rate",
            "passed",
            "accessKeyId",
            "key_id",
            "apiKeyName",
            "expires_in",
            "refresh_token_expires_in",
            "oauth",
            "cwd",
            "signature",
            "environment_id",
            "value",
            "",
            "text",
            "new",
            "status_code",
            "country_codes",
            "seed",
            "SHORTCUT_KEY",
            "JSON_KEY",
            "certificate-authority-data",
            "gpio_pin",
            "phrase",
        ] {
            assert!(!secret(name), "{name}: {:?}", classify(name));
        }
    }

    #[test]
    fn names_that_need_a_look_at_the_value() {
        for name in ["auth", "pass", "tokens", "_auth", "pat"] {
            assert_eq!(classify(name), Class::Weak, "{name}");
        }
        assert_eq!(classify("key"), Class::WeakKey);
        for name in ["cookie", "Set-Cookie", "cookies", "session_cookie"] {
            assert_eq!(classify(name), Class::Cookie, "{name}");
        }
        for name in ["env", "envVars", "env_vars", "environmentVariables", "childEnv", "Env"] {
            assert_eq!(classify(name), Class::Env(true), "{name}");
        }
        assert_eq!(classify("environment"), Class::Env(false));
    }

    #[test]
    fn the_old_rule() {
        for name in ["max_tokens", "nextPageToken", "myApi-Key", "COOKIES", "apikeys", "Authorizations"] {
            assert!(legacy(name), "{name}");
        }
        for name in ["author", "key", "passwd"] {
            assert!(!legacy(name), "{name}");
        }
    }

    #[test]
    fn long_and_strange_names_do_no_harm() {
        classify(&"aB".repeat(5000));
        classify(&"ü".repeat(500));
        classify(&"_".repeat(500));
        assert!(secret(&format!("{}_password", "x".repeat(500))));
    }
}
