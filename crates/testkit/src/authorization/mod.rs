//! An authorization server and a protected resource, with configurable faults.
//!
//! [`FakeAuthorization`] publishes metadata, registers clients, approves every user at once (the link redirects
//! straight back) and issues tokens for codes, with PKCE checked and refresh tokens rotated. It has no clock:
//! a test expires tokens with [`FakeAuthorization::end_tokens`]. [`FakeResource`] responds 401 until the right bearer is sent.
//! [`GuardedUpstream`] is an MCP server behind both.

mod guarded;
mod issue;
mod resource;
mod web;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use issue::IssuedCredentials;
use serde_json::{Value, json};
use web::{WebReply, WebServer, redirect_reply};
pub use {
    guarded::{GuardedUpstream, sign_in_at_upstream},
    resource::{FakeResource, ResourceScript},
    web::{WebFault, WebRequest},
};

/// The `iss` parameter in the redirect back to the client.
#[derive(Debug, Clone)]
pub enum IssParameter {
    /// Its own issuer.
    Right,
    /// None.
    Missing,
    /// Another issuer.
    Wrong(String),
}

/// The behavior of the authorization server.
#[derive(Debug, Clone)]
pub struct AuthorizationScript {
    /// The issuer in its metadata, if it differs from its URL.
    pub issuer: Option<String>,
    /// Whether the metadata are at the path of OpenID Connect instead of RFC 8414.
    pub openid: bool,
    /// The PKCE methods in its metadata.
    pub pkce: Option<Vec<String>>,
    /// Whether a URL may be a client id.
    pub cimd: bool,
    /// Whether clients can register.
    pub registers: bool,
    /// Whether registered clients get a secret.
    pub gives_secret: bool,
    /// Pre-registered clients, with their secrets.
    pub clients: Vec<(String, Option<String>)>,
    /// How clients authenticate at the token endpoint.
    pub auth_methods: Vec<String>,
    /// The scopes in its metadata.
    pub scopes: Option<Vec<String>>,
    /// Whether its metadata promise an `iss` parameter.
    pub promises_iss: bool,
    /// The `iss` parameter that it sends.
    pub iss: IssParameter,
    /// The error to deny authorization with.
    pub denies: Option<String>,
    /// The scope to grant, whatever was requested.
    pub gives_scope: Option<String>,
    /// Whether it issues refresh tokens.
    pub refreshes: bool,
    /// The lifetime of tokens that it reports.
    pub expires_in: Option<u64>,
    /// The error of the token endpoint.
    pub refuses: Option<(u16, String)>,
    /// Metadata fields to override.
    pub metadata: Value,
}

impl Default for AuthorizationScript {
    fn default() -> Self {
        Self {
            issuer: None,
            openid: false,
            pkce: Some(vec!["S256".to_owned()]),
            cimd: false,
            registers: true,
            gives_secret: false,
            clients: Vec::new(),
            auth_methods: vec!["none".to_owned()],
            scopes: None,
            promises_iss: true,
            iss: IssParameter::Right,
            denies: None,
            gives_scope: None,
            refreshes: true,
            expires_in: Some(3600),
            refuses: None,
            metadata: json!({}),
        }
    }
}

/// The state shared by both fakes.
pub(crate) struct AuthorizationState {
    script: AuthorizationScript,
    issued: IssuedCredentials,
}

/// A local authorization server. Stops when dropped.
pub struct FakeAuthorization {
    web: WebServer,
    state: Arc<Mutex<AuthorizationState>>,
}

impl FakeAuthorization {
    /// Starts one without faults.
    pub async fn start() -> Self {
        let state = AuthorizationState {
            script: AuthorizationScript::default(),
            issued: IssuedCredentials::default(),
        };
        let state = Arc::new(Mutex::new(state));
        let working = state.clone();
        let web = WebServer::start(move |url| {
            let url = url.to_owned();
            Arc::new(move |request| handle_request(&url, &mut working.lock().unwrap(), request))
        });
        Self { web: web.await, state }
    }

