//! Progress on its way out, and cancellation on its way in.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolyard_app_sdk::{NoArguments, Tool, ToolContext, ToolReply, create_tool};
use toolyard_net::HttpResponse;

use crate::{
    client::{call, json_of, request, send},
    fixture::{TestApp, builder, soon},
};

const LINES: &str = "application/x-ndjson, application/json";

fn working() -> Tool {
    let work = |_: NoArguments, cx: ToolContext| async move {
        cx.progress(0.4, "half way");
        cx.progress(1.0, "nearly");
        Ok::<_, &str>("done")
    };
    create_tool("work", "", work).build().unwrap()
}

async fn ask(app: &TestApp, tool: &str, accept: &str) -> HttpResponse {
    let request = request(&app.at("/tool")).header("accept", accept);
    soon(send(request, call(tool, json!({})).to_string())).await
}

async fn lines(response: HttpResponse) -> Vec<Value> {
    assert_eq!(response.status, StatusCode::OK);
    assert_eq!(response.headers["content-type"], "application/x-ndjson");
    let mut lines = response.into_lines(1024, 64 * 1024);
    let mut read = Vec::new();
    while let Some(line) = soon(lines.next()).await.unwrap() {
        read.push(serde_json::from_slice(&line).unwrap());
    }
    read
}

#[tokio::test]
async fn progress_comes_in_lines_and_the_result_last() {
    let app = TestApp::start(builder().register_tool(working())).await;
    assert_eq!(
        lines(ask(&app, "work", LINES).await).await,
        [
            json!({ "type": "progress", "progress": 0.4, "total": 1.0, "message": "half way" }),
            json!({ "type": "progress", "progress": 1.0, "total": 1.0, "message": "nearly" }),
            json!({ "type": "result", "success": true, "content": "done" }),
        ]
    );
}

#[tokio::test]
async fn every_message_is_one_line_whatever_is_in_it() {
    let content = || json!({ "text": "a\r\nb\nc\rd", "list": [{ "deep": "\u{2028}" }] });
    let say = move |_: NoArguments, cx: ToolContext| async move {
        cx.progress(0.4, "half\r\nway\n");
        Ok::<_, &str>(ToolReply::structured(content()))
    };
    let fail = |_: NoArguments, cx: ToolContext| async move {
        cx.progress(0.4, "half way");
        Err::<String, _>("no\r\nluck\n")
    };
    let [say, fail] =
        [create_tool("say", "", say).build().unwrap(), create_tool("fail", "", fail).build().unwrap()];
    let app = TestApp::start(builder().register_tool(say).register_tool(fail)).await;
    let said = lines(ask(&app, "say", LINES).await).await;
    assert_eq!((said.len(), &said[0]["message"]), (2, &json!("half\r\nway\n")));
    assert_eq!(said[1]["structuredContent"], content());
    let failed = lines(ask(&app, "fail", LINES).await).await;
    assert_eq!((failed.len(), &failed[1]["error"]["message"]), (2, &json!("no\r\nluck\n")), "{failed:?}");
}

#[tokio::test]
async fn a_caller_that_does_not_accept_lines_gets_the_result() {
    let app = TestApp::start(builder().register_tool(working())).await;
    let (status, answer) = json_of(ask(&app, "work", "application/json").await).await;
    assert_eq!((status, answer), (StatusCode::OK, json!({ "success": true, "content": "done" })));
}

#[tokio::test]
async fn without_progress_there_are_no_lines() {
    let plain =
        create_tool("plain", "", |_: NoArguments, _| async { Err::<(), _>("broken") }).build().unwrap();
    let app = TestApp::start(builder().register_tool(plain)).await;
    let (status, answer) = json_of(ask(&app, "plain", LINES).await).await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (StatusCode::INTERNAL_SERVER_ERROR, &json!("HANDLER_ERROR"))
    );
}

#[tokio::test]
async fn a_failure_after_progress_is_the_last_line() {
    let fail = |_: NoArguments, cx: ToolContext| async move {
        cx.progress(0.1, "begun");
        if cx.user().as_str() == "ada@example.com" {
            panic!("in the middle");
        }
        Ok::<_, &str>(())
    };
    let app = TestApp::start(builder().register_tool(create_tool("fail", "", fail).build().unwrap())).await;
    let lines = lines(ask(&app, "fail", LINES).await).await;
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[1]["success"], &lines[1]["error"]["code"]), (&json!(false), &json!("HANDLER_ERROR")));
}

/// Tells when it is dropped.
struct Told(mpsc::Sender<&'static str>);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.try_send("dropped");
    }
}

/// A tool that reports when it began, was cancelled and was dropped. It never ends by itself.
fn endless() -> (Tool, mpsc::Receiver<&'static str>) {
    let (tell, told) = mpsc::channel(8);
    let tell = Arc::new(tell);
    let work = move |_: NoArguments, cx: ToolContext| {
        let tell = Arc::clone(&tell);
        async move {
            let _told = Told(tell.as_ref().clone());
            cx.progress(0.0, "begun");
            tell.send("begun").await.unwrap();
            cx.cancelled().await;
            assert!(cx.is_cancelled() && cx.cancellation().is_cancelled());
            tell.send("cancelled").await.unwrap();
            std::future::pending::<Result<(), &str>>().await
        }
    };
    (create_tool("endless", "", work).build().unwrap(), told)
}

#[tokio::test]
async fn a_caller_that_disconnects_cancels_the_handler() {
    for accept in [LINES, "application/json"] {
        let (tool, mut told) = endless();
        let app = TestApp::start(builder().register_tool(tool)).await;
        {
            let mut response = None;
            let asking = async {
                // With lines the answer begins; without it never does. Either way the caller leaves.
                response = Some(ask(&app, "endless", accept).await);
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = asking => {}
                began = soon(told.recv()) => assert_eq!(began, Some("begun")),
            }
        }
        assert_eq!(soon(told.recv()).await, Some("cancelled"), "{accept}");
        // It does not end by itself, so the grace is all it gets.
        assert_eq!(soon(told.recv()).await, Some("dropped"), "{accept}");
    }
}
