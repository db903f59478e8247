//! `toolyard mcp`

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;
use toolyard_testkit::upstream::{FakeUpstream, MODERN, OfferListKind};

use crate::fixture::{ADA, NO_BUILTINS, Ran, Running, Yard, ended, serve, soon, toolyard};

/// A client that starts its server itself, as Claude Desktop does.
struct Client {
    server: Running,
    last_id: u64,
    /// Messages that arrived while waiting for another one.
    heard: Vec<Value>,
}

impl Client {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped());
        Self { server: Running::start(command), last_id: 0, heard: Vec::new() }
    }

    /// After its handshake.
    async fn initialized(command: Command) -> Self {
        let mut client = Self::start(command);
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = client.call("initialize", params).await;
        assert_eq!(answer["result"]["serverInfo"]["name"], "toolyard", "{answer}");
        client.notify("notifications/initialized", json!({})).await;
        client
    }

    async fn say(&mut self, message: &Value) {
        self.server.types(&message.to_string()).await;
    }

    async fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    async fn notify(&mut self, method: &str, params: Value) {
        self.say(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// The next line. Every line is a message.
    async fn line(&mut self) -> Option<Value> {
        let line = soon(self.server.out.next_line()).await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.heard.iter().position(&fits) {
            return self.heard.remove(at);
        }
        loop {
            let message = self.line().await.expect("it ended before it said that");
            if fits(&message) {
                return message;
            }
            self.heard.push(message);
        }
    }

    async fn answer(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none()).await
    }

    async fn told(&mut self, method: &str) -> Value {
        self.until(|message| message["method"] == method).await
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.answer(id).await
    }

    /// The name under which a tool is offered.
    async fn tool(&mut self, name: &str) -> String {
        let list = self.call("tools/list", json!({})).await;
        let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list}")).clone();
        let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
        names
            .into_iter()
            .find(|found| found.ends_with(&format!("__{name}")))
            .expect("it is offered")
            .to_owned()
    }

    /// The rest, and the exit code.
    async fn ended(mut self) -> (Vec<Value>, i32) {
        while let Some(message) = self.line().await {
            self.heard.push(message);
        }
        let code = self.server.end().await;
        (self.heard, code)
    }
}

/// A server with an upstream for all users.
async fn yard_with(upstream: &FakeUpstream) -> Yard {
    let yard = Yard::start().await;
    yard.run(&["upstreams", "add", "fixture", "--url", &upstream.url(), "--for-all"]).await.good();
    yard
}

fn steps(name: &str, token: &str) -> Value {
    json!({ "name": name, "arguments": { "count": 2 }, "_meta": { "progressToken": token } })
}

#[tokio::test]
async fn a_client_with_a_handshake() {
    let upstream = FakeUpstream::start().await;
    let yard = yard_with(&upstream).await;
    let mut client = Client::initialized(yard.command(&["mcp", "--user", ADA])).await;
    let echo = client.tool("echo").await;
    let answer =
        client.call("tools/call", json!({ "name": echo, "arguments": { "text": "ümlaut\n" } })).await;
    assert_eq!(answer["result"]["content"][0]["text"], "ümlaut\n");

    let steps_name = client.tool("steps").await;
    let id = client.ask("tools/call", steps(&steps_name, "p-1")).await;
    upstream.let_through(2);
    for step in [1.0, 2.0] {
        let progress = client.told("notifications/progress").await;
        let params = &progress["params"];
        assert_eq!(
            (&params["progressToken"], &params["progress"]),
            (&json!("p-1"), &json!(step)),
            "{progress}"
        );
    }
    assert_eq!(client.answer(id).await["result"]["content"][0]["text"], "2 steps");

    let id = client.ask("tools/call", steps(&steps_name, "p-2")).await;
    upstream.wait_messages("tools/call", 3).await;
    client.notify("notifications/cancelled", json!({ "requestId": id })).await;
    upstream.wait_cancelled(1).await;

    upstream.wait_listening(1).await;
    upstream.set_list(OfferListKind::Tools, upstream.list_items(OfferListKind::Tools)[..1].to_vec());
    upstream.announce_list(OfferListKind::Tools);
    client.told("notifications/tools/list_changed").await;
    let list = client.call("tools/list", json!({})).await;
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 1, "{list}");
    client.server.types_no_more();
    let (rest, code) = client.ended().await;
    assert_eq!((rest, code), (vec![], 0), "whoever cancelled wants no answer");
}

