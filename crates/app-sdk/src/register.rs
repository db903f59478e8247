//! Uploads the app's tools, prompts and resources to its server. The upload replaces the previous set completely, or not at all.

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::Full;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::timeout;
use toolyard_net::{ClientSettings, Guard, HttpClient, NetError};
use toolyard_protocol::{Problem, api::ApiErrorBody, items::AppItems, raw::to_raw, secret::SecretText};

use crate::{
    limits::{MAX_REPLY_BYTES, REGISTER_WAIT},
    server::AppServer,
};

/// How much of an unexpected response an error shows, in characters.
const SHOWN_CHARS: usize = 200;

/// Why the tools were not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// No server is configured.
    #[error("this app has no configured server; set it with `AppServerBuilder::server`")]
    NoServer,
    /// No API key is configured.
    #[error("this app has no API key; set the key from its registration with `AppServerBuilder::api_key`")]
    NoKey,
    /// The server cannot be reached.
    #[error("the server cannot be reached: {0}")]
    NotReached(#[from] NetError),
    /// The server did not answer in time.
    #[error("the server did not answer within {REGISTER_WAIT:?}")]
    TooLate,
    /// The server refused the definitions.
    #[error("the server refused the tools with status {status}: {message}{}", problem_lines(problems))]
    Refused {
        /// The HTTP status.
        status: StatusCode,
        /// The message of the server.
        message: String,
        /// Every problem that was found.
        problems: Vec<Problem>,
    },
    /// The response has no version.
    #[error("the server accepted the tools but returned no version; is it a Toolyard server? {0}")]
    Unreadable(String),
}

fn problem_lines(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("\n  {problem}")).collect()
}

#[derive(Serialize)]
struct ToolSetUpload {
    tools: Vec<Box<RawValue>>,
    #[serde(flatten)]
    items: AppItems,
}

#[derive(Deserialize)]
struct RegisterReply {
    version: u64,
}

impl AppServer {
    /// Uploads the definitions of all tools, prompts and resources, and returns their version on the server. The app must already
    /// be registered there: its API key comes from the registration.
    pub async fn register(&self) -> Result<u64, RegisterError> {
        let shared = self.shared();
        let server = shared.platform.server().ok_or(RegisterError::NoServer)?;
        let key = shared.api_key.as_ref().ok_or(RegisterError::NoKey)?;
        let tools = self.definitions().map(|tool| tool.to_raw()).collect();
        let set = ToolSetUpload { tools, items: self.item_definitions() };
        let request = Request::post(server.join(&format!("api/apps/{}/tools", self.package())))
            .header(header::AUTHORIZATION, format!("Bearer {}:{}", self.package(), SecretText::expose(key)))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(to_raw(&set).get().to_owned())))
            // A key that is not valid in a header cannot be a key.
            .map_err(|_| RegisterError::NoKey)?;
        // The operator of the app configured this server, so any address is allowed.
        let client = HttpClient::new(Guard::unrestricted(), ClientSettings::default());
        let sending = async {
            let response = client.send(request).await?;
            Ok::<_, NetError>((response.status, response.bytes(MAX_REPLY_BYTES).await?))
        };
        let (status, body) = timeout(REGISTER_WAIT, sending).await.map_err(|_| RegisterError::TooLate)??;
        let version = read_reply(status, &body)?;
        tracing::info!(package = %self.package(), version, "tools registered");
        Ok(version)
    }
}

fn read_reply(status: StatusCode, body: &[u8]) -> Result<u64, RegisterError> {
    let shown = || String::from_utf8_lossy(body).chars().take(SHOWN_CHARS).collect::<String>();
    if status.is_success() {
        let registered = serde_json::from_slice::<RegisterReply>(body);
        return registered
            .map(|registered| registered.version)
            .map_err(|_| RegisterError::Unreadable(shown()));
    }
    Err(match serde_json::from_slice::<ApiErrorBody>(body) {
        Ok(ApiErrorBody { error }) => {
            RegisterError::Refused { status, message: error.message, problems: error.problems }
        }
        Err(_) => RegisterError::Refused { status, message: shown(), problems: Vec::new() },
    })
}
