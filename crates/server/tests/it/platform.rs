//! A whole platform for one test: server, store, clock, and clients.

use std::{path::PathBuf, sync::Arc};

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{Message, client::IntoClientRequest as _},
};
use tokio_util::sync::CancellationToken;
use toolyard_core::ports::{Clock as _, SystemIds};
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_protocol::app::AppKind;
use toolyard_server::{
    ConsoleFiles, Server, ServerDependencies, ServerState, WorkerCommand,
    auth::Role,
    config::{AuthMode, Config, ConfigSources, load_config},
    reload::ReloadSources,
};
use toolyard_testkit::{FakeApp, FixedClock};

/// The default test tool.
pub(crate) const ECHO: &str = "com.example.echo";

/// The variables of the server.
pub(crate) const ENVIRONMENT: [(&str, &str); 6] = [
    ("PATH", "/usr/bin:/bin"),
    ("HOME", "/tmp"),
    ("UPSTREAM_KEY", "sesame"),
    ("UNNAMED", "nobody's business"),
    ("SCRAPE_TOKEN", "metrics-and-nothing-else"),
    ("SHORT_TOKEN", "too short"),
];

pub(crate) struct Platform {
    pub(crate) state: ServerState,
    pub(crate) clock: Arc<FixedClock>,
    pub(crate) url: String,
    http: HttpClient,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<()>,
    folder: Option<tempfile::TempDir>,
    config: Config,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The response, which must have this status.
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }

    /// The code of a failed call.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// Dependencies that a test replaces.
struct Outside {
    console: ConsoleFiles,
    http: Option<HttpClient>,
    reload: Option<ReloadSources>,
}

impl Default for Outside {
    fn default() -> Self {
        Self { console: ConsoleFiles::new(Vec::new()), http: None, reload: None }
    }
}

/// This test program as a worker, through a test that is not a test.
fn worker() -> WorkerCommand {
    let arguments = ["platform::serves_as_worker", "--exact", "--ignored", "--nocapture", "--test-threads=1"];
    WorkerCommand {
        program: std::env::current_exe().unwrap(),
        arguments: arguments.map(str::to_owned).to_vec(),
    }
}

#[test]
#[ignore = "the server under test starts it, as its worker"]
fn serves_as_worker() {
    toolyard_server::serve_worker()
}

/// The URL of an empty database, if these tests run on PostgreSQL: `TOOLYARD_TEST_STORE=postgres`. It outlives the platform, which may
/// be restarted.
#[expect(clippy::disallowed_methods, reason = "the tests are a program of their own")]
fn shared_database() -> Option<String> {
    let is_wanted = std::env::var("TOOLYARD_TEST_STORE").as_deref() == Ok("postgres");
    is_wanted.then(toolyard_testkit::postgres::database_for_process)
}

