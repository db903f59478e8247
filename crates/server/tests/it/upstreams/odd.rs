//! Invalid lists and results of real servers: one bad item never makes the others unusable.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{
    FakeUpstream, InjectedFault, OfferListKind, RequestMatch, UpstreamEra, UpstreamOptions, quirks,
};

use super::world::{add, hidden, live, names, plain, refresh, text, tool};
use crate::{mcp::client::Ask, platform::Platform};

#[tokio::test]
async fn an_invalid_tool_is_hidden_and_the_others_stay() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Both).await;
    let mut huge = tool("huge");
    huge["_meta"] = json!({ "x": "x".repeat(65 * 1024) });
    let mut described = tool("described");
    described["description"] = "d".repeat(9 * 1024).into();
    let mut mirrored = tool("mirrored");
    mirrored["inputSchema"]["properties"] = json!({ "n": { "type": "number", "x-mcp-header": "N" } });
    let more =
        [huge, described, mirrored, tool("co:lon"), tool("spa ce"), tool(&"n".repeat(129)), tool("good")];
    let tools = [vec![tool("good")], quirks::bad_tools(), more.to_vec(), vec![tool("last")]].concat();
    upstream.set_list(OfferListKind::Tools, tools);
    let status = add(&p, "up", &upstream.url()).await;
    assert_eq!((&status["state"], &status["tools"]), (&json!("up"), &json!(2)), "{status}");
    let ada = live(&p, "ada").await;
    assert_eq!(ada.tools().await, ["mcp.up:good", "mcp.up:last"]);
    for (name, word) in [
        ("mcp.up:no_schema", "inputSchema"),
        ("mcp.up:output_is_true", "outputSchema"),
        ("mcp.up:schema_is_text", "inputSchema"),
        ("mcp.up:huge", "65536 bytes"),
        ("mcp.up:described", "description"),
        ("mcp.up:mirrored", "x-mcp-header"),
        ("mcp.up:bad_schema", "not a JSON Schema"),
        ("mcp.up:good", "duplicate"),
        ("mcp.up:tools[2]", "name"),
        ("mcp.up:tools[8]", "expected an object"),
    ] {
        let reason = hidden(&ada, name).await;
        assert!(reason.contains(word), "{name}: {reason}");
    }
    let set_aside = status["setAside"].as_array().unwrap();
    assert_eq!(set_aside.len(), 16, "{status}");
    for name in ["good", "last"] {
        ada.call(&format!("mcp.up:{name}"), json!({})).await.expect(200);
    }
    assert_eq!(ada.call("mcp.up:bad_schema", json!({})).await.expect(404).code(), "TOOL_NOT_FOUND");
}

#[tokio::test]
async fn invalid_prompts_and_resources_are_hidden() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Both).await;
    let prompts = [json!({ "name": "fine" }), json!({ "name": 7 }), json!({ "name": "sp ace" }), json!([])];
    upstream.set_list(OfferListKind::Prompts, prompts.to_vec());
    let resource = |uri: &str| json!({ "uri": uri, "name": "r", "vendor": { "kept": 1 } });
    let big = json!({ "uri": "a:b", "name": "x".repeat(65 * 1024) });
    let resources =
        vec![resource("a:1"), resource("no-scheme"), resource(""), big, resource("a:1"), json!(5)];
    upstream.set_list(OfferListKind::Resources, resources);
    let status = add(&p, "up", &upstream.url()).await;
    assert_eq!(
        (&status["prompts"], &status["resources"], &status["tools"]),
        (&json!(1), &json!(1), &json!(4))
    );
    assert_eq!(status["setAside"].as_array().unwrap().len(), 8, "{status}");
    let listed = p.user("ada").modern("resources/list", json!({})).await.result();
    assert_eq!(listed["resources"], json!([{ "uri": "a:mcp.up/1", "name": "r", "vendor": { "kept": 1 } }]));
}

#[tokio::test]
async fn unknown_fields_of_definitions_are_kept() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Both).await;
    upstream.set_list(OfferListKind::Tools, vec![quirks::tool_with_unknown_fields()]);
    upstream.inject_fault(
        RequestMatch::for_tool("unknown_fields"),
        InjectedFault::Result(quirks::unknown_content()),
    );
    add(&p, "up", &upstream.url()).await;
    let ada = live(&p, "ada").await;
    let listed = ada.modern("tools/list", json!({})).await.result()["tools"][0].clone();
    let came = quirks::tool_with_unknown_fields();
    for member in ["title", "inputSchema", "annotations", "execution", "securitySchemes", "fromTheFuture"] {
        assert_eq!(listed[member], came[member], "{member}");
    }
    let rest = ada.get("/api/tools").await.json()["tools"][0].clone();
    assert_eq!(rest["fromTheFuture"], came["fromTheFuture"]);

    let result = ada.run("mcp.up:unknown_fields", json!({ "x": 1 })).await;
    assert_eq!(result["content"], quirks::unknown_content()["content"], "also a type that nobody knows");
    assert_eq!(result["vendorResult"], json!({ "kept": true }));
    let rest = ada.call("mcp.up:unknown_fields", json!({})).await.expect(200).json();
    assert_eq!(rest["content"], quirks::unknown_content()["content"]);
}

