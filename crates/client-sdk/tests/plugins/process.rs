//! Processes of the bridge: they end with it, and are restarted when they die.

use std::{path::Path, time::Duration};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;
use tempfile::TempDir;
use toolyard_client_sdk::{
    Hooks as _, PluginTools, Tool,
    plugins::mcp::{McpBridge, McpOptions, McpServer, ServerState},
};

use crate::world::{call, mcp_options, names, registered, until};

/// Answers the handshake and lists one tool; what a call does is up to the script. Ids begin at 1.
const SERVER: &str = r#"
trap '' TERM
say() { echo "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}"; }
while read -r line; do
  id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case $line in
    *server/discover*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"what?\"}}" ;;
    *'"initialize"'*) say "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *tools/list*) say "$id" '{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}' ;;
    *tools/call*) CALL ;;
  esac
done
END
"#;

struct Shell(TempDir);

impl Shell {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A server that writes down each of its processes.
    fn server(&self, on_call: &str, at_end: &str) -> McpServer {
        let script = SERVER.replace("CALL", on_call).replace("END", at_end);
        let noted = format!("echo $$ >> {}; {script}", self.0.path().join("pids").display());
        McpServer::command("sh", "/bin/sh", ["-c".to_owned(), noted])
    }

    fn pids(&self) -> Vec<Pid> {
        let text = std::fs::read_to_string(self.0.path().join("pids")).unwrap_or_default();
        text.lines().map(|line| Pid::from_raw(line.parse().unwrap()).unwrap()).collect()
    }
}

/// Not even a zombie is left.
pub(crate) fn is_gone(pid: Pid) -> bool {
    test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

async fn go(tools: &[Tool]) -> Result<serde_json::Value, String> {
    call(tools, "mcp_sh_go", json!({})).await
}

const WORKS: &str = r#"say "$id" '{"content":[{"type":"text","text":"gone"}]}'"#;

#[tokio::test]
async fn a_process_is_gone_when_the_plugin_is() {
    let shell = Shell::new();
    let bridge = McpBridge::new([shell.server(WORKS, "")], mcp_options());
    let tools = registered(&bridge).await.get();
    assert_eq!(go(&tools).await.unwrap(), "gone");
    let [pid] = shell.pids()[..] else { panic!("one process") };
    assert!(!is_gone(pid));
    bridge.on_unregister().await;
    assert!(is_gone(pid));
}

#[tokio::test]
async fn a_process_that_does_not_exit_is_killed() {
    let shell = Shell::new();
    let bridge = McpBridge::new([shell.server(WORKS, "while :; do sleep 1000; done")], mcp_options());
    registered(&bridge).await;
    let [pid] = shell.pids()[..] else { panic!("one process") };
    bridge.on_unregister().await;
    assert!(is_gone(pid));
}

#[tokio::test]
async fn a_process_is_gone_when_the_bridge_is_dropped() {
    let shell = Shell::new();
    let bridge = McpBridge::new([shell.server(WORKS, "")], mcp_options());
    let plugin = bridge.plugin();
    let own = registered(&bridge).await;
    let [pid] = shell.pids()[..] else { panic!("one process") };
    drop(bridge);
    assert!(!is_gone(pid), "the plugin still has it");
    drop(plugin);
    until("the process is gone", || is_gone(pid)).await;
    assert_eq!(go(&own.get()).await.unwrap_err(), "the MCP bridge is closed");
}

#[tokio::test]
async fn a_server_that_died_is_restarted_by_the_next_call() {
    let shell = Shell::new();
    let bridge = McpBridge::new([shell.server(WORKS, "")], mcp_options());
    let own = registered(&bridge).await;
    kill_process(shell.pids()[0], Signal::KILL).unwrap();
    until("its death is noticed", || matches!(bridge.server_statuses()[0].state, ServerState::Down(_))).await;
    assert_eq!(names(&own.get()), ["mcp_sh_go"], "its tools stay");
    assert_eq!(go(&own.get()).await.unwrap(), "gone");
    assert_eq!(shell.pids().len(), 2);
    until("it is up again", || bridge.server_statuses()[0].state == ServerState::Up).await;
    bridge.on_unregister().await;
    assert!(shell.pids().into_iter().all(is_gone));
}

#[tokio::test]
async fn a_server_that_keeps_dying_is_not_restarted_too_often() {
    let shell = Shell::new();
    let bridge = McpBridge::new([shell.server("exit 3", "")], mcp_options());
    let tools = registered(&bridge).await.get();
    for start in 1..=5 {
        let error = go(&tools).await.unwrap_err();
        assert!(error.contains("exit status: 3") && error.contains("may or may not have run"), "{error}");
        assert_eq!(shell.pids().len(), start);
        until("its death is noticed", || shell.pids().into_iter().all(is_gone)).await;
    }
    let error = go(&tools).await.unwrap_err();
    assert!(
        error.contains("was started 5 times within a minute") && error.contains("did not run"),
        "{error}"
    );
    assert_eq!(shell.pids().len(), 5);
}

#[tokio::test]
async fn a_server_that_never_answers_times_out_and_is_killed() {
    let shell = Shell::new();
    let pids = shell.0.path().join("pids");
    let silent = McpServer::command(
        "silent",
        "/bin/sh",
        [
            "-c".to_owned(),
            format!("echo $$ >> {}; trap '' TERM; while :; do sleep 1000; done", pids.display()),
        ],
    );
    let options = McpOptions { connect_limit: Duration::from_millis(300), ..mcp_options() };
    let bridge = McpBridge::new([silent], options);
    let refused = bridge.on_register(&PluginTools::detached("mcp")).await.unwrap_err().0;
    assert!(refused.contains("no answer within 300ms"), "{refused}");
    assert!(
        Path::new(&pids).exists() && shell.pids().into_iter().all(is_gone),
        "before the plugin is refused"
    );
}
