//! Transcription of a device's audio for subscribed apps.

use serde_json::{Value, json};
use toolyard_server::config::Config;
use toolyard_testkit::{AppSession, FakeApp};

use crate::platform::{Device, ECHO, Platform};

use super::{Asked, FakeSpeech, counts};

/// Samples of a tone, or of silence at 0.
fn sound(ms: usize, amplitude: i16) -> Vec<u8> {
    (0..ms * 16).flat_map(|n| (if n % 16 < 8 { amplitude } else { -amplitude }).to_le_bytes()).collect()
}

/// This much speech, with silence before and after it.
fn speech(ms: usize) -> Vec<u8> {
    [sound(300, 0), sound(ms, 5_000), sound(800, 0)].concat()
}

/// The WAV in a form.
fn wav_of(asked: &Asked) -> &[u8] {
    let start = asked.body.windows(4).position(|four| four == b"RIFF").unwrap();
    &asked.body[start..]
}

/// The duration of the audio in a request, in milliseconds.
fn heard_ms(asked: &Asked) -> usize {
    let length = u32::from_le_bytes(wav_of(asked)[40..44].try_into().unwrap());
    length as usize / 32
}

/// A field of a form.
fn field(asked: &Asked, name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(&asked.body).into_owned();
    let (_, rest) = text.split_once(&format!("name=\"{name}\"\r\n\r\n"))?;
    Some(rest.split_once("\r\n")?.0.to_owned())
}

struct World {
    p: Platform,
    fake: FakeSpeech,
    app: FakeApp,
    device: Device,
}

impl World {
    /// A platform with a transcriber and an app with these permissions.
    async fn start(fake: FakeSpeech, permissions: Value, change: impl FnOnce(&mut Config)) -> Self {
        let p = Platform::with(|config| {
            config.speech.transcribe_url = Some(fake.url.clone());
            config.speech.transcribe_key_env = Some("UPSTREAM_KEY".to_owned());
            change(config);
        })
        .await;
        assert!(p.state.speech.can_transcribe());
        let details = json!({ "kind": "session", "permissions": permissions });
        let (app, device) = p.echo_like(details).await;
        Self { p, fake, app, device }
    }

    /// A platform with an opened app that has these subscriptions.
    async fn listening(fake: FakeSpeech, streams: Value) -> (Self, AppSession) {
        let mut world = Self::start(fake, json!([{ "type": "MICROPHONE" }]), |_| {}).await;
        let session = world.opened(streams).await;
        (world, session)
    }

    async fn opened(&mut self, streams: Value) -> AppSession {
        let start = format!("/api/session/apps/{ECHO}/start");
        self.p.user("ada").post(&start, &json!({})).await.expect(204);
        let session = self.app.next_session().await;
        session.send(json!({ "type": "subscription_update", "subscriptions": streams })).await;
        assert_eq!(self.device.hear("microphone_state_change").await.unwrap()["isMicrophoneEnabled"], true);
        session
    }

    /// Waits until the metrics contain these lines.
    async fn counted(&self, lines: &[&str]) {
        loop {
            let page = self.p.nobody().get("/metrics").await.expect(200).text;
            if lines.iter().all(|line| page.lines().any(|found| found == *line)) {
                return;
            }
        }
    }

    /// All messages of the app so far are processed.
    async fn said(&mut self, session: &AppSession, word: &str) {
        let layout = json!({ "layoutType": "text_wall", "text": word });
        session.send(json!({ "type": "display_event", "layout": layout })).await;
        while self.device.sees().await != word {}
    }

    /// All messages of the device so far are processed.
    async fn taken(&mut self) {
        self.device.say(json!({ "type": "ping" })).await;
        self.device.hear("pong").await.unwrap();
        // Round trips, so that an unwanted request would have been sent by now.
        for _ in 0..10 {
            self.p.nobody().get("/healthz").await.expect(200);
        }
    }
}

