//! Selecting a model, and failures of models.

use serde_json::json;
use toolyard_server::{
    Server,
    config::{CallingMode, ModelConfig},
};
use toolyard_testkit::model::{ScriptedModel, ScriptedReply};

use super::{ECHO_ALIAS, Reading, asks, chunks, of, one, reason, script, with, with_model, words};
use crate::platform::Platform;

#[tokio::test]
async fn without_a_model_the_error_says_what_to_do() {
    let p = Platform::start().await;
    let text = p.user("ada").post("/api/chat", &asks("hi")).await.expect(503).text;
    assert!(text.contains("chat.model") || text.contains("[models") || text.contains("API_KEY"), "{text}");
    assert_eq!(p.user("ada").get("/v1/models").await.expect(200).json()["data"], json!([]));
}

#[tokio::test]
async fn a_model_may_be_chosen_by_name() {
    let (p, model) = with_model(|_| {}).await;
    model.set_default_reply(ScriptedReply::text("ok"));
    let answer = p
        .user("ada")
        .post("/api/chat", &with(asks("x"), json!({ "model": "local/other" })))
        .await
        .expect(200);
    assert_eq!(
        (answer.header("x-toolyard-model"), &model.requests()[0].body["model"]),
        ("local/other", &json!("other"))
    );
    for name in ["nowhere/model", "no name", "a/b/c\n"] {
        let told = p
            .user("ada")
            .post("/api/chat", &with(asks("x"), json!({ "model": name })))
            .await
            .expect(400)
            .text;
        assert!(told.contains("model"), "{told}");
    }
    let p = p.restart_with(|config| config.chat.callers_choose_model = false).await;
    p.user("ada").post("/api/chat", &with(asks("x"), json!({ "model": "local/other" }))).await.expect(400);
    chunks(&p.user("ada"), with(asks("x"), json!({ "model": "" }))).await;
}

#[tokio::test]
async fn system_texts_of_callers_can_be_refused() {
    let (p, model) = with_model(|config| config.chat.callers_set_system = false).await;
    model.set_default_reply(ScriptedReply::text("ok"));
    for more in [json!({ "system": "x" }), json!({ "overrideSystemPrompt": "x" })] {
        p.user("ada").post("/api/chat", &with(asks("x"), more)).await.expect(400);
    }
    let body =
        json!({ "messages": [{ "role": "developer", "content": "x" }, { "role": "user", "content": "y" }] });
    p.user("ada").post("/v1/chat/completions", &body).await.expect(400);
    chunks(&p.user("ada"), asks("x")).await;
}

#[tokio::test]
async fn a_missing_key_variable_is_reported_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = toolyard_server::config::Config::default();
    config.server.listen = ([127, 0, 0, 1], 0).into();
    config.store.path = folder.path().join("toolyard.db");
    let place = ModelConfig {
        url: Some("http://127.0.0.1:1/v1".to_owned()),
        key_env: Some("NO_SUCH_KEY".to_owned()),
        ..ModelConfig::default()
    };
    config.models.insert("local".to_owned(), place);
    let failed = Server::start(config, toolyard_server::ServerDependencies::with_environment(&[]))
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(failed.contains("models.local") && failed.contains("NO_SUCH_KEY"), "{failed}");
}

#[tokio::test]
async fn the_key_goes_to_the_model_and_nowhere_else() {
    let model = ScriptedModel::start().await;
    model.set_default_reply(ScriptedReply::text("ok"));
    let url = format!("{}/v1", model.url());
    let p = Platform::with(|config| {
        let place = ModelConfig {
            url: Some(url),
            key_env: Some("UPSTREAM_KEY".to_owned()),
            ..ModelConfig::default()
        };
        config.models.insert("local".to_owned(), place);
        config.chat.model = Some("local/scripted".to_owned());
    })
    .await;
    let answer = p.user("ada").post("/api/chat", &asks("x")).await.expect(200);
    assert_eq!(model.requests()[0].headers["authorization"], "Bearer sesame");
    assert!(!format!("{answer:?}").contains("sesame"));
}

#[tokio::test]
async fn a_model_request_is_retried_until_the_first_output() {
    let (p, model) = with_model(|_| {}).await;
    script(&model, [ScriptedReply::error(503, json!({ "error": {} })), ScriptedReply::text("ok")]);
    let told = chunks(&p.user("ada"), asks("x")).await;
    assert_eq!((words(&told).as_str(), model.requests().len(), of(&told, "start-step").len()), ("ok", 2, 1));
}

