//! The bridge against servers that other people wrote, over pipes and over HTTP.

use std::{collections::BTreeSet, path::PathBuf, process::Stdio};

use rustix::process::Pid;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::TcpListener,
    process::{Child, Command},
    time::timeout,
};
use toolyard_client_sdk::{
    Hooks as _, Tool, ToolContext,
    plugins::mcp::{McpBridge, McpServer, ServerState},
};

use crate::{
    process::is_gone,
    world::{WAIT, call, call_in, check_rules, mcp_options, names, registered, until},
};

/// The program of an npm package.
fn program(package: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp-servers");
    let program = folder.join("node_modules/@modelcontextprotocol").join(package).join("dist/index.js");
    assert!(program.exists(), "install it first: scripts/setup-tests.sh tests/mcp-servers");
    program.display().to_string()
}

/// A server over pipes, which writes down its process.
fn noted(name: &str, folder: &tempfile::TempDir, package: &str, more: &str) -> McpServer {
    let pid = folder.path().join("pid");
    let script = format!("echo $$ > '{}'; exec node '{}' {more}", pid.display(), program(package));
    McpServer::command(name, "sh", ["-c".to_owned(), script])
}

fn pid_in(folder: &tempfile::TempDir) -> Pid {
    let text = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    Pid::from_raw(text.trim().parse().unwrap()).unwrap()
}

/// The tool whose name begins so; the rest is a hash.
fn named<'a>(tools: &'a [Tool], begins: &str) -> &'a str {
    let fits =
        |name: &&str| name.strip_prefix(begins).is_some_and(|rest| rest.is_empty() || rest.len() == 15);
    let found = names(tools).into_iter().find(fits);
    found.unwrap_or_else(|| panic!("no {begins}: {:?}", names(tools)))
}

/// What `server-everything` answers, however it is reached.
async fn try_everything(tools: &[Tool]) {
    check_rules(tools);
    let ask = |tool: &str, arguments| {
        let name = named(tools, &format!("mcp_everything_{tool}"));
        call(tools, name, arguments)
    };
    assert_eq!(ask("echo", json!({ "message": "hello" })).await.unwrap(), "Echo: hello");
    let sum = ask("get_sum", json!({ "a": 2, "b": 3 })).await.unwrap();
    assert_eq!(sum, "The sum of 2 and 3 is 5.");
    let weather = ask("get_structured_content", json!({ "location": "New York" })).await.unwrap();
    assert!(weather["temperature"].is_number() && weather.get("structured").is_none(), "{weather}");
    let image = ask("get_tiny_image", json!({})).await.unwrap();
    assert!(image.as_str().unwrap().contains("(image, image/png, "), "{image}");
    let links = ask("get_resource_links", json!({ "count": 2 })).await.unwrap();
    assert!(links.as_str().unwrap().contains("(resource `"), "{links}");
    let resource =
        ask("get_resource_reference", json!({ "resourceType": "Text", "resourceId": 1 })).await.unwrap();
    assert!(resource.as_str().unwrap().contains("(resource demo://"), "{resource}");
    let wrong = ask("get_sum", json!({ "a": "two" })).await.unwrap_err();
    assert!(wrong.contains("Invalid arguments"), "{wrong}");
    let slow = ask("trigger_long_running_operation", json!({ "duration": 0.05, "steps": 5 })).await.unwrap();
    assert!(slow.as_str().unwrap().contains("completed"), "{slow}");
}

#[tokio::test]
async fn everything_over_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let server = noted("everything", &folder, "server-everything", "stdio").env("GIVEN", "yes");
    let bridge = McpBridge::new([server], mcp_options());
    let own = registered(&bridge).await;
    let tools = own.get();
    try_everything(&tools).await;
    let aside = bridge.set_aside();
    assert_eq!((aside.len(), aside[0].tool.as_str()), (1, "simulate-research-query"), "{aside:?}");
    assert!(aside[0].reason.contains("only be run as a task"), "{aside:?}");

    let variables = call(&tools, named(&tools, "mcp_everything_get_env"), json!({})).await.unwrap();
    let variables: serde_json::Map<_, _> = serde_json::from_str(variables.as_str().unwrap()).unwrap();
    assert_eq!(variables["GIVEN"], "yes");
    assert!(!variables.keys().any(|name| name.starts_with("CARGO")), "{variables:?}");

    let pid = pid_in(&folder);
    assert!(!is_gone(pid));
    bridge.on_unregister().await;
    assert!(is_gone(pid));
}

