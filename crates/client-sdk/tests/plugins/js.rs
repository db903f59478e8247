//! Plugins in JavaScript: which may run, with which permissions, and the results of calls.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;
use toolyard_client_sdk::{
    Client, Plugin, ToolCall, ToolContext,
    plugins::{
        self,
        js::{
            JsHost, JsOptions, JsPlugin, JsPluginError, JsTrust, SandboxHost, SandboxLimits, StoragePlace,
            StorageQuota,
        },
    },
};
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_protocol::plugin::{MAX_CODE_BYTES, Manifest, PluginPermissions};
use toolyard_trust::{
    AllowList, AllowListEntry, KeyEntry, KeyList, PublicKey, RevocationList, RevokedPlugin, SecretKey,
    TrustStatus, manifest_hash, sign_manifest,
};

use crate::world::WAIT;

/// As browsers stored it, without a word about permissions.
const OLDER: &str = include_str!("../../../../examples/plugins/time-older.json");
const TIME: &str = include_str!("../../../../examples/plugins/time.json");
/// Signed as the older form has it.
const RS256: &str = include_str!("../../../trust/tests/data/rs256-plugin.json");
const RS256_KEY: &str = include_str!("../../../trust/tests/data/rsa2048.pub.pem");
/// 5 March 2026, 19:30:05 UTC.
const NOW: i64 = 1_772_739_005_000;

fn now() -> Timestamp {
    Timestamp::from_millisecond(NOW).unwrap()
}

fn host_with(options: JsOptions) -> JsHost {
    let guard = Guard::strict();
    let world = SandboxHost {
        client: HttpClient::new(guard.clone(), ClientSettings::default()),
        guard,
        clock: Arc::new(|| NOW),
        random: Arc::new(|bytes: &mut [u8]| bytes.fill(7)),
    };
    JsHost::new(world, options)
}

fn host() -> JsHost {
    host_with(JsOptions::default())
}

fn key(number: u8) -> SecretKey {
    SecretKey::from_seed(&[number; 32]).unwrap()
}

/// Believes key 1, which is Ada's.
fn trust() -> JsTrust {
    JsTrust {
        keys: KeyList::from_local_keys([KeyEntry::new(key(1).public_key(), "Ada")]),
        ..JsTrust::empty(now())
    }
}

fn manifest(permissions: Value, code: &str) -> Value {
    json!({
        "schemaVersion": 1, "id": "com.example.test", "name": "Test", "version": "1.0.0", "publisher": "Ada",
        "permissions": permissions,
        "tools": [{ "name": "go", "description": "Goes", "parameters": { "type": "object" }, "executorCode": code }],
    })
}

fn signed_by(number: u8, manifest: &Value) -> Vec<u8> {
    let manifest = Manifest::parse(manifest.to_string().as_bytes()).unwrap();
    sign_manifest(&manifest, &key(number)).unwrap().into_bytes()
}

fn signed(manifest: &Value) -> Vec<u8> {
    signed_by(1, manifest)
}

/// Allows this content, with what it asks for.
fn allowing(bytes: &[u8]) -> JsTrust {
    let manifest = Manifest::parse(bytes).unwrap();
    let (id, permissions) = (manifest.id.clone(), manifest.permissions.clone());
    let content_hash = Some(manifest_hash(&manifest).unwrap());
    let allowed = AllowList(vec![AllowListEntry { id, content_hash, permissions }]);
    JsTrust { allowed, ..JsTrust::empty(now()) }
}

/// A client that has the plugin.
async fn using(plugin: Plugin) -> Client {
    let client = Client::new("http://127.0.0.1:1").unwrap();
    client.use_plugin(plugin).await.unwrap();
    client
}

