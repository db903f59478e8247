//! Errors of models, with texts for the caller. What a vendor wrote goes to the log only, truncated and without keys.

use std::{error::Error, io, sync::Arc, time::Duration};

use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;
use toolyard_protocol::secret::SecretText;
use url::Url;

use super::{ModelError, ModelErrorKind};

/// Longest cause in a log line.
pub(super) const MAX_CAUSE: usize = 2 * 1024;
/// Longest accepted wait of a vendor. Nobody would wait longer.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The model that a request goes to: enough to say what is wrong and what to do.
#[derive(Debug, Clone)]
pub(crate) struct ModelTarget {
    /// The model's full name.
    pub(crate) id: Arc<str>,
    pub(crate) url: Url,
    pub(crate) key: Option<SecretText>,
    /// Where the key came from, such as `OPENAI_API_KEY`.
    pub(crate) key_from: String,
}

impl ModelTarget {
    /// An error about this model.
    pub(crate) fn new_error(
        &self,
        kind: ModelErrorKind,
        text: impl Into<String>,
        cause: Option<&str>,
    ) -> ModelError {
        let cause = cause.map(|cause| self.redact_cause(cause));
        ModelError { kind, text: text.into(), cause, retry_after: None }
    }

    /// Scheme, host and port. A path may hold a secret.
    fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// A cause without the key, truncated.
    fn redact_cause(&self, cause: &str) -> String {
        // Truncate generously first, so that replacing stays cheap.
        let cause = &cause[..cause.floor_char_boundary(MAX_CAUSE * 4)];
        let mut cause = match &self.key {
            Some(key) if !key.expose().is_empty() => cause.replace(key.expose(), "(secret)"),
            _ => cause.to_owned(),
        };
        if cause.len() > MAX_CAUSE {
            cause.truncate(cause.floor_char_boundary(MAX_CAUSE - '…'.len_utf8()));
            cause.push('…');
        }
        cause
    }

    /// A response with an error status.
    pub(crate) fn status_error(&self, status: StatusCode, headers: &HeaderMap, body: &str) -> ModelError {
        let parsed = serde_json::from_str::<Value>(body).unwrap_or_default();
        let code = parsed.get("error").map(VendorErrorCodes::from_error).unwrap_or_default();
        let (kind, wait) = (classify_error(status, &code), retry_after(headers));
        self.describe_error(kind, &code, Some(status), wait, &format!("HTTP {status}: {body}"))
    }

    /// An error in the middle of a successful response.
    pub(super) fn stream_error(&self, error: &Value) -> ModelError {
        let code = VendorErrorCodes::from_error(error);
        let status = code.http_status();
        let kind = status.map_or_else(
            || code.error_kind().unwrap_or(ModelErrorKind::Unavailable),
            |s| classify_error(s, &code),
        );
        self.describe_error(kind, &code, status, None, &format!("in the response: {error}"))
    }

    fn describe_error(
        &self,
        kind: ModelErrorKind,
        code: &VendorErrorCodes,
        status: Option<StatusCode>,
        wait: Option<Duration>,
        cause: &str,
    ) -> ModelError {
        let (id, origin) = (&self.id, self.origin());
        let text = match kind {
            ModelErrorKind::Unauthorized if self.key.is_some() => {
                format!("{id} rejects the key in {}; check it.", self.key_from)
            }
            ModelErrorKind::Unauthorized => format!("{id} needs a key; set it in {}.", self.key_from),
            ModelErrorKind::NoCredit => {
                format!(
                    "There is no credit left for {id} with the key in {}; add some or use another model.",
                    self.key_from
                )
            }
            ModelErrorKind::RateLimited => match wait {
                Some(wait) => format!("{id} is rate limited; try again in {}.", format_wait(wait)),
                None => format!("{id} is rate limited; wait a little and try again."),
            },
            ModelErrorKind::Unknown => {
                format!(
                    "There is no model {id} at {origin}, or no chat there; check the model's name and the URL."
                )
            }
            ModelErrorKind::Refused if code.is_too_long() => {
                format!(
                    "The conversation is too long for {id}; shorten it, or use a model with a larger context."
                )
            }
            ModelErrorKind::Refused => {
                format!(
                    "{id} rejects this request; it may be too long, or use something that the model does not support."
                )
            }
            ModelErrorKind::Unreachable => {
                format!("{id} cannot be reached at {origin}; check its URL and that it runs.")
            }
            ModelErrorKind::Broken => format!("{id} broke off; try again."),
            ModelErrorKind::Unavailable => {
                let busy = status == Some(StatusCode::SERVICE_UNAVAILABLE);
                let what = if busy { "is busy or still loading" } else { "reported an internal error" };
                match wait {
                    Some(wait) => format!("{id} {what}; try again in {}.", format_wait(wait)),
                    None if busy => format!("{id} {what}; try again in a moment."),
                    None => format!("{id} {what}; try again later."),
                }
            }
        };
        ModelError { retry_after: wait, ..self.new_error(kind, text, Some(cause)) }
    }

