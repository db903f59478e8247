//! What the tests of this binary share.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::timeout;
use toolyard_client_sdk::{
    PluginTools, Tool, ToolContext,
    plugins::mcp::{McpBridge, McpOptions},
};

/// Longer than anything takes that works.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// Calls a tool as a client does: by its name, among all that are offered.
pub(crate) async fn call(tools: &[Tool], name: &str, arguments: Value) -> Result<Value, String> {
    call_in(tools, arguments, &ToolContext::detached("call-1", name)).await
}

pub(crate) async fn call_in(tools: &[Tool], arguments: Value, cx: &ToolContext) -> Result<Value, String> {
    let tool = tools.iter().find(|tool| tool.name() == cx.tool());
    let tool = tool.unwrap_or_else(|| panic!("no tool {}: {:?}", cx.tool(), names(tools)));
    let arguments: Map<String, Value> = serde_json::from_value(arguments).unwrap();
    let answer = timeout(WAIT, tool.executor()(arguments, cx.clone())).await.expect("it answers in time");
    answer.map_err(|error| error.0)
}

pub(crate) fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(Tool::name).collect()
}

/// Every definition keeps the rules that the server has for tools of clients.
pub(crate) fn check_rules(tools: &[Tool]) {
    let definitions: Vec<_> = tools.iter().map(|tool| tool.definition().clone()).collect();
    toolyard_protocol::chat::client_tool::check_client_tools(&definitions, &Default::default(), |_| false)
        .unwrap();
}

/// Waits for a condition that has no event, by polling.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    timeout(WAIT, waiting).await.unwrap_or_else(|_| panic!("waited too long: {what}"));
}

pub(crate) fn mcp_options() -> McpOptions {
    #[expect(clippy::disallowed_methods, reason = "the tests are a program of their own")]
    McpOptions::new(|name| std::env::var(name).ok())
}

/// A bridge that is registered, and its tools.
pub(crate) async fn registered(bridge: &McpBridge) -> PluginTools {
    use toolyard_client_sdk::Hooks as _;
    let own = PluginTools::detached("mcp");
    bridge.on_register(&own).await.unwrap();
    own
}
