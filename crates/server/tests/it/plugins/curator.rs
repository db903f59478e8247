//! Curators: audit and signature, the catalogue, revocation.

use serde_json::{Value, json};
use toolyard_server::auth::Role;
use toolyard_trust::{RootPin, TrustContext, TrustStatus, judge_manifest};

use super::{curating, hidden, install, key, plugin, read, signed, with, yard};
use crate::platform::{Platform, tokens_only};

const TOOL: &str = "plugin.com.example.x:do_it";

fn simple() -> Value {
    plugin("com.example.x", "do_it", "return 1;")
}

async fn sign(p: &Platform, manifest: &Value) -> Value {
    p.nobody().post("/api/plugins/sign", &json!({ "manifest": manifest })).await.expect(200).json()
}

#[tokio::test]
async fn from_signing_to_a_client_that_pins_the_root() {
    let (p, _device) = yard(|_| {}).await;
    let answer = sign(&p, &simple()).await;
    assert_eq!((&answer["signed"], &answer["report"]["passes"]), (&json!(true), &json!(true)), "{answer}");
    let found = p.user("bob").get("/api/plugins?q=plugin").await.expect(200).json();
    assert_eq!(found["plugins"][0]["id"], "com.example.x");
    assert_eq!((&found["plugins"][0]["status"], found.get("next")), (&json!("signed"), None));
    let fetched = p.user("bob").get("/api/plugins/com.example.x/1.0.0").await.expect(200);
    assert_eq!(fetched.json(), answer["manifest"]);
    p.user("bob").get("/api/plugins/com.example.x/2.0.0").await.expect(404);
    let body = json!({ "catalogueId": "com.example.x", "version": "1.0.0" });
    p.user("ada").post("/api/plugins/installed", &body).await.expect(201);
    p.user("ada").call(TOOL, json!({})).await.expect(200);

    // A remote client knows only the root key.
    let now = "2026-01-02T00:00:00Z".parse().unwrap();
    let pin = RootPin::new(key(1).public_key());
    let (keys, pin) =
        pin.accept_keys(&p.nobody().get("/api/plugins/keys").await.expect(200).text, now).unwrap();
    let list = p.nobody().get("/api/plugins/revocations").await.expect(200).text;
    let (revocations, _) = pin.accept_revocations(&list, now).unwrap();
    let manifest = toolyard_protocol::plugin::Manifest::parse(fetched.text.as_bytes()).unwrap();
    let allowed = Default::default();
    let ground =
        TrustContext { keys: &keys, revocations: &revocations, allowed: &allowed, pinned: None, now };
    assert!(matches!(judge_manifest(&manifest, &ground).unwrap().status, TrustStatus::Signed { .. }));
}

#[tokio::test]
async fn what_the_audit_forbids_is_not_signed() {
    let (p, _device) = yard(|_| {}).await;
    let answer = sign(&p, &plugin("com.example.x", "do_it", "return eval(args.code);")).await;
    assert_eq!((&answer["signed"], answer.get("manifest")), (&json!(false), None));
    assert_eq!(answer["report"]["findings"][0]["code"], "eval");
    assert_eq!(p.nobody().get("/api/plugins").await.expect(200).json()["plugins"], json!([]));
    let post =
        async |manifest: Value| p.nobody().post("/api/plugins/sign", &json!({ "manifest": manifest })).await;
    post(json!({ "id": "x" })).await.expect(400);
    post(with(simple(), "id", json!("installed"))).await.expect(400);
    // The legacy format, whose version may be any text.
    let older = json!({ "id": "com.example.o", "name": "O", "version": "revoke", "installedAt": "2026-01-01",
        "tools": simple()["tools"] });
    assert!(post(older).await.expect(400).text.contains("cannot be a version"));
    let over = post(with(simple(), "expiresAt", json!("2026-01-01T00:00:00Z"))).await.expect(409);
    assert!(over.text.contains("would not trust it"), "{}", over.text);
}

#[tokio::test]
async fn a_version_never_changes_and_the_catalogue_has_pages() {
    let (p, _device) = yard(|config| config.plugins.catalogue = 21).await;
    for number in 0..21 {
        sign(&p, &plugin(&format!("com.example.p{number:02}"), "do_it", "return 1;")).await;
    }
    let post =
        async |manifest: &Value| p.nobody().post("/api/plugins/sign", &json!({ "manifest": manifest })).await;
    post(&plugin("com.example.p00", "do_it", "return 2;")).await.expect(409);
    post(&plugin("com.example.p00", "do_it", "return 1;")).await.expect(200);
    post(&simple()).await.expect(409);
    let first = p.nobody().get("/api/plugins").await.expect(200).json();
    assert_eq!((first["plugins"].as_array().unwrap().len(), &first["next"]), (20, &json!("com.example.p19")));
    let second = p.nobody().get("/api/plugins?after=com.example.p19").await.expect(200).json();
    assert_eq!((second["plugins"].as_array().unwrap().len(), second.get("next")), (1, None));
    let none = p.nobody().get("/api/plugins?q=%25").await.expect(200).json();
    assert_eq!(none["plugins"], json!([]));
    p.nobody().get(&format!("/api/plugins?q={}", "x".repeat(201))).await.expect(400);
}

