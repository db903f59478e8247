//! Upstreams that authorize each user: the user consents once in a browser, and the tokens are stored sealed.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use jiff::SignedDuration;
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::Instant,
};
use toolyard_core::{
    ToolError,
    catalog::AppHead,
    executor::AwaitedSignIn,
    expiring_shelf::{ExpiringShelf, ShelfLimits, ShelfOverflow},
    ports::{
        Change, Clock, HomeMarks, SecretSealer, StoreError as CoreStoreError, UpstreamRecord,
        UpstreamTokenStore,
    },
};
use toolyard_mcp_client::{
    Credentials,
    oauth::{
        MAX_FLOWS_OF_USER, MemoryPending, OAuth, OAuthCallback, OAuthError, OAuthParts, OAuthSettings,
        OAuthStoreError, OAuthUpstream, RegisteredClient, TokenKey, TokenStore, UserAuthorizer,
    },
};
use toolyard_net::OutsideUrl;
use toolyard_protocol::{
    PackageName, UserId,
    secret::SecretText,
    upstream::{UpstreamAuth, UpstreamDetails, upstream_id},
};

use super::{UpstreamParts, UpstreamSource, connections::UpstreamConnectError, errors, origin, spec};

/// How long the same link is returned before a new flow is started.
const LINK_S: i64 = 5 * 60;
/// Pending flows; if there are more, the oldest is dropped.
const MAX_FLOWS: usize = 10_000;
/// How many changes a waiting call may lag behind before it looks for itself.
const CHANGE_DEPTH: usize = 64;

/// Where the browser returns to, and how this server identifies itself.
#[derive(Debug, Clone)]
pub struct OAuthSetup {
    /// `https://tools.example.com/oauth/callback`
    pub redirect_uri: String,
    /// URL of our client metadata, if the server is reachable over https.
    pub client_metadata_url: Option<String>,
    /// The console's pages about upstreams: `https://tools.example.com/console/upstreams`.
    pub upstream_pages: String,
    /// Marks the state of a flow with its user, so that the browser may return to any node.
    pub marks: HomeMarks,
}

impl OAuthSetup {
    /// The document that authorization servers read at `client_metadata_url`.
    pub fn client_metadata(&self) -> serde_json::Value {
        self.oauth_settings().client_metadata()
    }

    fn oauth_settings(&self) -> OAuthSettings {
        OAuthSettings {
            redirect_uri: self.redirect_uri.clone(),
            client_metadata_url: self.client_metadata_url.clone(),
            client_name: "Toolyard".to_owned(),
            ..OAuthSettings::default()
        }
    }
}

/// Why an authorization failed.
#[derive(Debug, thiserror::Error)]
pub enum AuthorizeError {
    /// This upstream does not authorize users.
    #[error("this upstream does not require authorization by its users")]
    NotWanted,
    /// The upstream's configuration is unusable.
    #[error("the upstream is not configured correctly: {0}")]
    Spec(String),
    /// The flow failed.
    #[error(transparent)]
    Flow(#[from] OAuthError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] CoreStoreError),
}

/// A flow that was started.
#[derive(Clone)]
pub struct StartedAuthorization {
    /// The link that the user must open.
    pub link: String,
    /// Identifies the flow; the browser returns it.
    pub state: String,
}

impl fmt::Debug for StartedAuthorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StartedAuthorization(…)")
    }
}

/// The tokens of all users at all upstreams.
pub(super) struct UserTokens {
    oauth: OAuth,
    setup: OAuthSetup,
    clock: Arc<dyn Clock>,
    /// Pending flows: user and package.
    flows: ExpiringShelf<String, (UserId, PackageName)>,
    /// Links that were issued recently.
    links: ExpiringShelf<(PackageName, UserId), StartedAuthorization>,
    /// Whose authorization changed, and at which upstream. Waiting calls listen.
    changed: broadcast::Sender<(PackageName, UserId)>,
}

impl UserTokens {
    pub(super) fn new(parts: &UpstreamParts) -> Self {
        let (clock, ids) = (parts.clock.clone(), parts.ids.clone());
        let oauth = OAuth::new(OAuthParts {
            http: parts.referrals.clone(),
            tokens: Arc::new(SealedTokenStore {
                tokens: parts.stores.upstream_tokens.clone(),
                secrets: parts.secrets.clone(),
            }),
            pending: Arc::new(MemoryPending::default()),
            clock: Arc::new(move || clock.now()),
            random: Arc::new(move |bytes| ids.fill_random(bytes)),
            tasks: parts.tasks.clone(),
        });
        // The limit of a user is that of the OAuth flows themselves: the link of a dropped flow leads nowhere.
        let limits = |seconds| ShelfLimits {
            lifetime: SignedDuration::from_secs(seconds),
            user_size: MAX_FLOWS_OF_USER,
            total_size: MAX_FLOWS,
            overflow: ShelfOverflow::EvictOldest,
        };
        Self {
            oauth,
            setup: parts.oauth.clone(),
            clock: parts.clock.clone(),
            flows: ExpiringShelf::new(limits(2 * LINK_S)),
            links: ExpiringShelf::new(limits(LINK_S)),
            changed: broadcast::channel(CHANGE_DEPTH).0,
        }
    }

