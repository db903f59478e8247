//! A whole turn as a UI message stream.

use serde_json::json;
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use super::{
    ECHO_ALIAS, Reading, asks, chunks, kinds, of, offered, one, reason, results, says, script, with,
    with_model, words,
};
use crate::platform::ECHO;

#[tokio::test]
async fn a_turn_with_text_and_a_server_tool() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo_like(json!({ "iconUrl": "https://example.com/echo.png" })).await;
    app.set_behavior(AppBehavior::Json(200, json!({ "success": true, "content": "hello" })));
    script(
        &model,
        [
            ScriptedReply::call("com_example_echo__echo", json!({ "text": "hi" })),
            ScriptedReply::text("It said hello."),
        ],
    );
    let told = chunks(&p.user("ada"), json!({ "messages": [says("echo hi")] })).await;
    assert_eq!(
        kinds(&told),
        [
            "start",
            "start-step",
            "tool-input-start",
            "tool-input-delta",
            "tool-input-delta",
            "tool-input-available",
            "data-tool",
            "tool-output-available",
            "finish-step",
            "start-step",
            "text-start",
            "text-delta",
            "text-end",
            "finish-step",
            "finish"
        ],
        "{told:#?}"
    );
    let output = told.iter().find(|chunk| chunk["type"] == "tool-output-available").unwrap();
    assert_eq!((&output["output"], &output["providerExecuted"]), (&json!("hello"), &json!(true)));
    let about = told.iter().find(|chunk| chunk["type"] == "data-tool").unwrap();
    assert_eq!(
        (&about["data"]["app"], &about["data"]["name"], &about["data"]["icon"]),
        (&json!("Echo"), &json!(format!("{ECHO}:echo")), &json!("https://example.com/echo.png"))
    );
    assert_eq!(told.last().unwrap()["finishReason"], "stop");
}

#[tokio::test]
async fn text_alone_is_one_step_with_a_generated_id() {
    let (p, model) = with_model(|_| {}).await;
    script(&model, [ScriptedReply::pieces(["Hel", "lo", "\n\n", "data: x"])]);
    let told =
        chunks(&p.user("ada"), with(asks("hi"), json!({ "id": "c1", "trigger": "submit-message" }))).await;
    let delta = "text-delta";
    assert_eq!(
        kinds(&told),
        [
            "start",
            "start-step",
            "text-start",
            delta,
            delta,
            delta,
            delta,
            "text-end",
            "finish-step",
            "finish"
        ]
    );
    assert_eq!((words(&told).as_str(), reason(&told)), ("Hello\n\ndata: x", "stop"));
    assert!(told[0]["messageId"].as_str().unwrap().starts_with("msg_"));
}

#[tokio::test]
async fn reasoning_and_text_are_separate_and_each_is_closed() {
    let (p, model) = with_model(|_| {}).await;
    let (_app, _device) = p.echo().await;
    let thinks = ScriptedReply::new()
        .and_reasoning("hm")
        .and_reasoning(" so")
        .and_text("Well.")
        .and_reasoning("again");
    script(
        &model,
        [
            thinks.and_call(ECHO_ALIAS, json!({ "text": "x" })),
            ScriptedReply::new().and_reasoning("ah").and_text("Done."),
        ],
    );
    let told = chunks(&p.user("ada"), asks("think")).await;
    let thoughts: String =
        of(&told, "reasoning-delta").iter().map(|chunk| chunk["delta"].as_str().unwrap()).collect();
    assert_eq!((thoughts.as_str(), words(&told).as_str()), ("hm soagainah", "Well.Done."));
    assert_eq!(of(&told, "reasoning-start").len(), 3);
}

#[tokio::test]
async fn calls_of_one_step_run_concurrently_and_each_has_an_end() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    let line = json!({ "type": "result", "success": true, "content": "done" });
    app.set_behavior(AppBehavior::Lines(vec![line]));
    let call = |answer: ScriptedReply, text: &str| answer.and_call(ECHO_ALIAS, json!({ "text": text }));
    script(
        &model,
        [
            ["b", "c"].iter().fold(call(ScriptedReply::new(), "a"), |all, one| call(all, one)),
            ScriptedReply::text("ok"),
        ],
    );
    let reading = Reading::begin(&p.user("ada"), asks("three times")).await;
    // All three have started before the first has a result.
    app.wait_requests("/tool", 3).await;
    for _ in 0..3 {
        app.let_line_through();
    }
    let told = reading.all().await;
    assert_eq!((of(&told, "tool-output-available").len(), of(&told, "start-step").len()), (3, 2));
    assert_eq!(results(&model.requests()[1]), ["done", "done", "done"]);
    let asked: Vec<_> = model.requests()[1].body["messages"][2]["tool_calls"].as_array().unwrap().clone();
    let answered = &model.requests()[1].body["messages"];
    let ids: std::collections::BTreeSet<_> = asked.iter().map(|call| call["id"].to_string()).collect();
    let answers: std::collections::BTreeSet<_> =
        (3..6).map(|place| answered[place]["tool_call_id"].to_string()).collect();
    assert_eq!((ids.len(), &ids), (3, &answers), "each answer belongs to a call");
}

