//! The resources of the conformance suite.

use serde_json::{Value, json};

use super::{
    conformance::PNG,
    message::{RpcFailure, UpstreamCall},
    state::{OfferListKind, UpstreamShared},
};

pub(super) fn resource_definitions() -> Vec<Value> {
    let resource = |uri: &str, name: &str, mime: &str, about: &str| json!({ "uri": uri, "name": name, "mimeType": mime, "description": about });
    vec![
        resource("test://static-text", "static-text", "text/plain", "A text that stays."),
        resource("test://static-binary", "static-binary", "image/png", "An image that stays."),
        resource("test://watched-resource", "watched-resource", "text/plain", "A text to watch."),
    ]
}

pub(super) fn template_definitions() -> Vec<Value> {
    vec![json!({
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "mimeType": "application/json",
        "description": "Data by id.",
    })]
}

impl UpstreamShared {
    pub(super) fn read_resource(&self, call: &UpstreamCall) -> Result<Value, RpcFailure> {
        let uri = call.target();
        let script = self.script.lock().unwrap();
        if script.lists.resources.is_none() && script.lists.templates.is_none() {
            return Err(RpcFailure::method_not_found(&call.method));
        }
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let content = match (script.lists.find_item(OfferListKind::Resources, uri), id) {
            (_, Some(id)) if script.lists.templates.is_some() => {
                let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                json!({ "uri": uri, "mimeType": "application/json", "text": data.to_string() })
            }
            (Some(_), _) if uri == "test://static-binary" => {
                json!({ "uri": uri, "mimeType": "image/png", "blob": PNG })
            }
            (Some(_), _) if uri == "test://static-text" => {
                let text = "This is the content of the static text resource.";
                json!({ "uri": uri, "mimeType": "text/plain", "text": text })
            }
            (Some(listed), _) => {
                let mime = listed["mimeType"].as_str().unwrap_or("text/plain");
                let text = listed["_meta"]["test/content"].as_str().map(str::to_owned);
                json!({ "uri": uri, "mimeType": mime, "text": text.unwrap_or_else(|| format!("The content of {uri}")) })
            }
            (None, _) => {
                let code = if call.is_modern() { -32602 } else { -32002 };
                return Err(RpcFailure::new(code, 200, "Resource not found").with_data(json!({ "uri": uri })));
            }
        };
        let mut result = json!({ "contents": [content] });
        if call.is_modern() {
            result["ttlMs"] = json!(script.options.ttl_ms);
            result["cacheScope"] = json!(script.options.cache_scope);
        }
        Ok(result)
    }
}
