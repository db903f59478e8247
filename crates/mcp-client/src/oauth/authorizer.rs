//! The authorization of one user at one upstream: begin it, forget it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use jiff::Timestamp;
use rmcp::transport::auth::{InMemoryStateStore, StateStore as _};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use toolyard_net::{OutsideUrl, ReferralClients};
use toolyard_protocol::{UserId, secret::Secret};
use url::Url;

use super::credentials::OAuthCredentials;
use super::discover::{Found, discover, unlogged, why};
use super::error::OAuthError;
use super::locks::Locks;
use super::record::{Client, Kept, Pending, add_scopes};
use super::register::register;
use super::requests::Requests;
use super::settings::OAuthSettings;
use super::store::{PendingFlow, PendingStore, StoreError, TokenKey, TokenStore};

/// How long a user may take to say yes.
pub(super) const CONSENT_TIME: Duration = Duration::from_secs(10 * 60);
/// Time for all requests of one step.
pub(super) const STEP_TIME: Duration = Duration::from_secs(30);
/// Longest link that a user is given, in bytes.
const MAX_LINK_BYTES: usize = 8 * 1024;

/// The time of day, passed in so that a test can move it.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What authorizations need from outside.
#[derive(Clone)]
pub struct OAuthParts {
    /// For all requests of the flows. Upstreams name the addresses that are called here, so what may be called depends on
    /// where the upstream itself is.
    pub http: ReferralClients,
    /// Where tokens are kept.
    pub tokens: Arc<dyn TokenStore>,
    /// Where flows wait for the browser.
    pub pending: Arc<dyn PendingStore>,
    /// The time of day.
    pub clock: Clock,
    /// Where tokens are fetched: a caller that goes away must not lose a refresh token that is used up.
    pub tasks: TaskTracker,
}

/// The authorizations of a process, for all users and upstreams. Clones are the same one; make one only, because
/// only then a token is renewed once however many ask.
#[derive(Clone)]
pub struct OAuth(Arc<Shared>);

struct Shared {
    parts: OAuthParts,
    locks: Locks,
}

/// An upstream that wants authorization.
#[derive(Debug, Clone)]
pub struct OAuthUpstream {
    /// The caller's name for it, unique. Part of the key under which tokens are kept.
    pub id: String,
    /// Where it answers.
    pub url: OutsideUrl,
    /// Who we are there.
    pub settings: OAuthSettings,
}

/// A flow that has begun.
#[derive(Clone, PartialEq, Eq)]
pub struct Started {
    /// Where the user has to go.
    pub link: String,
    /// The flow's name; the browser brings it back.
    pub state: String,
}

/// The authorization of one user at one upstream. Cheap to make and to clone.
#[derive(Clone)]
pub struct Authorizer {
    pub(super) oauth: OAuth,
    pub(super) upstream: Arc<OAuthUpstream>,
    pub(super) key: TokenKey,
}

impl OAuth {
    /// Puts the parts together.
    pub fn new(parts: OAuthParts) -> Self {
        Self(Arc::new(Shared { parts, locks: Locks::default() }))
    }

    /// One user at one upstream.
    pub fn authorizer(&self, upstream: Arc<OAuthUpstream>, user: UserId) -> Authorizer {
        let key = TokenKey { upstream: upstream.id.clone(), user };
        Authorizer { oauth: self.clone(), upstream, key }
    }

    pub(super) fn parts(&self) -> &OAuthParts {
        &self.0.parts
    }

    pub(super) fn locks(&self) -> &Locks {
        &self.0.locks
    }

    pub(super) fn now(&self) -> Timestamp {
        (self.0.parts.clock)()
    }

    /// The requests of one step with the upstream at that address.
    pub(super) fn requests(&self, upstream: &Uri) -> Arc<Requests> {
        Requests::new(self.0.parts.http.for_server(upstream).clone())
    }

