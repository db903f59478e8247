//! `toolyard doctor`

use serde_json::Value;

use crate::{
    app::App,
    fixture::{Ran, Yard},
};

/// The status of each check by name.
fn statuses(ran: &Ran) -> Vec<(String, String)> {
    let checks = ran.json_lines()[0]["checks"].as_array().unwrap().clone();
    let text = |check: &Value, name: &str| check[name].as_str().unwrap().to_owned();
    checks.iter().map(|check| (text(check, "name"), text(check, "status"))).collect()
}

fn pairs(statuses: &[(String, String)]) -> Vec<(&str, &str)> {
    statuses.iter().map(|(name, status)| (name.as_str(), status.as_str())).collect()
}

#[tokio::test]
async fn a_healthy_server_passes_every_check() {
    let (yard, app) = (Yard::start().await, App::start().await);
    yard.run(&["apps", "add", "--package", "com.example.echo", "--url", &app.url]).await.good();
    yard.ada(&["apps", "install", "com.example.echo"]).await.good();
    let _glasses = yard.glasses(&[]).await;
    let ran = yard.ada(&["doctor", "--data", "data", "--json"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let names = [
        "configuration",
        "data folder",
        "root key",
        "database",
        "server",
        "clock",
        "readiness",
        "identity",
        "session",
        "app com.example.echo",
    ];
    assert_eq!(pairs(&statuses(&ran)), names.map(|name| (name, "ok")));
    let text = yard.ada(&["doctor", "--data", "data"]).await.good();
    assert!(
        text.contains("ok    app com.example.echo: http://127.0.0.1:")
            && text.ends_with("10 ok, 0 with warnings, 0 failed\n"),
        "{text}"
    );
}

#[tokio::test]
async fn every_problem_has_a_next_step() {
    let mut yard = Yard::start().await;
    // Nothing listens on port 1.
    yard.run(&["apps", "add", "--package", "com.example.echo", "--url", "http://127.0.0.1:1"]).await.good();
    yard.ada(&["apps", "install", "com.example.echo"]).await.good();
    let ran = yard.ada(&["doctor", "--data", "data"]).await;
    assert_eq!(ran.code, 1);
    for words in [
        "session: ada@example.com is connected without a device",
        "FAIL  app com.example.echo",
        "start the app",
    ] {
        assert!(ran.out.contains(words), "{}", ran.out);
    }
    std::fs::write(yard.folder.path().join("data/root.key"), "junk").unwrap();
    yard.server.signal("-TERM").await;
    yard.server.end().await;
    let ran = yard.run(&["doctor", "--data", "data", "--json"]).await;
    assert_eq!(ran.code, 1);
    let expected = [
        ("configuration", "ok"),
        ("data folder", "ok"),
        ("root key", "fail"),
        ("database", "ok"),
        ("server", "fail"),
    ];
    assert_eq!(pairs(&statuses(&ran)), expected);
    let ran = yard.run(&["doctor", "--set", "calls.timeout_ms=soon", "--json"]).await;
    assert_eq!(pairs(&statuses(&ran))[..1], [("configuration", "fail")]);
}

#[tokio::test]
async fn an_invalid_token_is_found() {
    let yard = Yard::start_with(&["--auth", "token"]).await;
    let ran = yard.run(&["doctor", "--data", "data", "--token", "x.y.z"]).await;
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("FAIL  identity: the token is not valid here"), "{}", ran.out);
}

#[tokio::test]
async fn an_identity_provider_that_is_not_reachable_is_reported_with_the_setting() {
    let yard = Yard::start().await;
    let file = yard.file(
        "issuer.toml",
        "[[sign_in.issuers]]\nid = \"corp\"\nname = \"Corp\"\nissuer = \"http://127.0.0.1:9\"\nclient_id = \"toolyard\"\n\
         rules = [{ role = \"user\" }]\n",
    );
    let ran = yard.ada(&["doctor", "--config", file.to_str().unwrap(), "--data", "data", "--json"]).await;
    let statuses = statuses(&ran);
    assert!(pairs(&statuses).contains(&("identity provider corp", "fail")), "{statuses:?}");
    assert!(ran.out.contains("allow_private_network = true"), "{}", ran.out);
}
