//! When two command lines are the same commands with other arguments.
//!
//! A command's head is its program with its subcommand (`git push`), or with what it runs (`npm run lint`, `python -m pytest`). Heads and the
//! signs between commands have to be the same. Where a line does more than chain plain commands, only an exact copy is the same.

/// So many words decide, the program included.
const HEADS: [(&str, usize); 31] = [
    ("git", 2),
    ("cargo", 2),
    ("npm", 2),
    ("pnpm", 2),
    ("yarn", 2),
    ("bun", 2),
    ("deno", 2),
    ("docker", 2),
    ("podman", 2),
    ("kubectl", 2),
    ("helm", 2),
    ("go", 2),
    ("pip", 2),
    ("pip3", 2),
    ("systemctl", 2),
    ("apt", 2),
    ("apt-get", 2),
    ("brew", 2),
    ("terraform", 2),
    ("make", 2),
    ("just", 2),
    ("rustup", 2),
    ("dotnet", 2),
    ("poetry", 2),
    ("gh", 3),
    ("glab", 3),
    ("aws", 3),
    ("gcloud", 3),
    ("az", 3),
    ("npx", 2),
    ("uvx", 2),
];
/// Programs that run what their next word says.
const RUNNERS: [&str; 14] = [
    "python", "python3", "node", "ruby", "perl", "php", "env", "sudo", "time", "nohup", "nice", "xargs",
    "exec", "command",
];
/// Subcommands that run what their next word says.
const RUN_WORDS: [&str; 5] = ["run", "exec", "compose", "x", "dlx"];
/// Programs that run the text behind their `-c`.
const SHELLS: [&str; 5] = ["bash", "sh", "zsh", "dash", "ksh"];
/// A shell in a shell in a shell.
const DEEPEST: usize = 3;

/// Whether two lines are the same commands, chained the same way.
#[must_use]
pub fn same(called: &str, step: &str) -> bool {
    if called.trim() == step.trim() {
        return true;
    }
    match (heads(called, 0), heads(step, 0)) {
        (Some(called), Some(step)) => !step.is_empty() && called == step,
        _ => false,
    }
}

/// The heads of a line, each with the sign before it.
fn heads(line: &str, depth: usize) -> Option<Vec<(String, Vec<String>)>> {
    let mut out = Vec::new();
    for (sign, words) in commands(line)? {
        let words: Vec<&str> = words.iter().map(String::as_str).skip_while(|word| is_setting(word)).collect();
        match words.as_slice() {
            [] => return None,
            [shell, flag, script, ..]
                if SHELLS.contains(&base(shell)) && matches!(*flag, "-c" | "-lc") && depth < DEEPEST =>
            {
                let inner = heads(script, depth + 1)?;
                let begins = std::iter::once(sign).chain(inner.iter().skip(1).map(|(sign, _)| sign.clone()));
                out.extend(begins.zip(inner.iter().map(|(_, head)| head.clone())).collect::<Vec<_>>());
            }
            words => out.push((sign, head(words))),
        }
    }
    Some(out)
}

/// The words that decide what a command is.
fn head(words: &[&str]) -> Vec<String> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let name = base(program);
    let mut out = vec![name.to_owned()];
    if RUNNERS.contains(&name) {
        // What is run is a head of its own; `-m` and the like belong to it.
        let at = rest.iter().position(|word| !word.starts_with('-')).unwrap_or(rest.len());
        out.extend(rest.iter().take(at).map(|word| (*word).to_owned()));
        if let Some(rest) = rest.get(at..) {
            out.extend(head(rest));
        }
        return out;
    }
    let most = HEADS.iter().find(|(of, _)| *of == name).map_or(1, |(_, most)| *most);
    let most = if name == "uv" { 2 } else { most };
    let mut operands = rest.iter().filter(|word| !word.starts_with('-'));
    while out.len() < most {
        let Some(word) = operands.next() else { break };
        out.push((*word).to_owned());
        if out.len() == most
            && RUN_WORDS.contains(word)
            && let Some(what) = operands.next()
        {
            out.push((*what).to_owned());
        }
    }
    out
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// `NAME=value` before a command.
fn is_setting(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
    })
}

