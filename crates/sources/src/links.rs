//! Rewrites results for this server. Resource links get the URI under which this server serves them, and an upstream's
//! own server info is removed, because the response comes from this server.

use serde_json::value::RawValue;
use toolyard_protocol::{
    PackageName,
    mcp::{meta, uri},
    raw::{RawFields, to_raw},
};

/// Whether a result may contain resource links. Most contain none and need not be parsed.
pub(crate) fn has_resource_links(result: &RawValue) -> bool {
    result.get().contains("\"resource_link\"")
}

/// Rewrites the `resource_link` blocks of a result, in a tool's content or a prompt's messages, so that this server can
/// read them. Everything else stays unchanged.
pub(crate) fn map_resource_links(package: &PackageName, result: Box<RawValue>) -> Box<RawValue> {
    if !has_resource_links(&result) {
        return result;
    }
    let Ok(mut fields) = serde_json::from_str::<RawFields>(result.get()) else { return result };
    for (list, of) in [("content", map_link as BlockMapper), ("messages", map_message)] {
        if let Some(Ok(found)) = fields.parse_field::<Vec<Box<RawValue>>>(list) {
            let found: Vec<_> = found.into_iter().map(|one| of(package, one)).collect();
            fields.set(list, to_raw(&found));
        }
    }
    fields.to_raw()
}

/// Removes the upstream's server info from a result.
pub(crate) fn strip_server_info(result: Box<RawValue>) -> Box<RawValue> {
    if !result.get().contains(meta::SERVER_INFO) {
        return result;
    }
    let Ok(mut fields) = serde_json::from_str::<RawFields>(result.get()) else { return result };
    let Some(Ok(mut result_meta)) = fields.parse_field::<RawFields>("_meta") else { return result };
    result_meta.remove(meta::SERVER_INFO);
    if result_meta.names().next().is_none() {
        fields.remove("_meta");
    } else {
        fields.set("_meta", result_meta.to_raw());
    }
    fields.to_raw()
}

type BlockMapper = fn(&PackageName, Box<RawValue>) -> Box<RawValue>;

fn map_link(package: &PackageName, block: Box<RawValue>) -> Box<RawValue> {
    let Ok(mut fields) = serde_json::from_str::<RawFields>(block.get()) else { return block };
    let text = |name: &str| fields.parse_field::<String>(name).and_then(Result::ok);
    if text("type").as_deref() != Some("resource_link") {
        return block;
    }
    // Web URLs are fetched from the web, as MCP says.
    let is_web = |uri: &String| uri.starts_with("https://") || uri.starts_with("http://");
    match text("uri").filter(|uri| !is_web(uri)).and_then(|found| uri::map_uri(package, &found)) {
        Some(listed) => {
            fields.set("uri", to_raw(&listed));
            fields.to_raw()
        }
        None => block,
    }
}

fn map_message(package: &PackageName, message: Box<RawValue>) -> Box<RawValue> {
    let Ok(mut fields) = serde_json::from_str::<RawFields>(message.get()) else { return message };
    let Some(content) = fields.get("content").map(RawValue::to_owned) else { return message };
    fields.set("content", map_link(package, content));
    fields.to_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        serde_json::from_str(text).unwrap()
    }

    fn package() -> PackageName {
        "mcp.u".parse().unwrap()
    }

    #[test]
    fn links_can_be_read_here_and_the_rest_stays() {
        let text = r#"{"content":[{"type":"text","text":"a \"resource_link\" "},{"type":"resource_link","uri":"x://a/b","name":"n" },5],"k":1.50}"#;
        assert_eq!(
            map_resource_links(&package(), raw(text)).get(),
            r#"{"content":[{"type":"text","text":"a \"resource_link\" "},{"type":"resource_link","uri":"x://mcp.u/a/b","name":"n"},5],"k":1.50}"#
        );
        let web = r#"{"content":[{"type":"resource_link","uri":"https://example.com/a","name":"n"}]}"#;
        assert_eq!(map_resource_links(&package(), raw(web)).get(), web);
        let plain = r#"{"content" : []}"#;
        assert_eq!(map_resource_links(&package(), raw(plain)).get(), plain);
    }

    #[test]
    fn links_in_messages_too() {
        let text =
            r#"{"messages":[{"role":"user","content":{"type":"resource_link","uri":"x://a","name":"n"}},7]}"#;
        assert_eq!(
            map_resource_links(&package(), raw(text)).get(),
            r#"{"messages":[{"role":"user","content":{"type":"resource_link","uri":"x://mcp.u/a","name":"n"}},7]}"#
        );
    }

    #[test]
    fn server_info_is_stripped() {
        let named = r#"{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"u"},"k":1.50}}"#;
        assert_eq!(strip_server_info(raw(named)).get(), r#"{"content":[],"_meta":{"k":1.50}}"#);
        let only = r#"{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"u"}}}"#;
        assert_eq!(strip_server_info(raw(only)).get(), r#"{"content":[]}"#);
        let text = r#"{"content":[{"type":"text","text":"io.modelcontextprotocol/serverInfo"}]}"#;
        assert_eq!(strip_server_info(raw(text)).get(), text);
    }
}
