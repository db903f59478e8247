//! Devices: authentication and messages. Also health and metrics.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use toolyard_core::ports::StoredRun;
use toolyard_server::auth::Role;
use toolyard_testkit::AppBehavior;

use crate::{
    knock::{Socket, knock},
    platform::{Device, ECHO, Platform, tokens_only},
};

/// The next message that is JSON.
async fn hear(socket: &mut Socket) -> Value {
    loop {
        if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

async fn device_of(p: &Platform, user: &str) -> Value {
    p.user(user).get("/api/session").await.expect(200).json()["capabilities"]["modelName"].clone()
}

#[tokio::test]
async fn a_token_in_the_query_or_in_a_header_says_whose_device_it_is() {
    let p = Platform::with(tokens_only).await;
    let (bob, root) = (p.token("bob", Role::User), p.token("root", Role::Operator));
    let (bearer, operator) = (format!("Bearer {bob}"), format!("Bearer {root}"));
    let lower_case = format!("bearer {bob}");
    for (path, headers, user) in [
        (format!("/glasses-ws?token={bob}"), vec![], "bob"),
        ("/glasses-ws".to_owned(), vec![("authorization", bearer.as_str())], "bob"),
        ("/ws/client".to_owned(), vec![("authorization", bearer.as_str())], "bob"),
        ("/glasses-ws".to_owned(), vec![("authorization", lower_case.as_str())], "bob"),
        // A user acts for themselves only; an operator for the named user.
        (
            "/glasses-ws?user=ada".to_owned(),
            vec![("authorization", bearer.as_str()), ("x-user-id", "ada")],
            "bob",
        ),
        ("/glasses-ws?user=Ada".to_owned(), vec![("authorization", operator.as_str())], "ada"),
    ] {
        let mut socket = knock(&p, &path, &headers).await.unwrap();
        let ack = hear(&mut socket).await;
        assert_eq!((&ack["type"], &ack["sessionId"]), (&json!("connection_ack"), &json!(user)), "{path}");
    }
}

#[tokio::test]
async fn a_second_device_takes_the_place_of_the_first() {
    let p = Platform::start().await;
    let (_app, mut first) = p.echo().await;
    first.wears("Even Realities G1").await;
    let mut second = p.device("ada").await;
    assert_eq!(first.closed().await, Some(1000));
    assert_eq!(device_of(&p, "ada").await, "Even Realities G1", "the session is the same");
    second.wears("Mentra Live").await;
    assert_eq!(device_of(&p, "ada").await, "Mentra Live");
    let session = p.user("ada").get("/api/session").await.expect(200).json();
    assert_eq!(session["deviceConnected"], true, "the end of the first changes nothing");
    p.call_echo().await.expect(200);
}

#[tokio::test]
async fn an_unknown_model_filters_nothing() {
    let p = Platform::start().await;
    let needs = json!({ "hardwareRequirements": [{ "type": "CAMERA", "level": "REQUIRED" }] });
    let (_app, mut device) = p.echo_like(needs).await;
    assert_eq!(p.user("ada").tools().await.len(), 1, "no glasses yet");
    device.wears("Even Realities G1").await;
    assert_eq!(p.user("ada").tools().await.len(), 0);
    device.wears("Model of Tomorrow").await;
    assert_eq!(p.user("ada").tools().await.len(), 1);
    device.wears("Even Realities G1").await;
    assert_eq!(p.user("ada").tools().await.len(), 0);
}

#[tokio::test]
async fn the_last_glasses_are_remembered() {
    let p = Platform::start().await;
    let mut device = p.device("ada").await;
    device.wears("Even Realities G1").await;
    p.user("ada").delete("/api/session").await.expect(204);
    assert_eq!(device.closed().await, Some(1000));
    assert!(!p.state.sessions.is_live(&"ada".parse().unwrap()));
    let _device = p.device("ada").await;
    assert_eq!(device_of(&p, "ada").await, "Even Realities G1");
    let p = p.restart().await;
    let _device = p.device("ada").await;
    assert_eq!(device_of(&p, "ada").await, "Even Realities G1");
    let _bob = p.device("bob").await;
    assert_eq!(device_of(&p, "bob").await, Value::Null);
}

#[tokio::test]
async fn two_stored_runs_of_one_app_are_restored_as_one() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo_like(json!({ "kind": "session" })).await;
    for session in ["s1", "s2"] {
        let run = StoredRun {
            session: session.parse().unwrap(),
            user: "ada".parse().unwrap(),
            package: ECHO.parse().unwrap(),
            by_user: true,
        };
        p.state.stores.runs.save_run(&run).await.unwrap();
    }
    let p = p.restart().await;
    let runs = p.state.stores.runs.list_runs().await.unwrap();
    assert_eq!(runs.len(), 1, "{runs:?}");
}

#[tokio::test]
async fn invalid_messages_of_a_device_do_no_harm() {
    let p = Platform::start().await;
    let mut socket = knock(&p, "/glasses-ws?user=ada", &[]).await.unwrap();
    assert_eq!(hear(&mut socket).await["type"], "connection_ack");
    let deep = "[".repeat(10_000);
    for text in [
        "",
        " ",
        "nonsense",
        "null",
        "5",
        "[]",
        "{}",
        "\"ping\"",
        &deep,
        r#"{"type":5}"#,
        r#"{"type":null}"#,
        r#"{"type":"no_such_message"}"#,
        r#"{"type":"start_app"}"#,
        r#"{"type":"start_app","packageName":"Not A Package"}"#,
        r#"{"type":"start_app","packageName":"com.not.there"}"#,
        r#"{"type":"stop_app","packageName":"com.not.there"}"#,
        r#"{"type":"glasses_connection_state"}"#,
        r#"{"type":"glasses_connection_state","status":"FLYING","modelName":7}"#,
        r#"{"type":"device_profile","capabilities":5}"#,
        r#"{"type":"local_transcription"}"#,
        r#"{"type":"button_press","buttonId":{}}"#,
        r#"{"type":"audio_play_response"}"#,
    ] {
        socket.send(Message::text(text.to_owned())).await.unwrap();
    }
    for bytes in [vec![], vec![0], vec![255; 100_000]] {
        socket.send(Message::binary(bytes)).await.unwrap();
    }
    socket.send(Message::text(r#"{"type":"ping"}"#)).await.unwrap();
    while hear(&mut socket).await["type"] != "pong" {}
    socket.send(Message::Ping("are you there".into())).await.unwrap();
    let pong = loop {
        if let Message::Pong(pong) = socket.next().await.unwrap().unwrap() {
            break pong;
        }
    };
    assert_eq!(&pong[..], b"are you there");
}

#[tokio::test]
async fn a_message_beyond_the_limit_closes_only_its_socket() {
    let p = Platform::with(|config| config.server.socket_message_bytes = 10_000).await;
    let (_app, _first) = p.echo().await;
    for message in [Message::text("x".repeat(10_001)), Message::binary(vec![0; 10_001])] {
        let mut socket = knock(&p, "/glasses-ws?user=ada", &[]).await.unwrap();
        assert_eq!(hear(&mut socket).await["type"], "connection_ack");
        socket.send(Message::binary(vec![0; 10_000])).await.unwrap();
        socket.send(Message::text(r#"{"type":"ping"}"#)).await.unwrap();
        while hear(&mut socket).await["type"] != "pong" {}
        // The server may close it before everything is sent.
        let _ = socket.send(message).await;
        while let Some(Ok(message)) = socket.next().await {
            assert!(!message.is_text(), "{message}");
        }
    }
    p.call_echo().await.expect(200);
    let mut device = p.device("ada").await;
    device.wears("Mentra Live").await;
}

#[tokio::test]
async fn health_and_readiness_are_reported() {
    let p = Platform::with(tokens_only).await;
    assert_eq!(p.nobody().get("/healthz").await.expect(200).json(), json!({ "status": "ok" }));
    assert_eq!(p.nobody().get("/readyz").await.expect(200).json(), json!({ "status": "ready" }));
    let unknown = p.nobody().get("/nowhere").await.expect(404);
    assert_eq!(unknown.code(), "NOT_FOUND");
    let wrong = p.nobody().delete("/healthz").await.expect(405);
    assert_eq!((wrong.code().as_str(), wrong.header("allow").contains("GET")), ("INVALID_REQUEST", true));
}

#[tokio::test]
async fn metrics_count_calls_by_outcome() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    p.call_echo().await.expect(200);
    app.set_behavior(AppBehavior::Json(500, json!({ "status": "error", "message": "no milk" })));
    p.call_echo().await.expect(500);
    p.user("ada").call(&format!("{ECHO}:nothing"), json!({})).await.expect(404);
    let page = p.nobody().get("/metrics").await.expect(200);
    assert!(page.header("content-type").starts_with("text/plain"), "{page:?}");
    for line in [
        r#"toolyard_calls_total{outcome="OK"} 2"#,
        r#"toolyard_calls_total{outcome="EXECUTION_ERROR"} 1"#,
        r#"toolyard_calls_total{outcome="TOOL_NOT_FOUND"} 1"#,
        r#"toolyard_calls_total{outcome="TIMEOUT"} 0"#,
        "toolyard_call_seconds_count 4",
        "toolyard_calls_in_flight 0",
        "toolyard_users_live 1",
        "# TYPE toolyard_calls_total counter",
    ] {
        assert!(page.text.lines().any(|found| found == line), "{line} in\n{}", page.text);
    }
    for user in ["ada", ECHO] {
        assert!(!page.text.contains(user), "nothing of who or what");
    }
    let _other = Device::connect(&format!("{}/glasses-ws?user=bob", p.url.replace("http", "ws")), None).await;
    assert!(p.nobody().get("/metrics").await.expect(200).text.contains("toolyard_users_live 2"));
}
