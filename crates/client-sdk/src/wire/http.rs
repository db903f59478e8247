//! The HTTP transport.

use std::fmt::Write as _;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderValue, Method, Request, Uri, header};
use http_body_util::Full;
use toolyard_net::{ClientSettings, Guard, HttpClient, HttpResponse, OutsideUrl};
use toolyard_protocol::{chat::MCP_MODE_HEADER, secret::SecretText};

use super::{
    CHAT_PATH, ChatWire, EVENT_STREAM, MODEL_HEADER, WireBody, WireError, WireRequest, WireResponse,
};
use crate::{client::ClientBuildError, stream::MAX_ANSWER_BYTES};

/// Header that names a user.
const USER_HEADER: &str = "x-user-id";

/// A server, with the credentials for it.
pub(crate) struct HttpWire {
    http: HttpClient,
    server: OutsideUrl,
    auth_headers: HeaderMap,
}

impl HttpWire {
    pub(crate) fn new(
        server: &str,
        token: Option<&SecretText>,
        user: Option<&str>,
    ) -> Result<Self, ClientBuildError> {
        // The developer of the program chose this server, so any address is allowed.
        let guard = Guard::unrestricted();
        let server = OutsideUrl::parse(server, &guard)
            .map_err(|error| ClientBuildError::Server { server: server.to_owned(), error })?;
        let mut who = HeaderMap::new();
        if let Some(token) = token {
            let mut value = header_value("token", &format!("Bearer {}", token.expose()))?;
            value.set_sensitive(true);
            who.insert(header::AUTHORIZATION, value);
        }
        if let Some(user) = user {
            who.insert(USER_HEADER, header_value("user", user)?);
        }
        Ok(Self { http: HttpClient::new(guard, ClientSettings::default()), server, auth_headers: who })
    }

    fn build_request(&self, request: WireRequest) -> Result<Request<Full<Bytes>>, WireError> {
        let (method, address, body) = match request {
            WireRequest::Chat(body) => (Method::POST, self.chat_url(), body),
            WireRequest::Resume { chat_id } => (Method::GET, self.resume_url(&chat_id), Bytes::new()),
        };
        let mut made = Request::builder().method(method.clone()).uri(address);
        if let Some(headers) = made.headers_mut() {
            headers.extend(self.auth_headers.clone());
            headers.insert(header::ACCEPT, HeaderValue::from_static(EVENT_STREAM));
            // This program cannot show the server's own tools with a user interface.
            headers.insert(MCP_MODE_HEADER, HeaderValue::from_static("true"));
            if method == Method::POST {
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            }
        }
        made.body(Full::new(body))
            .map_err(|error| WireError::Other(format!("this request cannot be sent: {error}")))
    }

    fn chat_url(&self) -> String {
        let (path, query) = CHAT_PATH.split_once('?').unwrap_or((CHAT_PATH, ""));
        format!("{}?{query}", without_query(&self.server.join(path)))
    }

    fn resume_url(&self, chat_id: &str) -> String {
        format!("{}/{}/stream", without_query(&self.server.join("api/chat")), encode_segment(chat_id))
    }
}

/// The URL without its query, which has no meaning here.
fn without_query(address: &Uri) -> String {
    let text = address.to_string();
    text.split_once('?').map_or(text.clone(), |(path, _)| path.to_owned())
}

fn header_value(what: &'static str, text: &str) -> Result<HeaderValue, ClientBuildError> {
    HeaderValue::try_from(text).map_err(|_| ClientBuildError::Header { what })
}

/// Encodes a text as one path segment.
fn encode_segment(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => encoded.push(char::from(byte)),
            // Dots too: a segment of dots alone would be normalized away.
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
        encoded
    })
}

#[async_trait]
impl ChatWire for HttpWire {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError> {
        let answer = self.http.send(self.build_request(request)?).await?;
        let header = |name: &str| answer.headers.get(name)?.to_str().ok().map(str::to_owned);
        Ok(WireResponse {
            status: answer.status.as_u16(),
            content_type: header(header::CONTENT_TYPE.as_str()),
            model: header(MODEL_HEADER),
            body: body_stream(answer),
        })
    }
}

fn body_stream(answer: HttpResponse) -> WireBody {
    stream::unfold(Some(answer.into_chunks(MAX_ANSWER_BYTES)), |chunks| async move {
        let mut chunks = chunks?;
        match chunks.next().await {
            Ok(Some(chunk)) => Some((Ok(chunk), Some(chunks))),
            Ok(None) => None,
            Err(error) => Some((Err(error.into()), None)),
        }
    })
    .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(server: &str) -> HttpWire {
        HttpWire::new(server, Some(&SecretText::new("t0ken")), Some("ada")).unwrap()
    }

    #[test]
    fn a_request_has_the_url_and_the_credentials() {
        let request = wire("http://127.0.0.1:1/base/")
            .build_request(WireRequest::Chat(Bytes::from_static(b"{}")))
            .unwrap();
        assert_eq!(request.uri(), "http://127.0.0.1:1/base/api/chat?protocol=ui");
        let header = |name: &str| request.headers()[name].to_str().unwrap();
        assert_eq!((header("authorization"), header("x-user-id")), ("Bearer t0ken", "ada"));
        assert_eq!((header("content-type"), header("accept")), ("application/json", "text/event-stream"));
        assert_eq!(header("x-mcp-mode"), "true");
        assert!(request.headers()["authorization"].is_sensitive());
        assert!(!format!("{request:?}").contains("t0ken"));
    }

    #[test]
    fn any_chat_id_is_one_path_segment() {
        let again = |id: &str| {
            wire("http://h")
                .build_request(WireRequest::Resume { chat_id: id.to_owned() })
                .unwrap()
                .uri()
                .to_string()
        };
        assert_eq!(again("c/1 ?é"), "http://h/api/chat/c%2F1%20%3F%C3%A9/stream");
        assert_eq!(again(".."), "http://h/api/chat/%2E%2E/stream");
    }

    #[test]
    fn values_not_allowed_in_a_header_are_refused_without_being_shown() {
        let token = HttpWire::new("http://h", Some(&SecretText::new("a\nb")), None).map(|_| ()).unwrap_err();
        assert_eq!(token, ClientBuildError::Header { what: "token" });
        assert!(matches!(HttpWire::new("localhost:8787", None, None), Err(ClientBuildError::Server { .. })));
    }
}
