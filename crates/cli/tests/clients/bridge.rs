//! Every client, over the bridge.

use std::process::Stdio;

use rmcp::{
    model::ProtocolVersion,
    service::{ClientLifecycleMode, ClientServiceExt as _},
};
use serde_json::{Value, json};
use tokio::{process::Command, time::timeout};

use crate::{
    ada::{self, Ada},
    program::{self, folder, node},
    stage::{Access, PATIENCE, Stage},
    story::{LEGACY, MODERN, Step, play},
};

/// How a client starts the bridge, as in its configuration. A token must not appear in the process list.
fn command(stage: &Stage) -> Value {
    let (mut args, mut env) = (vec!["mcp", "--server", &stage.url], serde_json::Map::new());
    for (name, value) in &stage.ada {
        match *name {
            "authorization" => {
                env.insert("TOOLYARD_TOKEN".to_owned(), value.trim_start_matches("Bearer ").into());
            }
            _ => args.extend(["--user", value]),
        }
    }
    json!({ "command": env!("CARGO_BIN_EXE_toolyard"), "args": args, "env": env })
}

async fn tell(access: Access, file: &str, era: Option<&str>, revision: &str, steps: &[Step]) {
    let stage = Stage::start(access).await;
    let mut plan = json!({ "command": command(&stage) });
    if let Some(era) = era {
        plan["era"] = era.into();
    }
    play(stage, file, revision, steps, plan).await;
}

/// The client opens pages: its user has to sign in at an upstream.
async fn tell_of_sign_in(file: &str, era: Option<&str>, revision: &str) {
    let stage = Stage::start(Access::Header).await;
    let _upstream = stage.guard_upstream().await;
    let mut plan = json!({ "command": command(&stage), "opensPages": true });
    if let Some(era) = era {
        plan["era"] = era.into();
    }
    play(stage, file, revision, &[Step::SignIn], plan).await;
}

#[tokio::test]
async fn a_page_to_sign_in_is_opened_through_the_bridge() {
    tell_of_sign_in("typescript-v1.mjs", None, LEGACY).await;
    tell_of_sign_in("typescript-v2.mjs", Some("auto"), MODERN).await;
}

#[tokio::test]
async fn typescript_version_1() {
    tell(Access::Header, "typescript-v1.mjs", None, LEGACY, &Step::ALL).await;
}

#[tokio::test]
async fn typescript_version_2_with_a_handshake() {
    tell(Access::Header, "typescript-v2.mjs", Some("legacy"), LEGACY, &Step::ALL).await;
}

#[tokio::test]
async fn typescript_version_2_without_one() {
    tell(Access::Header, "typescript-v2.mjs", Some("auto"), MODERN, &Step::ALL).await;
}

#[tokio::test]
async fn python_with_a_handshake() {
    tell(Access::Header, "python.py", Some("legacy"), LEGACY, &Step::ALL).await;
}

#[tokio::test]
async fn python_without_one() {
    tell(Access::Header, "python.py", Some("auto"), MODERN, &Step::ALL).await;
}

#[tokio::test]
async fn python_with_a_token() {
    tell(Access::Token, "python.py", Some("auto"), MODERN, &Step::SHORT).await;
}

/// It calls tools only by their listed names.
#[tokio::test]
async fn mastra() {
    let steps = [Step::List, Step::Alias, Step::Progress, Step::Cancel, Step::Change, Step::Ask];
    tell(Access::Header, "mastra.mjs", None, MODERN, &steps).await;
}

/// The inspector reads the file that Claude Desktop and Cursor read as well.
#[tokio::test]
async fn inspector() {
    let stage = Stage::start(Access::Token).await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("mcp.json");
    std::fs::write(&file, json!({ "mcpServers": { "toolyard": command(&stage) } }).to_string()).unwrap();
    let mut inspector = program::command(&node(), home.path());
    inspector.arg(folder().join("node_modules/.bin/mcp-inspector")).arg("--cli").arg("--config").arg(file);
    inspector.args(["--server", "toolyard", "--format", "json", "--quiet"]);
    inspector.args(["--method", "tools/call", "--tool-name", "com_example_echo__echo"]);
    inspector.stdin(Stdio::null()).stderr(Stdio::piped());
    let output = timeout(PATIENCE, inspector.output()).await.expect("it ends").unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["result"]["content"], json!([{ "type": "text", "text": "hello back" }]));
    stage.end().await;
}

async fn rust(lifecycle: ClientLifecycleMode, revision: &str) {
    let stage = Stage::start(Access::Header).await;
    let command = command(&stage);
    let args = command["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let mut bridge = Command::new(command["command"].as_str().unwrap());
    bridge.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut bridge = bridge.spawn().unwrap();
    let pipes = (bridge.stdout.take().unwrap(), bridge.stdin.take().unwrap());
    let ada = Ada::new().serve_with_lifecycle(pipes, lifecycle).await.unwrap();
    ada::play(&stage, ada, revision).await;
    let status = timeout(PATIENCE, bridge.wait()).await.expect("the bridge ends with its client").unwrap();
    assert!(status.success(), "{status}");
    stage.end().await;
}

#[tokio::test]
async fn rust_with_a_handshake() {
    rust(ClientLifecycleMode::Initialize, LEGACY).await;
}

#[tokio::test]
async fn rust_without_one() {
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    rust(lifecycle, MODERN).await;
}
