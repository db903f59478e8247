//! The dashboard for Grafana.

use serde_json::{Value, json};

use super::alerts::server_errors;

/// Panels in a row, and the size of each on Grafana's grid of 24 columns.
const IN_ROW: usize = 3;
const WIDTH: usize = 8;
const HEIGHT: usize = 7;

/// One panel with its queries: expression and legend.
pub(super) struct DashboardPanel {
    pub(super) title: &'static str,
    description: &'static str,
    unit: &'static str,
    pub(super) queries: Vec<(String, &'static str)>,
}

pub(super) fn panels() -> Vec<DashboardPanel> {
    let panel = |title, description, unit, queries: &[(&str, &'static str)]| DashboardPanel {
        title,
        description,
        unit,
        queries: queries.iter().map(|(expression, legend)| ((*expression).to_owned(), *legend)).collect(),
    };
    let errors = format!(
        "sum(rate(toolyard_calls_total{{{SELECTED},outcome=~\"{}\"}}[$__rate_interval])) / \
         sum(rate(toolyard_calls_total{{{SELECTED}}}[$__rate_interval]))",
        server_errors()
    );
    let quantile = |quantile| {
        format!(
            "histogram_quantile({quantile}, sum by (le) (rate(toolyard_call_seconds_bucket{{{SELECTED}}}[$__rate_interval])))"
        )
    };
    let of = |metric: &str| format!("{metric}{{{SELECTED}}}");
    let rate = |metric: &str| format!("sum(rate({metric}{{{SELECTED}}}[$__rate_interval]))");
    let by_outcome =
        |metric: &str| format!("sum by (outcome) (rate({metric}{{{SELECTED}}}[$__rate_interval]))");
    vec![
        panel(
            "Calls",
            "Finished calls by outcome",
            "reqps",
            &[(&by_outcome("toolyard_calls_total"), "{{outcome}}")],
        ),
        panel(
            "Failed calls",
            "Share of calls that fail for reasons other than the request",
            "percentunit",
            &[(&errors, "failed")],
        ),
        panel(
            "Duration of calls",
            "Wake included",
            "s",
            &[
                (&quantile("0.5"), "p50"),
                (&quantile("0.95"), "p95"),
                (&quantile("0.99"), "p99"),
                (
                    &format!(
                        "{} / {}",
                        rate("toolyard_call_seconds_sum"),
                        rate("toolyard_call_seconds_count")
                    ),
                    "mean",
                ),
            ],
        ),
        panel(
            "Calls in progress",
            "And the limit `calls.in_flight`",
            "short",
            &[
                (&of("toolyard_calls_in_flight"), "{{instance}}"),
                (&of("toolyard_calls_in_flight_limit"), "limit {{instance}}"),
            ],
        ),
        panel(
            "Users with a session",
            "Users with a device, a running app or a recent request",
            "short",
            &[(&of("toolyard_users_live"), "{{instance}}")],
        ),
        panel(
            "Client connections",
            "Sockets included, and the limit",
            "short",
            &[
                (&of("toolyard_connections"), "{{instance}}"),
                (&of("toolyard_connections_limit"), "limit {{instance}}"),
            ],
        ),
        panel(
            "Store",
            "1: it can be read and written",
            "bool_on_off",
            &[(&of("toolyard_store_ready"), "{{instance}}")],
        ),
        panel(
            "Call records and audit log",
            "Records that wait to be written, records that were lost, and entries of the audit log that were not written",
            "short",
            &[
                (&of("toolyard_records_unwritten"), "unwritten {{instance}}"),
                (&of("toolyard_records_lost_total"), "lost {{instance}}"),
                (&of("toolyard_audit_failures_total"), "audit {{instance}}"),
            ],
        ),
        panel(
            "Worker threads",
            "Threads that make no progress, and how often one got stuck",
            "short",
            &[
                (&of("toolyard_workers_stuck"), "stuck {{instance}}"),
                (&of("toolyard_worker_stalls_total"), "stalls {{instance}}"),
            ],
        ),
        panel(
            "Upstream servers",
            "By state of the last request",
            "short",
            &[(&format!("sum by (state) ({})", of("toolyard_upstreams")), "{{state}}")],
        ),
        panel(
            "Secrets in results",
            "Secrets that were replaced, and placeholders that came back in arguments",
            "cps",
            &[
                (&rate("toolyard_secrets_replaced_total"), "replaced"),
                (&by_outcome("toolyard_placeholders_used_total"), "{{outcome}}"),
            ],
        ),
        panel(
            "Speech",
            "Speech requests and utterances by outcome",
            "cps",
            &[
                (&by_outcome("toolyard_speech_total"), "speech {{outcome}}"),
                (&by_outcome("toolyard_transcripts_total"), "transcript {{outcome}}"),
            ],
        ),
    ]
}

/// Restricts every query to the instances that are chosen at the top of the dashboard.
const SELECTED: &str = r#"job="toolyard",instance=~"$instance""#;

/// The dashboard as Grafana imports it.
pub(super) fn dashboard() -> Value {
    let source = json!({ "type": "prometheus", "uid": "${datasource}" });
    let panels: Vec<Value> = panels()
        .into_iter()
        .enumerate()
        .map(|(index, panel)| {
            let targets = panel.queries.iter().zip('A'..='Z').map(|((expression, legend), name)| {
                json!({ "datasource": source, "expr": expression, "legendFormat": legend, "refId": name.to_string() })
            });
            json!({
                "id": index + 1,
                "type": "timeseries",
                "title": panel.title,
                "description": panel.description,
                "datasource": source,
                "gridPos": { "x": index % IN_ROW * WIDTH, "y": index / IN_ROW * HEIGHT, "w": WIDTH, "h": HEIGHT },
                "fieldConfig": { "defaults": { "unit": panel.unit, "min": 0 }, "overrides": [] },
                "options": { "legend": { "displayMode": "list", "placement": "bottom" }, "tooltip": { "mode": "multi" } },
                "targets": targets.collect::<Vec<_>>(),
            })
        })
        .collect();
    let variables = json!([
        { "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus" },
        { "name": "instance", "label": "Instance", "type": "query", "datasource": source, "includeAll": true,
          "multi": true, "allValue": ".*", "current": { "text": "All", "value": "$__all" }, "refresh": 2,
          "query": { "query": "label_values(up{job=\"toolyard\"}, instance)", "refId": "instances" } },
    ]);
    json!({
        "title": "Toolyard",
        "uid": "toolyard",
        "description": "Generated by `make contract`; changes here are not kept.",
        "tags": ["toolyard"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": { "from": "now-6h", "to": "now" },
        "timezone": "browser",
        "templating": { "list": variables },
        "panels": panels,
    })
}
