//! How `toolyard chat` handles streams that our own server would not send.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::fixture::{ADA, Ran, ended, soon, toolyard};

/// Chats with a server that sends this response to every request.
async fn asked(kind: &'static str, body: &'static str) -> Ran {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = move |_: Request<Incoming>| async move {
        let mut answer = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
        answer.headers_mut().insert(header::CONTENT_TYPE, kind.parse().unwrap());
        Ok::<_, Infallible>(answer)
    };
    let server = TaskTracker::new().spawn(async move {
        let (stream, _) = soon(listener.accept()).await.unwrap();
        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)).await;
    });
    let _server = AbortOnDropHandle::new(server);
    let folder = tempfile::tempdir().unwrap();
    let args = ["chat", "--server", &url, "--user", ADA, "--message", "hello"];
    ended(toolyard(folder.path(), &args)).await
}

#[tokio::test]
async fn unknown_events_are_ignored() {
    let ran = asked(
        "text/event-stream; charset=utf-8",
        concat!(
            ": stream-open\r\n\r\n",
            "event: x\r\nid: 7\r\ndata: {\"type\":\"start\",\"messageMetadata\":{\"a\":1}}\r\n\r\n",
            "data:{\"type\":\"steering-message\",\"id\":\"1\",\"parts\":[]}\n\n",
            "data: not JSON\n\ndata: {\"type\":\"text-start\",\"id\":\"t\"}\n\n",
            "data: {\"type\":\"text-delta\",\"id\":\"t\",\"delta\":\"Hi\",\"citations\":[]}\n\n",
            "data: {\"type\":\"finish\",\"finishReason\":\"interrupted\"}",
        ),
    )
    .await;
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "Hi\n", ""));
}

#[tokio::test]
async fn a_tool_of_another_client_is_not_run() {
    let ran = asked(
        "text/event-stream",
        concat!(
            "data: {\"type\":\"start-step\"}\n\n",
            "data: {\"type\":\"tool-input-available\",\"toolCallId\":\"c\",\"toolName\":\"show_chart\",\"input\":{}}\n\n",
            "data: {\"type\":\"finish-step\"}\n\ndata: {\"type\":\"finish\",\"finishReason\":\"tool-calls\"}\n\n",
        ),
    )
    .await;
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err.contains("needs show_chart") && ran.err.contains("this terminal does not have it"),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn an_invalid_response_is_reported() {
    let half = concat!(
        "data: {\"type\":\"text-start\",\"id\":\"t\"}\n\n",
        "data: {\"type\":\"text-delta\",\"id\":\"t\",\"delta\":\"Half\"}\n\n",
    );
    let cut = asked("text/event-stream", half).await;
    assert_eq!((cut.code, cut.out.as_str()), (1, "Half\n"));
    assert!(cut.err.contains("the stream ended early"), "{}", cut.err);
    let lost =
        asked("text/event-stream", "data: {\"type\":\"text-delta\",\"id\":\"t\",\"delta\":\"Half\"}\n\n")
            .await
            .bad();
    assert!(lost.contains("`text-delta` comes for `t`, which has not begun"), "{lost}");
    let other = asked("text/html", "<html>").await.bad();
    assert!(other.contains("is that a Toolyard server?"), "{other}");
}
