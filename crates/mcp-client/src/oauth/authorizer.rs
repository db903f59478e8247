//! The authorization of one user at one upstream: start it, forget it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use jiff::Timestamp;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use toolyard_net::{OutsideUrl, ReferralClients};
use toolyard_protocol::{UserId, secret::SecretText};

use super::credentials::OAuthCredentials;
use super::discover::{DiscoveredServer, discover_authorization_server};
use super::error::OAuthError;
use super::link::build_link;
use super::locks::TokenLocks;
use super::pkce::{PkcePair, random_text};
use super::record::{AuthorizationRecord, OAuthClient, PendingAuthorization, add_scopes};
use super::register::choose_client;
use super::requests::StepHttpClient;
use super::settings::OAuthSettings;
use super::store::{OAuthStoreError, PendingFlow, PendingStore, TokenKey, TokenStore};

/// How long a user may take to consent.
pub(super) const CONSENT_TIME: Duration = Duration::from_secs(10 * 60);
/// Time limit for all requests of one step.
pub(super) const STEP_TIME: Duration = Duration::from_secs(30);

/// The current time, passed in for tests.
pub type OAuthClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Fills a buffer with random bytes, passed in for tests. States and PKCE verifiers are made from them.
pub type OAuthRandom = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

/// Dependencies of the authorization flows.
#[derive(Clone)]
pub struct OAuthParts {
    /// Sends all requests of the flows. Upstreams name the URLs that are requested here, so which ones are allowed
    /// depends on where the upstream itself is.
    pub http: ReferralClients,
    /// Stores tokens.
    pub tokens: Arc<dyn TokenStore>,
    /// Stores flows until the browser returns.
    pub pending: Arc<dyn PendingStore>,
    /// The current time.
    pub clock: OAuthClock,
    /// Unguessable bytes.
    pub random: OAuthRandom,
    /// Runs token requests: a caller that leaves must not lose a used refresh token.
    pub tasks: TaskTracker,
}

/// The authorizations of a process, for all users and upstreams. Clones share their state. Create only one, so that
/// concurrent callers renew a token only once.
#[derive(Clone)]
pub struct OAuth(Arc<OAuthShared>);

struct OAuthShared {
    parts: OAuthParts,
    locks: TokenLocks,
}

/// An upstream that requires authorization.
#[derive(Debug, Clone)]
pub struct OAuthUpstream {
    /// The caller's unique name for it. Part of the key under which tokens are stored.
    pub id: String,
    /// Its URL.
    pub url: OutsideUrl,
    /// How this client identifies itself there.
    pub settings: OAuthSettings,
}

/// A flow that was started.
#[derive(Clone, PartialEq, Eq)]
pub struct StartedFlow {
    /// The link that the user must open.
    pub link: String,
    /// Identifies the flow; the browser returns it.
    pub state: String,
}

/// The authorization of one user at one upstream. Cheap to create and to clone.
#[derive(Clone)]
pub struct UserAuthorizer {
    pub(super) oauth: OAuth,
    pub(super) upstream: Arc<OAuthUpstream>,
    pub(super) key: TokenKey,
}

impl OAuth {
    /// Creates the shared state.
    pub fn new(parts: OAuthParts) -> Self {
        Self(Arc::new(OAuthShared { parts, locks: TokenLocks::default() }))
    }

    /// The authorization of one user at one upstream.
    pub fn authorizer(&self, upstream: Arc<OAuthUpstream>, user: UserId) -> UserAuthorizer {
        let key = TokenKey { upstream: upstream.id.clone(), user };
        UserAuthorizer { oauth: self.clone(), upstream, key }
    }

    pub(super) fn parts(&self) -> &OAuthParts {
        &self.0.parts
    }

    pub(super) fn locks(&self) -> &TokenLocks {
        &self.0.locks
    }

    pub(super) fn now(&self) -> Timestamp {
        (self.0.parts.clock)()
    }

    /// The HTTP client for one step with the upstream at that URL.
    pub(super) fn step_client(&self, upstream: &Uri) -> StepHttpClient {
        StepHttpClient::new(self.0.parts.http.for_server(upstream).clone())
    }

    /// Loads the record for this URL. A record for another URL, or an unreadable one, counts as none.
    pub(super) async fn load_record(
        &self,
        key: &TokenKey,
        url: &str,
    ) -> Result<AuthorizationRecord, OAuthStoreError> {
        let text = self.0.parts.tokens.load(key).await?;
        let record = text.and_then(|text| match serde_json::from_str::<AuthorizationRecord>(text.expose()) {
            Ok(record) => Some(record),
            Err(_) => {
                tracing::warn!(upstream = key.upstream, "stored authorization cannot be read");
                None
            }
        });
        let record = record.filter(|record| record.url == url);
        Ok(record
            .unwrap_or_else(|| AuthorizationRecord { url: url.to_owned(), ..AuthorizationRecord::default() }))
    }

    pub(super) async fn save_record(
        &self,
        key: &TokenKey,
        record: &AuthorizationRecord,
    ) -> Result<(), OAuthStoreError> {
        self.0.parts.tokens.save(key, record_text(record)?).await
    }

    /// Replaces a record. False if it was deleted meanwhile.
    pub(super) async fn replace_record(
        &self,
        key: &TokenKey,
        record: &AuthorizationRecord,
    ) -> Result<bool, OAuthStoreError> {
        self.0.parts.tokens.replace(key, record_text(record)?).await
    }
}

fn record_text(record: &AuthorizationRecord) -> Result<SecretText, OAuthStoreError> {
    let text = serde_json::to_string(record).map_err(|error| OAuthStoreError(error.to_string()))?;
    Ok(SecretText::new(text))
}