impl Platform {
    /// A platform in dev mode.
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// A platform with other settings.
    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self::with_outside(Outside::default(), change).await
    }

    /// A platform with other settings and these console files. By default there are none.
    pub(crate) async fn with_console(files: ConsoleFiles, change: impl FnOnce(&mut Config)) -> Self {
        Self::with_outside(Outside { console: files, ..Outside::default() }, change).await
    }

    /// A platform with another HTTP client.
    pub(crate) async fn with_http(change: impl FnOnce(&mut Config), http: Option<HttpClient>) -> Self {
        Self::with_outside(Outside { http, ..Outside::default() }, change).await
    }

    /// A platform whose configuration is this file. It can be changed with [`Platform::write_file`].
    pub(crate) async fn with_file(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (file, database) = (folder.path().join("toolyard.toml"), folder.path().join("toolyard.db"));
        std::fs::write(&file, text).unwrap();
        let variable = |name: &str, value: &str| (format!("TOOLYARD_{name}"), value.to_owned());
        let mut environment = vec![
            variable("SERVER__LISTEN", "127.0.0.1:0"),
            variable("STORE__PATH", database.to_str().unwrap()),
            variable("LEDGER__BATCH_DELAY_MS", "1"),
            variable("BUILTIN__ENABLED", "false"),
            variable("MODEL_SEARCH__LOCAL_SERVERS", "false"),
        ];
        environment.extend(shared_database().map(|url| variable("STORE__URL", &url)));
        let sources = ConfigSources { file: Some(file), environment, flags: Vec::new() };
        let loaded = load_config(sources.clone()).unwrap();
        let reload = ReloadSources { sources, loaded: loaded.clone(), log_filter: None, stop_timeout: None };
        let outside = Outside { reload: Some(reload), ..Outside::default() };
        Self::run_with(loaded, Some(folder), Arc::default(), outside).await
    }

    /// Changes the configuration file.
    pub(crate) fn write_file(&self, text: &str) {
        let folder = self.folder.as_ref().unwrap();
        std::fs::write(folder.path().join("toolyard.toml"), text).unwrap();
    }

    async fn with_outside(outside: Outside, change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.server.listen = ([127, 0, 0, 1], 0).into();
        config.store.path = folder.path().join("toolyard.db");
        config.store.url = shared_database();
        config.server.drain_ms = 2_000;
        config.ledger.batch_delay_ms = 1;
        // Tests are explicit: no built-in tools, no models of this machine.
        config.builtin.enabled = false;
        config.model_search.local_servers = false;
        config.apps.default_kind = AppKind::Session;
        change(&mut config);
        Self::run_with(config, Some(folder), Arc::default(), outside).await
    }

    pub(crate) async fn run(
        config: Config,
        folder: Option<tempfile::TempDir>,
        clock: Arc<FixedClock>,
    ) -> Self {
        Self::run_with(config, folder, clock, Outside::default()).await
    }

    async fn run_with(
        config: Config,
        folder: Option<tempfile::TempDir>,
        clock: Arc<FixedClock>,
        Outside { console, http, reload }: Outside,
    ) -> Self {
        let environment = ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (clock_of_all, ids) = (clock.clone(), Arc::new(SystemIds));
        let worker = Some(worker());
        let world = ServerDependencies {
            clock: clock_of_all,
            ids,
            console,
            http,
            worker,
            reload,
            ..ServerDependencies::with_environment(&environment)
        };
        let server = Server::start(config.clone(), world).await.unwrap();
        let (state, address, stop) = (server.state.clone(), server.address, CancellationToken::new());
        #[expect(clippy::disallowed_methods, reason = "the test waits for it in `stop`")]
        let running = tokio::spawn(server.run(stop.clone()));
        let mut config = config;
        // After a restart it must have the same address.
        config.server.listen = address;
        Self {
            state,
            clock,
            url: format!("http://{address}"),
            http: HttpClient::new(Guard::unrestricted(), ClientSettings::default()),
            stop,
            running,
            folder,
            config,
        }
    }

    /// Stops the server and waits until it has drained.
    pub(crate) async fn stop(self) -> (Config, Option<tempfile::TempDir>, Arc<FixedClock>) {
        self.stop.cancel();
        self.running.await.unwrap();
        (self.config, self.folder, self.clock)
    }

    /// Stops it, and starts it again on the same data and address.
    pub(crate) async fn restart(self) -> Self {
        let (config, folder, clock) = self.stop().await;
        Self::run(config, folder, clock).await
    }

    /// The same with other settings.
    pub(crate) async fn restart_with(self, change: impl FnOnce(&mut Config)) -> Self {
        let (mut config, folder, clock) = self.stop().await;
        change(&mut config);
        Self::run(config, folder, clock).await
    }

    pub(crate) fn begin_stop(&self) {
        self.stop.cancel();
    }

    /// The settings of the server.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.config.store.path.clone()
    }

    /// A token of this server.
    pub(crate) fn token(&self, name: &str, role: Role) -> String {
        self.state.tokens.issue_unlisted(name, role, self.clock.now(), 3_600).unwrap()
    }

    /// A client with these headers.
    pub(crate) fn as_with(&self, headers: &[(&str, &str)]) -> Person<'_> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Person { platform: self, headers }
    }

    /// A client without a credential; in dev mode the operator.
    pub(crate) fn nobody(&self) -> Person<'_> {
        self.as_with(&[])
    }

    /// A user by header alone.
    pub(crate) fn user(&self, name: &str) -> Person<'_> {
        self.as_with(&[("x-user-id", name)])
    }

    /// A client with a token.
    pub(crate) fn bearer(&self, token: &str) -> Person<'_> {
        self.as_with(&[("authorization", &format!("Bearer {token}"))])
    }

    /// A device of the user, connected.
    pub(crate) async fn device(&self, user: &str) -> Device {
        let url = format!("{}/glasses-ws?user={user}", self.url.replace("http", "ws"));
        Device::connect(&url, None).await
    }

    /// Registers an app of the fake, with tools, and gives it its key.
    pub(crate) async fn register(&self, app: &FakeApp, body: Value) -> Value {
        let mut body = body;
        body["publicUrl"] = app.url().into();
        let created = self.nobody().post("/api/apps", &body).await.expect(201).json();
        app.set_api_key(created["apiKey"].as_str().unwrap());
        created
    }

    /// A tools-only echo app, registered and installed for ada, who has a session.
    pub(crate) async fn echo(&self) -> (FakeApp, Device) {
        self.echo_like(json!({})).await
    }

    /// The echo app with other details.
    pub(crate) async fn echo_like(&self, details: Value) -> (FakeApp, Device) {
        let app = FakeApp::start(ECHO).await;
        let mut body =
            json!({ "packageName": ECHO, "name": "Echo", "kind": "tools-only", "tools": [echo_tool()] });
        body.as_object_mut().unwrap().extend(details.as_object().unwrap().clone());
        self.register(&app, body).await;
        self.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
        let device = self.device("ada").await;
        (app, device)
    }

    /// Ada calls echo.
    pub(crate) async fn call_echo(&self) -> Answer {
        self.user("ada").call(&format!("{ECHO}:echo"), json!({ "text": "hi" })).await
    }
}

