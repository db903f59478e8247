//! Failed calls: which are protocol errors, and which are results for the model.

use serde_json::{Value, json};
use toolyard_testkit::AppBehavior;

use super::client::{Ask, LEGACY};
use crate::platform::{ECHO, Platform, echo_tool};

const ALIAS: &str = "com_example_echo__echo";

/// The error result of a call, the same in both eras: code, retryable, and text.
async fn told(p: &Platform, arguments: Value) -> (String, bool, String) {
    let session = p.user("ada").handshake(LEGACY).await;
    let params = json!({ "name": ALIAS, "arguments": arguments });
    let legacy = session.ask("tools/call", params).await.result();
    assert!(legacy.get("resultType").is_none());
    read(&legacy);
    let modern = p.user("ada").run(ALIAS, arguments).await;
    assert_eq!(modern["resultType"], "complete");
    read(&modern)
}

fn read(result: &Value) -> (String, bool, String) {
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.get("structuredContent").is_none(), "{result}");
    let error = &result["_meta"]["toolyard/error"];
    let blocks = result["content"].as_array().unwrap();
    assert_eq!((blocks.len(), &blocks[0]["type"]), (1, &json!("text")));
    let words = blocks[0]["text"].as_str().unwrap().to_owned();
    (error["code"].as_str().unwrap().to_owned(), error["retryable"].as_bool().unwrap(), words)
}

#[tokio::test]
async fn unknown_tools_and_malformed_calls_are_errors_of_the_protocol() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    p.nobody()
        .post("/api/apps", &json!({ "packageName": "com.other", "tools": [echo_tool()] }))
        .await
        .expect(201);
    let session = p.user("ada").handshake(LEGACY).await;
    let named = |name: Value| json!({ "name": name, "arguments": { "text": "x" } });
    let long = "x".repeat(5_000);
    for params in [
        json!({}),
        named(json!(null)),
        named(json!(5)),
        named(json!("")),
        named(json!("no such")),
        named(json!("echo")),
        named(json!("com_example_echo__nothing")),
        named(json!("com.example.echo:nothing")),
        named(json!("com.other:echo")),
        named(json!("com_other__echo")),
        named(json!(long)),
        json!({ "name": ALIAS, "arguments": { "text": "x" }, "requestState": "forged" }),
        json!({ "name": ALIAS, "arguments": { "text": "x" }, "requestState": 5 }),
        json!({ "name": ALIAS, "arguments": { "text": "x" }, "inputResponses": [] }),
    ] {
        for answer in [
            p.user("ada").modern("tools/call", params.clone()).await,
            session.ask("tools/call", params.clone()).await,
        ] {
            assert_eq!(answer.refusal(), (200, -32602), "{params}: {}", answer.text);
            assert_eq!(answer.json()["id"], 1);
        }
    }
    assert!(app.requests("/tool").is_empty());
}

#[tokio::test]
async fn a_disabled_tool_is_unknown() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let off = json!({ "enabled": false });
    p.user("ada").put(&format!("/api/settings/tools/{ECHO}:echo"), &off).await.expect(204);
    let answer = p.user("ada").ask(Ask::call(ALIAS, json!({ "text": "x" }))).await;
    assert_eq!(answer.refusal(), (200, -32602));
}

#[tokio::test]
async fn invalid_arguments_are_reported_to_the_model() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    for (arguments, words) in [
        (json!({}), "text: missing"),
        (json!({ "text": 5 }), "text: expected"),
        (json!([]), "object"),
        (json!("x"), "object"),
    ] {
        let (code, retryable, said) = told(&p, arguments.clone()).await;
        assert_eq!((code.as_str(), retryable), ("INVALID_ARGUMENTS", false), "{arguments}");
        assert!(said.contains(words), "{words} in {said}");
    }
    assert!(app.requests("/tool").is_empty());
}

