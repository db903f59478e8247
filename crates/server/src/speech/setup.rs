//! From the configuration to speech.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use toolyard_core::{
    policy::{LocalLimiter, Rates},
    ports::{Ids, Secrets},
};
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_protocol::secret::Secret;
use toolyard_sessions::{SpeechLinks, Transcriber};
use toolyard_sources::upstream::Environment;

use super::{
    Speech, SpeechMetrics,
    espeak::{self, Espeak},
    languages,
    place::Place,
    seldom::Seldom,
    shelf::Shelf,
    speaker::Speaker,
    transcriber::WordServer,
    voice_server::{self, VoiceServer},
};
use crate::{
    config::{SpeakBy, SpeechConfig},
    parts,
    serve::StartError,
};

/// Under what the limiter counts.
const TOOL: &str = "toolyard:speak";

/// What speech shares with the rest of the server.
pub(crate) struct Around<'a> {
    pub(crate) secrets: &'a dyn Secrets,
    pub(crate) environment: &'a Environment,
    pub(crate) ids: &'a Arc<dyn Ids>,
    pub(crate) tasks: &'a TaskTracker,
    pub(crate) client: ClientSettings,
    pub(crate) metrics: SpeechMetrics,
}

fn wrong(key: &str, why: impl std::fmt::Display) -> StartError {
    StartError::Config(format!("speech.{key}: {why}"))
}

/// Speech, and who makes words of sound, where the operator named somebody.
pub(crate) fn open(
    config: &SpeechConfig,
    around: Around<'_>,
) -> Result<(Speech, Option<Arc<dyn Transcriber>>), StartError> {
    // The operator's own addresses: nothing that a user or an app says leads anywhere here.
    let http = HttpClient::new(Guard::open(), around.client);
    let metrics = Arc::new(around.metrics);
    let tags = config.languages.keys().map(|tag| ("languages", tag));
    for (key, tag) in tags.chain(config.language.iter().map(|tag| ("language", tag))) {
        if !languages::is_tag(tag) {
            return Err(wrong(key, format!("`{tag}` is no language; write it like de or de-DE")));
        }
    }
    let transcriber = transcriber(config, around.environment, around.ids, &metrics, &http)?;
    let rates = Rates {
        user: parts::rate(config.user_per_s, config.user_burst)?,
        tool: parts::rate(config.all_per_s, config.all_burst)?,
        all: parts::rate(config.all_per_s, config.all_burst)?,
    };
    let speech = Speech {
        speaker: speaker(config, around.environment, around.tasks, http)?,
        transcribes: transcriber.is_some(),
        links: SpeechLinks::new(around.secrets),
        text_chars: config.text_chars,
        voices: config.voices.clone(),
        languages: config.languages.iter().map(|(tag, voice)| (tag.to_lowercase(), voice.clone())).collect(),
        shelf: Mutex::new(Shelf::new(config.cache_bytes)),
        limiter: LocalLimiter::new(rates),
        tool: TOOL.parse().map_err(|error| wrong("speak", error))?,
        rooms: Semaphore::new(config.at_once.saturating_add(config.waiting).min(Semaphore::MAX_PERMITS)),
        turns: Arc::new(Semaphore::new(config.at_once.min(Semaphore::MAX_PERMITS))),
        limit: Duration::from_millis(config.timeout_ms),
        metrics,
        complaints: Seldom::default(),
    };
    Ok((speech, transcriber))
}

fn speaker(
    config: &SpeechConfig,
    environment: &Environment,
    tasks: &TaskTracker,
    http: HttpClient,
) -> Result<Option<Box<dyn Speaker>>, StartError> {
    let at_url = |url: &str| {
        let key = key("key", config.key_env.as_deref(), config.key_file.as_deref(), environment)?;
        let place = Place::new(url, "audio/speech", key.as_ref(), http);
        Ok(Some(Box::new(VoiceServer {
            place: place.map_err(|error| wrong("url", error))?,
            model: config.model.clone(),
            voice: config.voice.clone().unwrap_or_else(|| voice_server::VOICE.to_owned()),
            format: config.format,
            most: config.sound_bytes,
        }) as _))
    };
    let installed = |program: PathBuf| {
        let voice = config.voice.clone().unwrap_or_else(|| espeak::VOICE.to_owned());
        let espeak = Espeak { program, voice, most: config.sound_bytes, tasks: tasks.clone() };
        Ok(Some(Box::new(espeak) as _))
    };
    let found = || match &config.espeak {
        Some(named) if named.is_file() => Ok(Some(named.clone())),
        // Whoever names it wants it.
        Some(named) => Err(wrong("espeak", format!("{} is not a file", named.display()))),
        None => Ok(on_path(environment)),
    };
    match (config.speak, &config.url) {
        (SpeakBy::Off, _) => Ok(None),
        (SpeakBy::Url | SpeakBy::Auto, Some(url)) => at_url(url),
        (SpeakBy::Url, None) => Err(wrong("url", "missing, although speech.speak is `url`")),
        (SpeakBy::Espeak, _) => {
            installed(found()?.ok_or_else(|| wrong("espeak", "espeak-ng is not installed"))?)
        }
        (SpeakBy::Auto, None) => found()?.map_or(Ok(None), installed),
    }
}

/// The program, where a folder of the PATH has it. Names without a folder are not looked for in the working folder.
fn on_path(environment: &Environment) -> Option<PathBuf> {
    let path = environment("PATH")?;
    let programs = std::env::split_paths(&path).map(|folder| folder.join(espeak::PROGRAM));
    programs.into_iter().find(|program| program.is_absolute() && program.is_file())
}

fn transcriber(
    config: &SpeechConfig,
    environment: &Environment,
    ids: &Arc<dyn Ids>,
    metrics: &Arc<SpeechMetrics>,
    http: &HttpClient,
) -> Result<Option<Arc<dyn Transcriber>>, StartError> {
    let Some(url) = &config.transcribe_url else { return Ok(None) };
    let (variable, file) = (config.transcribe_key_env.as_deref(), config.transcribe_key_file.as_deref());
    let key = key("transcribe_key", variable, file, environment)?;
    let place = Place::new(url, "audio/transcriptions", key.as_ref(), http.clone());
    Ok(Some(Arc::new(WordServer {
        place: place.map_err(|error| wrong("transcribe_url", error))?,
        model: config.transcribe_model.clone(),
        limit: Duration::from_millis(config.transcribe_timeout_ms),
        turns: Semaphore::new(config.transcribe_at_once.min(Semaphore::MAX_PERMITS)),
        ids: ids.clone(),
        metrics: metrics.clone(),
        complaints: Seldom::default(),
    })))
}

fn key(
    name: &str,
    variable: Option<&str>,
    file: Option<&Path>,
    environment: &Environment,
) -> Result<Option<Secret>, StartError> {
    let (of_variable, of_file) = (format!("{name}_env"), format!("{name}_file"));
    match (variable, file) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(wrong(&of_file, format!("set either this or {of_variable}"))),
        (Some(variable), None) => {
            let key = environment(variable);
            let key =
                key.ok_or_else(|| wrong(&of_variable, format!("the variable {variable} is not set")))?;
            Ok(Some(Secret::new(key.trim())))
        }
        (None, Some(file)) => {
            let key = std::fs::read_to_string(file);
            let key = key.map_err(|error| wrong(&of_file, format!("{}: {error}", file.display())))?;
            Ok(Some(Secret::new(key.trim())))
        }
    }
}
