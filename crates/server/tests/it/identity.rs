//! Authentication: user headers in dev mode, tokens, app keys, and root keys.

use std::{net::SocketAddr, sync::Arc};

use serde_json::{Value, json};
use toolyard_core::ports::{Clock as _, SystemIds};
use toolyard_net::SigningKey;
use toolyard_server::{
    Server, ServerDependencies,
    auth::Role,
    config::{self, AuthMode, Config},
    serve::ServerStartError,
};
use toolyard_testkit::{FakeApp, FixedClock};

use crate::platform::{ECHO, ENVIRONMENT, Person, Platform, echo_tool, tokens_only};

const NO_SESSION: &str = r#"{"error":"No active session for user"}"#;

/// A tools-only app of a developer in token mode, with its key.
pub(crate) async fn app_of(p: &Platform, developer: &str, package: &str) -> (FakeApp, String) {
    let app = FakeApp::start(package).await;
    let body = json!({ "packageName": package, "publicUrl": app.url(), "kind": "tools-only", "tools": [echo_tool()] });
    let created =
        p.bearer(&p.token(developer, Role::Developer)).post("/api/apps", &body).await.expect(201).json();
    (app, format!("{package}:{}", created["apiKey"].as_str().unwrap()))
}

fn ada(p: &Platform) -> Person<'_> {
    p.bearer(&p.token("ada", Role::User))
}

#[tokio::test]
async fn in_dev_mode_a_user_header_is_enough_and_no_header_is_the_operator() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    p.nobody().get("/metrics").await.expect(200);
    assert_eq!(p.nobody().get("/api/calls").await.expect(200).json()["calls"].as_array().unwrap().len(), 1);
    assert_eq!(p.user("bob").get("/api/calls").await.expect(200).json()["calls"], json!([]));
    assert_eq!(p.user("ADA").tools().await.len(), 1, "a user is the same in any case");
    // A credential is checked in dev mode, too.
    p.bearer("nonsense").header("x-user-id", "ada").get("/api/tools").await.expect(401);
    p.bearer(&p.token("ada", Role::User)).get("/metrics").await.expect(403);
}

#[tokio::test]
async fn in_token_mode_a_user_header_is_not_enough() {
    let p = Platform::with(tokens_only).await;
    for answer in [p.nobody().get("/api/tools").await, p.user("ada").get("/api/tools").await] {
        let answer = answer.expect(401);
        assert_eq!(
            (answer.code().as_str(), answer.header("www-authenticate")),
            ("UNAUTHORIZED", "Bearer realm=\"toolyard\"")
        );
    }
    ada(&p).get("/api/tools").await.expect(200);
}

#[tokio::test]
async fn a_token_is_valid_until_it_expires() {
    let p = Platform::with(tokens_only).await;
    let token = p.token("ada", Role::User);
    p.clock.advance(3_599);
    p.bearer(&token).get("/api/tools").await.expect(200);
    p.clock.advance(1);
    let answer = p.bearer(&token).get("/api/tools").await.expect(401);
    assert!(answer.text.contains("expired"), "{}", answer.text);
    ada(&p).get("/api/tools").await.expect(200);
}

#[tokio::test]
async fn foreign_and_malformed_tokens_are_refused() {
    let (p, other) = (Platform::with(tokens_only).await, Platform::with(tokens_only).await);
    let token = p.token("ada", Role::User);
    let [head, claims, signature] = token.split('.').collect::<Vec<_>>()[..] else { panic!("{token}") };
    let operator = p.token("ada", Role::Operator);
    let raised = format!("{head}.{}.{signature}", operator.split('.').nth(1).unwrap());
    // {"alg":"none"}
    let unsigned = format!("eyJhbGciOiJub25lIn0.{claims}.");
    let unsigned_too = format!("eyJhbGciOiJub25lIn0.{claims}.{signature}");
    let others = other.token("ada", Role::User);
    for bad in ["", "nonsense", "a.b.c", ":", "no.such.app:key", &raised, &unsigned, &unsigned_too, &others] {
        let answer = p.bearer(bad).get("/api/tools").await.expect(401);
        assert!(answer.text.contains("error"), "{bad}: {}", answer.text);
    }
    let basic = p.as_with(&[("authorization", "Basic YWRhOmFkYQ==")]).get("/api/tools").await.expect(401);
    assert!(basic.text.contains("Bearer"), "{}", basic.text);
    // The scheme is not case-sensitive, says HTTP.
    p.as_with(&[("authorization", &format!("bearer {token}"))]).get("/api/tools").await.expect(200);
}