    /// Its URL, which is its issuer.
    pub fn url(&self) -> String {
        self.web.url()
    }

    /// Changes its behavior.
    pub fn configure(&self, change: impl FnOnce(&mut AuthorizationScript)) {
        change(&mut self.state.lock().unwrap().script);
    }

    /// Makes a path fail.
    pub fn set_fault(&self, path: &str, fault: WebFault) {
        self.web.set_fault(path, fault);
    }

    /// Releases one request that waits at [`WebFault::Wait`].
    pub fn let_through(&self) {
        self.web.let_through();
    }

    /// Invalidates all issued access tokens.
    pub fn end_tokens(&self) {
        self.state.lock().unwrap().issued.access.clear();
    }

    /// Invalidates all issued refresh tokens.
    pub fn end_refresh_tokens(&self) {
        self.state.lock().unwrap().issued.refresh.clear();
    }

    /// The requests to a path so far.
    pub fn requests(&self, path: &str) -> Vec<WebRequest> {
        self.web.requests(path)
    }

    /// Waits for this many requests to a path.
    pub async fn wait_requests(&self, path: &str, times: usize) -> Vec<WebRequest> {
        self.web.wait_requests(path, times).await
    }
}

impl AuthorizationState {
    /// The scopes of a token that is valid for a resource.
    fn scopes_of(&self, token: &str, resource: &str) -> Option<BTreeSet<String>> {
        let grant = self.issued.access.get(token).filter(|grant| grant.resource == resource)?;
        Some(grant.scope.split_whitespace().map(str::to_owned).collect())
    }
}

fn handle_request(url: &str, state: &mut AuthorizationState, request: &WebRequest) -> WebReply {
    let metadata = if state.script.openid { "openid-configuration" } else { "oauth-authorization-server" };
    match request.path.as_str() {
        path if path.strip_prefix("/.well-known/") == Some(metadata) => {
            web::json_reply(200, &metadata_of(url, &state.script))
        }
        "/register" if state.script.registers => issue::register_client(state, request),
        "/authorize" => handle_authorize(url, state, request),
        "/token" => issue::handle_token(state, request),
        _ => web::text_reply(404, String::new()),
    }
}

fn metadata_of(url: &str, script: &AuthorizationScript) -> Value {
    let mut metadata = json!({
        "issuer": script.issuer.clone().unwrap_or_else(|| url.to_owned()),
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": script.auth_methods,
        "client_id_metadata_document_supported": script.cimd,
    });
    let mut set = |name: &str, value: Value| metadata[name] = value;
    if script.registers {
        set("registration_endpoint", json!(format!("{url}/register")));
    }
    if script.promises_iss {
        set("authorization_response_iss_parameter_supported", json!(true));
    }
    if let Some(methods) = &script.pkce {
        set("code_challenge_methods_supported", json!(methods));
    }
    if let Some(scopes) = &script.scopes {
        set("scopes_supported", json!(scopes));
    }
    for (name, value) in script.metadata.as_object().into_iter().flatten() {
        set(name, value.clone());
    }
    metadata
}

/// Redirects the browser back at once.
fn handle_authorize(url: &str, state: &mut AuthorizationState, request: &WebRequest) -> WebReply {
    let outcome = match &state.script.denies {
        Some(error) => ("error", error.clone()),
        None => match issue::issue_code(state, &request.query) {
            Ok(code) => ("code", code),
            Err(why) => return web::text_reply(400, why),
        },
    };
    let iss = match &state.script.iss {
        IssParameter::Right => Some(url.to_owned()),
        IssParameter::Missing => None,
        IssParameter::Wrong(other) => Some(other.clone()),
    };
    let mut back = url::Url::parse(&request.query["redirect_uri"]).unwrap();
    back.query_pairs_mut().append_pair(outcome.0, &outcome.1).append_pair("state", &request.query["state"]);
    if let Some(iss) = iss {
        back.query_pairs_mut().append_pair("iss", &iss);
    }
    redirect_reply(302, back.as_str())
}
