//! Every limit of a chat, exceeded.

use serde_json::json;
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use super::{ECHO_ALIAS, asks, chunks, of, one, reason, results, says, script, with, with_model, words};

fn echo() -> ScriptedReply {
    ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" }))
}

#[tokio::test]
async fn the_last_step_gets_no_tools() {
    for (steps, asked, most) in [(3, None, 3), (3, Some(2), 2), (3, Some(99), 3), (3, Some(0), 1)] {
        let (p, model) = with_model(|config| config.chat.steps = steps).await;
        let (app, _device) = p.echo().await;
        model.set_default_reply(echo());
        let told = chunks(&p.user("ada"), with(asks("go"), json!({ "maxSteps": asked }))).await;
        let seen = model.requests();
        assert_eq!((seen.len(), app.requests("/tool").len()), (most, most - 1), "{asked:?}");
        assert_eq!(seen[most - 1].body["tool_choice"], "none");
        assert_eq!((reason(&told), &one(&told, "data-notice")["data"]["code"]), ("other", &json!("steps")));
    }
}

#[tokio::test]
async fn tokens_are_counted_over_all_steps() {
    let (p, model) = with_model(|config| config.chat.tokens = 100).await;
    let (_app, _device) = p.echo().await;
    model.set_default_reply(echo().with_usage(50, 10));
    let told = chunks(&p.user("ada"), asks("go")).await;
    assert_eq!((model.requests().len(), reason(&told)), (2, "other"));
    assert_eq!(one(&told, "data-notice")["data"]["code"], "tokens");
}

#[tokio::test]
async fn time_ends_a_silent_model_and_a_silent_tool() {
    for of_model in [true, false] {
        let (p, model) = with_model(|config| config.chat.time_s = 1).await;
        let (app, _device) = p.echo().await;
        app.set_behavior(AppBehavior::Hang);
        script(&model, [if of_model { ScriptedReply::text("Wait").and_hold() } else { echo() }]);
        let told = chunks(&p.user("ada"), asks("go")).await;
        assert_eq!((reason(&told), &one(&told, "data-notice")["data"]["code"]), ("other", &json!("time")));
        if of_model {
            model.wait_abandoned(1).await;
        } else {
            app.wait_cancelled(1).await;
            assert!(one(&told, "tool-output-error")["errorText"].as_str().unwrap().contains("time"));
        }
    }
}

#[tokio::test]
async fn continuations_are_counted_in_the_request_itself() {
    let (p, model) = with_model(|config| config.chat.max_continuations = 3).await;
    model.set_default_reply(ScriptedReply::text("ok"));
    let round = |id: &str| {
        json!({ "role": "assistant", "parts": [{ "type": "step-start" }, { "type": "tool-weather", "toolCallId": id,
            "state": "output-available", "input": {}, "output": 1 }] })
    };
    let fits = json!({ "messages": [says("go"), round("a"), round("b")] });
    chunks(&p.user("ada"), fits.clone()).await;
    let mut over = fits;
    over["messages"].as_array_mut().unwrap().push(round("c"));
    let told = p.user("ada").post("/api/chat", &over).await.expect(400).text;
    assert!(told.contains("asked 3 times") && told.contains("at most 3"), "{told}");
    // A message of the user resets the count.
    over["messages"].as_array_mut().unwrap().push(says("go on"));
    chunks(&p.user("ada"), over).await;
}

#[tokio::test]
async fn a_conversation_has_a_size_limit() {
    let (p, model) = with_model(|config| {
        config.server.body_bytes = 1_000;
        config.chat.body_bytes = 5_000;
    })
    .await;
    model.set_default_reply(ScriptedReply::text("ok"));
    chunks(&p.user("ada"), asks(&"x".repeat(4_000))).await;
    p.user("ada").post("/api/chat", &asks(&"x".repeat(5_000))).await.expect(413);
    p.user("ada").post("/v1/chat/completions", &json!({ "messages": "x".repeat(5_000) })).await.expect(413);
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_repeated_call_is_run_a_few_times_only() {
    let (p, model) = with_model(|config| (config.chat.steps, config.chat.repeats) = (6, 2)).await;
    let (app, _device) = p.echo().await;
    model.set_default_reply(echo());
    let told = chunks(&p.user("ada"), asks("go")).await;
    assert_eq!((app.requests("/tool").len(), model.requests().len()), (2, 6));
    let refused = of(&told, "tool-output-error")[0]["errorText"].as_str().unwrap();
    assert!(refused.contains("was called 2 times with these arguments"), "{refused}");
}

#[tokio::test]
async fn a_tool_that_fails_three_times_is_not_called_again() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Json(500, json!({ "error": "no" })));
    let call = |n: usize| ScriptedReply::call(ECHO_ALIAS, json!({ "text": n.to_string() }));
    script(&model, (0..4).map(call).chain([ScriptedReply::text("It does not work.")]));
    let told = chunks(&p.user("ada"), asks("go")).await;
    assert_eq!((app.requests("/tool").len(), words(&told).as_str()), (3, "It does not work."));
    let last = results(&model.requests()[4]).pop().unwrap();
    assert!(last.contains("failed 3 times"), "{last}");
}

#[tokio::test]
async fn calls_beyond_the_limit_of_one_step_are_refused() {
    let (p, model) = with_model(|config| config.chat.calls = 2).await;
    let (app, _device) = p.echo().await;
    let four = (0..4)
        .fold(ScriptedReply::new(), |all, n| all.and_call(ECHO_ALIAS, json!({ "text": n.to_string() })));
    script(&model, [four, ScriptedReply::text("ok")]);
    let told = chunks(&p.user("ada"), asks("go")).await;
    assert_eq!((app.requests("/tool").len(), of(&told, "tool-output-error").len()), (2, 2));
    assert!(results(&model.requests()[1]).iter().any(|text| text.contains("At most 2 calls at once")));
}

#[tokio::test]
async fn too_many_invalid_calls_end_the_use_of_tools() {
    let (p, model) = with_model(|config| config.chat.corrections = 1).await;
    script(
        &model,
        [
            ScriptedReply::call("a", json!({})),
            ScriptedReply::call("b", json!({})),
            ScriptedReply::text("I give up."),
        ],
    );
    let told = chunks(&p.user("ada"), asks("go")).await;
    assert_eq!((words(&told).as_str(), reason(&told)), ("I give up.", "stop"));
    assert_eq!(model.requests()[1].body.get("tool_choice"), None);
}
