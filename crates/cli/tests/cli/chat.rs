//! `toolyard chat`, with a scripted model.

use std::process::Stdio;

use serde_json::{Value, json};
use toolyard_testkit::{
    model::{ScriptedModel, ScriptedReply},
    upstream::FakeUpstream,
};

use crate::{
    app::{self, App},
    fixture::{ADA, Ran, Running, Yard, ended, serve, toolyard},
};

/// The configuration of a server whose only model is scripted.
pub(crate) fn config(model: &ScriptedModel, calling: &str) -> String {
    let url = model.url();
    format!(
        "[chat]\nmodel = \"local/scripted\"\n[models.local]\nurl = \"{url}/v1\"\ncalling = \"{calling}\"\n\
         [model_search]\nlocal_servers = false\n"
    )
}

/// A server with that model.
pub(crate) async fn yard_with(model: &ScriptedModel, flags: &[&str]) -> Yard {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolyard.toml"), config(model, "native")).unwrap();
    let (server, url) = serve(folder.path(), "127.0.0.1:0", flags).await;
    Yard { folder, server, url }
}

/// The same with an app that Ada has.
async fn yard_with_app(model: &ScriptedModel, app: &App) -> Yard {
    let yard = yard_with(model, &[]).await;
    let tools = yard.file("tools.json", &app::tools().to_string());
    let add =
        ["apps", "add", "--package", "com.example.echo", "--name", "Echo", "--kind", "tools-only", "--url"];
    yard.run(&[&add[..], &[&app.url, "--tools", tools.to_str().unwrap()]].concat()).await.good();
    yard.ada(&["apps", "install", "com.example.echo"]).await.good();
    yard
}

/// An interactive chat of Ada's.
fn chat(yard: &Yard, args: &[&str]) -> Running {
    let mut command = yard.command(&[&["chat", "--user", ADA], args].concat());
    command.stdin(Stdio::piped());
    Running::start(command)
}

/// The messages of the nth model request, with their roles.
fn told(model: &ScriptedModel, nth: usize) -> Vec<(String, String)> {
    let seen = model.requests();
    let messages = seen[nth].body["messages"].as_array().unwrap();
    let told = messages.iter().map(|message| {
        let text = message["content"].as_str().unwrap_or_default().to_owned();
        (message["role"].as_str().unwrap().to_owned(), text)
    });
    told.filter(|(role, _)| role != "system").collect()
}

