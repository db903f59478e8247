//! The program of the guide: the page shows the compiled program, and it works as described.

use serde_json::json;
use toolyard_testkit::model::ScriptedReply;

use crate::stage::{Stage, soon};

#[expect(dead_code, reason = "its `main` takes the words of a command line")]
#[path = "../../examples/first_client_tool.rs"]
mod first_client_tool;

const PAGE: &str = include_str!("../../../../docs/guide/first-client-tool.md");
const PROGRAM: &str = include_str!("../../examples/first_client_tool.rs");

#[test]
fn the_page_shows_the_program() {
    let shown: Vec<&str> =
        PAGE.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [shown] = shown[..] else { panic!("one program") };
    // The page has its own text in place of the file's header.
    let (_, program) = PROGRAM.split_once("\n\n").unwrap();
    assert_eq!(shown, program);
}

#[tokio::test]
async fn the_program_answers_by_its_tool() {
    let stage = Stage::start().await;
    stage.script([
        ScriptedReply::call("stock", json!({ "item": "milk" })),
        ScriptedReply::text("Three are left."),
    ]);
    let client = first_client_tool::shopkeeper(&stage.url, "ada").unwrap();
    let answer = soon(first_client_tool::ask(&client, "How much milk is left?")).await.unwrap();
    assert_eq!(answer, "Three are left.");
    assert_eq!(stage.results(1), [r#"{"item":"milk","left":3}"#]);
    stage.script([ScriptedReply::call("stock", json!({ "item": "tea" })), ScriptedReply::text("No tea.")]);
    soon(first_client_tool::ask(&client, "And tea?")).await.unwrap();
    assert_eq!(stage.results(3), [r#"{"error":"there is no shelf for tea"}"#]);
}
