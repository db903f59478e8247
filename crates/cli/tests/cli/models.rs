//! `toolyard models`

use serde_json::{Value, json};
use toolyard_testkit::model::ScriptedModel;

use crate::{
    chat::{config, yard_with},
    fixture::{Yard, ended, toolyard},
};

const NO_SERVERS: &[&str] = &["models", "--local", "--set", "model_search.local_servers=false"];

#[tokio::test]
async fn no_models_found_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = ended(toolyard(folder.path(), NO_SERVERS)).await;
    assert_eq!(nothing.code, 1);
    assert!(nothing.out.starts_with("No model is available.\n"), "{}", nothing.out);
    assert!(nothing.out.contains("Set OPENAI_API_KEY."), "{}", nothing.out);
    assert!(!nothing.out.contains("Ollama"), "it was not looked for: {}", nothing.out);
    let json = ended(toolyard(folder.path(), &[NO_SERVERS, &["--json"]].concat())).await;
    let listed = &json.json_lines()[0];
    assert_eq!((json.code, &listed["default"], &listed["models"]), (1, &Value::Null, &json!([])));
    assert!(!folder.path().join("data").exists(), "looking leaves nothing behind");
}

#[tokio::test]
async fn local_model_servers_are_searched_for() {
    let folder = tempfile::tempdir().unwrap();
    let looked = ended(toolyard(folder.path(), &["models", "--local"])).await;
    // One may be running on this machine; then it is listed instead.
    assert!(looked.out.contains("Ollama at http://127.0.0.1:11434"), "{}", looked.out);
    assert!(looked.out.contains("vLLM at http://127.0.0.1:8000"), "{}", looked.out);
}

#[tokio::test]
async fn a_key_and_an_endpoint_are_found() {
    let model = ScriptedModel::start().await;
    model.serve_path("/v1/models", json!({ "data": [{ "id": "scripted" }, { "id": "other" }] }));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolyard.toml"), config(&model, "prompted")).unwrap();
    let mut command = toolyard(folder.path(), &["models", "--local", "--json"]);
    command.env("ANTHROPIC_API_KEY", "not-a-key");
    let listed = ended(command).await.json();
    assert_eq!(listed["default"], "local/scripted");
    let models = listed["models"].as_array().unwrap();
    assert_eq!(
        models[0],
        json!({ "name": "local/scripted", "calling": "prompted", "origin": { "kind": "configured" } })
    );
    assert_eq!(
        models[1],
        json!({ "name": "local/other", "calling": "prompted", "origin": { "kind": "endpoint", "name": "local" } })
    );
    assert_eq!(models[2]["origin"], json!({ "kind": "key", "name": "ANTHROPIC_API_KEY" }));
    assert!(!listed.to_string().contains("not-a-key"));
    let words = ended(toolyard(folder.path(), &["models", "--local"])).await.good();
    assert!(words.starts_with("local/scripted  prompted  default; set by chat.model\n"), "{words}");
}

#[tokio::test]
async fn operators_see_more_models_than_users() {
    let model = ScriptedModel::start().await;
    let yard = yard_with(&model, &["--auth", "token"]).await;
    let token = async |role: &str| {
        let made = ended(toolyard(yard.folder.path(), &["token", role, "ada", "--data", "data"])).await;
        made.good().trim().to_owned()
    };
    let (user, operator) = (token("user").await, token("operator").await);
    let listed = yard.run(&["models", "--token", &user, "--json"]).await.json();
    assert_eq!(
        listed,
        json!({ "default": "local/scripted", "models": [{ "name": "local/scripted", "calling": "native" }] })
    );
    let listed = yard.run(&["models", "--token", &operator]).await.good();
    assert!(listed.contains("set by chat.model") && listed.contains("Set OPENAI_API_KEY."), "{listed}");
    let nobody = yard.run(&["models"]).await.bad();
    assert!(nobody.contains("toolyard token"), "{nobody}");
}

#[tokio::test]
async fn a_server_without_a_model_ends_with_1() {
    let yard = Yard::start_with(&["--set", "model_search.local_servers=false"]).await;
    let none = yard.run(&["models"]).await;
    assert!(none.code == 1 && none.out.starts_with("No model is available."), "{none:?}");
    let wrong = yard.run(&["models", "--set", "chat.steps=1"]).await;
    assert!(wrong.code == 2 && wrong.err.contains("--local"), "{wrong:?}");
}
