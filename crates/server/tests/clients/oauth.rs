//! Real clients connect with nothing but the URL: they find the authorization server, register, send their user to the consent
//! page, and come back with a token.

use serde_json::{Value, json};

use crate::{
    program::Program,
    stage::{Access, Stage},
};

async fn connect(file: &str) -> (Stage, Program) {
    let stage = Stage::start(Access::Token).await;
    let user: serde_json::Map<String, Value> =
        stage.ada.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let plan = json!({ "url": format!("{}/mcp", stage.url), "user": user });
    let mut program = Program::start(file, &plan);
    let called = program.says("called").await;
    assert_eq!((&called["answer"], &called["links"]), (&json!("hello back"), &json!(1)), "{called}");
    assert!(called["tools"].as_u64().unwrap() > 0, "{called}");
    assert!(called["scope"].as_str().unwrap().contains("tools:write"), "{called}");
    (stage, program)
}

#[tokio::test]
async fn the_typescript_sdk_connects_and_renews() {
    for file in ["oauth-v1.mjs", "oauth-v2.mjs"] {
        let (stage, mut program) = connect(file).await;
        let renewed = program.says("renewed").await;
        assert_eq!((&renewed["links"], &renewed["rotated"]), (&json!(1), &json!(true)), "{file}: {renewed}");
        program.ends().await;
        stage.end().await;
    }
}

#[tokio::test]
async fn the_python_sdk_connects() {
    let (stage, program) = connect("oauth.py").await;
    program.ends().await;
    stage.end().await;
}
