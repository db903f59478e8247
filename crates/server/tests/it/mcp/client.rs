//! A small handwritten MCP client, so that every member and header of a request can be invalid.

use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use toolyard_protocol::mcp::meta;

use crate::platform::{Answer, Person};

/// The revision without a handshake.
pub(crate) const MODERN: &str = "2026-07-28";
/// The newest one with a handshake.
pub(crate) const LEGACY: &str = "2025-11-25";
/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for something that must come.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("what should have happened did not")
}

/// One request, before it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Value,
    headers: Vec<(String, String)>,
}

impl Ask {
    /// A request of a handshake revision, without a session.
    pub(crate) fn legacy(method: &str, params: Value) -> Self {
        Self { id: json!(1), method: method.to_owned(), params, headers: Vec::new() }
    }

    /// A modern request, with `_meta` and headers that match the body.
    pub(crate) fn modern(method: &str, mut params: Value) -> Self {
        params["_meta"][meta::PROTOCOL_VERSION] = MODERN.into();
        params["_meta"][meta::CLIENT_CAPABILITIES] = json!({});
        let ask =
            Self::legacy(method, params).with("mcp-protocol-version", MODERN).with("mcp-method", method);
        let named = match method {
            "tools/call" | "prompts/get" => ask.params["name"].as_str(),
            "resources/read" => ask.params["uri"].as_str(),
            _ => None,
        };
        let named = named.map(|name| toolyard_protocol::mcp::header::encode_header(name).into_owned());
        match named {
            Some(name) => ask.with("mcp-name", &name),
            None => ask,
        }
    }

    /// A modern call of a tool.
    pub(crate) fn call(tool: &str, arguments: Value) -> Self {
        Self::modern("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    pub(crate) fn id(mut self, id: impl Into<Value>) -> Self {
        self.id = id.into();
        self
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    /// Replaces a header.
    pub(crate) fn instead(self, name: &str, value: &str) -> Self {
        self.without(name).with(name, value)
    }

    /// Sets a member of `_meta`; null removes it.
    pub(crate) fn meta(mut self, name: &str, value: Value) -> Self {
        match value {
            Value::Null => drop(self.params["_meta"].as_object_mut().unwrap().remove(name)),
            value => self.params["_meta"][name] = value,
        }
        self
    }

    /// Replaces the params.
    pub(crate) fn params(mut self, params: Value) -> Self {
        self.params = params;
        self
    }

    /// The message.
    pub(crate) fn message(&self) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.id, "method": self.method, "params": self.params })
    }
}

impl<'a> Person<'a> {
    fn dressed(&self, ask: &Ask) -> Person<'a> {
        ask.headers.iter().fold(self.clone(), |person, (name, value)| person.header(name, value))
    }

    /// Sends a request, and reads the whole answer.
    pub(crate) async fn ask(&self, ask: Ask) -> Answer {
        soon(self.dressed(&ask).post("/mcp", &ask.message())).await
    }

    /// A modern request.
    pub(crate) async fn modern(&self, method: &str, params: Value) -> Answer {
        self.ask(Ask::modern(method, params)).await
    }

    /// A modern call of a tool: its result.
    pub(crate) async fn run(&self, tool: &str, arguments: Value) -> Value {
        self.ask(Ask::call(tool, arguments)).await.result()
    }

    /// Sends a raw body with modern headers.
    pub(crate) async fn ask_raw(&self, method: &str, body: &str) -> Answer {
        let dressed = self.dressed(&Ask::modern(method, json!({})));
        soon(dressed.send(Method::POST, "/mcp", Some(body.to_owned()))).await
    }

    /// Sends a raw body, and reads the response as a stream.
    pub(crate) async fn events(&self, body: String) -> Events {
        Events::of(soon(self.open_raw(Method::POST, "/mcp", body)).await)
    }

    /// Sends a request whose answer is a stream.
    pub(crate) async fn stream(&self, ask: Ask) -> Events {
        Events::of(soon(self.dressed(&ask).open(Method::POST, "/mcp", Some(ask.message()))).await)
    }

    /// Listens for changes, and reads the first message, which names the granted filters.
    pub(crate) async fn listen(&self, id: impl Into<Value>, filter: Value) -> Events {
        let ask = Ask::modern("subscriptions/listen", json!({ "notifications": filter }));
        let mut events = self.stream(ask.id(id)).await;
        assert_eq!(events.message().await["method"], "notifications/subscriptions/acknowledged");
        events
    }

    /// Opens a session with a handshake.
    pub(crate) async fn handshake(&self, revision: &str) -> Session<'a> {
        let answer = self.ask(Ask::legacy("initialize", hello(revision))).await.expect(200);
        let id = answer.header("mcp-session-id").to_owned();
        Session { person: self.clone().header("mcp-session-id", &id), id, result: answer.result() }
    }
}

/// The params of a handshake.
pub(crate) fn hello(revision: &str) -> Value {
    json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } })
}

/// A session of a handshake revision.
pub(crate) struct Session<'a> {
    pub(crate) person: Person<'a>,
    pub(crate) id: String,
    /// The result of the handshake.
    pub(crate) result: Value,
}

impl Session<'_> {
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Answer {
        self.person.ask(Ask::legacy(method, params)).await
    }

    /// A notification; the status that it got.
    pub(crate) async fn tell(&self, method: &str, params: Value) -> u16 {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        soon(self.person.post("/mcp", &message)).await.status.as_u16()
    }

    /// The session's stream.
    pub(crate) async fn get(&self) -> Events {
        Events::of(soon(self.person.open(Method::GET, "/mcp", None)).await)
    }
}

impl Answer {
    /// The result of a successful request.
    pub(crate) fn result(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        let message = self.json();
        assert!(message["error"].is_null() && message["result"].is_object(), "{}", self.text);
        message["result"].clone()
    }

    /// The status and the code of a refusal.
    pub(crate) fn refusal(&self) -> (u16, i64) {
        (self.status.as_u16(), self.json()["error"]["code"].as_i64().unwrap_or_default())
    }
}

/// An event stream.
pub(crate) struct Events {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    lines: toolyard_net::ResponseLines,
}

impl Events {
    fn of(response: toolyard_net::HttpResponse) -> Self {
        let (status, headers) = (response.status, response.headers.clone());
        Self { status, headers, lines: response.into_lines(4 * 1024 * 1024, 64 * 1024 * 1024) }
    }

    /// The next line as it stands; none at the end.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let line = soon(self.lines.next()).await.expect("the stream is whole");
        line.map(|line| String::from_utf8(line.to_vec()).unwrap())
    }

    /// The next message; none at the end. The stream may contain only messages and keep-alives, so no event ids.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        assert_eq!(self.status, StatusCode::OK);
        let data = soon(async {
            loop {
                let line = self.line().await?;
                if let Some(data) = line.strip_prefix("data: ") {
                    return Some(data.to_owned());
                }
                assert!(line == ": alive" || line == "event: message", "{line}");
            }
        });
        let data = data.await?;
        Some(serde_json::from_str(&data).unwrap_or_else(|_| panic!("not one message: {data}")))
    }

    /// The next message, which must come.
    pub(crate) async fn message(&mut self) -> Value {
        self.next().await.expect("the stream goes on")
    }

    /// All messages to the end.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(message) = self.next().await {
            all.push(message);
        }
        all
    }
}
