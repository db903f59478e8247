//! The requests that the client sends.

use serde_json::{Value, json};
use toolyard_client_sdk::{
    ChatError, ChatEvent, ChatQuestion, Client, Message, Plugin, chat::MAX_REQUEST_BYTES, wire::WireError,
};
use toolyard_testkit::model::ScriptedReply;

use crate::{
    stage::{Stage, counted, events, soon},
    wires::{Scripted, says},
};

#[tokio::test]
async fn requests_carry_the_tools_of_plugins() {
    let wire = Scripted::new([says("ok")]);
    let client = wire.client();
    client.use_plugin(Plugin::new("p", "1").tool(counted("mine").0)).await.unwrap();
    soon(client.ask("hi")).await.unwrap();
    let tools = &wire.asked()[0]["clientTools"];
    assert_eq!(
        *tools,
        json!([{ "name": "mine", "description": "A tool for a test", "parameters": { "type": "object" } }])
    );
}

#[tokio::test]
async fn requests_carry_no_tools_where_there_are_none() {
    let wire = Scripted::new([says("ok"), says("ok")]);
    let client = wire.client();
    soon(client.ask("hi")).await.unwrap();
    client.use_plugin(Plugin::new("p", "1").tool(counted("mine").0)).await.unwrap().unuse("p").await.unwrap();
    soon(client.ask("hi")).await.unwrap();
    for asked in wire.asked() {
        assert_eq!(asked.get("clientTools"), None, "{asked}");
    }
}

#[tokio::test]
async fn a_question_overrides_the_defaults_of_the_client() {
    let wire = Scripted::new([says("ok"), says("ok")]);
    let builder = Client::builder_over(wire.clone()).model("m").system("s").categories(["c"]).max_steps(3);
    let client = builder.build().unwrap();
    soon(client.ask("hi")).await.unwrap();
    let question = ChatQuestion::new([Message::user("hi")])
        .model("n")
        .system("t")
        .categories(["d", "e"])
        .max_steps(4)
        .resumable("x");
    soon(client.ask(question)).await.unwrap();
    let pick = |asked: &Value| {
        let names = ["model", "system", "selectedToolCategories", "maxSteps", "id", "resumable"];
        names.map(|name| asked.get(name).cloned().unwrap_or_default())
    };
    let null = Value::Null;
    assert_eq!(pick(&wire.asked()[0]), [json!("m"), json!("s"), json!(["c"]), json!(3), null.clone(), null]);
    assert_eq!(
        pick(&wire.asked()[1]),
        [json!("n"), json!("t"), json!(["d", "e"]), json!(4), json!("x"), json!(true)]
    );
}

#[tokio::test]
async fn raw_chunks_are_events_if_requested() {
    let told =
        events(Scripted::new([says("Hi")]).client().chat(ChatQuestion::from("hi").with_chunks())).await;
    let chunks: Vec<Value> = told
        .iter()
        .filter_map(|event| match event {
            ChatEvent::Chunk { json } => Some(serde_json::from_str::<Value>(json).unwrap()["type"].clone()),
            _ => None,
        })
        .collect();
    assert_eq!(json!(chunks), json!(["start", "text-start", "text-delta", "text-end", "finish"]));
}

#[tokio::test]
async fn a_conversation_that_is_too_large_is_not_sent() {
    let wire = Scripted::new([]);
    let told = soon(wire.client().ask("x".repeat(MAX_REQUEST_BYTES))).await.unwrap_err();
    assert!(matches!(told, ChatError::TooLarge { .. }), "{told}");
    assert_eq!(wire.asked().len(), 0);
}

#[tokio::test]
async fn an_unreachable_server_is_an_error() {
    let client = Client::builder("http://127.0.0.1:1").user("ada").build().unwrap();
    let told = soon(client.ask("hi")).await.unwrap_err();
    assert!(matches!(told, ChatError::Wire(WireError::Net(_))), "{told:?}");
}

#[tokio::test]
async fn a_name_that_the_server_has_itself_is_refused_by_it() {
    let stage = Stage::start().await;
    stage.model.set_default_reply(ScriptedReply::text("never"));
    let client = stage.client();
    client.register_tool(counted("toolyard__calculate").0).unwrap();
    let ChatError::Refused(refusal) = soon(client.ask("hi")).await.unwrap_err() else { panic!() };
    assert!(refusal.message.contains("a tool of the server has that name"), "{refusal}");
    assert_eq!(stage.asked(), 0);
}
