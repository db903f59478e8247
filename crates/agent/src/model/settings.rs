//! The model settings of an operator, and what needs no settings: vendors, and servers on this machine.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use toolyard_protocol::secret::SecretText;
use url::Url;

use super::{CallingMode, ModelName, limits::VendorFamily};

/// The model settings of an operator.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// The default model.
    pub default: Option<ModelName>,
    /// Endpoints by name. An endpoint named like a vendor replaces the vendor and uses its protocol.
    pub endpoints: Vec<ModelEndpoint>,
    /// Files that run as models in this process.
    pub files: Vec<FileModel>,
    /// Servers to look for on this machine.
    pub servers: Vec<LocalServer>,
    /// A folder with GGUF files, which are listed.
    pub folder: Option<PathBuf>,
    /// Timeouts and retries.
    pub bounds: RequestPolicy,
}

impl Default for ModelSettings {
    fn default() -> Self {
        let bounds = RequestPolicy::default();
        Self {
            default: None,
            endpoints: Vec::new(),
            files: Vec::new(),
            servers: LocalServer::well_known(),
            folder: None,
            bounds,
        }
    }
}

/// A URL with OpenAI's protocol, or a replacement for a vendor.
#[derive(Debug, Clone)]
pub struct ModelEndpoint {
    /// The provider in model names: `local` in `local/qwen3`.
    pub name: String,
    /// Up to and including the version, such as `http://127.0.0.1:8080/v1`.
    pub url: Url,
    /// Sent if it is set.
    pub key: Option<SecretText>,
    /// How its models call tools. By default the server is asked, and native calls are used if it does not say.
    pub calling: Option<CallingMode>,
}

/// A file that runs as a model in this process. Needs the cargo feature `local`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileModel {
    /// The provider in model names: `smol` in `smol/SmolLM2`.
    pub name: String,
    /// The GGUF file.
    pub path: PathBuf,
    /// By text, or as a small model.
    pub calling: CallingMode,
    /// Threads that compute a response.
    pub threads: u32,
    /// Most tokens of a conversation including the response.
    pub context: u32,
}

impl FileModel {
    /// The name of the model: the provider and the file's name.
    pub(super) fn model_name(&self) -> Option<ModelName> {
        let stem = self.path.file_stem()?.to_str()?;
        ModelName::new(&self.name, stem).ok()
    }
}

/// A server that may run on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// The provider in model names.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// Scheme, host and port.
    pub url: Url,
    /// How it lists its models.
    pub kind: ServerKind,
}

/// How a server lists its models. Ports are shared by all sorts of programs, so each kind is recognised by its
/// response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// `/api/tags` and `/api/show`
    Ollama,
    /// `/v1/models` and `/props`
    LlamaServer,
    /// `/v1/models`, owned by `vllm`
    Vllm,
    /// `/v1/models`
    LmStudio,
}

impl LocalServer {
    /// The common servers at their default ports.
    pub fn well_known() -> Vec<Self> {
        [
            ("ollama", "Ollama", "http://127.0.0.1:11434", ServerKind::Ollama),
            ("llama-server", "llama-server", "http://127.0.0.1:8080", ServerKind::LlamaServer),
            ("lmstudio", "LM Studio", "http://127.0.0.1:1234", ServerKind::LmStudio),
            ("vllm", "vLLM", "http://127.0.0.1:8000", ServerKind::Vllm),
            (
                "demo",
                "the demonstration model of `make run`",
                "http://127.0.0.1:7020",
                ServerKind::LlamaServer,
            ),
        ]
        .into_iter()
        .filter_map(|(name, title, url, kind)| {
            Some(Self { name: name.to_owned(), title: title.to_owned(), url: url.parse().ok()?, kind })
        })
        .collect()
    }
}

/// A vendor that needs no configuration. Its key comes from the environment.
#[derive(Debug)]
pub(super) struct KnownVendor {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) url: &'static str,
    /// Variables that may hold the key. The first that is set wins.
    pub(super) keys: &'static [&'static str],
    pub(super) family: VendorFamily,
    /// The model to use if only a key is known. The operator's own choice is better.
    pub(super) suggests: &'static str,
}