    /// The user's credentials at an upstream.
    pub(super) fn user_credentials(
        &self,
        package: &PackageName,
        details: &UpstreamDetails,
        url: &OutsideUrl,
        user: &UserId,
    ) -> Arc<dyn Credentials> {
        Arc::new(self.user_authorizer(package, details, url, user).credentials())
    }

    fn user_authorizer(
        &self,
        package: &PackageName,
        details: &UpstreamDetails,
        url: &OutsideUrl,
        user: &UserId,
    ) -> UserAuthorizer {
        let client = details.client_id.clone().map(|id| RegisteredClient {
            id,
            secret: details.client_secret.clone().map(SecretText::new),
            issuer: details.issuer.clone(),
        });
        let settings = OAuthSettings {
            client,
            scopes: details.scopes.clone(),
            state_prefix: self.setup.marks.mark_text(user, String::new()),
            ..self.setup.oauth_settings()
        };
        let upstream = OAuthUpstream { id: package.as_str().to_owned(), url: url.clone(), settings };
        self.oauth.authorizer(Arc::new(upstream), user.clone())
    }

    fn remember_flow(&self, package: &PackageName, user: &UserId, started: &StartedAuthorization) {
        let now = self.clock.now();
        let (flow, key) = ((user.clone(), package.clone()), (package.clone(), user.clone()));
        // Neither is refused: the oldest make room.
        _ = self.flows.insert(user, started.state.clone(), flow, 1, now);
        _ = self.links.insert(user, key, started.clone(), 1, now);
    }

    /// Links that were issued for a package belong to its old configuration.
    pub(super) fn forget_links(&self, package: &PackageName) {
        self.links.remove_where(|(of, _)| of == package);
    }

    fn recent_link(&self, package: &PackageName, user: &UserId) -> Option<StartedAuthorization> {
        self.links.get(&(package.clone(), user.clone()), self.clock.now())
    }
}

impl UpstreamSource {
    /// Starts an authorization and returns the link for the user. Returns the same link for a few minutes.
    pub async fn begin_authorization(
        &self,
        package: &PackageName,
        record: &UpstreamRecord,
        user: &UserId,
    ) -> Result<StartedAuthorization, AuthorizeError> {
        if record.details.auth != UpstreamAuth::OAuth {
            return Err(AuthorizeError::NotWanted);
        }
        let tokens = &self.tokens;
        if let Some(recent) = tokens.recent_link(package, user) {
            return Ok(recent);
        }
        let started = self.record_authorizer(package, record, user)?.begin_flow().await?;
        let started = StartedAuthorization { link: started.link, state: started.state };
        tokens.remember_flow(package, user, &started);
        Ok(started)
    }

    /// The user's authorizer at the upstream of a record.
    fn record_authorizer(
        &self,
        package: &PackageName,
        record: &UpstreamRecord,
        user: &UserId,
    ) -> Result<UserAuthorizer, AuthorizeError> {
        let bad = |error: spec::BadSpec| AuthorizeError::Spec(error.to_string());
        let details =
            spec::resolve_details(record, &*self.parts.secrets, &self.parts.environment).map_err(bad)?;
        let url = OutsideUrl::parse(details.url.as_deref().unwrap_or_default(), &self.parts.guard)
            .map_err(|error| AuthorizeError::Spec(error.to_string()))?;
        Ok(self.tokens.user_authorizer(package, &details, &url, user))
    }

    /// Waits until the user has authorized, at most until `deadline`. Returns whether they have.
    pub async fn wait_for_authorization(
        &self,
        package: &PackageName,
        user: &UserId,
        deadline: Instant,
    ) -> Result<bool, AuthorizeError> {
        let mut changes = self.tokens.changed.subscribe();
        loop {
            if self.is_authorized(package, user).await? {
                return Ok(true);
            }
            loop {
                tokio::select! {
                    // First, so that many changes of others cannot delay it.
                    biased;
                    () = tokio::time::sleep_until(deadline) => return Ok(false),
                    change = changes.recv() => match change {
                        Ok((of, by)) if of != *package || by != *user => {}
                        Ok(_) | Err(RecvError::Lagged(_)) => break,
                        Err(RecvError::Closed) => return Ok(false),
                    },
                }
            }
        }
    }

