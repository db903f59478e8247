//! Dev mode trusts programs on this machine that call it directly, and no requests that come through them.

use http::Method;
use serde_json::{Value, json};
use toolyard_server::config::Config;
use toolyard_testkit::{AppBehavior, FakeApp};

use crate::{
    builtin::bad,
    platform::{ECHO, Platform, tokens_only},
};

fn with_own_tools(config: &mut Config) {
    config.builtin.enabled = true;
}

#[tokio::test]
async fn loopback_pages_are_blocked_while_loopback_apps_work() {
    let p = Platform::with(with_own_tools).await;
    let (app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    app.set_behavior(AppBehavior::Text(200, "text/html", "<p>secret of this machine</p>".to_owned()));
    let port = app.url().rsplit(':').next().unwrap().to_owned();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0.0.0.0", "a.localhost"] {
        let told = bad(&p, "fetch_page", json!({ "url": format!("http://{host}:{port}/page") })).await;
        assert!(!told.contains("secret"), "{host}: {told}");
    }
    assert!(app.requests("/page").is_empty());
}

#[tokio::test]
async fn the_server_never_calls_itself_even_where_this_machine_is_allowed() {
    let p = Platform::with(|config| {
        with_own_tools(config);
        config.net.allow_loopback = Some(true);
        config.net.web_allow = vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()];
        config.net.also_allow = vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()];
    })
    .await;
    let _device = p.device("ada").await;
    let port = p.url.rsplit(':').next().unwrap();
    for host in ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::]", "2130706433"] {
        let url = format!("http://{host}:{port}/api/users");
        let told = bad(&p, "fetch_page", json!({ "url": url })).await;
        assert!(told.contains("this server itself"), "{url}: {told}");
        let app = json!({ "packageName": "com.example.self", "publicUrl": url });
        let refused = p.nobody().post("/api/apps", &app).await.expect(400);
        assert!(refused.text.contains("this server itself"), "{url}: {}", refused.text);
    }
    // Nor through a redirect.
    let site = FakeApp::start("site").await;
    site.set_behavior(AppBehavior::Redirect(format!("{}/api/users", p.url)));
    let told = bad(&p, "fetch_page", json!({ "url": format!("{}/tool", site.url()) })).await;
    assert!(told.contains("this server itself"), "{told}");
}

#[tokio::test]
async fn a_request_through_a_proxy_is_refused_with_what_to_configure() {
    let p = Platform::start().await;
    for header in
        ["forwarded", "x-forwarded-for", "x-forwarded-proto", "via", "x-real-ip", "cf-connecting-ip"]
    {
        for path in ["/api/apps", "/console/", "/mcp", "/healthz", "/nowhere"] {
            let refused = p.nobody().header(header, "203.0.113.7").get(path).await.expect(403);
            for said in [header, "auth.mode", "server.public_url"] {
                assert!(refused.text.contains(said), "{path}: {}", refused.text);
            }
        }
    }
    let p = Platform::with(tokens_only).await;
    let ada = p.bearer(&p.token("ada", toolyard_server::auth::Role::User));
    ada.header("x-forwarded-for", "203.0.113.7").get("/api/session").await.expect(200);
}

#[tokio::test]
async fn cross_site_requests_are_refused() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let paths =
        ["/api/tts?text=hi", "/api/session", "/api/apps/com.example.echo/icon", "/api/models", "/api/calls"];
    for site in ["cross-site", "same-site"] {
        for path in paths {
            let refused = p.user("ada").header("sec-fetch-site", site).get(path).await.expect(403);
            assert!(refused.text.contains("another site"), "{path}: {}", refused.text);
        }
    }
    for site in ["same-origin", "none"] {
        p.user("ada").header("sec-fetch-site", site).get("/api/session").await.expect(200);
    }
    // A link may lead to the console itself.
    p.nobody().header("sec-fetch-site", "cross-site").get("/").await.expect(303);
}

#[tokio::test]
async fn every_response_has_nosniff_and_resource_policy() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let cases: [(Method, &str, Option<Value>); 8] = [
        (Method::GET, "/api/tools", None),
        (Method::GET, "/api/openapi.json", None),
        (Method::GET, "/healthz", None),
        (Method::GET, "/nowhere", None),
        (Method::DELETE, "/api/tools", None),
        (Method::POST, "/api/tools/execute", Some(json!({ "name": format!("{ECHO}:echo") }))),
        (Method::POST, "/mcp", Some(json!({}))),
        (Method::GET, "/console/", None),
    ];
    for (method, path, body) in cases {
        let answer = p.user("ada").send(method, path, body.map(|body| body.to_string())).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin", "{path}");
    }
    let refused = p.nobody().header("host", "evil.example").get("/api/tools").await.expect(403);
    assert_eq!(refused.header("x-content-type-options"), "nosniff");
}
