//! Requests to an app: JSON, signed, with an idempotency key and a trace header.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Uri, header};
use http_body_util::Full;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use toolyard_core::{CallContext, Caller};
use toolyard_net::sign_all;
use toolyard_protocol::call::IDEMPOTENCY_KEY;

use super::target::AppTarget;

const APP_API_KEY: HeaderName = HeaderName::from_static("x-app-api-key");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// A signed request with this body to one of the app's URLs.
pub(super) fn signed_post(
    cx: &CallContext,
    target: &AppTarget,
    to: &Uri,
    accept: &'static str,
    now: Timestamp,
    body: Vec<u8>,
) -> Result<Request<Full<Bytes>>, http::Error> {
    let mut request = Request::post(to.clone());
    if let Some(headers) = request.headers_mut() {
        // Reserved at once: growing would hash every name again.
        headers.reserve(8);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        sign_all(&target.keys, headers, now.as_millisecond(), &body);
        if let Some(key) = &target.legacy_key {
            headers.insert(APP_API_KEY, key.clone());
        }
        headers.insert(IDEMPOTENCY_KEY, HeaderValue::try_from(&*key_for_app(cx))?);
        if let Ok(trace) = HeaderValue::try_from(cx.trace.to_header().to_string()) {
            headers.insert(TRACEPARENT, trace);
        }
    }
    request.body(Full::new(body.into()))
}

/// The key by which an app recognizes a repeated call. Without an idempotency key it is the call's id. Keys of two
/// callers for the same user differ, or an app that caches responses would return one caller's response to the other.
fn key_for_app(cx: &CallContext) -> Cow<'_, str> {
    match (&cx.key, &cx.caller) {
        (None, _) => cx.id.as_str().into(),
        (Some(key), Caller::User) => (&**key).into(),
        (Some(key), caller) => hex::encode(Sha256::digest(format!("{caller}\n{key}"))).into(),
    }
}
