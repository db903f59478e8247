//! Three real nodes under load, with PostgreSQL and NATS, while nodes are killed, suspended and restarted and both services fail.
//!
//! The history of all calls is checked afterwards: no key ran twice, nobody got another user's answer, every call has an outcome,
//! and nothing ran after its caller was told how it ended. Times are printed, not checked: machines are noisy.
//!
//! | variable | default | |
//! | --- | --- | --- |
//! | `TOOLYARD_CLUSTER_ROUNDS` | 1 | how often each fault happens |
//! | `TOOLYARD_CLUSTER_RATE` | 40 | calls per second |
//! | `TOOLYARD_CLUSTER_SUSPEND_S` | 4 | how long a suspended node sleeps |
//! | `TOOLYARD_CLUSTER_STRICT` | 0 | 1: no attempt may fail while a node is restarted. On a busy machine the balancer may cut one |
//!
//! `scripts/cluster-drill.sh` runs the long version.

#![cfg(test)]

mod app;
mod balancer;
mod devices;
mod faults;
mod history;
mod load;
mod nodes;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::{app::EchoApp, devices::Devices, faults::Fault, history::History, load::Load, nodes::Nodes};

/// A number from the environment.
#[expect(clippy::disallowed_methods, reason = "the tests are a program of their own")]
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_fault_makes_a_key_run_twice_or_loses_an_answer() {
    let rounds = setting("TOOLYARD_CLUSTER_ROUNDS", 1);
    let suspended = Duration::from_secs(setting("TOOLYARD_CLUSTER_SUSPEND_S", 4));
    let app = EchoApp::start().await;
    let mut nodes = Nodes::start(3).await;
    nodes.register(&app).await;
    let (history, stop) = (Arc::new(History::default()), CancellationToken::new());
    let devices = Devices::connect(&nodes, 6, &stop);
    let load = Load::start(&nodes, &history, setting("TOOLYARD_CLUSTER_RATE", 40), &stop);

    nodes.settle().await;
    for round in 0..rounds {
        for fault in Fault::ALL {
            let node = usize::try_from(round).unwrap_or_default() % 3;
            let since = Instant::now();
            fault.happen(&mut nodes, node, suspended).await;
            nodes.settle().await;
            let failed = history.failures_since(since);
            println!("round {round}: {fault:?} of node {node}, failed attempts: {failed:#?}");
            let is_strict = setting("TOOLYARD_CLUSTER_STRICT", 0) == 1;
            if fault == Fault::Restart && is_strict {
                assert!(failed.is_empty(), "a restart is not noticed");
            }
        }
    }
    stop.cancel();
    load.finish().await;
    let gaps = devices.finish().await;
    nodes.stop().await;
    history.check(&app.runs());
    println!("{}\n{gaps}", history.summary());
}
