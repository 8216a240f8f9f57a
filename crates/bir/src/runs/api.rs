//! The hub's routes about runs. Answers stay the JSON that they came as, page after page.

use crate::error::CommandError;
use bir_model::RunId;
use bir_record::hub::HubClient;
use serde_json::Value;

/// The most items that the hub gives at once.
const PAGE: u32 = 500;
/// Pages that are asked for in a row, at most; a list that goes on beyond has no end.
const PAGES: usize = 2_000;

/// A parameter of a request.
pub(crate) type Pair = (&'static str, String);

/// A run and its rows.
pub(crate) struct Whole {
    pub(crate) run: Value,
    pub(crate) steps: Vec<Value>,
    /// The tools that the rows call, with what they do, as the hub tells it.
    pub(crate) tools: Value,
}

/// A path with its parameters.
pub(crate) fn path(path: &str, query: &[Pair]) -> String {
    let mut out = path.to_owned();
    for (i, (name, value)) in query.iter().enumerate() {
        out.push(if i == 0 { '?' } else { '&' });
        out.push_str(name);
        out.push('=');
        for byte in value.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    out.push(char::from(byte))
                }
                _ => out.push_str(&format!("%{byte:02X}")),
            }
        }
    }
    out
}

async fn get(client: &mut HubClient, path: &str) -> Result<Value, CommandError> {
    Ok(client.get(path).await?.json()?)
}

fn items(page: &mut Value, key: &str) -> Vec<Value> {
    match page.get_mut(key).map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// At most `want` items of a list.
pub(crate) async fn list(
    client: &mut HubClient,
    route: &str,
    key: &str,
    query: &[Pair],
    want: u32,
    keep: impl Fn(&Value) -> bool,
) -> Result<Vec<Value>, CommandError> {
    let want = usize::try_from(want).unwrap_or(usize::MAX);
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..PAGES {
        let left = u32::try_from(want - all.len()).unwrap_or(PAGE).min(PAGE);
        let mut query = query.to_vec();
        query.push(("limit", left.to_string()));
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let mut page = get(client, &path(route, &query)).await?;
        all.extend(items(&mut page, key).into_iter().filter(&keep));
        cursor = page["next"].as_str().map(str::to_owned);
        if cursor.is_none() || all.len() >= want {
            all.truncate(want);
            return Ok(all);
        }
    }
    Err(CommandError::failed(format!("the hub's list has no end; {PAGES} pages were read")))
}

/// Runs, newest first.
pub(crate) async fn runs(
    client: &mut HubClient,
    query: &[Pair],
    want: u32,
) -> Result<Vec<Value>, CommandError> {
    list(client, "/recordings/runs", "runs", query, want, |_| true).await
}

/// Rows that hold a text, of those that are to be kept.
pub(crate) async fn search(
    client: &mut HubClient,
    query: &[Pair],
    want: u32,
    keep: impl Fn(&Value) -> bool,
) -> Result<Vec<Value>, CommandError> {
    list(client, "/recordings/search", "steps", query, want, keep).await
}

/// A run with all of its rows.
pub(crate) async fn run(client: &mut HubClient, id: RunId) -> Result<Whole, CommandError> {
    let mut first = get(client, &format!("/recordings/runs/{id}")).await?;
    let mut steps = items(&mut first, "steps");
    let mut next = first["next"].as_u64();
    for _ in 0..PAGES {
        let Some(from) = next else { break };
        let (rows, after) = rows(client, id, from).await?;
        // An index that does not move would go on for ever.
        next = after.filter(|after| *after > from);
        steps.extend(rows);
    }
    Ok(Whole { run: first["run"].take(), steps, tools: first["tools"].take() })
}

/// A run without its rows.
pub(crate) async fn head(client: &mut HubClient, id: RunId) -> Result<Value, CommandError> {
    let route = path(&format!("/recordings/runs/{id}"), &[("limit", "1".into())]);
    Ok(get(client, &route).await?["run"].take())
}

/// Rows of a run from an index on, and where to go on.
pub(crate) async fn rows(
    client: &mut HubClient,
    id: RunId,
    from: u64,
) -> Result<(Vec<Value>, Option<u64>), CommandError> {
    let query = [("from", from.to_string()), ("limit", PAGE.to_string())];
    let mut page = get(client, &path(&format!("/recordings/runs/{id}/steps"), &query)).await?;
    let rows = items(&mut page, "steps");
    Ok((rows, page["next"].as_u64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_escaped() {
        assert_eq!(path("/x", &[]), "/x");
        assert_eq!(
            path("/x", &[("q", "a b&c=ü/%".into()), ("limit", "5".into())]),
            "/x?q=a%20b%26c%3D%C3%BC%2F%25&limit=5"
        );
    }
}