/// The commands of a line with the sign before each. None: it does more than that.
fn commands(line: &str) -> Option<Vec<(String, Vec<String>)>> {
    let mut out = vec![(String::new(), Vec::new())];
    let mut word: Option<String> = None;
    let mut chars = line.trim().chars().peekable();
    let end = |out: &mut Vec<(String, Vec<String>)>, word: &mut Option<String>| {
        if let (Some(word), Some((_, words))) = (word.take(), out.last_mut()) {
            words.push(word);
        }
    };
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => end(&mut out, &mut word),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '`' => return None,
                        '$' if chars.peek() == Some(&'(') => return None,
                        '\\' => word.push(chars.next()?),
                        c => word.push(c),
                    }
                }
            }
            '\\' => {
                let c = chars.next()?;
                word.get_or_insert_default().push(c);
            }
            '`' | '(' | ')' | '{' | '}' | '#' => return None,
            '$' if matches!(chars.peek(), Some('(' | '\'' | '"')) => return None,
            // Where output goes to is what the command does: a copy alone is the same.
            '<' | '>' => return None,
            ';' | '\n' | '&' | '|' => {
                end(&mut out, &mut word);
                let mut sign = if c == '\n' { ';' } else { c }.to_string();
                if (c == '&' || c == '|') && chars.peek() == Some(&c) {
                    chars.next();
                    sign.push(c);
                }
                if out.last().is_some_and(|(_, words)| words.is_empty()) {
                    return None;
                }
                out.push((sign, Vec::new()));
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    end(&mut out, &mut word);
    if out.last().is_some_and(|(sign, words)| words.is_empty() && sign == ";") {
        out.pop();
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_the_same_with_other_arguments() {
        for (called, step, expected) in [
            ("git push", "git push origin main", true),
            ("git -q push x", "git push origin main", true),
            ("git status", "git push", false),
            ("ls", "git push", false),
            ("ls -la /tmp", "ls /var", true),
            ("npm run lint", "npm run lint -- --fix", true),
            ("npm run lint", "npm run deploy", false),
            ("npx eslint a", "npx eslint b", true),
            ("npx eslint a", "npx rimraf b", false),
            ("python deploy.py a", "python deploy.py b", true),
            ("python test.py", "python deploy.py", false),
            ("python -m pytest x", "python -m pytest y", true),
            ("python -m pytest", "python -m http.server", false),
            ("uv run pytest", "uv run pytest -k x", true),
            ("uv run pytest", "uv run deploy", false),
            ("bash -c 'git push'", "git push origin", true),
            ("bash -c 'git status'", "git push origin", false),
            ("/usr/bin/git push", "git push x", true),
            ("A=1 git push", "git push", true),
            ("sudo rm a", "rm b", false),
            ("gh pr list", "gh pr merge 3", false),
            ("cd /a && make test", "cd /b && make test", true),
            ("cd /a && make test", "cd /b; make test", false),
            ("cd /a && make test", "make test", false),
            ("cat a | sort", "cat b | sort", true),
            ("cat a | sort", "cat b | sh", false),
            ("a\nb", "a; b", true),
            ("a &", "a", false),
            ("echo $(id)", "echo $(id)", true),
            ("echo $(id)", "echo $(whoami)", false),
            ("echo `id`", "echo x", false),
            ("echo x > /a", "echo x > /b", false),
            ("echo x", "echo x > /b", false),
            ("echo 'a;b'", "echo c", true),
            ("echo \"a && b\"", "echo c", true),
            ("echo 'open", "echo c", false),
            ("", "echo c", false),
            ("(cd a)", "(cd b)", false),
        ] {
            assert_eq!(same(called, step), expected, "{called:?} {step:?}");
        }
    }
}
