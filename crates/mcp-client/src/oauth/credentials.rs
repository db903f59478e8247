//! A bearer for each request: from the store, renewed before it ends or when the server turns it away. Where only the
//! user can help, it says so.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::time::timeout;
use toolyard_protocol::secret::Secret;

use super::authorizer::{Authorizer, STEP_TIME};
use super::challenge::{self, Asked};
use super::error::OAuthError;
use super::record::{Grant, Kept, add_scopes, is_recent};
use super::refresh::{Renewal, refresh};
use super::store::StoreError;
use crate::{Challenge, Credentials, CredentialsError};

/// The bearer of one user at one upstream.
///
/// Without a token the request goes out bare: what the server answers says where to authorize and for what, and some
/// of what it offers may be open to all.
#[derive(Clone)]
pub struct OAuthCredentials {
    of: Authorizer,
    /// The token that was given out last. If the store has another by the time the server says no, that one was meant.
    given: Arc<Mutex<Option<Secret>>>,
}

/// Why a token is renewed.
#[derive(Debug, Clone)]
enum Why {
    /// Its time is over, or nearly.
    Due,
    /// The server turned it away.
    Rejected(Asked),
}

#[async_trait]
impl Credentials for OAuthCredentials {
    async fn headers(&self) -> Result<HeaderMap, CredentialsError> {
        let kept = self.load().await?;
        let grant = match kept.grant {
            Some(grant) if grant.is_due(self.of.oauth.now()) => {
                Some(self.renew(Why::Due).await?.ok_or(CredentialsError::Needed)?)
            }
            grant => grant,
        };
        let headers = grant.as_ref().map_or(Ok(HeaderMap::new()), bearer);
        self.gives(grant);
        headers
    }

    async fn challenged(&self, challenge: &Challenge) -> Result<bool, CredentialsError> {
        let asked = challenge::read(self.of.upstream.url.uri(), challenge);
        match challenge.status {
            StatusCode::UNAUTHORIZED => match self.renew(Why::Rejected(asked)).await? {
                Some(_) => Ok(true),
                None => Err(CredentialsError::Needed),
            },
            StatusCode::FORBIDDEN if asked.insufficient => Err(self.step_up(asked).await),
            _ => Ok(false),
        }
    }
}

impl OAuthCredentials {
    pub(super) fn new(authorizer: Authorizer) -> Self {
        Self { of: authorizer, given: Arc::default() }
    }

    fn gives(&self, grant: Option<Grant>) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = grant.map(|grant| grant.access_token);
    }

    /// Whether this is what was given out last.
    fn gave(&self, grant: &Grant) -> bool {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).as_ref() == Some(&grant.access_token)
    }

    async fn load(&self) -> Result<Kept, StoreError> {
        self.of.oauth.load(&self.of.key, &self.of.url()).await
    }

    async fn save(&self, kept: &Kept) -> Result<(), StoreError> {
        self.of.oauth.save(&self.of.key, kept).await
    }

    /// A token that can be used, `None` if the user has to help. Runs on even if the caller goes away, because the
    /// old refresh token is used up as soon as it is sent.
    async fn renew(&self, why: Why) -> Result<Option<Grant>, OAuthError> {
        let this = self.clone();
        let renewing = self.of.oauth.parts().tasks.spawn(async move { this.renew_alone(why).await });
        renewing.await.map_err(|_| OAuthError::CutOff)?
    }

    async fn renew_alone(&self, why: Why) -> Result<Option<Grant>, OAuthError> {
        let mut lock = self.of.oauth.locks().lock(&self.of.key).await;
        let now = self.of.oauth.now();
        if let Some((_, error)) = lock.as_ref().filter(|(then, _)| is_recent(*then, now)) {
            return Err(error.clone());
        }
        // Read again: who held the lock may have renewed it.
        let mut kept = self.load().await?;
        let before = kept.clone();
        match (&kept.grant, &why) {
            (Some(grant), Why::Due) if !grant.is_due(now) => return Ok(kept.grant),
            (Some(grant), Why::Rejected(_)) if grant.is_fresh(now) || !self.gave(grant) => {
                return Ok(kept.grant);
            }
            _ => {}
        }
        if let Why::Rejected(Asked { header: Some(header), .. }) = why {
            kept.challenge = Some(header);
        }
        let renewed = self.renewed(&mut kept).await;
        if kept != before {
            self.save(&kept).await?;
        }
        *lock = renewed.as_ref().err().map(|error| (now, error.clone()));
        renewed.map(|()| kept.grant)
    }

    /// Changes the record as the authorization server says.
    async fn renewed(&self, kept: &mut Kept) -> Result<(), OAuthError> {
        let Some(grant) = &kept.grant else { return Ok(()) };
        let Some(refresh_token) = &grant.refresh_token else {
            kept.end_grant();
            return Ok(());
        };
        let mut grant = grant.clone();
        // The operator may have given the client another secret since.
        if let Some(client) = self.of.upstream.settings.client.as_ref().filter(|c| c.id == grant.client.id) {
            grant.client.secret.clone_from(&client.secret);
        }
        let url = self.of.upstream.url.uri();
        let requests = self.of.oauth.requests(url);
        let (challenge, now) = (kept.challenge.as_deref(), self.of.oauth.now());
        let renewing = refresh(url, &requests, challenge, &grant, refresh_token, now);
        match timeout(STEP_TIME, renewing).await.unwrap_or(Err(OAuthError::TimedOut(STEP_TIME)))? {
            Renewal::Renewed(grant) => kept.grant = Some(*grant),
            Renewal::Rejected => self.rejected(kept).await?,
            Renewal::Moved => {
                kept.grant = None;
                kept.wanted.clear();
            }
        }
        Ok(())
    }

    /// Another process may have used the refresh token a moment before us; then its tokens are the good ones.
    async fn rejected(&self, kept: &mut Kept) -> Result<(), OAuthError> {
        let stored = self.load().await?;
        match stored.grant.filter(|stored| kept.grant.as_ref() != Some(stored)) {
            Some(newer) => kept.grant = Some(newer),
            None => kept.end_grant(),
        }
        Ok(())
    }

    /// Remembers what the request needs, for the next flow.
    async fn step_up(&self, asked: Asked) -> CredentialsError {
        match self.remember(asked).await {
            Ok(error) => error,
            Err(error) => error.into(),
        }
    }

    async fn remember(&self, asked: Asked) -> Result<CredentialsError, StoreError> {
        let _lock = self.of.oauth.locks().lock(&self.of.key).await;
        let mut kept = self.load().await?;
        let requested = kept.grant.as_ref().map_or(&[][..], |grant| &grant.requested);
        if asked.scopes.iter().all(|scope| requested.contains(scope)) {
            let text = "the server wants rights that the user was asked for already; forget the authorization and \
                        authorize again if they can be given now";
            return Ok(CredentialsError::Failed(text.to_owned()));
        }
        let before = kept.clone();
        add_scopes(&mut kept.wanted, asked.scopes);
        if kept != before {
            self.save(&kept).await?;
        }
        Ok(CredentialsError::Needed)
    }
}

fn bearer(grant: &Grant) -> Result<HeaderMap, CredentialsError> {
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

impl From<StoreError> for CredentialsError {
    fn from(error: StoreError) -> Self {
        OAuthError::from(error).into()
    }
}

impl fmt::Debug for OAuthCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OAuthCredentials").field(&self.of.key).finish()
    }
}