impl UserAuthorizer {
    /// Starts a flow: finds the authorization server and returns the link for the user.
    pub async fn begin_flow(&self) -> Result<StartedFlow, OAuthError> {
        timeout(STEP_TIME, self.start_flow()).await.unwrap_or(Err(OAuthError::TimedOut(STEP_TIME)))
    }

    /// Whether the user has authorized, as far as is known here: there are tokens that can be used or renewed, and they have
    /// the scopes that the upstream asked for.
    pub async fn is_authorized(&self) -> Result<bool, OAuthError> {
        let record = self.oauth.load_record(&self.key, &self.upstream_url()).await?;
        Ok(record.is_authorized(self.oauth.now()))
    }

    /// Deletes the user's tokens. The authorization server is not notified.
    pub async fn forget_tokens(&self) -> Result<(), OAuthError> {
        let _lock = self.oauth.locks().lock(&self.key).await;
        Ok(self.oauth.parts().tokens.clear(&self.key).await?)
    }

    /// The user's bearer token for each request.
    pub fn credentials(&self) -> OAuthCredentials {
        OAuthCredentials::new(self.clone())
    }

    pub(super) fn upstream_url(&self) -> String {
        self.upstream.url.uri().to_string()
    }

    async fn start_flow(&self) -> Result<StartedFlow, OAuthError> {
        let record = self.oauth.load_record(&self.key, &self.upstream_url()).await?;
        let requests = self.oauth.step_client(self.upstream.url.uri());
        let found =
            discover_authorization_server(self.upstream.url.uri(), &requests, record.challenge.as_deref())
                .await?;
        let scopes = self.scopes_to_request(&found, &record);
        let issuer = &found.server.issuer;
        let known = record.grant.as_ref().filter(|grant| grant.issuer == *issuer).map(|grant| &grant.client);
        let settings = &self.upstream.settings;
        let client = choose_client(&found.server, &requests, settings, known, &scopes).await?;

        let random = &*self.oauth.parts().random;
        let pkce = PkcePair::generate(random);
        let state = format!("{}{}", self.upstream.settings.state_prefix, random_text(random));
        let link = build_link(&found, &client, &scopes, &state, &pkce.challenge)?;
        let pending = self.pending_authorization(&found, record, client, scopes, pkce.verifier);
        self.save_pending(&state, &pending).await?;
        Ok(StartedFlow { link, state })
    }

    /// The scopes to request: those of the operator, or else of the server, and those that were missing before.
    fn scopes_to_request(&self, found: &DiscoveredServer, record: &AuthorizationRecord) -> Vec<String> {
        let mut scopes = Vec::new();
        let configured = &self.upstream.settings.scopes;
        let first = if configured.is_empty() { &found.scopes } else { configured };
        add_scopes(&mut scopes, first.iter().cloned());
        let live = record.grant.iter().filter(|grant| grant.issuer == found.server.issuer);
        add_scopes(&mut scopes, live.flat_map(|grant| grant.scopes.iter().cloned()));
        add_scopes(&mut scopes, record.wanted.iter().cloned());
        // Some servers issue a refresh token only if this scope is requested.
        if !scopes.is_empty() && found.server.has_offline_access {
            add_scopes(&mut scopes, ["offline_access".to_owned()]);
        }
        scopes
    }

    fn pending_authorization(
        &self,
        found: &DiscoveredServer,
        record: AuthorizationRecord,
        client: OAuthClient,
        requested: Vec<String>,
        verifier: SecretText,
    ) -> PendingAuthorization {
        let now = self.oauth.now();
        PendingAuthorization {
            upstream: self.key.upstream.clone(),
            user: self.key.user.clone(),
            url: record.url,
            expires_at: now.checked_add(CONSENT_TIME).unwrap_or(now),
            challenge: record.challenge,
            client,
            issuer: found.server.issuer.clone(),
            names_issuer: found.server.names_issuer,
            requested,
            verifier,
        }
    }

    async fn save_pending(&self, state: &str, pending: &PendingAuthorization) -> Result<(), OAuthError> {
        let text = serde_json::to_string(pending).map_err(|error| OAuthStoreError(error.to_string()))?;
        let flow = PendingFlow {
            user: pending.user.clone(),
            text: SecretText::new(text),
            expires_at: pending.expires_at,
        };
        Ok(self.oauth.parts().pending.put(state, flow).await?)
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").finish_non_exhaustive()
    }
}

impl fmt::Debug for UserAuthorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserAuthorizer").field("key", &self.key).finish_non_exhaustive()
    }
}

impl fmt::Debug for StartedFlow {
    /// Hides the state: anyone who knows it can finish the flow.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartedFlow").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use toolyard_net::{ClientSettings, GuardPolicy};
    use url::Url;

    use super::super::memory::{MemoryPending, MemoryTokens};
    use super::*;

    /// Dev mode allows upstreams on this machine. What an upstream elsewhere names is requested without that
    /// permission.
    #[tokio::test]
    async fn a_remote_upstream_cannot_cause_requests_to_this_machine() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = format!("http://{}/metadata", listener.local_addr().unwrap());
        let policy = GuardPolicy { loopback: true, private: true, ..GuardPolicy::default() };
        let oauth = OAuth::new(OAuthParts {
            http: ReferralClients::new(&policy, ClientSettings::default()),
            tokens: Arc::new(MemoryTokens::default()),
            pending: Arc::new(MemoryPending::default()),
            clock: Arc::new(|| Timestamp::UNIX_EPOCH),
            random: Arc::new(|bytes| bytes.fill(7)),
            tasks: TaskTracker::new(),
        });
        let ask = async |upstream: &'static str, url: &str| {
            let requests = oauth.step_client(&Uri::from_static(upstream));
            let answer = requests.get_metadata(&Url::parse(url).unwrap()).await;
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
}
