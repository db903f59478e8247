//! `toolyard glasses`

use std::process::Stdio;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};

use crate::{
    app::App,
    fixture::{ADA, Running, Yard, serve, soon},
};

const PACKAGE: &str = "com.example.notes";

/// The socket of a session app.
struct AppSocket {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: String,
}

impl AppSocket {
    /// Responds to the webhook as an app does: connects and sends its init message.
    async fn connect(request: &Value, key: &str) -> Self {
        assert_eq!((&request["type"], &request["userId"]), (&json!("session_request"), &json!(ADA)));
        let (socket, _) =
            soon(connect_async(request["mentraOSWebsocketUrl"].as_str().unwrap())).await.unwrap();
        let session = request["sessionId"].as_str().unwrap().to_owned();
        let mut app = Self { socket, session };
        app.send(json!({ "type": "tpa_connection_init", "apiKey": key })).await;
        app.gets("tpa_connection_ack").await;
        app
    }

    async fn send(&mut self, mut message: Value) {
        message["packageName"] = PACKAGE.into();
        message["sessionId"] = self.session.clone().into();
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next message of a type.
    async fn gets(&mut self, kind: &str) -> Value {
        soon(async {
            loop {
                let message = self.socket.next().await.unwrap().unwrap();
                let Message::Text(text) = message else { continue };
                let message: Value = serde_json::from_str(&text).unwrap();
                if message["type"] == kind {
                    return message;
                }
            }
        })
        .await
    }
}

/// A session app that is installed for Ada; returns its key.
async fn installed(yard: &Yard, app: &App) -> String {
    let add = [
        "apps",
        "add",
        "--package",
        PACKAGE,
        "--url",
        &app.url,
        "--type",
        "standard",
        "--permission",
        "MICROPHONE",
        "--json",
    ];
    let added = yard.run(&add).await.json();
    yard.ada(&["apps", "install", PACKAGE]).await.good();
    added["apiKey"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn shows_hears_and_speaks() {
    let (yard, mut app) = (Yard::start().await, App::start().await);
    let key = installed(&yard, &app).await;
    let mut glasses = yard.glasses(&[]).await;
    glasses.types(&format!("/start {PACKAGE}")).await;
    let request = app.asked("/webhook").await;
    let mut socket = AppSocket::connect(&request, &key).await;
    glasses.says("[com.example.notes started]").await;

    let layout = json!({ "layoutType": "text_wall", "text": "1. buy milk" });
    socket.send(json!({ "type": "display_event", "view": "main", "layout": layout })).await;
    assert!(glasses.says("com.example.notes").await.starts_with("┌ com.example.notes ─"));
    glasses.says("│ 1. buy milk  ").await;

    let audio = format!("{}/api/tts?text=Buy+milk", yard.url.replace("http:", "https:"));
    socket.send(json!({ "type": "audio_play_request", "requestId": "r-1", "audioUrl": audio })).await;
    glasses.says("♪ com.example.notes says: Buy milk").await;
    let played = socket.gets("audio_play_response").await;
    assert_eq!((&played["requestId"], &played["success"]), (&json!("r-1"), &json!(true)));

    socket.send(json!({ "type": "subscription_update", "subscriptions": ["transcription:en-US", "button_press"] })).await;
    glasses.says("[microphone on]").await;
    glasses.types("what is on my list").await;
    let heard = socket.gets("data_stream").await;
    assert_eq!(
        (&heard["data"]["text"], &heard["data"]["isFinal"]),
        (&json!("what is on my list"), &json!(true))
    );
    glasses.types("/button").await;
    assert_eq!(socket.gets("data_stream").await["data"]["pressType"], "short");

    glasses.types("/fly").await;
    glasses.notes("/help lists").await;
    glasses.types(&format!("/stop {PACKAGE}")).await;
    glasses.says("[com.example.notes stopped]").await;
    glasses.types("/quit").await;
    assert_eq!(glasses.end().await, 0);
}

#[tokio::test]
async fn the_dashboard_is_drawn_while_the_wearer_looks_up() {
    let (yard, mut app) = (Yard::start().await, App::start().await);
    let key = installed(&yard, &app).await;
    let mut glasses = yard.glasses(&[]).await;
    glasses.types(&format!("/start {PACKAGE}")).await;
    let request = app.asked("/webhook").await;
    let mut socket = AppSocket::connect(&request, &key).await;
    glasses.says("[com.example.notes started]").await;
    let hostile = "10:42\u{1b}[2J\u{9b}31m";
    socket.send(json!({ "type": "dashboard_content_update", "content": hostile, "modes": ["main"] })).await;
    let main = json!({ "layoutType": "text_wall", "text": "1. buy milk" });
    socket.send(json!({ "type": "display_event", "view": "main", "layout": main })).await;
    glasses.says("│ 1. buy milk  ").await;
    glasses.types("/head up").await;
    assert!(glasses.says(", dashboard").await.starts_with("┌ "));
    let shown = glasses.says("10:42").await;
    assert!(shown.starts_with("│ ") && !shown.contains(char::is_control), "{shown:?}");
    glasses.says("└──").await;
}

#[tokio::test]
async fn other_glasses_see_other_tools() {
    let yard = Yard::start().await;
    let tools = yard.file("see.json", r#"[{"name":"see","inputSchema":{"type":"object"}}]"#);
    yard.run(&[
        "apps",
        "add",
        "--package",
        "com.example.eyes",
        "--requires",
        "CAMERA",
        "--tools",
        tools.to_str().unwrap(),
    ])
    .await
    .good();
    yard.ada(&["apps", "install", "com.example.eyes"]).await.good();
    let profile = yard.file("mine.json", r#"{"modelName":"Mine","hasCamera":true,"hasDisplay":true}"#);
    let mut glasses = yard.glasses(&["--model-file", profile.to_str().unwrap()]).await;
    // Messages of the glasses arrive asynchronously; the list follows.
    let listed = async |count: usize| {
        soon(async {
            loop {
                let listing = yard.ada(&["tools", "ls", "--json"]).await.json();
                if listing["tools"].as_array().unwrap().len() == count {
                    return;
                }
            }
        })
        .await;
    };
    listed(1).await;
    glasses.types("/model Even Realities G1").await;
    listed(0).await;
    glasses.types("/model Brilliant Frame").await;
    glasses.notes("`Brilliant Frame` has no profile").await;
    listed(1).await;
}

#[tokio::test]
async fn stays_connected_without_stdin_and_reconnects() {
    let mut yard = Yard::start().await;
    let mut command = yard.command(&["glasses", "--user", ADA, "--json"]);
    command.stdin(Stdio::null());
    let mut glasses = Running::start(command);
    let ack: Value = serde_json::from_str(&glasses.says("connection_ack").await).unwrap();
    assert_eq!(ack["sessionId"], ADA);
    yard.server.signal("-TERM").await;
    assert_eq!(yard.server.end().await, 0);
    glasses.notes("connection lost").await;
    let (server, _) = serve(yard.folder.path(), yard.url.trim_start_matches("http://"), &[]).await;
    glasses.says("connection_ack").await;
    glasses.signal("-TERM").await;
    assert_eq!(glasses.end().await, 0);
    drop(server);
}

#[tokio::test]
async fn a_refused_device_gets_the_reason() {
    let mut yard = Yard::start_with(&["--auth", "token"]).await;
    let refused = yard.run(&["glasses", "--user", ADA]).await.bad();
    assert!(
        refused.contains("send a token") && refused.contains("next: set the user with --user"),
        "{refused}"
    );
    let bad = yard.run(&["glasses", "--token", "x.y.z", "--json"]).await;
    assert_eq!((bad.code, &bad.json_lines()[0]["error"]["code"]), (1, &json!("DEVICE_REFUSED")));
    let token = yard.run(&["token", "user", ADA, "--data", "data"]).await.good();
    let mut glasses = Running::start(yard.command(&["glasses", "--token", token.trim()]));
    glasses.says("connected as ada@example.com").await;
    glasses.signal("-INT").await;
    assert_eq!(glasses.end().await, 0);

    yard.server.signal("-TERM").await;
    yard.server.end().await;
    let down = yard.run(&["glasses", "--user", ADA]).await.bad();
    assert!(down.contains("cannot reach the server") && down.contains("`toolyard serve`"), "{down}");
}

#[tokio::test]
async fn a_second_device_replaces_the_first_permanently() {
    let yard = Yard::start().await;
    let mut first = yard.glasses(&[]).await;
    let mut second = yard.glasses(&[]).await;
    first.notes("the server closed the connection: another device connected").await;
    assert_eq!(first.end().await, 1);
    second.types("/quit").await;
    assert_eq!(second.end().await, 0);
}
