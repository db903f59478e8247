//! Commands that need no server.

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
    assert!(first.err.contains("created a new root key in d/root.key"), "{}", first.err);
    assert_eq!(first.good().trim().split('.').count(), 3);
    let made = token(&["operator", "admin", "--ttl", "12h", "--data", "d", "--json"]).await;
    assert_eq!(made.err, "");
    let made = made.json();
    assert_eq!((&made["name"], &made["role"]), (&json!("admin"), &json!("operator")));
    assert!(made["expiresAt"].as_str().unwrap().ends_with('Z'));
    assert_eq!((&made["label"], made["id"].as_str().unwrap().len()), (&json!("toolyard token"), 32));
    std::fs::create_dir(folder.path().join("e")).unwrap();
    std::fs::write(folder.path().join("e/toolyard.db"), "").unwrap();
    let unlisted = token(&["user", "ada", "--data", "e"]).await;
    assert!(unlisted.err.contains("cannot be revoked"), "{}", unlisted.err);
    unlisted.good();
    for wrong in [
        &["user", "a b"][..],
        &["king", "ada"],
        &["user", "ada", "--ttl", "soon"],
        &["user", "ada", "--name", " "],
        &["user"],
    ] {
        assert_eq!(token(wrong).await.code, 2, "{wrong:?}");
    }
}

#[tokio::test]
async fn tokens_from_before_the_first_start_are_listed_and_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let make = async |args: &[&str]| {
        ended(toolyard(folder.path(), &[&["token"], args, &["--data", "data", "--json"]].concat()))
            .await
            .json()
    };
    let operator = make(&["operator", "admin"]).await;
    let user = make(&["user", "ada@example.com", "--name", "Claude on my laptop"]).await;
    let (_server, url) = crate::fixture::serve(folder.path(), "127.0.0.1:0", &["--auth", "token"]).await;
    let run = async |token: &serde_json::Value, args: &[&str]| {
        let mut command = toolyard(folder.path(), args);
        command.env("TOOLYARD_URL", &url).env("TOOLYARD_TOKEN", token["token"].as_str().unwrap());
        ended(command).await
    };
    let listed = run(&operator, &["token", "ls"]).await.good();
    assert!(listed.contains("Claude on my laptop") && listed.contains("admin"), "{listed}");
    run(&user, &["calls"]).await.good();
    run(&operator, &["token", "revoke", user["id"].as_str().unwrap()]).await.good();
    run(&user, &["calls"]).await.bad();
}

#[tokio::test]
async fn usage_errors_are_json_for_programs() {
    for wrong in [
        &["--json", "apps", "fly"][..],
        &["tools", "ls", "--category", "fun", "--json"],
        &["token", "user", "--json"],
        &["--json"],
    ] {
        let ran = run(wrong).await;
        let error = ran.json_lines()[0]["error"].clone();
        assert_eq!((ran.code, &error["code"], ran.err.as_str()), (2, &json!("USAGE"), ""), "{wrong:?}");
        let message = error["message"].as_str().unwrap();
        assert!(
            !message.is_empty() && !message.contains("Usage:") && !message.contains('\u{1b}'),
            "{message}"
        );
    }
    // What follows `--` belongs to another command, and `mcp` keeps stdout for its messages.
    for wrong in [&["upstreams", "add", "--fly", "--", "npx", "--json"][..], &["mcp", "--fly", "--json"]] {
        let ran = run(wrong).await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{wrong:?}");
    }
    assert!(run(&["--json", "--help"]).await.good().contains("Usage:"));
}

#[tokio::test]
async fn manual_pages() {
    let page = run(&["man"]).await.good();
    assert!(page.contains(".TH toolyard 1") && page.contains("glasses"), "{page}");
    let folder = tempfile::tempdir().unwrap();
    let written = ended(toolyard(folder.path(), &["man", "--out", "man1", "--json"])).await.json();
    let pages: Vec<_> =
        written["pages"].as_array().unwrap().iter().map(|page| page.as_str().unwrap()).collect();
    for page in ["toolyard.1", "toolyard-serve.1", "toolyard-apps-add.1", "toolyard-plugin-run.1"] {
        assert!(pages.contains(&page) && folder.path().join("man1").join(page).exists(), "{page}: {pages:?}");
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
        &["apps", "grant"],
        &["apps", "tools"],
        &["calls"],
        &["connect"],
        &["chat"],
        &["models"],
        &["eval"],
        &["eval", "retrieval"],
        &["tools"],
        &["tools", "ls"],
        &["tools", "call"],
        &["tools", "on"],
        &["tools", "off"],
        &["plugin", "run"],
        &["man"],
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
        &["users"],
        &["users", "ls"],
        &["users", "show"],
        &["users", "add"],
        &["users", "set"],
        &["users", "disable"],
        &["users", "enable"],
        &["users", "link"],
        &["users", "sign-out"],
        &["users", "export"],
        &["users", "delete"],
        &["audit"],
        &["audit", "list"],
        &["audit", "export"],
        &["audit", "verify"],
        &["login"],
        &["login", "ls"],
        &["logout"],
        &["whoami"],
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
        &["connect", "emacs"],
        &["mcp", "--servers", "x.json"],
        &["mcp", "--data", "d", "--json"],
    ] {
        let ran = run(wrong).await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{wrong:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_down_or_invalid_is_reported() {
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
async fn a_url_that_is_not_a_toolyard_server_is_reported() {
    let app = crate::app::App::start().await;
    let other = run(&["apps", "ls", "--server", &app.url]).await.bad();
    assert!(other.contains("nothing here"), "{other}");
}
