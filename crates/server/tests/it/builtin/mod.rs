//! Built-in tools through each door.

mod files;
mod offered;
mod plain;
mod web;

use serde_json::Value;
use toolyard_server::config::Config;

use crate::platform::{Device, Platform};

/// A server with built-in tools and a session of ada.
pub(crate) async fn with_tools(change: impl FnOnce(&mut Config)) -> (Platform, Device) {
    let p = Platform::with(|config| {
        config.builtin.enabled = true;
        // Writing a file asks first; these tests are about what it does.
        config.approvals.preset = toolyard_core::approvals::PolicyPreset::Open;
        config.net.allow_loopback = Some(true);
        config.net.web_allow = vec!["127.0.0.0/8".to_owned()];
        change(config);
    })
    .await;
    let device = p.device("ada").await;
    (p, device)
}

/// The text of a successful result.
pub(crate) async fn good(p: &Platform, tool: &str, arguments: Value) -> String {
    let answer = p.user("ada").call(&format!("toolyard:{tool}"), arguments).await.expect(200).json();
    answer["content"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// The text of an error result.
pub(crate) async fn bad(p: &Platform, tool: &str, arguments: Value) -> String {
    let answer = p.user("ada").call(&format!("toolyard:{tool}"), arguments).await.expect(500);
    assert_eq!(answer.code(), "EXECUTION_ERROR");
    answer.json()["error"]["message"].as_str().unwrap().to_owned()
}
