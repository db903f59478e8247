//! The client under test of the official conformance suite:
//!
//! ```sh
//! conformance client --command target/debug/examples/conformance-client --requirements 2026-07-28
//! ```
//!
//! The suite appends the server's URL and says the rest in the environment. Its scenarios with authorization need the
//! feature `oauth`.

#[cfg(feature = "oauth")]
#[path = "conformance/auth.rs"]
mod auth;
#[path = "conformance/explore.rs"]
mod explore;

use std::{process::ExitCode, sync::Arc};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_mcp_client::{
    ClientOptions, Credentials, HttpTarget, McpClient, McpClientError, McpTransport, ProtocolEra,
};
use toolyard_net::{ClientSettings, Guard, HttpClient, OutsideUrl};
use toolyard_protocol::{mcp::McpRevision, raw::to_raw};

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing::Level::DEBUG).init();
    let Some(url) = std::env::args().next_back() else { return ExitCode::FAILURE };
    let url = match OutsideUrl::parse(&url, &Guard::dev()) {
        Ok(url) => url,
        Err(error) => {
            eprintln!("{url}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let context: Value = serde_json::from_str(&told("CONTEXT")).unwrap_or_default();
    let era = match told("PROTOCOL_VERSION").parse() {
        Ok(McpRevision::V2026_07_28) => ProtocolEra::Modern,
        _ => ProtocolEra::Handshake,
    };
    match run(url, era, &told("SCENARIO"), &context).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the binary that reads its environment")]
fn told(name: &str) -> String {
    std::env::var(format!("MCP_CONFORMANCE_{name}")).unwrap_or_default()
}

async fn run(
    url: OutsideUrl,
    era: ProtocolEra,
    scenario: &str,
    context: &Value,
) -> Result<(), McpClientError> {
    let tasks = TaskTracker::new();
    let http = HttpClient::new(Guard::dev(), ClientSettings::default());
    let credentials = credentials(&url, &http, &tasks, scenario, context);
    let mut options = ClientOptions::new(tasks.clone(), CancellationToken::new());
    options.era = era;
    options.capabilities = to_raw(&json!({ "elicitation": {}, "sampling": {}, "roots": {} }));
    // Some servers send requests on the stream of the call, some on the standing stream.
    let (asks, asked) = mpsc::channel(explore::MAX_ASKS);
    options.asks = Some(asks);
    tasks.spawn(options.stop.clone().run_until_cancelled_owned(explore::answer_all(asked)));
    let (target, stop) = (HttpTarget { url, http, credentials }, options.stop.clone());
    let client = McpClient::connect(McpTransport::Http(target), options).await?;
    let explored = explore::explore(&client, context).await;
    client.close().await;
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    explored
}

#[cfg(feature = "oauth")]
fn credentials(
    url: &OutsideUrl,
    http: &HttpClient,
    tasks: &TaskTracker,
    scenario: &str,
    context: &Value,
) -> Arc<dyn Credentials> {
    match "conformance".parse() {
        Ok(user) if scenario.starts_with("auth/") => auth::credentials(url, http, tasks, user, context),
        _ => Arc::new(toolyard_mcp_client::StaticHeaders::default()),
    }
}

#[cfg(not(feature = "oauth"))]
fn credentials(_: &OutsideUrl, _: &HttpClient, _: &TaskTracker, _: &str, _: &Value) -> Arc<dyn Credentials> {
    Arc::new(toolyard_mcp_client::StaticHeaders::default())
}
