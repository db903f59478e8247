//! Talks to the server: JSON in, JSON out, every answer bounded, every error told in one way.

mod refusal;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::Full;
use serde::{Serialize, de::DeserializeOwned};
use toolyard_net::{ClientSettings, Guard, HttpClient, HttpResponse, NetError, OutsideUrl};
use toolyard_protocol::{UserId, secret::SecretText};

pub(crate) use self::refusal::ServerRefusal;
use crate::error::CliError;

/// Largest answer: the longest listing of tools that the server makes is well below.
pub(crate) const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;
/// How long the server may take, calls of tools aside.
const WAIT: Duration = Duration::from_secs(30);
/// Header that names a user.
const USER_HEADER: &str = "x-user-id";

/// A server, and who talks to it.
#[derive(Debug)]
pub(crate) struct ApiClient {
    http: HttpClient,
    server: OutsideUrl,
    token: Option<SecretText>,
    user: Option<UserId>,
}

impl ApiClient {
    pub(crate) fn new(
        server: &str,
        token: Option<SecretText>,
        user: Option<UserId>,
    ) -> Result<Self, CliError> {
        // The user named this server, so it may be anywhere.
        let guard = Guard::unrestricted();
        let bad = |error| CliError::BadServer { server: server.to_owned(), error };
        let server = OutsideUrl::parse(server, &guard).map_err(bad)?;
        Ok(Self { http: HttpClient::new(guard, ClientSettings::default()), server, token, user })
    }

    /// Whether the server is on this machine.
    pub(crate) fn is_on_loopback(&self) -> bool {
        let host = self.server.uri().host().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    }

    /// Reads something. The path may have a query.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        let request = self.build_request(Method::GET, path)?;
        self.read_json(self.send(self.finish_request(request, Bytes::new())?, WAIT).await?).await
    }

    /// Reads something that may not be there for this caller.
    pub(crate) async fn get_optional<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, CliError> {
        match self.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(CliError::Refused(refused)) if matches!(refused.status, 403 | 404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a document and reads the answer.
    pub(crate) async fn post<B: Serialize + ?Sized, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, CliError> {
        self.send_json(Method::POST, path, body).await
    }

    /// Changes something and reads what it is now.
    pub(crate) async fn patch<B: Serialize + ?Sized, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, CliError> {
        self.send_json(Method::PATCH, path, body).await
    }

    async fn send_json<B: Serialize + ?Sized, T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &B,
    ) -> Result<T, CliError> {
        let request = self.build_request(method, path)?.header(header::CONTENT_TYPE, "application/json");
        self.read_json(self.send(self.finish_request(request, json_body(body))?, WAIT).await?).await
    }

    /// Does something that needs no document and reads the answer.
    pub(crate) async fn post_empty<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.post_empty_within(path, WAIT).await
    }

    /// The same, where the server may take longer.
    pub(crate) async fn post_empty_within<T: DeserializeOwned>(
        &self,
        path: &str,
        wait: Duration,
    ) -> Result<T, CliError> {
        let request = self.build_request(Method::POST, path)?;
        self.read_json(self.send(self.finish_request(request, Bytes::new())?, wait).await?).await
    }

    /// Does something that has no answer.
    pub(crate) async fn send_empty(&self, method: Method, path: &str) -> Result<(), CliError> {
        let request = self.build_request(method, path)?;
        let answer = self.send(self.finish_request(request, Bytes::new())?, WAIT).await?;
        let (status, body) = (answer.status, self.read_body(answer).await?);
        if status.is_success() { Ok(()) } else { Err(ServerRefusal::from_response(status, &body).into()) }
    }

    /// Sends a document to which there is no answer.
    pub(crate) async fn send_document<B: Serialize + ?Sized>(
        &self,
        method: Method,
        path: &str,
        body: &B,
    ) -> Result<(), CliError> {
        let request = self.build_request(method, path)?.header(header::CONTENT_TYPE, "application/json");
        let response = self.send(self.finish_request(request, json_body(body))?, WAIT).await?;
        let (status, body) = (response.status, self.read_body(response).await?);
        if status.is_success() { Ok(()) } else { Err(self.server_refusal(status, &body)) }
    }

    /// A request with who is asking in it, to be finished by [`ApiClient::finish_request`].
    pub(crate) fn build_request(
        &self,
        method: Method,
        path: &str,
    ) -> Result<http::request::Builder, CliError> {
        let mut request = Request::builder().method(method).uri(self.api_url(path)?);
        if let Some(token) = &self.token {
            let mut value = header_value("--token", &format!("Bearer {}", token.expose()))?;
            value.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, value);
        }
        if let Some(user) = &self.user {
            request = request.header(USER_HEADER, header_value("--user", user.as_str())?);
        }
        Ok(request)
    }

    pub(crate) fn finish_request(
        &self,
        request: http::request::Builder,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, CliError> {
        request.body(Full::new(body)).map_err(|error| {
            CliError::usage(
                format!("this request cannot be sent: {error}"),
                "check --server, --token and --user",
            )
        })
    }

    /// Sends a request; returns once the head of the answer is there.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        wait: Duration,
    ) -> Result<HttpResponse, CliError> {
        match tokio::time::timeout(wait, self.http.send(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.transport_error(error)),
            Err(_) => Err(CliError::TimedOut { server: self.server.to_string(), wait }),
        }
    }

    /// The whole body of an answer.
    pub(crate) async fn read_body(&self, answer: HttpResponse) -> Result<Bytes, CliError> {
        match tokio::time::timeout(WAIT, answer.bytes(MAX_RESPONSE_BYTES)).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => Err(self.transport_error(error)),
            Err(_) => Err(CliError::TimedOut { server: self.server.to_string(), wait: WAIT }),
        }
    }

    /// What the server says is wrong with a request, or the connection.
    pub(crate) fn transport_error(&self, error: NetError) -> CliError {
        let server = self.server.to_string();
        match error {
            error @ NetError::NotSent(_) => CliError::Unreachable { server, error },
            error => CliError::NoResponse { server, error },
        }
    }

    /// An answer that is not what the API says.
    pub(crate) fn invalid_response(&self, why: impl std::fmt::Display) -> CliError {
        CliError::InvalidResponse { server: self.server.to_string(), why: why.to_string() }
    }

    /// A path of the API as an address. What follows a `?` is a query and stays as it is.
    fn api_url(&self, path: &str) -> Result<Uri, CliError> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let address = self.server.join(path);
        if query.is_empty() {
            return Ok(address);
        }
        format!("{address}?{query}").parse().map_err(|error| self.invalid_response(error))
    }

    async fn read_json<T: DeserializeOwned>(&self, answer: HttpResponse) -> Result<T, CliError> {
        let (status, body) = (answer.status, self.read_body(answer).await?);
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|error| self.invalid_response(error));
        }
        Err(self.server_refusal(status, &body))
    }

    /// An answer that says no.
    pub(crate) fn server_refusal(&self, status: StatusCode, body: &[u8]) -> CliError {
        ServerRefusal::from_response(status, body).into()
    }
}

