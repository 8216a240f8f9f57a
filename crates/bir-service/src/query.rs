//! Query parameters. One that is not known is refused: a misspelt filter must not widen a list, let alone a deletion.

use crate::problem::{Code, Problem};
use axum::extract::Query;
use bir_store::model::{Page, RunFilter};
use http::Uri;
use serde::de::DeserializeOwned;

/// Items of a page when the caller does not say.
pub(crate) const DEFAULT_LIMIT: u32 = 50;
/// Items of a page at most.
pub(crate) const MAX_LIMIT: u32 = 500;
/// Bytes of a parameter's value at most.
const MAX_VALUE: usize = 4096;

/// The parameters of one request, each taken once.
pub(crate) struct Params(Vec<(String, String)>);

fn wrong(name: &str, expected: &str) -> Problem {
    Problem::new(Code::BadType, format!("`{name}`: expected {expected}"))
}

impl Params {
    pub(crate) fn of(uri: &Uri) -> Result<Self, Problem> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|_| Problem::new(Code::BadType, "the query is not well-formed"))?;
        for (i, (name, value)) in pairs.iter().enumerate() {
            let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
            if value.len() > MAX_VALUE {
                return Err(wrong(&name, "at most 4096 bytes"));
            }
            if pairs[..i].iter().any(|(earlier, _)| *earlier == name) {
                return Err(wrong(&name, "it once"));
            }
        }
        Ok(Self(pairs))
    }

    /// The text of a parameter; an empty one is none.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.swap_remove(at).1).filter(|value| !value.is_empty())
    }

    /// A number.
    pub(crate) fn number(&mut self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        // Times reach the database as signed numbers.
        let number = text.parse::<u64>().ok().filter(|n| i64::try_from(*n).is_ok());
        number.map(Some).ok_or_else(|| wrong(name, "a whole number that is not negative"))
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, name: &str) -> Result<Option<bool>, Problem> {
        match self.text(name).as_deref() {
            None => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(_) => Err(wrong(name, "true or false")),
        }
    }

    /// A word of a list, as serde reads it.
    pub(crate) fn word<T: DeserializeOwned>(
        &mut self,
        name: &str,
        words: &str,
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let value = serde_json::from_value(serde_json::Value::String(text));
        value.map(Some).map_err(|_| wrong(name, words))
    }

    /// How many items.
    pub(crate) fn limit(&mut self, default: u32, max: u32) -> Result<u32, Problem> {
        let Some(number) = self.number("limit")? else { return Ok(default) };
        let number = u32::try_from(number).ok().filter(|n| (1..=max).contains(n));
        number.ok_or_else(|| wrong("limit", &format!("a number from 1 to {max}")))
    }

    /// Which part of a list.
    pub(crate) fn page(&mut self) -> Result<Page, Problem> {
        Ok(Page { limit: self.limit(DEFAULT_LIMIT, MAX_LIMIT)?, cursor: self.text("cursor") })
    }

    /// Which runs.
    pub(crate) fn filter(&mut self) -> Result<RunFilter, Problem> {
        Ok(RunFilter {
            tier: self.word("tier", "bound or standalone")?,
            server: self.text("server"),
            tool: self.text("tool"),
            outcome: self
                .word("outcome", "ok, tool_error, rpc_error, timeout, cancelled, denied or unknown")?,
            project: self.text("project"),
            host: self.text("host"),
            finished: self.flag("finished")?,
            lossy: self.flag("lossy")?,
            since: self.number("since")?,
            until: self.number("until")?,
        })
    }

    /// Nothing may be left.
    pub(crate) fn end(self) -> Result<(), Problem> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => {
                let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
                Err(Problem::new(Code::BadType, format!("`{name}` is no parameter of this route")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(query: &str) -> Result<(RunFilter, Page), Problem> {
        let mut params = Params::of(&format!("/x?{query}").parse().unwrap())?;
        let got = (params.filter()?, params.page()?);
        params.end()?;
        Ok(got)
    }

    #[test]
    fn what_is_right_is_taken_and_what_is_wrong_is_named() {
        let (got, page) =
            filter("tier=bound&tool=a%20b&finished=false&since=5&outcome=rpc_error&limit=500&cursor=x&host=")
                .unwrap();
        assert_eq!(got.tier, Some(bir_model::Tier::Bound));
        assert_eq!((got.tool.as_deref(), got.finished, got.since), (Some("a b"), Some(false), Some(5)));
        assert_eq!(got.outcome, Some(bir_model::Outcome::RpcError));
        assert_eq!((got.host, page.limit, page.cursor.as_deref()), (None, 500, Some("x")));
        let wrong = [
            "tier=both",
            "limit=0",
            "limit=501",
            "limit=x",
            "since=-1",
            "since=18446744073709551615",
            "lossy=maybe",
            "proyect=x",
            "tool=a&tool=b",
            "outcome=OK",
        ];
        for query in wrong {
            let problem = filter(query).unwrap_err();
            let name = query.split('=').next().unwrap();
            assert!(
                problem.code == Code::BadType && problem.detail.contains(name),
                "{query}: {}",
                problem.detail
            );
        }
    }
}
