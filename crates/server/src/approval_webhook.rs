//! Notifies a program of the operator when a user is asked, and when the question is answered or expires.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::Full;
use serde_json::{Value, json};
use toolyard_net::{Guard, HttpClient, OutsideUrl, SigningKey, sign_all};
use toolyard_protocol::{ApprovalId, approval::ApprovalInfo, session::iso_millis};

use crate::{
    approval_events::{ApprovalEvent, follow_approvals, read_approval},
    approvals::approval_info,
    config::ApprovalsConfig,
    serve::{ServerDependencies, ServerStartError},
    state::ServerState,
};

/// Attempts for one notification.
const MAX_ATTEMPTS: u32 = 5;
/// Pause after the first failed attempt; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Timeout of one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends notifications.
pub(crate) struct ApprovalWebhook {
    url: Uri,
    keys: Vec<SigningKey>,
    with_summary: bool,
    http: HttpClient,
}

/// Why a notification was not accepted.
enum DeliveryError {
    /// Another attempt may succeed.
    Temporary(String),
    /// The receiver does not want it.
    Permanent(String),
}

impl ApprovalWebhook {
    /// The configured webhook, if there is one.
    pub(crate) fn from_config(
        config: &ApprovalsConfig,
        deps: &ServerDependencies,
        guard: &Guard,
        http: &HttpClient,
    ) -> Result<Option<Self>, ServerStartError> {
        let Some(config) = &config.webhook else { return Ok(None) };
        let wrong =
            |key: &str, why: String| ServerStartError::Config(format!("approvals.webhook.{key}: {why}"));
        let url = OutsideUrl::parse(&config.url, guard).map_err(|error| wrong("url", error.to_string()))?;
        let secret = config.secret_env.as_ref().map(|name| {
            let found = (deps.environment)(name).map(|secret| secret.trim().to_owned());
            found
                .filter(|secret| !secret.is_empty())
                .ok_or_else(|| wrong("secret_env", format!("the variable {name} is not set")))
        });
        let secret = secret.transpose()?;
        Ok(Some(Self {
            url: url.uri().clone(),
            keys: secret.iter().map(|secret| SigningKey::new(secret)).collect(),
            with_summary: config.summary,
            http: http.clone(),
        }))
    }

    /// Sends notifications from now on, one after the other, until the server stops.
    pub(crate) fn start(self, state: &ServerState) {
        let mut queued = follow_approvals(state, "webhook");
        let (lifecycle, state) = (state.lifecycle.clone(), state.clone());
        let stopping = lifecycle.stopping.clone();
        let send_queued = async move {
            while let Some((event, id)) = queued.recv().await {
                let Some(record) = read_approval(&state, &id).await else { continue };
                let info = approval_info(&state, &record).await;
                let body = self.render_body(event, &info, &iso_millis(state.clock.now()));
                self.deliver(&state, &id, body).await;
            }
        };
        lifecycle.spawn(async move {
            tokio::select! {
                () = send_queued => {}
                () = stopping.cancelled() => {}
            }
        });
    }

    fn render_body(&self, event: ApprovalEvent, info: &ApprovalInfo, at: &str) -> Bytes {
        let mut approval = serde_json::to_value(info).unwrap_or_default();
        if !self.with_summary {
            remove_arguments(&mut approval);
        }
        let body = json!({ "type": event.wire_name(info.state), "at": at, "approval": approval });
        Bytes::from(body.to_string())
    }

    /// Sends one notification, again if it fails.
    async fn deliver(&self, state: &ServerState, id: &ApprovalId, body: Bytes) {
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=MAX_ATTEMPTS {
            let error = match self.send_once(state.clock.now().as_millisecond(), body.clone()).await {
                Ok(()) => return,
                Err(DeliveryError::Temporary(error)) if attempt < MAX_ATTEMPTS => error,
                Err(DeliveryError::Temporary(error) | DeliveryError::Permanent(error)) => {
                    tracing::warn!(%error, approval = %id, attempt, "approval webhook failed");
                    return;
                }
            };
            tracing::debug!(%error, approval = %id, attempt, "approval webhook is tried again");
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2);
        }
    }

    async fn send_once(&self, now_ms: i64, body: Bytes) -> Result<(), DeliveryError> {
        let mut request = Request::post(self.url.clone())
            .body(Full::new(body.clone()))
            .map_err(|error| DeliveryError::Permanent(error.to_string()))?;
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if !self.keys.is_empty() {
            sign_all(&self.keys, headers, now_ms, &body);
        }
        let sent = tokio::time::timeout(ATTEMPT_TIMEOUT, self.http.send(request)).await;
        let response = sent
            .map_err(|_| DeliveryError::Temporary(format!("no response within {ATTEMPT_TIMEOUT:?}")))?
            .map_err(|error| DeliveryError::Temporary(error.to_string()))?;
        let status = response.status;
        let may_recover = status.is_server_error()
            || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
        match status {
            _ if status.is_success() => Ok(()),
            _ if may_recover => {
                Err(DeliveryError::Temporary(format!("the receiver responded with {status}")))
            }
            _ => Err(DeliveryError::Permanent(format!("the receiver responded with {status}"))),
        }
    }
}

/// Removes everything that contains or identifies the arguments, and the person's note.
fn remove_arguments(approval: &mut Value) {
    if let Some(members) = approval.as_object_mut() {
        // Short arguments can be guessed from their digest.
        members.remove("argumentsDigest");
    }
    if let Some(lines) = approval.pointer_mut("/summary/lines") {
        *lines = json!([]);
    }
    if let Some(answer) = approval.get_mut("answer").and_then(Value::as_object_mut) {
        answer.remove("note");
    }
}
