//! A server's name, when none is given: the word by which a person would call it.
//!
//! A program is called by its file name. What only runs others (`npx`, `uvx`, `python`, `docker run` …) is looked through
//! for what it runs, and a file with an everyday name (`index.js`, `server.py`) is called by its folder. The result has
//! only letters, digits, `_` and `-`, which every host accepts as a key.

/// When nothing else is left.
const FALLBACK: &str = "server";

/// Names of files and folders that say nothing.
const EVERYDAY: [&str; 20] = [
    "index",
    "main",
    "server",
    "app",
    "cli",
    "start",
    "run",
    "__main__",
    "stdio",
    "mcp",
    "dist",
    "build",
    "out",
    "src",
    "lib",
    "bin",
    "target",
    "release",
    "debug",
    "node_modules",
];

/// Options of a runner that take the next word as their value. Every other option stands alone.
const NPM_VALUES: [&str; 6] = ["-p", "--package", "-w", "--workspace", "--prefix", "--registry"];
const UV_VALUES: [&str; 9] =
    ["--from", "--with", "--python", "-p", "--directory", "--project", "--index-url", "--spec", "--env-file"];
const PYTHON_VALUES: [&str; 2] = ["-X", "-W"];
const SCRIPT_VALUES: [&str; 10] = [
    "-r",
    "--require",
    "--import",
    "--loader",
    "-cp",
    "-classpath",
    "--config",
    "--env-file",
    "-C",
    "--conditions",
];
const ENV_VALUES: [&str; 4] = ["-u", "--unset", "-C", "--chdir"];
/// Options of `docker run` that stand alone; every other one takes a value.
const DOCKER_FLAGS: [&str; 14] = [
    "--rm",
    "--init",
    "--interactive",
    "--tty",
    "--detach",
    "--privileged",
    "--read-only",
    "--publish-all",
    "--quiet",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--help",
    "--sig-proxy",
    "--use-api-socket",
];
/// The same as letters, which may stand together (`-it`).
const DOCKER_LETTERS: &str = "itdqP";

/// A name for the server that this command starts.
pub(crate) fn of_command(program: &str, args: &[String]) -> String {
    let mut words = vec![program];
    words.extend(args.iter().map(String::as_str));
    clean(&look_through(&words))
}

/// A name for the server at this URL: the first telling label of its host.
pub(crate) fn of_url(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, r)| r);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(""),
        None => authority.split(':').next().unwrap_or(""),
    };
    let labels: Vec<&str> = host.split('.').filter(|l| !l.is_empty()).collect();
    if labels.len() < 2 || host.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return clean(host);
    }
    let telling = labels[..labels.len() - 1]
        .iter()
        .find(|l| !["www", "api", "mcp", "app"].contains(&l.to_lowercase().as_str()));
    clean(telling.unwrap_or(&labels[0]))
}

fn look_through(words: &[&str]) -> String {
    let Some((program, args)) = words.split_first() else { return FALLBACK.into() };
    let name = stem(program);
    let own = || name.to_string();
    let first = args.first().copied().unwrap_or("");
    let rest = args.get(1..).unwrap_or_default();
    match (name.to_lowercase().as_str(), first) {
        ("npx" | "bunx" | "pnpx", _) => package(positional(args, &NPM_VALUES)).unwrap_or_else(own),
        ("npm" | "pnpm" | "yarn" | "bun", "exec" | "dlx" | "x") => {
            package(positional(rest, &NPM_VALUES)).unwrap_or_else(own)
        }
        ("uvx", _) => package(positional(args, &UV_VALUES)).unwrap_or_else(own),
        ("pipx", "run") => package(positional(rest, &UV_VALUES)).unwrap_or_else(own),
        ("uv", "tool") if rest.first() == Some(&"run") => {
            package(positional(&rest[1..], &UV_VALUES)).unwrap_or_else(own)
        }
        ("uv", _) => uv_run(args).unwrap_or_else(own),
        ("docker" | "podman" | "nerdctl", "run") => image(rest).unwrap_or_else(own),
        ("env" | "sudo", _) => match after_env(args) {
            [] => own(),
            inner => look_through(inner),
        },
        ("cmd", c) if c.eq_ignore_ascii_case("/c") && !rest.is_empty() => look_through(rest),
        (
            "node" | "nodejs" | "tsx" | "ts-node" | "ruby" | "perl" | "php" | "bash" | "sh" | "zsh"
            | "dotnet",
            _,
        ) => script(args).unwrap_or_else(own),
        ("deno" | "bun", "run") => script(rest).unwrap_or_else(own),
        ("bun", _) => script(args).unwrap_or_else(own),
        ("java", _) => java(args).unwrap_or_else(own),
        (p, _) if is_python(p) => python(args).unwrap_or_else(own),
        _ => file(program),
    }
}