#[tokio::test]
async fn a_client_without_a_handshake() {
    let upstream = FakeUpstream::start().await;
    let yard = yard_with(&upstream).await;
    let mut client = Client::start(yard.command(&["mcp", "--user", ADA]));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.call("server/discover", json!({ "_meta": meta })).await;
    assert_eq!(found["result"]["supportedVersions"][0], MODERN);
    let listen = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
    client.ask("subscriptions/listen", listen).await;
    client.told("notifications/subscriptions/acknowledged").await;
    // It stays open until it is cancelled, and is not waited for.
    client.server.types_no_more();
    assert_eq!(client.ended().await.1, 0);
}

#[tokio::test]
async fn the_session_is_restored_after_a_server_restart() {
    let upstream = FakeUpstream::start().await;
    let mut yard = yard_with(&upstream).await;
    let mut client = Client::initialized(yard.command(&["mcp", "--user", ADA])).await;
    let name = client.tool("steps").await;
    let lost = client.ask("tools/call", steps(&name, "p")).await;
    upstream.wait_messages("tools/call", 1).await;
    yard.server.kill().await;
    let answer = client.answer(lost).await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("was lost"), "{answer}");
    client.server.notes("connection lost").await;

    // Sent while the server is away, and answered once it is back.
    let id = client.ask("tools/list", json!({})).await;
    let (_server, _) = serve(yard.folder.path(), yard.url.trim_start_matches("http://"), &[]).await;
    client.server.notes("reconnected").await;
    client.told("notifications/tools/list_changed").await;
    let list = client.answer(id).await;
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 4, "{list}");
    let echo = client.tool("echo").await;
    let answer = client.call("tools/call", json!({ "name": echo, "arguments": { "text": "again" } })).await;
    assert_eq!(answer["result"]["content"][0]["text"], "again", "{answer}");
    client.server.types_no_more();
    let (rest, code) = client.ended().await;
    assert_eq!(code, 0);
    assert!(
        rest.iter().all(|message| message.get("method").is_some()),
        "nothing is answered twice: {rest:?}"
    );
}

#[tokio::test]
async fn requests_before_the_end_of_input_are_answered() {
    let upstream = FakeUpstream::start().await;
    let yard = yard_with(&upstream).await;
    let mut client = Client::initialized(yard.command(&["mcp", "--user", ADA])).await;
    let name = client.tool("steps").await;
    let id = client.ask("tools/call", steps(&name, "p")).await;
    client.server.types_no_more();
    upstream.wait_messages("tools/call", 1).await;
    upstream.let_through(2);
    assert_eq!(client.answer(id).await["result"]["content"][0]["text"], "2 steps");
    assert_eq!(client.ended().await.1, 0);
    let nothing = yard.run(&["mcp", "--user", ADA]).await;
    assert_eq!((nothing.code, nothing.out.as_str(), nothing.err.as_str()), (0, "", ""));
}

#[tokio::test]
async fn a_line_over_the_limit_is_refused_and_the_next_one_read() {
    let yard = Yard::start().await;
    let mut client = Client::initialized(yard.command(&["mcp", "--user", ADA])).await;
    client.notify("notifications/message", json!({ "data": "x".repeat(1024 * 1024) })).await;
    let refused = client.until(|message| message.get("error").is_some()).await;
    assert_eq!(refused["error"]["code"], -32600);
    assert!(refused["error"]["message"].as_str().unwrap().contains("at most 1048576 bytes"), "{refused}");
    assert!(client.call("ping", json!({})).await.get("result").is_some());
    client.server.types("this is no message").await;
    let refused = client.until(|message| message.get("error").is_some()).await;
    assert_eq!(refused["error"]["code"], -32700);
    client.server.types("\n  ").await;
    assert!(client.call("ping", json!({})).await.get("result").is_some());
}

