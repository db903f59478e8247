//! `toolyard approvals`, and calls that wait for one.

use serde_json::{Value, json};
use toolyard_net::{ClientSettings, Guard, HttpClient};

use crate::{
    app::App,
    fixture::{ADA, Ran, Running, Yard},
};

const SAY: &str = "com.example.echo:say";

/// A server with a destructive tool, installed for Ada, who wears glasses.
pub(crate) async fn yard_with_destructive_tool(app: &App) -> (Yard, Running) {
    let yard = Yard::start().await;
    let tools = json!([{ "name": "say", "title": "Say it", "description": "Says it.",
        "annotations": { "destructiveHint": true },
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } } }]);
    let tools = yard.file("tools.json", &tools.to_string());
    let add = [
        "apps",
        "add",
        "--package",
        "com.example.echo",
        "--kind",
        "tools-only",
        "--url",
        &app.url,
        "--tools",
    ];
    yard.run(&[&add[..], &[tools.to_str().unwrap()]].concat()).await.good();
    yard.ada(&["apps", "install", "com.example.echo"]).await.good();
    let glasses = yard.glasses(&[]).await;
    (yard, glasses)
}

async fn say(yard: &Yard, text: &str, flags: &[&str]) -> Ran {
    let text = format!("text={text}");
    yard.ada(&[&["tools", "call", SAY, &text], flags].concat()).await
}

