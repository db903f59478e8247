//! A server with the fixture upstream behind it, and the proxy before it.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_server::{Server, ServerDependencies, config::Config};
use toolyard_testkit::{
    conformance::{ConformanceProxy, run_suite},
    upstream::{FakeUpstream, FixtureSet, UpstreamEra, UpstreamOptions},
};

/// How long the upstream may take to be listed.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Stage {
    proxy: ConformanceProxy,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<()>,
    _upstream: FakeUpstream,
    _folder: tempfile::TempDir,
}

impl Stage {
    pub(crate) async fn start(era: UpstreamEra) -> Self {
        let upstream = FakeUpstream::start_with(UpstreamOptions {
            era,
            fixtures: FixtureSet::Conformance,
            ..UpstreamOptions::default()
        })
        .await;
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        // The lists are those of the upstream, and no more.
        config.builtin.enabled = false;
        config.server.listen = ([127, 0, 0, 1], 0).into();
        config.store.path = folder.path().join("toolyard.db");
        let server = Server::start(config, ServerDependencies::default()).await.unwrap();
        let (url, stop) = (format!("http://{}", server.address), CancellationToken::new());
        #[expect(clippy::disallowed_methods, reason = "the test waits for it in `passes`")]
        let running = tokio::spawn(server.run(stop.clone()));
        let new = json!({ "id": "fixture", "url": upstream.url(), "forAll": true });
        ask(Method::POST, &format!("{url}/api/upstreams"), Some(new)).await;
        let listed = async {
            // Each asking reads the lists anew, so this is no waiting in the dark.
            while ask(Method::POST, &format!("{url}/api/upstreams/fixture/refresh"), None).await["status"]["tools"]
                == 0
            {}
        };
        tokio::time::timeout(PATIENCE, listed).await.expect("the upstream is listed");
        let options = [
            "--prefix",
            "mcp_fixture__",
            "--call-prefix",
            "mcp.fixture:",
            "--package",
            "mcp.fixture",
            "--header",
            "x-user-id=ada",
        ];
        let proxy = ConformanceProxy::start(&format!("{url}/mcp"), &options).await;
        Self { proxy, stop, running, _upstream: upstream, _folder: folder }
    }

    /// Runs all scenarios of a revision.
    pub(crate) async fn passes(self, revision: &str) {
        let outcome = run_suite(self.proxy.url(), &[revision]).await;
        self.stop.cancel();
        self.running.await.unwrap();
        match outcome {
            Ok(said) => assert!(said.contains(revision), "{said}"),
            Err(said) => panic!("{said}"),
        }
    }
}

async fn ask(method: Method, url: &str, body: Option<Value>) -> Value {
    let http = HttpClient::new(Guard::unrestricted(), ClientSettings::default());
    let request = Request::builder().method(method).uri(url).header("content-type", "application/json");
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    let answer = http.send(request.body(Full::new(Bytes::from(body))).unwrap()).await.unwrap();
    let status = answer.status;
    let bytes = answer.bytes(1024 * 1024).await.unwrap();
    assert!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&bytes));
    serde_json::from_slice(&bytes).unwrap()
}