#[tokio::test]
async fn a_revoked_plugin_is_hidden_at_the_next_load_and_stays_hidden() {
    let (p, _device) = yard(|_| {}).await;
    sign(&p, &simple()).await;
    let newer = with(simple(), "version", json!("1.1.0"));
    sign(&p, &newer).await;
    let ada = p.user("ada");
    install(&ada, &signed(&simple(), 1)).await.expect(201);
    ada.call(TOOL, json!({})).await.expect(200);
    let body = json!({ "version": "1.0.0", "reason": "a hole" });
    let revoke = async |body: &Value| p.nobody().post("/api/plugins/com.example.x/revoke", body).await;
    assert_eq!(revoke(&body).await.expect(200).json()["revoked"], true);
    assert_eq!(revoke(&body).await.expect(200).json()["revoked"], false);
    ada.call(TOOL, json!({})).await.expect(404);
    assert!(hidden(&ada).await[0].contains("revoked: the plugin was revoked: a hole"));
    install(&ada, &signed(&simple(), 1)).await.expect(403);
    install(&ada, &signed(&newer, 1)).await.expect(201);
    ada.call(TOOL, json!({})).await.expect(200);
    let p = p.restart().await;
    let _device = p.device("ada").await;
    install(&p.user("ada"), &signed(&simple(), 1)).await.expect(403);
    let revoke = async |body: &Value| p.nobody().post("/api/plugins/com.example.x/revoke", body).await;
    revoke(&json!({ "reason": "all of it" })).await.expect(200);
    p.user("ada").call(TOOL, json!({})).await.expect(404);
    assert_eq!(p.nobody().get("/api/plugins").await.expect(200).json()["plugins"][0]["status"], "revoked");
    revoke(&json!({ "version": "9.9.9" })).await.expect(404);
    revoke(&json!({ "version": "1.0.0", "contentHash": "0".repeat(64) })).await.expect(400);
    revoke(&json!({ "contentHash": "0".repeat(64), "reason": "x".repeat(501) })).await.expect(400);
    let list = p.nobody().get("/api/plugins/revocations").await.expect(200).json();
    assert_eq!((&list["number"], list["plugins"].as_array().unwrap().len()), (&json!(3), 2));
}

#[tokio::test]
async fn the_curators_key_itself_may_change() {
    let (p, _device) = yard(|_| {}).await;
    p.nobody().post("/api/plugins/com.example.x/revoke", &json!({})).await.expect(200);
    let p = p
        .restart_with(|config| {
            let file = config.store.path.with_file_name("curator.key");
            std::fs::write(file, key(2).to_pem().unwrap().expose()).unwrap();
        })
        .await;
    // Without a separate root key the lists start again; revoked plugins stay revoked.
    install(&p.user("ada"), &signed(&simple(), 2)).await.expect(403);
    install(&p.user("ada"), &signed(&plugin("com.example.y", "other", "return 1;"), 1)).await.expect(403);
    install(&p.user("ada"), &signed(&plugin("com.example.y", "other", "return 1;"), 2)).await.expect(201);
}

#[tokio::test]
async fn only_curators_sign_and_revoke() {
    let p = Platform::with(|config| {
        curating(config);
        tokens_only(config);
    })
    .await;
    let body = json!({ "manifest": simple() });
    for (role, status) in
        [(Role::User, 403), (Role::Developer, 403), (Role::Curator, 200), (Role::Operator, 200)]
    {
        let person = p.bearer(&p.token("somebody", role));
        person.post("/api/plugins/sign", &body).await.expect(status);
        person.post("/api/plugins/com.example.other/revoke", &json!({})).await.expect(status);
        let reload = if role == Role::Operator { 200 } else { 403 };
        person.post("/api/plugins/reload", &json!({})).await.expect(reload);
    }
    // A curator is not an operator, and acts for themselves only.
    let cleo = p.bearer(&p.token("cleo", Role::Curator));
    cleo.header("x-user-id", "ada").get("/api/plugins/installed").await.expect(403);
}

#[tokio::test]
async fn a_server_without_a_curators_key_signs_nothing() {
    let p = Platform::with(|config| config.plugins.enabled = true).await;
    let answer = p.nobody().post("/api/plugins/sign", &json!({ "manifest": simple() })).await.expect(409);
    assert!(answer.text.contains("not a curator"), "{}", answer.text);
    assert!(read(&simple()).signature().is_none());
}

#[tokio::test]
async fn a_manifest_that_is_too_large_after_signing_is_not_published() {
    let bare = simple().to_string().len();
    let (p, _device) = yard(|config| config.plugins.manifest_bytes = bare + 10).await;
    let large = p.nobody().post("/api/plugins/sign", &json!({ "manifest": simple() })).await.expect(413);
    assert!(large.text.contains(&format!("at most {}", bare + 10)), "{}", large.text);
    assert_eq!(p.nobody().get("/api/plugins").await.expect(200).json()["plugins"], json!([]));
}
