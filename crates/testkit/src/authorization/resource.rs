//! A protected resource: every path responds 401 until the right bearer is sent.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use serde_json::json;

use super::{
    AuthorizationState, FakeAuthorization,
    web::{self, WebFault, WebReply, WebRequest, WebServer},
};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The behavior of the resource.
#[derive(Debug, Clone)]
pub struct ResourceScript {
    /// Its resource identifier, if it differs from its URL.
    pub resource: Option<String>,
    /// The authorization servers that it trusts.
    pub servers: Vec<String>,
    /// The scopes in its metadata.
    pub scopes: Vec<String>,
    /// The paths of its metadata.
    pub metadata_paths: Vec<String>,
    /// The metadata URL in its challenge.
    pub challenge_metadata: Option<String>,
    /// The scope in its challenge.
    pub challenge_scope: Option<String>,
    /// The scope that a token needs.
    pub needs: Option<String>,
}

/// A local resource. Stops when dropped.
pub struct FakeResource {
    web: WebServer,
    script: Arc<Mutex<ResourceScript>>,
}

impl FakeResource {
    /// Starts a resource that trusts that server, with metadata at both well-known paths.
    pub async fn start(authorization: &FakeAuthorization) -> Self {
        let script = Arc::new(Mutex::new(ResourceScript {
            resource: None,
            servers: vec![authorization.url()],
            scopes: Vec::new(),
            metadata_paths: vec![format!("{WELL_KNOWN}/mcp"), WELL_KNOWN.to_owned()],
            challenge_metadata: None,
            challenge_scope: None,
            needs: None,
        }));
        let (working, state) = (script.clone(), authorization.state.clone());
        let web = WebServer::start(move |url| {
            let url = url.to_owned();
            working.lock().unwrap().challenge_metadata = Some(format!("{url}{WELL_KNOWN}/mcp"));
            Arc::new(move |request| {
                handle_resource_request(&url, &working.lock().unwrap(), &state.lock().unwrap(), request)
            })
        });
        Self { web: web.await, script }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.web.url())
    }

    /// Changes its behavior.
    pub fn configure(&self, change: impl FnOnce(&mut ResourceScript)) {
        change(&mut self.script.lock().unwrap());
    }

    /// Makes a path fail.
    pub fn set_fault(&self, path: &str, fault: WebFault) {
        self.web.set_fault(path, fault);
    }

    /// Releases one request that waits at [`WebFault::Wait`].
    pub fn let_through(&self) {
        self.web.let_through();
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

fn handle_resource_request(
    url: &str,
    script: &ResourceScript,
    state: &AuthorizationState,
    request: &WebRequest,
) -> WebReply {
    let resource = script.resource.clone().unwrap_or_else(|| format!("{url}/mcp"));
    if script.metadata_paths.contains(&request.path) {
        let mut metadata = json!({ "resource": resource, "authorization_servers": script.servers });
        if !script.scopes.is_empty() {
            metadata["scopes_supported"] = json!(script.scopes);
        }
        return web::json_reply(200, &metadata);
    }
    if request.path != "/mcp" {
        return web::text_reply(404, String::new());
    }
    let header = request.headers.get("authorization").and_then(|value| value.to_str().ok());
    let scopes = header.and_then(|value| value.strip_prefix("Bearer "));
    match scopes.and_then(|token| state.scopes_of(token, &resource)) {
        None => challenge_reply(401, script, script.challenge_scope.as_deref(), None),
        Some(scopes) if lacks_scope(script, &scopes) => {
            challenge_reply(403, script, script.needs.as_deref(), Some("insufficient_scope"))
        }
        Some(_) => web::json_reply(200, &json!({ "hello": "friend" })),
    }
}

fn lacks_scope(script: &ResourceScript, scopes: &BTreeSet<String>) -> bool {
    script.needs.as_ref().is_some_and(|needed| !scopes.contains(needed))
}

fn challenge_reply(
    status: u16,
    script: &ResourceScript,
    scope: Option<&str>,
    error: Option<&str>,
) -> WebReply {
    let named =
        [("resource_metadata", script.challenge_metadata.as_deref()), ("scope", scope), ("error", error)];
    let named = named.iter().filter_map(|(name, value)| value.map(|value| format!("{name}=\"{value}\"")));
    let mut reply = web::text_reply(status, String::new());
    let header = format!("Bearer {}", named.collect::<Vec<_>>().join(", "));
    reply.headers_mut().insert("www-authenticate", header.parse().unwrap());
    reply
}
