//! Plugins as text for people.

use toolyard_client_sdk::plugins::js::permission_lines;
use toolyard_protocol::plugin::PluginPermissions;
use toolyard_trust::{AuditFinding, AuditReport, Severity};

use crate::text;

/// The permissions of a plugin, one line each.
pub(super) fn describe_permissions(permissions: &PluginPermissions) -> Vec<String> {
    let mut lines = permission_lines(permissions);
    if lines.is_empty() {
        lines.push("nothing: no network, no storage, no clock".to_owned());
    }
    lines
}

/// One finding of an audit.
pub(super) fn format_finding(finding: &AuditFinding) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let place = if finding.place.is_empty() { String::new() } else { format!("{}: ", finding.place) };
    text::sanitize_line(&format!("{severity}: {place}{}", finding.text))
}

/// `1 error, 2 warnings, 0 notes`
pub(super) fn count_findings(report: &AuditReport) -> String {
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
    fn permissions_are_described_one_per_line() {
        let described = |text: &str| describe_permissions(&serde_json::from_str(text).unwrap());
        assert_eq!(described("{}"), ["nothing: no network, no storage, no clock"]);
        assert_eq!(
            described(r#"{"network":["a.b","*.example.com"],"storage":{"bytes":5},"clock":true}"#),
            [
                "talks to a.b",
                "talks to everything under example.com",
                "keeps data between calls, at most 5 bytes",
                "knows the time"
            ]
        );
        assert_eq!(described(r#"{"storage":true}"#), ["keeps data between calls"]);
    }
}
