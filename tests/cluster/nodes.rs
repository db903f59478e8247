//! The nodes, each a process, with PostgreSQL and NATS.

use std::{
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::{net::TcpListener, time::timeout};
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_testkit::{nats::NatsServer, postgres::TestServer};

use crate::{app::EchoApp, balancer::Balancer};

pub(crate) const PACKAGE: &str = "com.example.echo";
pub(crate) const USERS: usize = 24;
/// Longer than any call may take. A client that waits forever would hide that a response is missing.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(45);

pub(crate) fn user_name(number: usize) -> String {
    format!("user-{number}@example.com")
}

pub(crate) struct Nodes {
    pub(crate) balancer: Balancer,
    pub(crate) database: TestServer,
    pub(crate) nats: NatsServer,
    pub(crate) token: String,
    processes: Vec<Child>,
    addresses: Vec<SocketAddr>,
    folder: tempfile::TempDir,
}

impl Nodes {
    pub(crate) async fn start(count: usize) -> Self {
        let mut addresses = Vec::new();
        for _ in 0..count {
            // Free a moment ago.
            let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
            addresses.push(free.local_addr().unwrap());
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut nodes = Self {
            balancer: Balancer::start(listener, &addresses).await,
            database: TestServer::launch(),
            nats: NatsServer::launch(),
            token: String::new(),
            processes: Vec::new(),
            folder: tempfile::tempdir().unwrap(),
            addresses,
        };
        for node in 0..count {
            let process = nodes.spawn(node);
            nodes.processes.push(process);
        }
        let issued = nodes.command(0, &["token", "operator", "olga@example.com", "--data"]);
        let issued = { issued }.arg(nodes.folder.path()).output().unwrap();
        nodes.settle().await;
        nodes.token = String::from_utf8(issued.stdout).unwrap().trim().to_owned();
        assert!(!nodes.token.is_empty(), "{}", String::from_utf8_lossy(&issued.stderr));
        nodes
    }

    fn command(&self, node: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
        command
            .args(arguments)
            .env("TOOLYARD_AUTH__MODE", "token")
            .env("TOOLYARD_AUTH__ROOT_KEY", "22".repeat(32))
            .env("TOOLYARD_STORE__URL", &self.database.url)
            .env("TOOLYARD_STORE__CONNECTIONS", "8")
            .env("TOOLYARD_CLUSTER__NATS_URL", &self.nats.url)
            .env("TOOLYARD_NET__ALLOW_LOOPBACK", "true")
            .env("TOOLYARD_MODEL_SEARCH__LOCAL_SERVERS", "false")
            .env("TOOLYARD_RATES__USER_PER_S", "1000")
            .env("TOOLYARD_RATES__USER_BURST", "1000")
            .env("TOOLYARD_RATES__MANAGE_PER_S", "10000")
            .env("TOOLYARD_RATES__MANAGE_BURST", "10000")
            .env("TOOLYARD_SERVER__PUBLIC_URL", &self.balancer.url)
            .env("TOOLYARD_SERVER__LISTEN", self.addresses[node].to_string())
            .current_dir(self.folder.path());
        command
    }

    fn spawn(&self, node: usize) -> Child {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.path().join(format!("node-{node}.log")))
            .unwrap();
        let mut command = self.command(node, &["serve", "--data"]);
        command.arg(self.folder.path().join(format!("node-{node}")));
        command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    /// Waits until the balancer sees all nodes as ready, and a moment longer.
    pub(crate) async fn settle(&self) {
        for _ in 0..1_200 {
            if self.balancer.all_ready() {
                tokio::time::sleep(Duration::from_millis(1_000)).await;
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        for node in 0..self.addresses.len() {
            let log = std::fs::read_to_string(self.folder.path().join(format!("node-{node}.log")));
            println!("node {node}:\n{}", log.unwrap_or_default());
        }
        panic!("not all nodes are ready within a minute");
    }

    fn signal(&self, node: usize, signal: &str) {
        let id = self.processes[node].id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    pub(crate) async fn kill(&mut self, node: usize) {
        self.processes[node].kill().unwrap();
        self.processes[node].wait().unwrap();
        self.processes[node] = self.spawn(node);
    }

    pub(crate) async fn suspend(&self, node: usize, time: Duration) {
        self.signal(node, "-STOP");
        tokio::time::sleep(time).await;
        self.signal(node, "-CONT");
    }

    pub(crate) async fn restart(&mut self, node: usize) {
        self.signal(node, "-TERM");
        while self.processes[node].try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.processes[node] = self.spawn(node);
    }

    /// Registers the app, and installs it for all users.
    pub(crate) async fn register(&self, app: &EchoApp) {
        let tool = json!({ "name": "echo", "description": "Says it again",
            "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } } });
        let body = json!({ "packageName": PACKAGE, "name": "Echo", "kind": "tools-only", "tools": [tool],
            "publicUrl": app.url });
        let client = self.client();
        let (status, answer) = client.send(Method::POST, "/api/apps", "", None, Some(body)).await.unwrap();
        assert_eq!(status, 201, "{answer}");
        for number in 0..USERS {
            let path = format!("/api/installs/{PACKAGE}");
            let installed = client.send(Method::PUT, &path, &user_name(number), None, Some(json!({}))).await;
            assert_eq!(installed.unwrap().0, 204);
        }
    }

    pub(crate) fn client(&self) -> Client {
        let http = HttpClient::new(Guard::unrestricted(), ClientSettings::default());
        Client { url: self.balancer.url.clone(), token: self.token.clone(), http }
    }

    pub(crate) async fn stop(mut self) {
        for node in 0..self.processes.len() {
            self.signal(node, "-TERM");
        }
        for process in &mut self.processes {
            let _ = process.wait();
        }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A client that acts for users, through the balancer.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) url: String,
    pub(crate) token: String,
    http: HttpClient,
}

impl Client {
    /// Status and body, or `None` if there was no response.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        user: &str,
        key: Option<&str>,
        body: Option<Value>,
    ) -> Option<(u16, Value)> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        request = request.header("authorization", format!("Bearer {}", self.token));
        // Each request may reach another node.
        request = request.header("content-type", "application/json").header("connection", "close");
        if !user.is_empty() {
            request = request.header("x-user-id", user);
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        let exchange = async {
            let response = self.http.send(request).await.ok()?;
            let status = response.status.as_u16();
            let body = response.bytes(16 * 1024 * 1024).await.ok()?;
            Some((status, serde_json::from_slice(&body).unwrap_or_default()))
        };
        timeout(RESPONSE_TIMEOUT, exchange).await.ok().flatten()
    }
}
