//! `toolyard connect`

use serde_json::{Value, json};

use crate::fixture::{Yard, ended, toolyard};

#[tokio::test]
async fn clients_are_listed_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let table = ended(toolyard(folder.path(), &["connect"])).await.good();
    for words in ["ID ", "claude-code ", "OAuth or token", "toolyard connect ID"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let listed = ended(toolyard(folder.path(), &["connect", "--json"])).await.json();
    let clients = listed["clients"].as_array().unwrap();
    assert_eq!(clients.len(), 18);
    assert_eq!(
        clients[0],
        json!({
            "id": "claude",
            "name": "Claude (web)",
            "kind": "Chat on claude.ai and in the mobile apps",
            "auth": ["oauth"],
        })
    );
}

#[tokio::test]
async fn the_snippet_has_the_address_of_the_server() {
    let yard = Yard::start().await;
    let ran = yard.run(&["connect", "claude-code"]).await;
    assert_eq!(ran.err, "");
    let text = ran.good();
    assert!(text.starts_with("Claude Code: Coding agent in the terminal\n\n1. "), "{text}");
    let command = format!("\nclaude mcp add --transport http toolyard {}/mcp\n", yard.url);
    assert!(text.contains(&command), "{text}");
    let hosted = yard.run(&["connect", "chatgpt"]).await.good();
    assert!(hosted.contains("ChatGPT must reach this server over the internet"), "{hosted}");
}

#[tokio::test]
async fn the_public_address_of_the_server_is_used() {
    let yard = Yard::start_with(&["--set", "server.public_url=https://tools.example.com"]).await;
    let cursor = yard.run(&["connect", "cursor", "--json"]).await.json();
    assert_eq!((&cursor["id"], &cursor["name"]), (&json!("cursor"), &json!("Cursor")));
    assert_eq!(cursor["steps"].as_array().unwrap().len(), 2);
    let snippet = &cursor["snippets"][0];
    assert_eq!(snippet["language"], "json");
    let config: Value = serde_json::from_str(snippet["text"].as_str().unwrap()).unwrap();
    assert_eq!(config, json!({ "mcpServers": { "toolyard": { "url": "https://tools.example.com/mcp" } } }));
    let link = cursor["link"].as_str().unwrap();
    assert!(
        link.starts_with("cursor://anysphere.cursor-deeplink/mcp/install?name=toolyard&config="),
        "{link}"
    );
}

#[tokio::test]
async fn the_users_own_token_is_not_printed() {
    let yard = Yard::start().await;
    for client in ["claude-desktop", "curl", "n8n", "open-webui"] {
        let mut command = yard.command(&["connect", client]);
        command.env("TOOLYARD_TOKEN", "my-own-token");
        let ran = ended(command).await;
        assert!(!ran.err.contains("my-own-token"), "{}", ran.err);
        let text = ran.good();
        assert!(text.contains("YOUR_TOKEN") && !text.contains("my-own-token"), "{text}");
    }
}

#[tokio::test]
async fn without_a_response_the_address_of_the_command_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let run = async |args: &[&str]| ended(toolyard(folder.path(), &[&["connect"], args].concat())).await;
    let down = run(&["zed", "--server", "http://127.0.0.1:1/"]).await;
    assert!(down.err.contains("cannot reach the server"), "{}", down.err);
    let text = down.good();
    assert!(text.contains("\"url\": \"http://127.0.0.1:1/mcp\""), "{text}");
    assert_eq!(run(&["zed", "--server", "localhost:8787"]).await.code, 2);
}

#[tokio::test]
async fn an_unknown_client_is_an_error_with_all_ids() {
    let folder = tempfile::tempdir().unwrap();
    let ran = ended(toolyard(folder.path(), &["connect", "emacs"])).await;
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    for id in ["claude", "chatgpt", "gemini-cli", "curl"] {
        assert!(ran.err.contains(id), "{id}: {}", ran.err);
    }
    let ran = ended(toolyard(folder.path(), &["connect", "emacs", "--json"])).await;
    let error = &ran.json_lines()[0]["error"];
    assert_eq!((ran.code, &error["code"]), (2, &json!("USAGE")));
    assert!(error["message"].as_str().unwrap().contains("lm-studio"), "{error}");
}
