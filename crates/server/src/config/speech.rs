//! The section `[speech]`: who speaks for this server, who makes words of sound, and their bounds.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SpeakBy {
    /// The server at `url`, where that is set; else espeak-ng, where it is installed; else nobody.
    #[default]
    Auto,
    /// The program espeak-ng on this machine.
    Espeak,
    /// The server at `url`, which speaks as OpenAI does.
    Url,
    /// Nobody.
    Off,
}

/// What sound is packed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum SoundFormat {
    Wav,
    Mp3,
    Opus,
    Aac,
    Flac,
}

impl SoundFormat {
    /// Every one of them.
    pub const ALL: [Self; 5] = [Self::Wav, Self::Mp3, Self::Opus, Self::Aac, Self::Flac];

    /// Its name, as callers and servers write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wav => "wav",
            Self::Mp3 => "mp3",
            Self::Opus => "opus",
            Self::Aac => "aac",
            Self::Flac => "flac",
        }
    }

    /// Its media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Wav => "audio/wav",
            Self::Mp3 => "audio/mpeg",
            Self::Opus => "audio/ogg",
            Self::Aac => "audio/aac",
            Self::Flac => "audio/flac",
        }
    }
}

/// Speech: words to sound (`GET /api/tts`), and the sound of devices to words.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SpeechConfig {
    /// `auto`, `espeak`, `url` or `off`.
    pub speak: SpeakBy,
    /// Where espeak-ng is, if not on the PATH.
    pub espeak: Option<PathBuf>,
    /// A server that speaks as OpenAI does, up to and including the version: `https://api.openai.com/v1`.
    pub url: Option<String>,
    /// The environment variable that holds its key.
    pub key_env: Option<String>,
    /// A file that holds its key.
    pub key_file: Option<PathBuf>,
    /// Its model.
    pub model: String,
    /// What it packs sound as, where the caller does not say. espeak-ng makes `wav` only.
    pub format: SoundFormat,
    /// The voice, where nothing says otherwise. Where it is missing: `alloy` at a URL, `en-us` of espeak-ng.
    pub voice: Option<String>,
    /// Voices by language: `"de-DE" = "de"`, `"pt" = "nova"`.
    pub languages: BTreeMap<String, String>,
    /// Voices by the `voice_id` that apps send: other ids are ignored.
    pub voices: BTreeMap<String, String>,
    /// Longest text in characters.
    pub text_chars: usize,
    /// Largest sound in bytes.
    pub sound_bytes: usize,
    /// Longest making of a sound in milliseconds, the wait for its turn included.
    pub timeout_ms: u64,
    /// Sounds that are made at once.
    pub at_once: usize,
    /// Requests that wait for their turn; more are turned away.
    pub waiting: usize,
    /// Sounds a second that are made for one user.
    pub user_per_s: u32,
    /// Sounds at once for one user after a pause.
    pub user_burst: u32,
    /// Sounds a second that are made on this node.
    pub all_per_s: u32,
    /// Sounds at once on this node after a pause.
    pub all_burst: u32,
    /// Sounds that are kept in memory for whoever asks for the same, in bytes together.
    pub cache_bytes: usize,
    /// How long an address of speech that went to a device is good, in seconds.
    pub link_s: u64,
    /// A server that makes words of sound as OpenAI's does: `http://127.0.0.1:8080/v1`. Without it words come from the devices.
    pub transcribe_url: Option<String>,
    /// The environment variable that holds its key.
    pub transcribe_key_env: Option<String>,
    /// A file that holds its key.
    pub transcribe_key_file: Option<PathBuf>,
    /// Its model.
    pub transcribe_model: String,
    /// What is spoken here: `en-US`. Used where apps listen for several languages at once, or for every one; where it is missing,
    /// the transcriber is asked which one it was.
    pub language: Option<String>,
    /// How long the transcriber may take for an utterance, in milliseconds.
    pub transcribe_timeout_ms: u64,
    /// Utterances that are transcribed at once.
    pub transcribe_at_once: usize,
    /// Utterances of one user that wait for that; more push the oldest out.
    pub transcribe_waiting: usize,
}

impl Default for SpeechConfig {
    fn default() -> Self {
        Self {
            speak: SpeakBy::Auto,
            espeak: None,
            url: None,
            key_env: None,
            key_file: None,
            model: "tts-1".to_owned(),
            format: SoundFormat::Mp3,
            voice: None,
            languages: BTreeMap::new(),
            voices: BTreeMap::new(),
            text_chars: 4_096,
            // The longest text is some ten million bytes of espeak-ng's WAV.
            sound_bytes: 16 * 1024 * 1024,
            timeout_ms: 20_000,
            at_once: 4,
            waiting: 32,
            user_per_s: 2,
            user_burst: 20,
            all_per_s: 20,
            all_burst: 100,
            cache_bytes: 32 * 1024 * 1024,
            link_s: 300,
            transcribe_url: None,
            transcribe_key_env: None,
            transcribe_key_file: None,
            transcribe_model: "whisper-1".to_owned(),
            language: None,
            transcribe_timeout_ms: 30_000,
            transcribe_at_once: 8,
            transcribe_waiting: 4,
        }
    }
}