    /// A request without a response, or a response that ended in the middle.
    pub(crate) fn transport_error(&self, error: &reqwest::Error) -> ModelError {
        if is_tls_error(error) {
            let text = format!(
                "{} at {} has no certificate that this machine trusts; check the URL and the certificate.",
                self.id,
                self.origin()
            );
            return self.new_error(ModelErrorKind::Unreachable, text, Some(&error_chain(error)));
        }
        let kind = if error.is_connect() {
            ModelErrorKind::Unreachable
        } else if error.is_builder() {
            ModelErrorKind::Refused
        } else {
            ModelErrorKind::Broken
        };
        self.describe_error(kind, &VendorErrorCodes::default(), None, None, &error_chain(error))
    }

    /// The response did not begin in time.
    pub(crate) fn timeout_error(&self, wait: Duration) -> ModelError {
        let text = format!("{} did not respond within {} s; it may be busy.", self.id, wait.as_secs_f32());
        self.new_error(ModelErrorKind::Unavailable, text, None)
    }

    /// The response stalled.
    pub(super) fn idle_error(&self, wait: Duration) -> ModelError {
        let text =
            format!("{} sent nothing for {} s, so the request was cancelled.", self.id, wait.as_secs_f32());
        self.new_error(ModelErrorKind::Broken, text, None)
    }

    /// The response ended too early, or is malformed.
    pub(crate) fn broken_error(&self, cause: &str) -> ModelError {
        self.describe_error(ModelErrorKind::Broken, &VendorErrorCodes::default(), None, None, cause)
    }
}

/// Whether the TLS handshake failed. An I/O error hides what it holds from the chain of sources.
fn is_tls_error(error: &(dyn Error + 'static)) -> bool {
    let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is::<rustls::Error>()
        || held.is_some_and(|held| is_tls_error(held))
        || error.source().is_some_and(is_tls_error)
}

/// The error with its causes. URLs are left out: they may hold private data.
fn error_chain(error: &reqwest::Error) -> String {
    let mut text = if error.is_timeout() { "timed out" } else { "no transport" }.to_owned();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

/// The error codes of a vendor. The vendor's text decides nothing.
#[derive(Debug, Default)]
struct VendorErrorCodes {
    number: Option<u16>,
    words: Vec<String>,
}

impl VendorErrorCodes {
    fn from_error(error: &Value) -> Self {
        // Anthropic wraps the error once more in a stream.
        let error = error.get("error").filter(|inner| inner.is_object()).unwrap_or(error);
        let number = ["code", "status"].iter().find_map(|key| error.get(key)?.as_u64());
        let words = ["type", "code", "status"].iter().filter_map(|key| error.get(key)?.as_str());
        Self { number: number.and_then(|n| u16::try_from(n).ok()), words: words.map(str::to_owned).collect() }
    }

    fn has_any(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.as_str()))
    }

    fn http_status(&self) -> Option<StatusCode> {
        self.number
            .and_then(|n| StatusCode::from_u16(n).ok())
            .filter(|s| s.is_client_error() || s.is_server_error())
    }

    fn is_too_long(&self) -> bool {
        self.has_any(&["context_length_exceeded", "exceed_context_size_error", "request_too_large"])
    }

    fn error_kind(&self) -> Option<ModelErrorKind> {
        const KINDS: &[(&[&str], ModelErrorKind)] = &[
            (
                &["insufficient_quota", "billing_error", "billing_hard_limit_reached"],
                ModelErrorKind::NoCredit,
            ),
            (&["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"], ModelErrorKind::RateLimited),
            (
                &[
                    "authentication_error",
                    "permission_error",
                    "invalid_api_key",
                    "UNAUTHENTICATED",
                    "PERMISSION_DENIED",
                ],
                ModelErrorKind::Unauthorized,
            ),
            (&["not_found_error", "model_not_found", "NOT_FOUND"], ModelErrorKind::Unknown),
            (&["invalid_request_error", "INVALID_ARGUMENT"], ModelErrorKind::Refused),
        ];
        if self.is_too_long() {
            return Some(ModelErrorKind::Refused);
        }
        KINDS.iter().find(|(words, _)| self.has_any(words)).map(|(_, kind)| *kind)
    }
}

