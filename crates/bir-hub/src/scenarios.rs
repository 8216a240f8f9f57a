//! What the environment says of scenarios. The control server reads the same names.
//!
//! | variable | means | default | at most |
//! |---|---|---|---|
//! | `BIR_MATCH_BUDGET_MS` | the answer to a run that begins waits so long for a match | 250 | 10,000 |
//! | `BIR_LOGIC_TIMEOUT_MS` | one body of edited logic | 1,000 | 10,000 |
//! | `EDIT_CHECK_BUDGET_MS` | the check of a change, in all | 5,000 | 25,000 |
//! | `BIR_SANDBOX` | the program that evaluates edited logic | `bir-sandbox` beside this one | |
//! | `BIR_PRICES` | a file with the prices of tokens | those that were packaged | |
//!
//! and those of model help (`bir_derive::config`).

use crate::fault::Fault;
use bir_service::{DeriveSetting, Prices, Settings, scenarios};
use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a file with prices at most.
const PRICES: u64 = 1 << 20;

/// Puts it into the settings. `beside`: the directory of this program.
pub(crate) fn apply(
    settings: &mut Settings,
    environment: &dyn Fn(&str) -> Option<String>,
    beside: Option<&Path>,
) -> Result<(), Fault> {
    let said = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
    let ms = |name: &str, now: Duration, most: u64| -> Result<Duration, Fault> {
        let Some(text) = said(name) else { return Ok(now) };
        let number = text.trim().parse::<u64>().ok().filter(|number| *number > 0);
        let number = number.ok_or_else(|| {
            Fault::new(format!("the variable {name} is wrong: expected a number of milliseconds, at least 1"))
        })?;
        if number > most {
            tracing::warn!(name, most, "a budget is brought back to the most that is allowed");
        }
        Ok(Duration::from_millis(number.min(most)))
    };
    settings.match_budget = ms("BIR_MATCH_BUDGET_MS", settings.match_budget, 10_000)?;
    settings.logic_timeout = ms("BIR_LOGIC_TIMEOUT_MS", settings.logic_timeout, 10_000)?;
    // A request has 30 s in all.
    settings.edit_budget = ms("EDIT_CHECK_BUDGET_MS", settings.edit_budget, 25_000)?;
    settings.sandbox = sandbox(said("BIR_SANDBOX"), beside)?;
    settings.derive =
        DeriveSetting::from_variables(environment).map_err(|error| Fault::new(error.to_string()))?;
    if let Some(path) = said("BIR_PRICES") {
        settings.prices = prices(Path::new(&path))?;
    }
    Ok(())
}

/// The rules of redaction that the user of an embedded hub has. What is not understood may be a wish to keep something out, so with it
/// nothing is asked.
pub(crate) fn redaction(settings: &mut Settings, state_dir: Option<&Path>) {
    let Some(dir) = state_dir else { return };
    let loaded = bir_record::config::Config::load(dir);
    settings.redact = loaded.config.redact;
    if let (Some(why), DeriveSetting::On(_)) = (loaded.unclear, &settings.derive) {
        tracing::warn!(why, "no model endpoint is asked: what is to be redacted is not understood");
        settings.derive = DeriveSetting::Off(
            "what is to be redacted is not understood (config.toml of the state directory)",
        );
    }
}

/// The program that was named, which has to be there; else the one beside this program, which may be missing.
fn sandbox(named: Option<String>, beside: Option<&Path>) -> Result<Option<PathBuf>, Fault> {
    if let Some(named) = named {
        let path = PathBuf::from(named);
        if !path.is_absolute() || !path.is_file() {
            let path = path.display();
            return Err(Fault::new(format!(
                "the variable BIR_SANDBOX is wrong: {path} is no absolute path of a program"
            )));
        }
        return Ok(Some(path));
    }
    let found = beside.map(|dir| dir.join(format!("{}{EXE_SUFFIX}", scenarios::PROGRAM)));
    let found = found.filter(|path| path.is_absolute() && path.is_file());
    if found.is_none() {
        tracing::warn!(
            "there is no {} beside bir-hub: scenarios are calculated and matched, and steps that were changed by hand cannot be \
             checked or run",
            scenarios::PROGRAM
        );
    }
    Ok(found)
}

