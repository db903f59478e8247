//! Kills the server (SIGKILL) at every step, restarts it on the same data, and checks what it remembers.

#![cfg(test)]

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use bytes::Bytes;
use futures_util::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_testkit::{AppBehavior, FakeApp, OnWebhook};

const PACKAGE: &str = "com.example.echo";

/// A server in its own process.
struct Server {
    child: Child,
    url: String,
    http: HttpClient,
}

impl Server {
    fn start(data: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolyard"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let url =
            lines.filter_map(|line| line.strip_prefix("listening on ").map(str::to_owned)).next().unwrap();
        Self { child, url, http: HttpClient::new(Guard::unrestricted(), ClientSettings::default()) }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The response, or `None` if the server died during the request.
    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Option<(u16, Value)> {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        let request = request.header("content-type", "application/json").header("x-user-id", "ada");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response =
            self.http.send(request.body(Full::new(Bytes::from(body.to_string()))).unwrap()).await.ok()?;
        let status = response.status.as_u16();
        let body = response.bytes(16 * 1024 * 1024).await.ok()?;
        Some((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    async fn call(&self, key: &str) -> Option<(u16, Value)> {
        let body = json!({ "name": format!("{PACKAGE}:echo"), "arguments": {} });
        self.send(Method::POST, "/api/tools/execute", &[("idempotency-key", key)], body).await
    }

    /// A session for ada, without which nothing can be called in dev mode.
    async fn device(&self) -> impl Sized + use<> {
        let url = self.url.replace("http", "ws") + "/glasses-ws?user=ada";
        let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
        socket.next().await.unwrap().unwrap();
        socket
    }

    async fn register(&self, app: &FakeApp, kind: &str) {
        let tools = json!([{ "name": "echo", "inputSchema": { "type": "object" } }]);
        let body = json!({ "packageName": PACKAGE, "publicUrl": app.url(), "kind": kind, "tools": tools });
        let (status, created) = self.send(Method::POST, "/api/apps", &[], body).await.unwrap();
        assert_eq!(status, 201, "{created}");
        app.set_api_key(created["apiKey"].as_str().unwrap());
        self.send(Method::PUT, &format!("/api/installs/{PACKAGE}"), &[], json!({})).await.unwrap();
    }
}

fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_call_under_way_is_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let app = FakeApp::start(PACKAGE).await;
    let server = Server::start(folder.path());
    server.register(&app, "tools-only").await;
    let device = server.device().await;
    app.set_behavior(AppBehavior::Hang);
    let server = Arc::new(server);
    let calling = {
        let server = server.clone();
        async move { server.call("k").await }
    };
    tokio::select! {
        _ = calling => panic!("the app hangs"),
        _ = app.wait_requests("/tool", 1) => {}
    }
    Arc::into_inner(server).unwrap().kill();
    drop(device);

    app.set_behavior(AppBehavior::reply("again"));
    let server = Server::start(folder.path());
    let _device = server.device().await;
    let (status, answer) = server.call("k").await.unwrap();
    assert_eq!((status, code(&answer)), (409, "OUTCOME_UNKNOWN"));
    assert_eq!(app.requests("/tool").len(), 1);
    assert_eq!(server.call("another").await.unwrap().0, 200);
    server.kill();
}

#[tokio::test]
async fn a_call_that_waits_for_its_app_is_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let app = FakeApp::start(PACKAGE).await;
    app.on_webhook(OnWebhook::Ignore);
    let server = Server::start(folder.path());
    server.register(&app, "session").await;
    let device = server.device().await;
    let server = Arc::new(server);
    let calling = {
        let server = server.clone();
        async move { server.call("k").await }
    };
    tokio::select! {
        _ = calling => panic!("the app never connects"),
        _ = app.wait_requests("/webhook", 1) => {}
    }
    Arc::into_inner(server).unwrap().kill();
    drop(device);

    let server = Server::start(folder.path());
    let _device = server.device().await;
    let (status, answer) = server.call("k").await.unwrap();
    assert_eq!((status, code(&answer)), (409, "OUTCOME_UNKNOWN"));
    assert!(app.requests("/tool").is_empty());
    server.kill();
}

#[tokio::test]
async fn an_outcome_that_was_answered_is_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let app = FakeApp::start(PACKAGE).await;
    app.set_behavior(AppBehavior::reply("once"));
    let server = Server::start(folder.path());
    server.register(&app, "tools-only").await;
    let device = server.device().await;
    assert_eq!(server.call("k").await.unwrap().1["content"], "once");
    server.kill();
    drop(device);

    app.set_behavior(AppBehavior::reply("twice"));
    let server = Server::start(folder.path());
    let _device = server.device().await;
    assert_eq!(server.call("k").await.unwrap().1["content"], "once");
    assert_eq!(app.requests("/tool").len(), 1);
    let (_, calls) = server.send(Method::GET, "/api/calls", &[], json!({})).await.unwrap();
    assert_eq!(
        calls["calls"].as_array().unwrap().len(),
        2,
        "the keyed call is in the ledger, and its replay"
    );
    server.kill();
}

#[tokio::test]
async fn whenever_it_is_killed_each_key_runs_at_most_once() {
    let folder = tempfile::tempdir().unwrap();
    let app = FakeApp::start(PACKAGE).await;
    let server = Server::start(folder.path());
    server.register(&app, "tools-only").await;
    server.kill();
    for answers_before_the_kill in [0, 1, 7, 20, 39] {
        let server = Arc::new(Server::start(folder.path()));
        let device = server.device().await;
        let key = |i: usize| format!("{answers_before_the_kill}-{i}");
        let mut calls: FuturesUnordered<_> = (0..40)
            .map(|i| {
                let (server, key) = (server.clone(), key(i));
                async move { server.call(&key).await }
            })
            .collect();
        if answers_before_the_kill == 0 {
            // Polled once, so that the requests are sent.
            let _ = futures_util::poll!(calls.next());
        }
        for _ in 0..answers_before_the_kill {
            calls.next().await;
        }
        drop(calls);
        Arc::into_inner(server).unwrap().kill();
        drop(device);

        let server = Server::start(folder.path());
        let _device = server.device().await;
        let again = join_all((0..40).map(|i| {
            let (server, key) = (&server, key(i));
            async move { server.call(&key).await.unwrap() }
        }))
        .await;
        for (status, answer) in again {
            assert!(status == 200 || code(&answer) == "OUTCOME_UNKNOWN", "{status} {answer}");
        }
        let seen = app.requests("/tool");
        for i in 0..40 {
            let times = seen.iter().filter(|seen| seen.headers["idempotency-key"] == key(i).as_str()).count();
            assert!(times <= 1, "{} ran {times} times", key(i));
        }
        server.kill();
    }
}

#[tokio::test]
async fn an_update_of_tools_is_atomic() {
    let folder = tempfile::tempdir().unwrap();
    let app = FakeApp::start(PACKAGE).await;
    let server = Server::start(folder.path());
    server.register(&app, "tools-only").await;
    server.kill();
    let set = |mark: usize| {
        let tool = |i: usize| json!({ "name": format!("tool_{i}"), "description": format!("mark {mark}"), "inputSchema": { "type": "object" } });
        json!({ "tools": (0..200).map(tool).collect::<Vec<_>>() })
    };
    for answers_before_the_kill in [0, 1, 3, 8] {
        let server = Arc::new(Server::start(folder.path()));
        let mut updates: FuturesUnordered<_> = (0..10)
            .map(|i| {
                let (server, set) = (server.clone(), set(answers_before_the_kill * 100 + i));
                async move { server.send(Method::POST, &format!("/api/apps/{PACKAGE}/tools"), &[], set).await }
            })
            .collect();
        if answers_before_the_kill == 0 {
            let _ = futures_util::poll!(updates.next());
        }
        for _ in 0..answers_before_the_kill {
            updates.next().await;
        }
        drop(updates);
        Arc::into_inner(server).unwrap().kill();

        let server = Server::start(folder.path());
        let (status, current) =
            server.send(Method::GET, &format!("/api/apps/{PACKAGE}/tools"), &[], json!({})).await.unwrap();
        assert_eq!(status, 200);
        let tools = current["tools"].as_array().unwrap();
        let marks: std::collections::BTreeSet<_> =
            tools.iter().map(|tool| tool["description"].to_string()).collect();
        assert!(
            marks.len() == 1 && (tools.len() == 200 || tools.len() == 1),
            "{marks:?} in {} tools",
            tools.len()
        );
        let (_, versions) =
            server.send(Method::GET, &format!("/api/apps/{PACKAGE}/versions"), &[], json!({})).await.unwrap();
        let versions = versions["versions"].as_array().unwrap();
        assert_eq!(versions.iter().filter(|version| version["current"] == true).count(), 1);
        server.kill();
    }
}
