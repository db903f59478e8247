//! The two requests that start and stop an app: `POST {publicUrl}/webhook`.

use serde::{Deserialize, Serialize};

use super::{
    message::{MalformedMessage, RawMessage},
    time::read_timestamp,
};
use crate::id::{AppSessionId, UserId};

/// A request to an app's web server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type")]
pub enum WebhookRequest {
    /// Connect for this user.
    #[serde(rename = "session_request")]
    Session(SessionRequest),
    /// Stop for this user.
    #[serde(rename = "stop_request")]
    Stop(StopRequest),
    /// An unknown request. The response is a 400.
    #[serde(untagged)]
    Unknown {
        /// Its type, truncated.
        #[serde(rename = "type")]
        kind: String,
    },
}

/// Connect for this user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRequest {
    /// The session id to connect with.
    pub session_id: AppSessionId,
    /// The user.
    pub user_id: UserId,
    /// When, ISO 8601 with milliseconds.
    #[serde(default, deserialize_with = "read_timestamp", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// WebSocket URL, for SDK 2.
    #[serde(rename = "mentraOSWebsocketUrl", default, skip_serializing_if = "Option::is_none")]
    pub mentra_os_websocket_url: Option<String>,
    /// WebSocket URL, for SDK 2 and older.
    #[serde(rename = "augmentOSWebsocketUrl", default, skip_serializing_if = "Option::is_none")]
    pub augment_os_websocket_url: Option<String>,
    /// WebSocket URL, for SDK 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websocket_url: Option<String>,
}

impl SessionRequest {
    /// A request with the URL in every field that an SDK reads.
    pub fn new(session_id: AppSessionId, user_id: UserId, url: &str, timestamp: String) -> Self {
        let url = Some(url.to_owned());
        Self {
            session_id,
            user_id,
            timestamp: Some(timestamp),
            mentra_os_websocket_url: url.clone(),
            augment_os_websocket_url: url.clone(),
            websocket_url: url,
        }
    }

    /// The WebSocket URL, in the order in which the SDK looks for it.
    pub fn url(&self) -> Option<&str> {
        let urls = [&self.mentra_os_websocket_url, &self.augment_os_websocket_url, &self.websocket_url];
        urls.into_iter().find_map(Option::as_deref)
    }
}

/// Why an app stops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The user stopped it.
    UserDisabled,
    /// The platform stopped it.
    SystemStop,
    /// An error occurred.
    Error,
    /// An unknown reason.
    #[serde(untagged)]
    Other(String),
}

/// Stop for this user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StopRequest {
    /// The session id.
    pub session_id: AppSessionId,
    /// The user.
    pub user_id: UserId,
    /// The reason.
    #[serde(default = "no_reason")]
    pub reason: StopReason,
    /// When, ISO 8601 with milliseconds.
    #[serde(default, deserialize_with = "read_timestamp", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

const fn no_reason() -> StopReason {
    StopReason::SystemStop
}

impl WebhookRequest {
    /// Parses a request, on the side of the app.
    pub fn parse(text: &str) -> Result<Self, MalformedMessage> {
        let message = RawMessage::parse(text)?;
        Ok(match message.kind() {
            "session_request" => {
                let request: SessionRequest = message.parse_body()?;
                if request.url().is_none() {
                    return Err(message
                        .field_error("mentraOSWebsocketUrl", "missing; without it the app cannot connect"));
                }
                Self::Session(request)
            }
            "stop_request" => Self::Stop(message.parse_body()?),
            _ => Self::Unknown { kind: message.unknown_kind() },
        })
    }
}

/// The outcome of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    /// Success.
    Success,
    /// Failure.
    #[serde(other)]
    Error,
}

/// The response of the app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookReply {
    /// The outcome.
    pub status: WebhookStatus,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From a run against a real app.
    const STARTS: [&str; 3] = [
        r#"{"type":"session_request","sessionId":"ada.lovelace@example.com-com.example.todo","userId":"ada.lovelace@example.com","timestamp":"2026-11-15T18:16:13.332Z","mentraOSWebsocketUrl":"ws://127.0.0.1:8021/app-ws"}"#,
        r#"{"type":"session_request","sessionId":"any-opaque-id","userId":"ada.lovelace@example.com","timestamp":"2026-11-15T18:16:33.113Z","augmentOSWebsocketUrl":"ws://127.0.0.1:8021/app-ws"}"#,
        r#"{"type":"session_request","sessionId":"v3-only","userId":"ada.lovelace@example.com","timestamp":"2026-11-15T18:16:33.458Z","websocketUrl":"ws://127.0.0.1:8021/app-ws"}"#,
    ];
    const STOP: &str = r#"{"type":"stop_request","sessionId":"ada.lovelace@example.com-com.example.todo","userId":"ada.lovelace@example.com","reason":"user_disabled","timestamp":"2026-11-15T18:16:15.397Z"}"#;

    #[test]
    fn real_requests_come_back_as_they_went() {
        for text in STARTS.into_iter().chain([STOP]) {
            let read = WebhookRequest::parse(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
            if let WebhookRequest::Session(request) = read {
                assert_eq!(request.url(), Some("ws://127.0.0.1:8021/app-ws"));
            }
        }
    }

    #[test]
    fn our_request_has_the_url_in_all_three_places() {
        let request = SessionRequest::new(
            "s-1".parse().unwrap(),
            "Ada@Example.com".parse().unwrap(),
            "wss://cloud.example/app-ws",
            "2026-01-02T03:04:05.678Z".to_owned(),
        );
        assert_eq!(
            serde_json::to_string(&WebhookRequest::Session(request)).unwrap(),
            r#"{"type":"session_request","sessionId":"s-1","userId":"ada@example.com","timestamp":"2026-01-02T03:04:05.678Z","mentraOSWebsocketUrl":"wss://cloud.example/app-ws","augmentOSWebsocketUrl":"wss://cloud.example/app-ws","websocketUrl":"wss://cloud.example/app-ws"}"#
        );
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        assert_eq!(
            WebhookRequest::parse(r#"{"type":"other"}"#).unwrap(),
            WebhookRequest::Unknown { kind: "other".to_owned() }
        );
        let error_text = |text: &str| WebhookRequest::parse(text).unwrap_err().to_string();
        assert_eq!(
            error_text(r#"{"type":"session_request","sessionId":"s","userId":"a@b"}"#),
            "`session_request`, mentraOSWebsocketUrl: missing; without it the app cannot connect"
        );
        assert!(error_text(r#"{"type":"stop_request","sessionId":"s"}"#).contains("missing field `userId`"));
        assert!(
            error_text(r#"{"type":"stop_request","sessionId":"","userId":"a@b"}"#)
                .starts_with("`stop_request`, sessionId: ")
        );
        assert!(WebhookRequest::parse("<html>").is_err());
    }

    #[test]
    fn reasons_and_replies() {
        let read = |text: &str| match WebhookRequest::parse(text).unwrap() {
            WebhookRequest::Stop(stop) => stop,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            read(r#"{"type":"stop_request","sessionId":"s","userId":"a@b"}"#).reason,
            StopReason::SystemStop
        );
        let odd =
            read(r#"{"type":"stop_request","sessionId":"s","userId":"a@b","reason":"tired","timestamp":5}"#);
        assert_eq!(odd.reason, StopReason::Other("tired".to_owned()));
        for text in [r#"{"status":"success"}"#, r#"{"status":"error","message":"Failed to connect"}"#] {
            assert_eq!(
                serde_json::to_string(&serde_json::from_str::<WebhookReply>(text).unwrap()).unwrap(),
                text
            );
        }
    }
}
