//! The OAuth callback in browsers: no user can authorize for another user unknowingly.

use http::Method;
use serde_json::json;
use toolyard_server::auth::Role;
use toolyard_testkit::{authorization::GuardedUpstream, upstream::UpstreamEra};

use super::{
    guarded::{link, says_yes},
    world::{add_with, create, live, plain},
};
use crate::{
    mcp::client::soon,
    platform::{Answer, Platform},
};

/// The confirm button on the page.
pub(crate) async fn agree(p: &Platform, back: &str) -> Answer {
    let form = p.as_with(&[("content-type", "application/x-www-form-urlencoded")]);
    soon(form.send(Method::POST, "/oauth/callback", Some(body(back)))).await
}

fn body(back: &str) -> String {
    let query = back.split_once('?').unwrap().1;
    url::form_urlencoded::Serializer::new(String::new()).append_pair("query", query).finish()
}

async fn started() -> (Platform, GuardedUpstream) {
    let p = Platform::start().await;
    let guarded = GuardedUpstream::start(UpstreamEra::Modern).await;
    add_with(&p, "up", json!({ "url": guarded.url(), "auth": "oauth" })).await;
    (p, guarded)
}

fn redeemed(guarded: &GuardedUpstream) -> usize {
    guarded.authorization.requests("/token").len()
}

#[tokio::test]
async fn another_browser_sees_the_account_and_must_confirm() {
    let (p, guarded) = started().await;
    let (ada, mallory) = ("ada", "<i>mallory</i>&\"co\"");
    for user in [ada, mallory] {
        let (link, _) = link(&p.user(user), "up").await;
        let back = says_yes(&p, &link).await;
        let before = redeemed(&guarded);
        // Bob has a flow of his own in this browser; his cookie belongs to that one.
        let (_, bobs) = super::guarded::link(&p.user("bob"), "up").await;
        for cookie in ["", &bobs, "toolyard-authorize=", "toolyard-authorize=%00; other=1"] {
            let page = p.as_with(&[("cookie", cookie)]).get(&back).await.expect(200);
            let shown =
                user.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
            assert!(page.text.contains(&format!("<b>{shown}</b>")), "{}", page.text);
            assert!(
                page.text.contains("<b>up</b>") && page.text.contains("<form method=\"post\""),
                "{}",
                page.text
            );
            assert_eq!(page.header("x-frame-options"), "DENY");
            assert!(page.header("content-security-policy").contains("frame-ancestors 'none'"));
            assert_eq!(
                (page.header("cache-control"), page.header("referrer-policy")),
                ("no-store", "same-origin")
            );
        }
        assert_eq!(redeemed(&guarded), before, "looking is not agreeing");
        let done = agree(&p, &back).await.expect(200);
        assert!(done.text.contains("Done"), "{}", done.text);
        assert_eq!(redeemed(&guarded), before + 1);
    }
    assert_eq!(live(&p, ada).await.tools().await.len(), 4);
    assert_eq!(live(&p, "bob").await.tools().await, [""; 0]);
}

#[tokio::test]
async fn the_link_of_a_dropped_flow_is_not_returned_again() {
    let (p, guarded) = started().await;
    let (ada, bob) = (p.user("ada"), p.user("bob"));
    let (first, _) = link(&ada, "up").await;
    let (of_bob, _) = link(&bob, "up").await;
    // Eight flows of a user are kept at once.
    for number in 0..8 {
        assert_eq!(link(&bob, "up").await.0, of_bob, "the same for some minutes, whatever others do");
        let id = format!("up{number}");
        create(&p, &id, json!({ "url": guarded.url(), "auth": "oauth" })).await;
        link(&ada, &id).await;
    }
    let (again, cookie) = link(&ada, "up").await;
    assert_ne!(first, again);
    let back = says_yes(&p, &again).await;
    p.as_with(&[("cookie", &cookie)]).get(&back).await.expect(200);
    assert_eq!(redeemed(&guarded), 1);
}

#[tokio::test]
async fn a_page_of_another_origin_cannot_confirm() {
    let (p, guarded) = started().await;
    let (link, _) = link(&p.user("ada"), "up").await;
    let back = says_yes(&p, &link).await;
    let form = ("content-type", "application/x-www-form-urlencoded");
    for origin in ["https://evil.example", "null"] {
        let evil = p.as_with(&[form, ("origin", origin)]);
        evil.send(Method::POST, "/oauth/callback", Some(body(&back))).await.expect(403);
    }
    p.nobody().send(Method::POST, "/oauth/callback", Some(body(&back))).await.expect(400);
    assert_eq!(redeemed(&guarded), 0);
    let own = p.as_with(&[form, ("origin", &p.url)]);
    own.send(Method::POST, "/oauth/callback", Some(body(&back))).await.expect(200);
}

#[tokio::test]
async fn forged_and_replayed_oauth_callbacks_are_refused() {
    let (p, guarded) = started().await;
    let (link, cookie) = link(&p.user("ada"), "up").await;
    let back = says_yes(&p, &link).await;
    let browser = p.as_with(&[("cookie", &cookie)]);
    let state = url::Url::parse(&format!("{}{back}", p.url)).unwrap();
    let state = state.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
    for forged in [
        "/oauth/callback".to_owned(),
        "/oauth/callback?code=code-1".to_owned(),
        "/oauth/callback?code=code-1&state=".to_owned(),
        "/oauth/callback?code=code-1&state=forged".to_owned(),
        back.replace(&state, &state[1..]),
    ] {
        let page = browser.get(&forged).await.expect(400);
        assert!(page.text.contains("Start again"), "{forged}: {}", page.text);
    }
    assert_eq!(redeemed(&guarded), 0);
    browser.get(&back).await.expect(200);
    for _ in 0..2 {
        browser.get(&back).await.expect(400);
        agree(&p, &back).await.expect(400);
    }
    assert_eq!(redeemed(&guarded), 1, "a code is redeemed once");
}

