//! A server, the assistant, the to-do app, a model, and users with glasses.

use std::{future::Future, net::SocketAddr, path::PathBuf, time::Duration};

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, tungstenite::Message};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use toolyard_app_sdk::AppServer;
use toolyard_assistant::{
    Assistant, SystemPorts, choices,
    config::{AssistantConfig, ModelEndpointConfig},
    page::ReadingTime,
    registration_body,
};
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_protocol::secret::SecretText;
use toolyard_server::Server;
use toolyard_testkit::{FakeApp, model::ScriptedModel};

/// Far longer than anything here takes; only a broken test gets there.
const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const ASSISTANT: &str = "com.toolyard.assistant";
pub(crate) const TODO: &str = "com.example.todo";
pub(crate) const ECHO: &str = "com.example.echo";
/// The echo tool, as models see it.
pub(crate) const ECHO_ALIAS: &str = "com_example_echo__echo";

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("this should have happened by now")
}

/// A whole platform for one test.
pub(crate) struct Stage {
    pub(crate) model: ScriptedModel,
    pub(crate) url: String,
    http: HttpClient,
    config: AssistantConfig,
    keys: (String, String),
    address: SocketAddr,
    running: Option<(CancellationToken, JoinHandle<()>)>,
    tasks: TaskTracker,
    stop: CancellationToken,
    folder: tempfile::TempDir,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A server alone, which stops when the guard is dropped.
pub(crate) async fn bare_server() -> (String, DropGuard, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = toolyard_server::config::Config::default();
    config.server.listen = ([127, 0, 0, 1], 0).into();
    config.server.drain_ms = 1_000;
    config.store.path = folder.path().join("toolyard.db");
    config.builtin.enabled = false;
    config.model_search.local_servers = false;
    config.approvals.apps = vec!["com.toolyard.assistant".parse().unwrap()];
    let server = Server::start(config, toolyard_server::ServerDependencies::default()).await.unwrap();
    let (url, stop) = (format!("http://{}", server.address), CancellationToken::new());
    TaskTracker::new().spawn(server.run(stop.clone()));
    (url, stop.drop_guard(), folder)
}

impl Stage {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// With other settings of the assistant.
    pub(crate) async fn with(change: impl FnOnce(&mut AssistantConfig)) -> Self {
        let model = ScriptedModel::start().await;
        let (url, server, folder) = bare_server().await;
        let (stop, tasks) = (server.disarm(), TaskTracker::new());
        let place = ModelEndpointConfig {
            url: format!("{}/v1", model.url()),
            key_env: None,
            calling: Some(toolyard_agent::model::CallingMode::Native),
        };
        let mut config = AssistantConfig {
            server: url.clone(),
            data: folder.path().join("assistant.db"),
            model: Some("local/scripted".to_owned()),
            models: [("local".to_owned(), place)].into(),
            local_servers: false,
            ..AssistantConfig::default()
        };
        // Pages turn at once, and there are no delay notices unless a test sets them.
        config.answer.reading = ReadingTime { least_ms: 30, letter_ms: 0, most_ms: 30 };
        config.answer.acknowledge_ms = 20_000;
        change(&mut config);
        let http = HttpClient::new(Guard::unrestricted(), ClientSettings::default());
        let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let keys = Default::default();
        let mut stage = Self { model, url, http, config, keys, address, running: None, tasks, stop, folder };
        let body = registration_body(&stage.config, &format!("http://{address}"));
        let created = stage.ask(None, Method::POST, "/api/apps", body).await;
        let text = |name: &str| created[name].as_str().unwrap().to_owned();
        stage.keys = (text("apiKey"), text("signingSecret"));
        stage.run().await;
        stage
    }

    /// Starts the assistant.
    pub(crate) async fn run(&mut self) {
        let (key, secret) = self.keys.clone();
        let world = SystemPorts::new(|_| None);
        let assistant = Assistant::new(self.config.clone(), &SecretText::new(key.as_str()), world).unwrap();
        let builder =
            AppServer::builder(ASSISTANT).server(self.url.clone()).api_key(key).signing_secret(secret);
        let app = assistant.add_to(builder).unwrap().build().unwrap();
        let listener = TcpListener::bind(self.address).await.unwrap();
        let (serving, token) = (app.clone(), self.stop.child_token());
        let stop = token.clone();
        let running = self.tasks.spawn(async move { serving.serve(listener, token).await.unwrap() });
        self.running = Some((stop, running));
        app.register().await.unwrap();
    }

    /// Stops the assistant.
    pub(crate) async fn end(&mut self) {
        let (stop, running) = self.running.take().unwrap();
        stop.cancel();
        soon(running).await.unwrap();
    }

    /// The file with the conversations.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("assistant.db")
    }

