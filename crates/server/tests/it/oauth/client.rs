//! An OAuth client, and the browser of its user.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::{Url, form_urlencoded::Serializer};

use crate::platform::{Answer, Person, Platform};

pub(crate) const CALLBACK: &str = "https://claude.example/api/mcp/auth_callback";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// A client that registered itself.
pub(crate) struct Client<'a> {
    pub(crate) platform: &'a Platform,
    pub(crate) id: String,
    pub(crate) redirect_uri: String,
}

/// The tokens of a client.
#[derive(Debug, Clone)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: String,
    pub(crate) body: Value,
}

pub(crate) fn form(pairs: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The query of a URL.
pub(crate) fn query(url: &str, name: &str) -> Option<String> {
    Url::parse(url)
        .unwrap()
        .query_pairs()
        .find(|(found, _)| found == name)
        .map(|(_, value)| value.into_owned())
}

pub(crate) async fn post_form(p: &Platform, path: &str, pairs: &[(&str, &str)]) -> Answer {
    let browser = p.nobody().header("content-type", "application/x-www-form-urlencoded");
    browser.send(Method::POST, path, Some(form(pairs))).await
}

impl<'a> Client<'a> {
    pub(crate) async fn register(platform: &'a Platform) -> Self {
        let body = json!({ "client_name": "Claude", "redirect_uris": [CALLBACK] });
        let registered = platform.nobody().post("/oauth/register", &body).await.expect(201).json();
        let id = registered["client_id"].as_str().unwrap().to_owned();
        Self { platform, id, redirect_uri: CALLBACK.to_owned() }
    }

    /// A client whose id is the URL of its metadata.
    pub(crate) fn with_id(platform: &'a Platform, id: &str, redirect_uri: &str) -> Self {
        Self { platform, id: id.to_owned(), redirect_uri: redirect_uri.to_owned() }
    }

    /// The parameters of a correct authorization request.
    pub(crate) fn parameters(&self, scope: &str) -> Vec<(&'static str, String)> {
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
        vec![
            ("response_type", "code".to_owned()),
            ("client_id", self.id.clone()),
            ("redirect_uri", self.redirect_uri.clone()),
            ("code_challenge", challenge),
            ("code_challenge_method", "S256".to_owned()),
            ("state", "the state".to_owned()),
            ("scope", scope.to_owned()),
            ("resource", format!("{}/mcp", self.platform.state.base_url())),
        ]
    }

    /// Opens the authorization endpoint.
    pub(crate) async fn authorize(&self, parameters: &[(&'static str, String)]) -> Answer {
        let pairs: Vec<_> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.platform.nobody().get(&format!("/oauth/authorize?{}", form(&pairs))).await
    }

    /// The request as the consent page gets it.
    pub(crate) async fn request(&self, scope: &str) -> String {
        let answer = self.authorize(&self.parameters(scope)).await.expect(302);
        let location = answer.header("location").to_owned();
        assert!(
            location.starts_with(&format!("{}/console/authorize?", self.platform.state.base_url())),
            "{location}"
        );
        query(&location, "request").unwrap()
    }

    /// The user agrees. Returns the code.
    pub(crate) async fn consent(&self, user: &Person<'_>, scope: &str, more: Value) -> String {
        let mut body = json!({ "request": self.request(scope).await, "approve": true });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let outcome = user.post("/api/oauth/consent", &body).await.expect(200).json();
        let location = outcome["redirect"].as_str().unwrap();
        assert!(location.starts_with(&self.redirect_uri), "{location}");
        assert_eq!(query(location, "iss").unwrap(), self.platform.state.base_url());
        assert_eq!(query(location, "state").unwrap(), "the state");
        query(location, "code").unwrap()
    }

    pub(crate) fn redemption<'b>(&'b self, code: &'b str) -> Vec<(&'b str, &'b str)> {
        vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect_uri),
            ("client_id", &self.id),
            ("code_verifier", VERIFIER),
        ]
    }

    pub(crate) async fn redeem(&self, code: &str) -> Answer {
        post_form(self.platform, "/oauth/token", &self.redemption(code)).await
    }

    pub(crate) async fn refresh(&self, token: &str) -> Answer {
        let pairs = [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", &self.id)];
        post_form(self.platform, "/oauth/token", &pairs).await
    }

    /// The whole flow.
    pub(crate) async fn connect(&self, user: &Person<'_>, scope: &str, more: Value) -> Tokens {
        let code = self.consent(user, scope, more).await;
        tokens(self.redeem(&code).await)
    }
}

pub(crate) fn tokens(answer: Answer) -> Tokens {
    let answer = answer.expect(200);
    assert_eq!(answer.header("cache-control"), "no-store");
    let body = answer.json();
    let text = |name: &str| body[name].as_str().unwrap().to_owned();
    Tokens { access: text("access_token"), refresh: text("refresh_token"), body: body.clone() }
}
