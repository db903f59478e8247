//! The server as a child process: both eras, and its faults.

use serde_json::json;
use toolyard_mcp_client::{McpClient, McpClientError, ProtocolEra, ServerEvent, UpstreamListKind};
use toolyard_protocol::mcp::McpRevision;

use crate::world::{World, call, echo, next, process};

#[tokio::test]
async fn both_eras_over_stdio() {
    let world = World::new().await;
    for (speaks, era, revision) in [
        ("both", ProtocolEra::Either, McpRevision::V2026_07_28),
        ("modern", ProtocolEra::Either, McpRevision::V2026_07_28),
        ("legacy", ProtocolEra::Either, McpRevision::V2025_11_25),
        ("both", ProtocolEra::Handshake, McpRevision::V2025_11_25),
    ] {
        let transport = process(&["--era", speaks, "--fixtures", "echo"]);
        let client = McpClient::connect(transport, world.options(era)).await.unwrap();
        assert_eq!(client.revision(), revision, "{speaks}");
        assert_eq!(client.list_items(UpstreamListKind::Tools).await.unwrap().items.len(), 4);
        assert_eq!(echo(&client, "two\nlines").await, "two\nlines");
        client.close().await;
    }
    world.quiet().await;
}

#[tokio::test]
async fn line_ends_between_the_parts_of_a_message_do_not_split_it() {
    let world = World::new().await;
    let client = McpClient::connect(process(&["--fixtures", "echo"]), world.options(ProtocolEra::Modern))
        .await
        .unwrap();
    let arguments = serde_json::value::RawValue::from_string("{\n\"text\":\r\n\"a\"}".to_owned()).unwrap();
    let call = toolyard_mcp_client::ToolCallParams::new("echo", Some(&arguments));
    let answer = client.call_tool(call, Default::default()).await.unwrap().into_complete().unwrap();
    assert!(answer.get().contains("\"a\""), "{answer}");
}

#[tokio::test]
async fn a_process_that_dies_takes_its_requests_with_it_and_says_how() {
    let world = World::new().await;
    let transport = process(&["--fixtures", "echo", "--fault", "tools/call=die"]);
    let client = McpClient::connect(transport, world.options(ProtocolEra::Modern)).await.unwrap();
    let mut events = client.subscribe_events();
    let lost = call(&client, "echo", json!({})).await.unwrap_err();
    assert!(matches!(lost, McpClientError::PerhapsSent(_)), "{lost}");
    let Some(ServerEvent::Closed(reason)) = next(&mut events).await else { panic!() };
    assert!(reason.to_string().contains("the process"), "{reason}");
}

#[tokio::test]
async fn lines_that_are_not_messages_are_skipped() {
    let world = World::new().await;
    let transport = process(&["--fixtures", "echo", "--fault", "prompts/list=not-json"]);
    let client = McpClient::connect(transport, world.options(ProtocolEra::Modern)).await.unwrap();
    tokio::select! {
        answer = client.list_items(UpstreamListKind::Prompts) => panic!("{answer:?}"),
        text = echo(&client, "still here") => assert_eq!(text, "still here"),
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_not_sent() {
    let world = World::new().await;
    let command =
        toolyard_mcp_client::StdioCommand { program: "/nowhere/at/all".to_owned(), ..Default::default() };
    let transport = toolyard_mcp_client::McpTransport::Stdio(command);
    let refused = McpClient::connect(transport, world.options(ProtocolEra::Either)).await.unwrap_err();
    assert!(matches!(&refused, McpClientError::NotSent(why) if why.contains("/nowhere/at/all")), "{refused}");
}