#[tokio::test]
async fn utterances_are_transcribed_for_the_app_in_its_language() {
    let fake = FakeSpeech::start(r#"{"text":" Milch kaufen "}"#).await;
    let (mut world, mut session) = World::listening(fake, json!(["transcription:de-DE"])).await;
    let sent = speech(600);
    for piece in sent.chunks(1_280) {
        world.device.send_sound(piece).await;
    }
    let heard = session.receive("data_stream").await.unwrap();
    let data = &heard["data"];
    assert_eq!(heard["streamType"], "transcription:de-DE");
    assert_eq!(
        (&data["type"], &data["text"], &data["isFinal"], &data["transcribeLanguage"], &data["provider"]),
        (&json!("transcription"), &json!("Milch kaufen"), &json!(true), &json!("de-DE"), &json!("toolyard"))
    );
    assert_eq!((&data["startTime"], &data["endTime"]), (&json!(60), &json!(1_100)));

    let asked = &world.fake.asked()[0];
    assert_eq!((asked.path.as_str(), asked.key.as_str()), ("/v1/audio/transcriptions", "Bearer sesame"));
    assert!(asked.kind.starts_with("multipart/form-data; boundary="), "{}", asked.kind);
    assert_eq!(
        (field(asked, "model").as_deref(), field(asked, "language").as_deref()),
        (Some("whisper-1"), Some("de"))
    );
    assert_eq!(field(asked, "response_format").as_deref(), Some("json"));
    // Exactly the samples from before the first loud one to after the last.
    let wav = wav_of(asked);
    assert_eq!((&wav[8..12], &wav[24..28]), (&b"WAVE"[..], &16_000_u32.to_le_bytes()[..]));
    assert_eq!(wav[44..44 + heard_ms(asked) * 32], sent[60 * 32..1_100 * 32]);
    counts(&world.p, r#"toolyard_transcripts_total{outcome="made"} 1"#).await;
}

#[tokio::test]
async fn audio_is_sent_only_while_a_permitted_app_subscribes() {
    let fake = FakeSpeech::start(r#"{"text":"hello"}"#).await;
    let mut world = World::start(fake, json!([{ "type": "MICROPHONE" }]), |_| {}).await;
    // No app is running.
    world.device.send_sound(&speech(500)).await;
    // A woken app subscribes to transcripts, and is not allowed to.
    world.p.call_echo().await.expect(200);
    let session = world.app.next_session().await;
    session.send(json!({ "type": "subscription_update", "subscriptions": ["transcription:en-US"] })).await;
    world.said(&session, "x").await;
    world.device.send_sound(&speech(600)).await;
    world.taken().await;
    // The user opens it, and it subscribes to audio only.
    let start = format!("/api/session/apps/{ECHO}/start");
    world.p.user("ada").post(&start, &json!({})).await.expect(204);
    session.send(json!({ "type": "subscription_update", "subscriptions": ["audio_chunk"] })).await;
    world.said(&session, "y").await;
    world.device.send_sound(&[sound(300, 0), sound(700, 5_000)].concat()).await;
    world.taken().await;
    assert_eq!(world.fake.asked().len(), 0);

    // Now it subscribes to transcripts. Earlier audio is not part of them.
    let mut session = session;
    session.send(json!({ "type": "subscription_update", "subscriptions": ["transcription"] })).await;
    world.said(&session, "z").await;
    world.device.send_sound(&[sound(800, 0), sound(400, 5_000), sound(800, 0)].concat()).await;
    let heard = session.receive("data_stream").await.unwrap();
    assert_eq!((&heard["streamType"], &heard["data"]["text"]), (&json!("transcription"), &json!("hello")));
    let asked = world.fake.asked();
    assert_eq!(asked.iter().map(heard_ms).collect::<Vec<_>>(), [840]);
}

#[tokio::test]
async fn an_app_without_the_permission_gets_no_transcript() {
    let fake = FakeSpeech::start(r#"{"text":"hello"}"#).await;
    let mut world = World::start(fake, json!([{ "type": "LOCATION" }]), |_| {}).await;
    let start = format!("/api/session/apps/{ECHO}/start");
    world.p.user("ada").post(&start, &json!({})).await.expect(204);
    let mut session = world.app.next_session().await;
    session
        .send(json!({ "type": "subscription_update", "subscriptions": ["transcription:auto", "all"] }))
        .await;
    assert!(session.receive("permission_error").await.is_some());
    world.device.send_sound(&speech(500)).await;
    world.taken().await;
    assert!(world.fake.asked().is_empty());
}

#[tokio::test]
async fn a_slow_transcriber_drops_the_oldest_utterance_and_keeps_the_socket() {
    let fake = FakeSpeech::held(r#"{"text":"hello"}"#).await;
    let mut world = World::start(fake, json!([{ "type": "MICROPHONE" }]), |config| {
        config.speech.transcribe_waiting = 2;
    })
    .await;
    let mut session = world.opened(json!(["transcription:en-US"])).await;
    world.device.send_sound(&speech(400)).await;
    world.fake.wait_asked(1).await;
    for ms in [500, 600, 700, 800] {
        world.device.send_sound(&speech(ms)).await;
    }
    world.taken().await;
    counts(&world.p, r#"toolyard_transcripts_total{outcome="dropped"} 2"#).await;
    world.fake.let_through(10);
    for number in 1..=3 {
        let heard = session.receive("data_stream").await.unwrap();
        assert_eq!(heard["data"]["utteranceId"], format!("u-{number}"));
    }
    let spoken: Vec<_> = world.fake.asked().iter().map(|asked| heard_ms(asked) - 440).collect();
    assert_eq!(spoken, [400, 700, 800], "two of the middle gave way");
}

#[tokio::test]
async fn queued_utterances_are_dropped_when_no_app_subscribes() {
    let fake = FakeSpeech::held(r#"{"text":"hello"}"#).await;
    let (mut world, session) = World::listening(fake, json!(["transcription:en-US", "button_press"])).await;
    world.device.send_sound(&[speech(400), speech(500)].concat()).await;
    world.fake.wait_asked(1).await;
    session.send(json!({ "type": "subscription_update", "subscriptions": ["button_press"] })).await;
    assert_eq!(world.device.hear("microphone_state_change").await.unwrap()["isMicrophoneEnabled"], false);
    world.fake.let_through(10);
    world.counted(&[r#"toolyard_transcripts_total{outcome="made"} 1"#]).await;
    session.send(json!({ "type": "subscription_update", "subscriptions": ["transcription:en-US"] })).await;
    assert_eq!(world.device.hear("microphone_state_change").await.unwrap()["isMicrophoneEnabled"], true);
    world.device.send_sound(&speech(900)).await;
    let mut session = session;
    session.receive("data_stream").await.unwrap();
    assert_eq!(world.fake.asked().iter().map(heard_ms).collect::<Vec<_>>(), [840, 1_340]);
}

#[tokio::test]
async fn a_failed_transcription_sends_no_transcript() {
    let fake = FakeSpeech::start("").await;
    let (mut world, mut session) = World::listening(fake, json!(["transcription:en-US"])).await;
    for (number, (status, body)) in
        [(500, "{\"text\":\"trouble\"}"), (200, "not JSON"), (200, "{}"), (200, "{\"text\":\"  \"}")]
            .into_iter()
            .enumerate()
    {
        world.fake.answers(status, body);
        world.device.send_sound(&speech(400)).await;
        world.fake.wait_asked(number + 1).await;
        // The response has been read when it is counted.
        let failed = format!("toolyard_transcripts_total{{outcome=\"failed\"}} {}", (number + 1).min(3));
        let empty = format!("toolyard_transcripts_total{{outcome=\"empty\"}} {}", number / 3);
        world.counted(&[&failed, &empty]).await;
    }
    world.fake.answers(200, r#"{"text":"at last"}"#);
    world.device.send_sound(&speech(400)).await;
    assert_eq!(session.receive("data_stream").await.unwrap()["data"]["text"], "at last");
}

#[tokio::test]
async fn a_slow_transcription_times_out() {
    let fake = FakeSpeech::held(r#"{"text":"hello"}"#).await;
    let mut world = World::start(fake, json!([{ "type": "MICROPHONE" }]), |config| {
        config.speech.transcribe_timeout_ms = 500;
    })
    .await;
    let mut session = world.opened(json!(["transcription:en-US"])).await;
    world.device.send_sound(&[speech(400), speech(500)].concat()).await;
    world.fake.wait_asked(2).await;
    world.fake.let_through(10);
    world.device.send_sound(&speech(600)).await;
    session.receive("data_stream").await.unwrap();
}

#[tokio::test]
async fn an_utterance_ends_when_the_device_stops_sending() {
    let fake = FakeSpeech::start(r#"{"text":"hello"}"#).await;
    let (mut world, mut session) = World::listening(fake, json!(["transcription:en-US"])).await;
    world.device.send_sound(&sound(500, 5_000)).await;
    assert_eq!(session.receive("data_stream").await.unwrap()["data"]["text"], "hello");
    assert_eq!(heard_ms(&world.fake.asked()[0]), 500);
}

#[tokio::test]
async fn a_device_that_recognises_speech_is_not_transcribed_again() {
    let fake = FakeSpeech::start(r#"{"text":"hello"}"#).await;
    let (mut world, mut session) = World::listening(fake, json!(["transcription:en-US"])).await;
    world
        .device
        .say(json!({ "type": "local_transcription", "text": "its own words", "isFinal": true }))
        .await;
    assert_eq!(session.receive("data_stream").await.unwrap()["data"]["text"], "its own words");
    world.device.send_sound(&speech(500)).await;
    world.taken().await;
    // Another device does not.
    world.device = world.p.device("ada").await;
    world.device.send_sound(&speech(600)).await;
    assert_eq!(session.receive("data_stream").await.unwrap()["data"]["text"], "hello");
    assert_eq!(world.fake.asked().iter().map(heard_ms).collect::<Vec<_>>(), [1_040]);
}

#[tokio::test]
async fn with_several_languages_the_transcriber_detects_one() {
    let fake = FakeSpeech::start(r#"{"text":"Milch kaufen","language":"german","duration":1.1}"#).await;
    let streams = json!(["transcription:en-US", "transcription:de-DE", "transcription:auto"]);
    let (mut world, mut session) = World::listening(fake, streams).await;
    world.device.send_sound(&speech(500)).await;
    for stream in ["transcription:de-DE", "transcription:auto"] {
        let heard = session.receive("data_stream").await.unwrap();
        assert_eq!(heard["streamType"], stream);
        let data = &heard["data"];
        assert_eq!((&data["transcribeLanguage"], &data["detectedLanguage"]), (&json!("de-DE"), &json!("de")));
    }
    let asked = &world.fake.asked()[0];
    assert_eq!(
        (field(asked, "response_format").as_deref(), field(asked, "language")),
        (Some("verbose_json"), None)
    );
}

#[tokio::test]
async fn a_configured_language_is_not_detected() {
    let fake = FakeSpeech::start(r#"{"text":"Milch kaufen"}"#).await;
    let mut world = World::start(fake, json!([{ "type": "ALL" }]), |config| {
        config.speech.language = Some("de-AT".to_owned());
    })
    .await;
    let mut session = world.opened(json!(["transcription:auto"])).await;
    world.device.send_sound(&speech(500)).await;
    assert_eq!(session.receive("data_stream").await.unwrap()["data"]["transcribeLanguage"], "de-AT");
    assert_eq!(field(&world.fake.asked()[0], "language").as_deref(), Some("de"));
}
