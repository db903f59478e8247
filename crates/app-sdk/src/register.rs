//! Uploads the app's tools, prompts and resources to its server. The whole set replaces the one before, or nothing changes.

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

/// Longest part of an unreadable answer that an error shows, in characters.
const SHOWN_CHARS: usize = 200;

/// Why the tools were not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The app was not told its server.
    #[error("this app was not told which server it belongs to; set it with `AppServerBuilder::server`")]
    NoServer,
    /// The app has no key.
    #[error("this app has no API key; set the key from its registration with `AppServerBuilder::api_key`")]
    NoKey,
    /// The server did not answer.
    #[error("the server cannot be reached: {0}")]
    NotReached(#[from] NetError),
    /// The server did not answer in time.
    #[error("the server did not answer within {REGISTER_WAIT:?}")]
    TooLate,
    /// The server said no.
    #[error("the server refused the tools with status {status}: {message}{}", problem_lines(problems))]
    Refused {
        /// The status.
        status: StatusCode,
        /// What the server said.
        message: String,
        /// Each place that is wrong.
        problems: Vec<Problem>,
    },
    /// The server answered with something else.
    #[error("the server took the tools but did not say which version they are; is it a Toolyard server? {0}")]
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
    /// Uploads the definitions of all tools, prompts and resources, and gives back their version on the server. The app must have been
    /// registered there before: that is where its key comes from.
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
            // A key that cannot stand in a header is no key.
            .map_err(|_| RegisterError::NoKey)?;
        // The server was configured by whoever runs the app, so it may be anywhere.
        let client = HttpClient::new(Guard::unrestricted(), ClientSettings::default());
        let sending = async {
            let response = client.send(request).await?;
            Ok::<_, NetError>((response.status, response.bytes(MAX_REPLY_BYTES).await?))
        };
        let (status, body) = timeout(REGISTER_WAIT, sending).await.map_err(|_| RegisterError::TooLate)??;
        let version = read_reply(status, &body)?;
        tracing::info!(app = %self.package(), version, "tools registered");
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
