//! The readable plugin policy of the server.

use serde_json::{Value, json};
use toolyard_server::{auth::Role, config::AllowUnsigned};

use super::{curating, key};
use crate::{
    identity::app_of,
    platform::{ECHO, Platform, tokens_only},
};

#[tokio::test]
async fn without_configuration_no_key_is_trusted() {
    let p = Platform::start().await;
    let policy = p.nobody().get("/api/plugins/policy").await.expect(200).json();
    assert_eq!(policy["enabled"], false);
    for name in ["rootKey", "keyListNumber", "revocationsNumber", "curator"] {
        assert_eq!(policy[name], Value::Null, "{name}");
    }
    assert_eq!(policy["allowUnsigned"], json!([]));
    assert_eq!(
        policy["limits"],
        json!({ "perUser": 32, "manifestBytes": toolyard_protocol::plugin::MAX_MANIFEST_BYTES,
            "memoryBytes": 32 * 1024 * 1024, "timeMs": 20_000, "computeMs": 5_000, "storageBytes": 1024 * 1024,
            "storageKeys": 256 })
    );
}

#[tokio::test]
async fn the_policy_shows_the_signing_key_and_the_current_lists() {
    let hash = "0".repeat(64);
    let p = Platform::with(|config| {
        curating(config);
        tokens_only(config);
        config.plugins.curator_name = "Cleo".to_owned();
        config.plugins.per_user = 3;
        config.plugins.allow_unsigned =
            vec![AllowUnsigned { id: "com.example.raw".parse().unwrap(), hash: hash.parse().unwrap() }];
    })
    .await;
    p.nobody().get("/api/plugins/policy").await.expect(401);
    let cleo = p.bearer(&p.token("cleo", Role::Curator));
    let policy = cleo.get("/api/plugins/policy").await.expect(200).json();
    let public = key(1).public_key();
    assert_eq!((&policy["enabled"], &policy["limits"]["perUser"]), (&json!(true), &json!(3)));
    assert_eq!(policy["rootKey"], String::from(public.clone()));
    assert_eq!(policy["curator"], json!({ "name": "Cleo", "keyId": public.id() }));
    assert_eq!(policy["allowUnsigned"], json!([{ "id": "com.example.raw", "hash": hash }]));
    let keys = policy["keyListNumber"].as_u64().unwrap();
    let before = policy["revocationsNumber"].as_u64();
    assert!(keys >= 1, "{policy}");
    let manifest = json!({ "id": "com.example.time", "name": "Time", "version": "1", "tools": [{ "name": "now",
        "description": "d", "parameters": { "type": "object" }, "executorCode": "return 1;" }] });
    cleo.post("/api/plugins/sign", &json!({ "manifest": manifest })).await.expect(200);
    cleo.post("/api/plugins/com.example.time/revoke", &json!({ "reason": "for a test" })).await.expect(200);
    let after = cleo.get("/api/plugins/policy").await.expect(200).json()["revocationsNumber"].as_u64();
    assert!(after > before, "{before:?} {after:?}");
    assert!(!cleo.get("/api/plugins/policy").await.expect(200).text.contains("PRIVATE"));
    let (_app, app_key) = app_of(&p, "dora", ECHO).await;
    p.bearer(&app_key).get("/api/plugins/policy").await.expect(200);
}
