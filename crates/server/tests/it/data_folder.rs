//! One server, one folder, one root key.

use std::sync::Arc;

use serde_json::json;
use toolyard_server::{Server, ServerDependencies, config::Config};
use toolyard_testkit::AppBehavior;

use crate::platform::{ECHO, Platform};

async fn refused(config: &Config) -> String {
    let mut config = config.clone();
    config.server.listen = ([127, 0, 0, 1], 0).into();
    Server::start(config, ServerDependencies::with_environment(&[]))
        .await
        .err()
        .expect("it must not start")
        .to_string()
}

#[tokio::test]
async fn a_second_server_does_not_open_the_same_folder() {
    let p = Platform::start().await;
    let mut config = Config::default();
    config.store.path = p.data();
    let why = refused(&config).await;
    assert!(
        why.contains(&format!("in use by process {}", std::process::id())) && why.contains("--data"),
        "{why}"
    );
    // A stop releases the lock.
    p.restart().await.nobody().get("/readyz").await.expect(200);
}

#[tokio::test]
async fn a_database_does_not_get_a_new_root_key_by_itself() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let (mut config, folder, clock) = p.stop().await;
    let key = config.store.path.with_file_name("root.key");
    let right = std::fs::read_to_string(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    let why = refused(&config).await;
    assert!(why.contains("root.key is missing") && why.contains("auth.accept_new_root_key"), "{why}");
    assert!(!key.exists(), "none is made");
    std::fs::write(&key, "ab".repeat(32)).unwrap();
    let why = refused(&config).await;
    assert!(why.contains("is not the root key of the database"), "{why}");
    std::fs::write(&key, right).unwrap();
    let p = Platform::run(config.clone(), folder, clock).await;
    let _device = p.device("ada").await;
    p.call_echo().await.expect(200);
    // If the operator accepts a new key, the server starts, and the new key belongs to the database from then on.
    let (_, folder, clock) = p.stop().await;
    std::fs::remove_file(&key).unwrap();
    config.auth.accept_new_root_key = true;
    let p = Platform::run(config, folder, clock).await;
    let p = p.restart_with(|config| config.auth.accept_new_root_key = false).await;
    p.nobody().get("/readyz").await.expect(200);
}

#[tokio::test]
async fn no_token_is_made_with_a_key_that_the_server_does_not_have() {
    use toolyard_server::auth::{Role, TokenDetails, issue_offline};
    let p = Platform::start().await;
    let (config, _folder, _clock) = p.stop().await;
    let wanted =
        TokenDetails { name: "t", subject: "ada", role: Role::User, seconds: 60, by: "t", made_with: None };
    issue_offline(&config, wanted).await.unwrap();
    let key = config.store.path.with_file_name("root.key");
    std::fs::remove_file(&key).unwrap();
    let why = issue_offline(&config, wanted).await.unwrap_err().to_string();
    assert!(why.contains("root.key is missing") && !key.exists(), "{why}");
}

#[tokio::test]
async fn a_call_cancelled_by_a_stop_is_recorded() {
    let p = Platform::with(|config| config.server.drain_ms = 10).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    let p = Arc::new(p);
    let calling = {
        let p = p.clone();
        async move { p.user("ada").call(&format!("{ECHO}:echo"), json!({ "text": "hi" })).await }
    };
    let ((), _cut_off) = tokio::join!(
        async {
            app.wait_requests("/tool", 1).await;
            p.begin_stop();
        },
        calling
    );
    let p = Arc::into_inner(p).unwrap().restart().await;
    let calls = p.user("ada").get("/api/calls").await.expect(200).json();
    assert_eq!(calls["calls"][0]["outcome"], "CANCELLED", "{calls}");
}

#[tokio::test]
async fn a_keyed_call_cancelled_by_a_stop_is_recorded_and_its_key_stays_used() {
    let p = Platform::with(|config| config.server.drain_ms = 10).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    let (user, tool) = (p.user("ada").header("idempotency-key", "k"), format!("{ECHO}:echo"));
    let (cut_off, ()) = tokio::join!(user.call(&tool, json!({ "text": "hi" })), async {
        app.wait_requests("/tool", 1).await;
        p.begin_stop();
    });
    assert_eq!(cut_off.code(), "CANCELLED");
    assert!(cut_off.json().to_string().contains("the server stopped"), "{}", cut_off.json());
    let p = p.restart().await;
    let calls = p.user("ada").get("/api/calls").await.expect(200).json();
    assert_eq!(calls["calls"].as_array().map(Vec::len), Some(1), "{calls}");
    assert_eq!(calls["calls"][0]["outcome"], "CANCELLED", "{calls}");
    let _device = p.device("ada").await;
    let user = p.user("ada").header("idempotency-key", "k");
    let again = user.call(&tool, json!({ "text": "hi" })).await;
    assert_eq!(again.code(), "OUTCOME_UNKNOWN");
    assert_eq!(app.requests("/tool").len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn files_of_the_server_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let p = Platform::with(|config| {
        let folder = config.store.path.parent().unwrap().join("data");
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        config.store.path = folder.join("toolyard.db");
    })
    .await;
    let (_app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    let folder = p.data().parent().unwrap().to_owned();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}
