//! Session ids: signed, bound to their caller, valid for some days, and not a credential.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::Method;
use serde_json::{Value, json};
use toolyard_server::auth::Role;

use super::client::{Ask, LEGACY, Session};
use crate::{
    identity::app_of,
    platform::{ECHO, Person, Platform, tokens_only},
};

/// The id is unknown for this person, in every kind of request.
async fn unknown(person: &Person<'_>, id: &str, about: &str) {
    let person = person.clone().header("mcp-session-id", id);
    let answer = person.ask(Ask::legacy("tools/list", json!({}))).await;
    assert_eq!(answer.refusal(), (404, -32600), "{about}: {}", answer.text);
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    person.post("/mcp", &told).await.expect(404);
    for method in [Method::GET, Method::DELETE] {
        let answer = person.send(method, "/mcp", None).await;
        assert_eq!(answer.refusal(), (404, -32600), "{about}: {}", answer.text);
    }
}

async fn works(session: &Session<'_>) {
    assert_eq!(session.ask("ping", json!({})).await.result(), json!({}));
}

#[tokio::test]
async fn session_ids_not_signed_by_this_server_are_unknown() {
    let (p, other) = (Platform::start().await, Platform::start().await);
    let ada = p.user("ada");
    let session = ada.handshake(LEGACY).await;
    let (body, signature) = session.id.split_once('.').unwrap();
    let mut claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).unwrap()).unwrap();
    claims["until"] = json!(i64::MAX);
    let forged = URL_SAFE_NO_PAD.encode(claims.to_string());
    let flipped = if signature.starts_with('A') { "B" } else { "A" };
    let foreign = other.user("ada").handshake(LEGACY).await;
    let second = ada.handshake(LEGACY).await;
    for (about, id) in [
        ("no id of ours", "nonsense".to_owned()),
        ("two empty parts", ".".to_owned()),
        ("no signature", body.to_owned()),
        ("an empty signature", format!("{body}.")),
        ("another signature", format!("{body}.{flipped}{}", &signature[1..])),
        ("a cut signature", format!("{body}.{}", &signature[..signature.len() - 2])),
        ("other claims", format!("{forged}.{signature}")),
        ("the signature of another session", format!("{body}.{}", second.id.split_once('.').unwrap().1)),
        ("another server", foreign.id.clone()),
        ("something behind", format!("{}.x", session.id)),
        ("too long", format!("{body}.{}", "A".repeat(9_000))),
    ] {
        unknown(&ada, &id, about).await;
    }
    works(&session).await;
}

#[tokio::test]
async fn a_session_expires_after_its_days() {
    let p = Platform::with(|config| config.mcp.session_days = 2).await;
    let session = p.user("ada").handshake(LEGACY).await;
    p.clock.advance(2 * 24 * 60 * 60 - 1);
    works(&session).await;
    p.clock.advance(1);
    unknown(&p.user("ada"), &session.id, "expired").await;
    works(&p.user("ada").handshake(LEGACY).await).await;
}

#[tokio::test]
async fn a_session_survives_a_restart() {
    let p = Platform::start().await;
    let (_app, device) = p.echo().await;
    let id = p.user("ada").handshake("2025-06-18").await.id;
    drop(device);
    let p = p.restart().await;
    let person = p.user("ada").header("mcp-session-id", &id);
    let list = person.ask(Ask::legacy("tools/list", json!({}))).await.result();
    assert_eq!(list["tools"][0]["name"], "com_example_echo__echo");
    person.delete("/mcp").await.expect(204);
    unknown(&p.user("ada"), &id, "ended").await;
}

#[tokio::test]
async fn a_session_survives_a_change_of_the_root_key() {
    let (old, new) = ("11".repeat(32), "22".repeat(32));
    let p = Platform::with(|config| config.auth.root_key = Some(old.clone())).await;
    let id = p.user("ada").handshake(LEGACY).await.id;
    let ping = |id: &str| Ask::legacy("ping", json!({})).with("mcp-session-id", id);
    let p = p
        .restart_with(|config| {
            (config.auth.root_key, config.auth.old_root_key) = (Some(new.clone()), Some(old.clone()));
        })
        .await;
    p.user("ada").ask(ping(&id)).await.result();
    let newer = p.user("ada").handshake(LEGACY).await.id;
    let p = p.restart_with(|config| config.auth.old_root_key = None).await;
    unknown(&p.user("ada"), &id, "signed with a key that is gone").await;
    p.user("ada").ask(ping(&newer)).await.result();
}

#[tokio::test]
async fn a_session_id_is_not_a_credential() {
    let p = Platform::with(tokens_only).await;
    let (_echo, key) = app_of(&p, "dora", ECHO).await;
    let person = |name: &str, role| p.bearer(&p.token(name, role));
    let ada = person("ada", Role::User);
    ada.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let session = ada.handshake(LEGACY).await;

    unknown(&person("bob", Role::User), &session.id, "another user").await;
    unknown(&person("root", Role::Operator), &session.id, "the operator as such").await;
    let app = p.bearer(&key).header("x-user-id", "ada");
    unknown(&app, &session.id, "an app of hers").await;
    let of_the_app = app.handshake(LEGACY).await;
    works(&of_the_app).await;
    unknown(&ada, &of_the_app.id, "her, with the session of her app").await;
    // Without a credential the id does not matter.
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let nobody = p.nobody().header("mcp-session-id", &session.id);
        let answer = nobody.send(method, "/mcp", Some("{}".to_owned())).await.expect(401);
        assert!(answer.header("www-authenticate").starts_with("Bearer "), "{answer:?}");
    }
    // No stranger ended it, and another token of hers works as well.
    works(&session).await;
    p.clock.advance(60);
    let again = person("ada", Role::User).header("mcp-session-id", &session.id);
    again.ask(Ask::legacy("ping", json!({}))).await.result();
}
