//! Limits of one user: concurrent turns, turns per minute, and selectable models.

use http::Method;
use serde_json::{Value, json};
use toolyard_server::{
    auth::Role,
    config::{CallingMode, ModelConfig},
};
use toolyard_testkit::model::{ScriptedModel, ScriptedReply};

use super::{Reading, asks, chunks, reason, with, with_model, words};
use crate::platform::{Person, Platform, tokens_only};

/// The same question at every door.
fn doors() -> [(&'static str, Value); 3] {
    [
        ("/api/chat", asks("hi")),
        ("/v1/chat/completions", json!({ "messages": [{ "role": "user", "content": "hi" }] })),
        ("/v1/responses", json!({ "input": "hi" })),
    ]
}

#[tokio::test]
async fn concurrent_turns_are_limited_per_user() {
    let (p, model) = with_model(|config| config.chat.turns_per_user = 2).await;
    model.queue_replies([ScriptedReply::text("Well").and_hold(), ScriptedReply::text("Well").and_hold()]);
    let ada = p.user("ada");
    let mut first = Reading::begin(&ada, asks("x")).await;
    let second =
        ada.open(Method::POST, "/v1/responses", Some(json!({ "input": "hi", "stream": true }))).await;
    first.until("text-delta").await;
    model.set_default_reply(ScriptedReply::text("ok"));
    for (path, body) in doors() {
        let answer = ada.post(path, &body).await.expect(503);
        assert_eq!(answer.header("retry-after"), "1", "{path}");
        assert!(answer.text.contains("at most 2 at once"), "{path}: {}", answer.text);
        p.user("bob").post(path, &body).await.expect(200);
    }
    // A disconnect frees the slot.
    let left = model.abandoned();
    drop(second);
    model.wait_abandoned(left + 1).await;
    loop {
        // The turn ends by itself after its reader disconnects.
        let answer = ada.post("/api/chat", &asks("x")).await;
        if answer.status.as_u16() == 200 {
            break;
        }
        assert_eq!(answer.status.as_u16(), 503);
        tokio::task::yield_now().await;
    }
    model.release(2);
    first.all().await;
    chunks(&ada, asks("x")).await;
}

#[tokio::test]
async fn turns_per_minute_are_limited_per_user() {
    let (p, model) = with_model(|config| config.chat.turns_per_minute = 3).await;
    model.set_default_reply(ScriptedReply::text("ok"));
    for (path, body) in doors() {
        p.user("ada").post(path, &body).await.expect(200);
    }
    for (path, body) in doors() {
        let answer = p.user("ada").post(path, &body).await.expect(429);
        let wait: u64 = answer.header("retry-after").parse().unwrap();
        assert!((1..=20).contains(&wait), "{wait}");
        assert!(answer.json()["error"].is_object());
        p.user("bob").post(path, &body).await.expect(200);
    }
    // A request that is refused before it costs anything does not count.
    for _ in 0..5 {
        p.user("cleo").post("/v1/responses", &json!({ "input": [] })).await.expect(400);
    }
    p.user("cleo").post("/v1/responses", &json!({ "input": "hi" })).await.expect(200);
}

async fn names(who: &Person<'_>) -> (Vec<String>, Vec<String>) {
    let of = |list: &Value, name: &str| -> Vec<String> {
        list.as_array().unwrap().iter().map(|model| model[name].as_str().unwrap().to_owned()).collect()
    };
    let openai = who.get("/v1/models").await.expect(200).json();
    let ours = who.get("/api/models").await.expect(200).json();
    (of(&openai["data"], "id"), of(&ours["models"], "name"))
}

/// Whether a model may be selected, at each door.
async fn chooses(who: &Person<'_>, model: &str) -> bool {
    let mut found = Vec::new();
    for (path, body) in doors() {
        let answer = who.post(path, &with(body, json!({ "model": model }))).await;
        if answer.status.as_u16() != 200 {
            assert!(answer.text.contains("/v1/models"), "{path}: {}", answer.text);
        }
        found.push(answer.status.as_u16() == 200);
    }
    assert!(found.iter().all(|one| *one == found[0]), "{model}: {found:?}");
    found[0]
}

#[tokio::test]
async fn the_operators_list_says_which_models_callers_may_choose() {
    let (p, model) = with_model(|config| config.chat.models = vec!["local/ch*p".to_owned()]).await;
    model.serve_path(
        "/v1/models",
        json!({ "object": "list", "data": [{ "id": "scripted" }, { "id": "cheap" }, { "id": "dear" }] }),
    );
    model.set_default_reply(ScriptedReply::text("ok"));
    let ada = p.user("ada");
    let listed = vec!["local/scripted".to_owned(), "local/cheap".to_owned()];
    assert_eq!(names(&ada).await, (listed.clone(), listed));
    for (name, may) in [
        ("local/scripted", true),
        ("local/cheap", true),
        ("local/chop", true),
        ("local/dear", false),
        ("other/cheap", false),
    ] {
        assert_eq!(chooses(&ada, name).await, may, "{name}");
    }
    // Without a configured model, the first of the list is the default.
    let p = p
        .restart_with(|config| {
            config.chat.model = None;
            config.chat.models = vec!["local/dear".to_owned()];
        })
        .await;
    let answer = p.user("ada").post("/api/chat", &asks("x")).await.expect(200);
    assert_eq!(answer.header("x-toolyard-model"), "local/dear");
    let p = p.restart_with(|config| config.chat.models = vec!["nowhere/*".to_owned()]).await;
    p.user("ada").post("/api/chat", &asks("x")).await.expect(503);
}

#[tokio::test]
async fn without_a_list_models_with_a_key_must_be_listed() {
    let (paid, free) = (ScriptedModel::start().await, ScriptedModel::start().await);
    for model in [&paid, &free] {
        model.serve_path("/v1/models", json!({ "object": "list", "data": [{ "id": "listed" }] }));
        model.set_default_reply(ScriptedReply::text("ok"));
    }
    let place = |model: &ScriptedModel, key: Option<&str>| ModelConfig {
        url: Some(format!("{}/v1", model.url())),
        key_env: key.map(str::to_owned),
        calling: Some(CallingMode::Native),
        ..ModelConfig::default()
    };
    let (paid, free) = (place(&paid, Some("UPSTREAM_KEY")), place(&free, None));
    let p = Platform::with(|config| {
        tokens_only(config);
        config.models.insert("paid".to_owned(), paid);
        config.models.insert("free".to_owned(), free);
        config.chat.model = Some("paid/usual".to_owned());
        config.chat.turns_per_minute = 1_000;
    })
    .await;
    let token = p.token("ada", Role::User);
    for (name, may) in [
        ("paid/listed", true),
        ("paid/usual", true),
        ("paid/dear", false),
        ("free/listed", true),
        ("free/any", true),
    ] {
        assert_eq!(chooses(&p.bearer(&token), name).await, may, "{name}");
    }
}

#[tokio::test]
async fn callers_who_may_not_select_see_only_the_default_model() {
    let (p, model) = with_model(|config| config.chat.callers_choose_model = false).await;
    model.serve_path(
        "/v1/models",
        json!({ "object": "list", "data": [{ "id": "scripted" }, { "id": "dear" }] }),
    );
    let one = vec!["local/scripted".to_owned()];
    assert_eq!(names(&p.user("ada")).await, (one.clone(), one));
}

#[tokio::test]
async fn a_request_for_an_unknown_model_does_not_count() {
    let (p, model) = with_model(|config| config.chat.turns_per_minute = 1).await;
    model.set_default_reply(ScriptedReply::text("ok"));
    for (path, body) in doors() {
        let who = p.user(&format!("user{}", path.len()));
        let unknown = with(body.clone(), json!({ "model": "nowhere/none" }));
        for _ in 0..3 {
            let refused = who.post(path, &unknown).await;
            assert!([400, 404].contains(&refused.status.as_u16()), "{path}: {}", refused.text);
        }
        who.post(path, &body).await.expect(200);
        who.post(path, &body).await.expect(429);
    }
}

#[tokio::test]
async fn a_user_at_the_limit_can_replace_their_own_stream() {
    let (p, model) = with_model(|config| config.chat.turns_per_user = 1).await;
    model.queue_replies([ScriptedReply::text("Old").and_hold(), ScriptedReply::text("New")]);
    let ada = p.user("ada");
    let resumable = |id: &str| with(asks("go"), json!({ "id": id, "resumable": true }));
    let mut old = Reading::begin(&ada, resumable("c1")).await;
    old.until("text-delta").await;
    // Another chat is another stream, and a request that is refused replaces nothing.
    ada.post("/api/chat", &resumable("c2")).await.expect(503);
    ada.post("/api/chat", &with(resumable("c1"), json!({ "model": "nowhere/none" }))).await.expect(400);
    assert_eq!(model.abandoned(), 0);
    assert_eq!(words(&chunks(&ada, resumable("c1")).await), "New");
    model.wait_abandoned(1).await;
    assert_eq!(reason(&old.all().await), "other");
}
