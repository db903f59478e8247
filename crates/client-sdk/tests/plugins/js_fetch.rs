//! A plugin that calls a host over https: the host is a server of this test, under the name and at the port of the world.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolyard_client_sdk::{
    Client, ToolCall, ToolContext,
    plugins::{
        self,
        js::{JsHost, JsOptions, JsTrust, SandboxHost},
    },
};
use toolyard_net::{ClientSettings, Guard, HttpClient, StandIn};
use toolyard_protocol::plugin::Manifest;
use toolyard_testkit::TlsServer;
use toolyard_trust::{KeyEntry, KeyList, SecretKey, sign_manifest};

const HOST: &str = "api.example.com";
const CODE: &str = "const answer = await fetch(args.url, { method: 'POST', body: JSON.stringify(args) });
    return { status: answer.status, type: answer.headers.get('content-type'), ...(await answer.json()) };";

async fn client(guard: Guard, server: &TlsServer, root: Vec<u8>) -> Client {
    let stand_in = StandIn { host: HOST.to_owned(), address: server.address, root };
    let http = HttpClient::with_stand_in(guard.clone(), ClientSettings::default(), stand_in).unwrap();
    let world = SandboxHost {
        client: http,
        guard,
        clock: Arc::new(|| 0),
        random: Arc::new(|bytes: &mut [u8]| bytes.fill(7)),
    };
    let host = JsHost::new(world, JsOptions::default());
    let manifest = json!({
        "schemaVersion": 1, "id": "com.example.test", "name": "Test", "version": "1.0.0", "publisher": "Ada",
        "permissions": { "network": [HOST] },
        "tools": [{ "name": "go", "description": "Goes", "parameters": { "type": "object" }, "executorCode": CODE }],
    });
    let key = SecretKey::from_seed(&[1; 32]).unwrap();
    let signed = sign_manifest(&Manifest::parse(manifest.to_string().as_bytes()).unwrap(), &key).unwrap();
    let now = jiff::Timestamp::UNIX_EPOCH;
    let keys = KeyList::from_local_keys([KeyEntry::new(key.public_key(), "Ada")]);
    let plugin = plugins::js(signed.as_bytes(), &JsTrust { keys, ..JsTrust::empty(now) }, &host).unwrap();
    let client = Client::new("http://127.0.0.1:1").unwrap();
    client.use_plugin(plugin).await.unwrap();
    client
}

async fn go(client: &Client, url: &str) -> Result<Value, String> {
    let cx = ToolContext::detached("call-1", "go");
    let arguments = Map::from_iter([("url".to_owned(), url.into())]);
    client
        .plugins()
        .run_call(&ToolCall::new("call-1", "go", arguments.into()), &cx)
        .await
        .map_err(|error| error.0)
}

#[tokio::test]
async fn a_declared_host_is_called_over_https() {
    let server = TlsServer::start(HOST, r#"{"weather":"fine"}"#).await;
    let client = client(Guard::dev(), &server, server.root.clone()).await;
    let told = go(&client, "https://api.example.com/v1").await.unwrap();
    assert_eq!(told, json!({ "status": 200, "type": "application/json", "weather": "fine" }));
    assert!(server.request_heads()[0].starts_with("POST /v1 HTTP/1.1\r\n"), "{:?}", server.request_heads());
    let refused = go(&client, "https://api.example.com:8443/").await.unwrap_err();
    assert!(refused.contains("not among the hosts"), "{refused}");
    assert_eq!(server.request_heads().len(), 1);
}

#[tokio::test]
async fn an_untrusted_certificate_is_an_error() {
    let (server, other) = (TlsServer::start(HOST, "{}").await, TlsServer::start(HOST, "{}").await);
    let told = go(&client(Guard::dev(), &server, other.root.clone()).await, "https://api.example.com/").await;
    let told = told.unwrap_err();
    assert!(told.contains("TLS") || told.contains("certificate"), "{told}");
    assert!(server.request_heads().is_empty());
}

#[tokio::test]
async fn the_guard_also_checks_the_address_of_a_declared_host() {
    let server = TlsServer::start(HOST, "{}").await;
    let told =
        go(&client(Guard::strict(), &server, server.root.clone()).await, "https://api.example.com/").await;
    assert!(told.is_err(), "a name that leads to this machine: {told:?}");
    assert!(server.request_heads().is_empty());
}
