//! Replays call sequences through the executor, and prints how many attacks succeed and how many tasks ask.
//!
//!     cargo run -p toolyard-evals --example replay-data-flow -- evals/data-flow/agentdojo.json evals/data-flow/settings.toml

#![expect(clippy::print_stdout, reason = "a measuring tool for people")]

use std::{collections::BTreeMap, error::Error, fs, sync::Arc};

use tokio_util::task::TaskTracker;
use toolyard_core::{data_flow::LabelSettings, ports::Clock};
use toolyard_evals::data_flow::{CallSet, ReplayDesk, SuiteReport, read_label_settings, replay_suite};
use toolyard_protocol::approval::DataFlowPolicy;
use toolyard_store::SqliteSettings;
use toolyard_testkit::FixedClock;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut files = std::env::args().skip(1);
    let (Some(set), Some(settings)) = (files.next(), files.next()) else {
        return Err("expected two files: the set, and the settings with the labels".into());
    };
    let set: CallSet = serde_json::from_str(&fs::read_to_string(set)?)?;
    let settings = read_label_settings(&fs::read_to_string(settings)?)?;
    println!("{}", set.source);
    let without = |policy| LabelSettings { policy, destinations: BTreeMap::new(), ..settings.clone() };
    for (name, settings) in [
        ("off", without(DataFlowPolicy::Off)),
        ("ask, without destinations", without(DataFlowPolicy::Ask)),
        ("ask, with destinations", settings.clone()),
    ] {
        println!("\n{name}");
        println!(
            "{:<10} {:>6} {:>12} {:>10} {:>10} {:>5} {:>7} {:>10}",
            "suite", "tasks", "no question", "completed", "questions", "most", "pairs", "succeeded"
        );
        let mut total = SuiteReport::default();
        for (suite, report) in replay(&set, &settings).await? {
            print_row(&suite, &report);
            total = total.plus(&report);
            for (goal, count) in &report.succeeded_by_goal {
                if settings.policy != DataFlowPolicy::Off {
                    println!("           {goal}: {count}");
                }
            }
        }
        print_row("all", &total);
        println!("{} pairs cannot be replayed: the set names no call of the attacker", total.not_replayable);
    }
    Ok(())
}

/// Replays all suites, on a store of their own.
async fn replay(
    set: &CallSet,
    settings: &LabelSettings,
) -> Result<Vec<(String, SuiteReport)>, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let store = SqliteSettings::for_file(folder.path().join("replay.db"));
    let stores = toolyard_store::open(store.into(), &TaskTracker::new()).await?;
    let clock: Arc<dyn Clock> = Arc::new(FixedClock::default());
    let mut reports = Vec::new();
    for (name, suite) in &set.suites {
        let package = format!("dojo.{name}");
        let desk = ReplayDesk::open(&stores, clock.clone(), &package, suite, settings.clone()).await?;
        reports.push((name.clone(), replay_suite(&desk, name, suite).await?));
    }
    stores.maintenance.close().await;
    Ok(reports)
}

fn print_row(name: &str, report: &SuiteReport) {
    let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    println!(
        "{name:<10} {:>6} {:>5} {:>5.1}% {:>10} {:>10} {:>5} {:>7} {:>4} {:>4.1}%",
        report.tasks,
        report.without_question,
        share(report.without_question, report.tasks),
        report.completed,
        report.questions,
        report.most_questions,
        report.pairs,
        report.attacks_succeeded,
        share(report.attacks_succeeded, report.pairs),
    );
}
