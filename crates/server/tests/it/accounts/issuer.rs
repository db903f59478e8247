//! An identity provider: metadata, keys, and a token endpoint that issues what a test wants.

use std::sync::{Arc, Mutex};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use axum::{
    Json, Router,
    extract::State,
    routing::{get, post},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Map, Value, json};

struct Shared {
    url: String,
    key: EncodingKey,
    public: Vec<u8>,
    /// Claims besides the usual ones; null removes one.
    claims: Mutex<Value>,
    userinfo: Mutex<Option<Value>>,
    header: Mutex<Header>,
    requests: Mutex<Vec<Map<String, Value>>>,
    now: Mutex<i64>,
}

/// A running identity provider.
pub(crate) struct FakeIssuer(Arc<Shared>);

impl FakeIssuer {
    #[expect(clippy::disallowed_methods, reason = "it ends with the test")]
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let pair = Ed25519KeyPair::generate().unwrap();
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some("one".to_owned());
        let shared = Arc::new(Shared {
            url: format!("http://{}", listener.local_addr().unwrap()),
            key: EncodingKey::from_ed_der(pair.to_pkcs8().unwrap().as_ref()),
            public: pair.public_key().as_ref().to_vec(),
            claims: Mutex::new(json!({})),
            userinfo: Mutex::default(),
            header: Mutex::new(header),
            requests: Mutex::default(),
            now: Mutex::default(),
        });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .route("/userinfo", get(userinfo))
            .with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self(shared)
    }

    pub(crate) fn url(&self) -> &str {
        &self.0.url
    }

    /// The claims of the next ID token, besides those that it has to have, and its nonce.
    pub(crate) fn set_claims(&self, claims: Value) {
        *self.0.claims.lock().unwrap() = claims;
    }

    pub(crate) fn set_userinfo(&self, claims: Value) {
        *self.0.userinfo.lock().unwrap() = Some(claims);
    }

    pub(crate) fn set_algorithm(&self, header: Header) {
        *self.0.header.lock().unwrap() = header;
    }

    pub(crate) fn set_now(&self, now: i64) {
        *self.0.now.lock().unwrap() = now;
    }

    /// Signs claims as an assertion of a type.
    pub(crate) fn sign(&self, kind: &str, claims: &Value) -> String {
        let mut header = Header::new(Algorithm::EdDSA);
        (header.kid, header.typ) = (Some("one".to_owned()), Some(kind.to_owned()));
        jsonwebtoken::encode(&header, claims, &self.0.key).unwrap()
    }

    /// The forms that were posted to the token endpoint.
    pub(crate) fn requests(&self) -> Vec<Map<String, Value>> {
        self.0.requests.lock().unwrap().clone()
    }
}

async fn metadata(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let url = &shared.url;
    let userinfo = shared.userinfo.lock().unwrap().is_some().then(|| format!("{url}/userinfo"));
    Json(json!({ "issuer": url, "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"), "jwks_uri": format!("{url}/keys"),
        "userinfo_endpoint": userinfo, "authorization_response_iss_parameter_supported": true }))
}

async fn keys(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let x = BASE64_URL_SAFE_NO_PAD.encode(&shared.public);
    Json(json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": "one", "x": x }] }))
}

async fn userinfo(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(shared.userinfo.lock().unwrap().clone().unwrap_or_default())
}

async fn token(State(shared): State<Arc<Shared>>, headers: http::HeaderMap, body: String) -> Json<Value> {
    let mut form: Map<String, Value> = url::form_urlencoded::parse(body.as_bytes())
        .map(|(name, value)| (name.into_owned(), value.into_owned().into()))
        .collect();
    let authorization =
        headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    form.insert("authorization".to_owned(), authorization.into());
    shared.requests.lock().unwrap().push(form);
    let now = *shared.now.lock().unwrap();
    let mut claims = json!({ "iss": shared.url, "aud": "toolyard", "sub": "subject-1", "iat": now,
        "exp": now + 300, "email": "ada@example.com", "email_verified": true, "name": "Ada" });
    for (name, value) in shared.claims.lock().unwrap().as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    let header = shared.header.lock().unwrap().clone();
    let key = match header.alg {
        Algorithm::HS256 => EncodingKey::from_secret(&shared.public),
        _ => shared.key.clone(),
    };
    let id_token = jsonwebtoken::encode(&header, &claims, &key).unwrap();
    Json(json!({ "access_token": "at", "token_type": "Bearer", "id_token": id_token }))
}