    /// A request; in dev mode a user name is enough.
    pub(crate) async fn ask(&self, user: Option<&str>, method: Method, path: &str, body: Value) -> Value {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        request = request.header("content-type", "application/json");
        if let Some(user) = user {
            request = request.header("x-user-id", user);
        }
        let request = request.body(Full::new(Bytes::from(body.to_string()))).unwrap();
        let response = self.http.send(request).await.unwrap();
        let status = response.status;
        let text = String::from_utf8(response.bytes(1024 * 1024).await.unwrap().to_vec()).unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    pub(crate) async fn install(&self, user: &str, package: &str) {
        self.ask(Some(user), Method::PUT, &format!("/api/installs/{package}"), json!({})).await;
    }

    /// What the user chooses in the assistant's settings.
    pub(crate) async fn choose(&self, user: &str, values: Value) {
        self.ask(Some(user), Method::PUT, &format!("/api/settings/apps/{ASSISTANT}"), values).await;
    }

    /// The to-do app, installed for a user.
    pub(crate) async fn todo(&self, user: &str) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let body = json!({ "packageName": TODO, "publicUrl": url, "kind": "session", "appType": "standard" });
        let created = self.ask(None, Method::POST, "/api/apps", body).await;
        let text = |name: &str| created[name].as_str().unwrap().to_owned();
        let builder = AppServer::builder(TODO).server(self.url.clone());
        let builder = builder.api_key(text("apiKey")).signing_secret(text("signingSecret"));
        let app = toolyard_todo::add_to(builder).unwrap().build().unwrap();
        let (serving, token) = (app.clone(), self.stop.child_token());
        self.tasks.spawn(async move { serving.serve(listener, token).await });
        app.register().await.unwrap();
        self.install(user, TODO).await;
    }

