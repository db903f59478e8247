//! The tools of one program, without a server, and the example that shows them.

#![cfg(test)]

use std::time::Duration;

use serde_json::{Value, json, value::RawValue};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
};
use toolyard_core::service::{LocalTool, RegisterToolError, ToolService};
use toolyard_protocol::{ErrorCode, raw::to_raw, result::McpResult};

fn raw(value: Value) -> Box<RawValue> {
    to_raw(&value)
}

fn tool(name: &str, more: Value) -> LocalTool {
    let mut definition = json!({ "name": name, "inputSchema": { "type": "object",
        "properties": { "n": { "type": "integer" } }, "required": ["n"] } });
    definition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    LocalTool::with_definition(definition, |arguments| async move {
        match arguments["n"].as_i64() {
            Some(0) => Err("Zero is not allowed.".to_owned()),
            Some(1) => panic!("at the disco"),
            Some(2) => std::future::pending().await,
            n => Ok(McpResult::from_structured(&to_raw(&json!({ "n": n })))),
        }
    })
    .with_timeout(Duration::from_millis(50))
}

#[tokio::test]
async fn tools_are_registered_and_removed_and_invalid_ones_refused() {
    let service = ToolService::new("t");
    let mut changes = service.changes();
    service.register(tool("a", json!({}))).unwrap();
    assert!(changes.has_changed().unwrap());
    changes.borrow_and_update();
    assert_eq!(service.register(tool("a", json!({}))), Err(RegisterToolError::Taken("a".to_owned())));
    for (name, more) in
        [("bad name", json!({})), ("b", json!({ "inputSchema": { "type": "array" } })), ("", json!({}))]
    {
        assert!(
            matches!(service.register(tool(name, more)), Err(RegisterToolError::Definition(_))),
            "{name}"
        );
    }
    let broken = json!({ "outputSchema": { "type": 5 } });
    assert!(matches!(service.register(tool("b", broken)), Err(RegisterToolError::Definition(_))));
    assert!(!changes.has_changed().unwrap());
    assert_eq!(service.list().len(), 1);
    assert!(service.unregister("a") && !service.unregister("a"));
    assert!(changes.has_changed().unwrap() && service.list().is_empty());
}

#[tokio::test]
async fn a_call_is_validated_bounded_and_fails_with_a_message() {
    let service = ToolService::new("t");
    let output = json!({ "outputSchema": { "type": "object", "properties": { "n": { "maximum": 10 } } } });
    service.register(tool("a", output)).unwrap();
    let run = async |n: Value| service.execute("a", Some(&raw(json!({ "n": n })))).await;
    assert_eq!(run(json!(5)).await.unwrap().parts().structured_content.unwrap().get(), r#"{"n":5}"#);
    for (n, code, word) in [
        (json!("x"), ErrorCode::InvalidArguments, "integer"),
        (json!(0), ErrorCode::ExecutionError, "Zero"),
        (json!(1), ErrorCode::ExecutionError, "failed"),
        (json!(2), ErrorCode::Timeout, "in time"),
        (json!(11), ErrorCode::InvalidResponse, "outputSchema"),
    ] {
        let error = run(n.clone()).await.unwrap_err();
        assert_eq!(error.code, code, "{n}");
        assert!(error.for_model.contains(word), "{error}");
    }
    assert_eq!(service.execute("none", None).await.unwrap_err().code, ErrorCode::ToolNotFound);
    assert!(service.validate("a", Some(&raw(json!({ "n": 1 })))).await.is_ok());
    assert!(service.validate("a", None).await.is_err());
}

#[tokio::test]
async fn raw_requests_are_answered_as_the_protocol_says() {
    let service = ToolService::new("t");
    service.register(tool("a", json!({}))).unwrap();
    let list: Value = serde_json::from_str(service.handle_tools_list(None).unwrap().get()).unwrap();
    assert_eq!(
        (list["tools"][0]["name"].as_str(), list["cacheScope"].as_str()),
        (Some("a"), Some("private"))
    );
    assert!(service.handle_tools_list(Some(&raw(json!({ "cursor": "x" })))).is_err());
    let call = async |params: Value| service.handle_tools_call(Some(&raw(params))).await;
    let failed: Value =
        serde_json::from_str(call(json!({ "name": "a", "arguments": { "n": 0 } })).await.unwrap().get())
            .unwrap();
    assert_eq!(
        (failed["isError"].as_bool(), failed["content"][0]["text"].as_str()),
        (Some(true), Some("Zero is not allowed."))
    );
    assert_eq!(call(json!({ "name": "none" })).await.unwrap_err().code, -32602);
    assert_eq!(call(json!({})).await.unwrap_err().code, -32602);
    assert_eq!(service.handle_tools_call(Some(&raw(json!([])))).await.unwrap_err().code, -32602);
    assert!(service.handle_message("{").await.unwrap().contains("-32700"));
    assert!(
        service.handle_message(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await.unwrap().contains("-32601")
    );
    assert_eq!(
        service.handle_message(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await,
        None
    );
    let modern =
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}"#;
    assert!(service.handle_message(modern).await.unwrap().contains("2025-11-25"));
}

#[tokio::test]
async fn the_example_gives_a_program_mcp_tools() {
    // Built beside the tests, in the folder above theirs.
    let program = std::env::current_exe().unwrap().parent().unwrap().join("../examples/local-tools");
    let mut child = Command::new(program)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (mut to, mut from) =
        (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
    let mut ask = async |id: u32, method: &str, params: Value| -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        serde_json::from_str(&from.next_line().await.unwrap().unwrap()).unwrap()
    };
    let hello = ask(1, "initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {} })).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(ask(2, "server/discover", json!({})).await["result"]["supportedVersions"][0], "2026-07-28");
    let tools = ask(3, "tools/list", json!({})).await;
    assert_eq!(
        tools["result"]["tools"][0]["inputSchema"]["properties"]["a"]["description"],
        "The first number"
    );
    let sum = ask(4, "tools/call", json!({ "name": "add", "arguments": { "a": 2, "b": 3 } })).await;
    assert_eq!(sum["result"]["content"][0]["text"], "5");
    let wrong = ask(5, "tools/call", json!({ "name": "shout", "arguments": { "text": "" } })).await;
    assert_eq!(wrong["result"]["isError"], true);
    drop(to);
    assert!(child.wait().await.unwrap().success(), "it ends with its input");
}
