//! Signing in with a password.

use super::{Pair, refused};
use crate::ask;
use crate::error::CommandError;
use bir_record::hub::HubClient;
use serde_json::json;
use std::io::{self, BufRead, Read};

/// Bytes of a password line that are read from stdin.
const LONGEST: u64 = 4096;

/// Asks for what is missing. The password is shown nowhere.
pub(super) fn ask(email: Option<&str>, from_stdin: bool) -> Result<(String, String), CommandError> {
    if from_stdin {
        let mut line = String::new();
        io::stdin()
            .lock()
            .take(LONGEST)
            .read_line(&mut line)
            .map_err(|e| CommandError::failed(format!("cannot read the password from stdin: {e}")))?;
        return checked(email.unwrap_or_default().to_owned(), line.trim_end_matches(['\r', '\n']).to_owned());
    }
    if !ask::can() {
        return Err(CommandError::usage(
            "there is no terminal to ask for the password on; give --email and --password-stdin, or --device",
        ));
    }
    let email = match email {
        Some(email) => email.to_owned(),
        None => ask::line("E-mail: ")?.unwrap_or_default(),
    };
    let password = rpassword::prompt_password("Password: ")
        .map_err(|e| CommandError::failed(format!("cannot ask for the password: {e}")))?;
    checked(email, password)
}

fn checked(email: String, password: String) -> Result<(String, String), CommandError> {
    if email.is_empty() || password.is_empty() {
        let what = if email.is_empty() { "e-mail address" } else { "password" };
        return Err(CommandError::failed(format!("no {what} was given; nobody is signed in")));
    }
    Ok((email, password))
}

pub(super) async fn sign_in(
    client: &mut HubClient,
    email: &str,
    password: &str,
) -> Result<Pair, CommandError> {
    let answer = client.post("/auth/login", &json!({ "email": email, "password": password })).await;
    Ok(answer.map_err(refused)?.json()?)
}