fn said(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

#[tokio::test]
async fn one_message_one_answer() {
    let (model, app) = (ScriptedModel::start().await, App::start().await);
    let yard = yard_with_app(&model, &app).await;
    model.queue_replies([
        ScriptedReply::text("Let me see.").and_call("com_example_echo__say", json!({ "text": "hi" })),
        ScriptedReply::call("com_example_echo__fail", json!({})),
        ScriptedReply::pieces(["It said ", "hi."]),
    ]);
    let ran = yard.ada(&["chat", "--message", "say hi"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (0, "Let me see.\nIt said hi.\n"), "{ran:?}");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(lines[0].starts_with("  Echo: say(text: \"hi\") → you said \"hi\" ("), "{lines:?}");
    assert!(lines[0].ends_with(" ms)") || lines[0].ends_with(" s)"), "{lines:?}");
    assert!(lines[1].starts_with("  Echo: fail() failed: no milk left ("), "{lines:?}");
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(!ran.err.contains('\u{1b}'), "no colour where there is no terminal");
}

#[tokio::test]
async fn the_progress_of_a_call_is_printed() {
    let (model, upstream) = (ScriptedModel::start().await, FakeUpstream::start().await);
    let yard = yard_with(&model, &[]).await;
    yard.run(&["upstreams", "add", "fixture", "--url", &upstream.url(), "--for-all"]).await.good();
    model.queue_replies([
        ScriptedReply::call("mcp_fixture__steps", json!({ "count": 2 })),
        ScriptedReply::text("Done."),
    ]);
    let mut chat = chat(&yard, &["--message", "take two steps"]);
    upstream.let_through(1);
    assert!(chat.notes(" … ").await.contains(": steps … 50 %"));
    upstream.let_through(1);
    assert!(chat.notes(" → ").await.contains(": steps(count: 2) → 2 steps ("));
    chat.says("Done.").await;
    assert_eq!(chat.end().await, 0);
}

#[tokio::test]
async fn events_as_lines_of_json() {
    let model = ScriptedModel::start().await;
    let yard = yard_with(&model, &[]).await;
    model.queue_replies([ScriptedReply::text("Hello.")]);
    let ran = yard.ada(&["chat", "--json", "--message", "hello"]).await;
    let kinds: Vec<Value> = ran.json_lines().into_iter().map(|chunk| chunk["type"].clone()).collect();
    assert_eq!(
        kinds,
        ["start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"]
            .map(Value::from)
    );
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[tokio::test]
async fn the_message_may_come_from_stdin() {
    let model = ScriptedModel::start().await;
    let yard = yard_with(&model, &[]).await;
    model.queue_replies([ScriptedReply::text("Short.")]);
    let mut once = chat(&yard, &["--system", "Be short.", "--message", "-"]);
    once.types("first line").await;
    once.types("second line").await;
    once.types_no_more();
    once.says("Short.").await;
    assert_eq!(once.end().await, 0);
    assert_eq!(told(&model, 0), [said("user", "first line\nsecond line\n")]);
    let system = model.requests()[0].body["messages"][0]["content"].to_string();
    assert!(system.contains("Be short."), "{system}");
    let mut large = yard.command(&["chat", "--user", ADA, "--message", "-"]);
    large.stdin(std::fs::File::open(yard.file("large.txt", &"x".repeat(1024 * 1024 + 1))).unwrap());
    let large = ended(large).await.bad();
    assert!(large.contains("stdin is larger than 1048576 bytes"), "{large}");
    let empty = yard.ada(&["chat", "--message", " "]).await;
    assert!(empty.code == 2 && empty.err.contains("empty"), "{empty:?}");
}

#[tokio::test]
async fn a_conversation_is_kept_until_a_new_one_begins() {
    let model = ScriptedModel::start().await;
    let yard = yard_with(&model, &[]).await;
    model.queue_replies(["One.", "Two.", "Three."].map(ScriptedReply::text));
    let mut chat = chat(&yard, &[]);
    for (line, answer) in [("first", "One."), ("second", "Two.")] {
        chat.types(line).await;
        chat.says(answer).await;
    }
    chat.types("/new").await;
    chat.notes("[new conversation]").await;
    chat.types("third").await;
    chat.says("Three.").await;
    chat.types_no_more();
    assert_eq!(chat.end().await, 0);
    assert_eq!(told(&model, 1), [said("user", "first"), said("assistant", "One."), said("user", "second")]);
    assert_eq!(told(&model, 2), [said("user", "third")]);
}

#[tokio::test]
async fn lines_with_a_slash() {
    let (model, app) = (ScriptedModel::start().await, App::start().await);
    let yard = yard_with_app(&model, &app).await;
    model.set_default_reply(ScriptedReply::text("Yes."));
    let mut chat = chat(&yard, &[]);
    // Before the first message, when Ada has no session yet.
    chat.types("/tools").await;
    chat.says("com.example.echo:say").await;
    chat.types("/model").await;
    assert!(chat.says("local/scripted").await.contains("default"));
    chat.types("/model local/other").await;
    chat.notes("[now using local/other]").await;
    chat.types("/system Be kind.").await;
    chat.notes("[system prompt set]").await;
    chat.types("hello").await;
    chat.says("Yes.").await;
    chat.types(&"x".repeat(64 * 1024 + 1)).await;
    chat.notes("a line can have at most 65536 bytes").await;
    chat.types("/fly").await;
    chat.notes("unknown command `/fly`").await;
    chat.types("/help").await;
    chat.notes("/system [TEXT]").await;
    chat.types("/quit").await;
    assert_eq!(chat.end().await, 0);
    let asked = &model.requests()[0].body;
    assert_eq!(asked["model"], "other");
    assert!(asked["messages"][0]["content"].to_string().contains("Be kind."), "{asked}");
}

#[tokio::test]
async fn ctrl_c_ends_the_answer_and_then_the_chat() {
    let model = ScriptedModel::start().await;
    let yard = yard_with(&model, &[]).await;
    model.queue_replies([
        ScriptedReply::text("Once upon\n").and_hold().and_text("a time"),
        ScriptedReply::text("As you like."),
    ]);
    let mut chat = chat(&yard, &[]);
    chat.types("a story").await;
    chat.says("Once upon").await;
    chat.signal("-INT").await;
    chat.notes("[stopped]").await;
    model.wait_abandoned(1).await;
    chat.types("stop").await;
    chat.says("As you like.").await;
    assert_eq!(
        told(&model, 1),
        [said("user", "a story"), said("assistant", "Once upon\n"), said("user", "stop")]
    );
    // The text is printed before the answer is complete; a command is read after it.
    chat.types("/help").await;
    chat.notes("/help").await;
    chat.signal("-INT").await;
    chat.notes("press Ctrl-C again to end the chat").await;
    // Typing something in between resets it.
    chat.types("/help").await;
    chat.notes("/help").await;
    chat.signal("-INT").await;
    chat.notes("press Ctrl-C again to end the chat").await;
    chat.signal("-INT").await;
    assert_eq!(chat.end().await, 0);
}

#[tokio::test]
async fn a_signal_before_the_first_text() {
    let model = ScriptedModel::start().await;
    let yard = yard_with(&model, &[]).await;
    model.queue_replies([
        ScriptedReply::text("never").hold_first(),
        ScriptedReply::text("never").hold_first(),
        ScriptedReply::text("Here."),
    ]);
    let mut once = chat(&yard, &["--message", "hello"]);
    model.wait_requests(1).await;
    once.signal("-INT").await;
    assert_eq!(once.end().await, 130);
    assert!(once.rest().await.contains("stopped before the answer was complete"));
    let mut talk = chat(&yard, &[]);
    talk.types("hello").await;
    model.wait_requests(2).await;
    talk.signal("-INT").await;
    talk.notes("[stopped]").await;
    talk.types("again").await;
    talk.says("Here.").await;
    assert_eq!(told(&model, 2), [said("user", "again")], "a question without an answer is taken back");
    talk.signal("-TERM").await;
    assert_eq!(talk.end().await, 0);
}

#[tokio::test]
async fn errors_are_reported_and_the_chat_continues() {
    let model = ScriptedModel::start().await;
    let yard = yard_with(&model, &[]).await;
    model.queue_replies([
        ScriptedReply::error(401, json!({ "error": { "message": "bad key" } })),
        ScriptedReply::text("Half").and_error(json!({ "message": "out of memory", "code": 500 })),
        ScriptedReply::text("Fine."),
    ]);
    let mut chat = chat(&yard, &[]);
    chat.types("one").await;
    assert!(chat.notes("error: ").await.contains("the answer failed"));
    chat.types("two").await;
    chat.says("Half").await;
    chat.notes("error: the answer failed").await;
    chat.types("/model nowhere/m").await;
    chat.types("three").await;
    chat.notes("There is no model nowhere/m").await;
    chat.types("/model local/scripted").await;
    chat.types("four").await;
    chat.says("Fine.").await;
    chat.types_no_more();
    assert_eq!(chat.end().await, 1, "a script wants to know");
    let once = yard.ada(&["chat", "--model", "nowhere/m", "--json", "--message", "x"]).await;
    assert_eq!((once.code, &once.json_lines()[0]["error"]["code"]), (1, &json!("INVALID_REQUEST")));
}

#[tokio::test]
async fn no_server_no_user_no_model() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = toolyard(folder.path(), &["chat", "--message", "x", "--user", ADA]);
    command.env("TOOLYARD_URL", "http://127.0.0.1:1");
    let told = ended(command).await.bad();
    assert!(told.contains("cannot reach the server") && told.contains("toolyard serve"), "{told}");
    let yard = Yard::start_with(&["--set", "model_search.local_servers=false"]).await;
    let told = yard.run(&["chat", "--message", "x"]).await.bad();
    assert!(told.contains("--user"), "{told}");
    let told = yard.ada(&["chat", "--message", "x"]).await.bad();
    assert!(told.contains("There is no model"), "{told}");
    let wrong = yard.ada(&["chat", "--data", "d", "--message", "x"]).await;
    assert!(wrong.code == 2 && wrong.err.contains("--local"), "{wrong:?}");
}

/// Runs a chat without a server, in a folder whose configuration names the model.
async fn alone(model: &ScriptedModel, calling: &str, args: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolyard.toml"), config(model, calling)).unwrap();
    let ran = ended(toolyard(folder.path(), &[&["chat", "--local"], args].concat())).await;
    assert!(!folder.path().join("data").exists(), "nothing is kept");
    ran
}

#[tokio::test]
async fn alone_with_the_built_in_tools() {
    let model = ScriptedModel::start().await;
    model.queue_replies([
        ScriptedReply::call("toolyard__calculate", json!({ "expression": "6 * 7" })),
        ScriptedReply::text("It is 42."),
    ]);
    let ran = alone(&model, "native", &["--message", "6 * 7?"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (0, "It is 42.\n"), "{ran:?}");
    assert!(ran.err.contains("calculate(expression: \"6 * 7\") → ") && ran.err.contains("42"), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "no log between the words: {}", ran.err);
}

#[tokio::test]
async fn alone_with_a_model_that_knows_no_tools() {
    let model = ScriptedModel::start().await;
    model.queue_replies([
        ScriptedReply::text("<tool_call>\n{\"name\": \"toolyard__calculate\", \"arguments\": {\"expression\": \"2 + 2\"}}\n</tool_call>"),
        ScriptedReply::text("Four."),
    ]);
    let ran = alone(&model, "prompted", &["--message", "2 + 2?"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (0, "Four.\n"), "{ran:?}");
    assert!(ran.err.contains("calculate(expression: \"2 + 2\") → "), "{}", ran.err);
    assert!(model.requests()[0].body.get("tools").is_none(), "they are in the prompt");
}

#[tokio::test]
async fn alone_with_a_folder() {
    let model = ScriptedModel::start().await;
    let notes = tempfile::tempdir().unwrap();
    std::fs::write(notes.path().join("a.txt"), "buy milk").unwrap();
    let files = ["--files", notes.path().to_str().unwrap()];
    model.queue_replies([
        ScriptedReply::call("toolyard__read_file", json!({ "path": "files/a.txt" })),
        ScriptedReply::call("toolyard__write_file", json!({ "path": "files/b.txt", "content": "x" })),
        ScriptedReply::text("Read it."),
    ]);
    let ran = alone(&model, "native", &[&files[..], &["--message", "read"]].concat()).await;
    assert!(ran.err.contains("read_file(path: \"files/a.txt\") → "), "{ran:?}");
    assert!(model.requests()[1].body["messages"].to_string().contains("buy milk"));
    assert!(!notes.path().join("b.txt").exists(), "read-only");
    assert_eq!(ran.out, "Read it.\n");
    model.queue_replies([
        ScriptedReply::call("toolyard__write_file", json!({ "path": "files/b.txt", "content": "x" })),
        ScriptedReply::text("Written."),
    ]);
    let ran = alone(&model, "native", &[&files[..], &["--write", "--message", "write"]].concat()).await;
    assert_eq!(ran.out, "Written.\n", "{ran:?}");
    assert_eq!(std::fs::read_to_string(notes.path().join("b.txt")).unwrap(), "x");
}

#[tokio::test]
async fn alone_a_signal_ends_the_answer_too() {
    let model = ScriptedModel::start().await;
    model.queue_replies([ScriptedReply::text("Once\n").and_hold(), ScriptedReply::text("Here.")]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolyard.toml"), config(&model, "native")).unwrap();
    let mut command = toolyard(folder.path(), &["chat", "--local"]);
    command.stdin(Stdio::piped());
    let mut chat = Running::start(command);
    chat.types("/tools").await;
    chat.says("toolyard:calculate").await;
    chat.types("a story").await;
    chat.says("Once").await;
    chat.signal("-INT").await;
    chat.notes("[stopped]").await;
    model.wait_abandoned(1).await;
    chat.types("hello").await;
    chat.says("Here.").await;
    chat.types_no_more();
    assert_eq!(chat.end().await, 0);
}

#[tokio::test]
async fn alone_without_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["chat", "--local", "--set", "model_search.local_servers=false", "--message", "x"];
    let told = ended(toolyard(folder.path(), &args)).await.bad();
    assert!(told.contains("There is no model"), "{told}");
}