/// The last part of a path without its extension.
fn stem(path: &str) -> &str {
    let last = path.rsplit(['/', '\\']).find(|p| !p.is_empty()).unwrap_or(path);
    match last.rsplit_once('.') {
        // `mcp-1.2` keeps its dot; an extension is a short word with a letter.
        Some((s, ext))
            if !s.is_empty() && ext.len() <= 4 && ext.starts_with(|c: char| c.is_ascii_alphabetic()) =>
        {
            s
        }
        _ => last,
    }
}

fn is_everyday(name: &str) -> bool {
    EVERYDAY.contains(&name.to_lowercase().as_str()) || name.chars().all(|c| c == '.')
}

/// The file's name, or that of the nearest folder with a telling one.
fn file(path: &str) -> String {
    let own = stem(path);
    if !is_everyday(own) {
        return own.into();
    }
    let mut folders = path.rsplit(['/', '\\']).filter(|p| !p.is_empty()).skip(1);
    folders.find(|f| !is_everyday(f) && !f.ends_with(':')).unwrap_or(own).into()
}

/// The first word that is neither an option nor the value of one.
fn positional<'a>(args: &[&'a str], with_value: &[&str]) -> Option<&'a str> {
    position(args, with_value).map(|i| args[i])
}

fn position(args: &[&str], with_value: &[&str]) -> Option<usize> {
    let mut i = 0;
    while i < args.len() {
        match args[i] {
            "--" => return (i + 1 < args.len()).then_some(i + 1),
            a if with_value.contains(&a) => i += 2,
            a if a.starts_with('-') && a.len() > 1 => i += 1,
            _ => return Some(i),
        }
    }
    None
}

/// The value of an option, as the next word or after `=`.
fn option<'a>(args: &[&'a str], name: &str) -> Option<&'a str> {
    args.iter().enumerate().find_map(|(i, a)| match a.strip_prefix(name) {
        Some("") => args.get(i + 1).copied(),
        Some(v) => v.strip_prefix('='),
        None => None,
    })
}

/// The name in a package specification of npm or PyPI, or in the address of a repository.
fn package(spec: Option<&str>) -> Option<String> {
    let spec = spec?;
    if spec.contains("://") || spec.starts_with("github:") {
        let address = spec.split(['#', '?']).next().unwrap_or(spec);
        // A version may stand behind the last part: …/repo.git@v1
        let last = address.trim_end_matches('/').rsplit(['/', ':']).next()?;
        let last = last.split('@').next().unwrap_or(last);
        return Some(last.strip_suffix(".git").unwrap_or(last).into());
    }
    if spec.starts_with(['.', '/', '~']) || spec.contains('\\') {
        return Some(file(spec));
    }
    let unscoped = match spec.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').map_or(scoped, |(_, p)| p),
        None => spec,
    };
    unscoped
        .split(['@', '[', '=', '<', '>', '~', '!', ' '])
        .next()
        .filter(|n| !n.is_empty())
        .map(String::from)
}

fn is_python(program: &str) -> bool {
    let version = ["pypy", "python", "py"].iter().find_map(|p| program.strip_prefix(p));
    version.is_some_and(|v| v.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

fn python(args: &[&str]) -> Option<String> {
    let mut i = 0;
    while i < args.len() {
        match args[i] {
            "-m" => return args.get(i + 1).map(|m| module(m)),
            "-c" => return None,
            a if PYTHON_VALUES.contains(&a) => i += 2,
            a if a.starts_with('-') => i += 1,
            a => return Some(file(a)),
        }
    }
    None
}

/// The last telling part of a dotted module name.
fn module(name: &str) -> String {
    name.rsplit('.').find(|p| !is_everyday(p)).unwrap_or(name).into()
}

fn uv_run(args: &[&str]) -> Option<String> {
    let run = args.iter().position(|a| *a == "run")?;
    let (before, after) = (&args[..run], &args[run + 1..]);
    let folder = option(before, "--directory").or_else(|| option(after, "--directory")).map(file);
    let at = position(after, &UV_VALUES)?;
    let inner = look_through(&after[at..]);
    Some(if is_everyday(&inner) || is_python(&inner) { folder.unwrap_or(inner) } else { inner })
}

fn script(args: &[&str]) -> Option<String> {
    if args
        .iter()
        .take_while(|a| a.starts_with('-'))
        .any(|a| ["-e", "-c", "--eval", "-p", "--print"].contains(a))
    {
        return None;
    }
    positional(args, &SCRIPT_VALUES).map(file)
}

fn java(args: &[&str]) -> Option<String> {
    option(args, "-jar").map(file).or_else(|| positional(args, &SCRIPT_VALUES).map(module))
}

/// The image of `docker run`, without registry, tag and digest.
fn image(args: &[&str]) -> Option<String> {
    let mut i = 0;
    let image = loop {
        let a = *args.get(i)?;
        let letters = a.strip_prefix('-').filter(|l| !l.starts_with('-'));
        i += match letters {
            _ if a == "--" => break *args.get(i + 1)?,
            _ if !a.starts_with('-') => break a,
            Some(l) if l.chars().all(|c| DOCKER_LETTERS.contains(c)) => 1,
            // The value of a letter may stand right behind it: -eKEY=value
            Some(l) => {
                let alone = l.trim_start_matches(|c| DOCKER_LETTERS.contains(c)).chars().count() == 1;
                if alone { 2 } else { 1 }
            }
            None if a.contains('=') || DOCKER_FLAGS.contains(&a) => 1,
            None => 2,
        };
    };
    let last = image.split('@').next()?.rsplit('/').next()?;
    Some(last.split(':').next().unwrap_or(last).into())
}

/// What `env` or `sudo` starts: the words behind its options and assignments.
fn after_env<'a, 'b>(args: &'b [&'a str]) -> &'b [&'a str] {
    let mut from = 0;
    while let Some(i) = position(&args[from..], &ENV_VALUES) {
        from += i;
        if !args[from].contains('=') {
            return &args[from..];
        }
        from += 1;
    }
    &[]
}

