//! A server, and clients to it over every transport.

use std::{sync::Arc, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json, value::RawValue};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::server::{Request, Response},
    },
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_mcp_client::{
    ClientOptions, HttpTarget, McpClient, McpClientError, McpTransport, ProtocolEra, RequestOptions,
    ServerEvent, ServerEvents, StaticHeaders, StdioCommand, ToolCallParams, UpstreamReply, WebSocketTarget,
};
use toolyard_net::{ClientSettings, Guard, GuardedDialer, HttpClient, OutsideUrl};
use toolyard_protocol::raw::to_raw;
use toolyard_testkit::upstream::{FakeUpstream, FixtureSet, UpstreamOptions as Upstream};

/// Time limit for things that must happen; a test that waits this long has failed.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// How to reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Http,
    WebSocket,
}

/// Every transport in both eras.
pub(crate) const ALL: [(Way, ProtocolEra); 4] = [
    (Way::Http, ProtocolEra::Modern),
    (Way::Http, ProtocolEra::Handshake),
    (Way::WebSocket, ProtocolEra::Modern),
    (Way::WebSocket, ProtocolEra::Handshake),
];

pub(crate) struct World {
    pub(crate) upstream: Arc<FakeUpstream>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Upstream::default()).await
    }

    /// With everything that the conformance suite calls by name.
    pub(crate) async fn rich() -> Self {
        Self::with(Upstream { fixtures: FixtureSet::Conformance, ..Upstream::default() }).await
    }

    pub(crate) async fn with(options: Upstream) -> Self {
        let upstream = Arc::new(FakeUpstream::start_with(options).await);
        Self { upstream, tasks: TaskTracker::new(), stop: CancellationToken::new() }
    }

    pub(crate) fn options(&self, era: ProtocolEra) -> ClientOptions {
        let mut options = ClientOptions::new(self.tasks.clone(), self.stop.clone());
        options.era = era;
        options.limits.back_off = (Duration::from_millis(1), Duration::from_millis(4));
        options
    }

    pub(crate) fn http(&self) -> McpTransport {
        http_to(&self.upstream.url())
    }

    pub(crate) async fn transport(&self, way: Way) -> McpTransport {
        match way {
            Way::Http => self.http(),
            Way::WebSocket => self.websocket().await,
        }
    }

    pub(crate) async fn connect(&self, way: Way, era: ProtocolEra) -> McpClient {
        self.connect_with(way, self.options(era)).await
    }

    pub(crate) async fn connect_with(&self, way: Way, options: ClientOptions) -> McpClient {
        McpClient::connect(self.transport(way).await, options).await.unwrap()
    }

    /// A socket in front of the server, which itself uses lines.
    async fn websocket(&self) -> McpTransport {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (upstream, tasks, stop) = (self.upstream.clone(), self.tasks.clone(), self.stop.clone());
        self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tasks.spawn(stop.clone().run_until_cancelled_owned(bridge(stream, upstream.clone())));
            }
        }));
        let dialer = GuardedDialer::new(Guard::dev(), WAIT);
        let url = OutsideUrl::parse(&url, &Guard::dev()).unwrap();
        McpTransport::WebSocket(WebSocketTarget {
            url,
            dialer,
            credentials: Arc::new(StaticHeaders::default()),
        })
    }

    /// Waits until all tasks of all clients have ended.
    pub(crate) async fn quiet(&self) {
        self.stop.cancel();
        self.tasks.close();
        tokio::time::timeout(WAIT, self.tasks.wait()).await.expect("something of a client is left");
    }
}

pub(crate) fn http_to(url: &str) -> McpTransport {
    McpTransport::Http(HttpTarget {
        url: OutsideUrl::parse(url, &Guard::dev()).unwrap(),
        http: HttpClient::new(Guard::dev(), ClientSettings::default()),
        credentials: Arc::new(StaticHeaders::default()),
    })
}

/// Accepts a connection as a WebSocket with the right subprotocol.
#[expect(clippy::result_large_err, reason = "the shape of the callback is not ours")]
pub(crate) async fn accept(stream: TcpStream) -> WebSocketStream<TcpStream> {
    let speaks_mcp = |request: &Request, mut response: Response| {
        assert_eq!(request.headers()["sec-websocket-protocol"], "mcp");
        response.headers_mut().insert("sec-websocket-protocol", "mcp".parse().unwrap());
        Ok(response)
    };
    tokio_tungstenite::accept_hdr_async(stream, speaks_mcp).await.unwrap()
}

async fn bridge(stream: TcpStream, upstream: Arc<FakeUpstream>) {
    let socket = accept(stream).await;
    let (mut to_client, mut from_client) = socket.split();
    let (from_server, mut to_server) = tokio::io::split(upstream.pipe());
    let mut lines = BufReader::new(from_server).lines();
    loop {
        tokio::select! {
            line = lines.next_line() => match line {
                Ok(Some(line)) => to_client.send(Message::text(line)).await.unwrap(),
                _ => return drop(to_client.close().await),
            },
            message = from_client.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    to_server.write_all(format!("{text}\n").as_bytes()).await.unwrap();
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
        }
    }
}

/// The server as a process.
pub(crate) fn process(arguments: &[&str]) -> McpTransport {
    McpTransport::Stdio(StdioCommand {
        program: FakeUpstream::binary_path().to_str().unwrap().to_owned(),
        args: ["--stdio"].iter().chain(arguments).map(|&word| word.to_owned()).collect(),
        ..StdioCommand::default()
    })
}

pub(crate) fn raw(value: Value) -> Box<RawValue> {
    to_raw(&value)
}

pub(crate) fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap()
}

/// Calls a tool and returns its whole result.
pub(crate) async fn call(client: &McpClient, name: &str, arguments: Value) -> Result<Value, McpClientError> {
    let arguments = raw(arguments);
    let answer =
        client.call_tool(ToolCallParams::new(name, Some(&arguments)), RequestOptions::default()).await?;
    match answer {
        UpstreamReply::Complete(result) => Ok(value(&result)),
        UpstreamReply::InputRequired(_) => panic!("input was asked for"),
    }
}

pub(crate) async fn echo(client: &McpClient, text: &str) -> String {
    let result = call(client, "echo", json!({ "text": text })).await.unwrap();
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The next event; fails the test if none arrives.
pub(crate) async fn next(events: &mut ServerEvents) -> Option<ServerEvent> {
    tokio::time::timeout(WAIT, events.next()).await.expect("no event came")
}
