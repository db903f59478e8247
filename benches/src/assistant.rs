//! The assistant: from the last words of a question to the first picture of its answer, with a model that answers at once. What
//! is measured is therefore the server's and the assistant's share, both ways over their sockets included.

use std::{path::Path, time::Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use http::Method;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, tungstenite::Message};

use crate::{
    process::{Process, percentile},
    setup::Bench,
};

const PACKAGE: &str = "com.bench.assistant";
/// Questions, after some that warm up.
const QUESTIONS: usize = 200;
const WARM: usize = 10;

pub async fn measure(bench: &Bench, program: &Path) {
    if !program.exists() {
        println!("Assistant. {} is not built: its figures are missing.", program.display());
        println!();
        return;
    }
    let _assistant = start(bench, program).await;
    let mut device = connect(bench).await;
    open(bench).await;
    let mut times = Vec::with_capacity(QUESTIONS);
    for number in 0..WARM + QUESTIONS {
        let words = format!("hey toolyard this is question number {number}");
        let began = Instant::now();
        say(&mut device, &json!({ "type": "local_transcription", "text": words, "isFinal": true })).await;
        picture(&mut device).await;
        if number >= WARM {
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
        // What is left of this answer is not to be taken for the next one.
        say(
            &mut device,
            &json!({ "type": "local_transcription", "text": "hey toolyard stop", "isFinal": true }),
        )
        .await;
        cleared(&mut device).await;
    }
    println!(
        "Assistant. {QUESTIONS} questions, from the final transcript to the first picture, with a model that answers at once: p50 {:.2} ms, p95 {:.2} ms",
        percentile(&times, 0.5),
        percentile(&times, 0.95),
    );
    println!();
}

/// Registers the assistant, lets it act for the user, and starts it.
async fn start(bench: &Bench, program: &Path) -> Process {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port();
    let app = json!({ "packageName": PACKAGE, "publicUrl": format!("http://127.0.0.1:{port}"), "kind": "session",
        "appType": "background", "permissions": [{ "type": "MICROPHONE" }] });
    let created = bench.operate(Method::POST, "/api/apps", &app).await;
    let text = |name: &str| created[name].as_str().expect("a secret").to_owned();
    bench.install(PACKAGE).await;
    let user = bench.user();
    let grant = bench.url(&format!("/api/installs/{PACKAGE}/assistant"));
    bench.http.json(Method::PUT, &grant, &[("authorization", &user)], "{}").await;
    let folder = bench.folder.path();
    let config = format!(
        "listen = \"127.0.0.1:{port}\"\nserver = \"http://{}\"\npackage = \"{PACKAGE}\"\ndata = \"{}\"\nmodel = \"bench/bench\"\n\
         local_servers = false\n[models.bench]\nurl = \"http://{}/v1\"\ncalling = \"native\"\n[history]\nkeep = \"off\"\n\
         [listening]\nrepeat_ms = 0\n[answer]\nacknowledge_ms = 60000\n",
        bench.server.address,
        folder.join("assistant.db").display(),
        bench.direct.address,
    );
    let file = folder.join("assistant.toml");
    std::fs::write(&file, config).expect("the configuration can be written");
    let file = file.to_string_lossy().into_owned();
    let environment =
        [("ASSISTANT_API_KEY", text("apiKey")), ("ASSISTANT_SIGNING_SECRET", text("signingSecret"))];
    let environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let process = Process::start(program, &["--config", &file], &environment, &folder.join("assistant.log"));
    for _ in 0..100 {
        if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            return process;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!(
        "the assistant does not start: {}",
        std::fs::read_to_string(folder.join("assistant.log")).unwrap_or_default()
    );
}

type Device = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn connect(bench: &Bench) -> Device {
    let url = format!("ws://{}/glasses-ws?token={}", bench.server.address, bench.token);
    let (mut device, _) = tokio_tungstenite::connect_async(url).await.expect("a device");
    let glasses = json!({ "type": "glasses_connection_state", "modelName": "Even Realities G1", "status": "CONNECTED" });
    say(&mut device, &glasses).await;
    device
}

/// Opens the assistant, and waits until it listens.
async fn open(bench: &Bench) {
    let user = bench.user();
    let headers = [("authorization", user.as_str())];
    let start = bench.url(&format!("/api/session/apps/{PACKAGE}/start"));
    bench.http.json(Method::POST, &start, &headers, "{}").await;
    for _ in 0..200 {
        let session = bench.http.json(Method::GET, &bench.url("/api/session"), &headers, "").await;
        let apps = session["apps"].as_array().cloned().unwrap_or_default();
        if apps.iter().any(|app| {
            app["packageName"] == PACKAGE && app["subscriptions"].to_string().contains("button_press")
        }) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("the assistant does not listen");
}

async fn say(device: &mut Device, message: &Value) {
    device.send(Message::text(message.to_string())).await.expect("the device is connected");
}

async fn shown(device: &mut Device) -> Value {
    loop {
        let message = device.next().await.expect("the device is connected").expect("a message");
        if let Message::Text(text) = message {
            let mut message: Value = serde_json::from_str(&text).unwrap_or_default();
            if message["type"] == "display_event" {
                return message["layout"].take();
            }
        }
    }
}

/// The next picture with words.
async fn picture(device: &mut Device) {
    while shown(device).await["text"].as_str().is_none_or(str::is_empty) {}
}

/// The next empty picture.
async fn cleared(device: &mut Device) {
    while shown(device).await["layoutType"] != "clear_view" {}
}