#[tokio::test]
async fn failures_of_an_app_are_reported_to_the_model() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    for (act, code, words) in [
        (
            AppBehavior::Json(500, json!({ "status": "error", "message": "no milk" })),
            "EXECUTION_ERROR",
            "no milk",
        ),
        (
            AppBehavior::Json(
                200,
                json!({ "success": false, "error": { "code": "HANDLER_ERROR", "message": "broke" } }),
            ),
            "HANDLER_ERROR",
            "broke",
        ),
        (
            AppBehavior::Json(200, json!({ "status": "success", "reply": null })),
            "TOOL_NOT_HANDLED",
            "does not know",
        ),
        (AppBehavior::Text(500, "text/html", "<pre>".into()), "HTTP_ERROR", "500"),
        (AppBehavior::Text(200, "text/html", "<pre>".into()), "INVALID_RESPONSE", "not a tool result"),
        (AppBehavior::Cut, "INVALID_RESPONSE", "closed the connection"),
    ] {
        app.set_behavior(act.clone());
        let (told, retryable, said) = told(&p, json!({ "text": "x" })).await;
        assert_eq!((told.as_str(), retryable), (code, false), "{act:?}");
        assert!(said.contains(words), "{words} in {said}");
    }
    drop(app);
    let (code, retryable, _) = told(&p, json!({ "text": "x" })).await;
    assert_eq!((code.as_str(), retryable), ("NETWORK_ERROR", true));
}

#[tokio::test]
async fn an_error_result_is_passed_unchanged() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let failed = json!({ "content": [{ "type": "text", "text": "no milk" }], "isError": true, "x": 1 });
    app.set_behavior(AppBehavior::Json(200, failed.clone()));
    let mut result = p.user("ada").run(ALIAS, json!({ "text": "x" })).await;
    assert_eq!(result.as_object_mut().unwrap().remove("resultType"), Some(json!("complete")));
    assert_eq!(result, failed);
}

#[tokio::test]
async fn denied_calls_are_reported_to_the_model() {
    let p = Platform::with(|config| config.policy.deny = vec![format!("{ECHO}:*")]).await;
    let (app, _device) = p.echo().await;
    let (code, retryable, said) = told(&p, json!({ "text": "x" })).await;
    assert_eq!((code.as_str(), retryable), ("DENIED", false));
    assert!(said.contains("com.example.echo:echo"), "{said}");
    assert!(app.requests("/tool").is_empty());
}

#[tokio::test]
async fn timeouts_and_rate_limits_are_reported_to_the_model() {
    let p = Platform::with(|config| config.calls.timeout_ms = 50).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    let (code, retryable, said) = told(&p, json!({ "text": "x" })).await;
    assert_eq!((code.as_str(), retryable), ("TIMEOUT", false), "{said}");
    app.wait_cancelled(2).await;

    let p = Platform::with(|config| (config.rates.user_per_s, config.rates.user_burst) = (1, 1)).await;
    let (_app, _device) = p.echo().await;
    p.user("ada").run(ALIAS, json!({ "text": "x" })).await;
    let (code, retryable, said) = told(&p, json!({ "text": "x" })).await;
    assert_eq!((code.as_str(), retryable), ("RATE_LIMITED", true));
    assert!(said.contains("try again in"), "{said}");

    let p = Platform::with(|config| config.calls.in_flight_per_user = 0).await;
    let (_app, _device) = p.echo().await;
    let (code, retryable, _) = told(&p, json!({ "text": "x" })).await;
    assert_eq!((code.as_str(), retryable), ("OVERLOADED", true));
}

#[tokio::test]
async fn a_result_that_violates_its_schema_is_reported_to_the_model() {
    let p = Platform::start().await;
    let mut tool = echo_tool();
    tool["outputSchema"] =
        json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } });
    let (app, _device) = p.echo_like(json!({ "tools": [tool] })).await;
    app.set_behavior(AppBehavior::content(json!({ "n": 1 })));
    let result = p.user("ada").run(ALIAS, json!({ "text": "x" })).await;
    assert_eq!(result["structuredContent"], json!({ "n": 1 }));
    for wrong in [json!({ "n": "one" }), json!({}), json!("text")] {
        app.set_behavior(AppBehavior::content(wrong.clone()));
        let (code, _, said) = told(&p, json!({ "text": "x" })).await;
        assert_eq!(code, "INVALID_RESPONSE", "{wrong}: {said}");
    }
}
