//! Several callers on one server: each sees their own tools, even over one connection.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use toolyard_server::auth::Role;

use super::client::{Ask, LEGACY, MODERN, soon};
use crate::{
    identity::app_of,
    platform::{ECHO, Person, Platform, tokens_only},
};

/// One connection, used for different callers.
struct Connection(TcpStream);

impl Connection {
    async fn open(p: &Platform) -> Self {
        let address = p.url.strip_prefix("http://").unwrap();
        #[expect(clippy::disallowed_methods, reason = "the test needs to know that it is one connection")]
        Self(TcpStream::connect(address).await.unwrap())
    }

    /// The names in the list for this header.
    async fn tools(&mut self, who: &str) -> Vec<String> {
        let ask = Ask::modern("tools/list", json!({}));
        let body = ask.message().to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/list\r\n{who}\r\n\r\n{body}",
            body.len()
        );
        self.0.write_all(request.as_bytes()).await.unwrap();
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            assert_eq!(soon(self.0.read(&mut byte)).await.unwrap(), 1, "the connection is kept");
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        assert!(head.starts_with("http/1.1 200"), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        soon(self.0.read_exact(&mut body)).await.unwrap();
        names(&serde_json::from_slice::<Value>(&body).unwrap()["result"])
    }
}

fn names(list: &Value) -> Vec<String> {
    let tools = list["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["_meta"]["toolyard/name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn users_on_one_connection_are_separate() {
    let p = Platform::with(tokens_only).await;
    let (_echo, key) = app_of(&p, "dora", ECHO).await;
    let (_other, _) = app_of(&p, "dora", "com.example.other").await;
    let token = |name: &str| p.token(name, Role::User);
    for (name, package) in [("ada", ECHO), ("bob", "com.example.other")] {
        p.bearer(&token(name)).put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
    }
    let header = |name: &str| format!("Authorization: Bearer {}", token(name));
    let app = format!("Authorization: Bearer {key}\r\nX-User-Id: ada");
    let mut connection = Connection::open(&p).await;
    for _ in 0..3 {
        assert_eq!(connection.tools(&header("ada")).await, ["com.example.echo:echo"]);
        assert_eq!(connection.tools(&header("bob")).await, ["com.example.other:echo"]);
        assert_eq!(connection.tools(&header("eve")).await, [""; 0]);
        assert_eq!(connection.tools(&app).await, ["com.example.echo:echo"]);
    }
}

/// An app of mal and one of dora, both installed for ada.
async fn two_apps(p: &Platform) -> ([toolyard_testkit::FakeApp; 2], String) {
    let (echo, _) = app_of(p, "dora", ECHO).await;
    let (helper, key) = app_of(p, "mal", "com.example.helper").await;
    let ada = p.bearer(&p.token("ada", Role::User));
    for package in [ECHO, "com.example.helper"] {
        ada.put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
    }
    ada.get("/api/session").await.expect(200);
    ([echo, helper], key)
}

/// What the helper sees and can call, in both eras.
async fn sees(helper: &Person<'_>, expected: &[&str]) {
    let session = helper.handshake(LEGACY).await;
    for list in [
        helper.modern("tools/list", json!({})).await.result(),
        session.ask("tools/list", json!({})).await.result(),
    ] {
        let mut found = names(&list);
        found.sort();
        assert_eq!(found, expected);
    }
    for tool in ["com_example_echo__echo", "com.example.echo:echo", "com_example_helper__echo"] {
        let params = json!({ "name": tool, "arguments": { "text": "x" } });
        let allowed = expected.len() == 2 || tool.contains("helper");
        let modern = helper.modern("tools/call", params.clone()).await;
        for answer in [modern, session.ask("tools/call", params).await] {
            match allowed {
                true => assert_eq!(answer.result()["content"][0]["text"], "ok"),
                false => assert_eq!(answer.refusal(), (200, -32602), "{tool}: {}", answer.text),
            }
        }
    }
}

#[tokio::test]
async fn an_app_sees_its_own_tools_unless_it_is_an_assistant() {
    let p = Platform::with(tokens_only).await;
    let (_apps, key) = two_apps(&p).await;
    let ada = p.bearer(&p.token("ada", Role::User));
    let helper = p.bearer(&key).header("x-user-id", "ada");
    let (own, all) = (["com.example.helper:echo"], ["com.example.echo:echo", "com.example.helper:echo"]);
    sees(&helper, &own).await;
    ada.put("/api/installs/com.example.helper/assistant", &json!({})).await.expect(204);
    sees(&helper, &all).await;
    let calls = ada.get("/api/calls?tool=com.example.echo:echo&outcome=OK").await.expect(200).json();
    assert_eq!(
        (&calls["calls"][0]["caller"], &calls["calls"][0]["door"]),
        (&json!("app:com.example.helper"), &json!("mcp"))
    );
    ada.delete("/api/installs/com.example.helper/assistant").await.expect(204);
    sees(&helper, &own).await;
}

#[tokio::test]
async fn an_app_acts_only_for_users_who_have_it() {
    let p = Platform::with(tokens_only).await;
    let (_apps, key) = two_apps(&p).await;
    let bob = p.bearer(&p.token("bob", Role::User));
    bob.get("/api/session").await.expect(200);
    for user in ["bob", "eve"] {
        let helper = p.bearer(&key).header("x-user-id", user);
        let answer = helper.modern("tools/list", json!({})).await.expect(401);
        assert!(!answer.text.contains("echo"), "{}", answer.text);
    }
    p.bearer(&key).modern("tools/list", json!({})).await.expect(401);
    // When ada uninstalls it, its sessions end, too.
    let helper = p.bearer(&key).header("x-user-id", "ada");
    let session = helper.handshake(LEGACY).await;
    session.ask("ping", json!({})).await.result();
    let ada = p.bearer(&p.token("ada", Role::User));
    ada.delete("/api/installs/com.example.helper").await.expect(204);
    session.ask("ping", json!({})).await.expect(401);
}
