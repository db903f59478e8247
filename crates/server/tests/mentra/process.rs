//! The app as a process: started, listened to, killed.

use std::{collections::HashMap, net::Ipv4Addr, path::PathBuf, process::Stdio, sync::Arc, time::Duration};

use http::Request;
use http_body_util::Full;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    net::TcpSocket,
    process::{Child, Command},
    sync::watch,
    time::timeout,
};
use toolyard_net::{ClientSettings, Guard, HttpClient};

/// How long any one event may take. The longest of the SDK's own times is 6 s.
const PATIENCE: Duration = Duration::from_secs(20);

/// Everything that the process said, and the events in it.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    lines: Vec<String>,
    events: Vec<Value>,
}

impl Transcript {
    fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["event"] == name)
    }
}

/// The transcript, as it grows.
pub(crate) type Said = Arc<watch::Sender<Transcript>>;

/// Prints the transcript when the test fails.
pub(crate) struct PrintOnPanic(pub(crate) Said);

impl Drop for PrintOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- what the app said ---\n{}\n---", self.0.borrow().lines.join("\n"));
        }
    }
}

/// The app. Its port is ours from before it listens until after it is gone.
pub(crate) struct App {
    port: u16,
    /// Bound, never listening: Node may listen beside it, and nobody else is handed the port by chance.
    _reserved: TcpSocket,
    child: Option<Child>,
    said: Said,
    /// How many events of each name a test has taken.
    taken: HashMap<String, usize>,
}

impl App {
    /// An app that has a port and does not run.
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        // Node sets this as well, and both must, to be bound to one port.
        socket.set_reuseaddr(true).unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let port = socket.local_addr().unwrap().port();
        Self { port, _reserved: socket, child: None, said: Said::default(), taken: HashMap::new() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn said(&self) -> Said {
        self.said.clone()
    }

    /// Starts it, and waits until it listens.
    pub(crate) async fn run(&mut self, environment: &[(&str, &str)]) {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/mentra-sdk");
        assert!(
            folder.join("node_modules/@mentra/sdk/package.json").exists(),
            "@mentra/sdk is not installed; run scripts/setup-tests.sh"
        );
        let mut command = Command::new("node");
        command.arg("app.mjs").current_dir(folder).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("PORT", self.port.to_string()).envs(environment.iter().copied());
        // The SDK asks its vendor for the newest version. Here it does not get out, on any machine.
        command.env("HTTPS_PROXY", "http://127.0.0.1:1").env("NO_PROXY", "127.0.0.1");
        let mut child = command.spawn().expect("node cannot be started; run scripts/setup-tests.sh");
        listen(child.stdout.take().unwrap(), self.said());
        listen(child.stderr.take().unwrap(), self.said());
        self.child = Some(child);
        self.hears("listening").await;
    }

    /// The next event of that name that was not taken yet, in whatever order it came among others.
    pub(crate) async fn hears(&mut self, name: &str) -> Value {
        let at = self.taken.entry(name.to_owned()).or_default();
        let mut said = self.said.subscribe();
        let event = said.wait_for(|said| said.named(name).nth(*at).is_some());
        let Ok(said) = timeout(PATIENCE, event).await else {
            panic!("the app did not say `{name}` within {PATIENCE:?}");
        };
        let event = said.unwrap().named(name).nth(*at).unwrap().clone();
        *at += 1;
        event
    }

    /// How many events of that name there were, taken or not.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.said.borrow().named(name).count()
    }

    /// How many sessions the SDK believes to have.
    pub(crate) async fn sessions(&self) -> u64 {
        let http = HttpClient::new(Guard::unrestricted(), ClientSettings::default());
        let request = Request::get(format!("{}/health", self.url())).body(Full::default()).unwrap();
        let health = http.send(request).await.unwrap().bytes(64 * 1024).await.unwrap();
        serde_json::from_slice::<Value>(&health).unwrap()["activeSessions"].as_u64().unwrap()
    }

    /// Kills it, as a crash would, and waits until it is gone.
    pub(crate) async fn kill(&mut self) {
        self.child.take().unwrap().kill().await.unwrap();
    }
}

fn listen(stream: impl AsyncRead + Send + Unpin + 'static, said: Said) {
    #[expect(clippy::disallowed_methods, reason = "it ends with the process")]
    tokio::spawn(async move {
        let mut lines = BufReader::new(stream).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let event = serde_json::from_str(&line).ok().filter(|event: &Value| event["event"].is_string());
            said.send_modify(|said| {
                said.lines.push(line);
                said.events.extend(event);
            });
        }
    });
}