/// The vendors, in the order in which a default is chosen.
pub(super) const VENDORS: &[KnownVendor] = &[
    KnownVendor {
        name: "openai",
        title: "OpenAI",
        url: "https://api.openai.com/v1/",
        keys: &["OPENAI_API_KEY"],
        family: VendorFamily::OpenAi,
        suggests: "gpt-5-mini",
    },
    KnownVendor {
        name: "anthropic",
        title: "Anthropic",
        url: "https://api.anthropic.com/v1/",
        keys: &["ANTHROPIC_API_KEY"],
        family: VendorFamily::Anthropic,
        suggests: "claude-sonnet-4-6",
    },
    KnownVendor {
        name: "gemini",
        title: "Gemini",
        url: "https://generativelanguage.googleapis.com/v1beta/",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        family: VendorFamily::Gemini,
        suggests: "gemini-2.5-flash",
    },
    KnownVendor {
        name: "openrouter",
        title: "OpenRouter",
        url: "https://openrouter.ai/api/v1/",
        keys: &["OPENROUTER_API_KEY"],
        family: VendorFamily::Compatible,
        suggests: "openrouter/auto",
    },
];

/// Timeouts and retries for a model. Local models load and read long prompts slowly, and reasoning models are silent
/// for minutes, so the timeouts are generous.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPolicy {
    /// For a connection.
    pub connect: Duration,
    /// From the request to the first byte of the response.
    pub first_byte: Duration,
    /// Between two parts of a response.
    pub idle: Duration,
    /// For the token counts that may follow the last text.
    pub tail: Duration,
    /// How often to retry while nothing was received.
    pub retries: u32,
    /// The first delay before a retry. Doubled each time, and shortened at random by up to a half.
    pub backoff: Duration,
    /// The longest delay that a vendor may ask for. If it asks for more, the caller decides.
    pub retry_after: Duration,
}

impl Default for RequestPolicy {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(180),
            idle: Duration::from_secs(180),
            tail: Duration::from_secs(5),
            retries: 2,
            backoff: Duration::from_millis(500),
            retry_after: Duration::from_secs(20),
        }
    }
}

/// The environment, passed in as a function.
#[derive(Clone)]
pub struct KeyEnvironment(Arc<LookUpFn>);

type LookUpFn = dyn Fn(&str) -> Option<String> + Send + Sync;

impl KeyEnvironment {
    /// An environment that is looked up by name.
    pub fn new(look_up: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(look_up))
    }

    /// No variable is set.
    pub fn empty() -> Self {
        Self::new(|_| None)
    }

    /// A key. None if it is not set or blank.
    pub(super) fn api_key(&self, name: &str) -> Option<SecretText> {
        let key = (self.0)(name)?;
        let key = key.trim();
        (!key.is_empty()).then(|| SecretText::new(key))
    }
}

impl fmt::Debug for KeyEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyEnvironment")
    }
}

/// A base URL to which paths can be added. It ends in a slash, and has a version even if the operator left it out.
pub(super) fn base_url(url: &Url, family: VendorFamily) -> Url {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let path = match url.path().trim_end_matches('/') {
        "" if family == VendorFamily::Gemini => "/v1beta/".to_owned(),
        "" => "/v1/".to_owned(),
        path => format!("{path}/"),
    };
    url.set_path(&path);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_ends_in_a_slash_and_has_a_version() {
        for (given, family, want) in [
            ("http://127.0.0.1:8080", VendorFamily::Compatible, "http://127.0.0.1:8080/v1/"),
            ("http://127.0.0.1:8080/v1", VendorFamily::Compatible, "http://127.0.0.1:8080/v1/"),
            ("https://host/api/v1/", VendorFamily::Compatible, "https://host/api/v1/"),
            ("https://host/openai?x=1#y", VendorFamily::OpenAi, "https://host/openai/"),
            ("https://host", VendorFamily::Anthropic, "https://host/v1/"),
            ("https://host", VendorFamily::Gemini, "https://host/v1beta/"),
        ] {
            assert_eq!(base_url(&given.parse().unwrap(), family).as_str(), want, "{given}");
        }
    }

    #[test]
    fn keys_are_trimmed_and_hidden() {
        let environment = KeyEnvironment::new(|name| match name {
            "A" => Some(" key \n".to_owned()),
            "B" => Some("  ".to_owned()),
            _ => None,
        });
        assert_eq!(environment.api_key("A").unwrap().expose(), "key");
        assert_eq!(environment.api_key("B"), None);
        assert_eq!(environment.api_key("C"), None);
        assert_eq!(
            format!("{environment:?} {:?}", environment.api_key("A")),
            "KeyEnvironment Some((secret))"
        );
    }

    #[test]
    fn well_known_servers_are_all_there() {
        let names: Vec<_> = LocalServer::well_known().into_iter().map(|server| server.name).collect();
        assert_eq!(names, ["ollama", "llama-server", "lmstudio", "vllm", "demo"]);
    }
}
