//! Every limit of a call, exceeded.

use serde_json::json;
use toolyard_testkit::AppBehavior;

use crate::platform::{ECHO, Platform, echo_tool};

#[tokio::test]
async fn calls_are_rate_limited() {
    for rate in ["user", "tool", "all"] {
        let p = Platform::with(|config| match rate {
            "user" => (config.rates.user_per_s, config.rates.user_burst) = (1, 2),
            "tool" => (config.rates.tool_per_s, config.rates.tool_burst) = (1, 2),
            _ => (config.rates.all_per_s, config.rates.all_burst) = (1, 2),
        })
        .await;
        let (app, _device) = p.echo().await;
        p.call_echo().await.expect(200);
        p.call_echo().await.expect(200);
        let answer = p.call_echo().await.expect(429);
        assert_eq!((answer.code().as_str(), answer.header("retry-after")), ("RATE_LIMITED", "1"), "{rate}");
        assert_eq!(answer.json()["error"]["retryable"], true);
        assert_eq!(app.requests("/tool").len(), 2);
    }
}

#[tokio::test]
async fn concurrent_calls_are_limited() {
    for cap in ["node", "app", "user"] {
        let p = Platform::with(|config| match cap {
            "node" => config.calls.in_flight = 1,
            "app" => config.calls.in_flight_per_app = 1,
            _ => config.calls.in_flight_per_user = 1,
        })
        .await;
        let (app, _device) = p.echo().await;
        app.set_behavior(AppBehavior::Lines(vec![json!({ "type": "result", "success": true })]));
        let (first, second) = tokio::join!(p.call_echo(), async {
            app.wait_requests("/tool", 1).await;
            let second = p.call_echo().await;
            app.let_line_through();
            second
        });
        first.expect(200);
        let second = second.expect(503);
        assert_eq!(
            (second.code().as_str(), second.json()["error"]["retryable"].as_bool()),
            ("OVERLOADED", Some(true)),
            "{cap}"
        );
        app.set_behavior(AppBehavior::reply("ok"));
        p.call_echo().await.expect(200);
    }
}

#[tokio::test]
async fn denied_tools_cannot_be_called() {
    let p = Platform::with(|config| config.policy.deny = vec![format!("{ECHO}:*")]).await;
    let (app, _device) = p.echo().await;
    assert_eq!(p.call_echo().await.expect(403).code(), "DENIED");
    assert!(app.requests("/tool").is_empty());
}

#[tokio::test]
async fn invalid_arguments_are_explained_to_the_model() {
    let p = Platform::start().await;
    let mut tool = echo_tool();
    tool["inputSchema"] = json!({ "type": "object", "required": ["text"], "additionalProperties": false, "properties": {
        "text": { "type": "string" }, "n": { "type": "integer" },
        "list": { "type": "array", "items": { "enum": ["a", "b"] } } } });
    let (app, _device) = p.echo_like(json!({ "tools": [tool] })).await;
    let tool = format!("{ECHO}:echo");
    let answer = p.user("ada").call(&tool, json!({ "n": 1.5, "list": ["a", "c"], "x": 1 })).await.expect(400);
    assert_eq!(answer.code(), "INVALID_ARGUMENTS");
    let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    for part in [
        "text: missing",
        "n: expected an integer, got 1.5",
        "list[1]: expected one of",
        "has no place for `x`",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
    for arguments in [json!([]), json!("text"), json!(5)] {
        assert_eq!(p.user("ada").call(&tool, arguments).await.expect(400).code(), "INVALID_ARGUMENTS");
    }
    assert_eq!(
        p.user("ada").post("/api/tools/execute", &json!({ "name": tool })).await.expect(400).code(),
        "INVALID_ARGUMENTS"
    );
    assert!(app.requests("/tool").is_empty());
}

#[tokio::test]
async fn malformed_calls_are_refused() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let execute = async |body: &str| {
        let answer =
            p.user("ada").send(http::Method::POST, "/api/tools/execute", Some(body.to_owned())).await;
        (answer.status.as_u16(), answer.code())
    };
    assert_eq!(execute("").await, (400, "INVALID_REQUEST".into()));
    assert_eq!(execute("[]").await, (400, "INVALID_REQUEST".into()));
    assert_eq!(execute("{\"name\":5}").await, (400, "INVALID_REQUEST".into()));
    assert_eq!(execute("{\"name\":\"no such\"}").await, (400, "INVALID_TOOL_NAME".into()));
    assert_eq!(execute("{\"name\":\"com.example.echo:nothing\"}").await, (404, "TOOL_NOT_FOUND".into()));
    assert_eq!(execute("{\"name\":\"com_example__nothing\"}").await, (404, "TOOL_NOT_FOUND".into()));
    let deep = format!("{{\"name\":\"{ECHO}:echo\",\"arguments\":{}}}", "[".repeat(100_000));
    assert_eq!(execute(&deep).await.0, 400);
}