    /// An app that only answers calls, with these tools, installed for a user.
    pub(crate) async fn app(&self, user: &str, package: &str, more: Value) -> FakeApp {
        let app = FakeApp::start(package).await;
        let mut body = json!({ "packageName": package, "publicUrl": app.url(), "kind": "tools-only" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.ask(None, Method::POST, "/api/apps", body).await;
        self.install(user, package).await;
        app
    }

    /// The echo app.
    pub(crate) async fn echo(&self, user: &str) -> FakeApp {
        self.app(user, ECHO, json!({ "tools": [echo_tool(json!({}))] })).await
    }

    /// A user with glasses who has the assistant open, with the grant.
    pub(crate) async fn user(&self, name: &str, glasses: &str) -> Glasses {
        let device = self.device(name, glasses).await;
        self.ask(Some(name), Method::PUT, &format!("/api/installs/{ASSISTANT}/assistant"), json!({})).await;
        self.open(device, name).await
    }

    /// A user with glasses who has installed the assistant.
    pub(crate) async fn device(&self, name: &str, glasses: &str) -> Glasses {
        self.install(name, ASSISTANT).await;
        let url = format!("{}/glasses-ws?user={name}", self.url.replace("http", "ws"));
        let (socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
        let mut device = Glasses { socket, happened: Vec::new() };
        device.wears(glasses).await;
        device
    }

    /// Opens the assistant, and waits until it listens.
    pub(crate) async fn open(&self, mut device: Glasses, name: &str) -> Glasses {
        self.ask(Some(name), Method::POST, &format!("/api/session/apps/{ASSISTANT}/start"), json!({})).await;
        loop {
            let session = self.ask(Some(name), Method::GET, "/api/session", json!({})).await;
            let apps = session["apps"].as_array().unwrap();
            let ours = apps.iter().find(|app| app["packageName"] == ASSISTANT);
            // The last of its subscriptions; they are confirmed in order.
            if ours.is_some_and(|app| app["subscriptions"].to_string().contains("button_press")) {
                device.ping().await;
                return device;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Closes the assistant.
    pub(crate) async fn close(&self, name: &str) {
        self.ask(Some(name), Method::POST, &format!("/api/session/apps/{ASSISTANT}/stop"), json!({})).await;
    }

    /// The texts of the last model request, one line each.
    pub(crate) fn conversation(&self) -> Vec<String> {
        let seen = self.model.requests();
        let messages = seen.last().unwrap().body["messages"].as_array().unwrap().clone();
        messages.iter().filter(|message| message["role"] != "system").map(words).collect()
    }

    /// The system prompt of the last model request.
    pub(crate) fn system(&self) -> String {
        self.model.requests().last().unwrap().body["messages"][0]["content"].as_str().unwrap().to_owned()
    }
}

fn words(message: &Value) -> String {
    let content = &message["content"];
    let text = content.as_str().or_else(|| content[0]["text"].as_str()).unwrap_or_default();
    format!("{}: {text}", message["role"].as_str().unwrap())
}

/// A tool that returns its text.
pub(crate) fn echo_tool(more: Value) -> Value {
    let mut tool = json!({ "name": "echo", "title": "Echo", "description": "Says it again", "inputSchema": { "type": "object",
        "properties": { "text": { "type": "string" } } } });
    tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    tool
}

/// The glasses of one user.
pub(crate) struct Glasses {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// Everything that was shown or spoken so far: kind and text.
    pub(crate) happened: Vec<(String, String)>,
}

impl Glasses {
    pub(crate) async fn send(&mut self, message: Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    pub(crate) async fn wears(&mut self, model: &str) {
        self.send(json!({ "type": "glasses_connection_state", "modelName": model, "status": "CONNECTED" }))
            .await;
        self.ping().await;
    }

    /// Messages are handled in order, so after this response all earlier ones were handled.
    pub(crate) async fn ping(&mut self) {
        self.send(json!({ "type": "ping" })).await;
        self.hear("pong").await;
    }

    /// The user says something.
    pub(crate) async fn say(&mut self, text: &str) {
        self.say_in("en-US", text).await;
    }

    pub(crate) async fn say_in(&mut self, language: &str, text: &str) {
        let heard = json!({ "type": "local_transcription", "text": text, "isFinal": true, "transcribeLanguage": language });
        self.send(heard).await;
    }

    /// With a recognizer that distinguishes speakers.
    pub(crate) async fn say_as(&mut self, speaker: Option<&str>, text: &str) {
        let heard = json!({ "type": "local_transcription", "text": text, "isFinal": true, "transcribeLanguage": "en-US",
            "speakerId": speaker });
        self.send(heard).await;
    }

    pub(crate) async fn press(&mut self) {
        self.send(json!({ "type": "button_press", "buttonId": "main", "pressType": "short" })).await;
    }

    /// The next message of that type. Speech requests are confirmed at once.
    pub(crate) async fn hear(&mut self, kind: &str) -> Value {
        let looking = async {
            loop {
                let message = self.next().await;
                if message["type"] == kind {
                    return message;
                }
            }
        };
        soon(looking).await
    }

    async fn next(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.next().await.unwrap().unwrap() {
                let message: Value = serde_json::from_str(&text).unwrap();
                let (kind, text) = match message["type"].as_str().unwrap() {
                    "display_event" => ("shown", message["layout"]["text"].as_str()),
                    "audio_play_request" => ("spoken", message["text"].as_str()),
                    _ => ("", None),
                };
                if !kind.is_empty() {
                    self.happened.push((kind.to_owned(), text.unwrap_or_default().replace('\n', " ")));
                }
                if kind == "spoken" {
                    let id = message["requestId"].clone();
                    self.send(json!({ "type": "audio_play_response", "requestId": id, "success": true }))
                        .await;
                }
                return message;
            }
        }
    }

    /// Waits until a text is shown that contains this, and returns it as one line.
    pub(crate) async fn sees(&mut self, part: &str) -> String {
        let mut seen = Vec::new();
        let looking = async {
            loop {
                let shown = self.hear("display_event").await;
                let text = shown["layout"]["text"].as_str().unwrap_or_default().replace('\n', " ");
                if text.contains(part) {
                    return text;
                }
                seen.push(text);
            }
        };
        match timeout(PATIENCE / 2, looking).await {
            Ok(text) => text,
            Err(_) => panic!("{part:?} was not shown, but {seen:#?}"),
        }
    }

    /// Waits until the display is cleared.
    pub(crate) async fn sees_nothing(&mut self) {
        while self.hear("display_event").await["layout"]["text"].as_str().is_some_and(|text| !text.is_empty())
        {
        }
    }

    /// Everything from the message with that number on, until a text contains this.
    pub(crate) async fn since(&mut self, first: usize, part: &str) -> Vec<(String, String)> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while !self.happened[first..].iter().any(|(_, text)| text.contains(part)) {
            let next = tokio::time::timeout_at(deadline, self.next()).await;
            assert!(next.is_ok(), "{part:?} did not come, but {:#?}", &self.happened[first..]);
        }
        self.happened[first..].to_vec()
    }

    /// Everything from now on, until a text contains this.
    pub(crate) async fn until(&mut self, part: &str) -> Vec<(String, String)> {
        self.since(self.happened.len(), part).await
    }

    /// The next text that is spoken.
    pub(crate) async fn spoken(&mut self) -> String {
        self.hear("audio_play_request").await["text"].as_str().unwrap().to_owned()
    }
}

#[test]
fn the_registration_is_one() {
    let body = registration_body(&AssistantConfig::default(), "http://127.0.0.1:7011");
    assert_eq!(body["settings"], choices::setting_definitions(AssistantConfig::default().history.keep));
    assert_eq!((&body["appType"], &body["kind"]), (&json!("background"), &json!("session")));
}
