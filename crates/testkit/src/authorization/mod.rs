//! An authorization server and a resource that trusts it, whose every fault can be ordered.
//!
//! [`FakeAuthorization`] publishes metadata, registers clients, says yes to everybody at once (the link redirects
//! straight back) and gives tokens for codes, with PKCE checked and refresh tokens rotated. Time does not pass in it:
//! a test ends tokens by [`FakeAuthorization::end_tokens`]. [`FakeResource`] answers 401 until the right bearer comes.

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
    resource::{FakeResource, ResourceScript},
    web::{WebFault, WebRequest},
};

/// Which name the authorization server gives itself when the browser goes back.
#[derive(Debug, Clone)]
pub enum IssParameter {
    /// Its own.
    Right,
    /// None.
    Missing,
    /// Another's.
    Wrong(String),
}

/// How the authorization server behaves.
#[derive(Debug, Clone)]
pub struct AuthorizationScript {
    /// The issuer in its metadata, if that is not its URL.
    pub issuer: Option<String>,
    /// Whether the metadata lie where OpenID Connect has them, and not where RFC 8414 has them.
    pub openid: bool,
    /// What it says of PKCE.
    pub pkce: Option<Vec<String>>,
    /// Whether a URL may be a client id.
    pub cimd: bool,
    /// Whether clients can register.
    pub registers: bool,
    /// Whether clients that register get a secret.
    pub gives_secret: bool,
    /// Clients that were registered by hand, with their secrets.
    pub clients: Vec<(String, Option<String>)>,
    /// How clients prove themselves at the token endpoint.
    pub auth_methods: Vec<String>,
    /// What it says of scopes.
    pub scopes: Option<Vec<String>>,
    /// Whether it promises to name itself when the browser goes back.
    pub promises_iss: bool,
    /// What it does about that.
    pub iss: IssParameter,
    /// The error with which it says no.
    pub denies: Option<String>,
    /// What it gives whatever was asked for.
    pub gives_scope: Option<String>,
    /// Whether there are refresh tokens.
    pub refreshes: bool,
    /// What it says of the life of tokens.
    pub expires_in: Option<u64>,
    /// The error with which the token endpoint says no.
    pub refuses: Option<(u16, String)>,
    /// Fields of the metadata in the place of the right ones.
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

/// What both sides of the server look at.
pub(crate) struct AuthorizationState {
    script: AuthorizationScript,
    issued: IssuedCredentials,
}

/// An authorization server on this machine. Stops when dropped.
pub struct FakeAuthorization {
    web: WebServer,
    state: Arc<Mutex<AuthorizationState>>,
}

impl FakeAuthorization {
    /// Starts one that does everything right.
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

    /// Where it answers; its issuer.
    pub fn url(&self) -> String {
        self.web.url()
    }

    /// Changes how it behaves.
    pub fn configure(&self, change: impl FnOnce(&mut AuthorizationScript)) {
        change(&mut self.state.lock().unwrap().script);
    }

    /// Makes a path fail.
    pub fn set_fault(&self, path: &str, fault: WebFault) {
        self.web.set_fault(path, fault);
    }

    /// Lets one request through that came to [`WebFault::Wait`].
    pub fn let_through(&self) {
        self.web.let_through();
    }

    /// Ends all access tokens that were given.
    pub fn end_tokens(&self) {
        self.state.lock().unwrap().issued.access.clear();
    }

    /// Ends all refresh tokens that were given.
    pub fn end_refresh_tokens(&self) {
        self.state.lock().unwrap().issued.refresh.clear();
    }

    /// The requests to a path so far.
    pub fn requests(&self, path: &str) -> Vec<WebRequest> {
        self.web.requests(path)
    }

    /// Waits until a path was asked for so many times.
    pub async fn wait_requests(&self, path: &str, times: usize) -> Vec<WebRequest> {
        self.web.wait_requests(path, times).await
    }
}

impl AuthorizationState {
    /// The scopes of a token that is good for a resource.
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

/// Sends the browser back at once.
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