pub(crate) fn echo_tool() -> Value {
    json!({ "name": "echo", "description": "Says it again", "inputSchema": { "type": "object",
        "properties": { "text": { "type": "string" } }, "required": ["text"] } })
}

/// A client.
#[derive(Clone)]
pub(crate) struct Person<'a> {
    platform: &'a Platform,
    headers: Vec<(String, String)>,
}

impl Person<'_> {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<String>) -> Answer {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.platform.url));
        if body.is_some() && !self.headers.iter().any(|(name, _)| name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(body.unwrap_or_default()))).unwrap();
        let response = self.platform.http.send(request).await.unwrap();
        let (status, headers) = (response.status, response.headers.clone());
        let text = String::from_utf8(response.bytes(64 * 1024 * 1024).await.unwrap().to_vec()).unwrap();
        Answer { status, headers, text }
    }

    /// A request whose response is read as a stream.
    pub(crate) async fn open(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> toolyard_net::HttpResponse {
        self.open_raw(method, path, body.map(|body| body.to_string()).unwrap_or_default()).await
    }

    /// The same with a raw body.
    pub(crate) async fn open_raw(
        &self,
        method: Method,
        path: &str,
        body: String,
    ) -> toolyard_net::HttpResponse {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.platform.url));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.header("content-type", "application/json");
        self.platform.http.send(request.body(Full::new(Bytes::from(body))).unwrap()).await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, Some(body.to_string())).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, Some(body.to_string())).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PATCH, path, Some(body.to_string())).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None).await
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.post("/api/tools/execute", &json!({ "name": tool, "arguments": arguments })).await
    }

    /// The names in the user's list of tools.
    pub(crate) async fn tools(&self) -> Vec<String> {
        let list = self.get("/api/tools").await.expect(200).json();
        list["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// A device's socket.
pub(crate) struct Device(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Device {
    pub(crate) async fn connect(url: &str, token: Option<&str>) -> Self {
        let mut request = url.into_client_request().unwrap();
        if let Some(token) = token {
            request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        let (socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
        let mut device = Self(socket);
        device.hear("connection_ack").await.unwrap();
        device
    }

    pub(crate) async fn say(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    pub(crate) async fn wears(&mut self, model: &str) {
        self.say(json!({ "type": "glasses_connection_state", "modelName": model, "status": "CONNECTED" }))
            .await;
        self.synced().await;
    }

    /// Messages are processed in order: all earlier ones are processed when this one is confirmed.
    pub(crate) async fn synced(&mut self) {
        self.say(json!({ "type": "ping" })).await;
        self.hear("pong").await.unwrap();
    }

    pub(crate) async fn send_sound(&mut self, sound: &[u8]) {
        self.0.send(Message::binary(sound.to_vec())).await.unwrap();
    }

    /// The next message of this type; others are skipped. None when the socket is closed.
    pub(crate) async fn hear(&mut self, kind: &str) -> Option<Value> {
        while let Some(Ok(message)) = self.0.next().await {
            match message {
                Message::Text(text) => {
                    let message: Value = serde_json::from_str(&text).unwrap();
                    if message["type"] == kind {
                        return Some(message);
                    }
                }
                Message::Close(_) => return None,
                _ => {}
            }
        }
        None
    }

    /// All messages up to and including the first that matches.
    pub(crate) async fn collect_until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut heard = Vec::new();
        while let Some(Ok(message)) = self.0.next().await {
            let Message::Text(text) = message else { continue };
            heard.push(serde_json::from_str(&text).unwrap());
            if heard.last().is_some_and(&fits) {
                return heard;
            }
        }
        panic!("the socket closed after {heard:?}");
    }

    /// Waits for the close of the socket and returns its code.
    pub(crate) async fn closed(&mut self) -> Option<u16> {
        while let Some(Ok(message)) = self.0.next().await {
            if let Message::Close(frame) = message {
                return frame.map(|frame| frame.code.into());
            }
        }
        None
    }

    /// The text of the next display.
    pub(crate) async fn sees(&mut self) -> String {
        let picture = self.hear("display_event").await.unwrap();
        match picture["layout"]["layoutType"].as_str().unwrap() {
            "clear_view" => "(clear)".to_owned(),
            _ => picture["layout"]["text"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

/// A platform in token mode that may call apps on this machine.
pub(crate) fn tokens_only(config: &mut Config) {
    config.auth.mode = Some(AuthMode::Token);
    config.net.allow_loopback = Some(true);
}
