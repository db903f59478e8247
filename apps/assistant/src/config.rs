//! The operator's configuration of the assistant, a TOML file. Every setting has a default.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use toolyard_agent::model::CallingMode;

use crate::{history::HistoryLimits, listener::ListeningSettings, page::ReadingTime};

/// Every setting.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AssistantConfig {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The server that the assistant belongs to.
    pub server: String,
    /// The package name under which it is registered.
    pub package: String,
    /// The file for conversations that users want to keep forever.
    pub data: PathBuf,
    /// The model that answers, such as `openai/gpt-5-mini`. The default is the first that is found.
    pub model: Option<String>,
    /// Model endpoints by name, as in the server's configuration.
    pub models: BTreeMap<String, ModelEndpointConfig>,
    /// Whether to search the default ports of this machine for Ollama, llama-server, LM Studio and vLLM.
    pub local_servers: bool,
    /// Text that is added to the system prompt.
    pub system: String,
    /// Wake words by language. A list replaces the defaults of that language.
    pub wake: BTreeMap<String, Vec<String>>,
    /// How it listens.
    pub listening: ListeningSettings,
    /// How it answers.
    pub answer: AnswerSettings,
    /// What it remembers.
    pub history: HistoryLimits,
    /// Whether a question that is exactly an activation phrase runs its tool without a model.
    pub phrases_without_model: bool,
}

impl Default for AssistantConfig {
    fn default() -> Self {
        Self {
            listen: ([127, 0, 0, 1], 7011).into(),
            server: "http://127.0.0.1:8787".to_owned(),
            package: "com.toolyard.assistant".to_owned(),
            data: PathBuf::from("data/assistant.db"),
            model: None,
            models: BTreeMap::new(),
            local_servers: true,
            system: String::new(),
            wake: BTreeMap::new(),
            listening: ListeningSettings::default(),
            answer: AnswerSettings::default(),
            history: HistoryLimits::default(),
            phrases_without_model: false,
        }
    }
}

/// A model endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEndpointConfig {
    /// Up to and including the version: `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// The environment variable that holds the key.
    #[serde(default)]
    pub key_env: Option<String>,
    /// How its models call tools. The default is to ask the endpoint.
    #[serde(default)]
    pub calling: Option<CallingMode>,
}

/// How it answers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerSettings {
    /// After this time without text the user is told that it takes longer.
    pub acknowledge_ms: u64,
    /// Timeout for the user's approval, in seconds.
    pub approval_s: u64,
    /// How long a call waits for the user's sign-in at the service behind it, in seconds; at most 60.
    pub sign_in_s: u64,
    /// A press of the button confirms a call of high risk only this long after the question: an earlier one was meant for
    /// something else.
    pub press_after_ms: u64,
    /// Timeout of a tool call, in seconds.
    pub call_s: u64,
    /// Timeout of an answer, in seconds.
    pub time_s: u64,
    /// Most model requests per answer.
    pub steps: usize,
    /// Most tokens that the model reads and writes for one answer.
    pub tokens: u64,
    /// Most tokens that the model writes per request.
    pub max_tokens: u32,
    /// Most tools that the model is offered per request.
    pub tools: usize,
    /// How long a page is shown.
    pub reading: ReadingTime,
}

impl Default for AnswerSettings {
    fn default() -> Self {
        Self {
            // People notice a delay after about 300 ms, and the message takes some time to reach the glasses.
            acknowledge_ms: 250,
            approval_s: 15,
            sign_in_s: 45,
            press_after_ms: 500,
            call_s: 60,
            time_s: 90,
            steps: 8,
            tokens: 100_000,
            max_tokens: 800,
            tools: 24,
            reading: ReadingTime::default(),
        }
    }
}

/// Why a configuration cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AssistantConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The file is not a valid configuration.
    #[error("{}: {error}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The error with its position.
        error: Box<toml::de::Error>,
    },
}

impl AssistantConfig {
    /// Reads a file.
    pub fn from_file(path: &Path) -> Result<Self, AssistantConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| AssistantConfigError::File { path: path.to_owned(), error })?;
        toml::from_str(&text)
            .map_err(|error| AssistantConfigError::Form { path: path.to_owned(), error: Box::new(error) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::HistoryRetention;

    #[test]
    fn missing_settings_get_defaults_and_unknown_ones_are_refused() {
        let text = r#"
            model = "local/qwen3"
            phrases_without_model = true
            [models.local]
            url = "http://127.0.0.1:8080/v1"
            calling = "prompted"
            [wake]
            en = ["computer"]
            [listening]
            follow_up_ms = 0
            [history]
            keep = "forever"
            [answer.reading]
            most_ms = 5000
        "#;
        let config: AssistantConfig = toml::from_str(text).unwrap();
        assert_eq!(config.models["local"].calling, Some(CallingMode::Prompted));
        assert_eq!((config.listening.follow_up_ms, config.listening.silence_ms), (0, 1_500));
        assert_eq!((config.history.keep, config.history.tokens), (HistoryRetention::Forever, 4_000));
        assert_eq!(config.answer.approval_s, 15);
        let error = toml::from_str::<AssistantConfig>("wakeword = \"x\"").unwrap_err().to_string();
        assert!(error.contains("unknown field `wakeword`"), "{error}");
    }

    #[test]
    fn a_file_that_is_missing_or_wrong_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("assistant.toml");
        let missing = AssistantConfig::from_file(&path).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read") && missing.contains("assistant.toml"), "{missing}");
        std::fs::write(&path, "listen = 5").unwrap();
        assert!(AssistantConfig::from_file(&path).unwrap_err().to_string().contains("assistant.toml: "));
    }
}
