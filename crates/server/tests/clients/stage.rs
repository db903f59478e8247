//! A server with three apps and an upstream, for Ada, who connects with somebody else's client.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_protocol::ToolName;
use toolyard_server::{
    Server, ServerDependencies,
    auth::Role,
    config::{AuthMode, Config},
};
use toolyard_testkit::{
    AppBehavior, FakeApp,
    authorization::{GuardedUpstream, sign_in_at_upstream},
    upstream::{FakeUpstream, FixtureSet, UpstreamEra, UpstreamOptions},
};
use url::Url;

/// How long anything may take before a test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// So few that the lists have several pages.
const PAGE_SIZE: usize = 10;
/// The app that is installed while a client is connected.
const LATE: &str = "com.example.late";
/// The upstream where users sign in.
pub(crate) const GUARDED: &str = "guarded";

/// How Ada gets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Dev mode: her name in a header.
    Header,
    /// Token mode: a bearer token.
    Token,
}

/// Who asks, as headers.
type Headers = Vec<(&'static str, String)>;

pub(crate) struct Stage {
    pub(crate) url: String,
    /// Ada's headers.
    pub(crate) ada: Headers,
    /// The app that never answers.
    pub(crate) slow: FakeApp,
    /// The app that tells how far it is: two lines, and the result in a third, each when it is let through.
    pub(crate) steps: FakeApp,
    operator: Headers,
    http: HttpClient,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<()>,
    _apps: Vec<FakeApp>,
    _upstream: FakeUpstream,
    _folder: tempfile::TempDir,
}

impl Stage {
    pub(crate) async fn start(access: Access) -> Self {
        Self::start_with(access, None).await
    }

    /// The same, with another client for the server's own requests.
    pub(crate) async fn start_with(access: Access, http: Option<HttpClient>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        // The lists are those of the upstream, and no more.
        config.builtin.enabled = false;
        config.server.listen = ([127, 0, 0, 1], 0).into();
        config.server.drain_ms = 2_000;
        config.store.path = folder.path().join("toolyard.db");
        config.mcp.page_size = PAGE_SIZE;
        if access == Access::Token {
            config.auth.mode = Some(AuthMode::Token);
            config.net.allow_loopback = Some(true);
        }
        let server = Server::start(config, ServerDependencies { http, ..ServerDependencies::default() })
            .await
            .unwrap();
        let token = |name: &str, role: Role| {
            let token =
                server.state.tokens.issue_unlisted(name, role, server.state.clock.now(), 3_600).unwrap();
            vec![("authorization", format!("Bearer {token}"))]
        };
        let (operator, ada) = match access {
            Access::Header => (Vec::new(), vec![("x-user-id", "ada".to_owned())]),
            Access::Token => (token("olga", Role::Operator), token("ada", Role::User)),
        };
        let (url, stop) = (format!("http://{}", server.address), CancellationToken::new());
        #[expect(clippy::disallowed_methods, reason = "the test waits for it in `end`")]
        let running = tokio::spawn(server.run(stop.clone()));
        let upstream = FakeUpstream::start_with(UpstreamOptions {
            fixtures: FixtureSet::Conformance,
            ..UpstreamOptions::default()
        })
        .await;
        let mut stage = Self {
            url,
            ada,
            slow: FakeApp::start("com.example.slow").await,
            steps: FakeApp::start("com.example.steps").await,
            operator,
            http: HttpClient::new(Guard::unrestricted(), ClientSettings::default()),
            stop,
            running,
            _apps: Vec::new(),
            _upstream: upstream,
            _folder: folder,
        };
        stage.furnish().await;
        stage
    }

    async fn furnish(&mut self) {
        let echo = FakeApp::start("com.example.echo").await;
        echo.set_behavior(AppBehavior::content(json!("hello back")));
        self.register(&echo, "com.example.echo", "echo").await;
        let lines = vec![
            json!({ "type": "progress", "progress": 0.5, "total": 2.5, "message": "half way" }),
            json!({ "type": "progress", "progress": 1.5, "total": 2.5 }),
            json!({ "type": "result", "success": true, "content": "done" }),
        ];
        self.steps.set_behavior(AppBehavior::Lines(lines));
        self.register(&self.steps, "com.example.steps", "count").await;
        self.slow.set_behavior(AppBehavior::Hang);
        self.register(&self.slow, "com.example.slow", "wait").await;
        let late = FakeApp::start(LATE).await;
        self.register(&late, LATE, "new").await;
        for package in ["com.example.echo", "com.example.steps", "com.example.slow"] {
            self.install(package).await;
        }
        self._apps = vec![echo, late];
        let new = json!({ "id": "fixture", "url": self._upstream.url(), "forAll": true });
        self.operator(Method::POST, "/api/upstreams", Some(new)).await;
        // Each asking reads the lists anew, so this is no waiting in the dark.
        while self.operator(Method::POST, "/api/upstreams/fixture/refresh", None).await["status"]["tools"]
            == 0
        {}
    }

    async fn register(&self, app: &FakeApp, package: &str, tool: &str) {
        let tool = json!({ "name": tool, "description": format!("The tool {tool}"), "inputSchema": {
            "type": "object", "properties": { "text": { "type": "string" } } } });
        let body = json!({ "packageName": package, "name": package, "publicUrl": app.url(),
            "kind": "tools-only", "tools": [tool] });
        self.operator(Method::POST, "/api/apps", Some(body)).await;
    }

    async fn install(&self, package: &str) {
        self.ada(Method::PUT, &format!("/api/installs/{package}"), Some(json!({}))).await;
    }

    /// An upstream with OAuth, at which Ada signed in once and from which she removed her access. In dev mode only.
    pub(crate) async fn guard_upstream(&self) -> GuardedUpstream {
        let upstream = GuardedUpstream::start(UpstreamEra::Modern).await;
        let new = json!({ "id": GUARDED, "url": upstream.url(), "auth": "oauth", "forAll": true });
        self.operator(Method::POST, "/api/upstreams", Some(new)).await;
        sign_in_at_upstream(&self.url, "ada", GUARDED).await;
        self.ada(Method::DELETE, &format!("/api/upstreams/{GUARDED}/authorize"), None).await;
        upstream
    }

    /// Installs the app that was not there before.
    pub(crate) async fn install_late(&self) {
        self.install(LATE).await;
    }

    pub(crate) async fn remove_late(&self) {
        self.ada(Method::DELETE, &format!("/api/installs/{LATE}"), None).await;
    }

    /// Ada wants to be asked before each call of this tool.
    pub(crate) async fn ask_before(&self, tool: &str) {
        let choice = Some(json!({ "choice": "ask" }));
        self.ada(Method::PUT, &format!("/api/approvals/choices/{tool}"), choice).await;
    }

    /// Ada's browser: follows a client's link to the consent page, where she allows what is asked. Returns the URL that the
    /// browser opens next.
    pub(crate) async fn agree(&self, link: &str) -> String {
        let page = Request::get(link).body(Full::new(Bytes::new())).unwrap();
        let page = self.http.send(page).await.unwrap();
        assert_eq!(page.status, StatusCode::FOUND, "{link}");
        let consent = Url::parse(page.headers["location"].to_str().unwrap()).unwrap();
        let (_, request) = consent.query_pairs().find(|(name, _)| name == "request").unwrap();
        let body = json!({ "request": request, "approve": true });
        let decided = self.ada(Method::POST, "/api/oauth/consent", Some(body)).await;
        decided["redirect"].as_str().unwrap().to_owned()
    }

    /// Ada answers the next call that waits for her.
    pub(crate) async fn answer_next(&self, answer: &str) {
        let id = loop {
            let list = self.ada(Method::GET, "/api/approvals?state=pending", None).await;
            if let Some(id) = list["approvals"][0]["id"].as_str() {
                break id.to_owned();
            }
        };
        self.ada(Method::POST, &format!("/api/approvals/{id}"), Some(json!({ "answer": answer }))).await;
    }

    /// What Ada has, as MCP clients see the names. She must be here.
    pub(crate) async fn aliases(&self) -> Vec<String> {
        let listed = self.ada(Method::GET, "/api/tools", None).await;
        let tools = listed["tools"].as_array().unwrap().iter();
        let alias = |name: &str| name.parse::<ToolName>().unwrap().alias().to_string();
        let mut aliases: Vec<_> = tools.map(|tool| alias(tool["name"].as_str().unwrap())).collect();
        aliases.sort();
        assert!(aliases.len() > 3 * PAGE_SIZE, "{aliases:?}");
        aliases
    }

    /// Where the MCP server is.
    pub(crate) fn mcp(&self) -> String {
        format!("{}/mcp", self.url)
    }

    /// How a program connects over HTTP.
    pub(crate) fn plan(&self) -> Value {
        let headers = self.ada.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
        json!({ "url": self.mcp(), "headers": headers.collect::<serde_json::Map<_, _>>() })
    }

    /// The same, for a program that has to be told which revisions it should try.
    pub(crate) fn plan_of(&self, era: &str) -> Value {
        let mut plan = self.plan();
        plan["era"] = era.into();
        plan
    }

    /// Where a WebSocket opens, once, without headers.
    pub(crate) async fn socket(&self) -> String {
        let ticket = self.ada(Method::POST, "/api/mcp/ticket", Some(json!({}))).await;
        let address = self.url.replace("http", "ws");
        format!("{address}/mcp/ws?ticket={}", ticket["ticket"].as_str().unwrap())
    }

    async fn ada(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        self.ask(&self.ada, method, path, body).await
    }

    async fn operator(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        self.ask(&self.operator, method, path, body).await
    }

    async fn ask(&self, headers: &Headers, method: Method, path: &str, body: Option<Value>) -> Value {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.header("content-type", "application/json");
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let answer = self.http.send(request.body(Full::new(Bytes::from(body))).unwrap()).await.unwrap();
        let status = answer.status;
        let bytes = answer.bytes(1024 * 1024).await.unwrap();
        assert!(status.is_success(), "{path}: {status}: {}", String::from_utf8_lossy(&bytes));
        if status == StatusCode::NO_CONTENT { Value::Null } else { serde_json::from_slice(&bytes).unwrap() }
    }

    /// Stops the server and waits until it has drained.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.running.await.unwrap();
    }
}