#[tokio::test]
async fn denied_and_mixed_up_oauth_callbacks_grant_nothing() {
    let (p, guarded) = started().await;
    let ada = p.user("ada");
    guarded.authorization.configure(|script| script.denies = Some("access_denied".to_owned()));
    let (said_no, cookie) = link(&ada, "up").await;
    let back = says_yes(&p, &said_no).await;
    let page = p.as_with(&[("cookie", &cookie)]).get(&back).await.expect(400);
    assert!(page.text.contains("access_denied") || page.text.contains("denied"), "{}", page.text);
    assert_eq!(redeemed(&guarded), 0);
    // A code of another issuer than the one that was asked.
    guarded.authorization.configure(|script| {
        script.denies = None;
        script.iss = toolyard_testkit::authorization::IssParameter::Wrong("https://evil.example".to_owned());
    });
    p.clock.advance(600);
    let (mixed_up, cookie) = link(&ada, "up").await;
    assert_ne!(said_no, mixed_up, "a link is good for some minutes");
    let back = says_yes(&p, &mixed_up).await;
    p.as_with(&[("cookie", &cookie)]).get(&back).await.expect(400);
    assert_eq!(redeemed(&guarded), 0);
    assert_eq!(live(&p, "ada").await.tools().await, [""; 0]);
}

#[tokio::test]
async fn the_client_metadata_document_describes_this_server() {
    let p = Platform::start().await;
    let about = p.nobody().get("/oauth/client.json").await.expect(200).json();
    assert_eq!(about["redirect_uris"], json!([format!("{}/oauth/callback", p.url)]));
    assert_eq!((&about["client_name"], &about["application_type"]), (&json!("Toolyard"), &json!("native")));
    assert_eq!(about["token_endpoint_auth_method"], "none");
    assert!(about["client_id"].is_null(), "nobody could read it there");
}

#[tokio::test]
async fn behind_https_the_metadata_url_is_the_client_id() {
    let base = "https://tools.example.com";
    let p = Platform::with(|config| {
        config.server.public_url = Some(base.to_owned());
        config.net.allow_loopback = Some(true);
    })
    .await;
    let about = p.nobody().get("/oauth/client.json").await.expect(200).json();
    assert_eq!(about["client_id"], format!("{base}/oauth/client.json"));
    assert_eq!(about["redirect_uris"], json!([format!("{base}/oauth/callback")]));
    assert_eq!(about["application_type"], "web");
    let guarded = GuardedUpstream::start(UpstreamEra::Modern).await;
    guarded.authorization.configure(|script| script.cimd = true);
    let olga = p.bearer(&p.token("olga", Role::Operator));
    let body = json!({ "id": "up", "url": guarded.url(), "auth": "oauth", "forAll": true });
    olga.post("/api/upstreams", &body).await.expect(201);
    let ada = p.bearer(&p.token("ada", Role::User));
    let answer = ada.post("/api/upstreams/up/authorize", &json!({})).await.expect(200);
    let cookie = answer.header("set-cookie").to_owned();
    assert!(
        cookie.contains("; Secure") && cookie.contains("; HttpOnly") && cookie.contains("SameSite=Lax"),
        "{cookie}"
    );
    let link = url::Url::parse(answer.json()["link"].as_str().unwrap()).unwrap();
    let asked: std::collections::HashMap<_, _> = link.query_pairs().into_owned().collect();
    assert_eq!(asked["client_id"], format!("{base}/oauth/client.json"));
    assert_eq!(asked["redirect_uri"], format!("{base}/oauth/callback"));
    assert!(guarded.authorization.requests("/register").is_empty());
}

#[tokio::test]
async fn only_a_user_of_an_upstream_with_oauth_gets_a_link() {
    let p = Platform::start().await;
    let (guarded, open) =
        (GuardedUpstream::start(UpstreamEra::Modern).await, plain(UpstreamEra::Modern).await);
    let body = json!({ "id": "up", "url": guarded.url(), "auth": "oauth" });
    p.nobody().post("/api/upstreams", &body).await.expect(201);
    add_with(&p, "open", json!({ "url": open.url() })).await;
    let ada = p.user("ada");
    for path in ["/api/upstreams/up/authorize", "/api/upstreams/none/authorize"] {
        ada.post(path, &json!({})).await.expect(404);
        ada.delete(path).await.expect(404);
    }
    ada.post("/api/upstreams/open/authorize", &json!({})).await.expect(400);
    ada.put("/api/installs/mcp.up", &json!({})).await.expect(204);
    link(&ada, "up").await;
    guarded.authorization.set_fault(
        "/.well-known/oauth-authorization-server",
        toolyard_testkit::authorization::WebFault::Status(500),
    );
    p.clock.advance(600);
    let answer = ada.post("/api/upstreams/up/authorize", &json!({})).await.expect(503);
    assert!(!answer.text.contains("secret"), "{}", answer.text);
}