fn classify_error(status: StatusCode, code: &VendorErrorCodes) -> ModelErrorKind {
    match (status.as_u16(), code.error_kind()) {
        // Vendors that use 429 both for rate limits and for missing credit differ by code only.
        (402, _) | (429, Some(ModelErrorKind::NoCredit)) => ModelErrorKind::NoCredit,
        (429, _) => ModelErrorKind::RateLimited,
        // Gemini uses 400 for an invalid key.
        (401 | 403, _) | (400, Some(ModelErrorKind::Unauthorized)) => ModelErrorKind::Unauthorized,
        (404, _) => ModelErrorKind::Unknown,
        (408 | 409 | 425, _) | (500.., _) => ModelErrorKind::Unavailable,
        _ => ModelErrorKind::Refused,
    }
}

/// How long a vendor asks us to wait. Dates are not supported and are ignored.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1_000.0).or_else(|| number("retry-after"))?;
    Some(Duration::try_from_secs_f64(seconds).ok()?.min(MAX_WAIT))
}

/// A wait for people, rounded up.
fn format_wait(wait: Duration) -> String {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    match seconds.max(1) {
        seconds @ ..=120 => format!("{seconds} s"),
        seconds @ ..7_200 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3_600)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target() -> ModelTarget {
        ModelTarget {
            id: "openai/gpt-x".into(),
            url: "https://api.example/v1/secret-path/".parse().unwrap(),
            key: Some(SecretText::new("sk-123")),
            key_from: "OPENAI_API_KEY".to_owned(),
        }
    }

    fn status(status: u16, body: &Value) -> ModelError {
        target().status_error(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), &body.to_string())
    }

    #[test]
    fn statuses_and_codes_have_their_kinds() {
        let openai =
            |kind: &str, code: &str| json!({ "error": { "message": "m", "type": kind, "code": code } });
        for (code, body, kind) in [
            (401, json!({}), ModelErrorKind::Unauthorized),
            (403, json!({}), ModelErrorKind::Unauthorized),
            (
                400,
                json!({ "error": { "code": 400, "status": "UNAUTHENTICATED" } }),
                ModelErrorKind::Unauthorized,
            ),
            (402, json!({}), ModelErrorKind::NoCredit),
            (429, json!({}), ModelErrorKind::RateLimited),
            (429, openai("insufficient_quota", "insufficient_quota"), ModelErrorKind::NoCredit),
            (404, openai("invalid_request_error", "model_not_found"), ModelErrorKind::Unknown),
            (400, openai("invalid_request_error", "context_length_exceeded"), ModelErrorKind::Refused),
            (413, json!("not an object"), ModelErrorKind::Refused),
            (422, json!({}), ModelErrorKind::Refused),
            (302, json!({}), ModelErrorKind::Refused),
            (408, json!({}), ModelErrorKind::Unavailable),
            (500, json!({}), ModelErrorKind::Unavailable),
            (
                503,
                json!({ "error": { "message": "Loading model", "code": 503 } }),
                ModelErrorKind::Unavailable,
            ),
            (
                529,
                json!({ "type": "error", "error": { "type": "overloaded_error" } }),
                ModelErrorKind::Unavailable,
            ),
        ] {
            let error = status(code, &body);
            assert_eq!(error.kind, kind, "{code} {body}");
            assert!(error.text.contains("openai/gpt-x"), "{}", error.text);
            assert!(error.cause.unwrap().starts_with("HTTP "));
        }
    }

    #[test]
    fn errors_in_an_answer_have_kinds_by_their_codes() {
        for (body, kind) in [
            (
                json!({ "type": "error", "error": { "type": "overloaded_error" } }),
                ModelErrorKind::Unavailable,
            ),
            (
                json!({ "type": "error", "error": { "type": "rate_limit_error" } }),
                ModelErrorKind::RateLimited,
            ),
            (json!({ "code": 429, "message": "slow" }), ModelErrorKind::RateLimited),
            (json!({ "code": 502, "message": "upstream" }), ModelErrorKind::Unavailable),
            (json!({ "code": "server_error" }), ModelErrorKind::Unavailable),
            (json!({ "type": "invalid_request_error" }), ModelErrorKind::Refused),
            (json!("odd"), ModelErrorKind::Unavailable),
        ] {
            assert_eq!(target().stream_error(&body).kind, kind, "{body}");
        }
    }

    #[test]
    fn texts_say_what_to_do() {
        let mut target = target();
        let ask = |target: &ModelTarget, code| {
            target.status_error(StatusCode::from_u16(code).unwrap(), &HeaderMap::new(), "").text
        };
        assert_eq!(ask(&target, 401), "openai/gpt-x rejects the key in OPENAI_API_KEY; check it.");
        assert_eq!(
            ask(&target, 404),
            "There is no model openai/gpt-x at https://api.example, or no chat there; check the model's name and the URL."
        );
        let long = status(400, &json!({ "error": { "code": "context_length_exceeded" } }));
        assert!(long.text.starts_with("The conversation is too long for openai/gpt-x;"), "{}", long.text);
        target.key = None;
        assert_eq!(ask(&target, 401), "openai/gpt-x needs a key; set it in OPENAI_API_KEY.");
    }

    #[test]
    fn a_cause_has_no_key_and_is_cut() {
        let error = status(400, &json!({ "error": { "message": "bad key sk-123 here" } }));
        let cause = error.cause.unwrap();
        assert!(cause.contains("bad key (secret) here") && !cause.contains("sk-123"), "{cause}");
        assert!(!error.text.contains("bad key"), "a vendor's words stay in the log");

        let cause = target().broken_error(&"é".repeat(MAX_CAUSE)).cause.unwrap();
        assert!(cause.len() <= MAX_CAUSE && cause.ends_with('…'));
        let whole = target().broken_error(&"x".repeat(MAX_CAUSE)).cause.unwrap();
        assert_eq!(whole.len(), MAX_CAUSE);
        assert!(!whole.ends_with('…'));
    }

    #[test]
    fn a_broken_handshake_is_found_however_deep_it_is_wrapped() {
        let tls = || io::Error::other(rustls::Error::DecryptError);
        assert!(is_tls_error(&rustls::Error::DecryptError));
        assert!(is_tls_error(&io::Error::other(tls())));
        assert!(!is_tls_error(&io::Error::other(io::Error::from(io::ErrorKind::ConnectionRefused))));
    }

    #[test]
    fn the_vendors_retry_delay_is_in_the_text() {
        let error_text = |code: u16, after: &str| {
            let headers = HeaderMap::from_iter([("retry-after".parse().unwrap(), after.parse().unwrap())]);
            target().status_error(StatusCode::from_u16(code).unwrap(), &headers, "").text
        };
        for (after, spoken) in [
            ("0", "1 s"),
            ("0.2", "1 s"),
            ("20", "20 s"),
            ("20.5", "21 s"),
            ("120", "120 s"),
            ("121", "3 min"),
            ("3600", "60 min"),
            ("3601", "61 min"),
            ("7200", "2 h"),
            ("7201", "3 h"),
            ("1e15", "24 h"),
        ] {
            let text = format!("openai/gpt-x is rate limited; try again in {spoken}.");
            assert_eq!(error_text(429, after), text, "{after}");
        }
        assert_eq!(error_text(503, "5"), "openai/gpt-x is busy or still loading; try again in 5 s.");
        assert_eq!(error_text(500, "5"), "openai/gpt-x reported an internal error; try again in 5 s.");
        assert_eq!(error_text(401, "5"), "openai/gpt-x rejects the key in OPENAI_API_KEY; check it.");
        assert_eq!(error_text(429, "soon"), "openai/gpt-x is rate limited; wait a little and try again.");
    }

    #[test]
    fn waits_are_read_in_all_their_forms() {
        let after = |name: &'static str, value: &str| {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
            target().status_error(StatusCode::TOO_MANY_REQUESTS, &headers, "").retry_after
        };
        assert_eq!(after("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(after("retry-after", "0.25"), Some(Duration::from_millis(250)));
        assert_eq!(after("retry-after-ms", "1500"), Some(Duration::from_millis(1_500)));
        assert_eq!(after("retry-after", "1e9"), Some(MAX_WAIT));
        for odd in ["-1", "nan", "inf", "1e300", "soon", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(after("retry-after", odd), None, "{odd}");
        }
    }
}
