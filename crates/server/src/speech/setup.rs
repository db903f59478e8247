//! Sets up speech from the configuration.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use toolyard_core::{
    policy::{LocalLimiter, RateLimits},
    ports::{IdGenerator, SecretSealer},
};
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_protocol::secret::SecretText;
use toolyard_sessions::{SpeechLinks, Transcriber};
use toolyard_sources::upstream::UpstreamEnvironment;

use super::{
    SpeechEngine, SpeechMetrics,
    endpoint::SpeechEndpoint,
    espeak::{self, EspeakSynthesizer},
    languages,
    sound_cache::SoundCache,
    synthesizer::SpeechSynthesizer,
    transcriber::TranscriptionServer,
    voice_server::{self, VoiceServer},
    warning_throttle::WarningThrottle,
};
use crate::{
    config::{SpeakBy, SpeechConfig},
    parts,
    serve::ServerStartError,
};

/// The name under which the limiter counts.
const TOOL: &str = "toolyard:speak";

/// What speech shares with the rest of the server.
pub(crate) struct SpeechDependencies<'a> {
    pub(crate) secrets: &'a dyn SecretSealer,
    pub(crate) environment: &'a UpstreamEnvironment,
    pub(crate) ids: &'a Arc<dyn IdGenerator>,
    pub(crate) tasks: &'a TaskTracker,
    pub(crate) client: ClientSettings,
    pub(crate) metrics: SpeechMetrics,
}

fn speech_config_error(key: &str, why: impl std::fmt::Display) -> ServerStartError {
    ServerStartError::Config(format!("speech.{key}: {why}"))
}

/// Builds text to speech, and speech to text if it is configured.
pub(crate) fn open_speech(
    config: &SpeechConfig,
    deps: SpeechDependencies<'_>,
) -> Result<(SpeechEngine, Option<Arc<dyn Transcriber>>), ServerStartError> {
    // Unrestricted, because only the operator configures these addresses.
    let http = HttpClient::new(Guard::unrestricted(), deps.client);
    let metrics = Arc::new(deps.metrics);
    let tags = config.languages.keys().map(|tag| ("languages", tag));
    for (key, tag) in tags.chain(config.language.iter().map(|tag| ("language", tag))) {
        if !languages::is_language_tag(tag) {
            return Err(speech_config_error(
                key,
                format!("`{tag}` is not a language tag such as de or de-DE"),
            ));
        }
    }
    let transcriber = build_transcriber(config, deps.environment, deps.ids, &metrics, &http)?;
    let rates = RateLimits {
        user: parts::nonzero_rate(config.user_per_s, config.user_burst)?,
        tool: parts::nonzero_rate(config.all_per_s, config.all_burst)?,
        all: parts::nonzero_rate(config.all_per_s, config.all_burst)?,
    };
    let speech = SpeechEngine {
        synthesizer: build_synthesizer(config, deps.environment, deps.tasks, http)?,
        transcribes: transcriber.is_some(),
        links: SpeechLinks::new(deps.secrets),
        text_chars: config.text_chars,
        voices: config.voices.clone(),
        languages: config.languages.iter().map(|(tag, voice)| (tag.to_lowercase(), voice.clone())).collect(),
        cache: SoundCache::new(config.cache_bytes),
        limiter: LocalLimiter::new(rates),
        tool: TOOL.parse().map_err(|error| speech_config_error("speak", error))?,
        queue_slots: Semaphore::new(
            config.at_once.saturating_add(config.waiting).min(Semaphore::MAX_PERMITS),
        ),
        synthesis_slots: Arc::new(Semaphore::new(config.at_once.min(Semaphore::MAX_PERMITS))),
        timeout: Duration::from_millis(config.timeout_ms),
        metrics,
        failure_log: WarningThrottle::default(),
    };
    Ok((speech, transcriber))
}

