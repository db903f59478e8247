//! Completes a flow when the browser returns. The code is redeemed only if the flow was started here, by this user, at
//! this authorization server.

use std::fmt;

use tokio::time::timeout;
use toolyard_protocol::UserId;

use super::authorizer::{OAuth, STEP_TIME};
use super::discover::discover_authorization_server;
use super::error::{OAuthError, sanitize_foreign_text};
use super::record::{OAuthGrant, PendingAuthorization};
use super::store::TokenKey;
use super::token::{TokenReply, grant_from_response, no_token_error, request_token};

/// The query with which the browser returned.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OAuthCallback {
    /// `code`
    pub code: Option<String>,
    /// `state`
    pub state: Option<String>,
    /// `iss`
    pub iss: Option<String>,
    /// `error`
    pub error: Option<String>,
}

impl OAuthCallback {
    /// Reads a query. A parameter that appears twice is ignored.
    pub fn from_query(query: &str) -> Self {
        let pairs: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).collect();
        let one = |wanted: &str| {
            let mut values = pairs.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value);
            let value = values.next().map(|value| value.clone().into_owned());
            value.filter(|value| !value.is_empty() && values.next().is_none())
        };
        Self { code: one("code"), state: one("state"), iss: one("iss"), error: one("error") }
    }
}

impl OAuth {
    /// Completes a flow: redeems the code and stores the tokens. Returns the user and upstream that they belong to.
    ///
    /// `user` is the user signed in at this browser, not one named in the query. Otherwise an attacker could start a
    /// flow, have another person consent, and use that person's permissions.
    pub async fn complete_flow(
        &self,
        user: &UserId,
        callback: OAuthCallback,
    ) -> Result<TokenKey, OAuthError> {
        let pending = self.take_pending(user, &callback).await?;
        let key = pending.token_key();
        check_issuer(&pending, callback.iss.as_deref())?;
        if let Some(error) = callback.error {
            self.record_denial(&pending, &error).await?;
            return Err(OAuthError::Denied(sanitize_foreign_text(&error)));
        }
        let code = callback.code.ok_or_else(|| OAuthError::Denied("the response has no code".to_owned()))?;
        let redeeming = redeem_code(self.clone(), pending, code);
        // The code is used up once it is sent, so this continues if the browser leaves.
        self.parts().tasks.spawn(redeeming).await.map_err(|_| OAuthError::CutOff)??;
        Ok(key)
    }

    /// Takes the flow of this state, once, before it expires, and only for the user who started it.
    async fn take_pending(
        &self,
        user: &UserId,
        callback: &OAuthCallback,
    ) -> Result<PendingAuthorization, OAuthError> {
        let state = callback.state.as_deref().ok_or(OAuthError::UnknownState)?;
        let flow = self.parts().pending.take(state).await?.ok_or(OAuthError::UnknownState)?;
        let pending: PendingAuthorization =
            serde_json::from_str(flow.text.expose()).map_err(|_| OAuthError::UnknownState)?;
        if pending.user != *user {
            return Err(OAuthError::UnknownState);
        }
        if self.now() >= pending.expires_at {
            return Err(OAuthError::Expired);
        }
        Ok(pending)
    }

    /// If the server does not know the requested scopes, they are not requested again.
    async fn record_denial(&self, pending: &PendingAuthorization, error: &str) -> Result<(), OAuthError> {
        if error == "invalid_scope" {
            let key = pending.token_key();
            let _lock = self.locks().lock(&key).await;
            let mut record = self.load_record(&key, &pending.url).await?;
            record.wanted.clear();
            self.save_record(&key, &record).await?;
        }
        Ok(())
    }
}

/// RFC 9207: compared byte by byte. An issuer in the response must match, even if the server did not announce it.
fn check_issuer(pending: &PendingAuthorization, named: Option<&str>) -> Result<(), OAuthError> {
    match named {
        Some(issuer) if issuer == pending.issuer => Ok(()),
        None if !pending.names_issuer => Ok(()),
        Some(_) | None => Err(OAuthError::WrongIssuer),
    }
}

async fn redeem_code(oauth: OAuth, pending: PendingAuthorization, code: String) -> Result<(), OAuthError> {
    let exchanging = exchange_code(&oauth, &pending, &code);
    let grant = timeout(STEP_TIME, exchanging).await.unwrap_or(Err(OAuthError::TimedOut(STEP_TIME)))?;
    let key = pending.token_key();
    let _lock = oauth.locks().lock(&key).await;
    let mut record = oauth.load_record(&key, &pending.url).await?;
    record.grant = Some(grant);
    record.wanted.clear();
    oauth.save_record(&key, &record).await?;
    Ok(())
}

async fn exchange_code(
    oauth: &OAuth,
    pending: &PendingAuthorization,
    code: &str,
) -> Result<OAuthGrant, OAuthError> {
    let url = pending.url.parse().map_err(|_| OAuthError::UnknownState)?;
    let requests = oauth.step_client(&url);
    // Discovered again: the flow stores no endpoints, and an upstream that changed its server must not get the code.
    let found = discover_authorization_server(&url, &requests, pending.challenge.as_deref()).await?;
    if found.server.issuer != pending.issuer {
        return Err(OAuthError::WrongIssuer);
    }
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("code_verifier", pending.verifier.expose()),
        ("redirect_uri", pending.client.redirect_uri.as_str()),
    ];
    match request_token(&found, &requests, &pending.client, &fields).await? {
        TokenReply::Issued(tokens) => {
            let client = pending.client.clone();
            grant_from_response(tokens, &pending.issuer, client, &pending.requested, oauth.now())
        }
        TokenReply::Refused(code) => Err(no_token_error(code)),
    }
}

impl fmt::Debug for OAuthCallback {
    /// Hides the code: for a while it is as good as a token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthCallback")
            .field("iss", &self.iss)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_and_hidden() {
        let callback = OAuthCallback::from_query("code=a%20b&state=s&iss=https%3A%2F%2Fas.example&x=1");
        let some = |text: &str| Some(text.to_owned());
        let expected = OAuthCallback {
            code: some("a b"),
            state: some("s"),
            iss: some("https://as.example"),
            error: None,
        };
        assert_eq!(callback, expected);
        let shown = format!("{callback:?}");
        assert!(!shown.contains("a b") && shown.contains("as.example"), "{shown}");
    }

    #[test]
    fn what_is_there_twice_is_not_there() {
        assert_eq!(OAuthCallback::from_query("code=a&code=b&state=&iss"), OAuthCallback::default());
    }
}
