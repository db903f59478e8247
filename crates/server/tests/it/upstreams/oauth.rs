//! Upstreams with OAuth: each user authorizes once, and gets a list of their own.

use serde_json::{Value, json};
use toolyard_testkit::{
    authorization::{GuardedUpstream, WebFault},
    upstream::{InjectedFault, OfferListKind, RequestMatch, UpstreamEra},
};

use super::{
    guarded::{authorize, link, says_yes},
    world::{add_with, hidden, live, plain, refresh, status, text, tool, until},
};
use crate::platform::Platform;

async fn guarded(p: &Platform) -> GuardedUpstream {
    let guarded = GuardedUpstream::start(UpstreamEra::Modern).await;
    let now = add_with(p, "up", json!({ "url": guarded.url(), "auth": "oauth" })).await;
    assert_eq!((&now["state"], &now["tools"]), (&json!("needs-authorization"), &json!(0)), "{now}");
    guarded
}

#[tokio::test]
async fn a_user_who_authorized_gets_the_tools() {
    let p = Platform::start().await;
    let guarded = guarded(&p).await;
    let ada = live(&p, "ada").await;
    assert_eq!(ada.tools().await, [""; 0]);
    let done = authorize(&p, "ada", "up").await.expect(200);
    assert!(done.text.contains("Done: you can use up now"), "{}", done.text);
    assert_eq!(ada.tools().await.len(), 4, "at once");
    assert_eq!(ada.call("mcp.up:echo", json!({ "text": "hi" })).await.expect(200).json()["content"], "hi");
    // Without a user it still refuses, which is not an error.
    assert_eq!(
        (&refresh(&p, "up").await["state"], &status(&p, "up").await["problem"]),
        (&json!("up"), &Value::Null)
    );
    let asked = &guarded.authorization.requests("/authorize")[0].query;
    assert_eq!(asked["redirect_uri"], format!("{}/oauth/callback", p.url));
    assert_eq!((&*asked["code_challenge_method"], &asked["resource"]), ("S256", &guarded.url()));
    let bob = live(&p, "bob").await;
    assert_eq!(bob.tools().await, [""; 0], "bob did not");
    assert_eq!(bob.call("mcp.up:echo", json!({ "text": "hi" })).await.expect(404).code(), "TOOL_NOT_FOUND");
}

#[tokio::test]
async fn each_user_gets_the_list_that_the_upstream_sends_for_them() {
    let p = Platform::start().await;
    let guarded = guarded(&p).await;
    guarded.first.set_list(OfferListKind::Tools, vec![tool("for-ada"), tool("both")]);
    guarded.second.set_list(OfferListKind::Tools, vec![tool("both"), tool("for-bob")]);
    for user in ["ada", "bob"] {
        live(&p, user).await;
        authorize(&p, user, "up").await.expect(200);
    }
    let (ada, bob) = (p.user("ada"), p.user("bob"));
    assert_eq!(ada.tools().await, ["mcp.up:for-ada", "mcp.up:both"]);
    assert_eq!(bob.tools().await, ["mcp.up:both", "mcp.up:for-bob"]);
    ada.call("mcp.up:both", json!({})).await.expect(200);
    bob.call("mcp.up:both", json!({})).await.expect(200);
    assert_eq!(
        (guarded.first.messages("tools/call").len(), guarded.second.messages("tools/call").len()),
        (1, 1)
    );
    assert_eq!(bob.call("mcp.up:for-ada", json!({})).await.expect(404).code(), "TOOL_NOT_FOUND");
    // Both survive a restart of the server, each for its own user.
    let p = p.restart().await;
    assert_eq!(live(&p, "bob").await.tools().await, ["mcp.up:both", "mcp.up:for-bob"]);
    p.user("bob").call("mcp.up:both", json!({})).await.expect(200);
    assert_eq!(guarded.second.messages("tools/call").len(), 2);
}

#[tokio::test]
async fn a_list_that_changes_for_one_user_is_read_for_that_user() {
    let p = Platform::with(|config| config.mcp.debounce_ms = 1).await;
    let guarded = guarded(&p).await;
    guarded.first.set_list(OfferListKind::Tools, vec![tool("old")]);
    guarded.second.set_list(OfferListKind::Tools, vec![tool("bobs")]);
    for user in ["ada", "bob"] {
        authorize(&p, user, "up").await.expect(200);
    }
    let mut ears = p.user("ada").listen("l", json!({ "toolsListChanged": true })).await;
    guarded.first.wait_listening(1).await;
    guarded.first.set_list(OfferListKind::Tools, vec![tool("new")]);
    guarded.first.announce_list(OfferListKind::Tools);
    assert_eq!(ears.message().await["method"], "notifications/tools/list_changed");
    assert_eq!(live(&p, "ada").await.tools().await, ["mcp.up:new"]);
    assert_eq!(live(&p, "bob").await.tools().await, ["mcp.up:bobs"]);
}

