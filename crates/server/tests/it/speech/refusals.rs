//! Refused speech requests, and invalid settings.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use toolyard_server::{
    Server, ServerDependencies,
    config::{Config, SpeakBy},
};
use toolyard_testkit::FixedClock;

use crate::platform::Platform;

use super::{FakeSpeech, counts, fetch, words};

#[tokio::test]
async fn a_server_that_cannot_speak_says_what_to_do() {
    let p = Platform::with(|config| config.speech.speak = SpeakBy::Off).await;
    assert!(!p.state.speech.can_speak());
    let refused = fetch(&p.user("ada"), &words("hello")).await.expect(501);
    assert_eq!(refused.code(), "NOT_IMPLEMENTED");
    assert!(
        refused.text().contains("espeak-ng") && refused.text().contains("speech.url"),
        "{}",
        refused.text()
    );
}

#[tokio::test]
async fn invalid_speech_requests_are_refused() {
    let fake = FakeSpeech::start("sound").await;
    let p = Platform::with(|config| {
        config.speech.url = Some(fake.url.clone());
        config.speech.text_chars = 10;
    })
    .await;
    for (query, told) in [
        ("", "text: missing"),
        ("text=", "text: missing"),
        ("text=%20%0A", "text: missing"),
        ("text=12345678901", "at most 10"),
        ("text=a&text=b", "twice"),
        ("text=a&language=..%2Fx", "language"),
        ("text=a&language=english", "language"),
        ("text=a&format=exe", "wav, mp3"),
        ("text=a&voice_settings=fast", "voice_settings"),
        ("text=%FF&text", "twice"),
    ] {
        let refused = fetch(&p.user("ada"), &format!("/api/tts?{query}")).await.expect(400);
        assert_eq!(refused.code(), "INVALID_REQUEST", "{query}");
        assert!(refused.text().contains(told), "{query}: {}", refused.text());
    }
    assert!(fake.asked().is_empty());
    // Counted in characters, not in bytes.
    fetch(&p.user("ada"), &words("ääääääääää")).await.expect(200);
}

#[tokio::test]
async fn unsupported_formats_are_refused() {
    let program = super::Program::new("exit 1");
    let p = Platform::with(|config| program.used_by(config)).await;
    let refused = fetch(&p.user("ada"), "/api/tts?text=a&format=mp3").await.expect(400);
    assert!(refused.text().contains("only wav"), "{}", refused.text());
}

#[tokio::test]
async fn speech_is_rate_limited_per_user_and_cached_audio_is_free() {
    let fake = FakeSpeech::start("sound").await;
    let p = Platform::with(|config| {
        config.speech.url = Some(fake.url.clone());
        (config.speech.user_per_s, config.speech.user_burst) = (1, 2);
        (config.speech.all_per_s, config.speech.all_burst) = (1, 3);
    })
    .await;
    let (ada, bob) = (p.user("ada"), p.user("bob"));
    fetch(&ada, &words("one")).await.expect(200);
    fetch(&ada, &words("two")).await.expect(200);
    let answer = ada.get(&words("three")).await.expect(429);
    assert_eq!((answer.code().as_str(), answer.header("retry-after")), ("RATE_LIMITED", "1"));
    fetch(&ada, &words("one")).await.expect(200);
    fetch(&bob, &words("three")).await.expect(200);
    fetch(&bob, &words("four")).await.expect(429);
    assert_eq!(fake.asked().len(), 3);
}

#[tokio::test]
async fn concurrent_and_queued_speech_requests_are_limited() {
    let fake = FakeSpeech::held("sound").await;
    let p = Platform::with(|config| {
        config.speech.url = Some(fake.url.clone());
        (config.speech.at_once, config.speech.waiting) = (1, 1);
    })
    .await;
    let ada = p.user("ada");
    let paths = ["one", "two", "three"].map(words);
    let mut asking: FuturesUnordered<_> = paths.iter().map(|path| fetch(&ada, path)).collect();
    // Nothing is released yet, so the first response can only be a refusal.
    assert_eq!(asking.next().await.unwrap().expect(503).code(), "UNAVAILABLE");
    fake.let_through(10);
    while let Some(spoken) = asking.next().await {
        spoken.expect(200);
    }
    assert_eq!(fake.asked().len(), 2);
}

#[tokio::test]
async fn concurrent_requests_for_the_same_text_share_one_synthesis() {
    let fake = FakeSpeech::held("sound").await;
    let p = Platform::with(|config| config.speech.url = Some(fake.url.clone())).await;
    let (ada, bob, path) = (p.user("ada"), p.user("bob"), words("hello"));
    let (one, two, ()) = tokio::join!(fetch(&ada, &path), fetch(&bob, &path), async {
        fake.wait_asked(1).await;
        fake.let_through(1);
    });
    assert_eq!(one.expect(200).bytes, two.expect(200).bytes);
    assert_eq!(fake.asked().len(), 1);
    counts(&p, r#"toolyard_speech_total{outcome="made"} 1"#).await;
}

/// A setting.
type Change = fn(&mut Config);

#[tokio::test]
async fn invalid_speech_settings_prevent_the_start() {
    let starts = async |change: Change| {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.server.listen = ([127, 0, 0, 1], 0).into();
        config.store.path = folder.path().join("toolyard.db");
        change(&mut config);
        let clock: Arc<FixedClock> = Arc::default();
        let world = ServerDependencies {
            clock,
            ..ServerDependencies::with_environment(&[("KEY".to_owned(), "two\nlines".to_owned())])
        };
        Server::start(config, world).await.map(|_| ()).map_err(|error| error.to_string())
    };
    let wrong: [(Change, &str); 11] = [
        (|c| c.speech.speak = SpeakBy::Url, "speech.url: required"),
        (|c| c.speech.speak = SpeakBy::Espeak, "speech.espeak"),
        (|c| c.speech.espeak = Some("/nowhere/espeak-ng".into()), "/nowhere/espeak-ng is not a file"),
        (|c| c.speech.url = Some("ftp://x".into()), "speech.url"),
        (|c| c.speech.transcribe_url = Some("nonsense".into()), "speech.transcribe_url"),
        (|c| c.speech.language = Some("english".into()), "speech.language: `english` is not a language tag"),
        (
            |c| c.speech.languages = [("german".to_owned(), "de".to_owned())].into(),
            "speech.languages: `german`",
        ),
        (
            |c| {
                c.speech.url = Some("http://127.0.0.1:9/v1".into());
                c.speech.key_env = Some("NOWHERE".into());
            },
            "NOWHERE is not set",
        ),
        (
            |c| {
                c.speech.url = Some("http://127.0.0.1:9/v1".into());
                c.speech.key_env = Some("KEY".into());
            },
            "speech.url: the key",
        ),
        (
            |c| {
                c.speech.transcribe_url = Some("http://127.0.0.1:9/v1".into());
                c.speech.transcribe_key_file = Some("/nowhere/key".into());
            },
            "speech.transcribe_key_file",
        ),
        (
            |c| {
                c.speech.url = Some("http://127.0.0.1:9/v1".into());
                (c.speech.key_env, c.speech.key_file) = (Some("KEY".into()), Some("/nowhere/key".into()));
            },
            "speech.key_file: set either",
        ),
    ];
    for (change, told) in wrong {
        let error = starts(change).await.unwrap_err();
        assert!(error.contains(told), "{told}: {error}");
    }
    starts(|_| {}).await.unwrap();
}
