//! What browsers see.

use bir_store::model::{RunDetail, RunPage, StepPage};
use std::fmt::Write as _;

/// Text inside HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><title>{} · bir</title></head><body>\n<h1>{}</h1>\n{body}\n</body></html>\n",
        escape(title),
        escape(title)
    )
}

/// A page that says one thing.
pub(crate) fn message(title: &str, text: &str) -> String {
    page(title, &format!("<p>{}</p>\n<p><a href=\"/runs\">Runs</a></p>", escape(text)))
}

/// The form for e-mail address and password.
pub(crate) fn sign_in(email: &str, error: Option<&str>, next: Option<&str>) -> String {
    let error = error.map(|e| format!("<p role=\"alert\">{}</p>", escape(e))).unwrap_or_default();
    let next = next.map(|n| format!("<input type=\"hidden\" name=\"next\" value=\"{}\">", escape(n))).unwrap_or_default();
    page(
        "Sign in",
        &format!(
            "{error}<form method=\"post\" action=\"/signin\">{next}<p><label>E-mail <input name=\"email\" type=\"email\" \
             autocomplete=\"username\" value=\"{}\" required></label></p><p><label>Password <input name=\"password\" \
             type=\"password\" autocomplete=\"current-password\" required></label></p><p><button>Sign in</button></p></form>",
            escape(email)
        ),
    )
}

/// The form for a device's code.
pub(crate) fn device(code: &str, said: Option<&str>) -> String {
    let said = said.map(|e| format!("<p role=\"status\">{}</p>", escape(e))).unwrap_or_default();
    page(
        "Sign a device in",
        &format!(
            "{said}<form method=\"post\" action=\"/device\"><p><label>The code that the device shows <input name=\"user_code\" \
             value=\"{}\" autocomplete=\"off\" required></label></p><p><button name=\"decision\" value=\"allow\">Allow</button> \
             <button name=\"decision\" value=\"deny\">Deny</button></p></form>",
            escape(code)
        ),
    )
}

/// A button that signs out.
pub(crate) fn sign_out() -> String {
    page("Sign out", "<form method=\"post\" action=\"/signout\"><button>Sign out</button></form>")
}

/// The list of runs.
pub(crate) fn runs(found: &RunPage, more: Option<&str>) -> String {
    let mut rows = String::new();
    for run in &found.runs {
        let what = run.input.as_deref().or(run.project.as_deref()).unwrap_or("standalone");
        let _ = writeln!(
            rows,
            "<li><a href=\"/runs/{}\">{}</a> — {} calls, {} failed{}</li>",
            run.id,
            escape(what),
            run.calls,
            run.failed_calls,
            if run.lossy { ", lossy" } else { "" }
        );
    }
    let more = more.map(|m| format!("<p><a href=\"/runs?{}\">Older</a></p>", escape(m))).unwrap_or_default();
    page("Runs", &format!("<ol>\n{rows}</ol>{more}"))
}

/// One run.
pub(crate) fn run(run: &RunDetail, rows: &StepPage) -> String {
    let mut list = String::new();
    for step in &rows.steps {
        let payload = [&step.tool_input, &step.tool_output, &step.tool_error].into_iter().flatten();
        let payload: String = payload.map(|p| format!("<pre>{}</pre>", escape(p))).collect();
        let _ = writeln!(
            list,
            "<li><details><summary>{} {} {}</summary>{payload}</details></li>",
            step.step_type.as_str(),
            escape(&step.tool_name),
            step.outcome.map_or("", |o| o.as_str())
        );
    }
    let more = rows.next.map(|n| format!("<p><a href=\"/runs/{}?from={n}\">More</a></p>", run.summary.id)).unwrap_or_default();
    page("Run", &format!("<p>{}</p><ol>\n{list}</ol>{more}", run.summary.id))
}