#[tokio::test]
async fn bodies_are_json_and_bounded() {
    let p = Platform::with(|config| config.server.body_bytes = 2_000).await;
    let (_app, _device) = p.echo().await;
    let plain =
        p.user("ada").header("content-type", "text/plain").call(&format!("{ECHO}:echo"), json!({})).await;
    assert!(plain.expect(400).text.contains("Content-Type"));
    let large =
        p.user("ada").call(&format!("{ECHO}:echo"), json!({ "text": "x".repeat(3_000) })).await.expect(413);
    assert_eq!(large.code(), "TOO_LARGE");
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_everywhere() {
    let p = Platform::start().await;
    p.user("ada").header("host", "evil.example").get("/healthz").await.expect(403);
    p.user("ada").header("origin", "https://evil.example").get("/api/tools").await.expect(403);
    p.user("ada").header("origin", &p.url).get("/healthz").await.expect(200);
    for path in ["/app-ws", "/glasses-ws?user=ada"] {
        let mut request = tokio_tungstenite::tungstenite::client::IntoClientRequest::into_client_request(
            p.url.replace("http", "ws") + path,
        )
        .unwrap();
        request.headers_mut().insert("origin", "https://evil.example".parse().unwrap());
        let refused = tokio_tungstenite::connect_async(request).await.unwrap_err().to_string();
        assert!(refused.contains("403"), "{refused}");
    }
}

#[tokio::test]
async fn a_body_that_does_not_arrive_times_out() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let p = Platform::with(|config| config.server.body_timeout_ms = 50).await;
    let _device = p.device("ada").await;
    let address = p.url.strip_prefix("http://").unwrap();
    #[expect(clippy::disallowed_methods, reason = "a client that no library would be")]
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /api/tools/execute HTTP/1.1\r\nhost: {address}\r\nx-user-id: ada\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 4_096];
    let read = stream.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("did not arrive in time"), "{answer}");
}

#[tokio::test]
async fn connections_over_the_limit_wait_for_a_slot() {
    let p = Platform::with(|config| config.server.max_connections = 1).await;
    let address = p.url.strip_prefix("http://").unwrap();
    #[expect(clippy::disallowed_methods, reason = "a client that holds its connection and says nothing")]
    let holder = tokio::net::TcpStream::connect(address).await.unwrap();
    let ada = p.user("ada");
    let mut waiting = Box::pin(ada.get("/healthz"));
    tokio::select! {
        biased;
        _ = &mut waiting => panic!("there is one place, and it is taken"),
        () = tokio::task::yield_now() => {}
    }
    drop(holder);
    waiting.await.expect(200);
}

#[tokio::test]
async fn allowed_origins_get_cors_headers() {
    let page = "https://console.example.com";
    let p = Platform::with(|config| config.server.origins = vec![page.to_owned()]).await;
    let ask = p.nobody().header("origin", page).header("access-control-request-method", "POST");
    let allowed = ask.send(http::Method::OPTIONS, "/api/tools/execute", None).await.expect(204);
    assert_eq!(allowed.header("access-control-allow-origin"), page);
    assert!(allowed.header("access-control-allow-headers").contains("idempotency-key"));
    let answer = p.nobody().header("origin", page).get("/healthz").await.expect(200);
    assert_eq!((answer.header("access-control-allow-origin"), answer.header("vary")), (page, "Origin"));
    let home = p.nobody().header("origin", &p.url).get("/healthz").await.expect(200);
    assert_eq!(home.header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn running_apps_per_user_are_limited() {
    let p = Platform::with(|config| config.quotas.apps_per_developer = 501).await;
    for i in 0..=500 {
        let package = format!("com.many.app{i}");
        p.nobody().post("/api/apps", &json!({ "packageName": package })).await.expect(201);
        let installed = p.user("ada").put(&format!("/api/installs/{package}"), &json!({})).await;
        installed.expect(if i < 500 { 204 } else { 409 });
    }
}
