//! Prompts and resources: what they answer, and everything that can be wrong with a request for one.

use std::sync::Arc;

use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolyard_app_sdk::{
    AppLimits, AppServerBuilder, MAX_REPLY_BYTES, NoArguments, PromptReply, PromptRole, ResourceReply,
    ToolContext, create_prompt, create_resource, create_resource_template,
};

use crate::{
    client::{ADA, json_of, post, request, send},
    fixture::{TestApp, builder, soon},
};

#[derive(Deserialize, JsonSchema)]
struct Plan {
    day: String,
    mood: Option<String>,
}

#[derive(Deserialize)]
struct One {
    id: Number,
}

/// The only values that the template variable accepts.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Number {
    One,
    Two,
}

async fn plan(plan: Plan, cx: ToolContext) -> Result<PromptReply, &'static str> {
    if plan.day == "never" {
        return Err("that day does not come");
    }
    let reply = PromptReply::new().user(format!("Plan {} for {}.", plan.day, cx.user()));
    Ok(reply.assistant(plan.mood.unwrap_or_default()).description("A plan"))
}

async fn one(one: One, _cx: ToolContext) -> Result<Option<&'static str>, &'static str> {
    Ok(match one.id {
        Number::One => Some("the first"),
        Number::Two => None,
    })
}

fn app() -> AppServerBuilder {
    let picture = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
    let picture = move |_: NoArguments, _| {
        let reply = PromptReply::new().content(PromptRole::User, picture.clone());
        async move { Ok::<_, &str>(reply) }
    };
    let broken = |_| async {
        if true {
            panic!("a secret of the app");
        }
        Ok::<_, &str>("")
    };
    let prompts = [
        create_prompt("plan", "Plans.", plan),
        create_prompt("plain", "", |_: NoArguments, _| async { Ok::<_, &str>("Go on.") }),
        create_prompt("picture", "", picture),
    ];
    let resources = [
        create_resource_template("todo://{id}", "One", one).mime_type("text/plain"),
        create_resource("todo://list", "List", |cx: ToolContext| async move {
            Ok::<_, &str>(cx.user().to_string())
        })
        .mime_type("text/plain"),
        create_resource("todo://json", "JSON", |_| async { Ok::<_, &str>(json!({ "n": 1 })) }),
        create_resource("todo://bytes", "Bytes", |_| async { Ok::<_, &str>(ResourceReply::bytes([0, 255])) })
            .mime_type("image/png"),
        create_resource("todo://broken", "Broken", broken),
        create_resource("todo://fails", "Fails", |_| async { Err::<&str, _>("the disk is full") }),
        create_resource("todo://large", "Large", |_| async { Ok::<_, &str>("x".repeat(MAX_REPLY_BYTES)) }),
    ];
    let app = prompts.into_iter().fold(builder(), |app, prompt| app.prompt(prompt.build().unwrap()));
    resources.into_iter().fold(app, |app, resource| app.resource(resource.build().unwrap()))
}

fn context() -> Value {
    json!({ "userId": ADA, "timestamp": "2026-01-02T03:04:05.678Z", "callId": "c-1" })
}

async fn get(app: &TestApp, name: &str, arguments: Value) -> (StatusCode, Value) {
    let ask = json!({ "name": name, "arguments": arguments, "context": context() });
    soon(post(&app.at("/prompt"), &ask)).await
}

async fn read(app: &TestApp, uri: &str) -> (StatusCode, Value) {
    soon(post(&app.at("/resource"), &json!({ "uri": uri, "context": context() }))).await
}

fn failed(code: &str, message: &str) -> Value {
    json!({ "success": false, "error": { "code": code, "message": message } })
}

#[tokio::test]
async fn prompts_give_messages() {
    let app = TestApp::start(app()).await;
    let text = |role: &str, text: &str| json!({ "role": role, "content": { "type": "text", "text": text } });
    let planned = json!({
        "description": "A plan",
        "messages": [text("user", "Plan monday for ada@example.com."), text("assistant", "calm")],
    });
    assert_eq!(
        get(&app, "plan", json!({ "day": "monday", "mood": "calm" })).await,
        (StatusCode::OK, planned)
    );
    let plain = json!({ "messages": [text("user", "Go on.")] });
    assert_eq!(get(&app, "plain", json!({})).await, (StatusCode::OK, plain));
    let (_, picture) = get(&app, "picture", json!({})).await;
    assert_eq!(picture["messages"][0]["content"]["type"], "image");
}

