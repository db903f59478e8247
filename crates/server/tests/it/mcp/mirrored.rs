//! Parameters that are mirrored in headers: `x-mcp-header`.

use serde_json::{Value, json};

use super::client::{Ask, LEGACY};
use crate::platform::{ECHO, Platform, echo_tool};

const ALIAS: &str = "com_example_echo__echo";

fn tool() -> Value {
    let mut tool = echo_tool();
    tool["inputSchema"] = json!({ "type": "object", "properties": {
        "region": { "type": "string", "x-mcp-header": "Region" },
        "count": { "type": "integer", "x-mcp-header": "Count" },
        "at": { "type": "object", "properties": { "flag": { "type": "boolean", "x-mcp-header": "X-Flag" } } },
        "free": { "type": "string" } } });
    tool
}

#[tokio::test]
async fn mirrored_headers_and_arguments_must_agree() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(json!({ "tools": [tool()] })).await;
    let region = || Ask::call(ALIAS, json!({ "region": "us-west1" }));
    let count = || Ask::call(ALIAS, json!({ "count": 42 }));
    let flag = || Ask::call(ALIAS, json!({ "at": { "flag": true } }));
    let good = [
        Ask::call(ALIAS, json!({ "free": "x" })),
        Ask::call(ALIAS, json!({})),
        region().with("mcp-param-region", "us-west1"),
        region().with("Mcp-Param-Region", "=?base64?dXMtd2VzdDE=?="),
        Ask::call(ALIAS, json!({ "region": "köln" })).with("mcp-param-region", "=?base64?a8O2bG4=?="),
        Ask::call(&format!("{ECHO}:echo"), json!({ "region": "a" })).with("mcp-param-region", "a"),
        count().with("mcp-param-count", "42"),
        count().with("mcp-param-count", "42.0"),
        flag().with("mcp-param-x-flag", "true"),
        Ask::call(ALIAS, json!({ "free": "x" })).with("mcp-param-free", "nobody asked for it"),
    ];
    let times = good.len();
    for ask in good {
        let about = format!("{ask:?}");
        assert!(p.user("ada").ask(ask).await.result()["isError"].is_null(), "{about}");
    }
    for bad in [
        region(),
        region().with("mcp-param-region", "us-west2"),
        region().with("mcp-param-region", "US-WEST1"),
        region().with("mcp-param-region", "us-west1").with("mcp-param-region", "us-west1"),
        region().with("mcp-param-region", "=?base64?!!?="),
        Ask::call(ALIAS, json!({})).with("mcp-param-region", "us-west1"),
        Ask::call(&format!("{ECHO}:echo"), json!({ "region": "a" })),
        count().with("mcp-param-count", "43"),
        count().with("mcp-param-count", "many"),
        flag().with("mcp-param-x-flag", "false"),
        flag().with("mcp-param-x-flag", "1"),
    ] {
        let about = format!("{bad:?}");
        let answer = p.user("ada").ask(bad).await;
        assert_eq!(answer.refusal(), (400, -32020), "{about}: {}", answer.text);
        assert_eq!(answer.json()["id"], 1);
    }
    assert_eq!(app.requests("/tool").len(), times, "what was refused did not run");
    // Schema violations are reported as such.
    let odd =
        p.user("ada").ask(Ask::call(ALIAS, json!({ "region": [1] })).with("mcp-param-region", "x")).await;
    assert_eq!(odd.result()["_meta"]["toolyard/error"]["code"], "INVALID_ARGUMENTS");
}

#[tokio::test]
async fn legacy_clients_need_no_mirrored_headers() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(json!({ "tools": [tool()] })).await;
    let session = p.user("ada").handshake(LEGACY).await;
    let params = json!({ "name": ALIAS, "arguments": { "region": "us-west1" } });
    assert!(session.ask("tools/call", params).await.result()["isError"].is_null());
    assert_eq!(app.requests("/tool").len(), 1);
}

#[tokio::test]
async fn a_tool_with_an_invalid_header_annotation_is_refused() {
    let p = Platform::start().await;
    for property in [
        json!({ "type": "number", "x-mcp-header": "R" }),
        json!({ "type": "string", "x-mcp-header": "" }),
        json!({ "type": "string", "x-mcp-header": "a b" }),
        json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "R" } }),
    ] {
        let mut tool = echo_tool();
        tool["inputSchema"]["properties"]["text"] = property.clone();
        let body = json!({ "packageName": ECHO, "tools": [tool] });
        let answer = p.nobody().post("/api/apps", &body).await.expect(400);
        assert!(answer.text.contains("x-mcp-header"), "{property}: {}", answer.text);
    }
}
