//! What needs no server.

use serde_json::json;

use crate::fixture::{Ran, ended, toolyard};

async fn run(args: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    ended(toolyard(folder.path(), args)).await
}

#[tokio::test]
async fn tokens() {
    let folder = tempfile::tempdir().unwrap();
    let token = async |args: &[&str]| ended(toolyard(folder.path(), &[&["token"], args].concat())).await;
    let first = token(&["user", "Ada@example.com", "--data", "d"]).await;
    assert!(first.err.contains("made a new root key in d/root.key"), "{}", first.err);
    assert_eq!(first.good().trim().split('.').count(), 3);
    let made = token(&["operator", "admin", "--ttl", "12h", "--data", "d", "--json"]).await;
    assert_eq!(made.err, "");
    let made = made.json();
    assert_eq!((&made["name"], &made["role"]), (&json!("admin"), &json!("operator")));
    assert!(made["expiresAt"].as_str().unwrap().ends_with('Z'));
    assert!(made.get("id").is_none(), "there is no store that could list it");
    std::fs::write(folder.path().join("d/toolyard.db"), "").unwrap();
    let unlisted = token(&["user", "ada", "--data", "d"]).await;
    assert!(unlisted.err.contains("cannot be revoked"), "{}", unlisted.err);
    unlisted.good();
    for wrong in [&["user", "a b"][..], &["king", "ada"], &["user", "ada", "--ttl", "soon"], &["user"]] {
        assert_eq!(token(wrong).await.code, 2, "{wrong:?}");
    }
}

#[tokio::test]
async fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell]).await.good();
        assert!(script.contains("toolyard") && script.contains("glasses"), "{shell}");
    }
    assert_eq!(run(&["completions", "fish", "--json"]).await.json()["shell"], "fish");
    assert_eq!(run(&["completions", "cmd"]).await.code, 2);
}

#[tokio::test]
async fn schemas() {
    let config = run(&["schema", "config"]).await;
    assert!(config.out.starts_with("{\n  \""), "on many lines, so that a difference can be read");
    assert_eq!(config.json()["title"], "Config");
    let openapi = run(&["schema", "openapi", "--json"]).await;
    assert_eq!(openapi.out.lines().count(), 1);
    assert_eq!(openapi.json()["openapi"], "3.1.0");
}

#[tokio::test]
async fn help_has_examples_and_usage_errors_end_with_2() {
    for command in [
        &["serve"][..],
        &["apps"],
        &["apps", "add"],
        &["apps", "tools"],
        &["chat"],
        &["models"],
        &["eval"],
        &["eval", "retrieval"],
        &["tools"],
        &["tools", "ls"],
        &["tools", "call"],
        &["upstreams"],
        &["upstreams", "add"],
        &["upstreams", "import"],
        &["upstreams", "ls"],
        &["upstreams", "show"],
        &["upstreams", "rm"],
        &["upstreams", "test"],
        &["upstreams", "authorize"],
        &["mcp"],
        &["migrate"],
        &["import"],
        &["glasses"],
        &["token"],
        &["doctor"],
        &["completions"],
        &["schema"],
        &[],
    ] {
        let help = run(&[command, &["--help"]].concat()).await.good();
        assert!(help.contains("Examples:\n  toolyard "), "{command:?}: {help}");
    }
    for wrong in [
        &[][..],
        &["fly"],
        &["apps", "add"],
        &["apps", "show", "Not A Package"],
        &["tools", "ls", "--user", ""],
        &["upstreams", "add", "x"],
        &["upstreams", "show", "../apps"],
        &["mcp", "--servers", "x.json"],
        &["mcp", "--data", "d", "--json"],
    ] {
        let ran = run(wrong).await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{wrong:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_down_or_none_is_told() {
    let server = ["--server", "http://127.0.0.1:1"];
    let down = run(&[&["apps", "ls"][..], &server].concat()).await.bad();
    assert!(
        down.contains("cannot reach the server at http://127.0.0.1:1")
            && down.contains("next: start a server with `toolyard serve`"),
        "{down}"
    );
    let down = run(&[&["tools", "call", "a:b", "--json"][..], &server].concat()).await;
    let error = &down.json_lines()[0]["error"];
    assert_eq!((down.code, &error["code"]), (1, &json!("UNREACHABLE")));
    assert!(error["next"].as_str().unwrap().contains("toolyard serve"));
    let wrong = run(&["apps", "ls", "--server", "localhost:8787"]).await;
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("http://127.0.0.1:8787"), "{}", wrong.err);
}

#[tokio::test]
async fn something_else_than_a_server_is_told() {
    let app = crate::app::App::start().await;
    let other = run(&["apps", "ls", "--server", &app.url]).await.bad();
    assert!(other.contains("nothing here"), "{other}");
}
