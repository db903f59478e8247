//! The alert rules for Prometheus.

use std::fmt::Write as _;

use toolyard_protocol::ErrorCode;

/// How soon someone has to act.
#[derive(Debug, Clone, Copy)]
pub(super) enum Severity {
    /// Now: users are affected.
    Critical,
    /// In working hours.
    Warning,
}

impl Severity {
    fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
        }
    }
}

/// One rule.
pub(super) struct AlertRule {
    pub(super) name: &'static str,
    pub(super) expression: String,
    /// How long the expression must hold.
    hold: &'static str,
    severity: Severity,
    summary: &'static str,
    /// What it means and what to do.
    description: &'static str,
}

/// The outcomes that are not the caller's fault.
pub(super) fn server_errors() -> String {
    let codes = ErrorCode::ALL.iter().filter(|code| code.http_status() >= 500);
    codes.map(|code| code.as_str()).collect::<Vec<_>>().join("|")
}

pub(super) fn alert_rules() -> Vec<AlertRule> {
    use Severity::{Critical, Warning};
    let rule = |name, expression: &str, hold, severity, summary, description| AlertRule {
        name,
        expression: expression.to_owned(),
        hold,
        severity,
        summary,
        description,
    };
    let errors = server_errors();
    let error_share = format!(
        "sum by (instance) (rate(toolyard_calls_total{{outcome=~\"{errors}\"}}[10m])) / sum by (instance) \
         (rate(toolyard_calls_total[10m])) > 0.05 and sum by (instance) (rate(toolyard_calls_total[10m])) > 0.1"
    );
    vec![
        rule(
            "ToolyardDown",
            r#"up{job="toolyard"} == 0 or absent(up{job="toolyard"})"#,
            "2m",
            Critical,
            "Toolyard cannot be scraped",
            "The process is down, every worker thread is stuck, or the scrape token is wrong. Look at the log of the server.",
        ),
        rule(
            "ToolyardStoreDown",
            "toolyard_store_ready == 0",
            "1m",
            Critical,
            "The store cannot be read and written",
            "Requests that need the store fail with 503. Check disk space, or whether PostgreSQL can be reached.",
        ),
        rule(
            "ToolyardWorkerStuck",
            "toolyard_workers_stuck > 0",
            "1m",
            Critical,
            "A worker thread makes no progress",
            "The server is not ready. The log names the thread; restart the server if it does not recover.",
        ),
        rule(
            "ToolyardRecordsLost",
            "increase(toolyard_records_lost_total[15m]) > 0",
            "0m",
            Critical,
            "Records of calls were lost",
            "Records could not be written. The message `call records lost` in the log has the reason.",
        ),
        rule(
            "ToolyardAuditFailures",
            "increase(toolyard_audit_failures_total[15m]) > 0",
            "0m",
            Critical,
            "Entries of the audit log were not written",
            "A change was made without an entry. The log of the server names the action and the reason.",
        ),
        rule(
            "ToolyardLedgerBacklog",
            "toolyard_records_unwritten > 2048",
            "5m",
            Warning,
            "Records of calls are written too slowly",
            "The store is slow or cannot be written. Calls are refused with OVERLOADED at eight batches (`ledger.batch_size`).",
        ),
        rule(
            "ToolyardCallErrors",
            &error_share,
            "10m",
            Warning,
            "More than 5 % of the calls fail",
            "Apps or upstreams fail. Activity in the console shows which tools, and why.",
        ),
        rule(
            "ToolyardCallsSlow",
            "histogram_quantile(0.99, sum by (le, instance) (rate(toolyard_call_seconds_bucket[10m]))) > 5",
            "10m",
            Warning,
            "One call in a hundred takes longer than 5 seconds",
            "Activity in the console shows the duration of each step: a slow wake, a slow app, or a slow upstream.",
        ),
        rule(
            "ToolyardAppsNotAvailable",
            r#"increase(toolyard_calls_total{outcome="APP_NOT_AVAILABLE"}[15m]) > 10"#,
            "0m",
            Warning,
            "Apps do not start",
            "Calls fail because apps cannot be woken. The message `app did not start` in the log names them.",
        ),
        rule(
            "ToolyardOverloaded",
            r#"rate(toolyard_calls_total{outcome="OVERLOADED"}[5m]) > 0"#,
            "5m",
            Warning,
            "Calls are refused because of load",
            "A limit under `[calls]` is reached, or the store cannot be written. Raise the limit, or add capacity.",
        ),
        rule(
            "ToolyardCallsNearLimit",
            "toolyard_calls_in_flight / toolyard_calls_in_flight_limit > 0.8",
            "5m",
            Warning,
            "More than 80 % of the permitted calls are in progress",
            "Beyond `calls.in_flight` calls are refused. Look for slow apps before you raise it.",
        ),
        rule(
            "ToolyardConnectionsNearLimit",
            "toolyard_connections / toolyard_connections_limit > 0.8",
            "10m",
            Warning,
            "More than 80 % of the permitted connections are open",
            "Beyond the limit connections wait. Raise `server.max_connections` and the open file limit (`LimitNOFILE=`).",
        ),
        rule(
            "ToolyardUpstreamDown",
            r#"toolyard_upstreams{state="down"} > 0"#,
            "10m",
            Warning,
            "An upstream server does not respond",
            "Its tools fail. `toolyard upstreams ls` and the message `upstream unreachable` in the log name it.",
        ),
        rule(
            "ToolyardSpeechFails",
            r#"increase(toolyard_speech_total{outcome="failed"}[15m]) > 10 or increase(toolyard_transcripts_total{outcome="failed"}[15m]) > 10"#,
            "0m",
            Warning,
            "Speech cannot be synthesized or transcribed",
            "Check the servers under `[speech]`, and the log.",
        ),
    ]
}

/// The rules as a file. Texts are quoted as JSON, which YAML understands.
pub(super) fn alerts_file() -> String {
    let quote = |text: &str| serde_json::to_string(text).unwrap();
    let mut file = "# Alert rules for Prometheus. Generated by `make contract`; do not edit.\ngroups:\n  - name: toolyard\n    rules:\n"
        .to_owned();
    for rule in alert_rules() {
        write!(
            file,
            "      - alert: {}\n        expr: {}\n        for: {}\n        labels:\n          severity: {}\n        \
             annotations:\n          summary: {}\n          description: {}\n",
            rule.name,
            quote(&rule.expression),
            rule.hold,
            rule.severity.as_str(),
            quote(rule.summary),
            quote(rule.description),
        )
        .unwrap();
    }
    file
}
