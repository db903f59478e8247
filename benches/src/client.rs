//! Requests of the bench itself, and requests as the load generator sends them.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;

/// A plain client.
pub struct Http(Client<HttpConnector, Full<Bytes>>);

impl Default for Http {
    fn default() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }
}

impl Http {
    /// The status and text of an answer.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<(u16, String), String> {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request =
            request.header("content-type", "application/json").body(Full::new(Bytes::from(body.to_owned())));
        let response =
            self.0.request(request.map_err(|e| e.to_string())?).await.map_err(|e| e.to_string())?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.map_err(|e| e.to_string())?.to_bytes();
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    /// The JSON of an answer that must succeed.
    pub async fn json(&self, method: Method, url: &str, headers: &[(&str, &str)], body: &str) -> Value {
        let (status, text) =
            self.send(method, url, headers, body).await.unwrap_or_else(|error| panic!("{url}: {error}"));
        assert!((200..300).contains(&status), "{url}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }
}

/// A request as it goes over the wire.
pub fn raw(method: &str, path: &str, host: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        text.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}
