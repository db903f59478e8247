//! Authorization for the conformance client: a user who consents at once, and a browser that shows nothing.

use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderMap, Request, header};
use jiff::Timestamp;
use rand::Rng as _;
use serde_json::Value;
use tokio_util::task::TaskTracker;
use toolyard_mcp_client::oauth::{
    MemoryPending, MemoryTokens, OAuth, OAuthCallback, OAuthCredentials, OAuthError, OAuthParts,
    OAuthSettings, OAuthUpstream, RegisteredClient, UserAuthorizer,
};
use toolyard_mcp_client::{AuthChallenge, Credentials, CredentialsError};
use toolyard_net::{HttpClient, OutsideUrl, ReferralClients};
use toolyard_protocol::{UserId, secret::SecretText};

const REDIRECT: &str = "http://localhost:3000/callback";
/// The suite knows this client by its document.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// Credentials that authorize whenever necessary. `context` is the value of `MCP_CONFORMANCE_CONTEXT`: a manually
/// registered client, for example.
pub(crate) fn credentials(
    url: &OutsideUrl,
    http: &HttpClient,
    tasks: &TaskTracker,
    user: UserId,
    context: &Value,
) -> Arc<dyn Credentials> {
    let oauth = OAuth::new(OAuthParts {
        http: ReferralClients::unrestricted(http.clone()),
        tokens: Arc::new(MemoryTokens::default()),
        pending: Arc::new(MemoryPending::default()),
        clock: Arc::new(now),
        random: Arc::new(|bytes| rand::rng().fill_bytes(bytes)),
        tasks: tasks.clone(),
    });
    let text = |name: &str| context[name].as_str().map(str::to_owned);
    let client = text("client_id").map(|id| RegisteredClient {
        id,
        secret: text("client_secret").map(SecretText::new),
        issuer: text("issuer"),
    });
    let settings = OAuthSettings {
        redirect_uri: REDIRECT.to_owned(),
        client_metadata_url: Some(CLIENT_METADATA.to_owned()),
        client_name: "toolyard".to_owned(),
        client,
        scopes: Vec::new(),
        ..OAuthSettings::default()
    };
    let upstream = OAuthUpstream { id: "conformance".to_owned(), url: url.clone(), settings };
    let authorizer = oauth.authorizer(Arc::new(upstream), user.clone());
    Arc::new(Eager { credentials: authorizer.credentials(), authorizer, oauth, http: http.clone(), user })
}

#[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else asks")]
fn now() -> Timestamp {
    Timestamp::now()
}

struct Eager {
    credentials: OAuthCredentials,
    authorizer: UserAuthorizer,
    oauth: OAuth,
    http: HttpClient,
    user: UserId,
}

impl Eager {
    async fn authorize(&self) -> Result<(), OAuthError> {
        let started = self.authorizer.begin_flow().await?;
        let request = Request::get(&started.link).body(Default::default());
        let request = request.map_err(|error| OAuthError::BadMetadata(error.to_string()))?;
        let answer = self.http.send(request).await?;
        let location = answer.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
        let query = location.and_then(|location| location.split_once('?')).map(|(_, query)| query);
        self.oauth.complete_flow(&self.user, OAuthCallback::from_query(query.unwrap_or_default())).await?;
        Ok(())
    }
}

#[async_trait]
impl Credentials for Eager {
    async fn headers(&self) -> Result<HeaderMap, CredentialsError> {
        match self.credentials.headers().await {
            Err(CredentialsError::Needed) => {
                self.authorize().await?;
                self.credentials.headers().await
            }
            headers => headers,
        }
    }

    async fn handle_challenge(&self, challenge: &AuthChallenge) -> Result<bool, CredentialsError> {
        match self.credentials.handle_challenge(challenge).await {
            Err(CredentialsError::Needed) => {
                self.authorize().await?;
                Ok(true)
            }
            answer => answer,
        }
    }
}
