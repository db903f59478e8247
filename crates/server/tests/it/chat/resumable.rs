//! Resumable streams: a turn continues without its reader, and can be resumed.

use http::Method;
use serde_json::{Value, json};
use toolyard_server::auth::Role;
use toolyard_testkit::{FakeApp, model::ScriptedReply};

use super::{Reading, asks, chunks, lines_in, reason, script, with, with_model, words};
use crate::{
    mcp::client::soon,
    platform::{Person, echo_tool},
};

fn resumable(id: &str) -> Value {
    with(asks("go"), json!({ "id": id, "resumable": true }))
}

async fn again(who: &Person<'_>, id: &str) -> Reading {
    Reading::of(who.open(Method::GET, &format!("/api/chat/{id}/stream"), None).await)
}

#[tokio::test]
async fn a_resumed_stream_is_replayed_from_its_beginning() {
    let (p, model) = with_model(|_| {}).await;
    let ada = p.user("ada");
    script(&model, [ScriptedReply::text("One ").and_hold().and_text("two")]);
    let mut first = Reading::begin(&ada, resumable("c1")).await;
    let id = first.until("start").await["messageId"].clone();
    first.until("text-delta").await;
    drop(first);
    // Two concurrent readers get the same.
    let (mut second, third) = (again(&ada, "c1").await, again(&ada, "c1").await);
    second.until("text-delta").await;
    model.release(1);
    let (second, third) = (soon(second.all()).await, soon(third.all()).await);
    assert_eq!((words(&second).as_str(), reason(&second), &second[0]["messageId"]), ("One two", "stop", &id));
    assert_eq!(second, third);
    assert_eq!((model.abandoned(), model.requests().len()), (0, 1), "the model was asked once");
    // A client that has read all of it would show it twice.
    ada.get("/api/chat/c1/stream").await.expect(204);
    ada.delete("/api/chat/c1/stream").await.expect(404);
}

#[tokio::test]
async fn a_stream_that_was_read_to_its_end_is_not_replayed() {
    let (p, model) = with_model(|_| {}).await;
    let ada = p.user("ada");
    model.set_default_reply(ScriptedReply::text("One"));
    for _ in 0..2 {
        assert_eq!(words(&chunks(&ada, resumable("c1")).await), "One");
        assert_eq!(ada.get("/api/chat/c1/stream").await.expect(204).text, "");
    }
}

#[tokio::test]
async fn a_resumed_stream_keeps_its_format() {
    let (p, model) = with_model(|_| {}).await;
    script(&model, [ScriptedReply::text("One ").and_hold().and_text("two")]);
    let body = json!({ "id": "c/1 ?", "resumable": true, "messages": [{ "role": "user", "content": "x" }] });
    let ada = p.user("ada");
    let first = ada.open(Method::POST, "/api/chat", Some(body)).await;
    let second = ada.open(Method::GET, "/api/chat/c%2F1%20%3F/stream", None).await;
    assert_eq!(second.headers["x-vercel-ai-data-stream"], "v1");
    model.release(1);
    let [first, second] = [first.bytes(1 << 20).await, second.bytes(1 << 20).await];
    let second = String::from_utf8(second.unwrap().to_vec()).unwrap();
    assert_eq!(second.as_bytes(), &first.unwrap()[..]);
    let words: Vec<_> = lines_in(&second).into_iter().filter(|(code, _)| *code == '0').collect();
    assert_eq!(words, [('0', json!("One ")), ('0', json!("two"))]);
}

#[tokio::test]
async fn a_resumable_stream_can_be_cancelled() {
    let (p, model) = with_model(|_| {}).await;
    let ada = p.user("ada");
    script(&model, [ScriptedReply::text("One ").and_hold()]);
    let mut reading = Reading::begin(&ada, resumable("c1")).await;
    reading.until("text-delta").await;
    p.user("bob").delete("/api/chat/c1/stream").await.expect(404);
    ada.delete("/api/chat/c1/stream").await.expect(204);
    model.wait_abandoned(1).await;
    assert_eq!(reason(&soon(reading.all()).await), "other");
    ada.get("/api/chat/c1/stream").await.expect(204);
    ada.delete("/api/chat/c1/stream").await.expect(404);
}

#[tokio::test]
async fn streams_of_other_users_and_non_resumable_ones_cannot_be_resumed() {
    let (p, model) = with_model(|_| {}).await;
    model.set_default_reply(ScriptedReply::text("mine"));
    chunks(&p.user("ada"), resumable("c1")).await;
    chunks(&p.user("ada"), with(asks("x"), json!({ "id": "c2" }))).await;
    assert_eq!(p.user("bob").get("/api/chat/c1/stream").await.expect(204).text, "");
    p.user("ada").get("/api/chat/c2/stream").await.expect(204);
    p.user("ada").get("/api/chat/nothing/stream").await.expect(204);
}

#[tokio::test]
async fn resuming_before_any_turn_is_no_error() {
    let (p, _model) = with_model(|_| {}).await;
    p.user("ada").get("/api/chat/c1/stream").await.expect(204);
    p.user("ada").delete("/api/chat/c1/stream").await.expect(404);
}

