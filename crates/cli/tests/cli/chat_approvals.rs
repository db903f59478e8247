//! Calls of a chat that need the user's approval: asked in the terminal, or printed with their link.

use serde_json::json;
use toolyard_testkit::model::{ScriptedModel, ScriptedReply};

use crate::{
    app::App,
    chat::yard_with,
    fixture::{ADA, Yard},
};

const SAY: &str = "com.example.echo:say";

/// A server with a scripted model and a destructive tool of Ada's.
async fn yard_with_destructive_tool(model: &ScriptedModel, app: &App) -> Yard {
    let yard = yard_with(model, &[]).await;
    let tools = json!([{ "name": "say", "title": "Say it", "description": "Says it.",
        "annotations": { "destructiveHint": true },
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } } }]);
    let tools = yard.file("tools.json", &tools.to_string());
    let add = ["apps", "add", "--package", "com.example.echo", "--kind", "tools-only", "--url"];
    yard.run(&[&add[..], &[&app.url, "--tools", tools.to_str().unwrap()]].concat()).await.good();
    yard.ada(&["apps", "install", "com.example.echo"]).await.good();
    yard
}

fn say(text: &str) -> ScriptedReply {
    ScriptedReply::call("com_example_echo__say", json!({ "text": text }))
}

#[tokio::test]
async fn without_a_terminal_the_question_is_printed_with_its_link_and_the_exit_code_is_3() {
    let (model, mut app) = (ScriptedModel::start().await, App::start().await);
    let yard = yard_with_destructive_tool(&model, &app).await;
    model.queue_replies([say("hi"), say("there")]);
    let ran = yard.ada(&["chat", "--message", "say hi"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{ran:?}");
    assert!(ran.err.contains("Say it\n  text: hi\n"), "{}", ran.err);
    assert!(ran.err.contains("waits for the user's approval until "), "{}", ran.err);
    assert!(ran.err.contains("/console/approvals/"), "{}", ran.err);

    let ran = yard.ada(&["chat", "--json", "--message", "say there"]).await;
    assert_eq!(ran.code, 3, "{ran:?}");
    let asked = ran.json_lines().into_iter().find(|chunk| chunk["type"] == "data-approval").unwrap();
    let id = asked["id"].as_str().unwrap();
    let shown = yard.ada(&["approvals", "show", id, "--json"]).await.json();
    assert_eq!((&shown["state"], &shown["tool"]), (&json!("pending"), &json!(SAY)));
    assert_eq!(app.calls(), 0);
    assert_eq!(model.requests().len(), 2, "the model waits too");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn in_a_terminal_the_user_answers_and_the_chat_continues() {
    use crate::terminal::Terminal;

    let (model, mut app) = (ScriptedModel::start().await, App::start().await);
    let yard = yard_with_destructive_tool(&model, &app).await;
    let mut terminal = Terminal::with(&yard, &format!("--user {ADA}"));
    terminal.shows("> ").await;

    model.queue_replies([say("yes"), ScriptedReply::text("It is said.")]);
    terminal.types("say it\n").await;
    terminal.shows("Say it").await;
    terminal.shows("text: yes").await;
    terminal.shows("Run it? [y/N, a: always]").await;
    assert_eq!(app.calls(), 0);
    terminal.types("y\n").await;
    terminal.shows("It is said.").await;
    terminal.shows("> ").await;
    assert_eq!(app.asked("/tool").await["toolParameters"], json!({ "text": "yes" }));

    model.queue_replies([say("no"), ScriptedReply::text("Then not.")]);
    terminal.types("say it again\n").await;
    terminal.shows("text: no").await;
    terminal.shows("Run it? [y/N, a: always]").await;
    terminal.types("\n").await;
    terminal.shows("Then not.").await;
    terminal.shows("> ").await;
    assert_eq!(app.calls(), 0, "Enter alone is a no");

    // Answered elsewhere, while the terminal asks.
    model.queue_replies([say("elsewhere"), ScriptedReply::text("Said from elsewhere.")]);
    terminal.types("once more\n").await;
    terminal.shows("text: elsewhere").await;
    terminal.shows("Run it? [y/N, a: always]").await;
    let waiting = yard.ada(&["approvals", "--json"]).await.json();
    let id = waiting["approvals"][0]["id"].as_str().unwrap();
    yard.ada(&["approvals", "approve", id]).await.good();
    terminal.shows("approved on terminal by ada@example.com").await;
    terminal.shows("Said from elsewhere.").await;
    terminal.shows("> ").await;
    app.asked("/tool").await;

    model.queue_replies([say("always"), say("unasked"), ScriptedReply::text("Both are said.")]);
    terminal.types("say both\n").await;
    terminal.shows("text: always").await;
    terminal.shows("Run it? [y/N, a: always]").await;
    terminal.types("a\n").await;
    terminal.shows("Both are said.").await;
    let grants = yard.ada(&["approvals", "grants"]).await.good();
    assert!(grants.contains(SAY), "{grants}");
    let answers = yard.ada(&["approvals", "ls", "--state", "all", "--json"]).await.json();
    let surfaces: Vec<_> =
        answers["approvals"].as_array().unwrap().iter().map(|one| &one["answer"]["surface"]).collect();
    assert_eq!(surfaces, [&json!("terminal"); 4]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn ctrl_c_at_a_question_cancels_the_answer_and_the_question_stays_open() {
    use crate::terminal::{CTRL_C, Terminal};

    let (model, mut app) = (ScriptedModel::start().await, App::start().await);
    let yard = yard_with_destructive_tool(&model, &app).await;
    let mut terminal = Terminal::with(&yard, &format!("--user {ADA}"));
    terminal.shows("> ").await;
    model.queue_replies([say("hi")]);
    terminal.types("say it\n").await;
    terminal.shows("Run it? [y/N, a: always]").await;
    terminal.types(CTRL_C).await;
    terminal.shows("[stopped]").await;
    terminal.shows("> ").await;
    let waiting = yard.ada(&["approvals", "--json"]).await.json();
    assert_eq!(waiting["approvals"][0]["state"], "pending");
    assert_eq!(app.calls(), 0);
}
