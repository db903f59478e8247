//! Signed URLs that a device may fetch without a credential.

use serde_json::json;
use toolyard_server::auth::Role;

use crate::platform::{Device, ECHO, Platform, echo_tool, tokens_only};

use super::{FakeSpeech, fetch};

#[tokio::test]
async fn a_device_fetches_speech_by_a_signed_url_that_expires() {
    let fake = FakeSpeech::start("sound").await;
    let p = Platform::with(|config| {
        tokens_only(config);
        config.speech.url = Some(fake.url.clone());
        config.speech.link_s = 60;
    })
    .await;
    let operator = p.token("root", Role::Operator);
    let app = toolyard_testkit::FakeApp::start(ECHO).await;
    let body =
        json!({ "packageName": ECHO, "kind": "session", "publicUrl": app.url(), "tools": [echo_tool()] });
    let created = p.bearer(&operator).post("/api/apps", &body).await.expect(201).json();
    let key = created["apiKey"].as_str().unwrap();
    app.set_api_key(key);
    let grace = p.token("grace", Role::User);
    p.bearer(&grace).put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let mut device =
        Device::connect(&format!("{}/glasses-ws", p.url.replace("http", "ws")), Some(&grace)).await;
    p.bearer(&grace).call(&format!("{ECHO}:echo"), json!({ "text": "hi" })).await.expect(200);
    let session = app.next_session().await;
    // User and expiry in the app's own URL are ignored.
    let own = "/api/tts?text=buy+milk&voice_id=x&expires=9999999999&for=root&signature=00";
    let address = p.url.replace("http", "https") + own;
    session.send(json!({ "type": "audio_play_request", "requestId": "r1", "audioUrl": address })).await;
    let play = device.hear("audio_play_request").await.unwrap();
    assert_eq!(play["text"], "buy milk");
    let link = play["audioUrl"].as_str().unwrap().strip_prefix(&p.url).unwrap().to_owned();
    assert!(
        link.starts_with("/api/tts?text=buy+milk&voice_id=x&expires=") && !link.contains("grace"),
        "{link}"
    );

    let nobody = p.nobody();
    assert_eq!(fetch(&nobody, &link).await.expect(200).text(), "sound");
    for changed in [
        link.replace("buy+milk", "sell+milk"),
        link.replace("&voice_id=x", ""),
        link.replace("expires=1", "expires=2"),
        link.replace("&for=", "&for=0"),
        link.clone() + "&language=de",
        link.clone() + "0",
        link.split("&signature").next().unwrap().to_owned() + "&signature=",
        link.split("&signature").next().unwrap().to_owned() + "&signature=zz",
    ] {
        assert_eq!(fetch(&nobody, &changed).await.expect(403).code(), "FORBIDDEN", "{changed}");
    }
    // A credential does not replace a valid signature.
    fetch(&p.bearer(&grace), &link.replace("buy", "sell")).await.expect(403);
    let twice = fetch(&nobody, &(link.clone() + "&text=sell+milk")).await.expect(400);
    assert!(twice.text().contains("twice"));
    let unsigned = link.split("&expires").next().unwrap();
    fetch(&nobody, unsigned).await.expect(401);
    fetch(&p.as_with(&[("x-user-id", "grace")]), unsigned).await.expect(401);
    fetch(&p.bearer(&grace), unsigned).await.expect(200);
    fetch(&p.bearer(&format!("{ECHO}:{key}")), unsigned).await.expect(200);
    assert_eq!(fake.asked().len(), 1, "the same words, whoever asks");

    p.clock.advance(59);
    fetch(&nobody, &link).await.expect(200);
    p.clock.advance(1);
    let old = fetch(&nobody, &link).await.expect(403);
    assert!(old.text().contains("expired"), "{}", old.text());
}

#[tokio::test]
async fn signed_urls_count_towards_the_limit_of_their_user() {
    let fake = FakeSpeech::start("sound").await;
    let p = Platform::with(|config| {
        config.speech.url = Some(fake.url.clone());
        (config.speech.user_per_s, config.speech.user_burst) = (1, 2);
    })
    .await;
    let (app, mut device) = p.echo_like(json!({ "kind": "session" })).await;
    p.call_echo().await.expect(200);
    let session = app.next_session().await;
    let mut statuses = Vec::new();
    for text in ["one", "two", "three"] {
        let address = format!("{}/api/tts?text={text}", p.url);
        session.send(json!({ "type": "audio_play_request", "requestId": text, "audioUrl": address })).await;
        let play = device.hear("audio_play_request").await.unwrap();
        let link = play["audioUrl"].as_str().unwrap().strip_prefix(&p.url).unwrap().to_owned();
        statuses.push(fetch(&p.nobody(), &link).await.status);
    }
    assert_eq!(statuses, [200, 200, 429]);
    fetch(&p.user("bob"), "/api/tts?text=four").await.expect(200);
}
