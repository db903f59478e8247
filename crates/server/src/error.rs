//! Errors of requests, and how every error becomes a response.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use toolyard_core::{ToolError, ports::StoreError};
use toolyard_platform::PlatformError;
use toolyard_protocol::{
    Problem,
    api::{ApiError, ApiErrorBody, ApiErrorCode},
    result::RestResult,
};

use crate::auth::AuthRefusal;

/// An error of a request that is not the error of a call.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// An error in the API's format.
    Api(ApiError),
    /// Not authenticated, not allowed, or over the rate limit.
    Refused(AuthRefusal),
}

impl RequestError {
    pub(crate) fn new(code: ApiErrorCode, message: impl Into<String>) -> Self {
        Self::Api(ApiError { code, message: message.into(), problems: Vec::new() })
    }

    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(ApiErrorCode::InvalidRequest, message)
    }

    pub(crate) fn not_found(what: impl std::fmt::Display) -> Self {
        Self::new(ApiErrorCode::NotFound, format!("there is no {what} here"))
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ApiErrorCode::Unavailable, message)
    }

    /// The text for the caller.
    pub(crate) fn message(self) -> String {
        match self {
            Self::Api(error) => error.message,
            Self::Refused(refusal) => refusal.to_string(),
        }
    }

    /// An invalid document, with all of its problems.
    pub(crate) fn with_problems(message: impl Into<String>, problems: Vec<Problem>) -> Self {
        Self::Api(ApiError { code: ApiErrorCode::InvalidRequest, message: message.into(), problems })
    }
}

impl From<AuthRefusal> for RequestError {
    fn from(refusal: AuthRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<PlatformError> for RequestError {
    fn from(error: PlatformError) -> Self {
        let message = error.to_string();
        let code = match error {
            PlatformError::Invalid { message, problems } => return Self::with_problems(message, problems),
            PlatformError::BadCredential(why) => return AuthRefusal::BadCredential(why).into(),
            PlatformError::NoSession => return AuthRefusal::NoSession.into(),
            PlatformError::RateLimited(wait) => return AuthRefusal::RateLimited(wait).into(),
            PlatformError::Store(error) => return error.into(),
            PlatformError::NotFound(_) => ApiErrorCode::NotFound,
            PlatformError::Conflict(_) | PlatformError::NeedsAgreement(_) => ApiErrorCode::Conflict,
            PlatformError::SignInFailed => ApiErrorCode::SignInFailed,
            PlatformError::SignInAgain => ApiErrorCode::SignInAgain,
            PlatformError::Forbidden(_) => ApiErrorCode::Forbidden,
            PlatformError::QuotaReached(_) => ApiErrorCode::QuotaReached,
            PlatformError::TooLarge(_) => ApiErrorCode::TooLarge,
            PlatformError::Unavailable(_) => ApiErrorCode::Unavailable,
            PlatformError::Internal(_) => ApiErrorCode::Internal,
        };
        Self::new(code, message)
    }
}

impl From<StoreError> for RequestError {
    fn from(error: StoreError) -> Self {
        let error = match error {
            StoreError::Quota(reached) => return Self::new(ApiErrorCode::QuotaReached, reached.to_string()),
            StoreError::Unavailable(error) => {
                tracing::warn!(%error, "store unavailable while handling a request");
                let text = "the server cannot reach its store now; retry in a moment";
                return Self::new(ApiErrorCode::Unavailable, text);
            }
            StoreError::Failed(error) => error,
        };
        tracing::error!(%error, "store failed while handling a request");
        Self::new(ApiErrorCode::Internal, "the server could not read or write its store; see the server log")
    }
}

/// The HTTP status of an error code.
pub(crate) const fn api_error_status(code: ApiErrorCode) -> StatusCode {
    match code {
        ApiErrorCode::InvalidRequest => StatusCode::BAD_REQUEST,
        ApiErrorCode::Unauthorized => StatusCode::UNAUTHORIZED,
        ApiErrorCode::SignInFailed => StatusCode::UNAUTHORIZED,
        ApiErrorCode::SignInAgain | ApiErrorCode::Forbidden => StatusCode::FORBIDDEN,
        ApiErrorCode::NotFound => StatusCode::NOT_FOUND,
        ApiErrorCode::Conflict => StatusCode::CONFLICT,
        ApiErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ApiErrorCode::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ApiErrorCode::QuotaReached => StatusCode::CONFLICT,
        ApiErrorCode::NotImplemented => StatusCode::NOT_IMPLEMENTED,
        ApiErrorCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ApiErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A JSON response.
pub(crate) fn json_response<T: Serialize + ?Sized>(status: StatusCode, body: &T) -> Response {
    match serde_json::to_vec(body) {
        Ok(body) => {
            let json = HeaderValue::from_static("application/json");
            (status, [(header::CONTENT_TYPE, json)], body).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "failed to serialize a response");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Carries the code of an error whose body has none.
const ERROR_HEADER: &str = "x-toolyard-error";

/// The format of the first API version, which two errors keep.
#[derive(Serialize)]
struct LegacyErrorBody<'a> {
    error: &'a str,
}

/// The response keeps the body of the first API version, which has no code: the code is a header.
fn legacy_refusal(code: &'static str, error: &str) -> Response {
    let mut response = json_response(StatusCode::UNAUTHORIZED, &LegacyErrorBody { error });
    response.headers_mut().insert(ERROR_HEADER, HeaderValue::from_static(code));
    response
}

impl IntoResponse for RequestError {
    fn into_response(self) -> Response {
        let refused = |code, message: &str| Self::new(code, message).into_response();
        match self {
            Self::Api(error) => json_response(api_error_status(error.code), &ApiErrorBody { error }),
            Self::Refused(AuthRefusal::NoUser) => legacy_refusal("missing-user", "Missing X-User-Id header"),
            Self::Refused(AuthRefusal::NoSession) => {
                legacy_refusal("no-session", "No active session for user")
            }
            Self::Refused(why @ AuthRefusal::RateLimited(wait)) => {
                let mut response = refused(ApiErrorCode::RateLimited, &why.to_string());
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1));
                response
            }
            Self::Refused(AuthRefusal::Forbidden(why)) => refused(ApiErrorCode::Forbidden, why),
            Self::Refused(AuthRefusal::InsufficientScope(ref scope)) => {
                let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
                let mut response = refused(ApiErrorCode::Forbidden, &self.message());
                if let Ok(challenge) = HeaderValue::try_from(challenge) {
                    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
                }
                response
            }
            Self::Refused(why @ (AuthRefusal::NoCredential | AuthRefusal::BadCredential(_))) => {
                with_auth_challenge(refused(ApiErrorCode::Unauthorized, &why.to_string()))
            }
        }
    }
}

fn with_auth_challenge(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"toolyard\""));
    response
}

impl From<RequestError> for Response {
    fn from(failure: RequestError) -> Self {
        failure.into_response()
    }
}

/// The response to a failed call.
pub(crate) fn call_error_response(error: &ToolError) -> Response {
    let status = StatusCode::from_u16(error.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(status, &RestResult::from_error(error.to_wire()));
    if let Some(wait) = error.retry_after {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    }
    response
}
