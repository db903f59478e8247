//! A bearer token for each request: read from the store, renewed before it expires or when the server rejects it.
//! Reports when the user must authorize.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use parking_lot::Mutex;
use tokio::time::timeout;
use toolyard_protocol::secret::SecretText;
use url::Url;

use super::authorizer::{STEP_TIME, UserAuthorizer};
use super::challenge::{ParsedChallenge, parse_challenge};
use super::error::OAuthError;
use super::record::{AuthorizationRecord, OAuthGrant, add_scopes, is_recent};
use super::refresh::{RenewalOutcome, refresh_grant};
use super::store::OAuthStoreError;
use crate::{AuthChallenge, Credentials, CredentialsError};

/// The bearer token of one user at one upstream.
///
/// Without a token the request is sent without credentials: the server's challenge says where to authorize and for
/// what, and some of its features may be open to everyone.
#[derive(Clone)]
pub struct OAuthCredentials {
    authorizer: UserAuthorizer,
    /// The token that was used last. If the store has another one when the server rejects it, that one is used.
    given: Arc<Mutex<Option<SecretText>>>,
}

/// Why a token is renewed.
#[derive(Debug, Clone)]
enum RenewalReason {
    /// It has expired, or will soon.
    Due,
    /// The server rejected it.
    Rejected(ParsedChallenge),
}

#[async_trait]
impl Credentials for OAuthCredentials {
    async fn headers(&self) -> Result<HeaderMap, CredentialsError> {
        let record = self.load_record().await?;
        let grant = match record.grant {
            Some(grant) if grant.is_due(self.authorizer.oauth.now()) => {
                Some(self.renew_grant(RenewalReason::Due).await?.ok_or(CredentialsError::Needed)?)
            }
            grant => grant,
        };
        let headers = grant.as_ref().map_or(Ok(HeaderMap::new()), bearer_headers);
        self.remember_given(grant);
        headers
    }

    async fn handle_challenge(&self, challenge: &AuthChallenge) -> Result<bool, CredentialsError> {
        let headers = challenge.www_authenticate.iter().map(String::as_str);
        let upstream = Url::parse(&self.authorizer.upstream_url());
        let parsed = upstream.map(|url| parse_challenge(&url, headers)).unwrap_or_default();
        match challenge.status {
            StatusCode::UNAUTHORIZED => match self.renew_grant(RenewalReason::Rejected(parsed)).await? {
                Some(_) => Ok(true),
                None => Err(CredentialsError::Needed),
            },
            StatusCode::FORBIDDEN if parsed.insufficient => Err(self.step_up(parsed).await),
            _ => Ok(false),
        }
    }
}

impl OAuthCredentials {
    pub(super) fn new(authorizer: UserAuthorizer) -> Self {
        Self { authorizer, given: Arc::default() }
    }

    fn remember_given(&self, grant: Option<OAuthGrant>) {
        *self.given.lock() = grant.map(|grant| grant.access_token);
    }

    /// Whether this token was used last.
    fn was_given(&self, grant: &OAuthGrant) -> bool {
        self.given.lock().as_ref() == Some(&grant.access_token)
    }

    async fn load_record(&self) -> Result<AuthorizationRecord, OAuthStoreError> {
        self.authorizer.oauth.load_record(&self.authorizer.key, &self.authorizer.upstream_url()).await
    }

    /// Stores a record that was changed. False if it had a grant and was deleted meanwhile: the user withdrew it.
    async fn save_changed(
        &self,
        before: &AuthorizationRecord,
        record: &AuthorizationRecord,
    ) -> Result<bool, OAuthStoreError> {
        let (oauth, key) = (&self.authorizer.oauth, &self.authorizer.key);
        if record == before {
            return Ok(true);
        }
        if before.grant.is_some() {
            return oauth.replace_record(key, record).await;
        }
        oauth.save_record(key, record).await.map(|()| true)
    }

    /// A usable token; `None` if the user must authorize. Continues even if the caller leaves, because the old refresh
    /// token is used up as soon as it is sent.
    async fn renew_grant(&self, why: RenewalReason) -> Result<Option<OAuthGrant>, OAuthError> {
        let this = self.clone();
        let renewing = self.authorizer.oauth.parts().tasks.spawn(async move { this.renew_locked(why).await });
        renewing.await.map_err(|_| OAuthError::CutOff)?
    }

