//! Who asks a model endpoint for what derivation cannot tell, in one line: this machine, the service, nobody.

use bir_model::scenario::{Derivation, Derives};
use bir_record::hub::HubClient;

/// What the hub says of it. None: it does not answer, or is an older one.
pub(crate) async fn of(client: &mut HubClient) -> Option<Derivation> {
    client.get("/derivation").await.ok()?.json().ok()
}

/// In words; what the hub said is not made safe yet.
pub(crate) fn line(derivation: &Derivation) -> String {
    let who = match derivation.by {
        Derives::Machine => "this machine",
        Derives::Service => "the service",
        Derives::Nobody => {
            let why = derivation.why.as_deref().unwrap_or("it is off");
            return format!("nobody: no model is asked, since {why}");
        }
    };
    let model = derivation.model.as_deref().unwrap_or("a model");
    let host = derivation.host.as_deref().unwrap_or("an endpoint");
    let for_what = match derivation.proposes {
        true => "for missing parameters and unexplained values",
        false => "for missing parameters",
    };
    let priced = if derivation.priced { "" } else { "; it has no price, so what it costs is not measured" };
    let cools = derivation.cooling_seconds.map(|left| format!("; left alone for {left} s after failures"));
    format!("{who} asks {model} at {host} {for_what}{priced}{}", cools.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_who() {
        let mut told = Derivation {
            by: Derives::Machine,
            why: None,
            allowed: true,
            host: Some("api.example:443".into()),
            protocol: Some("anthropic".into()),
            model: Some("small".into()),
            priced: true,
            proposes: true,
            cooling_seconds: None,
        };
        assert_eq!(
            line(&told),
            "this machine asks small at api.example:443 for missing parameters and unexplained values"
        );
        (told.by, told.priced, told.proposes, told.cooling_seconds) =
            (Derives::Service, false, false, Some(7));
        assert_eq!(
            line(&told),
            "the service asks small at api.example:443 for missing parameters; it has no price, so what it costs is not \
             measured; left alone for 7 s after failures"
        );
        (told.by, told.why) = (Derives::Nobody, Some("no endpoint is configured".into()));
        assert_eq!(line(&told), "nobody: no model is asked, since no endpoint is configured");
    }
}
