//! A command line as it is shown: up to the name of a package or script whatever is known to be no value, behind it the names of options.

use super::{KIND_WORDS, Own, hidden};
use crate::plan::secrets::masked_text;
use serde_json::Value;

/// Options without a value that may stand before the name of a package, script, module or image, and words of the program itself.
const PLAIN: [&str; 22] = [
    "-y",
    "--yes",
    "-q",
    "--quiet",
    "-i",
    "-t",
    "-it",
    "--rm",
    "--init",
    "--interactive",
    "-m",
    "-u",
    "-A",
    "-S",
    "run",
    "exec",
    "dlx",
    "x",
    "tool",
    "start",
    "--silent",
    "--bun",
];
/// Options whose value, the next word, is hidden, and behind which the name still comes.
const WITH_VALUE: [&str; 8] =
    ["-e", "--env", "-v", "--volume", "--mount", "--name", "--network", "--env-file"];
/// Programs whose first other word is a package of a registry.
const PACKAGES: [&str; 9] = ["npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "uvx", "uv", "pipx"];
/// Programs whose first other word is an image.
const IMAGES: [&str; 3] = ["docker", "podman", "nerdctl"];
/// Programs whose first other word is a script (or, behind `-m`, a module).
const SCRIPTS: [&str; 10] =
    ["node", "deno", "bun", "tsx", "python", "python3", "ruby", "php", "java", "perl"];
/// What a script's name ends with.
const ENDS: [&str; 12] =
    [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".py", ".rb", ".php", ".jar", ".pl"];
/// A longer name is none that a person gives.
const LONGEST: usize = 80;
/// A longer part of an option's name is no word.
const LONGEST_WORD: usize = 14;
/// Scopes, as an entry gives them to the proxy.
const SCOPES: [&str; 3] = ["user", "project", "local"];
/// What the names of our own variables begin with.
const OURS: &str = "BIR_UPSTREAM_";

/// What the first word of a kind of program is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Package,
    Image,
    Script,
}

impl Own {
    /// A program with its arguments.
    pub(super) fn line(&self, items: &[Value]) -> Vec<Value> {
        let Some((program, rest)) = items.split_first() else { return Vec::new() };
        let shown = program.as_str().map_or_else(|| self.value(program), |text| self.program(text).into());
        let mut all = vec![shown];
        all.extend(self.arguments(program.as_str().unwrap_or_default(), rest));
        all
    }

    /// The arguments of a program.
    pub(super) fn arguments(&self, program: &str, items: &[Value]) -> Vec<Value> {
        if self.is_proxy(program) {
            return self.of_proxy(items);
        }
        let mut name = kind(program);
        let mut is_value = false;
        let mut all = Vec::with_capacity(items.len());
        for item in items {
            let Some(word) = item.as_str() else {
                name = None;
                all.push(self.value(item));
                continue;
            };
            let shown = if std::mem::take(&mut is_value) {
                hidden(word)
            } else if name.is_some() && PLAIN.contains(&word) {
                word.to_owned()
            } else if name == Some(Name::Image) && WITH_VALUE.contains(&word) {
                is_value = true;
                word.to_owned()
            } else {
                match name.take() {
                    Some(kind) if is_name(kind, word) => self.said(word),
                    _ => option(word, &self.known),
                }
            };
            all.push(shown.into());
        }
        all
    }

    /// Our own options, and the command behind them.
    fn of_proxy(&self, items: &[Value]) -> Vec<Value> {
        let end = items.iter().position(|item| item == "--");
        let (front, behind) = items.split_at(end.map_or(items.len(), |at| at + 1));
        let mut before = "";
        let mut all = Vec::with_capacity(items.len());
        for item in front {
            let word = item.as_str().unwrap_or_default();
            let shown = match before {
                "--server-name" if self.names.contains(word) => word.to_owned(),
                "--scope" if SCOPES.contains(&word) => word.to_owned(),
                "--transport" if KIND_WORDS.contains(&word) => word.to_owned(),
                "--url" => self.address(word),
                "--url-env" if is_ours(word) => word.to_owned(),
                "--header-env" => match word.split_once(": ") {
                    Some((header, variable)) if is_ours(variable) => {
                        format!("{}: {variable}", hidden(header))
                    }
                    _ => hidden(word),
                },
                _ if word == "--" => word.to_owned(),
                _ => option(word, &[]),
            };
            before = word;
            all.push(if item.is_string() { shown.into() } else { self.value(item) });
        }
        all.extend(self.line(behind));
        all
    }
}

fn is_ours(variable: &str) -> bool {
    let rest = variable.strip_prefix(OURS);
    rest.is_some_and(|rest| {
        ["URL", "HEADERS"].contains(&rest)
            || rest
                .strip_prefix("HEADER_")
                .is_some_and(|n| n.len() < 4 && n.bytes().all(|b| b.is_ascii_digit()))
    })
}

fn kind(program: &str) -> Option<Name> {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(name);
    if PACKAGES.contains(&name) {
        Some(Name::Package)
    } else if IMAGES.contains(&name) {
        Some(Name::Image)
    } else if SCRIPTS.contains(&name) {
        Some(Name::Script)
    } else {
        None
    }
}

