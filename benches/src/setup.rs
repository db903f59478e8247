//! Starts app, nginx and server, and registers what is measured.

use std::path::{Path, PathBuf};

use http::Method;
use serde_json::{Value, json};

use crate::{CORE, app, client::Http, load::Loaded, process::Process};

pub const ECHO_APP: &str = "com.bench.echo";
pub const SESSION_APP: &str = "com.bench.session";

/// One way to the app.
pub struct Target {
    pub name: &'static str,
    pub address: String,
    /// Its CPU time counts; the direct way has none of its own.
    pub process: Option<Process>,
}

pub struct Bench {
    pub folder: tempfile::TempDir,
    pub http: Http,
    pub app: Process,
    pub direct: Target,
    pub nginx: Option<Target>,
    pub server: Target,
    pub token: String,
    pub operator: String,
}

impl Bench {
    pub async fn start(toolyard: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let own = std::env::current_exe().expect("our own path");
        let app_log = folder.path().join("app.log");
        let app = Process::start(&own, &["app"], &[], &app_log);
        let app_address = first_line(&app_log, "").await;
        let nginx = nginx(folder.path(), &app_address).await;
        let server = serve(toolyard, folder.path(), &app_address).await;
        let token = |role: &str| {
            let data = folder.path().join("data");
            let made = std::process::Command::new(toolyard)
                .args(["token", role, "bench@example.com", "--data"])
                .arg(data)
                .output();
            String::from_utf8(made.expect("a token").stdout).expect("text").trim().to_owned()
        };
        let (token, operator) = (token("user"), token("operator"));
        let direct = Target { name: "direct", address: app_address, process: None };
        let bench = Self { folder, http: Http::default(), app, direct, nginx, server, token, operator };
        bench.register().await;
        bench
    }

    /// Authorization of the user.
    pub fn user(&self) -> String {
        format!("Bearer {}", self.token)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address)
    }

    pub async fn operate(&self, method: Method, path: &str, body: &Value) -> Value {
        let operator = format!("Bearer {}", self.operator);
        self.http.json(method, &self.url(path), &[("authorization", &operator)], &body.to_string()).await
    }

    pub async fn install(&self, package: &str) {
        let user = self.user();
        self.http
            .json(
                Method::PUT,
                &self.url(&format!("/api/installs/{package}")),
                &[("authorization", &user)],
                "{}",
            )
            .await;
    }

    async fn register(&self) {
        let url = format!("http://{}", self.direct.address);
        let tools: Vec<_> = (0..10).map(app::tool).collect();
        let echo = json!({ "packageName": ECHO_APP, "kind": "tools-only", "publicUrl": url, "tools": tools });
        self.operate(Method::POST, "/api/apps", &echo).await;
        self.install(ECHO_APP).await;
        let session = json!({ "packageName": SESSION_APP, "kind": "session", "publicUrl": url, "tools": [app::tool(0)] });
        let created = self.operate(Method::POST, "/api/apps", &session).await;
        let key = created["apiKey"].as_str().expect("a key").to_owned();
        self.http.json(Method::POST, &format!("{url}/key"), &[], &key).await;
    }

    /// Runs the load generator, pinned, and says what it came to and what CPU the target and the app used a thousand.
    pub async fn load(
        &self,
        target: &Target,
        request: &[u8],
        connections: usize,
        seconds: f64,
    ) -> (Loaded, f64, f64) {
        let file = self.folder.path().join("request");
        std::fs::write(&file, request).expect("the request can be written");
        let own = std::env::current_exe().expect("our own path");
        let cpu = || (target.process.as_ref().map_or(0.0, Process::cpu), self.app.cpu());
        let before = cpu();
        let output = tokio::process::Command::new("taskset")
            .args(["-c", CORE])
            .arg(own)
            .args(["load", &target.address])
            .arg(file)
            .args(["--connections", &connections.to_string(), "--seconds", &seconds.to_string()])
            .output()
            .await
            .expect("the load generator runs");
        let after = cpu();
        let loaded = Loaded::parse(&String::from_utf8_lossy(&output.stdout));
        let per_thousand = |seconds: f64| seconds * 1e6 / loaded.requests.max(1.0);
        let (of_target, of_app) = (per_thousand(after.0 - before.0), per_thousand(after.1 - before.1));
        (loaded, of_target, of_app)
    }
}

/// Waits for a line of a log that begins so, and gives the rest of it.
async fn first_line(log: &Path, begins: &str) -> String {
    for _ in 0..200 {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        if let Some(line) =
            text.lines().find_map(|line| line.strip_prefix(begins)).filter(|line| !line.is_empty())
        {
            return line.to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{} has no line `{begins}`: {}", log.display(), std::fs::read_to_string(log).unwrap_or_default());
}

async fn serve(toolyard: &Path, folder: &Path, model: &str) -> Target {
    let (log, data) = (folder.join("server.log"), folder.join("data"));
    let data = data.to_string_lossy().into_owned();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--auth", "token", "--data", &data];
    // Every check stays on; only the limits are out of the way of a machine that calls as fast as it can.
    let high = "100000000";
    let model = format!("{{ url = \"http://{model}/v1\", calling = \"native\" }}");
    let environment = [
        ("TOOLYARD_NET__ALLOW_LOOPBACK", "true"),
        ("TOOLYARD_RATES__USER_PER_S", high),
        ("TOOLYARD_RATES__USER_BURST", high),
        ("TOOLYARD_RATES__TOOL_PER_S", high),
        ("TOOLYARD_RATES__TOOL_BURST", high),
        ("TOOLYARD_RATES__ALL_PER_S", high),
        ("TOOLYARD_RATES__ALL_BURST", high),
        ("TOOLYARD_CALLS__IN_FLIGHT_PER_USER", "10000"),
        ("TOOLYARD_MODELS__BENCH", model.as_str()),
        ("TOOLYARD_CHAT__MODEL", "bench/bench"),
        // One list is one page, as in the baseline.
        ("TOOLYARD_MCP__PAGE_SIZE", "2000"),
    ];
    let process = Process::start(toolyard, &arguments, &environment, &log);
    let address = first_line(&log, "listening on http://").await;
    Target { name: "toolyard", address, process: Some(process) }
}

async fn nginx(folder: &Path, upstream: &str) -> Option<Target> {
    let program =
        ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().map(PathBuf::from).find(|path| path.exists())?;
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").ok()?;
        listener.local_addr().ok()?.port()
    };
    let root = folder.display();
    let config = format!(
        "daemon off; worker_processes 1; pid {root}/nginx.pid; error_log {root}/nginx.err;
         events {{ worker_connections 4096; }}
         http {{ access_log off; client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;
           fastcgi_temp_path {root}/f; uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;
           keepalive_requests 100000000;
           upstream app {{ server {upstream}; keepalive 512; keepalive_requests 100000000; }}
           server {{ listen 127.0.0.1:{port};
             location / {{ proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection \"\"; }} }} }}"
    );
    let file = folder.join("nginx.conf");
    std::fs::write(&file, config).ok()?;
    let file = file.to_string_lossy().into_owned();
    let process = Process::start(&program, &["-c", &file], &[], &folder.join("nginx.log"));
    let address = format!("127.0.0.1:{port}");
    for _ in 0..100 {
        if std::net::TcpStream::connect(&address).is_ok() {
            return Some(Target { name: "nginx", address, process: Some(process) });
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    None
}