#[tokio::test]
async fn stream_ids_are_required_and_limited() {
    let (p, model) = with_model(|_| {}).await;
    model.set_default_reply(ScriptedReply::text("ok"));
    for id in [json!(null), json!(""), json!("x".repeat(201))] {
        let body = with(asks("x"), json!({ "id": id, "resumable": true }));
        let text = p.user("ada").post("/api/chat", &body).await.expect(400).text;
        assert!(text.contains("at most 200 bytes"), "{text}");
    }
    chunks(&p.user("ada"), resumable(&"x".repeat(200))).await;
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_new_turn_replaces_the_previous_stream() {
    let (p, model) = with_model(|_| {}).await;
    let ada = p.user("ada");
    script(&model, [ScriptedReply::text("old ").and_hold(), ScriptedReply::text("new").and_hold()]);
    let mut old = Reading::begin(&ada, resumable("c1")).await;
    old.until("text-delta").await;
    let mut new = Reading::begin(&ada, resumable("c1")).await;
    model.wait_abandoned(1).await;
    assert_eq!(reason(&soon(old.all()).await), "other");
    new.until("text-delta").await;
    let second = again(&ada, "c1").await;
    model.release(1);
    assert_eq!(words(&soon(second.all()).await), "new");
}

#[tokio::test]
async fn a_user_has_eight_resumable_streams_and_finished_ones_make_room() {
    let (p, model) = with_model(|_| {}).await;
    let ada = p.user("ada");
    model.set_default_reply(ScriptedReply::text("One ").and_hold());
    let mut readings = Vec::new();
    for n in 0..8 {
        let mut reading = Reading::begin(&ada, resumable(&format!("c{n}"))).await;
        reading.until("text-delta").await;
        readings.push(reading);
    }
    let text = ada.post("/api/chat", &resumable("c8")).await.expect(503).text;
    assert!(text.contains("Too many active streams"), "{text}");
    assert_eq!(model.requests().len(), 8, "the model is not even asked");
    // Other users are not affected.
    drop(Reading::begin(&p.user("bob"), resumable("c8")).await);
    ada.delete("/api/chat/c0/stream").await.expect(204);
    drop(Reading::begin(&ada, resumable("c8")).await);
    ada.post("/api/chat", &resumable("c9")).await.expect(503);
    model.release(100);
    for reading in readings {
        soon(reading.all()).await;
    }
    // Finished streams do not block a new one.
    chunks(&ada, resumable("c10")).await;
}

#[tokio::test]
async fn at_the_limit_a_stream_works_without_being_resumable() {
    let (p, model) = with_model(|config| config.chat.replays = 2).await;
    model.set_default_reply(ScriptedReply::text("One ").and_hold());
    let mut readings = Vec::new();
    for (who, id) in [("ada", "a"), ("bob", "b"), ("cleo", "c")] {
        let mut reading = Reading::begin(&p.user(who), resumable(id)).await;
        reading.until("text-delta").await;
        readings.push(reading);
    }
    // Active streams are never dropped for a new one, which is then not resumable.
    drop(again(&p.user("ada"), "a").await);
    drop(again(&p.user("bob"), "b").await);
    p.user("cleo").get("/api/chat/c/stream").await.expect(204);
    drop(readings.pop());
    model.wait_abandoned(1).await;
    assert_eq!(model.abandoned(), 1, "the others go on");
    // Finished streams make room.
    model.release(2);
    for reading in readings {
        soon(reading.all()).await;
    }
    let mut reading = Reading::begin(&p.user("cleo"), resumable("c")).await;
    reading.until("text-delta").await;
    drop(again(&p.user("cleo"), "c").await);
}

#[tokio::test]
async fn a_stream_beyond_the_byte_limit_continues_for_its_reader() {
    let (p, model) = with_model(|config| config.chat.replay_bytes = 500).await;
    let ada = p.user("ada");
    let long = "x".repeat(1_000);
    script(&model, [ScriptedReply::text(&long).and_hold().and_text("end")]);
    let mut reading = Reading::begin(&ada, resumable("c1")).await;
    reading.until("text-delta").await;
    ada.get("/api/chat/c1/stream").await.expect(204);
    model.release(1);
    assert_eq!(words(&soon(reading.all()).await), format!("{long}end"));
    // Without a reader it ends, because it could not be resumed.
    script(&model, [ScriptedReply::text(&long).and_hold()]);
    let mut reading = Reading::begin(&ada, resumable("c1")).await;
    reading.until("text-delta").await;
    drop(reading);
    model.wait_abandoned(1).await;
}

#[tokio::test]
async fn a_stop_does_not_wait_for_disconnected_readers() {
    let (p, model) = with_model(|_| {}).await;
    script(&model, [ScriptedReply::text("One ").and_hold()]);
    let mut reading = Reading::begin(&p.user("ada"), resumable("c1")).await;
    reading.until("text-delta").await;
    drop(reading);
    soon(p.stop()).await;
    model.wait_abandoned(1).await;
}

#[tokio::test]
async fn an_app_can_neither_resume_nor_cancel_the_users_stream() {
    let (p, model) = with_model(|_| {}).await;
    let ada = p.user("ada");
    let app = FakeApp::start("com.example.nosy").await;
    let body = json!({ "packageName": "com.example.nosy", "kind": "tools-only", "tools": [echo_tool()] });
    let created = p.register(&app, body).await;
    ada.put("/api/installs/com.example.nosy", &json!({})).await.expect(204);
    ada.put("/api/installs/com.example.nosy/assistant", &json!({})).await.expect(204);
    let key = format!("com.example.nosy:{}", created["apiKey"].as_str().unwrap());
    let nosy = p.bearer(&key).header("x-user-id", "ada");
    script(&model, [ScriptedReply::text("One ").and_hold().and_text("two")]);
    let mut first = Reading::begin(&ada, resumable("c1")).await;
    first.until("text-delta").await;
    drop(first);
    nosy.get("/api/chat/c1/stream").await.expect(204);
    nosy.delete("/api/chat/c1/stream").await.expect(404);
    let root = p.bearer(&p.token("root", Role::Operator)).header("x-user-id", "ada");
    root.get("/api/chat/c1/stream").await.expect(204);
    let second = again(&ada, "c1").await;
    model.release(1);
    assert_eq!(words(&soon(second.all()).await), "One two");
}