    async fn is_authorized(&self, package: &PackageName, user: &UserId) -> Result<bool, AuthorizeError> {
        let app = self.parts.stores.apps.find_app(package).await?;
        let record = app.as_ref().and_then(|app| app.upstream()).ok_or(AuthorizeError::NotWanted)?;
        if record.details.auth != UpstreamAuth::OAuth {
            return Err(AuthorizeError::NotWanted);
        }
        Ok(self.record_authorizer(package, record, user)?.is_authorized().await?)
    }

    /// User and package of a flow.
    pub fn find_flow(&self, state: &str) -> Option<(UserId, PackageName)> {
        self.tokens.flows.get(state, self.parts.clock.now())
    }

    /// The browser returned: redeems the code, stores the tokens, and reads the upstream's lists for the user.
    pub async fn complete_authorization(
        self: &Arc<Self>,
        user: &UserId,
        callback: OAuthCallback,
    ) -> Result<PackageName, AuthorizeError> {
        let state = callback.state.clone().unwrap_or_default();
        let key = self.tokens.oauth.complete_flow(user, callback).await?;
        self.tokens.flows.take(&state, self.parts.clock.now());
        let package: PackageName =
            key.upstream.parse().map_err(|_| AuthorizeError::Spec("it was removed".to_owned()))?;
        let stores = &self.parts.stores;
        // Before waiting calls are told: they run at once.
        self.health_mut(&package, |health| health.record_success());
        let change = Change::AuthorizationChanged { user: user.clone(), package: package.clone() };
        stores.announcements.announce(change).await;
        if let Some(record) = stores.apps.find_app(&package).await?.and_then(|app| app.upstream().cloned()) {
            self.read_user_lists(&package, &record, user).await;
            stores.announcements.notify(&Change::ViewChanged(user.clone()));
        }
        Ok(package)
    }

    /// Closes the connections of this user, so that the next call uses the current authorization, and wakes calls that wait
    /// for it.
    pub(super) fn follow_authorization(&self, package: &PackageName, user: &UserId) {
        self.tokens.links.take(&(package.clone(), user.clone()), self.parts.clock.now());
        self.watched.forget(package, Some(user));
        self.connections.forget_package(package, Some(user));
        // Nobody may be waiting.
        _ = self.tokens.changed.send((package.clone(), user.clone()));
    }

    /// The error for a user who must authorize first. It names the page for that; a flow is started only there.
    pub(super) fn authorization_error(&self, app: &AppHead) -> ToolError {
        let package = app.package();
        match app.record.upstream() {
            Some(record) if record.details.auth == UpstreamAuth::OAuth => {
                let name = origin::display_name(app).unwrap_or_else(|| package.to_string());
                let url = format!("{}/{}/sign-in", self.parts.oauth.upstream_pages, upstream_id(package));
                AwaitedSignIn { package: package.clone(), name, url }.into_error()
            }
            // Only the operator can authorize here.
            Some(_) => errors::credentials_refused_error(package),
            None => errors::not_an_upstream_error(package),
        }
    }
}

/// Whether the user must authorize first.
pub(super) fn is_authorization_needed(error: &UpstreamConnectError) -> bool {
    use toolyard_mcp_client::McpClientError;
    matches!(error, UpstreamConnectError::Client(McpClientError::AuthorizationNeeded { .. }))
}

/// The token store, sealed.
struct SealedTokenStore {
    tokens: Arc<dyn UpstreamTokenStore>,
    secrets: Arc<dyn SecretSealer>,
}

fn store_error(error: impl fmt::Display) -> OAuthStoreError {
    OAuthStoreError(error.to_string())
}

fn package_of(key: &TokenKey) -> Result<PackageName, OAuthStoreError> {
    key.upstream.parse().map_err(store_error)
}

#[async_trait]
impl TokenStore for SealedTokenStore {
    async fn load(&self, key: &TokenKey) -> Result<Option<SecretText>, OAuthStoreError> {
        let sealed = self.tokens.find_token(&package_of(key)?, &key.user).await.map_err(store_error)?;
        sealed
            .map(|sealed| self.secrets.unseal(&sealed).map(SecretText::new).map_err(store_error))
            .transpose()
    }

    async fn save(&self, key: &TokenKey, text: SecretText) -> Result<(), OAuthStoreError> {
        let sealed = self.secrets.seal(text.expose()).map_err(store_error)?;
        let kept =
            self.tokens.set_token(&package_of(key)?, &key.user, Some(sealed)).await.map_err(store_error)?;
        if kept { Ok(()) } else { Err(store_error("the upstream no longer exists")) }
    }

    async fn replace(&self, key: &TokenKey, text: SecretText) -> Result<bool, OAuthStoreError> {
        let sealed = self.secrets.seal(text.expose()).map_err(store_error)?;
        self.tokens.replace_token(&package_of(key)?, &key.user, sealed).await.map_err(store_error)
    }

    async fn clear(&self, key: &TokenKey) -> Result<(), OAuthStoreError> {
        self.tokens.set_token(&package_of(key)?, &key.user, None).await.map(drop).map_err(store_error)
    }
}