#[tokio::test]
async fn everything_dies_in_a_call_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let bridge = McpBridge::new([noted("everything", &folder, "server-everything", "stdio")], mcp_options());
    let tools = registered(&bridge).await.get();
    let first = pid_in(&folder);
    let cx = ToolContext::detached("c", named(&tools, "mcp_everything_trigger_long_running_operation"));
    let (answer, ()) = tokio::join!(call_in(&tools, json!({ "duration": 1000, "steps": 1 }), &cx), async {
        rustix::process::kill_process(first, rustix::process::Signal::KILL).unwrap();
    });
    let error = answer.unwrap_err();
    assert!(error.starts_with("the MCP server `everything` "), "{error}");
    until("its death is noticed", || is_gone(first)).await;
    let echo = call(&tools, named(&tools, "mcp_everything_echo"), json!({ "message": "again" })).await;
    assert_eq!(echo.unwrap(), "Echo: again");
    let second = pid_in(&folder);
    assert_ne!(first, second);
    drop(bridge);
    until("it is gone with the bridge", || is_gone(second)).await;
}

/// `server-everything` as a server of its own.
async fn everything_over_http() -> (Child, String) {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    everything_at(port).await
}

async fn everything_at(port: u16) -> (Child, String) {
    let mut server = Command::new("node")
        .args([&program("server-everything"), "streamableHttp"])
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap()).lines();
    let ready = async {
        while let Some(line) = said.next_line().await.unwrap() {
            if line.contains("listening on port") {
                return;
            }
        }
        panic!("it ended");
    };
    timeout(WAIT, ready).await.expect("it starts");
    (server, format!("http://127.0.0.1:{port}/mcp"))
}

#[tokio::test]
async fn everything_over_the_net() {
    let (_server, url) = everything_over_http().await;
    let bridge = McpBridge::new([McpServer::url("everything", url)], mcp_options());
    let tools = registered(&bridge).await.get();
    try_everything(&tools).await;
    bridge.on_unregister().await;
}

/// It refuses sessions that it does not know with 400.
#[tokio::test]
async fn everything_is_restarted_at_the_same_address() {
    let (mut server, url) = everything_over_http().await;
    let port = url.rsplit(':').next().and_then(|rest| rest.split('/').next()).unwrap().parse().unwrap();
    let bridge = McpBridge::new([McpServer::url("everything", url)], mcp_options());
    let tools = registered(&bridge).await.get();
    let echo = || call(&tools, named(&tools, "mcp_everything_echo"), json!({ "message": "hello" }));
    assert_eq!(echo().await.unwrap(), "Echo: hello");
    server.kill().await.unwrap();
    let (_server, _) = everything_at(port).await;
    assert_eq!(echo().await.unwrap(), "Echo: hello");
    bridge.on_unregister().await;
}

#[tokio::test]
async fn files_over_pipes_beside_everything() {
    let (folder, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = files.path().canonicalize().unwrap();
    std::fs::write(root.join("note.txt"), "buy tea").unwrap();
    let (_server, url) = everything_over_http().await;
    let mut everything = McpServer::url("everything", url);
    everything.include = vec!["echo".to_owned()];
    let server = noted("files", &folder, "server-filesystem", &format!("'{}'", root.display()));
    let bridge = McpBridge::new([server, everything], mcp_options());
    let tools = registered(&bridge).await.get();
    check_rules(&tools);
    let offered: BTreeSet<_> = names(&tools).into_iter().collect();
    for tool in ["read_text_file", "write_file", "list_directory", "search_files", "edit_file"] {
        assert!(offered.contains(format!("mcp_files_{tool}").as_str()), "{tool}: {offered:?}");
    }
    assert!(offered.contains("mcp_everything_echo"));

    let path = root.join("note.txt").display().to_string();
    let read = call(&tools, "mcp_files_read_text_file", json!({ "path": path })).await.unwrap();
    assert_eq!(read, json!({ "content": "buy tea" }));
    let written = root.join("new.txt").display().to_string();
    call(&tools, "mcp_files_write_file", json!({ "path": written, "content": "x" })).await.unwrap();
    assert_eq!(std::fs::read_to_string(root.join("new.txt")).unwrap(), "x");
    let outside =
        call(&tools, "mcp_files_read_text_file", json!({ "path": "/etc/passwd" })).await.unwrap_err();
    assert!(outside.contains("Access denied"), "{outside}");
    assert!(bridge.server_statuses().iter().all(|server| server.state == ServerState::Up));
    let pid = pid_in(&folder);
    bridge.on_unregister().await;
    assert!(is_gone(pid));
}