/// Makes a call that waits, and returns the id of its approval.
async fn waiting_call(yard: &Yard, text: &str) -> String {
    let ran = say(yard, text, &["--json"]).await;
    assert_eq!(ran.code, 3, "{ran:?}");
    ran.json_lines()[0]["pending"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_call_that_needs_an_approval_exits_with_3_and_runs_once_after_yes() {
    let mut app = App::start().await;
    let (yard, _glasses) = yard_with_destructive_tool(&app).await;
    assert_eq!(yard.ada(&["approvals"]).await.good(), "No approvals match.\n");
    let ran = say(&yard, "hi", &[]).await;
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{ran:?}");
    assert!(
        ran.err.contains("Say it\n  text: hi\n") && ran.err.contains("/console/approvals/"),
        "{}",
        ran.err
    );
    let id = waiting_call(&yard, "hi").await;
    let listed = yard.ada(&["approvals"]).await.good();
    assert!(listed.contains(&id) && listed.contains("medium  pending"), "{listed}");
    let shown = yard.ada(&["approvals", "show", &id]).await.good();
    assert!(shown.contains("text: hi") && shown.contains("asked by user (rest"), "{shown}");
    let usage = yard.ada(&["approvals", "approve", &id, "--days", "3"]).await;
    assert_eq!(usage.code, 2, "{usage:?}");
    assert_eq!(app.calls(), 0);

    let approved = yard.ada(&["approvals", "approve", &id]).await.good();
    assert!(approved.contains("approved on terminal by ada@example.com"), "{approved}");
    assert_eq!(say(&yard, "hi", &["--wait"]).await.good(), "you said \"hi\"\n");
    assert_eq!(app.calls(), 1);
    let second = yard.ada(&["approvals", "deny", &id]).await.bad();
    assert!(second.contains("approved before, on terminal"), "{second}");

    let id = waiting_call(&yard, "no").await;
    yard.ada(&["approvals", "deny", &id, "--note", "not today"]).await.good();
    let denied = say(&yard, "no", &[]).await.bad();
    assert!(denied.contains("DENIED") && denied.contains("not today"), "{denied}");
    let missing = yard.ada(&["approvals", "show", &"0".repeat(32)]).await.bad();
    assert!(missing.contains("approvals ls --state all"), "{missing}");
    assert_eq!(app.calls(), 0);
}

#[tokio::test]
async fn choices_grants_and_the_policy_decide_what_runs_without_a_question() {
    let app = App::start().await;
    let (yard, _glasses) = yard_with_destructive_tool(&app).await;
    let chosen = yard.ada(&["approvals", "choose", SAY, "always", "--days", "7"]).await.good();
    assert!(chosen.starts_with("com.example.echo:say: always, until 2"), "{chosen}");
    say(&yard, "a", &[]).await.good();
    assert_eq!(yard.ada(&["approvals", "choose", SAY, "never", "--days", "7"]).await.code, 2);
    yard.ada(&["approvals", "choose", SAY, "never"]).await.good();
    assert_eq!(yard.ada(&["approvals", "choices"]).await.good(), "com.example.echo:say  never\n");
    assert!(say(&yard, "a", &[]).await.bad().contains("DENIED"));
    yard.ada(&["approvals", "choose", SAY, "default"]).await.good();
    waiting_call(&yard, "a").await;

    let grant =
        ["approvals", "grant", SAY, "--days", "1", "--uses", "1", "--where", "/text in [\"b\"]", "--json"];
    let id = yard.ada(&grant).await.json()["id"].as_str().unwrap().to_owned();
    waiting_call(&yard, "c").await;
    say(&yard, "b", &[]).await.good();
    waiting_call(&yard, "b").await;
    let grants = yard.ada(&["approvals", "grants"]).await.good();
    assert!(grants.contains("/text in [\"b\"]  0 "), "{grants}");
    yard.ada(&["approvals", "revoke", &id]).await.good();
    yard.ada(&["approvals", "revoke", &id]).await.bad();

    let rule = yard.file("rule.toml", "tools = [\"com.example.echo:*\"]\ndecision = \"allow\"\n");
    let preview: Value = yard.run(&["approvals", "preview", rule.to_str().unwrap(), "--json"]).await.json();
    assert_eq!(preview["matched"], preview["calls"], "{preview}");
    let policy = yard.file("policy.toml", "preset = \"open\"\n");
    let refused = yard.ada(&["approvals", "policy", "set", rule.to_str().unwrap()]).await;
    assert_ne!(refused.code, 0, "neither an operator nor a policy: {refused:?}");
    yard.run(&["approvals", "policy", "set", policy.to_str().unwrap()]).await.good();
    let shown = yard.run(&["approvals", "policy"]).await.good();
    assert!(shown.starts_with("# set at run time") && shown.contains("preset = \"open\""), "{shown}");
    say(&yard, "d", &[]).await.good();
    yard.run(&["approvals", "policy", "reset"]).await.good();
    waiting_call(&yard, "d2").await;
}

#[tokio::test]
async fn browsers_that_are_notified_are_listed_and_removed() {
    let yard = Yard::start().await;
    let none = yard.ada(&["approvals", "browsers"]).await.good();
    assert!(none.starts_with("No browsers. Turn on notifications"), "{none}");
    assert!(yard.ada(&["approvals", "browsers", "test"]).await.good().starts_with("You have no browsers."));
    let browser = json!({ "endpoint": "https://push.invalid/send/1", "label": "Chrome on Linux", "keys": {
        "auth": "BTBZMqHH6r4Tts7J_aSIgg",
        "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4" } });
    let request = http::Request::post(format!("{}/api/push/subscriptions", yard.url))
        .header("x-user-id", ADA)
        .header("content-type", "application/json")
        .body(http_body_util::Full::from(browser.to_string()))
        .unwrap();
    let console = HttpClient::new(Guard::unrestricted(), ClientSettings::default());
    let added = console.send(request).await.unwrap().bytes(10_000).await.unwrap();
    let id = serde_json::from_slice::<Value>(&added).unwrap()["id"].as_str().unwrap().to_owned();
    let listed = yard.ada(&["approvals", "browsers"]).await.good();
    assert!(listed.contains("Chrome on Linux  push.invalid  never") && listed.contains(&id), "{listed}");
    assert_eq!(yard.ada(&["approvals", "browsers", "rm", &id]).await.good(), format!("removed {id}\n"));
    yard.ada(&["approvals", "browsers", "rm", &id]).await.bad();
    assert_eq!(yard.ada(&["approvals", "browsers", "rm", "x"]).await.code, 2);
}

#[tokio::test]
async fn connected_clients_are_listed() {
    let yard = Yard::start().await;
    assert_eq!(yard.ada(&["clients"]).await.good(), "No clients are connected.\n");
    assert_eq!(yard.ada(&["clients", "ls", "--json"]).await.json()["clients"], json!([]));
    let missing = yard.ada(&["clients", "disconnect", &"0".repeat(32)]).await.bad();
    assert!(missing.contains("connected client"), "{missing}");
    assert_eq!(yard.ada(&["clients", "disconnect", "x"]).await.code, 2);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn questions_are_answered_in_the_terminal() {
    use crate::terminal::{CTRL_C, Terminal};

    let mut app = App::start().await;
    let (yard, _glasses) = yard_with_destructive_tool(&app).await;
    let mut call = Terminal::run(&yard, &format!("tools call {SAY} text=hi --user {ADA}"));
    call.shows("text: hi").await;
    call.shows("Run it? [y/n]").await;
    assert_eq!(app.calls(), 0);
    call.types("y\n").await;
    call.shows("you said \"hi\"").await;
    assert_eq!(call.ends().await, 0);
    let mut call = Terminal::run(&yard, &format!("tools call {SAY} text=later --user {ADA}"));
    call.shows("Run it? [y/n]").await;
    call.types("\n").await;
    call.shows("not answered").await;
    assert_eq!(call.ends().await, 3);

    let mut watch = Terminal::run(&yard, &format!("approvals watch --user {ADA}"));
    watch.shows("text: later").await;
    watch.shows("Run it? [y/n, Enter to skip]").await;
    watch.types("n\n").await;
    watch.shows("denied on terminal").await;
    let id = waiting_call(&yard, "one").await;
    watch.shows("text: one").await;
    let other = waiting_call(&yard, "two").await;
    yard.ada(&["approvals", "deny", &id]).await.good();
    watch.shows("Press Enter to continue").await;
    // Typed for the question that is gone: it does not answer the next one.
    watch.types("y\n").await;
    watch.shows("text: two").await;
    let shown = yard.ada(&["approvals", "show", &other, "--json"]).await.json();
    assert_eq!(shown["state"], "pending");
    watch.types("y\n").await;
    watch.shows("approved on terminal").await;
    app.asked("/tool").await;
    watch.types(CTRL_C).await;
    assert_eq!(watch.ends().await, 0);
}