#[tokio::test]
async fn a_resource_that_changes_for_one_user_notifies_that_user() {
    let p = Platform::start().await;
    let guarded = guarded(&p).await;
    for upstream in [&guarded.first, &guarded.second] {
        let resources = ["test://mine", "test://mark"].map(|uri| json!({ "uri": uri, "name": "r" }));
        upstream.set_list(OfferListKind::Resources, resources.to_vec());
    }
    let filter = json!({ "resourceSubscriptions": ["test://mcp.up/mine", "test://mcp.up/mark"] });
    let mut ears = Vec::new();
    for user in ["ada", "bob"] {
        authorize(&p, user, "up").await.expect(200);
        ears.push(p.user(user).listen(user, filter.clone()).await);
    }
    let uri = |message: Value| message["params"]["uri"].as_str().unwrap().to_owned();
    let tells = async |uri: &'static str| loop {
        guarded.first.announce_resource(uri);
        tokio::task::yield_now().await;
    };
    // Before the stream is open, notifications are lost; so they are repeated until one arrives.
    let heard = async |ears: &mut crate::mcp::client::Events| {
        while uri(ears.message().await) != "test://mcp.up/mine" {}
    };
    tokio::select! {
        () = tells("test://mine") => {}
        () = heard(&mut ears[0]) => {}
    }
    // Bob's own upstream sent nothing; his first notification is his own.
    let bobs = async |ears: &mut crate::mcp::client::Events| uri(ears.message().await);
    let tells = async || loop {
        guarded.second.announce_resource("test://mark");
        tokio::task::yield_now().await;
    };
    let first = tokio::select! {
        () = tells() => unreachable!(),
        first = bobs(&mut ears[1]) => first,
    };
    assert_eq!(first, "test://mcp.up/mark");
}

#[tokio::test]
async fn a_user_whose_authorization_ended_gets_the_link() {
    let p = Platform::start().await;
    let guarded = guarded(&p).await;
    let ada = live(&p, "ada").await;
    authorize(&p, "ada", "up").await.expect(200);
    // An expired token is renewed silently.
    guarded.authorization.end_tokens();
    ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(200);
    p.clock.advance(60);
    guarded.authorization.end_tokens();
    guarded.authorization.end_refresh_tokens();
    let result = ada.run("mcp.up:echo", json!({ "text": "x" })).await;
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result["_meta"]["toolyard/error"], json!({ "code": "DENIED", "retryable": false }));
    assert!(text(&result).contains("/console/upstreams/up/sign-in"), "{result}");
    let (given, _) = link(&ada, "up").await;
    assert_eq!(link(&ada, "up").await.0, given, "the same link for a while");
    assert_eq!(ada.tools().await.len(), 4, "what was good stays");
    // The link completes the authorization.
    let back = says_yes(&p, &given).await;
    let page = p.nobody().get(&back).await.expect(200);
    assert!(page.text.contains("<b>ada</b>"), "{}", page.text);
    super::browsers::agree(&p, &back).await.expect(200);
    ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(200);
}

#[tokio::test]
async fn a_failure_for_one_user_does_not_affect_others() {
    let p = Platform::start().await;
    let guarded = guarded(&p).await;
    authorize(&p, "ada", "up").await.expect(200);
    guarded.authorization.configure(|script| script.expires_in = Some(24 * 60 * 60));
    authorize(&p, "bob", "up").await.expect(200);
    // Ada's token has expired, and the authorization server is unreachable, so it cannot be renewed.
    guarded.authorization.set_fault("/token", WebFault::Status(500));
    p.clock.advance(3_600);
    let p = p.restart().await;
    let (ada, bob) = (live(&p, "ada").await, live(&p, "bob").await);
    for _ in 0..5 {
        let failed = ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(503);
        assert!(failed.text.contains("not configured correctly"), "{}", failed.text);
    }
    bob.call("mcp.up:echo", json!({ "text": "x" })).await.expect(200);
}

#[tokio::test]
async fn an_upstream_that_allows_anonymous_lists_shows_them() {
    let p = Platform::start().await;
    let open = plain(UpstreamEra::Modern).await;
    add_with(&p, "open", json!({ "url": open.url(), "auth": "oauth" })).await;
    let ada = live(&p, "ada").await;
    assert_eq!(ada.tools().await.len(), 4);
    ada.call("mcp.open:echo", json!({ "text": "x" })).await.expect(200);
    // This tool requires authorization, and the upstream has no authorization server.
    open.inject_fault(RequestMatch::for_tool("add"), InjectedFault::status(401));
    let result = ada.run("mcp.open:add", json!({ "a": 1, "b": 2 })).await;
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("/console/upstreams/open/sign-in"), "{result}");
    assert_eq!(status(&p, "open").await["tools"], 4);
    assert_eq!(refresh(&p, "open").await["state"], "up");
    until(async || hidden(&ada, "mcp.open:add").await, |reason| reason.is_empty()).await;
}