#[tokio::test]
async fn a_model_request_is_not_retried_after_output() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    let well = || ScriptedReply::text("Well").and_hold();
    let answers = [
        well().and_cut(),
        well().and_error(json!({ "message": "overloaded" })),
        ScriptedReply::text("Well").and_call(ECHO_ALIAS, json!({ "text": "x" })).and_hold().and_cut(),
    ];
    for (place, answer) in answers.into_iter().enumerate() {
        script(&model, [answer]);
        let mut reading = Reading::begin(&p.user("ada"), asks("x")).await;
        reading.until("text-delta").await;
        model.release(1);
        let told = reading.all().await;
        assert_eq!((words(&told).as_str(), model.requests().len()), ("Well", place + 1));
        assert!(one(&told, "error")["errorText"].as_str().unwrap().len() > 10, "{told:?}");
        assert_eq!(told.last().unwrap()["type"], "error");
    }
    assert_eq!(app.requests("/tool").len(), 0, "a call of an answer that broke off is not run");
}

#[tokio::test]
async fn vendor_errors_are_texts_in_the_stream() {
    for (answer, why) in [
        (ScriptedReply::error(401, json!({ "error": { "message": "secret-key-123 is wrong" } })), "key"),
        (
            ScriptedReply::error(429, json!({ "error": {} })).with_header("retry-after", "25"),
            "local/scripted is rate limited; try again in 25 s.",
        ),
        (
            ScriptedReply::error(503, json!({ "error": {} })).with_header("retry-after", "90"),
            "try again in 90 s.",
        ),
        (ScriptedReply::error(404, json!({ "error": { "message": "model not found" } })), "scripted"),
    ] {
        let (p, model) = with_model(|_| {}).await;
        model.set_default_reply(answer);
        let told = chunks(&p.user("ada"), asks("x")).await;
        let text = one(&told, "error")["errorText"].as_str().unwrap();
        assert!(text.contains(why) && !text.contains("secret-key-123"), "{why}: {text}");
        assert_eq!(model.requests().len(), 1, "asking again does not help");
    }
}

#[tokio::test]
async fn content_filters_and_length_limits_are_finish_reasons() {
    let (p, model) = with_model(|_| {}).await;
    script(
        &model,
        [
            ScriptedReply::text("Once").with_stop_reason("length"),
            ScriptedReply::text("I").with_stop_reason("content_filter"),
        ],
    );
    assert_eq!(reason(&chunks(&p.user("ada"), asks("x")).await), "length");
    assert_eq!(reason(&chunks(&p.user("ada"), asks("x")).await), "content-filter");
}

#[tokio::test]
async fn a_small_model_is_asked_as_llama_cpps_server_and_its_tools_answer_is_the_answer() {
    let (p, model) = with_model(|config| {
        let tiny = ModelConfig { calling: Some(CallingMode::Small), ..config.models["local"].clone() };
        config.models.insert("tiny".to_owned(), tiny);
    })
    .await;
    let (app, _device) = p.echo().await;
    model.serve_path("/tokenize", json!({ "tokens": [1] }));
    let probabilities = [json!({ "logprob": -1.0 })];
    model.serve_path(
        "/completion",
        json!({ "content": r#"{"text":"hi"}"#, "stop_type": "eos", "completion_probabilities": probabilities }),
    );
    let asked = json!({ "model": "tiny/any", "messages": [{ "role": "user", "content": "say hi" }] });
    let talk = p.user("ada").post("/v1/chat/completions", &asked).await.expect(200).json();
    // All are equally likely, so no tool is chosen.
    assert_eq!(talk["choices"][0]["message"]["content"], r#"{"text":"hi"}"#);
    let must = with(asked, json!({ "tool_choice": "required" }));
    let answer = p.user("ada").post("/v1/chat/completions", &must).await.expect(200).json();
    assert_eq!(answer["choices"][0]["message"]["content"], "ok", "{answer}");
    assert_eq!(app.requests("/tool")[0].body["arguments"], json!({ "text": "hi" }));
    assert!(model.requests().is_empty(), "never asked as OpenAI's");
}
