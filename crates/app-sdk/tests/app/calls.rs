//! Tool calls: every kind of tool, and everything that can be wrong with a call.

use std::sync::Arc;

use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use toolyard_app_sdk::{
    AppLimits, AppServerBuilder, FallbackCall, GIVE_APP_CONTROL_OF_TOOL_RESPONSE, Json, MAX_BODY_BYTES,
    MAX_REPLY_BYTES, NoArguments, ToolContext, ToolReply, create_dynamic_tool, create_tool,
};

use crate::{
    client::{call, json_of, post, request, send},
    fixture::{TestApp, builder, soon},
};

#[derive(Deserialize, JsonSchema)]
struct Pair {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

async fn add(pair: Pair, _cx: ToolContext) -> Result<Json<Sum>, &'static str> {
    Ok(Json(Sum { sum: pair.a.checked_add(pair.b).ok_or("the sum is too large")? }))
}

fn failed(code: &str, message: &str) -> Value {
    json!({ "success": false, "error": { "code": code, "message": message } })
}

/// An app with one tool of each kind.
fn app() -> AppServerBuilder {
    let twice = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let tools = [
        create_tool("add", "Adds two numbers.", add),
        create_dynamic_tool("twice", "Doubles.", twice, |args: Map<String, Value>, _cx| async move {
            let n = args.get("n").and_then(Value::as_i64).ok_or("`n` is missing")?;
            Ok::<_, &str>((2 * n).to_string())
        }),
        create_tool("rich", "", |_: NoArguments, _| async {
            let reply = ToolReply::structured(json!({ "n": 1 })).with_text("one").follow_up("and two?");
            Ok::<_, &str>(reply.suppress_voice_response())
        }),
        create_tool("cannot", "", |_: NoArguments, _| async {
            Ok::<_, &str>(ToolReply::failed("no such todo"))
        }),
        create_tool("quiet", "", |_: NoArguments, _| async { Ok::<_, &str>(()) }),
        create_tool("panic", "", |_: NoArguments, _| async {
            if true {
                panic!("a secret of the app");
            }
            Ok::<_, &str>(())
        }),
        create_tool("large", "", |_: NoArguments, _| async { Ok::<_, &str>("x".repeat(MAX_REPLY_BYTES)) }),
    ];
    tools.into_iter().fold(builder(), |app, tool| app.register_tool(tool.build().unwrap()))
}

#[tokio::test]
async fn tools_of_every_kind_answer() {
    let app = TestApp::start(app()).await;
    for (tool, arguments, answer) in [
        ("add", json!({ "a": 1, "b": 2 }), json!({ "success": true, "structuredContent": { "sum": 3 } })),
        ("twice", json!({ "n": 4 }), json!({ "success": true, "content": "8" })),
        (
            "rich",
            json!({}),
            json!({
                "success": true, "content": "one", "structuredContent": { "n": 1 },
                "mentraExtensions": { "suppressVoiceResponse": true, "suggestedFollowUps": ["and two?"] },
            }),
        ),
        ("cannot", json!({}), failed("EXECUTION_ERROR", "no such todo")),
        ("quiet", json!({}), json!({ "success": true })),
    ] {
        assert_eq!(app.call(tool, arguments).await, (StatusCode::OK, answer), "{tool}");
    }
}

#[tokio::test]
async fn the_call_of_an_older_platform_is_understood() {
    let app = TestApp::start(app()).await;
    let old = json!({ "toolId": "twice", "toolParameters": { "n": 4 }, "userId": "Ada@Example.com", "timestamp": 5 });
    let (status, answer) = post(&app.at("/tool"), &old).await;
    assert_eq!((status, &answer["content"]), (StatusCode::OK, &json!("8")));
}

