//! What an operator says about models, and what is known without a word: vendors, and servers on this machine.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use toolyard_protocol::secret::SecretText;
use url::Url;

use super::{CallingMode, ModelName, limits::VendorFamily};

/// What an operator says about models.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// The model to use where nobody names one.
    pub default: Option<ModelName>,
    /// Endpoints by name. One that is named like a vendor takes that vendor's place and speaks its protocol.
    pub endpoints: Vec<ModelEndpoint>,
    /// Files that become models in this process.
    pub files: Vec<FileModel>,
    /// Servers to look for on this machine.
    pub servers: Vec<LocalServer>,
    /// A folder with GGUF files, to be listed.
    pub folder: Option<PathBuf>,
    /// How long to wait, and how often to ask again.
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

/// A URL that speaks as OpenAI does, or stands in for a vendor.
#[derive(Debug, Clone)]
pub struct ModelEndpoint {
    /// The place in model names: `local` in `local/qwen3`.
    pub name: String,
    /// Up to and including the version, such as `http://127.0.0.1:8080/v1`.
    pub url: Url,
    /// Sent where it is given.
    pub key: Option<SecretText>,
    /// How its models call tools; asked from the server where it can tell, else natively.
    pub calling: Option<CallingMode>,
}

/// A file that becomes a model in this process; with the cargo feature `local` only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileModel {
    /// The place in model names: `smol` in `smol/SmolLM2`.
    pub name: String,
    /// The GGUF file.
    pub path: PathBuf,
    /// By text, or as a small model.
    pub calling: CallingMode,
    /// Threads that work on an answer.
    pub threads: u32,
    /// Most tokens of a conversation with its answer.
    pub context: u32,
}

impl FileModel {
    /// The whole name of the model: the place and the file's name.
    pub(super) fn model_name(&self) -> Option<ModelName> {
        let stem = self.path.file_stem()?.to_str()?;
        ModelName::new(&self.name, stem).ok()
    }
}

/// A server that may run on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// The place in model names.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Scheme, host and port.
    pub url: Url,
    /// How to ask it what it has.
    pub kind: ServerKind,
}

/// How to ask a server what it has. Ports are shared by all sorts of programs, so each kind is recognised by its answer.
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
    /// The usual ones at their usual ports.
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

/// A vendor that is known without configuration; its key comes from the environment.
#[derive(Debug)]
pub(super) struct KnownVendor {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) url: &'static str,
    /// Variables that may hold the key; the first that is set wins.
    pub(super) keys: &'static [&'static str],
    pub(super) family: VendorFamily,
    /// What to use where a key is all that is known. The operator's own choice is better.
    pub(super) suggests: &'static str,
}

/// The vendors, in the order in which a default is looked for.
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

/// How long to wait for a model, and how often to ask again. Local models load and read long prompts slowly, and
/// thinking models say nothing for minutes, so the waits are generous.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPolicy {
    /// For a connection.
    pub connect: Duration,
    /// From the request to the first byte of the answer.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// For the figures that may come after the last word.
    pub tail: Duration,
    /// How often to ask again while nothing was heard.
    pub retries: u32,
    /// The first wait before asking again; doubled each time, and shortened by chance by up to a half.
    pub backoff: Duration,
    /// The longest wait that a vendor may ask for. If it asks for more, the caller decides.
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

/// The environment, passed in: who asks for a variable gets it or not.
#[derive(Clone)]
pub struct KeyEnvironment(Arc<LookUpFn>);

type LookUpFn = dyn Fn(&str) -> Option<String> + Send + Sync;

impl KeyEnvironment {
    /// An environment that is asked by name.
    pub fn new(look_up: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(look_up))
    }

    /// Nothing is set.
    pub fn empty() -> Self {
        Self::new(|_| None)
    }

    /// A key, unless it is not set or blank.
    pub(super) fn api_key(&self, name: &str) -> Option<SecretText> {
        let key = (self.0)(name)?;
        let key = key.trim();
        (!key.is_empty()).then(|| SecretText::new(key))
    }
}

impl fmt::Debug for KeyEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}

/// A base URL to which paths can be added: it ends in a slash, and has the version where the operator left it out.
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
        assert_eq!(format!("{environment:?} {:?}", environment.api_key("A")), "Environment Some((secret))");
    }

    #[test]
    fn well_known_servers_are_all_there() {
        let names: Vec<_> = LocalServer::well_known().into_iter().map(|server| server.name).collect();
        assert_eq!(names, ["ollama", "llama-server", "lmstudio", "vllm", "demo"]);
    }
}