#[tokio::test]
async fn each_role_allows_its_own_routes() {
    let p = Platform::with(tokens_only).await;
    let (_app, _) = app_of(&p, "dora", ECHO).await;
    let new = json!({ "packageName": "com.example.new" });
    let (dora, root) =
        (p.bearer(&p.token("dora", Role::Developer)), p.bearer(&p.token("root", Role::Operator)));
    ada(&p).post("/api/apps", &new).await.expect(403);
    ada(&p).get("/api/apps").await.expect(403);
    ada(&p).get("/metrics").await.expect(403);
    dora.get("/metrics").await.expect(403);
    root.get("/metrics").await.expect(200);
    let names = |list: Value| {
        list["apps"].as_array().unwrap().iter().map(|app| app["packageName"].clone()).collect::<Vec<_>>()
    };
    root.post("/api/apps", &new).await.expect(201);
    assert_eq!(names(dora.get("/api/apps").await.expect(200).json()), [ECHO]);
    assert_eq!(names(root.get("/api/apps").await.expect(200).json()), [ECHO, "com.example.new"]);
    let grant = json!({ "assistant": true, "name": "Grabber" });
    let path = format!("/api/apps/{ECHO}");
    dora.patch(&path, &grant).await.expect(403);
    assert_eq!(dora.get(&path).await.expect(200).json()["name"], "", "nothing of it was done");
    assert_eq!(root.patch(&path, &grant).await.expect(200).json()["name"], "Grabber");
}

#[tokio::test]
async fn users_act_for_themselves_and_operators_for_the_named_user() {
    let p = Platform::with(tokens_only).await;
    ada(&p).header("x-user-id", "Ada").get("/api/session").await.expect(200);
    let other = ada(&p).header("x-user-id", "bob").get("/api/session").await.expect(403);
    assert_eq!(other.code(), "FORBIDDEN");
    let unreadable = ada(&p).header("x-user-id", "a b").get("/api/session").await.expect(400);
    assert_eq!(unreadable.code(), "INVALID_REQUEST");

    let root = || p.bearer(&p.token("root", Role::Operator));
    for (person, user) in [(root().header("x-user-id", "bob"), "bob"), (root(), "root")] {
        assert_eq!(person.get("/api/session").await.expect(200).json()["userId"], user);
    }
    root().header("x-user-id", "jürgen@example.com").get("/api/session").await.expect(200);
    assert_eq!(p.state.sessions.user_count(), 4, "each opened a session of their own");
}

