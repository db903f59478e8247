//! `POST {publicUrl}/webhook`: the platform asks an app's web server to connect or to stop.

use std::future::Future;

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use http_body_util::Full;
use toolyard_core::{ToolError, ports::AppRecord};
use toolyard_net::{OutsideUrl, SigningKey, sign_all};
use toolyard_protocol::{
    PackageName,
    session::{iso_millis, webhook::WebhookRequest},
};

use crate::sessions::{Sessions, unavailable_error};

/// Longest webhook response that is read.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// A webhook that failed.
pub(crate) struct WebhookError {
    /// For the caller.
    pub(crate) message: String,
    /// For the log.
    pub(crate) cause: String,
}

impl Sessions {
    /// Builds the request; the caller decides about its timeout. Fails only if the app cannot be called at all.
    pub(crate) fn build_webhook(
        &self,
        app: &AppRecord,
        request: &WebhookRequest,
    ) -> Result<impl Future<Output = Result<(), WebhookError>> + Send + use<>, ToolError> {
        let body = serde_json::to_vec(request).map_err(|error| cannot_start(&app.package, &error))?;
        let out = self.signed_post(app, "webhook", body)?;
        let address = out.uri().to_string();
        let http = self.parts().http.clone();
        Ok(async move {
            let unreachable = |error: toolyard_net::NetError| WebhookError {
                message: format!("its web server did not answer at {address}: {}", error.advice(&address)),
                cause: error.to_string(),
            };
            let answer = http.send(out).await.map_err(unreachable)?;
            let status = answer.status;
            let body = answer.bytes(MAX_ANSWER_BYTES).await.map_err(unreachable)?;
            if status.is_success() {
                return Ok(());
            }
            let text = String::from_utf8_lossy(&body);
            let text: String = text.chars().take(200).collect();
            let words = format!(
                "its web server refused to start: it answered HTTP {} to POST {address}. If the app only answers tool \
                 calls, register it with `\"kind\": \"tools-only\"`; otherwise look at its log, and test it with \
                 `curl -i -X POST {address}`",
                status.as_u16()
            );
            Err(WebhookError { message: words, cause: format!("HTTP {status}: {text}") })
        })
    }

    /// Builds a signed request to an app's web server.
    pub(crate) fn signed_post(
        &self,
        app: &AppRecord,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Request<Full<Bytes>>, ToolError> {
        let package = &app.package;
        let url = app.details.public_url.as_deref().unwrap_or_default();
        let url = OutsideUrl::parse(url, &self.parts().guard).map_err(|error| {
            unavailable_error(format!("The address of {package} is not allowed here.")).with_cause(error)
        })?;
        let signing = app.keys().map(|keys| keys.signing.as_slice()).unwrap_or_default();
        let keys: Vec<_> = signing
            .iter()
            .map(|sealed| self.parts().secrets.unseal(sealed).map(|secret| SigningKey::new(&secret)))
            .collect::<Result<_, _>>()
            .map_err(|error| cannot_start(package, &error))?;
        let mut out = Request::post(url.join(path));
        if let Some(headers) = out.headers_mut() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            sign_all(&keys, headers, self.parts().clock.now().as_millisecond(), &body);
        }
        out.body(Full::new(body.into())).map_err(|error| cannot_start(package, &error))
    }

    /// The current time, as messages format it.
    pub(crate) fn timestamp(&self) -> String {
        iso_millis(self.parts().clock.now())
    }
}

fn cannot_start(package: &PackageName, error: &dyn std::fmt::Display) -> ToolError {
    unavailable_error(format!("{package} cannot be started.")).with_cause(error)
}
