//! What the labels of conversations cost a call: the executor with them on and off, in this process, on a real store.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use serde_json::Map;
use tokio_util::task::TaskTracker;
use toolyard_core::{data_flow::LabelSettings, ports::SystemClock};
use toolyard_evals::data_flow::{CallSuite, ReplayDesk, ReplayTool};
use toolyard_protocol::{
    UserId,
    approval::{DataFlowPolicy, DataLabel},
};
use toolyard_store::SqliteSettings;

use crate::process::median;

/// Calls of one round.
const CALLS: usize = 2_000;

/// Each tool, its labels, and what is measured with it.
const TOOLS: [(&str, &[DataLabel], &str); 3] = [
    ("plain", &[], "a tool without a label"),
    ("read", &[DataLabel::Private], "reads private data, known to be read"),
    ("send", &[DataLabel::Outward], "outward, private data was read"),
];

async fn open_desk(stores: &toolyard_core::ports::Stores, policy: DataFlowPolicy) -> ReplayDesk {
    let labels = TOOLS.map(|(name, labels, _)| (format!("bench.labels:{name}"), labels.to_vec()));
    let settings = LabelSettings { policy, labels: labels.into(), destinations: BTreeMap::new() };
    let tool = |(name, _, _): (&str, _, _)| ReplayTool {
        name: name.to_owned(),
        description: name.to_owned(),
        properties: Map::new(),
    };
    let suite =
        CallSuite { tools: TOOLS.map(tool).into(), user_tasks: Vec::new(), injection_tasks: Vec::new() };
    let desk = ReplayDesk::open(stores, Arc::new(SystemClock), "bench.labels", &suite, settings).await;
    desk.expect("a desk")
}

/// Microseconds of one call.
async fn time_calls(
    desk: &ReplayDesk,
    user: &UserId,
    conversation: impl Fn(usize) -> String,
    tool: &str,
) -> f64 {
    let names: Vec<String> = (0..CALLS).map(conversation).collect();
    let begun = Instant::now();
    for name in &names {
        let outcome = desk.call(user, name, "", tool, &Map::new()).await.expect("a call");
        assert!(outcome.is_ok(), "{outcome:?}");
    }
    begun.elapsed().as_secs_f64() * 1e6 / CALLS as f64
}

pub async fn measure(rounds: usize) {
    println!(
        "Labels of conversations. Microseconds a call in the executor, without any network; the tool does nothing."
    );
    println!("{:<42} {:>8} {:>8} {:>8}", "call", "off", "ask", "cost");
    let folder = tempfile::tempdir().expect("a folder");
    let settings = SqliteSettings::for_file(folder.path().join("bench.db"));
    let stores = toolyard_store::open(settings.into(), &TaskTracker::new()).await.expect("a store");
    let user: UserId = "bench@example.com".parse().expect("a user");
    let desks =
        [open_desk(&stores, DataFlowPolicy::Off).await, open_desk(&stores, DataFlowPolicy::Ask).await];
    for desk in &desks {
        let read = desk.call(&user, "one", "", "read", &Map::new()).await.expect("a call");
        assert!(read.is_ok(), "{read:?}");
    }
    let one = |_: usize| "one".to_owned();
    for (tool, _, what) in TOOLS {
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..=rounds {
            for (desk, times) in desks.iter().zip(&mut times) {
                let time = time_calls(desk, &user, one, tool).await;
                if round > 0 {
                    times.push(time);
                }
            }
        }
        print_row(what, times);
    }
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        for (desk, times) in desks.iter().zip(&mut times) {
            times.push(time_calls(desk, &user, |call| format!("{round}-{call}"), "read").await);
        }
    }
    print_row("first labelled result of a conversation", times);
    println!("The last row includes the write to the store that a restart finds.\n");
    stores.maintenance.close().await;
}

fn print_row(what: &str, [off, ask]: [Vec<f64>; 2]) {
    let (off, ask) = (median(off), median(ask));
    println!("{what:<42} {off:>8.1} {ask:>8.1} {:>8.1}", ask - off);
}