/// Text on stderr, nothing on stdout, exit code 1.
#[track_caller]
fn refused(ran: Ran, words: &[&str]) {
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    for word in words {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
}

#[tokio::test]
async fn a_refused_client_gets_the_reason_on_stderr() {
    let yard = Yard::start_with(&["--auth", "token"]).await;
    refused(
        yard.run(&["mcp", "--token", "x.y.z"]).await,
        &["error: the token is not valid", "next: run `toolyard login`, or set TOOLYARD_TOKEN"],
    );
    // A client reads stdout, whatever other flags are set.
    refused(yard.run(&["mcp", "--token", "x.y.z", "--json"]).await, &["error: the token is not valid"]);
    let token = yard.run(&["token", "user", ADA, "--data", "data"]).await.good();
    let mut client = Client::initialized(yard.command(&["mcp", "--token", token.trim()])).await;
    client.server.types_no_more();
    assert_eq!(client.ended().await.1, 0);

    let dev = Yard::start().await;
    refused(dev.run(&["mcp"]).await, &["does not name a user", "next: set the user with --user"]);
    let down = ["mcp", "--user", ADA, "--server", "http://127.0.0.1:1"];
    refused(dev.run(&down).await, &["cannot reach the server", "toolyard serve"]);
    let mut client = Client::initialized(dev.command(&["mcp", "--user", ADA])).await;
    client.server.signal("-TERM").await;
    assert_eq!(client.server.end().await, 0);
}

/// The platform in the process, in its own folder.
fn embedded(folder: &std::path::Path, args: &[&str]) -> Command {
    toolyard(folder, &[&["mcp", "--embedded"], &NO_BUILTINS[..], args].concat())
}

#[tokio::test]
async fn embedded_there_is_no_server() {
    let folder = tempfile::tempdir().unwrap();
    let binary = FakeUpstream::binary_path();
    let config = format!(
        "[upstreams.inside]\ncommand = '{}'\nargs = [\"--stdio\", \"--fixtures\", \"echo\"]\n",
        binary.display()
    );
    std::fs::write(folder.path().join("my.toml"), config).unwrap();
    let over_http = FakeUpstream::start().await;
    let servers = json!({ "mcpServers": {
        "Other One": { "url": over_http.url() }, "asks": { "url": "${input:x}" }, "inside": { "command": "x" },
        "off": { "disabled": true },
    } });
    std::fs::write(folder.path().join("mcp.json"), servers.to_string()).unwrap();
    let args = ["--config", "my.toml", "--servers", "mcp.json", "--data", "kept"];
    let mut client = Client::initialized(embedded(folder.path(), &args)).await;
    // Nothing is installed, and the first list is complete.
    let list = client.call("tools/list", json!({})).await;
    let names: Vec<&str> = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 8, "{names:?}");
    for name in names.into_iter().filter(|name| name.ends_with("__echo")) {
        let answer = client.call("tools/call", json!({ "name": name, "arguments": { "text": "hi" } })).await;
        assert_eq!(answer["result"]["content"][0]["text"], "hi", "{answer}");
    }
    client.server.types(&"x".repeat(2 * 1024 * 1024)).await;
    let refused = client.until(|message| message.get("error").is_some()).await;
    assert_eq!(refused["error"]["code"], -32600);
    client.server.notes("skipped asks: `url`: `${input:x}` asks").await;
    client.server.notes("skipped inside: the configuration has").await;
    client.server.types_no_more();
    assert_eq!(client.ended().await, (vec![], 0));
    assert!(folder.path().join("kept/toolyard.db").exists());
}

#[tokio::test]
async fn embedded_it_leaves_nothing_behind_and_ends_on_a_signal() {
    let (folder, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut command = embedded(folder.path(), &[]);
    command.env("TMPDIR", temporary.path());
    let mut client = Client::initialized(command).await;
    assert_eq!(client.call("tools/list", json!({})).await["result"]["tools"], json!([]));
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 1);
    client.server.signal("-TERM").await;
    assert_eq!(client.server.end().await, 0);
    for path in [folder.path(), temporary.path()] {
        assert_eq!(std::fs::read_dir(path).unwrap().count(), 0);
    }
    let wrong = ended(embedded(folder.path(), &["--servers", "missing.json"])).await;
    assert_eq!((wrong.code, wrong.out.as_str()), (1, ""));
    assert!(wrong.err.contains("cannot read missing.json"), "{}", wrong.err);
    let wrong = ended(embedded(folder.path(), &["--set", "calls.timeout_ms=soon", "--json"])).await;
    assert_eq!((wrong.code, wrong.out.as_str()), (2, ""));
}
