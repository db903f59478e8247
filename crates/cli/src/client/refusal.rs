//! Error responses of the server, in each of their three forms: an API error, a failed call, and the two legacy responses
//! with a bare text.

use std::fmt;

use http::StatusCode;
use serde::Deserialize;
use toolyard_protocol::{Problem, api::ApiErrorCode, error::ErrorCode};

use crate::{error::CliError, text};

/// The two legacy responses have no code; clients recognize them by these texts.
const NO_USER: &str = "Missing X-User-Id header";
const NO_SESSION: &str = "No active session for user";
/// The codes that this program gives them.
const NO_USER_CODE: &str = "NO_USER";
const NO_SESSION_CODE: &str = "NO_SESSION";
/// The default next step for "not found".
const APPS: &str = "`toolyard apps ls` lists the apps that you can see and change";
/// How much of a response in an unknown form is shown, in characters.
const SHOWN_CHARS: usize = 200;

/// An error response of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerRefusal {
    /// HTTP status.
    pub(crate) status: u16,
    /// An API error code, a call error code, or one of ours for legacy responses.
    pub(crate) code: String,
    /// The message for people.
    pub(crate) message: String,
    /// Every problem of a rejected document.
    pub(crate) problems: Vec<Problem>,
    /// Whether a tool call failed, not the request around it.
    call: bool,
    /// The next step if something was not found.
    not_found_hint: &'static str,
}

#[derive(Deserialize)]
struct RefusalErrorBody {
    error: ErrorForm,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ErrorForm {
    Old(String),
    New(StructuredError),
}

#[derive(Deserialize)]
struct StructuredError {
    code: String,
    message: String,
    #[serde(default)]
    problems: Vec<Problem>,
    /// Present only for failed calls.
    retryable: Option<bool>,
}

impl ServerRefusal {
    /// Reads an error response.
    pub(crate) fn from_response(status: StatusCode, body: &[u8]) -> Self {
        let refusal = |code: &str, message: String| Self {
            status: status.as_u16(),
            code: code.to_owned(),
            message,
            problems: Vec::new(),
            call: false,
            not_found_hint: APPS,
        };
        match serde_json::from_slice::<RefusalErrorBody>(body).map(|body| body.error) {
            Ok(ErrorForm::New(error)) => {
                let call = error.retryable.is_some();
                Self { problems: error.problems, call, ..refusal(&error.code, error.message) }
            }
            Ok(ErrorForm::Old(message)) => match message.as_str() {
                NO_USER => refusal(NO_USER_CODE, "the request does not name a user".to_owned()),
                NO_SESSION => refusal(NO_SESSION_CODE, "the user has no session".to_owned()),
                _ => refusal("ERROR", message),
            },
            Err(_) => {
                let shown =
                    text::truncate_text(&text::sanitize_line(&String::from_utf8_lossy(body)), SHOWN_CHARS);
                refusal(
                    "BAD_ANSWER",
                    format!("the server responded with {status} in an unknown format: {shown}"),
                )
            }
        }
    }

    /// The same error with another next step for "not found".
    pub(crate) fn with_not_found_hint(mut self, hint: &'static str) -> Self {
        self.not_found_hint = hint;
        self
    }

    /// Whether the user has no session.
    pub(crate) fn is_no_session(&self) -> bool {
        self.code == NO_SESSION_CODE
    }

    /// Whether something already exists.
    pub(crate) fn is_conflict(&self) -> bool {
        self.code == "CONFLICT"
    }

    /// The next step for the user.
    pub(crate) fn next_step(&self) -> Option<&'static str> {
        let is =
            |code: ApiErrorCode| serde_json::to_value(code).is_ok_and(|known| known == self.code.as_str());
        if self.code == NO_USER_CODE {
            return Some("set the user with --user or TOOLYARD_USER, or sign in with `toolyard login`");
        }
        if self.is_no_session() {
            return Some(
                "connect a device with `toolyard glasses --user NAME`, or pass a token: a token opens a session",
            );
        }
        if self.call {
            return match ErrorCode::from_wire(&self.code)? {
                ErrorCode::ToolNotFound | ErrorCode::InvalidToolName => Some(
                    "`toolyard tools ls --hidden` lists the tools that can be called, and why others are hidden",
                ),
                ErrorCode::NetworkError | ErrorCode::AppNotAvailable => {
                    Some("check that the app is running; `toolyard doctor` checks each installed app")
                }
                _ => None,
            };
        }
        if is(ApiErrorCode::Unauthorized) {
            return Some(
                "run `toolyard login`, or set TOOLYARD_TOKEN; on the server's machine, `toolyard token user|developer|curator|operator NAME` creates a token",
            );
        }
        if is(ApiErrorCode::Forbidden) {
            return Some(
                "sign in with an account that has the required role, or use such a token: `toolyard token developer|curator|operator NAME`",
            );
        }
        if is(ApiErrorCode::NotFound) {
            return Some(self.not_found_hint);
        }
        if is(ApiErrorCode::RateLimited) {
            return Some("wait a minute, then try again");
        }
        if is(ApiErrorCode::Internal) {
            return Some("check the server's log");
        }
        None
    }
}

impl fmt::Display for ServerRefusal {
    /// A failed call starts with its code, because app developers search for it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.call { write!(f, "{}: {}", self.code, self.message) } else { f.write_str(&self.message) }
    }
}

impl From<ServerRefusal> for CliError {
    fn from(refused: ServerRefusal) -> Self {
        Self::Refused(Box::new(refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, body: &str) -> ServerRefusal {
        ServerRefusal::from_response(StatusCode::from_u16(status).unwrap(), body.as_bytes())
    }

    #[test]
    fn all_forms_become_one() {
        let api = read(
            400,
            r#"{"error":{"code":"INVALID_REQUEST","message":"no","problems":[{"path":"tools[0].name","message":"missing"}]}}"#,
        );
        assert_eq!((api.to_string().as_str(), api.problems.len(), api.next_step()), ("no", 1, None));
        let call = read(
            404,
            r#"{"success":false,"error":{"code":"TOOL_NOT_FOUND","message":"none","retryable":false}}"#,
        );
        assert_eq!(call.to_string(), "TOOL_NOT_FOUND: none");
        assert!(call.next_step().unwrap().contains("tools ls --hidden"));
        let no_user = read(401, r#"{"error":"Missing X-User-Id header"}"#);
        assert!(no_user.next_step().unwrap().contains("--user"));
        let no_session = read(401, r#"{"error":"No active session for user"}"#);
        assert!(no_session.is_no_session() && no_session.next_step().unwrap().contains("toolyard glasses"));
        assert_eq!(read(400, r#"{"error":"other"}"#).to_string(), "other");
    }

    #[test]
    fn every_code_of_the_api_is_read() {
        let unauthorized = read(401, r#"{"error":{"code":"UNAUTHORIZED","message":"no"}}"#);
        assert!(unauthorized.next_step().unwrap().contains("run `toolyard login`, or set TOOLYARD_TOKEN"));
        assert!(
            read(404, r#"{"error":{"code":"NOT_FOUND","message":"no"}}"#)
                .next_step()
                .unwrap()
                .contains("apps ls")
        );
        assert_eq!(read(418, r#"{"error":{"code":"FROM_LATER","message":"no"}}"#).next_step(), None);
    }

    #[test]
    fn a_response_of_another_server_is_quoted() {
        let html = read(502, "<html>\u{1b}bad gateway</html>");
        assert!(html.message.contains("502") && html.message.contains("<html> bad"), "{}", html.message);
        assert!(read(500, &"x".repeat(10_000)).message.len() < 400);
    }
}