/// Whether a word is a name of its kind, and nothing else.
fn is_name(kind: Name, word: &str) -> bool {
    if word.is_empty() || word.len() > LONGEST || word.starts_with('-') {
        return false;
    }
    let all =
        |more: &str| word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || more.contains(c));
    match kind {
        // Names are in small letters; an address (`git+https://…`) is none.
        Name::Package => {
            let (name, version) = match word.char_indices().skip(1).find(|(_, c)| *c == '@') {
                Some((at, _)) => (&word[..at], &word[at + 1..]),
                None => (word, ""),
            };
            let is_version = version.len() <= 20
                && version.chars().all(|c| c.is_ascii_alphanumeric() || ".^~-".contains(c));
            let is_scoped = !name.contains('/') || (name.starts_with('@') && name.matches('/').count() == 1);
            all("@/._-^~") && is_version && is_scoped && !name[1..].contains('@')
        }
        // `HOST:PORT/NAME:TAG`; behind `@` a digest.
        Name::Image => all("/._-:"),
        Name::Script => {
            let is_path = ENDS.iter().any(|end| word.ends_with(end))
                && word.chars().all(|c| c.is_alphanumeric() || "/\\._-:~".contains(c))
                && !word.contains("://");
            // A module.
            is_path || all("._")
        }
    }
}

/// An option without its value; any other word is hidden, and so is what of a name is known to be a credential.
fn option(word: &str, known: &[String]) -> String {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    if word == "--" {
        return word.to_owned();
    }
    if let Some(long) = name.strip_prefix("--") {
        let is_word = |part: &str| {
            (1..=LONGEST_WORD).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_lowercase())
        };
        if long.len() <= 3 * LONGEST_WORD && long.split(['-', '_']).all(is_word) {
            let value = value.map_or_else(String::new, |value| format!("={}", hidden(value)));
            return format!("--{}{value}", masked_text(long, known));
        }
        return hidden(word);
    }
    let mut chars = word.chars();
    match (chars.next(), chars.next()) {
        (Some('-'), Some(letter)) if letter.is_ascii_alphabetic() => {
            format!("-{letter}{}", hidden(chars.as_str()))
        }
        _ => hidden(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(words: &[&str]) -> String {
        let own = Own { names: ["db".to_owned()].into(), ..Own::default() };
        let items: Vec<Value> = words.iter().map(|word| json!(word)).collect();
        let shown = own.line(&items);
        shown.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn up_to_the_package_everything_and_then_the_names_of_options() {
        for (words, shown) in [
            (
                &["npx", "-y", "@scope/pkg@1.2.3", "-p", "s3cret"][..],
                "npx -y @scope/pkg@1.2.3 -p …(6 characters)",
            ),
            (
                &["npx", "pkg", "-uUSER:S3", "--pat", "s", "word"],
                "npx pkg -u…(7 characters) --pat …(1 character) …(4 characters)",
            ),
            (&["npx", "pkg", "--token=s3", "X=s3"], "npx pkg --token=…(2 characters) …(4 characters)"),
            (&["npx", "--from", "s3", "pkg"], "npx --from …(2 characters) …(3 characters)"),
            (&["npx", "https://h/s3"], "npx …(12 characters)"),
            (&["npx", "git+https://s3@h/x"], "npx …(18 characters)"),
            (&["/opt/server", "s3", "--pat", "s3"], "/opt/server …(2 characters) --pat …(2 characters)"),
            (&["node", "/a/b.js", "s3"], "node /a/b.js …(2 characters)"),
            (&["node", "-e", "code"], "node -e …(4 characters)"),
            (&["python", "-m", "a_b.c", "s3"], "python -m a_b.c …(2 characters)"),
            (
                &["docker", "run", "--rm", "-e", "X=s3", "h/image:1", "s3"],
                "docker run --rm -e …(4 characters) h/image:1 …(2 characters)",
            ),
            (
                &["npx", "pkg", "--S3CRET", "--a1b2c3", "-"],
                "npx pkg …(8 characters) …(8 characters) …(1 character)",
            ),
        ] {
            assert_eq!(line(words), shown);
        }
    }

    #[test]
    fn our_own_options_are_shown_with_what_is_ours() {
        for (words, shown) in [
            (
                &["/b/bir-proxy", "--server-name", "db", "--scope", "user", "--", "npx", "-y", "pkg", "s3"][..],
                "/b/bir-proxy --server-name db --scope user -- npx -y pkg …(2 characters)",
            ),
            (
                &["/b/bir-proxy", "--server-name", "s3", "--url", "https://h/s3", "--transport", "s3"],
                "/b/bir-proxy --server-name …(2 characters) --url https://h…(3 characters) --transport …(2 characters)",
            ),
            (
                &[
                    "/b/bir-proxy",
                    "--header-env",
                    "X: BIR_UPSTREAM_HEADER_1",
                    "--header-env",
                    "X: S3",
                    "--bearer-env",
                    "S3",
                ],
                "/b/bir-proxy --header-env …(1 character): BIR_UPSTREAM_HEADER_1 --header-env …(5 characters) --bearer-env …(2 characters)",
            ),
            (&["/b/bir-proxy", "--url-env", "BIR_UPSTREAM_S3"], "/b/bir-proxy --url-env …(15 characters)"),
        ] {
            assert_eq!(line(words), shown);
        }
    }
}
