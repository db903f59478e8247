//! A plugin that calls a host over https. The host is a server of this test.

use serde_json::{Value, json};
use toolyard_net::{ClientSettings, Guard, HttpClient, StandIn};
use toolyard_testkit::TlsServer;

use super::{curating, install, plugin, signed, with};
use crate::platform::{Device, Platform};

const HOST: &str = "api.example.com";
const TOOL: &str = "plugin.com.example.x:do_it";
const CODE: &str = "try {
        const answer = await fetch(args.url, { headers: { 'x-key': 'k' } });
        return { status: answer.status, url: answer.url, ...(await answer.json()) };
    } catch (e) { return String(e.message); }";

/// Ada's plugin may call the host; whether it is trusted depends on the certificate.
async fn yard(server: &TlsServer, root: Vec<u8>) -> (Platform, Device) {
    let stand_in = StandIn { host: HOST.to_owned(), address: server.address, root };
    let http = HttpClient::with_stand_in(Guard::dev(), ClientSettings::default(), stand_in).unwrap();
    let p = Platform::with_http(curating, Some(http)).await;
    let device = p.device("grace").await;
    let manifest = with(plugin("com.example.x", "do_it", CODE), "permissions", json!({ "network": [HOST] }));
    install(&p.user("grace"), &signed(&manifest, 1)).await.expect(201);
    (p, device)
}

async fn fetched(p: &Platform, url: &str) -> Value {
    p.user("grace").run("plugin_com_example_x__do_it", json!({ "url": url })).await
}

#[tokio::test]
async fn a_declared_host_is_called_over_https() {
    let server = TlsServer::start(HOST, r#"{"weather":"fine"}"#).await;
    let (p, _device) = yard(&server, server.root.clone()).await;
    let result = fetched(&p, "https://api.example.com/v1/today?at=7").await;
    let expected =
        json!({ "status": 200, "url": "https://api.example.com/v1/today?at=7", "weather": "fine" });
    assert_eq!(result["structuredContent"], expected, "{result}");
    let heads = server.request_heads();
    assert_eq!(heads.len(), 1);
    assert!(heads[0].starts_with("GET /v1/today?at=7 HTTP/1.1\r\n"), "{}", heads[0]);
    assert!(
        heads[0].contains("x-key: k\r\n") && heads[0].contains("host: api.example.com\r\n"),
        "{}",
        heads[0]
    );
    assert!(!heads[0].contains("grace"), "nobody is named: {}", heads[0]);
    for other in ["https://api.example.com:8443/", "http://api.example.com/", "https://example.com/"] {
        let refused = fetched(&p, other).await;
        let said = refused["content"][0]["text"].as_str().unwrap();
        assert!(said.contains("not among the hosts"), "{other}: {said}");
    }
    assert_eq!(server.request_heads().len(), 1);
}

#[tokio::test]
async fn an_untrusted_certificate_is_an_error() {
    let (server, other) = (TlsServer::start(HOST, "{}").await, TlsServer::start(HOST, "{}").await);
    let (p, _device) = yard(&server, other.root.clone()).await;
    let answer = p.user("grace").call(TOOL, json!({ "url": "https://api.example.com/" })).await.expect(200);
    assert!(answer.text.contains("TLS") || answer.text.contains("certificate"), "{}", answer.text);
    assert!(server.request_heads().is_empty());
}