#[tokio::test]
async fn a_broken_page_keeps_earlier_pages_and_is_reported() {
    for fault in [
        InjectedFault::not_json(),
        InjectedFault::error(-32603, "no more"),
        InjectedFault::Die,
        InjectedFault::wrong_shape(),
    ] {
        let p = Platform::start().await;
        let upstream =
            FakeUpstream::start_with(UpstreamOptions { page_size: Some(3), ..UpstreamOptions::default() })
                .await;
        upstream.inject_fault(RequestMatch::for_method("tools/list").on_page(2), fault.clone());
        let status = add(&p, "up", &upstream.url()).await;
        assert_eq!(status["tools"], 3, "{fault:?}: {status}");
        assert!(status["setAside"][0]["reason"].as_str().unwrap().contains("later page"), "{status}");
        let ada = live(&p, "ada").await;
        assert!(hidden(&ada, "mcp.up:*").await.starts_with("tools/list:"));
        ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(200);
        upstream.clear_faults();
        let status = refresh(&p, "up").await;
        assert_eq!((&status["tools"], &status["setAside"]), (&json!(4), &Value::Null));
        assert_eq!(hidden(&ada, "mcp.up:*").await, "");
    }
}

#[tokio::test]
async fn a_list_with_a_cursor_loop_ends() {
    let p = Platform::start().await;
    let upstream =
        FakeUpstream::start_with(UpstreamOptions { page_size: Some(2), ..UpstreamOptions::default() }).await;
    let page = json!({ "tools": [tool("again")], "nextCursor": "from-2" });
    upstream.inject_fault(RequestMatch::for_method("tools/list").on_page(2), InjectedFault::Result(page));
    let status = add(&p, "up", &upstream.url()).await;
    assert_eq!(status["tools"], 3, "{status}");
    assert!(status["setAside"].to_string().contains("repeated a page cursor"), "{status}");
}

#[tokio::test]
async fn a_thousand_tools_are_paged_on_both_sides_and_more_are_refused() {
    let p = Platform::start().await;
    let upstream =
        FakeUpstream::start_with(UpstreamOptions { page_size: Some(64), ..UpstreamOptions::default() }).await;
    let many: Vec<Value> = (0..1_001).map(|number| tool(&format!("tool{number}"))).collect();
    upstream.set_list(OfferListKind::Tools, many);
    let status = add(&p, "up", &upstream.url()).await;
    assert_eq!(status["tools"], 1_000);
    assert_eq!(status["setAside"], json!([{ "name": "tool1000", "reason": "more than 1000 tools" }]));
    let ada = live(&p, "ada").await;
    assert_eq!(ada.tools().await.len(), 1_000);
    let (mut seen, mut cursor, mut pages) = (Vec::new(), Value::Null, 0);
    loop {
        let mut params = json!({});
        if !cursor.is_null() {
            params["cursor"] = cursor;
        }
        let page = ada.ask(Ask::modern("tools/list", params)).await.result();
        seen.extend(page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()));
        (cursor, pages) = (page["nextCursor"].clone(), pages + 1);
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!((seen.len(), pages), (1_000, 10));
    assert_eq!((&seen[0], &seen[999]), (&json!("mcp_up__tool0"), &json!("mcp_up__tool999")));
    ada.call("mcp.up:tool999", json!({})).await.expect(200);
}

#[tokio::test]
async fn invalid_and_large_results_of_upstreams() {
    let p = Platform::with(|config| config.calls.result_bytes = 6 * 1024 * 1024).await;
    let upstream = plain(UpstreamEra::Both).await;
    add(&p, "up", &upstream.url()).await;
    let ada = live(&p, "ada").await;
    upstream.inject_fault(
        RequestMatch::for_tool("echo"),
        InjectedFault::Result(quirks::huge_result(5 * 1024 * 1024)),
    );
    let rest = ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(200).json();
    assert_eq!(rest["content"].as_str().unwrap().len(), 5 * 1024 * 1024);
    let result = ada.run("mcp.up:echo", json!({ "text": "x" })).await;
    assert_eq!(text(&result).len(), 5 * 1024 * 1024);
    upstream.inject_fault(
        RequestMatch::for_tool("echo"),
        InjectedFault::Result(quirks::huge_result(17 * 1024 * 1024)),
    );
    assert_eq!(ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(502).code(), "INVALID_RESPONSE");
    for fault in [InjectedFault::wrong_shape(), InjectedFault::not_json(), InjectedFault::html(200)] {
        upstream.inject_fault(RequestMatch::for_tool("echo"), fault);
        assert_eq!(
            ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(502).code(),
            "INVALID_RESPONSE"
        );
    }
    // An output schema that the result does not match.
    upstream.inject_fault(
        RequestMatch::for_tool("add"),
        InjectedFault::Result(json!({ "content": [], "structuredContent": { "sum": "3" } })),
    );
    let broken = ada.call("mcp.up:add", json!({ "a": 1, "b": 2 })).await.expect(502);
    assert!(broken.text.contains("outputSchema"), "{}", broken.text);
    assert_eq!(names(&ada, "tools/list").await.len(), 4);
}
