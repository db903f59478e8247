//! Calls that need the user's sign-in at an upstream: the user is told, signs in on another device, and gets the answer.

use http::Method;
use serde_json::json;
use toolyard_testkit::{
    authorization::{GuardedUpstream, sign_in_at_upstream},
    model::ScriptedReply,
    upstream::UpstreamEra,
};

use crate::stage::{Glasses, Stage};

const AUTHORIZE: &str = "/api/upstreams/up/authorize";

/// Ada has an upstream, signed in once, and removed her access. She asks for its tool.
async fn asks_signed_out(stage: &Stage) -> (GuardedUpstream, Glasses) {
    let upstream = GuardedUpstream::start(UpstreamEra::Modern).await;
    let body = json!({ "id": "up", "url": upstream.url(), "auth": "oauth", "name": "Notes", "forAll": true });
    stage.ask(None, Method::POST, "/api/upstreams", body).await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    sign_in_at_upstream(&stage.url, "ada", "up").await;
    stage.ask(Some("ada"), Method::DELETE, AUTHORIZE, json!({})).await;
    stage.model.queue_replies([
        ScriptedReply::call("mcp_up__echo", json!({ "text": "buy milk" })),
        ScriptedReply::text("Your note says buy milk."),
    ]);
    ada.say("hey toolyard what does my note say").await;
    (upstream, ada)
}

fn runs(upstream: &GuardedUpstream) -> usize {
    upstream.first.messages("tools/call").len() + upstream.second.messages("tools/call").len()
}

#[tokio::test]
async fn the_user_signs_in_on_another_device_and_gets_the_answer() {
    let stage = Stage::start().await;
    let (upstream, mut ada) = asks_signed_out(&stage).await;
    let shown = ada.sees("sign in").await;
    let link = format!("{}/console/upstreams/up/sign-in", stage.url);
    let words = "Notes needs you to sign in. Open the console on your phone or computer; I am waiting.";
    assert_eq!(shown, format!("{words} {link}"));
    assert_eq!(runs(&upstream), 0);
    sign_in_at_upstream(&stage.url, "ada", "up").await;
    ada.sees("Your note says buy milk.").await;
    assert_eq!(runs(&upstream), 1);
}

#[tokio::test]
async fn a_user_who_does_not_sign_in_is_told_to_ask_again() {
    let stage = Stage::with(|config| config.answer.sign_in_s = 1).await;
    let (upstream, mut ada) = asks_signed_out(&stage).await;
    ada.sees("I am waiting").await;
    ada.sees("Notes still needs you to sign in. Ask me again after that.").await;
    assert_eq!(runs(&upstream), 0);
}
