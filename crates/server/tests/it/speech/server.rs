//! A server with OpenAI's `/audio/speech`.

use serde_json::json;

use crate::platform::Platform;

use super::{FakeSpeech, fetch, words};

#[tokio::test]
async fn the_request_has_openais_format() {
    let (fake, keys) = (FakeSpeech::start("ID3 sound").await, tempfile::tempdir().unwrap());
    let file = keys.path().join("key");
    std::fs::write(&file, "open sesame\n").unwrap();
    let p = Platform::with(|config| {
        config.speech.url = Some(fake.url.clone() + "/");
        config.speech.key_file = Some(file);
        config.speech.languages =
            [("de", "karl"), ("pt-BR", "ana")].map(|(a, b)| (a.into(), b.into())).into();
        config.speech.voices = [("21m00Tcm4TlvDq8ikWAM".to_owned(), "nova".to_owned())].into();
    })
    .await;
    assert!(p.state.speech.can_speak());
    let spoken = fetch(&p.user("ada"), &words("buy \"milk\" & eggs")).await.expect(200);
    assert_eq!((spoken.kind.as_str(), &spoken.bytes[..]), ("audio/mpeg", &b"ID3 sound"[..]));
    let asked = &fake.asked()[0];
    assert_eq!(
        (asked.path.as_str(), asked.key.as_str(), asked.kind.as_str()),
        ("/v1/audio/speech", "Bearer open sesame", "application/json")
    );
    assert_eq!(
        asked.json(),
        json!({ "model": "tts-1", "input": "buy \"milk\" & eggs", "voice": "alloy", "response_format": "mp3" })
    );
    for (query, voice) in [
        ("language=de-AT", "karl"),
        ("language=PT-br", "ana"),
        ("language=pt", "alloy"),
        ("voice_id=21m00Tcm4TlvDq8ikWAM&language=de", "nova"),
        ("voice_id=..%2Fsecret&language=de-DE", "karl"),
        ("voice_id=unknown&model_id=expensive", "alloy"),
    ] {
        // Another text each time, so that none is cached.
        let path = format!("/api/tts?text=hello+{}&{query}", fake.asked().len());
        fetch(&p.user("ada"), &path).await.expect(200);
        let order = fake.asked().last().unwrap().json();
        assert_eq!((&order["voice"], &order["model"]), (&json!(voice), &json!("tts-1")), "{query}");
    }
    let query = "/api/tts?text=hi&format=wav&voice_settings=%7B%22speed%22%3A1.5%7D";
    assert_eq!(fetch(&p.user("ada"), query).await.expect(200).kind, "audio/wav");
    let order = fake.asked().last().unwrap().json();
    assert_eq!((&order["response_format"], &order["speed"]), (&json!("wav"), &json!(1.5)));
}

#[tokio::test]
async fn errors_of_the_speech_server_are_not_exposed() {
    let fake = FakeSpeech::start("").await;
    let p = Platform::with(|config| {
        config.speech.url = Some(fake.url.clone());
        config.speech.sound_bytes = 2_000;
    })
    .await;
    for (status, body, told) in [
        (500, "secret trouble", 503),
        (401, "your key sk-123 is wrong", 503),
        (302, "elsewhere", 503),
        (200, "", 503),
        (200, &"x".repeat(2_001), 413),
    ] {
        fake.answers(status, body);
        let refused = fetch(&p.user("ada"), &words("hello")).await.expect(told);
        assert!(
            !refused.text().contains("secret") && !refused.text().contains("sk-123"),
            "{}",
            refused.text()
        );
    }
    // A failure is not cached.
    fake.answers(200, "sound");
    fetch(&p.user("ada"), &words("hello")).await.expect(200);
}

#[tokio::test]
async fn an_unreachable_or_slow_speech_server_is_an_error() {
    let p = Platform::with(|config| config.speech.url = Some("http://127.0.0.1:9/v1".to_owned())).await;
    fetch(&p.user("ada"), &words("hello")).await.expect(503);
    let fake = FakeSpeech::held("sound").await;
    let p = Platform::with(|config| {
        config.speech.url = Some(fake.url.clone());
        config.speech.timeout_ms = 100;
    })
    .await;
    let late = fetch(&p.user("ada"), &words("hello")).await.expect(503);
    assert!(late.text().contains("timed out"), "{}", late.text());
}

#[tokio::test]
async fn audio_beyond_the_cache_is_synthesized_again() {
    let fake = FakeSpeech::start("0123456789").await;
    let p = Platform::with(|config| {
        config.speech.url = Some(fake.url.clone());
        config.speech.cache_bytes = 15;
    })
    .await;
    for text in ["one", "one", "two", "two", "one"] {
        fetch(&p.user("ada"), &words(text)).await.expect(200);
    }
    assert_eq!(fake.asked().len(), 3, "one, two, and one again");
}
