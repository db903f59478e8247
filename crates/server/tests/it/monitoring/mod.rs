//! The monitoring pack under `deploy/monitoring`: generated from the table of metrics, and checked against a live server.
//!
//! | look for | in |
//! | --- | --- |
//! | alert rules | `alerts` |
//! | panels of the dashboard | `dashboard` |
//! | what an expression uses | `expression` |

mod alerts;
mod dashboard;
mod expression;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use toolyard_server::telemetry::{METRICS, MetricKind};

use self::expression::UsedMetric;
use crate::platform::Platform;

/// Labels that the monitoring system adds.
const TARGET_LABELS: [&str; 2] = ["instance", "job"];

/// Compares with the committed file; with `UPDATE_CONTRACT=1` it writes the file instead.
fn is_committed(name: &str, made: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/monitoring").join(name);
    #[expect(clippy::disallowed_methods, reason = "how a test is told to write and not to compare")]
    if std::env::var("UPDATE_CONTRACT").is_ok_and(|update| update == "1") {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, made).unwrap();
        return;
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    let first = committed.lines().zip(made.lines()).find(|(was, is)| was != is);
    assert!(
        committed == made,
        "deploy/monitoring/{name} is out of date: run `make contract` and look at what changed; first difference: {first:?}"
    );
}

/// All expressions, with the place of each.
fn expressions() -> Vec<(String, String)> {
    let alerts = alerts::alert_rules().into_iter().map(|rule| (rule.name.to_owned(), rule.expression));
    let panels = dashboard::panels().into_iter().flat_map(|panel| {
        panel.queries.into_iter().map(move |(expression, _)| (panel.title.to_owned(), expression))
    });
    alerts.chain(panels).collect()
}

/// The values of each label on the metrics page, by series name. Every outcome and state is there from the start.
async fn live_series() -> BTreeMap<String, BTreeMap<String, BTreeSet<String>>> {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    let page = p.nobody().get("/metrics").await.expect(200).text;
    let mut series: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for line in page.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, _value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = name.split_once('{').unwrap_or((name, "}"));
        let known = series.entry(name.to_owned()).or_default();
        for label in labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty()) {
            let (label, value) = label.split_once('=').unwrap();
            known.entry(label.to_owned()).or_default().insert(value.trim_matches('"').to_owned());
        }
    }
    series
}

/// The series of every metric in the table, with their labels.
fn table_series() -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut series = BTreeMap::new();
    for metric in METRICS {
        let labels: BTreeSet<_> = metric.labels.iter().copied().collect();
        match metric.kind {
            MetricKind::Counter | MetricKind::Gauge => drop(series.insert(metric.name.to_owned(), labels)),
            MetricKind::Histogram => {
                series.insert(format!("{}_sum", metric.name), labels.clone());
                series.insert(format!("{}_count", metric.name), labels.clone());
                let labels = labels.into_iter().chain(["le"]).collect();
                series.insert(format!("{}_bucket", metric.name), labels);
            }
        }
    }
    series
}

#[test]
fn the_alert_rules_are_the_committed_ones() {
    is_committed("alerts.yaml", &alerts::alerts_file());
}

#[test]
fn the_dashboard_is_the_committed_one() {
    let dashboard = serde_json::to_string_pretty(&dashboard::dashboard()).unwrap() + "\n";
    is_committed("grafana-dashboard.json", &dashboard);
}

#[tokio::test]
async fn the_table_is_what_a_live_server_exports() {
    let live = live_series().await;
    let live: BTreeMap<_, BTreeSet<&str>> = live
        .iter()
        .map(|(name, labels)| (name.clone(), labels.keys().map(String::as_str).collect()))
        .collect();
    assert_eq!(live, table_series());
}

#[test]
fn every_metric_has_a_help_text_and_a_name_of_its_kind() {
    for metric in METRICS {
        assert!(metric.name.starts_with("toolyard_") && !metric.help.is_empty(), "{metric:?}");
        let is_counter = metric.kind == MetricKind::Counter;
        assert_eq!(metric.name.ends_with("_total"), is_counter, "{metric:?}");
        assert_eq!(metric.name.ends_with("_seconds"), metric.kind == MetricKind::Histogram, "{metric:?}");
    }
    let names: BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), METRICS.len());
}

#[tokio::test]
async fn expressions_use_only_metrics_labels_and_values_that_exist() {
    let (table, live) = (table_series(), live_series().await);
    for (place, expression) in expressions() {
        let used = expression::used_metrics(&expression);
        assert!(!used.is_empty(), "{place}: {expression}");
        for UsedMetric { name, labels } in used {
            if name == "up" {
                continue;
            }
            let known = table.get(&name).unwrap_or_else(|| panic!("{place}: {name} is not a metric"));
            for (label, values) in labels {
                if TARGET_LABELS.contains(&label.as_str()) {
                    continue;
                }
                assert!(known.contains(label.as_str()), "{place}: {name} has no label {label}");
                for value in values {
                    assert!(live[&name][&label].contains(&value), "{place}: {name} {label}={value}");
                }
            }
        }
        for label in expression::grouping_labels(&expression) {
            let is_known = TARGET_LABELS.contains(&label.as_str())
                || table.values().any(|labels| labels.contains(label.as_str()));
            assert!(is_known, "{place}: no metric has the label {label}");
        }
    }
}

#[test]
fn every_metric_is_on_the_dashboard() {
    let shown: BTreeSet<String> = dashboard::panels()
        .into_iter()
        .flat_map(|panel| panel.queries)
        .flat_map(|(expression, _)| expression::used_metrics(&expression))
        .map(|used| used.name)
        .collect();
    for metric in METRICS {
        assert!(shown.iter().any(|name| name.starts_with(metric.name)), "{}", metric.name);
    }
}

#[test]
fn the_manual_lists_every_metric() {
    let manual =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md")).unwrap();
    for metric in METRICS {
        let row = manual.lines().find(|line| {
            line.starts_with('|') && line.split('|').nth(1).unwrap().contains(&format!("`{}`", metric.name))
        });
        let row = row.unwrap_or_else(|| panic!("{} has no row", metric.name));
        for label in metric.labels {
            assert!(row.contains(&format!("by `{label}`")), "{}: {label}", metric.name);
        }
    }
}
