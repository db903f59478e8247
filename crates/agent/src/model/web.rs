//! The HTTP client for models. It uses rustls with the process's crypto provider and the web's roots. No proxies from
//! the environment, and no redirects, which would carry keys to other hosts.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use reqwest::{Client, RequestBuilder, Response, redirect};
use serde_json::Value;

use super::{ModelError, ModelErrorKind, RequestPolicy};

/// How often an idle connection is checked.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Idle connections per host.
const IDLE_CONNECTIONS: usize = 8;

/// A client for all models.
pub(crate) fn http_client(bounds: &RequestPolicy) -> Result<Client, ModelError> {
    let roots = rustls::RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| no_client_error(&error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(redirect::Policy::none())
        .no_proxy()
        .connect_timeout(bounds.connect)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .tcp_keepalive(KEEP_ALIVE)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .build()
        .map_err(|error| no_client_error(&error.to_string()))
}

fn no_client_error(cause: &str) -> ModelError {
    let text = "The HTTP client for models cannot be created on this machine.".to_owned();
    ModelError { kind: ModelErrorKind::Unreachable, text, cause: Some(cause.to_owned()), retry_after: None }
}

/// A body as text of at most `most` bytes. None if it is longer.
pub(crate) async fn read_text(response: Response, most: usize) -> Result<Option<String>, reqwest::Error> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        if body.len().saturating_add(piece.len()) > most {
            return Ok(None);
        }
        body.extend_from_slice(&piece);
    }
    Ok(Some(String::from_utf8_lossy(&body).into_owned()))
}

/// A small JSON response with a success status, within a time. None for anything else.
pub(super) async fn fetch_json(request: RequestBuilder, most: usize, wait: Duration) -> Option<Value> {
    let fetch = async {
        let response = request.send().await.ok()?.error_for_status().ok()?;
        serde_json::from_str(&read_text(response, most).await.ok()??).ok()
    };
    tokio::time::timeout(wait, fetch).await.ok()?
}
