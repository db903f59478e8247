//! The section `[speech]`: text to speech, speech to text, and limits.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How speech is synthesized.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SpeakBy {
    /// By the server at `url` if that is set, otherwise by espeak-ng if it is installed.
    #[default]
    Auto,
    /// By the program espeak-ng on this machine.
    Espeak,
    /// By the server at `url`, which has OpenAI's API.
    Url,
    /// Not at all.
    Off,
}

/// A format of audio.
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
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Wav, Self::Mp3, Self::Opus, Self::Aac, Self::Flac];

    /// Its name in requests.
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

/// Text to speech (`GET /api/tts`), and transcription of the audio of devices.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SpeechConfig {
    /// `auto`, `espeak`, `url` or `off`.
    pub speak: SpeakBy,
    /// The path of espeak-ng, if it is not in the PATH.
    pub espeak: Option<PathBuf>,
    /// The base URL of a server with OpenAI's `/audio/speech`, with the version: `https://api.openai.com/v1`.
    pub url: Option<String>,
    /// The environment variable that holds its key.
    pub key_env: Option<String>,
    /// A file that holds its key.
    pub key_file: Option<PathBuf>,
    /// Its model.
    pub model: String,
    /// The default audio format. espeak-ng supports `wav` only.
    pub format: SoundFormat,
    /// The default voice. If not set: `alloy` for a URL, `en-us` for espeak-ng.
    pub voice: Option<String>,
    /// Voices by language: `"de-DE" = "de"`, `"pt" = "nova"`.
    pub languages: BTreeMap<String, String>,
    /// Voices by the `voice_id` that apps send. Other ids are ignored.
    pub voices: BTreeMap<String, String>,
    /// Longest text in characters.
    pub text_chars: usize,
    /// Largest audio in bytes.
    pub sound_bytes: usize,
    /// Timeout of a speech request in milliseconds, the time in the queue included.
    pub timeout_ms: u64,
    /// Concurrent speech requests.
    pub at_once: usize,
    /// Speech requests in the queue. More are refused.
    pub waiting: usize,
    /// Speech requests per second of one user.
    pub user_per_s: u32,
    /// Burst of speech requests of one user.
    pub user_burst: u32,
    /// Speech requests per second on this node.
    pub all_per_s: u32,
    /// Burst of speech requests on this node.
    pub all_burst: u32,
    /// Size of the audio cache in memory, in bytes.
    pub cache_bytes: usize,
    /// How long the URL of speech that was sent to a device is valid, in seconds.
    pub link_s: u64,
    /// The base URL of a server with OpenAI's `/audio/transcriptions`: `http://127.0.0.1:8080/v1`. If not set, transcripts come
    /// from the devices.
    pub transcribe_url: Option<String>,
    /// The environment variable that holds its key.
    pub transcribe_key_env: Option<String>,
    /// A file that holds its key.
    pub transcribe_key_file: Option<PathBuf>,
    /// Its model.
    pub transcribe_model: String,
    /// The language that users speak: `en-US`. Used if apps subscribe to several languages, or to all. If not set, the
    /// transcriber detects it.
    pub language: Option<String>,
    /// Timeout of the transcription of an utterance, in milliseconds.
    pub transcribe_timeout_ms: u64,
    /// Concurrent transcriptions.
    pub transcribe_at_once: usize,
    /// Utterances of one user in the queue. If there are more, the oldest is dropped.
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
            // The longest text is about ten million bytes of WAV from espeak-ng.
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