#[tokio::test]
async fn progress_of_an_app_is_streamed() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "progress", "progress": 1, "total": 4, "message": "a quarter" }),
        json!({ "type": "progress", "progress": 4, "total": 4 }),
        json!({ "type": "result", "success": true, "content": "done" }),
    ]));
    script(&model, [ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" })), ScriptedReply::text("ok")]);
    let mut reading = Reading::begin(&p.user("ada"), asks("go")).await;
    app.let_line_through();
    let told = reading.until("data-progress").await;
    let call = told["data"]["toolCallId"].clone();
    let data = json!({ "toolCallId": call, "progress": 1.0, "total": 4.0, "message": "a quarter" });
    assert_eq!(told, json!({ "type": "data-progress", "transient": true, "data": data }));
    app.let_line_through();
    app.let_line_through();
    let told = reading.all().await;
    assert_eq!(of(&told, "data-progress").len(), 2);
    assert_eq!(one(&told, "tool-output-available")["toolCallId"], call);
}

#[tokio::test]
async fn arguments_that_do_not_fit_go_back_to_the_model() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    script(
        &model,
        [
            ScriptedReply::call(ECHO_ALIAS, json!({ "text": 5 })),
            ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" })),
            ScriptedReply::text("ok"),
        ],
    );
    let told = chunks(&p.user("ada"), asks("go")).await;
    let wrong = one(&told, "tool-output-error")["errorText"].as_str().unwrap();
    assert!(wrong.contains("text"), "{wrong}");
    assert_eq!((results(&model.requests()[1])[0].as_str(), app.requests("/tool").len()), (wrong, 1));
    assert_eq!((words(&told).as_str(), of(&told, "start-step").len()), ("ok", 3));
}

#[tokio::test]
async fn a_call_with_invalid_json_has_an_end_in_the_stream() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    script(
        &model,
        [
            ScriptedReply::new().and_call_in_pieces(ECHO_ALIAS, ["{\"text\": ", "oops"]),
            ScriptedReply::text("Sorry."),
        ],
    );
    let told = chunks(&p.user("ada"), asks("go")).await;
    let wrong = one(&told, "tool-output-error")["errorText"].as_str().unwrap();
    assert!(wrong.contains("not JSON"), "{wrong}");
    assert_eq!((results(&model.requests()[1])[0].as_str(), app.requests("/tool").len()), (wrong, 0));
}

#[tokio::test]
async fn a_call_of_an_unknown_tool_is_not_sent_to_the_client() {
    let (p, model) = with_model(|_| {}).await;
    script(&model, [ScriptedReply::call("rm_rf", json!({})), ScriptedReply::text("There is none.")]);
    let told = chunks(&p.user("ada"), asks("go")).await;
    assert_eq!(one(&told, "tool-input-available")["providerExecuted"], true);
    assert!(one(&told, "tool-output-error")["errorText"].as_str().unwrap().contains("no tool rm_rf"));
    assert!(of(&told, "data-tool").is_empty());
    assert_eq!(offered(&model.requests()[0]), Vec::<String>::new());
}

#[tokio::test]
async fn the_conversation_goes_to_the_model_as_it_was() {
    let (p, model) = with_model(|config| "Be kind.".clone_into(&mut config.chat.system)).await;
    script(&model, [ScriptedReply::text("ok")]);
    let image = json!({ "type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA" });
    let body = json!({ "system": "Be brief.", "messages": [
        { "role": "system", "content": "It is 1999." }, says("first"),
        { "id": "a1", "role": "assistant", "parts": [{ "type": "reasoning", "text": "secret" }, { "type": "text", "text": "one" }] },
        { "id": "m2", "role": "user", "parts": [{ "type": "text", "text": "look" }, image] }] });
    chunks(&p.user("ada"), body).await;
    assert_eq!(
        model.requests()[0].body["messages"],
        json!([{ "role": "system", "content": "Be kind.\n\nBe brief.\n\nIt is 1999." },
            { "role": "user", "content": "first" }, { "role": "assistant", "content": "one" },
            { "role": "user", "content": [{ "type": "text", "text": "look" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }] }])
    );
}

#[tokio::test]
async fn an_invalid_request_is_reported_and_no_model_is_asked() {
    let (p, model) = with_model(|_| {}).await;
    let ada = p.user("ada");
    for (body, why) in [
        (json!({}), "messages: missing or empty"),
        (json!({ "messages": [{ "role": "robot", "content": "x" }] }), "messages[0].role"),
        (json!({ "messages": [{ "role": "user", "content": "" }] }), "nothing that a model could answer"),
        (with(asks("x"), json!({ "selectedToolCategories": ["games"] })), "`games` is not a category"),
        (with(asks("x"), json!({ "resumable": true })), "id: a resumable chat needs one"),
    ] {
        let text = ada.post("/api/chat", &body).await.expect(400).text;
        assert!(text.contains(why), "{why}: {text}");
    }
    let text = ada.post("/api/chat?protocol=telegraph", &asks("x")).await.expect(400).text;
    assert!(text.contains("expected `ui` or `v1`"), "{text}");
    ada.clone().header("content-type", "text/plain").post("/api/chat", &asks("x")).await.expect(400);
    ada.send(http::Method::POST, "/api/chat", Some("{".to_owned())).await.expect(400);
    assert!(model.requests().is_empty());
}
