//! The same in a chat and over MCP.

use serde_json::{Value, json};
use toolyard_testkit::model::{ScriptedModel, ScriptedReply};

use super::{Apps, FETCH, SEARCH, SEND};
use crate::{
    chat::{chunks, one, says, script, with_model},
    mcp::{
        approvals::{is_link, session_of, text},
        client::{Ask, LEGACY},
    },
    platform::Platform,
};

const SEARCH_ALIAS: &str = "com_example_reader__mail_search";
const FETCH_ALIAS: &str = "com_example_reader__web_fetch";
const SEND_ALIAS: &str = "com_example_mailer__send_mail";

async fn start_chat(
    change: impl FnOnce(&mut toolyard_server::config::Config),
) -> (Platform, ScriptedModel, Apps) {
    let (p, model) = with_model(change).await;
    let apps = Apps::start(&p).await;
    model.set_default_reply(ScriptedReply::text("ok"));
    (p, model, apps)
}

fn chat(id: Option<&str>, messages: Value) -> Value {
    let mut body = json!({ "trigger": "submit-message", "approvals": true, "messages": messages });
    if let Some(id) = id {
        body["id"] = id.into();
    }
    body
}

fn call(alias: &str) -> ScriptedReply {
    ScriptedReply::call(alias, json!({}))
}

/// A message of the assistant in which this tool has answered.
fn called(alias: &str) -> Value {
    let part = json!({ "type": format!("tool-{alias}"), "toolCallId": format!("call-{alias}"),
        "state": "output-available", "input": {}, "output": "text" });
    json!({ "id": "a1", "role": "assistant", "parts": [{ "type": "step-start" }, part] })
}

#[tokio::test]
async fn a_chat_remembers_what_it_read_over_several_turns() {
    let (p, model, apps) = start_chat(|_| {}).await;
    let ada = p.user("ada");
    script(&model, [call(SEARCH_ALIAS)]);
    chunks(&ada, chat(Some("c1"), json!([says("search")]))).await;
    script(&model, [call(FETCH_ALIAS)]);
    chunks(&ada, chat(Some("c1"), json!([says("fetch")]))).await;
    // The client forgets the history; the server does not.
    script(&model, [call(SEND_ALIAS)]);
    let told = chunks(&ada, chat(Some("c1"), json!([says("send")]))).await;
    let data = &one(&told, "data-approval")["data"];
    let warning = data["summary"]["warning"].as_str().unwrap();
    assert!(warning.contains("private data (mail_search) and content from outside (web_fetch)"), "{warning}");
    assert_eq!(apps.sent(), 0);
    script(&model, [call(SEND_ALIAS)]);
    chunks(&ada, chat(Some("c2"), json!([says("send")]))).await;
    assert_eq!(apps.sent(), 1, "another chat has read nothing");
}

#[tokio::test]
async fn the_history_of_a_chat_counts_under_any_id_and_without_one() {
    let (p, model, apps) = start_chat(|_| {}).await;
    let ada = p.user("ada");
    let history = json!([says("read"), called(SEARCH_ALIAS), says("and"), called(FETCH_ALIAS), says("send")]);
    for id in [Some("new-1"), Some("new-2"), None] {
        script(&model, [call(SEND_ALIAS)]);
        one(&chunks(&ada, chat(id, history.clone())).await, "data-approval");
    }
    // A tool of the client, about which nothing is known.
    let history = json!([says("read"), called("client_tool"), says("send")]);
    script(&model, [call(SEND_ALIAS)]);
    one(&chunks(&ada, chat(Some("new-3"), history)).await, "data-approval");
    assert_eq!(apps.sent(), 0);
}

#[tokio::test]
async fn calls_of_one_step_and_of_the_next_are_one_conversation() {
    let (p, model, apps) = start_chat(|_| {}).await;
    script(&model, [call(SEARCH_ALIAS).and_call(FETCH_ALIAS, json!({})), call(SEND_ALIAS)]);
    one(&chunks(&p.user("ada"), chat(Some("c1"), json!([says("go")]))).await, "data-approval");
    assert_eq!(apps.sent(), 0);
}

#[tokio::test]
async fn a_destination_that_the_user_named_is_not_asked_about() {
    let (p, model, apps) = start_chat(|config| {
        config.approvals.destinations = [(SEND.to_owned(), vec!["/to".to_owned()])].into();
    })
    .await;
    let ada = p.user("ada");
    let history = |text: &str| json!([says("read"), called(SEARCH_ALIAS), called(FETCH_ALIAS), says(text)]);
    let send = |to: &str| ScriptedReply::call(SEND_ALIAS, json!({ "to": to }));
    script(&model, [send("bob@example.com")]);
    chunks(&ada, chat(Some("c1"), history("Send it to Bob@example.com, please"))).await;
    assert_eq!(apps.sent(), 1);
    script(&model, [send("mal@example.com")]);
    one(&chunks(&ada, chat(Some("c1"), history("Send it to bob@example.com"))).await, "data-approval");
    assert_eq!(apps.sent(), 1);
}

#[tokio::test]
async fn an_mcp_session_is_a_conversation() {
    let p = Platform::start().await;
    let apps = Apps::start(&p).await;
    let ada = p.user("ada");
    let session = session_of(&ada, LEGACY, json!({})).await;
    let call = |name: &str| json!({ "name": name, "arguments": {} });
    for name in [SEARCH, FETCH] {
        assert_eq!(text(&session.ask("tools/call", call(name)).await.result()), "done");
    }
    let id = is_link(&ada, &session.ask("tools/call", call(SEND)).await.result()).await;
    let approval = ada.get(&format!("/api/approvals/{id}")).await.json();
    assert_eq!((&approval["reason"], &approval["inConversation"]), (&json!("dataFlow"), &json!(true)));
    let other = session_of(&ada, LEGACY, json!({})).await;
    assert_eq!(text(&other.ask("tools/call", call(SEND)).await.result()), "done");
    assert_eq!(apps.sent(), 1);
}

#[tokio::test]
async fn without_an_mcp_session_the_credential_counts() {
    let p = Platform::start().await;
    let apps = Apps::start(&p).await;
    let ada = p.user("ada");
    for name in [SEARCH, FETCH] {
        ada.ask(Ask::call(name, json!({}))).await.expect(200);
    }
    let result = ada.ask(Ask::call(SEND, json!({}))).await.expect(200).result();
    is_link(&ada, &result).await;
    assert_eq!(apps.sent(), 0);
    ada.call(SEND, json!({ "over": "rest" })).await.expect(200);
    assert_eq!(apps.sent(), 1, "a person over REST is no model");
}