fn prices(path: &Path) -> Result<Prices, Fault> {
    let failed = |why: String| {
        Fault::new(format!("the prices in {} (BIR_PRICES) cannot be read: {why}", path.display()))
    };
    let meta = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if meta.len() > PRICES {
        return Err(failed("the file is larger than 1 MiB".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    Prices::parse(&text).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings::new("127.0.0.1:1".parse().unwrap())
    }

    #[test]
    fn the_environment_sets_budgets_within_their_limits() {
        let mut now = settings();
        let said = |name: &str| match name {
            "BIR_MATCH_BUDGET_MS" => Some("40".to_owned()),
            "BIR_LOGIC_TIMEOUT_MS" => Some("99999".to_owned()),
            "EDIT_CHECK_BUDGET_MS" => Some(" ".to_owned()),
            _ => None,
        };
        apply(&mut now, &said, None).unwrap();
        assert_eq!((now.match_budget.as_millis(), now.logic_timeout.as_millis()), (40, 10_000));
        assert_eq!((now.edit_budget.as_millis(), now.sandbox), (5_000, None));
        for wrong in ["0", "-1", "soon", "1.5"] {
            let fault =
                apply(&mut settings(), &|name| (name == "BIR_MATCH_BUDGET_MS").then(|| wrong.into()), None);
            assert!(fault.unwrap_err().to_string().contains("BIR_MATCH_BUDGET_MS"), "{wrong}");
        }
    }

    #[test]
    fn the_sandbox_is_the_named_one_or_the_one_beside() {
        let dir = tempfile::tempdir().unwrap();
        let mut now = settings();
        apply(&mut now, &|_| None, Some(dir.path())).unwrap();
        assert_eq!(now.sandbox, None);
        let program = dir.path().join(format!("bir-sandbox{EXE_SUFFIX}"));
        std::fs::write(&program, "").unwrap();
        apply(&mut now, &|_| None, Some(dir.path())).unwrap();
        assert_eq!(now.sandbox, Some(program.clone()));
        let named = |text: String| move |name: &str| (name == "BIR_SANDBOX").then(|| text.clone());
        apply(&mut now, &named(program.display().to_string()), None).unwrap();
        assert_eq!(now.sandbox, Some(program));
        for wrong in ["bir-sandbox".to_owned(), dir.path().join("none").display().to_string()] {
            let fault = apply(&mut settings(), &named(wrong), Some(dir.path())).unwrap_err();
            assert!(fault.to_string().contains("BIR_SANDBOX"), "{fault}");
        }
    }

    #[test]
    fn model_help_is_off_unless_endpoint_and_key_are_set() {
        let mut now = settings();
        apply(&mut now, &|_| None, None).unwrap();
        assert!(matches!(now.derive, DeriveSetting::Off(_)));
        let said = |name: &str| match name {
            "BIR_DERIVE_URL" => Some("https://api.example/v1".to_owned()),
            "BIR_DERIVE_API_KEY" => Some("sk-canary-1".to_owned()),
            _ => None,
        };
        apply(&mut now, &said, None).unwrap();
        assert!(matches!(now.derive, DeriveSetting::On(_)) && !format!("{now:?}").contains("canary"));
        let wrong = |name: &str| match name {
            "BIR_DERIVE_URL" => Some("http://canary.example".to_owned()),
            other => said(other),
        };
        let fault = apply(&mut settings(), &wrong, None).unwrap_err().to_string();
        assert!(fault.contains("BIR_DERIVE_URL") && !fault.contains("canary"), "{fault}");
    }

    #[test]
    fn rules_that_are_not_understood_ask_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let said = |name: &str| match name {
            "BIR_DERIVE_URL" => Some("https://api.example/v1".to_owned()),
            "BIR_DERIVE_API_KEY" => Some("sk-canary-1".to_owned()),
            _ => None,
        };
        for (text, on) in [("[redact]\nkeys = ['ssn']\n", true), ("[redact]\npatterns = ['(']\n", false)] {
            std::fs::write(dir.path().join("config.toml"), text).unwrap();
            let mut now = settings();
            apply(&mut now, &said, None).unwrap();
            redaction(&mut now, Some(dir.path()));
            assert_eq!(matches!(now.derive, DeriveSetting::On(_)), on, "{text}");
            assert_eq!(now.redact.keys.len(), usize::from(on));
        }
    }

    #[test]
    fn prices_come_from_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("prices.toml");
        let named = |name: &str| (name == "BIR_PRICES").then(|| path.display().to_string());
        assert!(apply(&mut settings(), &named, None).unwrap_err().to_string().contains("BIR_PRICES"));
        std::fs::write(&path, "version = 'ours'\n[models.m]\ninput = '1'\noutput = '2'\n").unwrap();
        let mut now = settings();
        apply(&mut now, &named, None).unwrap();
        assert_eq!(now.prices.version, "ours");
        std::fs::write(&path, "version = ''\n[models]\n").unwrap();
        assert!(apply(&mut settings(), &named, None).is_err());
    }
}
