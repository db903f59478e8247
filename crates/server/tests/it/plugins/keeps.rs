//! Storage of a plugin belongs to the user, the plugin id and the signer.

use serde_json::{Value, json};
use toolyard_server::config::AllowUnsigned;
use toolyard_trust::manifest_hash;

use super::{Rooted, entry, plugin, read, signed, with};
use crate::platform::Person;

const TOOL: &str = "plugin.com.example.x:do_it";

fn keeping() -> Value {
    let code = "if (args.set) await storage.set('k', args.set); return await storage.get('k');";
    with(plugin("com.example.x", "do_it", code), "permissions", json!({ "storage": true }))
}

/// Ada replaces her plugin with this one, whatever its signer.
async fn update(ada: &Person<'_>, manifest: &Value) {
    let body = json!({ "manifest": manifest, "permissions": { "storage": true }, "acceptChange": true });
    ada.post("/api/plugins/installed", &body).await.expect(201);
}

async fn kept(ada: &Person<'_>, arguments: Value) -> Value {
    ada.call(TOOL, arguments).await.expect(200).json()["content"].clone()
}

#[tokio::test]
async fn plugin_storage_is_not_shared_between_signers() {
    let rooted = Rooted::new();
    rooted.keys(1, 9, vec![entry(1), entry(2)], vec![]);
    let unsigned = keeping();
    let newer = with(unsigned.clone(), "version", json!("1.1.0"));
    let allowed = [&unsigned, &newer].map(|manifest| AllowUnsigned {
        id: "com.example.x".parse().unwrap(),
        hash: manifest_hash(&read(manifest)).unwrap(),
    });
    let (p, _device) = rooted.start(|config| config.plugins.allow_unsigned = allowed.to_vec()).await;
    let ada = p.user("ada");
    update(&ada, &signed(&unsigned, 1)).await;
    assert_eq!(kept(&ada, json!({ "set": "first" })).await, "first");
    update(&ada, &signed(&newer, 1)).await;
    assert_eq!(kept(&ada, json!({})).await, "first", "an update of the same signer finds it");
    update(&ada, &signed(&newer, 2)).await;
    assert_eq!(kept(&ada, json!({})).await, "null");
    assert_eq!(kept(&ada, json!({ "set": "second" })).await, "second");
    update(&ada, &unsigned).await;
    assert_eq!(kept(&ada, json!({})).await, "null", "what nobody signed is apart");
    assert_eq!(kept(&ada, json!({ "set": "nobody's" })).await, "nobody's");
    update(&ada, &newer).await;
    assert_eq!(kept(&ada, json!({})).await, "nobody's", "and goes by its id, whatever its content");
    update(&ada, &signed(&unsigned, 1)).await;
    assert_eq!(kept(&ada, json!({})).await, "first", "whoever goes back finds it again");
    // Removal deletes the storage of every signer.
    ada.delete("/api/plugins/installed/com.example.x").await.expect(204);
    for manifest in [signed(&unsigned, 1), signed(&newer, 2), unsigned] {
        update(&ada, &manifest).await;
        assert_eq!(kept(&ada, json!({})).await, "null");
    }
}