fn build_synthesizer(
    config: &SpeechConfig,
    environment: &UpstreamEnvironment,
    tasks: &TaskTracker,
    http: HttpClient,
) -> Result<Option<Box<dyn SpeechSynthesizer>>, ServerStartError> {
    let at_url = |url: &str| {
        let key = load_api_key("key", config.key_env.as_deref(), config.key_file.as_deref(), environment)?;
        let endpoint = SpeechEndpoint::new(url, "audio/speech", key.as_ref(), http);
        Ok(Some(Box::new(VoiceServer {
            endpoint: endpoint.map_err(|error| speech_config_error("url", error))?,
            model: config.model.clone(),
            voice: config.voice.clone().unwrap_or_else(|| voice_server::VOICE.to_owned()),
            format: config.format,
            max_bytes: config.sound_bytes,
        }) as _))
    };
    let installed = |program: PathBuf| {
        let voice = config.voice.clone().unwrap_or_else(|| espeak::VOICE.to_owned());
        let espeak =
            EspeakSynthesizer { program, voice, max_bytes: config.sound_bytes, tasks: tasks.clone() };
        Ok(Some(Box::new(espeak) as _))
    };
    let found = || match &config.espeak {
        Some(named) if named.is_file() => Ok(Some(named.clone())),
        // A configured program must exist.
        Some(named) => Err(speech_config_error("espeak", format!("{} is not a file", named.display()))),
        None => Ok(find_on_path(environment)),
    };
    match (config.speak, &config.url) {
        (SpeakBy::Off, _) => Ok(None),
        (SpeakBy::Url | SpeakBy::Auto, Some(url)) => at_url(url),
        (SpeakBy::Url, None) => Err(speech_config_error("url", "required if speech.speak is `url`")),
        (SpeakBy::Espeak, _) => {
            installed(found()?.ok_or_else(|| speech_config_error("espeak", "espeak-ng is not installed"))?)
        }
        (SpeakBy::Auto, None) => found()?.map_or(Ok(None), installed),
    }
}

/// Finds espeak-ng in the PATH. Relative folders in it are ignored.
fn find_on_path(environment: &UpstreamEnvironment) -> Option<PathBuf> {
    let path = environment("PATH")?;
    let programs = std::env::split_paths(&path).map(|folder| folder.join(espeak::PROGRAM));
    programs.into_iter().find(|program| program.is_absolute() && program.is_file())
}

fn build_transcriber(
    config: &SpeechConfig,
    environment: &UpstreamEnvironment,
    ids: &Arc<dyn IdGenerator>,
    metrics: &Arc<SpeechMetrics>,
    http: &HttpClient,
) -> Result<Option<Arc<dyn Transcriber>>, ServerStartError> {
    let Some(url) = &config.transcribe_url else { return Ok(None) };
    let (variable, file) = (config.transcribe_key_env.as_deref(), config.transcribe_key_file.as_deref());
    let key = load_api_key("transcribe_key", variable, file, environment)?;
    let endpoint = SpeechEndpoint::new(url, "audio/transcriptions", key.as_ref(), http.clone());
    Ok(Some(Arc::new(TranscriptionServer {
        endpoint: endpoint.map_err(|error| speech_config_error("transcribe_url", error))?,
        model: config.transcribe_model.clone(),
        timeout: Duration::from_millis(config.transcribe_timeout_ms),
        request_slots: Semaphore::new(config.transcribe_at_once.min(Semaphore::MAX_PERMITS)),
        ids: ids.clone(),
        metrics: metrics.clone(),
        failure_log: WarningThrottle::default(),
    })))
}

fn load_api_key(
    name: &str,
    variable: Option<&str>,
    file: Option<&Path>,
    environment: &UpstreamEnvironment,
) -> Result<Option<SecretText>, ServerStartError> {
    let (env_key, file_key) = (format!("{name}_env"), format!("{name}_file"));
    match (variable, file) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(speech_config_error(&file_key, format!("set either this or {env_key}"))),
        (Some(variable), None) => {
            let key = environment(variable);
            let key = key.ok_or_else(|| {
                speech_config_error(&env_key, format!("the variable {variable} is not set"))
            })?;
            Ok(Some(SecretText::new(key.trim())))
        }
        (None, Some(file)) => {
            let key = std::fs::read_to_string(file);
            let key =
                key.map_err(|error| speech_config_error(&file_key, format!("{}: {error}", file.display())))?;
            Ok(Some(SecretText::new(key.trim())))
        }
    }
}