async fn call_in(client: &Client, arguments: Value, cx: &ToolContext) -> Result<Value, String> {
    let call = ToolCall::new(cx.call_id(), cx.tool(), arguments);
    let answer = timeout(WAIT, client.plugins().run_call(&call, cx)).await.expect("it answers in time");
    answer.map_err(|error| error.0)
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Result<Value, String> {
    call_in(client, arguments, &ToolContext::detached("call-1", tool)).await
}

async fn run_with(permissions: Value, code: &str, host: &JsHost) -> Result<Value, String> {
    let plugin = plugins::js(&signed(&manifest(permissions, code)), &trust(), host).unwrap();
    call(&using(plugin).await, "go", json!({ "n": 20 })).await
}

async fn run(permissions: Value, code: &str) -> Result<Value, String> {
    run_with(permissions, code, &host()).await
}

fn status(bytes: &[u8], trust: &JsTrust) -> TrustStatus {
    match JsPlugin::load(bytes, trust) {
        Err(JsPluginError::Refused { verdict, .. }) => verdict.status,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_signed_plugin_runs_as_its_manifest_says() {
    let bytes = signed(&serde_json::from_str(TIME).unwrap());
    let loaded = JsPlugin::load(&bytes, &trust()).unwrap();
    assert_eq!(loaded.verdict().reason, format!("signed by Ada with the key {}", key(1).public_key().id()));
    assert!(loaded.missing_permissions(loaded.permissions()).is_empty());
    let plugin = plugins::js(&bytes, &trust(), &host()).unwrap();
    assert_eq!((plugin.name(), plugin.version()), ("com.example.time", "1.0.0"));
    let client = using(plugin).await;
    let definitions = client.client_tool_definitions();
    assert_eq!((definitions.len(), definitions[0].name.as_str()), (1, "get_current_time"));
    assert_eq!(definitions[0].parameters["properties"]["timezone"]["type"], "string");
    let told = call(&client, "get_current_time", json!({ "timezone": "America/New_York" })).await.unwrap();
    let expected = json!({
        "time": "2026-03-05T19:30:05.000Z", "formatted": "3/5/2026, 2:30:05 PM", "timezone": "America/New_York"
    });
    assert_eq!(told, expected);
}

#[tokio::test]
async fn the_older_form_runs_unchanged_with_the_clock_and_no_other_permission() {
    let plugin = plugins::js(OLDER.as_bytes(), &allowing(OLDER.as_bytes()), &host()).unwrap();
    assert_eq!((plugin.name(), plugin.version()), ("dev-time-plugin", "1.0.0"));
    let told =
        call(&using(plugin).await, "get_current_time", json!({ "timezone": "America/New_York" })).await;
    let expected = json!({
        "time": "2026-03-05T19:30:05.000Z", "formatted": "3/5/2026, 2:30:05 PM", "timezone": "America/New_York"
    });
    assert_eq!(told.unwrap(), expected);

    let mut curator = KeyEntry::new(PublicKey::from_pem(RS256_KEY).unwrap(), "The curators");
    curator.curator_id = Some("curator-1".to_owned());
    let trust = JsTrust { keys: KeyList::from_local_keys([curator]), ..JsTrust::empty(now()) };
    let loaded = JsPlugin::load(RS256.as_bytes(), &trust).unwrap();
    assert!(loaded.permissions().is_empty(), "the signature covers the tools only");
    // Not even if the user agreed to everything.
    let all: PluginPermissions = serde_json::from_value(json!({ "clock": true, "storage": true })).unwrap();
    let plugin = loaded.plugin(&host(), &all).unwrap();
    assert_eq!(call(&using(plugin).await, "get_current_time", json!({})).await.unwrap(), 1);
    // A name that it asks for beside the signature is worth nothing.
    let asking = RS256.replacen('{', r#"{ "permissions": { "clock": true },"#, 1);
    let loaded = JsPlugin::load(asking.as_bytes(), &trust).unwrap();
    assert!(loaded.manifest().permissions.clock && loaded.permissions().is_empty());
    assert!(loaded.missing_permissions(&all).is_empty(), "the older form knows the time anyway");
}

#[test]
fn untrusted_plugins_do_not_run() {
    let unsigned = manifest(json!({}), "return 1");
    let bytes = signed(&unsigned);
    assert_eq!(status(unsigned.to_string().as_bytes(), &trust()), TrustStatus::Unsigned);
    assert_eq!(status(&bytes, &JsTrust::empty(now())), TrustStatus::UnknownKey);
    assert_eq!(status(&signed_by(2, &unsigned), &trust()), TrustStatus::UnknownKey);
    let changed = String::from_utf8(bytes.clone()).unwrap().replace("return 1", "return 2");
    assert_eq!(status(changed.as_bytes(), &trust()), TrustStatus::Modified);
    let pinned = Some("0".repeat(64).parse().unwrap());
    assert_eq!(status(&bytes, &JsTrust { pinned, ..trust() }), TrustStatus::Modified);
    let revoked = RevokedPlugin {
        id: "com.example.test".parse().unwrap(),
        content_hash: None,
        reason: "it lied".to_owned(),
    };
    let revocations = RevocationList { plugins: vec![revoked], ..RevocationList::default() };
    assert_eq!(status(&bytes, &JsTrust { revocations, ..trust() }), TrustStatus::Revoked);
    let mut late = unsigned.clone();
    late["expiresAt"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(status(&signed(&late), &trust()), TrustStatus::Expired);
}

#[test]
fn an_unsigned_plugin_runs_only_if_exactly_this_content_was_allowed() {
    let mut unsigned = manifest(json!({ "clock": true }), "return 1");
    let trust = allowing(unsigned.to_string().as_bytes());
    let loaded = JsPlugin::load(unsigned.to_string().as_bytes(), &trust).unwrap();
    assert!(loaded.permissions().clock && loaded.verdict().status == TrustStatus::Unsigned);
    unsigned["tools"][0]["executorCode"] = json!("return 2");
    assert_eq!(status(unsigned.to_string().as_bytes(), &trust), TrustStatus::Unsigned);
    let broken = String::from_utf8(signed(&unsigned)).unwrap().replace("return 2", "return 3");
    assert_eq!(
        status(broken.as_bytes(), &JsTrust { keys: self::trust().keys, ..allowing(broken.as_bytes()) }),
        TrustStatus::Modified,
        "a signature that does not hold cannot be allowed"
    );
}

#[test]
fn invalid_manifests_are_explained() {
    let error = JsPlugin::load(b"{", &trust()).unwrap_err();
    assert!(matches!(error, JsPluginError::Manifest(_)), "{error}");
    let mut newer = manifest(json!({}), "return 1");
    newer["minHostVersion"] = json!("99.0.0");
    let error = JsPlugin::load(&signed(&newer), &trust()).unwrap_err();
    assert!(matches!(&error, JsPluginError::HostTooOld { needs, .. } if needs == "99.0.0"), "{error}");
    let error = JsPlugin::load(newer.to_string().as_bytes(), &trust()).unwrap_err();
    assert_eq!(error.to_string(), "the plugin `com.example.test` may not run: it is not signed");
}

#[tokio::test]
async fn errors_say_where_and_results_are_json() {
    assert_eq!(
        run(json!({}), "return { twice: args.n * 2, list: [null, 'ü'] }").await.unwrap(),
        json!({ "twice": 40, "list": [null, "ü"] })
    );
    assert_eq!(run(json!({}), "1 + 1").await.unwrap(), Value::Null);
    let error = run(json!({}), "const x = null;\nreturn x.y;").await.unwrap_err();
    assert_eq!(error, "TypeError: cannot read property 'y' of null (line 2, column 8)");
    let error = run(json!({}), "return 1;\nreturn (;").await.unwrap_err();
    assert!(error.starts_with("the code cannot be read: ") && error.contains("(line 2, column"), "{error}");
}

#[tokio::test]
async fn only_declared_hosts_are_called_and_the_guard_decides() {
    let code =
        |host: &str| format!("try {{ await fetch('https://{host}/') }} catch (e) {{ return e.message }}");
    let network = json!({ "network": ["127.0.0.1", "*.example.com"] });
    let other = run(network.clone(), &code("example.org")).await.unwrap();
    assert!(other.as_str().unwrap().contains("`network`"), "{other}");
    let guarded = run(network, &code("127.0.0.1")).await.unwrap();
    assert!(!guarded.as_str().unwrap().contains("`network`"), "{guarded}");
    assert!(guarded.as_str().unwrap().contains("127.0.0.1"), "{guarded}");
    let none = run(json!({}), &code("example.com")).await.unwrap();
    assert!(none.as_str().unwrap().contains("`network`"), "{none}");
}

#[tokio::test]
async fn the_user_may_grant_less_than_requested() {
    let code = "const at = Date.now(); await storage.set('at', at); return at";
    let bytes = signed(&manifest(json!({ "clock": true, "storage": true }), code));
    let loaded = JsPlugin::load(&bytes, &trust()).unwrap();
    let agreed: PluginPermissions = serde_json::from_value(json!({ "clock": true })).unwrap();
    assert_eq!(loaded.missing_permissions(&agreed), ["storage"]);
    let error =
        call(&using(loaded.plugin(&host(), &agreed).unwrap()).await, "go", json!({})).await.unwrap_err();
    assert!(
        error.contains("needs the permission `storage`") && error.contains("runs without `storage`"),
        "{error}"
    );
    let all =
        call(&using(loaded.plugin(&host(), loaded.permissions()).unwrap()).await, "go", json!({})).await;
    assert_eq!(all.unwrap(), json!(NOW));
}

const COUNT: &str = "const n = (await storage.get('n') || 0) + 1; await storage.set('n', n); return n";

#[tokio::test]
async fn data_is_stored_by_plugin_and_signer() {
    let folder = TempDir::new().unwrap();
    let storage = json!({ "storage": true });
    for place in [StoragePlace::Memory, StoragePlace::Folder(folder.path().join("data"))] {
        let host = host_with(JsOptions { storage: place, ..JsOptions::default() });
        for n in 1..=2 {
            assert_eq!(run_with(storage.clone(), COUNT, &host).await.unwrap(), n);
        }
        // The same id, with another signer or none.
        let believed = [key(1), key(2)].map(|key| KeyEntry::new(key.public_key(), "x"));
        let trust = JsTrust { keys: KeyList::from_local_keys(believed), ..JsTrust::empty(now()) };
        let other = manifest(storage.clone(), COUNT);
        let plugin = plugins::js(&signed_by(2, &other), &trust, &host).unwrap();
        assert_eq!(call(&using(plugin).await, "go", json!({})).await.unwrap(), 1);
        let unsigned = other.to_string().into_bytes();
        let plugin = plugins::js(&unsigned, &allowing(&unsigned), &host).unwrap();
        assert_eq!(call(&using(plugin).await, "go", json!({})).await.unwrap(), 1);
        // Storage of an unsigned plugin is named by its id: its content changes during development.
        let changed = manifest(storage.clone(), &format!("{COUNT} // better")).to_string().into_bytes();
        let plugin = plugins::js(&changed, &allowing(&changed), &host).unwrap();
        assert_eq!(call(&using(plugin).await, "go", json!({})).await.unwrap(), 2);
    }
    // The folder outlives the host.
    let place = StoragePlace::Folder(folder.path().join("data"));
    let again = host_with(JsOptions { storage: place, ..JsOptions::default() });
    assert_eq!(run_with(storage, COUNT, &again).await.unwrap(), 3);
}

#[tokio::test]
async fn storage_is_bounded_by_the_manifest_and_by_the_host() {
    let quota = StorageQuota { keys: 8, bytes: 20 };
    let host = host_with(JsOptions { quota, ..JsOptions::default() });
    let code =
        "try { await storage.set('k', 'x'.repeat(args.n)); return 'ok' } catch (e) { return e.message }";
    for (asked, limit) in
        [(json!(true), 20), (json!({ "bytes": 10 }), 10), (json!({ "bytes": 1_000_000 }), 20)]
    {
        let told = run_with(json!({ "storage": asked }), code, &host).await.unwrap();
        assert_eq!(told, format!("the storage is full ({limit} bytes); delete something first"));
    }
}

#[tokio::test]
async fn limits_hold_and_the_largest_code_runs() {
    let limits = SandboxLimits { compute: Duration::from_millis(100), ..JsOptions::default().limits };
    let host = host_with(JsOptions { limits, ..JsOptions::default() });
    let error = run_with(json!({}), "for (;;);", &host).await.unwrap_err();
    assert!(error.contains("computed for longer"), "{error}");
    // It noticed that its time was over, so it may be called again.
    let error = run_with(json!({}), "for (;;);", &host).await.unwrap_err();
    assert!(error.contains("computed for longer"), "{error}");
    let mut code = "return 5 //".to_owned();
    code.push_str(&"x".repeat(MAX_CODE_BYTES - code.len()));
    assert_eq!(run(json!({}), &code).await.unwrap(), 5);
}

#[tokio::test]
async fn a_cancelled_call_ends() {
    let plugin = plugins::js(&signed(&manifest(json!({}), "for (;;) await 0")), &trust(), &host()).unwrap();
    let client = using(plugin).await;
    let cx = ToolContext::detached("c", "go");
    cx.cancellation().cancel();
    assert_eq!(call_in(&client, json!({}), &cx).await.unwrap_err(), "the run was cancelled");
}

#[tokio::test]
async fn a_stuck_plugin_stays_disabled() {
    // Steps that take long inside the engine, which looks at the clock between many of them. It ends by itself, later.
    let code = "if (args.n) { const b = (1n << 500000n) - 1n; for (let i = 0; i < 12; i++) b * b } return 1";
    let limits = SandboxLimits {
        time: Duration::from_millis(100),
        grace: Duration::from_millis(50),
        ..JsOptions::default().limits
    };
    let host = host_with(JsOptions { limits, ..JsOptions::default() });
    let bytes = signed(&manifest(json!({}), code));
    let client = using(plugins::js(&bytes, &trust(), &host).unwrap()).await;
    let error = call(&client, "go", json!({ "n": 20 })).await.unwrap_err();
    assert!(error.contains("did not finish within 100ms") && error.contains("stays disabled"), "{error}");
    let error = call(&client, "go", json!({ "n": 0 })).await.unwrap_err();
    assert!(error.contains("stays disabled until this program restarts"), "{error}");
    let error = plugins::js(&bytes, &trust(), &host).unwrap_err();
    assert!(matches!(error, JsPluginError::Stuck { .. }), "{error}");
    // Others are not concerned.
    assert_eq!(run_with(json!({}), "return 7", &host_with(JsOptions::default())).await.unwrap(), 7);
}
