//! Reads a request and checks that it comes from the platform.

use std::error::Error;

use axum::{body::to_bytes, extract::Request};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode, header};
use http_body_util::LengthLimitError;
use toolyard_net::{SIGNATURE_HEADER, SignatureError, TIMESTAMP_HEADER};

use crate::{
    limits::{MAX_BODY_BYTES, SIGNATURE_TOLERANCE_MS},
    server::AppServer,
};

/// Why a request is rejected.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestRejection {
    #[error("expected a JSON body: send the header content-type: application/json")]
    NotJson,
    #[error("the body is larger than {MAX_BODY_BYTES} bytes")]
    TooLarge,
    #[error("the body is incomplete")]
    Broken,
    #[error(transparent)]
    NotSigned(#[from] SignatureError),
}

impl RequestRejection {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Broken => StatusCode::BAD_REQUEST,
            Self::NotSigned(_) => StatusCode::UNAUTHORIZED,
        }
    }
}

/// The headers and the body of a request, after checking its size and signature.
pub(super) async fn read_request(
    app: &AppServer,
    request: Request,
) -> Result<(HeaderMap, Bytes), RequestRejection> {
    let (head, body) = request.into_parts();
    // Also keeps web pages out: a browser sends a CORS preflight before it sends JSON to another origin.
    if !header_text(&head.headers, &header::CONTENT_TYPE).is_some_and(is_json) {
        return Err(RequestRejection::NotJson);
    }
    let body = to_bytes(body, MAX_BODY_BYTES).await.map_err(|error| {
        let too_large = error.source().is_some_and(|cause| cause.is::<LengthLimitError>());
        if too_large { RequestRejection::TooLarge } else { RequestRejection::Broken }
    })?;
    check_signature(app, &head.headers, &body)?;
    Ok((head.headers, body))
}

fn check_signature(app: &AppServer, headers: &HeaderMap, body: &[u8]) -> Result<(), SignatureError> {
    let Some(key) = &app.shared().signing else { return Ok(()) };
    key.verify(
        header_text(headers, &TIMESTAMP_HEADER),
        header_text(headers, &SIGNATURE_HEADER),
        body,
        app.shared().clock.now().as_millisecond(),
        SIGNATURE_TOLERANCE_MS,
    )
}

/// The value of a header as text.
pub(super) fn header_text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}