#[tokio::test]
async fn failures_are_reported_and_the_app_continues() {
    let app = TestApp::start(app()).await;
    let too_large =
        format!("the reply has {} bytes; at most {MAX_REPLY_BYTES} may be sent", MAX_REPLY_BYTES + 29);
    for (tool, arguments, status, answer) in [
        ("add", json!({ "a": 1 }), 400, failed("INVALID_ARGUMENTS", "missing field `b`")),
        (
            "add",
            json!({ "a": 1, "b": "x" }),
            400,
            failed("INVALID_ARGUMENTS", "b: invalid type: string \"x\", expected i64"),
        ),
        ("add", json!({ "a": i64::MAX, "b": 1 }), 500, failed("HANDLER_ERROR", "the sum is too large")),
        (
            "panic",
            json!({}),
            500,
            failed("HANDLER_ERROR", "the tool `panic` failed unexpectedly; the log of the app says more"),
        ),
        ("fly", json!({}), 404, failed("TOOL_NOT_FOUND", "this app has no tool `fly`")),
        ("large", json!({}), 500, failed("HANDLER_ERROR", &too_large)),
    ] {
        assert_eq!(
            app.call(tool, arguments).await,
            (StatusCode::from_u16(status).unwrap(), answer),
            "{tool}"
        );
    }
    let (status, _) = app.call("add", json!({ "a": 1, "b": 2 })).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn the_fallback_handles_unregistered_tools() {
    let app = app().on_tool_call(|call: FallbackCall| async move {
        assert!(call.activated_for_tool && call.active_session.is_none());
        match call.tool.as_str() {
            "greet" => Some(format!("Hello, {}!", call.arguments.get("name")?.as_str()?)),
            "show" => Some(GIVE_APP_CONTROL_OF_TOOL_RESPONSE.to_owned()),
            _ => None,
        }
    });
    let app = TestApp::start(app).await;
    let silent = json!({ "success": true, "mentraExtensions": { "suppressVoiceResponse": true } });
    for (tool, status, answer) in [
        ("greet", StatusCode::OK, json!({ "success": true, "content": "Hello, Ada!" })),
        ("show", StatusCode::OK, silent),
        ("fly", StatusCode::NOT_FOUND, failed("TOOL_NOT_FOUND", "this app has no tool `fly`")),
    ] {
        assert_eq!(app.call(tool, json!({ "name": "Ada" })).await, (status, answer));
    }
    let (_, typed) = app.call("twice", json!({ "n": 1 })).await;
    assert_eq!(typed["content"], "2");
}

#[tokio::test]
async fn invalid_calls_are_refused() {
    let app = TestApp::start(app()).await;
    let url = app.at("/tool");
    let (status, answer) = post(&url, &json!({ "userId": "ada" })).await;
    assert_eq!(
        (status, answer),
        (StatusCode::BAD_REQUEST, failed("INVALID_REQUEST", "not a tool call: `name` is missing"))
    );
    let (status, _) = json_of(send(request(&url), "<html>").await).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let body = call("quiet", json!({})).to_string();
    let page = http::Request::post(&url).header("content-type", "text/plain");
    let (status, _) = json_of(send(page, body).await).await;
    assert_eq!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let app = TestApp::start(app()).await;
    let mut body = call("quiet", json!({})).to_string();
    body.push_str(&" ".repeat(MAX_BODY_BYTES - body.len()));
    let (status, _) = json_of(send(request(&app.at("/tool")), body.clone()).await).await;
    assert_eq!(status, StatusCode::OK);
    body.push(' ');
    let (status, answer) = json_of(send(request(&app.at("/tool")), body).await).await;
    assert_eq!(
        (status, answer),
        (StatusCode::PAYLOAD_TOO_LARGE, failed("INVALID_REQUEST", "the body is larger than 1048576 bytes"))
    );
}

#[tokio::test]
async fn calls_over_the_limit_are_refused_until_one_ends() {
    let (entered, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let hold = {
        let (entered, leave) = (Arc::clone(&entered), Arc::clone(&leave));
        move |_: NoArguments, _: ToolContext| {
            let (entered, leave) = (Arc::clone(&entered), Arc::clone(&leave));
            async move {
                entered.notify_one();
                leave.notified().await;
                Ok::<_, &str>("done")
            }
        }
    };
    let limits = AppLimits { calls: 1, ..AppLimits::default() };
    let app = builder().limits(limits).register_tool(create_tool("hold", "", hold).build().unwrap());
    let app = TestApp::start(app).await;
    let second = async {
        soon(entered.notified()).await;
        let refused = app.call("hold", json!({})).await;
        leave.notify_one();
        refused
    };
    let (first, second) = tokio::join!(app.call("hold", json!({})), second);
    assert_eq!(first.0, StatusCode::OK);
    assert_eq!(
        (second.0, &second.1["error"]["code"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("OVERLOADED"))
    );
    leave.notify_one();
    assert_eq!(app.call("hold", json!({})).await.0, StatusCode::OK);
}

#[tokio::test]
async fn the_context_has_the_facts_of_the_request() {
    let facts = create_tool("facts", "", |_: NoArguments, cx: ToolContext| async move {
        Ok::<_, &str>(json!({
            "user": cx.user(),
            "call": cx.call_id(),
            "time": cx.timestamp(),
            "activated": cx.activated_for_tool(),
            "key": cx.idempotency_key(),
            "trace": cx.traceparent().map(ToString::to_string),
            "open": cx.session().is_some() || cx.session_for(cx.user()).is_some(),
        }))
    });
    let app = TestApp::start(builder().register_tool(facts.build().unwrap())).await;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let request = request(&app.at("/tool")).header("idempotency-key", "k-1").header("traceparent", trace);
    let (_, answer) = json_of(send(request, call("facts", json!({})).to_string()).await).await;
    assert_eq!(
        answer["structuredContent"],
        json!({
            "user": "ada@example.com", "call": "c-1", "time": "2026-01-02T03:04:05.678Z", "activated": true,
            "key": "k-1", "trace": trace, "open": false,
        })
    );
}
