//! Links that add the server to a program on the user's computer. They contain its address and no credential.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// <https://cursor.com/docs/mcp/install-links>
pub(super) fn cursor_link(url: &str) -> String {
    let config = encode_config(&json!({ "url": url }));
    format!("cursor://anysphere.cursor-deeplink/mcp/install?name=toolyard&config={config}")
}

/// `handleMcpInstallUri` in microsoft/vscode: the query is the server as JSON.
pub(super) fn vscode_link(url: &str) -> String {
    let server = json!({ "name": "toolyard", "type": "http", "url": url });
    format!("vscode:mcp/install?{}", encode_component(&server.to_string()))
}

/// <https://lmstudio.ai/docs/app/mcp/deeplink>
pub(super) fn lm_studio_link(url: &str) -> String {
    format!("lmstudio://add_mcp?name=toolyard&config={}", encode_config(&json!({ "url": url })))
}

/// `addExtensionFromDeepLink` in aaif-goose/goose. Older versions need `type`.
pub(super) fn goose_link(url: &str) -> String {
    let parameters = [
        ("url", url),
        ("type", "streamable_http"),
        ("id", "toolyard"),
        ("name", "Toolyard"),
        ("description", "Your tools on this server"),
    ];
    let query = parameters.map(|(name, value)| format!("{name}={}", encode_component(value)));
    format!("goose://extension?{}", query.join("&"))
}

fn encode_config(config: &Value) -> String {
    encode_component(&STANDARD.encode(config.to_string()))
}

/// Encodes a value of a query. A space becomes `%20`: not every program reads `+` as one.
fn encode_component(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encode =
        |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    value.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use url::{Url, form_urlencoded};

    use super::*;

    const URL: &str = "https://tools.example.com/mcp";

    /// The link without its query, and the parameters.
    fn parts(link: &str) -> (String, BTreeMap<String, String>) {
        let parameters = Url::parse(link).unwrap().query_pairs().into_owned().collect();
        (link.split('?').next().unwrap().to_owned(), parameters)
    }

    fn decode_config(config: &str) -> Value {
        serde_json::from_slice(&STANDARD.decode(config).unwrap()).unwrap()
    }

    #[test]
    fn links_of_cursor_and_lm_studio_contain_the_server_as_base64() {
        for (link, start) in [
            (cursor_link(URL), "cursor://anysphere.cursor-deeplink/mcp/install"),
            (lm_studio_link(URL), "lmstudio://add_mcp"),
        ] {
            let (place, parameters) = parts(&link);
            assert_eq!((place.as_str(), parameters["name"].as_str()), (start, "toolyard"));
            assert_eq!(decode_config(&parameters["config"]), json!({ "url": URL }));
        }
    }

    #[test]
    fn the_link_of_vscode_contains_the_server_as_json() {
        let link = vscode_link(URL);
        let query = link.strip_prefix("vscode:mcp/install?").unwrap();
        let (decoded, rest) = form_urlencoded::parse(query.as_bytes()).next().unwrap();
        let server: Value = serde_json::from_str(&decoded).unwrap();
        assert_eq!((server, rest.as_ref()), (json!({ "name": "toolyard", "type": "http", "url": URL }), ""));
    }

    #[test]
    fn the_link_of_goose_has_a_parameter_for_each_value() {
        let link = goose_link(URL);
        let (place, parameters) = parts(&link);
        assert_eq!(place, "goose://extension");
        assert_eq!((parameters["url"].as_str(), parameters["type"].as_str()), (URL, "streamable_http"));
        assert_eq!((parameters["id"].as_str(), parameters["name"].as_str()), ("toolyard", "Toolyard"));
        assert!(link.ends_with("description=Your%20tools%20on%20this%20server"), "{link}");
    }

    #[test]
    fn special_characters_are_encoded() {
        assert_eq!(encode_component("a b&c=+/?#%é-_.~"), "a%20b%26c%3D%2B%2F%3F%23%25%C3%A9-_.~");
    }
}
