//! A configured server with OpenAI's speech or transcription API.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Uri, header};
use http_body_util::Full;
use toolyard_net::{Guard, HttpClient, HttpResponse, NetError, OutsideUrl};
use toolyard_protocol::secret::SecretText;

/// Characters of a server's error response that are logged.
const MAX_ERROR_CHARS: usize = 300;
/// Bytes of a server's error response that are read.
const MAX_ERROR_BYTES: usize = 16 * 1024;

/// The URL of an endpoint, and the key for it.
#[derive(Debug)]
pub(super) struct SpeechEndpoint {
    address: Uri,
    key: Option<HeaderValue>,
    http: HttpClient,
}

impl SpeechEndpoint {
    /// The endpoint below a URL. The operator configured the address, so every address is allowed; redirects are not followed.
    pub(super) fn new(
        url: &str,
        endpoint: &str,
        key: Option<&SecretText>,
        http: HttpClient,
    ) -> Result<Self, String> {
        let url = OutsideUrl::parse(url, &Guard::unrestricted()).map_err(|error| error.to_string())?;
        let key = key.map(|key| {
            let bearer = HeaderValue::try_from(format!("Bearer {}", key.expose()));
            let mut bearer =
                bearer.map_err(|_| "the key has characters that are not allowed in a header".to_owned())?;
            bearer.set_sensitive(true);
            Ok::<_, String>(bearer)
        });
        Ok(Self { address: url.join(endpoint), key: key.transpose()?, http })
    }

    /// Sends a POST request. Every response but success is an error.
    pub(super) async fn post(&self, media_type: &str, body: Vec<u8>) -> Result<HttpResponse, String> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address.clone();
        let headers = request.headers_mut();
        let media_type = HeaderValue::try_from(media_type).map_err(|error| error.to_string())?;
        headers.insert(header::CONTENT_TYPE, media_type);
        if let Some(key) = &self.key {
            headers.insert(header::AUTHORIZATION, key.clone());
        }
        let response = self.http.send(request).await.map_err(net_error_text)?;
        if response.status.is_success() {
            return Ok(response);
        }
        let status = response.status;
        let text = response.bytes(MAX_ERROR_BYTES).await.unwrap_or_default();
        let text: String = String::from_utf8_lossy(&text).chars().take(MAX_ERROR_CHARS).collect();
        Err(format!("{} responded with {status}: {text}", self.address))
    }
}

pub(super) fn net_error_text(error: NetError) -> String {
    error.to_string()
}
