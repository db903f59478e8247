//! Calls of many users at a steady rate, half of them with a key.

use std::{sync::Arc, time::Duration};

use http::Method;
use serde_json::{Value, json};
use tokio::{
    task::JoinHandle,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    app::spawn,
    history::{Call, History, Outcome},
    nodes::{Client, Nodes, PACKAGE, USERS, user_name},
};

/// How long a call with a key is repeated.
const PATIENCE: Duration = Duration::from_secs(90);
/// The pause before it is repeated.
const PAUSE: Duration = Duration::from_millis(150);

pub(crate) struct Load {
    task: JoinHandle<()>,
}

impl Load {
    pub(crate) fn start(nodes: &Nodes, history: &Arc<History>, rate: u64, stop: &CancellationToken) -> Self {
        let (client, history, stop) = (nodes.client(), history.clone(), stop.clone());
        let task = spawn(async move {
            let calls = TaskTracker::new();
            let mut ticks = tokio::time::interval(Duration::from_micros(1_000_000 / rate.max(1)));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            for number in 0_usize.. {
                tokio::select! {
                    _ = ticks.tick() => {}
                    () = stop.cancelled() => break,
                }
                let (client, history) = (client.clone(), history.clone());
                calls.spawn(async move { make_call(&client, &history, number).await });
            }
            calls.close();
            calls.wait().await;
        });
        Self { task }
    }

    /// Waits until every call has ended.
    pub(crate) async fn finish(self) {
        self.task.await.unwrap();
    }
}

async fn make_call(client: &Client, history: &History, number: usize) {
    let (user, text, has_key) =
        (user_name(number % USERS), format!("call-{number}"), number.is_multiple_of(2));
    let begun = Instant::now();
    let outcome = loop {
        let body = json!({ "name": format!("{PACKAGE}:echo"), "arguments": { "text": text } });
        let key = has_key.then_some(text.as_str());
        let response = client.send(Method::POST, "/api/tools/execute", &user, key, Some(body)).await;
        let failure = format!("{response:?}");
        if let Some(outcome) = response.and_then(read_outcome) {
            break outcome;
        }
        history.add_failure(begun, failure);
        if !has_key || begun.elapsed() > PATIENCE {
            break Outcome::GaveUp;
        }
        tokio::time::sleep(PAUSE).await;
    };
    history.add(Call { user, text, has_key, begun, ended: Instant::now(), outcome });
}

/// None if the call has to be repeated.
fn read_outcome((status, body): (u16, Value)) -> Option<Outcome> {
    match (status, body["error"]["code"].as_str()) {
        (200, _) => Some(Outcome::Answer(body["content"].as_str().unwrap_or_default().to_owned())),
        // The node that ran it is gone, and nobody knows whether it ran.
        (_, Some(code @ "OUTCOME_UNKNOWN")) => Some(Outcome::Final(code.to_owned())),
        _ => None,
    }
}
