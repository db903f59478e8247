//! What a plugin's tool looks like at the MCP door.

use serde_json::{Value, json};

use super::{install, plugin, signed, yard};
use crate::{mcp::client::LEGACY, platform::Platform};

const ALIAS: &str = "plugin_com_example_x__do_it";

/// What both eras get.
async fn both(p: &Platform, arguments: Value) -> [Value; 2] {
    let session = p.user("ada").handshake(LEGACY).await;
    let legacy = session.ask("tools/call", json!({ "name": ALIAS, "arguments": arguments })).await;
    [p.user("ada").run(ALIAS, arguments).await, legacy.expect(200).json()["result"].clone()]
}

#[tokio::test]
async fn an_object_arrives_as_structured_content_with_its_text() {
    let (p, _device) = yard(|_| {}).await;
    install(&p.user("ada"), &signed(&plugin("com.example.x", "do_it", "return args.give;"), 1))
        .await
        .expect(201);
    let object = json!({ "sum": 5, "parts": [2, 3] });
    for result in both(&p, json!({ "give": object })).await {
        assert_eq!(result["structuredContent"], object, "{result}");
        assert_eq!(
            result["content"],
            json!([{ "type": "text", "text": r#"{"sum":5,"parts":[2,3]}"# }]),
            "for clients that read texts only"
        );
        assert_ne!(result["isError"], true);
    }
    for (give, text) in [(json!("hi"), "hi"), (json!([1]), "[1]"), (json!(null), "null")] {
        for result in both(&p, json!({ "give": give })).await {
            assert_eq!(result["content"][0]["text"], text);
            assert_eq!(result.get("structuredContent"), None, "only objects are: {result}");
        }
    }
}

#[tokio::test]
async fn tools_of_plugins_are_listed_without_an_output_schema() {
    let (p, _device) = yard(|_| {}).await;
    let mut manifest = plugin("com.example.x", "do_it", "return {};");
    manifest["tools"][0]["annotations"] = json!({ "readOnlyHint": true });
    install(&p.user("ada"), &signed(&manifest, 1)).await.expect(201);
    let list = p.user("ada").modern("tools/list", json!({})).await.result();
    let tool = &list["tools"][0];
    assert_eq!((&tool["name"], tool.get("outputSchema")), (&json!(ALIAS), None), "{tool}");
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
}
