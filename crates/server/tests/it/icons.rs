//! Icons of apps: fetched by the server over https, cached, and served with their real media type.

use futures_util::future::join_all;
use serde_json::{Value, json};
use toolyard_net::{ClientSettings, Guard, HttpClient, StandIn};
use toolyard_server::{auth::Role, config::Config};
use toolyard_testkit::TlsServer;

use crate::platform::{Answer, ECHO, Platform, tokens_only};

const HOST: &str = "pictures.example.com";
const ICON: &str = "/api/apps/com.example.echo/icon";

/// A server whose only reachable host responds with this.
async fn yard(configure: fn(&mut Config), picture: &str, guard: Guard) -> (Platform, TlsServer) {
    let server = TlsServer::start(HOST, picture).await;
    let stand_in = StandIn { host: HOST.to_owned(), address: server.address, root: server.root.clone() };
    let http = HttpClient::with_stand_in(guard, ClientSettings::default(), stand_in).unwrap();
    (Platform::with_http(configure, Some(http)).await, server)
}

async fn register(p: &Platform, icon_url: Value) {
    let app = json!({ "packageName": ECHO, "kind": "tools-only", "iconUrl": icon_url });
    p.bearer(&p.token("dora", Role::Developer)).post("/api/apps", &app).await.expect(201);
}

fn of_host() -> Value {
    json!(format!("https://{HOST}/echo.gif"))
}

async fn asked(p: &Platform) -> Answer {
    p.user("ada").get(ICON).await
}

#[tokio::test]
async fn an_icon_is_served_by_the_server_and_its_host_learns_nothing() {
    let (p, host) = yard(tokens_only, "GIF89a picture", Guard::dev()).await;
    register(&p, of_host()).await;
    p.nobody().get(ICON).await.expect(401);
    let ada = p.bearer(&p.token("ada", Role::User));
    let answer = ada.get(ICON).await.expect(200);
    assert_eq!(answer.text, "GIF89a picture");
    let header = |name: &str| answer.headers.get(name).unwrap().to_str().unwrap().to_owned();
    // The declared type, JSON here, is ignored.
    assert_eq!(header("content-type"), "image/gif");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("cache-control"), "private, max-age=300");
    assert!(header("content-security-policy").ends_with("sandbox"));
    let heads = host.request_heads();
    assert_eq!(heads.len(), 1);
    assert!(heads[0].starts_with("GET /echo.gif HTTP/1.1\r\n"), "{}", heads[0]);
    for secret in ["ada", "authorization", "cookie", "referer"] {
        assert!(!heads[0].contains(secret), "{}", heads[0]);
    }

    ada.get(ICON).await.expect(200);
    assert_eq!(host.request_heads().len(), 1, "it is kept");
    p.clock.advance(300);
    for answer in join_all((0..20).map(|_| ada.get(ICON))).await {
        answer.expect(200);
    }
    assert_eq!(host.request_heads().len(), 2, "fetched once for all who ask");
    p.clock.advance(300);
    ada.get(ICON).await.expect(200);
    assert_eq!(host.request_heads().len(), 3, "not for ever");
}

#[tokio::test]
async fn invalid_and_large_icons_are_not_served_and_not_fetched_again_at_once() {
    let large = format!("GIF89a{}", "x".repeat(128 * 1024));
    for body in ["<svg xmlns='http://www.w3.org/2000/svg'/>", "<html><script>alert(1)</script>", "", &large] {
        let (p, host) = yard(|_| {}, body, Guard::dev()).await;
        register(&p, of_host()).await;
        let answer = asked(&p).await.expect(404);
        assert_eq!(answer.code(), "NOT_FOUND");
        assert!(answer.text.contains("no icon for com.example.echo"), "{}", answer.text);
        asked(&p).await.expect(404);
        assert_eq!(host.request_heads().len(), 1);
    }
}

#[tokio::test]
async fn an_address_that_the_guard_refuses_is_not_dialled() {
    let (p, host) = yard(|_| {}, "GIF89a", Guard::strict()).await;
    register(&p, of_host()).await;
    let answer = asked(&p).await.expect(404);
    assert!(answer.text.contains("did not return an image"), "nobody learns why: {}", answer.text);
    assert!(host.request_heads().is_empty(), "loopback, as the stand-in is, is no place for pictures");
}

#[tokio::test]
async fn an_app_without_an_icon_url_is_not_found() {
    let (p, host) = yard(|_| {}, "GIF89a", Guard::dev()).await;
    asked(&p).await.expect(404);
    register(&p, Value::Null).await;
    assert!(asked(&p).await.expect(404).text.contains("it has no `iconUrl`"));
    let change = json!({ "iconUrl": "data:image/gif;base64,R0lGODlh" });
    p.nobody().patch("/api/apps/com.example.echo", &change).await.expect(200);
    assert!(asked(&p).await.expect(404).text.contains("its `iconUrl` contains the icon itself"));
    assert!(host.request_heads().is_empty());
}
