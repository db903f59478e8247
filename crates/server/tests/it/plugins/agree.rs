//! Agreement to permissions, updates, name clashes, and limits.

use serde_json::{Value, json};

use super::{install, plugin, shown, signed, with, yard};

fn version(number: &str, permissions: Value) -> Value {
    let manifest = with(plugin("com.example.x", "do_it", "return 1;"), "permissions", permissions);
    with(manifest, "version", json!(number))
}

#[tokio::test]
async fn a_plugin_with_more_permissions_than_agreed_is_not_installed() {
    let (p, _device) = yard(|_| {}).await;
    let ada = p.user("ada");
    let asks = json!({ "network": ["api.example.com"], "clock": true });
    let manifest = signed(&version("1.0.0", asks.clone()), 1);
    let post = async |body: Value| ada.post("/api/plugins/installed", &body).await;
    for (agreed, missing) in [
        (json!({}), asks.clone()),
        (json!({ "clock": true }), json!({ "network": ["api.example.com"] })),
        (json!({ "network": ["*.example.com"] }), json!({ "clock": true })),
    ] {
        let needs = post(json!({ "manifest": manifest, "permissions": agreed })).await.expect(409);
        let needs = needs.json();
        assert_eq!((&needs["asksFor"], &needs["notAgreed"]), (&asks, &missing));
        assert_eq!(needs["error"]["code"], "CONFLICT");
    }
    post(json!({ "manifest": manifest })).await.expect(409);
    assert!(ada.tools().await.is_empty());
    let more = json!({ "network": ["*.example.com"], "clock": true, "storage": true });
    let installed = post(json!({ "manifest": manifest, "permissions": more })).await.expect(201).json();
    assert_eq!(installed["permissions"], asks, "never more than it asks for");
}

#[tokio::test]
async fn an_update_with_more_permissions_needs_agreement_again() {
    let (p, _device) = yard(|_| {}).await;
    let ada = p.user("ada");
    install(&ada, &signed(&version("1.0.0", json!({ "clock": true })), 1)).await.expect(201);
    let post = async |body: Value| ada.post("/api/plugins/installed", &body).await;
    let same = signed(&version("1.1.0", json!({ "clock": true })), 1);
    assert_eq!(post(json!({ "manifest": same })).await.expect(201).json()["version"], "1.1.0");
    let more = signed(&version("1.2.0", json!({ "clock": true, "storage": true })), 1);
    let needs = post(json!({ "manifest": more })).await.expect(409).json();
    assert_eq!(needs["notAgreed"], json!({ "storage": true }));
    assert_eq!(needs["change"]["asksForMore"], json!({ "storage": true }));
    assert_eq!(shown(&ada).await["version"], "1.1.0", "the old one stays");
    let agreed = json!({ "clock": true, "storage": true });
    post(json!({ "manifest": more, "permissions": agreed })).await.expect(201);
    // A downgrade or another publisher needs more than agreement to permissions.
    let needs = post(json!({ "manifest": same })).await.expect(409).json();
    assert_eq!((&needs["change"]["downgrade"], &needs["notAgreed"]), (&json!(true), &json!({})));
    let other = signed(&with(version("1.3.0", json!({})), "publisher", json!("Mallory")), 1);
    assert_eq!(
        post(json!({ "manifest": other })).await.expect(409).json()["change"]["publisherChanged"],
        true
    );
    let back = post(json!({ "manifest": same, "acceptChange": true })).await.expect(201).json();
    assert_eq!((&back["version"], &back["permissions"]), (&json!("1.1.0"), &json!({ "clock": true })));
}

