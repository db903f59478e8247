//! espeak-ng, and fake programs in its place.
#![cfg(target_os = "linux")]

use crate::platform::Platform;

use super::{Program, counts, fetch, has_espeak, words};

/// Outputs the smallest WAV, and records its input.
const HONEST: &str = "echo $$ >> {folder}/pids; echo \"$@\" >> {folder}/args; cat >> {folder}/input; \
    printf 'RIFF\\000\\360\\377\\177WAVEdata\\000\\360\\377\\177ab'";

#[tokio::test]
async fn text_is_synthesized() {
    if !has_espeak() {
        return;
    }
    let p = Platform::start().await;
    assert!(p.state.speech.can_speak() && !p.state.speech.can_transcribe());
    let spoken = fetch(&p.user("ada"), &words("1. buy milk\n2. call Bob")).await.expect(200);
    assert_eq!(spoken.kind, "audio/wav");
    let (head, samples) = spoken.bytes.split_at(44);
    let length = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((&head[..4], &head[8..12], &head[36..40]), (&b"RIFF"[..], &b"WAVE"[..], &b"data"[..]));
    assert_eq!((length(4), length(40)), (spoken.bytes.len() - 8, samples.len()), "as long as it says");
    assert!(samples.len() > 20_000, "more than half a second");
    let loudest =
        samples.chunks_exact(2).map(|two| i16::from_le_bytes([two[0], two[1]]).unsigned_abs()).max();
    assert!(loudest > Some(1_000), "{loudest:?}");

    let again = fetch(&p.user("bob"), &words("1. buy milk\n2. call Bob")).await.expect(200);
    assert_eq!(again.bytes, spoken.bytes);
    counts(&p, r#"toolyard_speech_total{outcome="made"} 1"#).await;
    counts(&p, r#"toolyard_speech_total{outcome="cached"} 1"#).await;

    let slow = fetch(&p.user("ada"), &(words("buy milk") + "&voice_settings=%7B%22speed%22%3A0.7%7D")).await;
    let usual = fetch(&p.user("ada"), &words("buy milk")).await;
    assert!(slow.expect(200).bytes.len() > usual.expect(200).bytes.len());
}

#[tokio::test]
async fn languages_have_voices_and_unknown_ones_are_refused() {
    if !has_espeak() {
        return;
    }
    let p = Platform::start().await;
    let say =
        async |language: &str| fetch(&p.user("ada"), &format!("/api/tts?text=ja&language={language}")).await;
    let (english, german) = (say("en-US").await.expect(200), say("de-DE").await.expect(200));
    assert_ne!(english.bytes, german.bytes);
    let refused = say("xx").await.expect(400);
    assert!(refused.text().contains("speech.languages"), "{}", refused.text());
}

#[tokio::test]
async fn the_longest_text_is_spoken() {
    if !has_espeak() {
        return;
    }
    let p = Platform::start().await;
    let text: String = "The quick brown fox jumps over the lazy dog. ".chars().cycle().take(4_096).collect();
    fetch(&p.user("ada"), &words(&text)).await.expect(200);
}

#[tokio::test]
async fn hostile_text_is_only_spoken() {
    let program = Program::new(HONEST);
    let p = Platform::with(|config| program.used_by(config)).await;
    let hostile = [
        "-f /etc/passwd",
        "; touch {folder}/owned",
        "$(touch {folder}/owned) `touch {folder}/owned`",
        "--compile=en",
        "<speak><audio src=\"file:///etc/passwd\"/></speak>",
        "\u{1}I[[h@l'oU]]\u{0}",
    ];
    let mut input = String::new();
    for text in hostile {
        let text = text.replace("{folder}", program.folder.path().to_str().unwrap());
        let spoken = fetch(&p.user("ada"), &(words(&text) + "&voice_id=-f&model_id=%2Fetc%2Fpasswd")).await;
        assert_eq!(&spoken.expect(200).bytes[..], b"RIFF\x0e\0\0\0WAVEdata\x02\0\0\0ab");
        input += &text;
    }
    let input = input.replace(['\u{0}', '\u{1}'], " ").replace("[[", "[ [");
    assert_eq!(program.read("input"), input);
    let always = "--stdin --stdout -b 1 -s 175 -v en-us\n";
    assert_eq!(program.read("args"), always.repeat(hostile.len()));
    assert_eq!(program.read("owned"), "");
    if has_espeak() {
        let p = Platform::start().await;
        for text in hostile {
            assert!(
                fetch(&p.user("ada"), &words(text)).await.expect(200).bytes.starts_with(b"RIFF"),
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn a_slow_program_is_killed() {
    let program = Program::new("echo $$ >> {folder}/pids; exec sleep 600");
    let p = Platform::with(|config| {
        program.used_by(config);
        // Long enough for a shell to start on a busy machine.
        config.speech.timeout_ms = 1_500;
    })
    .await;
    let late = fetch(&p.user("ada"), &words("hello")).await.expect(503);
    assert!(late.text().contains("timed out"), "{}", late.text());
    program.until(&p, 1, 0).await;
    counts(&p, r#"toolyard_speech_total{outcome="failed"} 1"#).await;
}

#[tokio::test]
async fn a_disconnect_kills_the_program() {
    let program = Program::new("echo $$ >> {folder}/pids; exec sleep 600");
    let p = Platform::with(|config| {
        program.used_by(config);
        (config.speech.at_once, config.speech.waiting) = (1, 0);
    })
    .await;
    let ada = p.user("ada");
    let path = words("hello");
    tokio::select! {
        spoken = fetch(&ada, &path) => panic!("{}", spoken.text()),
        () = program.until(&p, 1, 1) => {}
    }
    // The caller has disconnected; its slot is free when the process has ended.
    program.until(&p, 1, 0).await;
    tokio::select! {
        spoken = fetch(&ada, &path) => panic!("{}", spoken.text()),
        () = program.until(&p, 2, 1) => {}
    }
    program.until(&p, 2, 0).await;
}

#[tokio::test]
async fn a_program_with_too_much_output_is_killed() {
    let program = Program::new("echo $$ >> {folder}/pids; exec yes");
    let p = Platform::with(|config| {
        program.used_by(config);
        config.speech.sound_bytes = 100_000;
    })
    .await;
    assert_eq!(fetch(&p.user("ada"), &words("hello")).await.expect(413).code(), "TOO_LARGE");
    program.until(&p, 1, 0).await;
}

#[tokio::test]
async fn a_failed_program_is_an_error() {
    for script in ["exit 1", "cat", "printf RIFF", "exec /nowhere", ":"] {
        let program = Program::new(script);
        let p = Platform::with(|config| program.used_by(config)).await;
        let failed = fetch(&p.user("ada"), &words("hello")).await.expect(503);
        assert_eq!(failed.code(), "UNAVAILABLE");
        assert!(
            failed.text().contains("see the server log") && !failed.text().contains("speak-ng"),
            "{}",
            failed.text()
        );
    }
}
