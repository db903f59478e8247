//! Upstreams that authorize each user: the user consents once in a browser, and the tokens are stored sealed.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use jiff::SignedDuration;
use toolyard_core::{
    CallContext, ToolError,
    catalog::AppHead,
    expiring_shelf::{ExpiringShelf, ShelfLimits, ShelfOverflow},
    ports::{Change, Clock, SecretSealer, StoreError as CoreStoreError, UpstreamRecord, UpstreamTokenStore},
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
    upstream::{UpstreamAuth, UpstreamDetails},
};

use super::{UpstreamParts, UpstreamSource, connections::UpstreamConnectError, errors, spec};

/// How long the same link is returned before a new flow is started.
const LINK_S: i64 = 5 * 60;
/// Pending flows; if there are more, the oldest is dropped.
const MAX_FLOWS: usize = 10_000;

/// Where the browser returns to, and how this server identifies itself.
#[derive(Debug, Clone)]
pub struct OAuthSetup {
    /// `https://tools.example.com/oauth/callback`
    pub redirect_uri: String,
    /// URL of our client metadata, if the server is reachable over https.
    pub client_metadata_url: Option<String>,
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
        let settings =
            OAuthSettings { client, scopes: details.scopes.clone(), ..self.setup.oauth_settings() };
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
        let bad = |error: spec::BadSpec| AuthorizeError::Spec(error.to_string());
        let details =
            spec::resolve_details(record, &*self.parts.secrets, &self.parts.environment).map_err(bad)?;
        let url = OutsideUrl::parse(details.url.as_deref().unwrap_or_default(), &self.parts.guard)
            .map_err(|error| AuthorizeError::Spec(error.to_string()))?;
        let started = tokens.user_authorizer(package, &details, &url, user).begin_flow().await?;
        let started = StartedAuthorization { link: started.link, state: started.state };
        tokens.remember_flow(package, user, &started);
        Ok(started)
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
        let change = Change::AuthorizationChanged { user: user.clone(), package: package.clone() };
        stores.announcements.announce(change).await;
        if let Some(record) = stores.apps.find_app(&package).await?.and_then(|app| app.upstream().cloned()) {
            self.health_mut(&package, |health| health.record_success());
            self.read_user_lists(&package, &record, user).await;
            stores.announcements.notify(&Change::ViewChanged(user.clone()));
        }
        Ok(package)
    }

    /// Closes the connections of this user, so that the next call uses the current authorization.
    pub(super) fn forget_connections(&self, package: &PackageName, user: &UserId) {
        self.tokens.links.take(&(package.clone(), user.clone()), self.parts.clock.now());
        self.watched.forget(package, Some(user));
        self.connections.forget_package(package, Some(user));
    }

    /// The error for a user who must authorize first, with a link if one can be created.
    pub(super) async fn authorization_error(&self, cx: &CallContext, app: &AppHead) -> ToolError {
        let error = errors::authorization_needed_error(app.package());
        let Some(record) = app.record.upstream() else { return error };
        match self.begin_authorization(app.package(), record, &cx.user).await {
            Ok(started) => {
                let text = format!("{} Open this link to authorize: {}", error.for_model, started.link);
                ToolError { for_model: text, ..error }
            }
            // Only the operator can authorize here.
            Err(AuthorizeError::NotWanted) => errors::credentials_refused_error(app.package()),
            Err(why) => error.with_cause(why),
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