/// A name as one segment of a path: names of tools may have any visible ASCII in them, `/`, `%` and `?` included.
pub(crate) fn path_segment(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(encode).collect()
}

/// A document as the body of a request.
pub(crate) fn json_body<T: Serialize + ?Sized>(document: &T) -> Bytes {
    Bytes::copy_from_slice(toolyard_protocol::raw::to_raw(document).get().as_bytes())
}

/// A text as a header: visible ASCII only.
pub(crate) fn header_value(flag: &str, text: &str) -> Result<HeaderValue, CliError> {
    HeaderValue::try_from(text).map_err(|_| {
        CliError::usage(
            format!("{flag} has characters that fit no header"),
            "use visible ASCII characters only",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(server: &str) -> ApiClient {
        ApiClient::new(server, Some(SecretText::new("t")), Some("ada".parse().unwrap())).unwrap()
    }

    #[test]
    fn paths_stand_below_the_server_and_queries_stay() {
        let client = client("http://127.0.0.1:8787/base/");
        assert_eq!(client.api_url("api/tools").unwrap(), "http://127.0.0.1:8787/base/api/tools");
        assert_eq!(
            client.api_url("api/tools?hidden=true").unwrap(),
            "http://127.0.0.1:8787/base/api/tools?hidden=true"
        );
    }

    #[test]
    fn a_name_is_one_segment_of_a_path() {
        assert_eq!(path_segment("com.example:a/b?c%d"), "com.example:a%2Fb%3Fc%25d");
    }

    #[test]
    fn a_request_says_who_asks() {
        let request = client("http://localhost").build_request(Method::GET, "x").unwrap();
        let headers = request.headers_ref().unwrap();
        assert_eq!(
            (&headers["authorization"], &headers["x-user-id"]),
            (&"Bearer t".parse().unwrap(), &"ada".parse().unwrap())
        );
        assert!(headers["authorization"].is_sensitive());
    }

    #[test]
    fn knows_this_machine() {
        for server in ["http://localhost:1", "http://127.0.0.2", "http://[::1]:9"] {
            assert!(client(server).is_on_loopback(), "{server}");
        }
        for server in ["http://10.0.0.1", "https://localhost.example.com"] {
            assert!(!client(server).is_on_loopback(), "{server}");
        }
    }

    #[test]
    fn what_is_no_server_is_refused() {
        assert!(matches!(ApiClient::new("localhost:8787", None, None), Err(CliError::BadServer { .. })));
    }
}
