//! A server with a scripted model and an app, for Ada, who chats with somebody else's client.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_server::{
    Server, ServerDependencies,
    auth::Role,
    config::{AuthMode, CallingMode, Config, ModelConfig},
};
use toolyard_testkit::{FakeApp, model::ScriptedModel};

use crate::program::Program;

/// How long anything may take before a test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// The model that answers.
pub(crate) const MODEL: &str = "local/scripted";
/// A model that cannot be reached.
pub(crate) const GONE: &str = "gone/scripted";
const PACKAGE: &str = "com.example.echo";
/// The app's tool, by its full name.
pub(crate) const ECHO: &str = "com.example.echo:echo";
/// The same as models and clients see it.
pub(crate) const ALIAS: &str = "com_example_echo__echo";

/// The text that the tool may say only after Ada's yes.
pub(crate) const ASKED_ABOUT: &str = "a secret";

/// How Ada gets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Dev mode: her name in a header.
    Header,
    /// Token mode: a bearer token.
    Token,
}

pub(crate) struct Stage {
    pub(crate) model: ScriptedModel,
    /// The app with the one tool of Ada's.
    pub(crate) app: FakeApp,
    url: String,
    operator: String,
    ada: String,
    access: Access,
    http: HttpClient,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl Stage {
    pub(crate) async fn start(access: Access) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = ScriptedModel::start().await;
        model.serve_path(
            "/v1/models",
            json!({ "object": "list", "data": [{ "id": "scripted", "object": "model" }] }),
        );
        let server =
            Server::start(config(&folder, &model, access), ServerDependencies::default()).await.unwrap();
        let token = |name: &str, role: Role| {
            server.state.tokens.issue_unlisted(name, role, server.state.clock.now(), 3_600).unwrap()
        };
        let (operator, ada) = (token("olga", Role::Operator), token("ada", Role::User));
        let (url, stop) = (format!("http://{}", server.address), CancellationToken::new());
        #[expect(clippy::disallowed_methods, reason = "the test waits for it in `end`")]
        let running = tokio::spawn(server.run(stop.clone()));
        let stage = Self {
            model,
            app: FakeApp::start(PACKAGE).await,
            url,
            operator,
            ada,
            access,
            http: HttpClient::new(Guard::unrestricted(), ClientSettings::default()),
            stop,
            running,
            _folder: folder,
        };
        stage.furnish().await;
        stage
    }

    async fn furnish(&self) {
        let tool = json!({ "name": "echo", "title": "Echo", "description": "Says it again", "inputSchema": {
            "type": "object", "properties": { "text": { "type": "string" } } } });
        let app = json!({ "packageName": PACKAGE, "name": "Echo", "publicUrl": self.app.url(),
            "kind": "tools-only", "tools": [tool] });
        self.ask("olga", &self.operator, Method::POST, "/api/apps", app).await;
        self.ask("ada", &self.ada, Method::PUT, &format!("/api/installs/{PACKAGE}"), json!({})).await;
    }

    async fn ask(&self, name: &str, token: &str, method: Method, path: &str, body: Value) {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        request = match self.access {
            Access::Header if name == "ada" => request.header("x-user-id", name),
            Access::Header => request,
            Access::Token => request.header("authorization", format!("Bearer {token}")),
        };
        let request = request.header("content-type", "application/json");
        let answer = self.http.send(request.body(Full::new(Bytes::from(body.to_string()))).unwrap()).await;
        let status = answer.unwrap().status;
        assert!(status.is_success(), "{path}: {status}");
    }

    /// Starts a program that uses this client, as Ada.
    pub(crate) async fn program(&self, file: &str, client: &str) -> Program {
        let headers = match self.access {
            Access::Header => json!({ "x-user-id": "ada" }),
            Access::Token => json!({ "authorization": format!("Bearer {}", self.ada) }),
        };
        let plan = json!({ "url": self.url, "headers": headers, "client": client });
        Program::start(file, &plan).await
    }

    /// Starts a program that wants a key. In dev mode it means nothing, and a header says who it is.
    pub(crate) async fn program_with_key(&self, file: &str) -> Program {
        let (key, headers) = match self.access {
            Access::Header => ("any", json!({ "x-user-id": "ada" })),
            Access::Token => (self.ada.as_str(), json!({})),
        };
        let plan = json!({ "url": self.url, "headers": headers, "key": key, "model": MODEL });
        Program::start(file, &plan).await
    }

    /// Stops the server and waits until it has drained.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.running.await.unwrap();
    }
}

fn config(folder: &tempfile::TempDir, model: &ScriptedModel, access: Access) -> Config {
    let mut config = Config::default();
    config.server.listen = ([127, 0, 0, 1], 0).into();
    config.server.drain_ms = 2_000;
    config.store.path = folder.path().join("toolyard.db");
    let native = ModelConfig { calling: Some(CallingMode::Native), ..ModelConfig::default() };
    let place = |url: String| ModelConfig { url: Some(url), ..native.clone() };
    config.models.insert("local".to_owned(), place(format!("{}/v1", model.url())));
    // A port that nobody listens on.
    config.models.insert("gone".to_owned(), place("http://127.0.0.1:1/v1".to_owned()));
    config.chat.model = Some(MODEL.to_owned());
    config.model_search.local_servers = false;
    let rule = json!({ "tools": [ECHO], "arguments": [{ "pointer": "/text", "equals": ASKED_ABOUT }], "decision": "ask" });
    config.approvals.rules = vec![serde_json::from_value(rule).unwrap()];
    if access == Access::Token {
        config.auth.mode = Some(AuthMode::Token);
        config.net.allow_loopback = Some(true);
    }
    config
}
