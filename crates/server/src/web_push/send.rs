//! Sends messages to push services.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::Full;
use sha2::{Digest as _, Sha256};
use toolyard_core::ports::{IdGenerator, StoredPushSubscription};
use toolyard_net::OutsideUrl;
use toolyard_protocol::{push::PushMessage, text::truncate_bytes};

use super::{
    encrypt::{MessageSecrets, ReceiverKeys, encrypt_message},
    vapid::VapidKey,
};
use crate::parts::WebAccess;

/// Timeout of one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// Attempts for one message.
const MAX_ATTEMPTS: u32 = 4;
/// Pause after the first failed attempt; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest title and text of a message, in bytes. Escaped as JSON they can be six times as long, and must still fit.
const MAX_TITLE_BYTES: usize = 150;
const MAX_TEXT_BYTES: usize = 400;

/// Why a message was not accepted.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum PushError {
    /// The browser no longer wants messages.
    #[error("the browser unsubscribed")]
    Gone,
    /// Another attempt may succeed.
    #[error("{0}")]
    Temporary(String),
    /// No attempt will succeed.
    #[error("{0}")]
    Permanent(String),
}

/// How a push service handles a message until the browser is online.
pub(super) struct Delivery {
    /// How long it is kept.
    pub(super) keep: Duration,
    /// A later message about the same thing replaces it.
    pub(super) topic: Option<String>,
}

/// Sends messages to push services.
pub(super) struct PushSender {
    pub(super) keys: Vec<VapidKey>,
    pub(super) web: WebAccess,
    /// How the operator of a push service reaches the operator of this server.
    pub(super) contact: String,
}

impl PushSender {
    /// Sends a message, again if that can help.
    pub(super) async fn send(
        &self,
        ids: &dyn IdGenerator,
        now_s: i64,
        browser: &StoredPushSubscription,
        message: &PushMessage,
        delivery: &Delivery,
    ) -> Result<(), PushError> {
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            match self.send_once(ids, now_s, browser, message, delivery).await {
                Err(PushError::Temporary(error)) if attempt < MAX_ATTEMPTS => {
                    tracing::debug!(%error, user = %browser.user, attempt, "push message is tried again");
                }
                outcome => return outcome,
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2);
        }
        Ok(())
    }

    async fn send_once(
        &self,
        ids: &dyn IdGenerator,
        now_s: i64,
        browser: &StoredPushSubscription,
        message: &PushMessage,
        delivery: &Delivery,
    ) -> Result<(), PushError> {
        let permanent = |error: String| PushError::Permanent(error);
        let request = self.build_request(ids, now_s, browser, message, delivery).map_err(permanent)?;
        let sent = tokio::time::timeout(ATTEMPT_TIMEOUT, self.web.http.send(request)).await;
        let response = sent
            .map_err(|_| PushError::Temporary(format!("no response within {ATTEMPT_TIMEOUT:?}")))?
            .map_err(|error| PushError::Temporary(error.to_string()))?;
        let status = response.status;
        let said = format!("the push service responded with {status}");
        match status {
            _ if status.is_success() => Ok(()),
            StatusCode::NOT_FOUND | StatusCode::GONE => Err(PushError::Gone),
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Err(PushError::Temporary(said)),
            _ if status.is_server_error() => Err(PushError::Temporary(said)),
            _ => Err(PushError::Permanent(said)),
        }
    }

    fn build_request(
        &self,
        ids: &dyn IdGenerator,
        now_s: i64,
        browser: &StoredPushSubscription,
        message: &PushMessage,
        delivery: &Delivery,
    ) -> Result<Request<Full<Bytes>>, String> {
        let key = self.keys.iter().find(|key| key.public_key == browser.server_key);
        let key = key.ok_or("the browser subscribed with a key that this server no longer has")?;
        let url = OutsideUrl::parse(&browser.endpoint, &self.web.guard).map_err(|error| error.to_string())?;
        let secrets = MessageSecrets::generate(ids).map_err(|error| error.to_string())?;
        let receiver = ReceiverKeys { public_key: &browser.receiver_key, auth_secret: &browser.auth_secret };
        let body = encrypt_message(&render_message(message), &receiver, &secrets);
        let body = body.map_err(|error| error.to_string())?;
        let authorization = key
            .authorization(&push_origin(url.uri()), &self.contact, now_s)
            .ok_or("the message could not be signed")?;
        let mut authorization = HeaderValue::try_from(authorization).map_err(|error| error.to_string())?;
        authorization.set_sensitive(true);
        let mut request = Request::post(url.uri().clone())
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .header(header::CONTENT_ENCODING, "aes128gcm")
            .header("ttl", delivery.keep.as_secs())
            .header("urgency", "high");
        if let Some(topic) = &delivery.topic {
            request = request.header("topic", push_topic(topic));
        }
        request
            .header(header::AUTHORIZATION, authorization)
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| error.to_string())
    }
}

/// The message as JSON, with its texts cut so that it fits. A notification shows a few lines only.
fn render_message(message: &PushMessage) -> Vec<u8> {
    let short = PushMessage {
        title: truncate_bytes(&message.title, MAX_TITLE_BYTES).into_owned(),
        body: truncate_bytes(&message.body, MAX_TEXT_BYTES).into_owned(),
        ..message.clone()
    };
    serde_json::to_vec(&short).unwrap_or_default()
}

/// Scheme, host and port, as a push service expects them: without the default port.
fn push_origin(uri: &Uri) -> String {
    let authority = uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    format!("{}://{authority}", uri.scheme_str().unwrap_or("https"))
}

/// A topic has at most 32 characters of base64url.
fn push_topic(text: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(&Sha256::digest(text)[..24])
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::push::PushKind;

    use super::{super::encrypt::MAX_MESSAGE_BYTES, *};

    #[test]
    fn origins_topics_and_messages_fit_their_limits() {
        let origin = |text: &str| push_origin(&text.parse().unwrap());
        assert_eq!(origin("https://push.example/send/abc?x=1"), "https://push.example");
        assert_eq!(origin("http://127.0.0.1:8080/a"), "http://127.0.0.1:8080");
        assert_eq!(push_topic(&"x".repeat(500)).len(), 32);
        // A control character takes six bytes in JSON.
        let long = PushMessage {
            kind: PushKind::ApprovalRequested,
            id: Some("a".repeat(32)),
            title: "\u{1}".repeat(10_000),
            body: "\u{1}".repeat(10_000),
            url: Some(format!("https://tools.example.com/console/approvals/{}", "a".repeat(32))),
        };
        let rendered = render_message(&long);
        assert!(rendered.len() <= MAX_MESSAGE_BYTES, "{}", rendered.len());
        let read: PushMessage = serde_json::from_slice(&rendered).unwrap();
        assert_eq!((read.id, read.url), (long.id, long.url));
    }
}
