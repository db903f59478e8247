//! Results of tools, for the user interface and for the model.

use serde_json::{Value, json};
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use super::{ECHO_ALIAS, asks, chunks, of, one, results, script, with_model, words};

/// What the user interface shows of an app's response, and what the model reads.
async fn after(act: AppBehavior) -> (Value, String) {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(act);
    script(&model, [ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" })), ScriptedReply::text("ok")]);
    let told = chunks(&p.user("ada"), asks("go")).await;
    assert_eq!(words(&told), "ok", "the model goes on whatever happened");
    let ends: Vec<_> =
        told.iter().filter(|c| c["type"].as_str().unwrap().starts_with("tool-output-")).collect();
    assert_eq!(ends.len(), 1);
    let shown = ends[0].get("output").or(ends[0].get("errorText")).unwrap().clone();
    (shown, results(&model.requests()[1])[0].clone())
}

#[tokio::test]
async fn a_text_stays_a_text() {
    assert_eq!(
        after(AppBehavior::content(json!("it's \"ok\"\n"))).await,
        (json!("it's \"ok\"\n"), "it's \"ok\"\n".to_owned())
    );
}

#[tokio::test]
async fn two_texts_are_one() {
    let texts = json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]);
    assert_eq!(after(AppBehavior::content(texts)).await, (json!("a\nb"), "a\nb".to_owned()));
}

#[tokio::test]
async fn what_is_structured_stays_structured() {
    let made = json!({ "items": [1, 2.50], "done": false });
    assert_eq!(after(AppBehavior::content(made.clone())).await, (made.clone(), made.to_string()));
}

#[tokio::test]
async fn of_text_and_structure_the_screen_shows_the_text_unless_it_only_repeats() {
    // The client sends back what it shows, and that is all that the model gets in the next request.
    let both = |text: &str| json!({ "success": true, "content": text, "structuredContent": { "n": 2 } });
    assert_eq!(
        after(AppBehavior::Json(200, both("two things"))).await,
        (json!("two things"), "two things".to_owned())
    );
    assert_eq!(
        after(AppBehavior::Json(200, both("{\"n\":2}"))).await,
        (json!({ "n": 2 }), "{\"n\":2}".to_owned())
    );
}

#[tokio::test]
async fn an_image_comes_whole_to_the_screen_and_as_a_word_to_the_model() {
    // The word "text" inside of a block does not make it one.
    let image =
        json!({ "type": "image", "data": "AAAA", "mimeType": "image/png", "annotations": { "text": "alt" } });
    let blocks = json!([{ "type": "text", "text": "here" }, image]);
    assert_eq!(
        after(AppBehavior::content(blocks.clone())).await,
        (blocks, "here\n[image of type image/png]".to_owned())
    );
}

#[tokio::test]
async fn a_resource_with_text_inside_is_not_lost() {
    let resource = json!({ "type": "resource", "resource": { "uri": "note:1", "text": "inside" } });
    let blocks = json!([{ "type": "text", "text": "see" }, resource]);
    assert_eq!(after(AppBehavior::content(blocks.clone())).await, (blocks, "see\ninside".to_owned()));
}

#[tokio::test]
async fn an_empty_result_is_reported_as_done() {
    let (shown, read) = after(AppBehavior::Json(200, json!({ "success": true }))).await;
    assert_eq!((shown, read.as_str()), (json!([]), "Done."));
}

#[tokio::test]
async fn failures_of_the_app_are_texts_for_user_and_model() {
    for (act, why) in [
        (
            AppBehavior::Json(
                200,
                json!({ "success": false, "error": { "code": "X", "message": "no ink" } }),
            ),
            "no ink",
        ),
        (AppBehavior::Json(500, json!({ "error": "a stack trace" })), "HTTP status 500"),
        (AppBehavior::Text(200, "text/html", "<h1>hi</h1>".to_owned()), "not a tool result"),
        (AppBehavior::Cut, "closed the connection before it responded"),
        (AppBehavior::Json(200, json!({ "status": "success", "reply": null })), "does not know"),
    ] {
        let (shown, read) = after(act).await;
        assert_eq!(shown, read.as_str());
        assert!(read.contains(why), "{why}: {read}");
    }
}

#[tokio::test]
async fn a_result_that_says_it_is_an_error_is_one() {
    let failed = json!({ "content": [{ "type": "text", "text": "out of tea" }], "isError": true });
    assert_eq!(after(AppBehavior::Json(200, failed)).await, (json!("out of tea"), "out of tea".to_owned()));
}

#[tokio::test]
async fn an_unreachable_app_is_reported_and_the_turn_continues() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    drop(app);
    script(
        &model,
        [ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" })), ScriptedReply::text("It is away.")],
    );
    let told = chunks(&p.user("ada"), asks("go")).await;
    assert!(one(&told, "tool-output-error")["errorText"].as_str().unwrap().len() > 10);
    assert_eq!((words(&told).as_str(), of(&told, "error").len()), ("It is away.", 0));
}
