//! Requests for prompts and resources that an app does not know, refuses, or answers incorrectly.

use serde_json::json;
use toolyard_testkit::AppBehavior;

use super::{PLANNER, both, planner};
use crate::platform::{Answer, Platform};

const LIST: &str = "todo://com.example.planner/list";
/// Largest response of an app.
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;

async fn read(p: &Platform) -> [Answer; 2] {
    both(p, "resources/read", json!({ "uri": LIST })).await
}

async fn get(p: &Platform) -> [Answer; 2] {
    both(p, "prompts/get", json!({ "name": "com.example.planner:plan_day" })).await
}

fn error(code: &str) -> serde_json::Value {
    json!({ "success": false, "error": { "code": code, "message": "no milk" } })
}

#[tokio::test]
async fn an_item_unknown_to_the_app_is_not_found() {
    let p = Platform::start().await;
    let (app, _) = planner(&p, json!({})).await;
    for act in [
        AppBehavior::Text(404, "text/html", "<h1>not here</h1>".to_owned()),
        AppBehavior::Json(404, json!({})),
        AppBehavior::Json(404, error("NOT_FOUND")),
        AppBehavior::Json(200, error("NOT_FOUND")),
        AppBehavior::Json(200, error("TOOL_NOT_FOUND")),
    ] {
        app.set_behavior(act.clone());
        let [modern, legacy] = read(&p).await;
        assert_eq!((modern.refusal(), legacy.refusal()), ((200, -32602), (200, -32002)), "{act:?}");
        assert_eq!(modern.json()["error"]["data"], json!({ "uri": LIST }), "{act:?}");
        for answer in get(&p).await {
            assert_eq!(answer.refusal(), (200, -32602), "{act:?}");
            assert!(answer.text.contains("Unknown prompt: com.example.planner:plan_day"), "{}", answer.text);
        }
    }
}

#[tokio::test]
async fn every_other_failure_has_its_error_code() {
    let p = Platform::start().await;
    let (app, _) = planner(&p, json!({})).await;
    let text = "x".repeat(MAX_RESPONSE_BYTES);
    let large = json!({ "contents": [{ "uri": "todo://list", "text": text }], "messages": [] });
    for (act, code, retryable, word) in [
        (AppBehavior::Json(500, error("X")), "EXECUTION_ERROR", false, "no milk"),
        (AppBehavior::Json(200, error("X")), "EXECUTION_ERROR", false, "no milk"),
        (AppBehavior::Json(200, error("HANDLER_ERROR")), "HANDLER_ERROR", false, "no milk"),
        (
            AppBehavior::Json(200, json!({ "status": "error", "message": "no milk" })),
            "EXECUTION_ERROR",
            false,
            "no milk",
        ),
        (AppBehavior::Text(500, "text/html", "<h1>".to_owned()), "HTTP_ERROR", true, "status 500"),
        (AppBehavior::Text(403, "text/html", "<h1>".to_owned()), "HTTP_ERROR", false, "status 403"),
        (AppBehavior::Text(200, "text/html", "<h1>".to_owned()), "INVALID_RESPONSE", false, "expected"),
        (AppBehavior::Json(200, json!({})), "INVALID_RESPONSE", false, "expected"),
        (AppBehavior::Json(200, json!([])), "INVALID_RESPONSE", false, "expected"),
        (
            AppBehavior::Json(
                200,
                json!({ "contents": [{ "uri": "todo://list" }], "messages": [{ "role": "user" }] }),
            ),
            "INVALID_RESPONSE",
            false,
            "expected",
        ),
        (AppBehavior::Json(200, large), "INVALID_RESPONSE", false, "larger than"),
        (AppBehavior::Cut, "INVALID_RESPONSE", false, "closed the connection"),
    ] {
        app.set_behavior(act);
        for answer in read(&p).await.into_iter().chain(get(&p).await) {
            assert_eq!(answer.refusal(), (200, -32603), "{}", answer.text);
            let error = answer.json()["error"].clone();
            assert_eq!(error["data"], json!({ "code": code, "retryable": retryable }), "{error}");
            assert!(error["message"].as_str().unwrap().contains(word), "{word}: {error}");
        }
    }
}

#[tokio::test]
async fn arguments_refused_by_the_app_are_invalid_params() {
    let p = Platform::start().await;
    let (app, _) = planner(&p, json!({})).await;
    app.set_behavior(AppBehavior::Json(400, error("INVALID_ARGUMENTS")));
    for answer in get(&p).await {
        assert_eq!(answer.refusal(), (200, -32602), "{}", answer.text);
        assert_eq!(answer.json()["error"]["message"], "no milk");
    }
    let before = app.requests("/prompt").len();
    let list = json!({ "name": "com.example.planner:plan_day", "arguments": [1] });
    for answer in both(&p, "prompts/get", list).await {
        assert_eq!(answer.refusal(), (200, -32602), "{}", answer.text);
    }
    assert_eq!(app.requests("/prompt").len(), before);
}

#[tokio::test]
async fn an_unreachable_or_silent_app_is_reported() {
    let p = Platform::start().await;
    let (app, _) = planner(&p, json!({ "callTimeoutMs": 100 })).await;
    let codes = async || {
        let answers = read(&p).await.into_iter().chain(get(&p).await);
        answers
            .map(|answer| answer.json()["error"]["data"]["code"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    app.set_behavior(AppBehavior::Hang);
    assert_eq!(codes().await, ["TIMEOUT"; 4]);
    app.wait_cancelled(4).await;
    drop(app);
    let path = format!("/api/apps/{PLANNER}");
    p.nobody().patch(&path, &json!({ "publicUrl": "http://127.0.0.1:1" })).await.expect(200);
    assert_eq!(codes().await, ["NETWORK_ERROR"; 4]);
    p.nobody().patch(&path, &json!({ "publicUrl": null })).await.expect(200);
    assert_eq!(codes().await, ["APP_NOT_AVAILABLE"; 4]);
}

#[tokio::test]
async fn an_app_without_resources_is_not_asked_for_any() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let uri = json!({ "uri": "todo://com.example.echo/list" });
    assert_eq!(p.user("ada").modern("resources/read", uri).await.refusal(), (200, -32602));
    assert!(app.requests("/resource").is_empty());
}

#[tokio::test]
async fn a_client_over_the_rate_limit_is_told_so_and_not_of_an_internal_error() {
    let p = Platform::with(|config| (config.rates.user_per_s, config.rates.user_burst) = (1, 1)).await;
    let (app, _) = planner(&p, json!({})).await;
    app.set_behavior(super::contents("todo://list"));
    let ask = async || p.user("ada").modern("resources/read", json!({ "uri": LIST })).await;
    ask().await.result();
    let refused = ask().await;
    assert_eq!(refused.refusal(), (200, -32600), "{}", refused.text);
    assert_eq!(refused.json()["error"]["data"]["code"], "RATE_LIMITED", "{}", refused.text);
}
