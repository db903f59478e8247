//! Five things that a program can do with each call before it runs: ask the user, log it, deny it, run it in another way, and
//! show progress.
//!
//! `cargo run -p toolyard-client-sdk --example on_tool_call -- http://127.0.0.1:8787 ada@example.com`

use std::{collections::BTreeSet, io::Write as _, sync::Arc};

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use toolyard_client_sdk::{CallRun, ChatQuestion, Client, ToolContext, ToolError, create_dynamic_tool};

/// A confirmation dialog: a call runs only if the user agrees. The time that the user takes counts towards
/// [`ClientBuilder::tool_timeout`](toolyard_client_sdk::ClientBuilder::tool_timeout), so it should be generous.
async fn confirmed(run: CallRun) -> Result<Value, ToolError> {
    let mut err = std::io::stderr();
    let _ = write!(err, "Run {}({})? [y/N] ", run.call().tool, run.call().input);
    let mut line = String::new();
    let read = BufReader::new(tokio::io::stdin()).read_line(&mut line).await;
    match read.is_ok() && line.trim().eq_ignore_ascii_case("y") {
        true => run.run().await,
        // The model reads this, and can act on it.
        false => Err(ToolError::new("the user denied the call")),
    }
}

/// Logging: which tool, how long it took, and whether it succeeded. Arguments and results are not logged.
async fn logged(run: CallRun) -> Result<Value, ToolError> {
    let begun = tokio::time::Instant::now();
    let outcome = run.run().await;
    let duration_ms = begun.elapsed().as_millis();
    tracing::info!(tool = run.call().tool, ok = outcome.is_ok(), duration_ms, "tool called");
    outcome
}

/// A permission gate.
async fn permitted(run: CallRun, allowed: Arc<BTreeSet<String>>) -> Result<Value, ToolError> {
    match allowed.contains(&run.call().tool) {
        true => run.run().await,
        false => Err(ToolError(format!("this user may not use {}", run.call().tool))),
    }
}

/// Dynamic dispatch: some tools run elsewhere.
async fn dispatched(run: CallRun) -> Result<Value, ToolError> {
    match run.call().tool.strip_prefix("remote_") {
        Some(tool) => {
            Ok(json!({ "sent_to": "another machine", "tool": tool, "arguments": run.call().arguments()? }))
        }
        None => run.run().await,
    }
}

/// Progress: these reports become [`ChatEvent::Progress`](toolyard_client_sdk::ChatEvent::Progress) events of the chat.
async fn shown(run: CallRun) -> Result<Value, ToolError> {
    run.context().progress(0.0, Some(1.0), format!("running {}", run.call().tool));
    let outcome = run.run().await;
    run.context().progress(1.0, Some(1.0), "done".to_owned());
    outcome
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().unwrap_or_else(|| "http://127.0.0.1:8787".to_owned());
    let user = arguments.next().unwrap_or_else(|| "ada@example.com".to_owned());

    let client = Client::builder(server).user(user).on_tool_call(logged).build()?;
    let anything = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    for name in ["note", "remote_note"] {
        let note = |args: Map<String, Value>, _: ToolContext| async move {
            Ok::<_, ToolError>(json!({ "noted": args }))
        };
        client.register_tool(create_dynamic_tool(name, "Takes a note.", anything.clone(), note))?;
    }

    let allowed = Arc::new(BTreeSet::from(["note".to_owned()]));
    let ask = || ChatQuestion::from("Take a note that the milk is out.");
    let questions = [
        ask(),
        ask().on_tool_call(confirmed),
        ask().on_tool_call(move |run| permitted(run, allowed.clone())),
        ask().on_tool_call(dispatched),
        ask().on_tool_call(shown),
    ];
    let mut out = std::io::stdout();
    for question in questions {
        let answer = client.ask(question).await?;
        writeln!(out, "{}", answer.text)?;
    }
    Ok(())
}