/// Only letters, digits, `_` and `-`.
fn clean(name: &str) -> String {
    let kept: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let kept = kept.trim_matches('-');
    if kept.is_empty() { FALLBACK.into() } else { kept.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(String::from).collect();
        of_command(&words[0], &words[1..])
    }

    #[test]
    fn commands_are_called_by_what_they_run() {
        for (line, expected) in [
            ("my-server --port 3", "my-server"),
            ("/usr/local/bin/mcp-thing", "mcp-thing"),
            ("C:\\Tools\\Thing.exe", "Thing"),
            ("/opt/weather/target/release/server", "weather"),
            ("npx -y @modelcontextprotocol/server-everything@1.2", "server-everything"),
            ("npx -y @scope/pkg@1.2", "pkg"),
            ("npx pkg@latest stdio", "pkg"),
            ("npx -p @scope/pkg tool", "tool"),
            ("npx --yes --package=@scope/pkg tool", "tool"),
            ("npx.cmd -y server-x", "server-x"),
            ("npx -y github:user/repo#main", "repo"),
            ("npx -y ./packages/thing", "thing"),
            ("npx", "npx"),
            ("npm exec -y -- @scope/pkg", "pkg"),
            ("pnpm dlx @scope/pkg", "pkg"),
            ("bunx thing", "thing"),
            ("bun x thing", "thing"),
            ("bun run src/index.ts", "index"),
            ("bun tools/thing.ts", "thing"),
            ("uvx mcp-server-git --repository /x", "mcp-server-git"),
            ("uvx mcp-server-git@2025.1", "mcp-server-git"),
            ("uvx thing[extra]==1.0", "thing"),
            ("uvx --from git+https://example.com/u/repo.git@v1 tool", "tool"),
            ("uvx git+https://example.com/u/repo.git@v1", "repo"),
            ("uv tool run thing", "thing"),
            ("pipx run thing", "thing"),
            ("uv run thing.py", "thing"),
            ("uv --directory /home/me/weather run server.py", "weather"),
            ("uv run --directory /home/me/weather --with x python -m weather_mcp.server", "weather_mcp"),
            ("uv run --project . mcp-thing", "mcp-thing"),
            ("python -m mcp_server_git", "mcp_server_git"),
            ("python3.12 -u -X dev -m weather.server", "weather"),
            ("/usr/bin/python3 /home/me/notes/main.py", "notes"),
            ("python -c print(1)", "python"),
            ("python", "python"),
            ("node dist/index.js", "index"),
            ("node /srv/time/dist/index.js", "time"),
            ("node --require x.js --enable-source-maps tools/clock.mjs", "clock"),
            ("node -e 1", "node"),
            ("deno run -A main.ts", "main"),
            ("java -Xmx1g -jar /opt/search-1.2.jar", "search-1-2"),
            ("docker run -i --rm mcp/github", "github"),
            ("docker run -it --rm -e A=b -v /x:/y --network host ghcr.io/org/time:1.2@sha256:00 arg", "time"),
            ("docker run -ie TOKEN --name=x localhost:5000/a/b", "b"),
            ("docker mcp gateway", "docker"),
            ("env -u X A=1 B=2 npx -y pkg", "pkg"),
            ("env A=1", "env"),
            ("cmd /c npx -y @s/pkg", "pkg"),
            ("server", "server"),
            ("...", "server"),
            ("été", "t"),
        ] {
            assert_eq!(name(line), expected, "{line}");
        }
    }

    #[test]
    fn urls_are_called_by_their_host() {
        for (url, expected) in [
            ("https://mcp.linear.app/mcp", "linear"),
            ("https://api.githubcopilot.com/mcp/", "githubcopilot"),
            ("https://example.com", "example"),
            ("http://localhost:3000/mcp", "localhost"),
            ("http://127.0.0.1:8080/mcp?x=1", "127-0-0-1"),
            ("http://[::1]:8080/", "1"),
            ("https://mcp.com/", "mcp"),
        ] {
            assert_eq!(of_url(url), expected, "{url}");
        }
    }
}
