//! Lists, whose elements announce each other: the arguments of a program (`["--password","x"]`), headers in pairs.

use std::borrow::Cow;

use super::super::json::{self, Str};
use super::super::names::Class;
use super::super::placeholder::{self, Edit, Kind};
use super::super::{Job, look};
use super::{Broken, LONGEST_NAME, Walk};

/// What the elements of an array mean to each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A flag or a header whose value comes next.
    Names(Class),
    /// The same, where the list may be one of names alone.
    Header(Class),
    /// `-u`: `user:password` comes next.
    User,
}

impl<'w> Walk<'w, '_> {
    pub(super) fn array(&mut self, class: Class, in_array: bool) -> Result<(), Broken> {
        let element = match class {
            Class::Env(_) => Class::EnvItem,
            Class::WeakKey | Class::Pwd => Class::Plain,
            other => other,
        };
        let mut before = Before::Nothing;
        let mut program: Option<Str> = None;
        self.space();
        if self.byte() == Some(b']') {
            self.pos += 1;
            return Ok(());
        }
        let mut first = true;
        loop {
            self.space();
            self.resume = self.pos;
            let text = self.text;
            let token = match self.byte() {
                Some(b'"') if element == Class::Plain => json::string(text.as_bytes(), self.pos),
                _ => None,
            };
            if let Some(token) = token {
                let said = self.short(token);
                if first {
                    program = Some(token);
                }
                let next = self.announces(&said, in_array && first, program);
                match before {
                    Before::Names(class) if !said.starts_with('-') => self.redact(token, class),
                    Before::Header(class) if !is_word(&said) => self.redact(token, class),
                    Before::User => self.element(token, element, |job, said| job.user_of(said)),
                    _ if program_is(program.map(|p| &text[p.start..p.end]), MYSQL) => {
                        self.element(token, element, |job, said| job.attached(said));
                    }
                    _ => self.redact(token, element),
                }
                before = if matches!(before, Before::Names(_)) && !said.starts_with('-') {
                    Before::Nothing
                } else {
                    next
                };
                self.pos = token.end + 1;
            } else {
                before = Before::Nothing;
                self.value(element, true)?;
            }
            first = false;
            self.whole = self.pos;
            self.fresh = false;
            self.space();
            match self.byte() {
                Some(b',') => self.pos += 1,
                Some(b']') => {
                    self.pos += 1;
                    return Ok(());
                }
                _ => return Err(Broken),
            }
        }
    }

    /// What an element says about the next one.
    fn announces(&self, said: &str, pair: bool, program: Option<Str>) -> Before {
        if said.len() > LONGEST_NAME || said.len() < 2 {
            return Before::Nothing;
        }
        let program = program.map(|p| &self.text[p.start..p.end]);
        let flag = said.starts_with('-');
        if flag && said.contains('=') {
            return Before::Nothing;
        }
        match said {
            "-u" | "--user" | "--proxy-user" | "-U" if !program_is(program, OWN_USER) => return Before::User,
            "-p" if program_is(program, &["sshpass"]) => return Before::Names(Class::Secret(Kind::Key)),
            "-a" if program_is(program, &["redis-cli"]) => return Before::Names(Class::Secret(Kind::Key)),
            _ => {}
        }
        if !said.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_' || b == b'.') {
            return Before::Nothing;
        }
        // Single letters and `-key`-like switches of X.509 tools name files more often than secrets.
        if flag && (said.starts_with("--") || said.len() > 4) {
            return match self.job.classify(said) {
                class @ (Class::Secret(_) | Class::Cookie | Class::Weak) => Before::Names(class),
                Class::Pwd => Before::Names(Class::Secret(Kind::Key)),
                _ => Before::Nothing,
            };
        }
        if flag {
            return Before::Nothing;
        }
        let header = pair
            || said.contains('-')
            || said.eq_ignore_ascii_case("authorization")
            || said.eq_ignore_ascii_case("cookie");
        match self.job.classify(said) {
            class @ (Class::Secret(_) | Class::Cookie) if header => Before::Header(class),
            _ => Before::Nothing,
        }
    }

    /// What a string says, if it is short enough to announce another; else how it is written.
    fn short(&self, token: Str) -> Cow<'w, str> {
        let raw = &self.text[token.start..token.end];
        if !token.escaped || raw.len() > LONGEST_NAME {
            return Cow::Borrowed(raw);
        }
        let mut said = String::new();
        json::decode(raw, &mut said);
        Cow::Owned(said)
    }

    /// An element in which `secret` may find one; if it does not, it is looked at like any other.
    fn element(&mut self, token: Str, class: Class, secret: impl Fn(&Job<'_>, &str) -> Option<Edit>) {
        let level = self.level;
        self.inside(token, |job, said, found| match secret(&*job, said) {
            Some(edit) => found.push(edit),
            None => job.string(said, class, level, found),
        });
    }
}

impl Job<'_> {
    /// The password of `user:password`.
    fn user_of(&self, said: &str) -> Option<Edit> {
        let (user, password) = placeholder::split(said)?;
        let none = password.is_empty()
            || numeric(user) && numeric(password)
            || look::harmless(password)
            || placeholder::end_at(password.as_bytes(), 0).is_some();
        let start = user.len() + 1;
        (!none).then(|| Edit { start, end: said.len(), text: self.placeholder(Kind::Basic, password) })
    }

    /// The password of `-psecret`.
    fn attached(&self, said: &str) -> Option<Edit> {
        let password = said.strip_prefix("-p")?;
        let none = password.is_empty()
            || look::harmless(password)
            || placeholder::end_at(password.as_bytes(), 0).is_some();
        (!none).then(|| Edit { start: 2, end: said.len(), text: self.placeholder(Kind::Key, password) })
    }
}

const MYSQL: &[&str] = &["mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump"];

/// Programs whose `-u` is a user and a group, not a user and a password.
const OWN_USER: &[&str] = &["docker", "podman", "nerdctl", "sudo", "chroot", "setpriv", "systemd-run"];

fn program_is(program: Option<&str>, names: &[&str]) -> bool {
    program.is_some_and(|p| names.contains(&p.rsplit('/').next().unwrap_or(p)))
}

fn numeric(s: &str) -> bool {
    !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit())
}

/// A name rather than a value: lists of header names must survive.
fn is_word(said: &str) -> bool {
    said.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-' || b == b'_')
}
