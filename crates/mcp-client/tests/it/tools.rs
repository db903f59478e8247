//! Tools whose parameters are mirrored in headers.

use serde_json::{Value, json};
use toolyard_mcp_client::{McpClientError, ProtocolEra, RequestOptions, ToolCallParams};
use toolyard_testkit::upstream::{InjectedFault, OfferListKind, RequestMatch};

use crate::world::{Way, World, call, raw, value};

fn region(header: Value) -> Value {
    json!({ "name": "regional", "inputSchema": { "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": header }, "other": { "type": "string" } } } })
}

#[tokio::test]
async fn mirrored_parameters_of_known_tools_are_sent() {
    let world = World::new().await;
    world.upstream.set_list(OfferListKind::Tools, vec![region(json!("Region"))]);
    let client = world.connect(Way::Http, ProtocolEra::Modern).await;
    client.list_tools().await.unwrap();
    call(&client, "regional", json!({ "region": "köln", "other": "x" })).await.unwrap();
    call(&client, "regional", json!({ "region": null })).await.unwrap();
    let seen = world.upstream.messages("tools/call");
    assert_eq!(seen[0].header("mcp-param-region"), Some("=?base64?a8O2bG4=?="));
    assert_eq!(seen[1].header("mcp-param-region"), None);
    assert_eq!(world.upstream.messages("tools/list").len(), 1);
}

#[tokio::test]
async fn a_missing_header_makes_the_client_look_again_once() {
    let world = World::new().await;
    world.upstream.set_list(OfferListKind::Tools, vec![region(json!("Region"))]);
    let client = world.connect(Way::Http, ProtocolEra::Modern).await;
    call(&client, "regional", json!({ "region": "r" })).await.unwrap();
    let seen = world.upstream.messages("tools/call");
    assert_eq!((seen[0].header("mcp-param-region"), seen[1].header("mcp-param-region")), (None, Some("r")));

    world.upstream.inject_fault(RequestMatch::for_tool("regional"), InjectedFault::error(-32020, "headers"));
    let refused = call(&client, "regional", json!({ "region": "r" })).await.unwrap_err();
    assert!(matches!(refused, McpClientError::Rpc(error) if error.code == -32020));
    assert_eq!(world.upstream.messages("tools/call").len(), 4);
}

#[tokio::test]
async fn headers_that_the_caller_brings_are_taken_as_they_are() {
    let world = World::new().await;
    world.upstream.set_list(OfferListKind::Tools, vec![region(json!("Region"))]);
    let client = world.connect(Way::Http, ProtocolEra::Modern).await;
    let mirrored = vec![("mcp-param-region".to_owned(), "r".to_owned())];
    let options = RequestOptions { mirrored, ..RequestOptions::default() };
    let arguments = raw(json!({ "region": "r" }));
    client.call_tool(ToolCallParams::new("regional", Some(&arguments)), options).await.unwrap();
    assert_eq!(world.upstream.messages("tools/call")[0].header("mcp-param-region"), Some("r"));
    assert!(world.upstream.messages("tools/list").is_empty());
}

#[tokio::test]
async fn tools_with_void_annotations_are_left_out_where_they_matter() {
    let world = World::new().await;
    world
        .upstream
        .set_list(OfferListKind::Tools, vec![region(json!("not a name")), json!({ "name": "good" })]);
    let modern = world.connect(Way::Http, ProtocolEra::Modern).await.list_tools().await.unwrap();
    assert_eq!(modern.items.iter().map(|item| value(item)["name"].clone()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(modern.left_out[0].name, "regional");
    for (way, era) in [(Way::Http, ProtocolEra::Handshake), (Way::WebSocket, ProtocolEra::Modern)] {
        assert_eq!(world.connect(way, era).await.list_tools().await.unwrap().items.len(), 2);
    }
}