#[tokio::test]
async fn clashing_tool_names_are_refused_and_both_are_named() {
    let (p, _device) = yard(|_| {}).await;
    let ada = p.user("ada");
    install(&ada, &signed(&plugin("com.example.x", "do_it", "return 1;"), 1)).await.expect(201);
    let other = signed(&plugin("com.example.y", "do_it", "return 2;"), 1);
    let refused = install(&ada, &other).await.expect(409);
    for name in ["com.example.x:do_it", "com.example.y:do_it"] {
        assert!(refused.text.contains(name), "{}", refused.text);
    }
    install(&p.user("bob"), &other).await.expect(201);
    install(&ada, &signed(&plugin("com.example.x", "do_it", "return 3;"), 1)).await.expect(201);
    ada.patch("/api/plugins/installed/com.example.x", &json!({ "enabled": false })).await.expect(200);
    install(&ada, &other).await.expect(409);
    ada.delete("/api/plugins/installed/com.example.x").await.expect(204);
    install(&ada, &other).await.expect(201);
}

#[tokio::test]
async fn each_users_plugins_are_their_own() {
    let (p, _device) = yard(|_| {}).await;
    let _bobs = p.device("bob").await;
    install(&p.user("ada"), &signed(&plugin("com.example.x", "do_it", "return 1;"), 1)).await.expect(201);
    let bob = p.user("bob");
    assert!(bob.tools().await.is_empty());
    assert_eq!(bob.get("/api/plugins/installed").await.expect(200).json(), json!({ "plugins": [] }));
    assert_eq!(bob.call("plugin.com.example.x:do_it", json!({})).await.expect(404).code(), "TOOL_NOT_FOUND");
    bob.patch("/api/plugins/installed/com.example.x", &json!({ "enabled": false })).await.expect(404);
    bob.delete("/api/plugins/installed/com.example.x").await.expect(404);
    assert_eq!(p.user("ada").tools().await.len(), 1);
}

#[tokio::test]
async fn a_plugin_can_be_disabled_and_enabled() {
    let (p, _device) = yard(|_| {}).await;
    let ada = p.user("ada");
    install(&ada, &signed(&plugin("com.example.x", "do_it", "return 1;"), 1)).await.expect(201);
    let path = "/api/plugins/installed/com.example.x";
    let off = ada.patch(path, &json!({ "enabled": false })).await.expect(200).json();
    assert_eq!((&off["enabled"], &off["hidden"]), (&json!(false), &json!("switched off by the user")));
    ada.call("plugin.com.example.x:do_it", json!({})).await.expect(404);
    ada.patch(path, &json!({ "enabled": true })).await.expect(200);
    ada.call("plugin.com.example.x:do_it", json!({})).await.expect(200);
    ada.patch(path, &json!({})).await.expect(400);
    ada.patch("/api/plugins/installed/A%20b", &json!({ "enabled": true })).await.expect(404);
}

#[tokio::test]
async fn plugin_limits_are_enforced_and_problems_are_reported() {
    let (p, _device) = yard(|config| {
        (config.plugins.per_user, config.plugins.manifest_bytes) = (1, 2_000);
    })
    .await;
    let ada = p.user("ada");
    let one = signed(&plugin("com.example.x", "do_it", "return 1;"), 1);
    install(&ada, &one).await.expect(201);
    install(&ada, &one).await.expect(201);
    let two = signed(&plugin("com.example.y", "other", "return 1;"), 1);
    assert!(install(&ada, &two).await.expect(409).text.contains("at most 1 plugins"));
    let long = plugin("com.example.x", "do_it", &format!("return 1; // {}", "x".repeat(2_000)));
    assert!(install(&ada, &long).await.expect(413).text.contains("at most 2000"));
    let wrong = install(&ada, &with(one.clone(), "tools", json!([]))).await.expect(400);
    assert_eq!(wrong.json()["error"]["problems"][0]["path"], "tools");
    let newer =
        signed(&with(plugin("com.example.x", "do_it", "return 1;"), "minHostVersion", json!("99.0.0")), 1);
    assert!(install(&ada, &newer).await.expect(409).text.contains("newer server"));
    for body in [json!({}), json!({ "manifest": one, "catalogueId": "com.example.x" })] {
        ada.post("/api/plugins/installed", &body).await.expect(400);
    }
    ada.post("/api/plugins/installed", &json!({ "catalogueId": "com.example.x" })).await.expect(404);
}