    /// What is kept for that URL. A record for another URL, or one that cannot be read, is as good as none.
    pub(super) async fn load(&self, key: &TokenKey, url: &str) -> Result<Kept, StoreError> {
        let text = self.0.parts.tokens.load(key).await?;
        let kept = text.and_then(|text| match serde_json::from_str::<Kept>(text.expose()) {
            Ok(kept) => Some(kept),
            Err(_) => {
                tracing::warn!(upstream = key.upstream, "the kept authorization cannot be read");
                None
            }
        });
        let kept = kept.filter(|kept| kept.url == url);
        Ok(kept.unwrap_or_else(|| Kept { url: url.to_owned(), ..Kept::default() }))
    }

    pub(super) async fn save(&self, key: &TokenKey, kept: &Kept) -> Result<(), StoreError> {
        let text = serde_json::to_string(kept).map_err(|error| StoreError(error.to_string()))?;
        self.0.parts.tokens.save(key, Secret::new(text)).await
    }
}

impl Authorizer {
    /// Begins a flow: finds the authorization server, and what the user has to open.
    pub async fn begin(&self) -> Result<Started, OAuthError> {
        timeout(STEP_TIME, self.start()).await.unwrap_or(Err(OAuthError::TimedOut(STEP_TIME)))
    }

    /// Forgets the user's tokens. The authorization server is not told.
    pub async fn forget(&self) -> Result<(), OAuthError> {
        let _lock = self.oauth.locks().lock(&self.key).await;
        Ok(self.oauth.parts().tokens.clear(&self.key).await?)
    }

    /// The user's bearer for each request.
    pub fn credentials(&self) -> OAuthCredentials {
        OAuthCredentials::new(self.clone())
    }

    pub(super) fn url(&self) -> String {
        self.upstream.url.uri().to_string()
    }

    async fn start(&self) -> Result<Started, OAuthError> {
        let kept = self.oauth.load(&self.key, &self.url()).await?;
        let requests = self.oauth.requests(self.upstream.url.uri());
        let mut found = discover(self.upstream.url.uri(), &requests, kept.challenge.as_deref()).await?;
        let scopes = self.scopes(&found, &kept).await;
        let names: Vec<_> = scopes.iter().map(String::as_str).collect();
        let settings = &self.upstream.settings;
        let known =
            kept.grant.as_ref().filter(|grant| grant.issuer == found.issuer).map(|grant| &grant.client);
        let client = register(&mut found, &requests, settings, known, &names).await?;

        let states = InMemoryStateStore::new();
        found.manager.set_state_store(states.clone());
        let failed = |error| why(&requests, error, OAuthError::BadMetadata);
        let link = unlogged(found.manager.get_authorization_url(&names)).await.map_err(failed)?;
        let state = state_of(&link)?;
        let stored = states.load(&state).await.ok().flatten();
        let verifier = stored.ok_or_else(|| unusable("it yields no state"))?.pkce_verifier;
        let pending = self.pending(&found, kept, client, scopes, Secret::new(verifier));
        self.keep(&state, &pending).await?;
        Ok(Started { link, state })
    }

    /// What to ask for: what the operator or else the server says, and what was wanting before.
    async fn scopes(&self, found: &Found, kept: &Kept) -> Vec<String> {
        let mut scopes = Vec::new();
        if self.upstream.settings.scopes.is_empty() {
            add_scopes(&mut scopes, found.manager.select_initial_scopes(&[]).await);
        } else {
            add_scopes(&mut scopes, self.upstream.settings.scopes.iter().cloned());
        }
        let live = kept.grant.iter().filter(|grant| grant.issuer == found.issuer);
        add_scopes(&mut scopes, live.flat_map(|grant| grant.scopes.iter().cloned()));
        add_scopes(&mut scopes, kept.wanted.iter().cloned());
        let supported = found.metadata.scopes_supported.iter().flatten();
        // Some servers give a refresh token only to who asks for it by this name.
        let offline = supported.filter(|scope| *scope == "offline_access").cloned();
        if !scopes.is_empty() {
            add_scopes(&mut scopes, offline);
        }
        scopes
    }

    fn pending(
        &self,
        found: &Found,
        kept: Kept,
        client: Client,
        requested: Vec<String>,
        verifier: Secret,
    ) -> Pending {
        let now = self.oauth.now();
        Pending {
            upstream: self.key.upstream.clone(),
            user: self.key.user.clone(),
            url: kept.url,
            expires_at: now.checked_add(CONSENT_TIME).unwrap_or(now),
            challenge: kept.challenge,
            client,
            issuer: found.issuer.clone(),
            names_issuer: found.says("authorization_response_iss_parameter_supported"),
            requested,
            verifier,
        }
    }

