//! Sends one request: headers, credentials, and a retry after a challenge.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header as names};
use http_body_util::Full;
use toolyard_net::HttpResponse;

use crate::{credentials::AuthChallenge, error::McpClientError, http::HttpConnection};

impl HttpConnection {
    /// Sends a request and returns the response for any status. A challenge that cannot be met is an error. A 401 and a
    /// 403 are each retried at most once, so that a server cannot cause a loop.
    pub(super) async fn send_authorized(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<HttpResponse, McpClientError> {
        let mut met = Vec::with_capacity(2);
        loop {
            let response = self.send_once(method.clone(), headers.clone(), body.clone()).await?;
            let Some(challenge) = AuthChallenge::from_response(response.status, &response.headers) else {
                return Ok(response);
            };
            let refused = McpClientError::AuthorizationNeeded { challenge: Some(challenge.clone()) };
            // A 403 without a challenge may mean anything.
            let plain = challenge.status == StatusCode::FORBIDDEN && challenge.www_authenticate.is_empty();
            let again = !met.contains(&challenge.status)
                && self.target.credentials.handle_challenge(&challenge).await?;
            match (again, plain) {
                (true, _) => met.push(challenge.status),
                (false, true) => return Ok(response),
                (false, false) => return Err(refused),
            }
        }
    }

    async fn send_once(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<HttpResponse, McpClientError> {
        let mut all = self.target.credentials.headers().await?;
        all.extend(headers);
        if method == Method::POST {
            all.insert(names::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(agent) = &self.agent {
            all.entry(names::USER_AGENT).or_insert_with(|| agent.clone());
        }
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.target.url.uri().clone();
        *request.headers_mut() = all;
        Ok(self.target.http.send(request).await?)
    }
}
