//! Filters of the operator: include, exclude, rename, category and hardware requirements.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{OfferListKind, UpstreamEra};

use super::world::{add_with, full, hidden, live, names, plain, refresh, tool};
use crate::platform::Platform;

#[tokio::test]
async fn only_included_and_not_excluded_tools_are_listed() {
    let p = Platform::start().await;
    let upstream = full(UpstreamEra::Modern).await;
    let tools = ["get_a", "get_secret", "set_a"].map(tool);
    upstream.set_list(OfferListKind::Tools, tools.to_vec());
    let filter = json!({ "url": upstream.url(), "include": ["get_*", "test://*", "test_simple_?rompt"],
        "exclude": ["*secret*", "test://static-b*"] });
    let status = add_with(&p, "up", filter).await;
    let ada = live(&p, "ada").await;
    assert_eq!(ada.tools().await, ["mcp.up:get_a"]);
    assert_eq!(hidden(&ada, "mcp.up:set_a").await, "the operator does not include it");
    assert_eq!(hidden(&ada, "mcp.up:get_secret").await, "the operator excludes it");
    assert_eq!(names(&ada, "prompts/list").await, ["mcp_up__test_simple_prompt"]);
    let resources = names(&ada, "resources/list").await;
    assert_eq!(resources, ["test://mcp.up/static-text", "test://mcp.up/watched-resource"]);
    let set_aside: Vec<_> = status["setAside"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert!(set_aside.contains(&&json!("set_a")) && set_aside.contains(&&json!("get_secret")), "{status}");

    // An excluded tool cannot be called by its name.
    for name in ["mcp.up:set_a", "mcp_up__get_secret"] {
        assert_eq!(ada.call(name, json!({})).await.expect(404).code(), "TOOL_NOT_FOUND");
    }
    for uri in ["test://mcp.up/static-binary", "test://static-binary", "other://mcp.up/x"] {
        let read = ada.modern("resources/read", json!({ "uri": uri })).await;
        assert_eq!(read.refusal(), (200, -32602), "{uri}: {}", read.text);
    }
    let prompt = ada.modern("prompts/get", json!({ "name": "mcp.up:test_prompt_with_image" })).await;
    assert_eq!(prompt.refusal(), (200, -32602), "{}", prompt.text);
    for uri in ["test://mcp.up/static-text", "test://mcp.up/template/1/data"] {
        ada.modern("resources/read", json!({ "uri": uri })).await.result();
    }
    assert!(upstream.messages("tools/call").is_empty() && upstream.messages("prompts/get").is_empty());
}

#[tokio::test]
async fn a_renamed_tool_is_called_by_its_original_name_upstream() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Both).await;
    let rename = json!({ "echo": "say-it", "add": "fail" });
    add_with(&p, "up", json!({ "url": upstream.url(), "rename": rename })).await;
    let ada = live(&p, "ada").await;
    assert_eq!(ada.tools().await, ["mcp.up:say-it", "mcp.up:fail", "mcp.up:steps"]);
    assert_eq!(hidden(&ada, "mcp.up:fail").await, "duplicate tool name", "two of one name");
    ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(404);
    assert_eq!(ada.call("mcp.up:say-it", json!({ "text": "x" })).await.expect(200).json()["content"], "x");
    let sum = ada.call("mcp.up:fail", json!({ "a": 1, "b": 2 })).await.expect(200).json();
    assert_eq!(sum["content"], "3");
    let called: Vec<_> =
        upstream.messages("tools/call").iter().map(|seen| seen.params["name"].clone()).collect();
    assert_eq!(called, ["echo", "add"]);
    let header: Vec<_> = upstream
        .messages("tools/call")
        .iter()
        .map(|seen| seen.header("mcp-name").unwrap().to_owned())
        .collect();
    assert_eq!(header, ["echo", "add"]);
}

#[tokio::test]
async fn a_category_is_given_to_tools_that_have_none() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Both).await;
    let mut music = tool("music");
    music["mentraExtensions"] = json!({ "category": "media" });
    upstream.set_list(OfferListKind::Tools, vec![tool("todo"), music]);
    add_with(&p, "up", json!({ "url": upstream.url(), "category": "productivity" })).await;
    let ada = live(&p, "ada").await;
    let of = async |category: &str| -> Vec<Value> {
        let listed = ada.get(&format!("/api/tools?category={category}")).await.expect(200).json();
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect()
    };
    assert_eq!(of("productivity").await, ["mcp.up:todo"]);
    assert_eq!(of("media").await, ["mcp.up:music"]);
    assert!(of("other").await.is_empty());
}

#[tokio::test]
async fn an_upstream_that_requires_hardware_is_hidden_without_it() {
    let p = Platform::start().await;
    let upstream = full(UpstreamEra::Modern).await;
    upstream.set_list(OfferListKind::Tools, vec![tool("photo")]);
    let camera = json!([{ "type": "CAMERA", "level": "REQUIRED" }]);
    add_with(&p, "cam", json!({ "url": upstream.url(), "hardwareRequirements": camera })).await;
    let mut device = p.device("ada").await;
    let ada = p.user("ada");
    assert_eq!(ada.tools().await, ["mcp.cam:photo"], "no device hides nothing");
    device.wears("Even Realities G1").await;
    assert_eq!(ada.tools().await, [""; 0]);
    let reason = hidden(&ada, "mcp.cam:photo").await;
    assert!(reason.contains("CAMERA") || reason.to_lowercase().contains("camera"), "{reason}");
    ada.call("mcp.cam:photo", json!({})).await.expect(404);
    assert_eq!(names(&ada, "prompts/list").await, [""; 0]);
    assert_eq!(names(&ada, "resources/list").await, [""; 0]);
    for uri in ["test://mcp.cam/static-text", "test://static-text"] {
        let read = ada.modern("resources/read", json!({ "uri": uri })).await;
        assert_eq!(read.refusal(), (200, -32602), "{uri}: {}", read.text);
    }
    device.wears("Mentra Live").await;
    assert_eq!(ada.tools().await, ["mcp.cam:photo"]);
    ada.modern("resources/read", json!({ "uri": "test://mcp.cam/static-text" })).await.result();
    refresh(&p, "cam").await;
}

#[tokio::test]
async fn a_user_can_disable_a_tool_of_an_upstream_for_all_users() {
    const PATH: &str = "/api/settings/tools/mcp.up:echo";
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Both).await;
    add_with(&p, "up", json!({ "url": upstream.url() })).await;
    let ada = live(&p, "ada").await;
    ada.put(PATH, &json!({ "enabled": false })).await.expect(204);
    assert!(!ada.tools().await.contains(&"mcp.up:echo".to_owned()));
    assert_eq!(hidden(&ada, "mcp.up:echo").await, "switched off by the user");
    ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(404);
    assert!(live(&p, "bob").await.tools().await.contains(&"mcp.up:echo".to_owned()), "it is Ada's choice");
    ada.put(PATH, &json!({ "enabled": true })).await.expect(204);
    assert!(ada.tools().await.contains(&"mcp.up:echo".to_owned()));
    let made_up = ada.put("/api/settings/tools/mcp.up:made-up", &json!({ "enabled": false })).await;
    made_up.expect(404);
}