#[tokio::test]
async fn resources_give_contents() {
    let app = TestApp::start(app()).await;
    for (uri, mime_type, member, content) in [
        ("todo://list", "text/plain", "text", "ada@example.com"),
        ("todo://json", "application/json", "text", r#"{"n":1}"#),
        ("todo://bytes", "image/png", "blob", "AP8="),
        ("todo://one", "text/plain", "text", "the first"),
    ] {
        let expected = json!({ "contents": [{ "uri": uri, "mimeType": mime_type, member: content }] });
        assert_eq!(read(&app, uri).await, (StatusCode::OK, expected));
    }
}

#[tokio::test]
async fn failures_are_reported_and_the_app_continues() {
    let app = TestApp::start(app()).await;
    let (status, answer) = get(&app, "plan", json!({})).await;
    assert_eq!(
        (status, answer),
        (StatusCode::BAD_REQUEST, failed("INVALID_ARGUMENTS", "missing field `day`"))
    );
    let (status, answer) = get(&app, "plan", json!({ "day": "never" })).await;
    assert_eq!(
        (status, answer),
        (StatusCode::INTERNAL_SERVER_ERROR, failed("HANDLER_ERROR", "that day does not come"))
    );
    let missing = failed("NOT_FOUND", "this app has no prompt `fly`");
    assert_eq!(get(&app, "fly", json!({})).await, (StatusCode::NOT_FOUND, missing));

    let panicked = "the resource `todo://broken` failed unexpectedly; the log of the app says more";
    for (uri, status, code, message) in [
        ("todo://two", 404, "NOT_FOUND", "there is no resource todo://two"),
        ("todo://three", 404, "NOT_FOUND", "there is no resource todo://three"),
        ("todo://a/b", 404, "NOT_FOUND", "this app has no resource todo://a/b"),
        ("todo://broken", 500, "HANDLER_ERROR", panicked),
        ("todo://fails", 500, "HANDLER_ERROR", "the disk is full"),
    ] {
        let expected = (StatusCode::from_u16(status).unwrap(), failed(code, message));
        assert_eq!(read(&app, uri).await, expected);
    }
    let (status, answer) = read(&app, "todo://large").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        answer["error"]["message"].as_str().unwrap().ends_with("at most 1048576 may be sent"),
        "{answer}"
    );
    assert_eq!(read(&app, "todo://list").await.0, StatusCode::OK);
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let app = TestApp::start(app()).await;
    for (path, body) in [
        ("/prompt", json!({ "name": "plan", "arguments": {} })),
        ("/prompt", json!({ "name": "plan", "arguments": [], "context": context() })),
        ("/resource", json!({ "context": context() })),
        ("/resource", json!({ "uri": "todo://list", "context": { "userId": "" } })),
        ("/resource", json!([])),
    ] {
        let (status, answer) = post(&app.at(path), &body).await;
        assert_eq!(
            (status, &answer["error"]["code"]),
            (StatusCode::BAD_REQUEST, &json!("INVALID_REQUEST")),
            "{body}"
        );
    }
    let page = http::Request::post(app.at("/resource")).header("content-type", "text/plain");
    assert_eq!(json_of(send(page, "{}").await).await.0, StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

#[tokio::test]
async fn they_share_the_call_limit_and_are_cancelled_on_disconnect() {
    let (entered, gone) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let hold = {
        let (entered, gone) = (Arc::clone(&entered), Arc::clone(&gone));
        move |cx: ToolContext| {
            let (entered, gone) = (Arc::clone(&entered), Arc::clone(&gone));
            async move {
                entered.notify_one();
                cx.cancelled().await;
                gone.notify_one();
                Ok::<_, &str>("too late")
            }
        }
    };
    let limits = AppLimits { calls: 1, ..AppLimits::default() };
    let app = builder().limits(limits).resource(create_resource("a://hold", "Hold", hold).build().unwrap());
    let app = TestApp::start(app).await;
    let body = json!({ "uri": "a://hold", "context": context() });
    let first = send(request(&app.at("/resource")), body.to_string());
    let second = async {
        soon(entered.notified()).await;
        read(&app, "a://hold").await
    };
    tokio::select! {
        _ = first => panic!("it never answers"),
        (status, answer) = second => {
            assert_eq!((status, &answer["error"]["code"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("OVERLOADED")));
        }
    }
    // Dropped above: the handler is cancelled, and its permit is free again.
    soon(gone.notified()).await;
}