    async fn keep(&self, state: &str, pending: &Pending) -> Result<(), OAuthError> {
        let text = serde_json::to_string(pending).map_err(|error| StoreError(error.to_string()))?;
        let flow = PendingFlow {
            user: pending.user.clone(),
            text: Secret::new(text),
            expires_at: pending.expires_at,
        };
        Ok(self.oauth.parts().pending.put(state, flow).await?)
    }
}

fn unusable(why: &str) -> OAuthError {
    OAuthError::BadMetadata(why.to_owned())
}

/// The state in a link. The last one counts: the endpoint itself may have a query.
fn state_of(link: &str) -> Result<String, OAuthError> {
    if link.len() > MAX_LINK_BYTES {
        return Err(unusable("its authorization endpoint is too long"));
    }
    let url = Url::parse(link).map_err(|_| unusable("its authorization endpoint is not a URL"))?;
    let states = url.query_pairs().filter(|(name, _)| name == "state");
    states.last().map(|(_, state)| state.into_owned()).ok_or_else(|| unusable("it yields no state"))
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").finish_non_exhaustive()
    }
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer").field("key", &self.key).finish_non_exhaustive()
    }
}

impl fmt::Debug for Started {
    /// Who knows the state can finish the flow.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rmcp::transport::auth::OAuthHttpRedirectPolicy;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use toolyard_net::{ClientSettings, GuardPolicy};

    use super::super::memory::{MemoryPending, MemoryTokens};
    use super::*;

    /// Dev mode lets upstreams be on this machine. What a server elsewhere names is called without that.
    #[tokio::test]
    async fn a_server_elsewhere_leads_nobody_to_this_machine() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = format!("http://{}/metadata", listener.local_addr().unwrap());
        let policy = GuardPolicy { loopback: true, private: true, ..GuardPolicy::default() };
        let oauth = OAuth::new(OAuthParts {
            http: ReferralClients::new(&policy, ClientSettings::default()),
            tokens: Arc::new(MemoryTokens::default()),
            pending: Arc::new(MemoryPending::default()),
            clock: Arc::new(|| Timestamp::UNIX_EPOCH),
            tasks: TaskTracker::new(),
        });
        let ask = async |upstream: &'static str, url: &str| {
            let request = http::Request::get(url).body(Vec::new()).unwrap();
            let requests = oauth.requests(&Uri::from_static(upstream));
            let answer = requests.answer(request, OAuthHttpRedirectPolicy::Follow).await;
            answer.map(|answer| answer.status().as_u16())
        };
        let in_private_network = "http://192.168.7.7/metadata";
        for (upstream, url) in [
            ("https://mcp.example/mcp", here.as_str()),
            ("https://mcp.example/mcp", in_private_network),
            ("http://8.8.8.8/mcp", in_private_network),
            ("http://10.0.0.5/mcp", here.as_str()),
        ] {
            let refused = tokio::select! {
                refused = ask(upstream, url) => refused,
                _ = listener.accept() => panic!("{upstream} led to this machine"),
            };
            assert!(matches!(refused, Err(OAuthError::Refused(_))), "{upstream} {url}: {refused:?}");
        }
        let serve = async {
            let mut stream = listener.accept().await.unwrap().0;
            assert_ne!(stream.read(&mut [0; 4096]).await.unwrap(), 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        };
        let (answer, ()) = tokio::join!(ask("http://127.0.0.1:9/mcp", &here), serve);
        assert_eq!(answer, Ok(200));
    }

    #[test]
    fn the_state_is_the_last_of_that_name() {
        assert_eq!(state_of("https://as.example/a?state=theirs&x=1&state=ours"), Ok("ours".to_owned()));
        assert!(state_of("https://as.example/a").is_err());
        assert!(state_of(&format!("https://as.example/a?state={}", "a".repeat(MAX_LINK_BYTES))).is_err());
    }
}
