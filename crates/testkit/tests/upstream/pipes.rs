//! The same over pipes, in this process and in a separate one.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, Lines},
    process::Command,
};
use toolyard_testkit::upstream::{CancelSignal, FakeUpstream, InjectedFault, OfferListKind, RequestMatch};

use crate::client::{ask, modern};

struct Pipe<R, W> {
    lines: Lines<BufReader<R>>,
    output: W,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Pipe<R, W> {
    fn new(input: R, output: W) -> Self {
        Self { lines: BufReader::new(input).lines(), output }
    }

    async fn say(&mut self, message: &Value) {
        self.output.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    async fn ask(&mut self, message: &Value) -> Value {
        self.say(message).await;
        self.hear().await.unwrap()
    }
}

fn hello() -> Value {
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {} });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

#[tokio::test]
async fn both_eras_share_a_pipe() {
    let upstream = FakeUpstream::start().await;
    let (input, output) = tokio::io::split(upstream.pipe());
    let mut pipe = Pipe::new(input, output);
    let early = pipe.ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await;
    assert_eq!(early["error"]["code"], -32600);
    assert_eq!(pipe.ask(&modern(2, "server/discover", json!({}))).await["result"]["resultType"], "complete");
    assert_eq!(pipe.ask(&modern(3, "initialize", json!({}))).await["error"]["code"], -32601);
    assert_eq!(pipe.ask(&hello()).await["result"]["protocolVersion"], "2025-06-18");
    let listed = pipe.ask(&json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/list" })).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 4);
    upstream.announce_list(OfferListKind::Tools);
    assert_eq!(pipe.hear().await.unwrap()["method"], "notifications/tools/list_changed");
    pipe.output.write_all(b"nonsense\n").await.unwrap();
    assert_eq!(pipe.hear().await.unwrap()["error"]["code"], -32700);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused() {
    let upstream = FakeUpstream::start().await;
    let (input, output) = tokio::io::split(upstream.pipe());
    let mut pipe = Pipe::new(input, output);
    let params = json!({ "name": "echo", "arguments": { "text": "x".repeat(16 * 1024 * 1024) } });
    assert_eq!(pipe.ask(&modern(1, "tools/call", params)).await["error"]["code"], -32700);
    assert!(upstream.methods().is_empty());
}

#[tokio::test]
async fn pipes_have_the_same_faults() {
    let upstream = FakeUpstream::start().await;
    let (input, output) = tokio::io::split(upstream.pipe());
    let mut pipe = Pipe::new(input, output);
    upstream.inject_fault(RequestMatch::for_tool("echo").times(1), InjectedFault::Hang);
    upstream.inject_fault(RequestMatch::for_tool("fail").times(1), InjectedFault::DieMidway);
    pipe.say(&modern(8, "tools/call", json!({ "name": "echo", "arguments": {} }))).await;
    upstream.wait_messages("tools/call", 1).await;
    let params = json!({ "requestId": 8 });
    pipe.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    assert_eq!(upstream.wait_cancelled(1).await[0].how, CancelSignal::Notified);
    pipe.say(&modern(9, "tools/call", json!({ "name": "fail", "arguments": {} }))).await;
    let half = pipe.lines.next_line().await.unwrap().unwrap();
    assert!(serde_json::from_str::<Value>(&half).is_err());
    assert_eq!(pipe.lines.next_line().await.unwrap(), None);
}

fn binary(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fixture-upstream"));
    command.args(arguments).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[tokio::test]
async fn the_binary_speaks_over_stdio_until_its_input_ends() {
    let mut child = binary(&["--stdio", "--era", "legacy"]).spawn().unwrap();
    let mut pipe = Pipe::new(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    assert_eq!(pipe.ask(&modern(1, "server/discover", json!({}))).await["error"]["code"], -32601);
    assert_eq!(pipe.ask(&hello()).await["result"]["serverInfo"]["name"], "fixture-upstream");
    drop(pipe);
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn the_binary_exits_on_an_injected_fault() {
    let mut child = binary(&["--stdio", "--fixtures", "echo", "--fault", "tools/call=die"]).spawn().unwrap();
    let mut pipe = Pipe::new(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    pipe.say(&modern(1, "tools/call", json!({ "name": "echo", "arguments": {} }))).await;
    assert_eq!(pipe.hear().await, None);
    child.wait().await.unwrap();
}

#[tokio::test]
async fn the_binary_says_where_it_listens() {
    let mut child = binary(&["--http", "127.0.0.1:0", "--page-size", "5"]).spawn().unwrap();
    let line = BufReader::new(child.stdout.take().unwrap()).lines().next_line().await.unwrap().unwrap();
    let url = line.strip_prefix("listening ").unwrap();
    let listed = ask(url, "tools/list", json!({})).await.unwrap().result();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 5);
    child.kill().await.unwrap();
}

#[tokio::test]
async fn the_binary_says_what_it_does_not_understand() {
    for wrong in
        [&[][..], &["--stdio", "--era", "stone"], &["--http"], &["--stdio", "--fault", "ping=explode"]]
    {
        let output = binary(wrong).output().await.unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}