    async fn renew_locked(&self, why: RenewalReason) -> Result<Option<OAuthGrant>, OAuthError> {
        let mut lock = self.authorizer.oauth.locks().lock(&self.authorizer.key).await;
        let now = self.authorizer.oauth.now();
        if let Some((_, error)) = lock.as_ref().filter(|(then, _)| is_recent(*then, now)) {
            return Err(error.clone());
        }
        // Read again: the previous holder of the lock may have renewed it.
        let mut record = self.load_record().await?;
        let before = record.clone();
        match (&record.grant, &why) {
            (Some(grant), RenewalReason::Due) if !grant.is_due(now) => return Ok(record.grant),
            (Some(grant), RenewalReason::Rejected(_)) if grant.is_fresh(now) || !self.was_given(grant) => {
                return Ok(record.grant);
            }
            _ => {}
        }
        if let RenewalReason::Rejected(ParsedChallenge { header: Some(header), .. }) = why {
            record.challenge = Some(header);
        }
        let renewed = self.apply_renewal(&mut record).await;
        if !self.save_changed(&before, &record).await? {
            return Ok(None);
        }
        *lock = renewed.as_ref().err().map(|error| (now, error.clone()));
        renewed.map(|()| record.grant)
    }

    /// Updates the record with the response of the authorization server.
    async fn apply_renewal(&self, record: &mut AuthorizationRecord) -> Result<(), OAuthError> {
        let Some(grant) = &record.grant else { return Ok(()) };
        let Some(refresh_token) = &grant.refresh_token else {
            record.end_grant();
            return Ok(());
        };
        let mut grant = grant.clone();
        // The operator may have changed the client secret since.
        if let Some(client) =
            self.authorizer.upstream.settings.client.as_ref().filter(|c| c.id == grant.client.id)
        {
            grant.client.secret.clone_from(&client.secret);
        }
        let url = self.authorizer.upstream.url.uri();
        let requests = self.authorizer.oauth.step_client(url);
        let (challenge, now) = (record.challenge.as_deref(), self.authorizer.oauth.now());
        let renewing = refresh_grant(url, &requests, challenge, &grant, refresh_token, now);
        match timeout(STEP_TIME, renewing).await.unwrap_or(Err(OAuthError::TimedOut(STEP_TIME)))? {
            RenewalOutcome::Renewed(grant) => record.grant = Some(*grant),
            RenewalOutcome::Rejected => self.apply_rejection(record).await?,
            RenewalOutcome::Moved => {
                record.grant = None;
                record.wanted.clear();
            }
        }
        Ok(())
    }

    /// Another process may have used the refresh token just before; then its tokens are the valid ones.
    async fn apply_rejection(&self, record: &mut AuthorizationRecord) -> Result<(), OAuthError> {
        let stored = self.load_record().await?;
        match stored.grant.filter(|stored| record.grant.as_ref() != Some(stored)) {
            Some(newer) => record.grant = Some(newer),
            None => record.end_grant(),
        }
        Ok(())
    }

    /// Stores the scopes that the request needs, for the next flow.
    async fn step_up(&self, parsed: ParsedChallenge) -> CredentialsError {
        match self.remember_scopes(parsed).await {
            Ok(error) => error,
            Err(error) => error.into(),
        }
    }

    async fn remember_scopes(&self, parsed: ParsedChallenge) -> Result<CredentialsError, OAuthStoreError> {
        let _lock = self.authorizer.oauth.locks().lock(&self.authorizer.key).await;
        let mut record = self.load_record().await?;
        let requested = record.grant.as_ref().map_or(&[][..], |grant| &grant.requested);
        if parsed.scopes.iter().all(|scope| requested.contains(scope)) {
            let text = "the server requires permissions that were already requested from the user; forget the authorization and \
                        authorize again if they can be given now";
            return Ok(CredentialsError::Failed(text.to_owned()));
        }
        let before = record.clone();
        add_scopes(&mut record.wanted, parsed.scopes);
        self.save_changed(&before, &record).await?;
        Ok(CredentialsError::Needed)
    }
}

fn bearer_headers(grant: &OAuthGrant) -> Result<HeaderMap, CredentialsError> {
    let value = HeaderValue::try_from(format!("Bearer {}", grant.access_token.expose()));
    let mut value =
        value.map_err(|_| CredentialsError::Failed("the token does not fit into a header".to_owned()))?;
    value.set_sensitive(true);
    Ok(HeaderMap::from_iter([(AUTHORIZATION, value)]))
}

impl From<OAuthError> for CredentialsError {
    fn from(error: OAuthError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<OAuthStoreError> for CredentialsError {
    fn from(error: OAuthStoreError) -> Self {
        OAuthError::from(error).into()
    }
}

impl fmt::Debug for OAuthCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OAuthCredentials").field(&self.authorizer.key).finish()
    }
}
