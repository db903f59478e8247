//! How plugins are told to people.

use toolyard_client_sdk::plugins::js::in_words;
use toolyard_protocol::plugin::Permissions;
use toolyard_trust::{Finding, Report, Severity};

use crate::text;

/// What a plugin asks for, a line each.
pub(super) fn permissions(asked: &Permissions) -> Vec<String> {
    let mut lines = in_words(asked);
    if lines.is_empty() {
        lines.push("nothing: no network, no storage, no clock".to_owned());
    }
    lines
}

/// One finding of an audit.
pub(super) fn finding(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let place = if finding.place.is_empty() { String::new() } else { format!("{}: ", finding.place) };
    text::line(&format!("{severity}: {place}{}", finding.text))
}

/// `1 error, 2 warnings, 0 notes`
pub(super) fn counts(report: &Report) -> String {
    let some = |severity, what: &str| {
        let count = report.findings.iter().filter(|found| found.severity == severity).count();
        format!("{count} {what}{}", if count == 1 { "" } else { "s" })
    };
    let kinds = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    kinds.map(|(severity, what)| some(severity, what)).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_told_in_words() {
        let asked = |text: &str| permissions(&serde_json::from_str(text).unwrap());
        assert_eq!(asked("{}"), ["nothing: no network, no storage, no clock"]);
        assert_eq!(
            asked(r#"{"network":["a.b","*.example.com"],"storage":{"bytes":5},"clock":true}"#),
            [
                "talks to a.b",
                "talks to everything under example.com",
                "keeps data between calls, at most 5 bytes",
                "knows the time"
            ]
        );
        assert_eq!(asked(r#"{"storage":true}"#), ["keeps data between calls"]);
    }
}