#[tokio::test]
async fn an_app_acts_for_users_who_installed_it_and_are_live_and_calls_its_own_tools() {
    let p = Platform::with(tokens_only).await;
    let (_echo, _) = app_of(&p, "dora", ECHO).await;
    let (_helper, key) = app_of(&p, "mal", "com.example.helper").await;
    let helper = || p.bearer(&key).header("x-user-id", "ada");
    let none = p.bearer(&key).get("/api/tools").await.expect(401);
    assert_eq!(none.text, r#"{"error":"Missing X-User-Id header"}"#);
    assert_eq!(helper().get("/api/tools").await.expect(401).text, NO_SESSION, "not live");
    ada(&p).get("/api/session").await.expect(200);
    assert_eq!(helper().get("/api/tools").await.expect(401).text, NO_SESSION, "live, not installed");
    for package in [ECHO, "com.example.helper"] {
        ada(&p).put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
    }
    let (own, all) =
        (vec!["com.example.helper:echo"], vec!["com.example.echo:echo", "com.example.helper:echo"]);
    let sees = async |expected: &[&str]| {
        let mut tools = helper().tools().await;
        tools.sort();
        assert_eq!(tools, expected);
        let other = helper().call("com.example.echo:echo", json!({ "text": "x" })).await;
        assert_eq!(other.status.as_u16(), if expected.len() == 2 { 200 } else { 404 }, "{}", other.text);
        helper().call("com.example.helper:echo", json!({ "text": "x" })).await.expect(200);
    };
    sees(&own).await;
    ada(&p).put("/api/installs/com.example.helper/assistant", &json!({})).await.expect(204);
    sees(&all).await;
    let calls = ada(&p).get("/api/calls?tool=com.example.echo:echo&outcome=OK").await.expect(200).json();
    assert_eq!(calls["calls"][0]["caller"], "app:com.example.helper");
    ada(&p).delete("/api/installs/com.example.helper/assistant").await.expect(204);
    sees(&own).await;
    let root = p.bearer(&p.token("root", Role::Operator));
    root.patch("/api/apps/com.example.helper", &json!({ "assistant": true })).await.expect(200);
    sees(&all).await;
    root.patch("/api/apps/com.example.helper", &json!({ "assistant": false })).await.expect(200);
    sees(&own).await;
    // An app key can call tools for a user, and nothing else.
    helper().get("/api/session").await.expect(403);
    helper().put(&format!("/api/installs/{ECHO}/assistant"), &json!({})).await.expect(403);
    helper().get("/api/calls").await.expect(403);
}

#[tokio::test]
async fn a_token_opens_a_session_without_a_device_and_it_idles_out() {
    let p = Platform::with(|config| {
        tokens_only(config);
        config.sessions.session_idle_s = 0;
        config.sessions.sweep_ms = 20;
    })
    .await;
    let (_echo, key) = app_of(&p, "dora", ECHO).await;
    ada(&p).put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let session = ada(&p).get("/api/session").await.expect(200).json();
    assert_eq!((&session["deviceConnected"], &session["capabilities"]), (&json!(false), &Value::Null));
    let app = p.bearer(&key).header("x-user-id", "ada");
    while app.get("/api/tools").await.status != 401 {}
    assert_eq!(app.get("/api/tools").await.expect(401).text, NO_SESSION);
    ada(&p).call(&format!("{ECHO}:echo"), json!({ "text": "x" })).await.expect(200);
}

#[tokio::test]
async fn a_monitoring_system_reads_metrics_and_nothing_else() {
    let p = Platform::with(|config| {
        tokens_only(config);
        config.telemetry.scrape_token_env = Some("SCRAPE_TOKEN".to_owned());
    })
    .await;
    let scraper = p.bearer("metrics-and-nothing-else");
    assert!(scraper.get("/metrics").await.expect(200).text.contains("toolyard_calls_total"));
    for path in ["/api/users", "/api/tools", "/api/calls", "/api/apps"] {
        scraper.get(path).await.expect(401);
    }
    for wrong in ["metrics-and-nothing-els", "metrics-and-nothing-else!", ""] {
        p.bearer(wrong).get("/metrics").await.expect(401);
    }
    p.nobody().get("/metrics").await.expect(401);
    p.bearer(&p.token("root", Role::Operator)).get("/metrics").await.expect(200);
}

#[tokio::test]
async fn a_scrape_token_must_exist_and_be_long() {
    let folder = tempfile::tempdir().unwrap();
    for (name, why) in [("MISSING", "MISSING is not set"), ("SHORT_TOKEN", "too short")] {
        let mut config = Config::default();
        config.server.listen = SocketAddr::from(([127, 0, 0, 1], 0));
        config.store.path = folder.path().join("toolyard.db");
        config.telemetry.scrape_token_env = Some(name.to_owned());
        let environment = ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let refused = Server::start(config, ServerDependencies::with_environment(&environment)).await;
        let refused = refused.err().unwrap().to_string();
        assert!(refused.contains("telemetry.scrape_token_env") && refused.contains(why), "{refused}");
    }
}

#[tokio::test]
async fn dev_mode_requires_a_loopback_address() {
    let folder = tempfile::tempdir().unwrap();
    let start = async |mode| {
        let mut config = Config::default();
        config.server.listen = SocketAddr::from(([0, 0, 0, 0], 0));
        config.store.path = folder.path().join("toolyard.db");
        config.auth.mode = mode;
        let world = ServerDependencies {
            clock: Arc::<FixedClock>::default(),
            ids: Arc::new(SystemIds),
            ..ServerDependencies::default()
        };
        Server::start(config, world).await.map(|server| server.state.auth_mode)
    };
    let refused = start(Some(AuthMode::Dev)).await.unwrap_err();
    assert!(matches!(&refused, ServerStartError::Config(why) if why.contains("loopback")), "{refused}");
    assert_eq!(start(None).await.unwrap(), AuthMode::Token);

    let flags = vec![("auth", "mode", "dev".to_owned()), ("server", "listen", "0.0.0.0:8787".to_owned())];
    let refused =
        config::load_config(config::ConfigSources { flags, ..config::ConfigSources::default() }).unwrap_err();
    assert!(refused.to_string().contains("auth.mode"), "{refused}");
}

#[tokio::test]
async fn the_root_key_is_rotated_in_two_starts_without_loss() {
    let (old, new) = ("11".repeat(32), "22".repeat(32));
    let p = Platform::with(|config| {
        tokens_only(config);
        config.auth.root_key = Some(old.clone());
    })
    .await;
    let app = FakeApp::start(ECHO).await;
    let body =
        json!({ "packageName": ECHO, "publicUrl": app.url(), "kind": "tools-only", "tools": [echo_tool()] });
    let created =
        p.bearer(&p.token("dora", Role::Developer)).post("/api/apps", &body).await.expect(201).json();
    let secret = SigningKey::new(created["signingSecret"].as_str().unwrap());
    ada(&p).put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let token = p.token("ada", Role::User);
    let call = async |p: &Platform, token: &str| {
        let text = json!({ "text": "x" });
        p.bearer(token).call(&format!("{ECHO}:echo"), text).await.expect(200);
        let seen = app.requests("/tool").pop().unwrap();
        let header = |name: &str| seen.headers.get(name).map(|value| value.to_str().unwrap());
        let (time, signature) = (header("x-toolyard-timestamp"), header("x-toolyard-signature"));
        secret.verify(time, signature, &seen.raw, p.clock.now().as_millisecond(), 0).unwrap();
    };
    call(&p, &token).await;

    let p = p
        .restart_with(|config| {
            (config.auth.root_key, config.auth.old_root_key) = (Some(new.clone()), Some(old.clone()));
        })
        .await;
    call(&p, &token).await;
    let newer = p.token("ada", Role::User);

    let p = p.restart_with(|config| config.auth.old_root_key = None).await;
    p.bearer(&token).get("/api/tools").await.expect(401);
    call(&p, &newer).await;
}

/// Invalid user ids: case variants beyond ASCII, invisible characters, non-normalized text.
const NOT_USERS: [&str; 6] =
    ["\u{212a}ate", "k\u{200b}ate", "k\u{e9}\u{2060}", "J\u{d6}RG", "jo\u{308}rg", "\u{ff4b}ate"];

#[tokio::test]
async fn distinct_names_never_become_one_user() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let _kate = p.device("kate").await;
    let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let key = p.nobody().post(&format!("/api/apps/{ECHO}/key"), &json!({})).await.expect(200).json();
    let app = || p.bearer(&format!("{ECHO}:{}", key["apiKey"].as_str().unwrap()));
    for text in NOT_USERS {
        let path = encoded(text);
        for answer in [
            p.user(text).get("/api/session").await,
            p.user(text).get("/api/me").await,
            p.user(text).put(&format!("/api/installs/{ECHO}"), &json!({})).await,
            p.bearer(&p.token("root", Role::Operator)).header("x-user-id", text).get("/api/session").await,
            app().header("x-user-id", text).get("/api/tools").await,
            app().get(&format!("/api/sdk/simple-storage/{path}")).await,
            p.nobody().get(&format!("/api/calls?user={path}")).await,
            p.nobody().post("/api/tokens", &json!({ "name": "x", "user": text })).await,
            p.nobody()
                .post(
                    &format!("/api/tools/apps/{ECHO}/tool"),
                    &json!({ "toolId": "echo", "userId": text, "toolParameters": {} }),
                )
                .await,
        ] {
            let answer = answer.expect(400);
            assert!(answer.text.contains("user id"), "{text:?}: {}", answer.text);
        }
        p.nobody().get(&format!("/api/tools/users/{path}/tools")).await.expect(404);
        p.bearer(&p.token(text, Role::User)).get("/api/session").await.expect(401);
        let url = format!("{}/glasses-ws?user={path}", p.url.replace("http", "ws"));
        assert!(tokio_tungstenite::connect_async(url).await.is_err(), "{text:?}");
    }
    // A name in two spellings is the same developer and user.
    let dora = |name: &str| p.bearer(&p.token(name, Role::Developer));
    dora("Dora").post("/api/apps", &json!({ "packageName": "com.example.d" })).await.expect(201);
    dora("dora").get("/api/apps/com.example.d").await.expect(200);
}

#[tokio::test]
async fn a_repeated_user_header_is_refused() {
    let p = Platform::start().await;
    let twice =
        p.as_with(&[("x-user-id", "ada"), ("x-user-id", "bob")]).get("/api/session").await.expect(400);
    assert!(twice.text.contains("more than once"), "{}", twice.text);
}
