//! The client of the server's REST API: JSON in, JSON out, every response bounded, every error in one form.

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

/// Largest response, in bytes. The longest tool listing of a server is well below.
pub(crate) const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;
/// Timeout for requests other than tool calls.
const WAIT: Duration = Duration::from_secs(30);
/// The header with the user's id.
const USER_HEADER: &str = "x-user-id";

/// A client of one server, with its credentials.
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
        // The user chose this server, so any address is allowed.
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

    /// Which URLs of apps may be requested from here: public ones, and those on this machine if the server runs here too.
    /// The URL may come from a third party, and this machine may be in a network that they cannot reach.
    pub(crate) fn guard_for_apps(&self) -> Guard {
        if self.is_on_loopback() { Guard::dev() } else { Guard::strict() }
    }

    /// Sends a GET request. The path may have a query.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.get_within(path, WAIT).await
    }

    /// The same, with another timeout.
    pub(crate) async fn get_within<T: DeserializeOwned>(
        &self,
        path: &str,
        wait: Duration,
    ) -> Result<T, CliError> {
        let request = self.build_request(Method::GET, path)?;
        self.read_json(self.send(self.finish_request(request, Bytes::new())?, wait).await?).await
    }

    /// Sends a GET request for something that may not exist or not be visible to this caller.
    pub(crate) async fn get_optional<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, CliError> {
        match self.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(CliError::Refused(refused)) if matches!(refused.status, 403 | 404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a POST request with a JSON body.
    pub(crate) async fn post<B: Serialize + ?Sized, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, CliError> {
        self.send_json(Method::POST, path, body).await
    }

    /// Sends a PATCH request and returns the changed document.
    pub(crate) async fn patch<B: Serialize + ?Sized, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, CliError> {
        self.send_json(Method::PATCH, path, body).await
    }

    /// Sends a PUT request and returns the stored document.
    pub(crate) async fn put<B: Serialize + ?Sized, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, CliError> {
        self.send_json(Method::PUT, path, body).await
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

    /// Sends a POST request without a body.
    pub(crate) async fn post_empty<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.post_empty_within(path, WAIT).await
    }

    /// The same, with another timeout.
    pub(crate) async fn post_empty_within<T: DeserializeOwned>(
        &self,
        path: &str,
        wait: Duration,
    ) -> Result<T, CliError> {
        let request = self.build_request(Method::POST, path)?;
        self.read_json(self.send(self.finish_request(request, Bytes::new())?, wait).await?).await
    }

    /// Sends a request without a body and ignores the response body.
    pub(crate) async fn send_empty(&self, method: Method, path: &str) -> Result<(), CliError> {
        let request = self.build_request(method, path)?;
        let answer = self.send(self.finish_request(request, Bytes::new())?, WAIT).await?;
        let (status, body) = (answer.status, self.read_body(answer).await?);
        if status.is_success() { Ok(()) } else { Err(ServerRefusal::from_response(status, &body).into()) }
    }

    /// Sends a JSON body and ignores the response body.
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

    /// A request with the credentials, to be completed by [`ApiClient::finish_request`].
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

    /// Sends a request; returns when the response headers are there.
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

    /// Reads the whole body of a response.
    pub(crate) async fn read_body(&self, answer: HttpResponse) -> Result<Bytes, CliError> {
        match tokio::time::timeout(WAIT, answer.bytes(MAX_RESPONSE_BYTES)).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => Err(self.transport_error(error)),
            Err(_) => Err(CliError::TimedOut { server: self.server.to_string(), wait: WAIT }),
        }
    }

    /// The error for a request that failed before a response arrived.
    pub(crate) fn transport_error(&self, error: NetError) -> CliError {
        let server = self.server.to_string();
        match error {
            error @ NetError::NotSent(_) => CliError::Unreachable { server, error },
            error => CliError::NoResponse { server, error },
        }
    }

    /// The error for a response that does not fit the API.
    pub(crate) fn invalid_response(&self, why: impl std::fmt::Display) -> CliError {
        CliError::InvalidResponse { server: self.server.to_string(), why: why.to_string() }
    }

    /// The URL of an API path. Encoded segments and a query after `?` are kept as they are.
    fn api_url(&self, path: &str) -> Result<Uri, CliError> {
        let base = self.server.join("").to_string();
        let (base, own_query) = base.split_once('?').unwrap_or((&base, ""));
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut address = format!("{}/{path}", base.trim_end_matches('/'));
        for (index, query) in [own_query, query].into_iter().filter(|query| !query.is_empty()).enumerate() {
            address.push(if index == 0 { '?' } else { '&' });
            address.push_str(query);
        }
        address.parse().map_err(|error| self.invalid_response(error))
    }

    async fn read_json<T: DeserializeOwned>(&self, answer: HttpResponse) -> Result<T, CliError> {
        let (status, body) = (answer.status, self.read_body(answer).await?);
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|error| self.invalid_response(error));
        }
        Err(self.server_refusal(status, &body))
    }

    /// The error for a response with an error status.
    pub(crate) fn server_refusal(&self, status: StatusCode, body: &[u8]) -> CliError {
        ServerRefusal::from_response(status, body).into()
    }
}

/// Encodes a name as one path segment: names of tools and users may contain any visible ASCII, including `/`, `%` and `?`.
pub(crate) fn path_segment(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(encode).collect()
}

/// Serializes a document as a request body.
pub(crate) fn json_body<T: Serialize + ?Sized>(document: &T) -> Bytes {
    Bytes::copy_from_slice(toolyard_protocol::raw::to_raw(document).get().as_bytes())
}

/// A text as a header value: visible ASCII only.
pub(crate) fn header_value(flag: &str, text: &str) -> Result<HeaderValue, CliError> {
    HeaderValue::try_from(text).map_err(|_| {
        CliError::usage(
            format!("{flag} contains characters that are not allowed in a header"),
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
    fn paths_are_relative_to_the_server_and_queries_stay() {
        let client = client("http://127.0.0.1:8787/base/");
        assert_eq!(client.api_url("api/tools").unwrap(), "http://127.0.0.1:8787/base/api/tools");
        assert_eq!(
            client.api_url("api/tools?hidden=true").unwrap(),
            "http://127.0.0.1:8787/base/api/tools?hidden=true"
        );
        let path = format!("api/users/{}?a=b", path_segment("^a/b?c%d#é"));
        assert_eq!(
            client.api_url(&path).unwrap(),
            "http://127.0.0.1:8787/base/api/users/%5Ea%2Fb%3Fc%25d%23%C3%A9?a=b"
        );
        let client = self::client("http://localhost?key=1");
        assert_eq!(client.api_url("api/tools").unwrap(), "http://localhost/api/tools?key=1");
        assert_eq!(client.api_url("api/tools?a=b").unwrap(), "http://localhost/api/tools?key=1&a=b");
    }

    #[test]
    fn a_name_is_one_segment_of_a_path() {
        assert_eq!(path_segment("com.example:a/b?c%d"), "com.example:a%2Fb%3Fc%25d");
    }

    #[test]
    fn a_request_carries_the_credentials() {
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
    fn an_invalid_server_url_is_refused() {
        assert!(matches!(ApiClient::new("localhost:8787", None, None), Err(CliError::BadServer { .. })));
    }
}
