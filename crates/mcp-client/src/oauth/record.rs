//! What is stored: one text per user and upstream, and one per pending flow.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use toolyard_protocol::{UserId, secret::SecretText};

use super::store::TokenKey;

/// A token is renewed when less than this is left: a request takes time as well.
const EARLY: Duration = Duration::from_secs(30);
/// A request to renew within this time after a renewal has the same cause.
const RECENT: Duration = Duration::from_secs(10);
/// Most scopes that are stored.
const MAX_SCOPES: usize = 64;
/// Longest scope, in bytes.
const MAX_SCOPE_BYTES: usize = 256;

/// The record of one user at one upstream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AuthorizationRecord {
    /// The upstream's URL. If the upstream moves to another URL, the record is not used there.
    pub(super) url: String,
    /// What the user consented to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) grant: Option<OAuthGrant>,
    /// The last usable challenge: discovery of the authorization server starts from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) challenge: Option<String>,
    /// Scopes to request next time, besides those that the server names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) wanted: Vec<String>,
}

/// What the user consented to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OAuthGrant {
    /// The authorization server; its tokens are never sent to another one.
    pub(super) issuer: String,
    pub(super) client: OAuthClient,
    pub(super) access_token: SecretText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<SecretText>,
    /// `None` if the server did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) renewed_at: Option<Timestamp>,
    /// The requested scopes.
    #[serde(default)]
    pub(super) requested: Vec<String>,
    /// The granted scopes.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
}

/// Our client at that authorization server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OAuthClient {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<SecretText>,
    pub(super) redirect_uri: String,
}

/// A pending flow.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PendingAuthorization {
    pub(super) upstream: String,
    pub(super) user: UserId,
    pub(super) url: String,
    pub(super) expires_at: Timestamp,
    pub(super) challenge: Option<String>,
    pub(super) client: OAuthClient,
    pub(super) issuer: String,
    /// Whether the response must name the issuer.
    pub(super) names_issuer: bool,
    pub(super) requested: Vec<String>,
    /// The PKCE verifier.
    pub(super) verifier: SecretText,
}

impl PendingAuthorization {
    pub(super) fn token_key(&self) -> TokenKey {
        TokenKey { upstream: self.upstream.clone(), user: self.user.clone() }
    }
}

impl AuthorizationRecord {
    /// Whether there are tokens that can be used or renewed, with the scopes that were missing before.
    pub(super) fn is_authorized(&self, now: Timestamp) -> bool {
        self.grant.as_ref().is_some_and(|grant| {
            (!grant.is_due(now) || grant.refresh_token.is_some())
                && self.wanted.iter().all(|scope| grant.requested.contains(scope))
        })
    }

    /// Ends the grant, and stores its scopes for the next flow.
    pub(super) fn end_grant(&mut self) {
        if let Some(grant) = self.grant.take() {
            add_scopes(&mut self.wanted, grant.scopes);
        }
    }
}

impl OAuthGrant {
    /// Whether it has expired, or will soon.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end.duration_since(now).unsigned_abs() < EARLY || end < now)
    }

    /// Whether it was renewed just now.
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        self.renewed_at.is_some_and(|then| is_recent(then, now))
    }
}

/// Whether that was just now.
pub(super) fn is_recent(then: Timestamp, now: Timestamp) -> bool {
    now.duration_since(then).unsigned_abs() < RECENT
}

/// Adds new scopes, up to the limit.
pub(super) fn add_scopes(scopes: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for scope in more {
        let plain = !scope.is_empty() && scope.len() <= MAX_SCOPE_BYTES;
        if plain && scopes.len() < MAX_SCOPES && !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(expires_at: Option<i64>, renewed_at: Option<i64>) -> OAuthGrant {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        OAuthGrant {
            issuer: "https://as.example".to_owned(),
            client: OAuthClient {
                id: "id".to_owned(),
                secret: None,
                redirect_uri: "http://localhost".to_owned(),
            },
            access_token: SecretText::new("sesame"),
            refresh_token: None,
            expires_at: expires_at.map(at),
            renewed_at: renewed_at.map(at),
            requested: Vec::new(),
            scopes: vec!["read".to_owned()],
        }
    }

    #[test]
    fn a_token_is_due_shortly_before_its_end() {
        let due = |now: i64| grant(Some(1_000), None).is_due(Timestamp::from_second(now).unwrap());
        assert_eq!([969, 970, 971, 1_000, 9_000].map(due), [false, false, true, true, true]);
        assert!(!grant(None, None).is_due(Timestamp::MAX));
    }

    #[test]
    fn a_user_is_authorized_with_tokens_that_can_be_used_for_what_is_wanted() {
        let now = Timestamp::from_second(1_000).unwrap();
        let is_authorized = |grant: Option<OAuthGrant>, wanted: &[&str]| {
            let wanted = wanted.iter().map(|scope| (*scope).to_owned()).collect();
            AuthorizationRecord { grant, wanted, ..AuthorizationRecord::default() }.is_authorized(now)
        };
        let with_refresh = |grant: OAuthGrant| OAuthGrant {
            refresh_token: Some(SecretText::new("again")),
            requested: vec!["read".to_owned()],
            ..grant
        };
        assert!(!is_authorized(None, &[]));
        assert!(is_authorized(Some(grant(None, None)), &[]));
        assert!(!is_authorized(Some(grant(Some(1_000), None)), &[]), "expired");
        assert!(is_authorized(Some(with_refresh(grant(Some(1_000), None))), &["read"]), "renewed when used");
        assert!(
            !is_authorized(Some(with_refresh(grant(None, None))), &["read", "write"]),
            "the user was not asked"
        );
    }

    #[test]
    fn a_token_is_fresh_for_a_moment() {
        let fresh = |now: i64| grant(None, Some(1_000)).is_fresh(Timestamp::from_second(now).unwrap());
        assert_eq!([1_000, 1_009, 1_010, 2_000].map(fresh), [true, true, false, false]);
    }

    #[test]
    fn scopes_are_deduplicated_and_limited() {
        let mut scopes = vec!["a".to_owned()];
        add_scopes(&mut scopes, ["b", "a", "", "b"].map(str::to_owned));
        assert_eq!(scopes, ["a", "b"]);
        add_scopes(&mut scopes, [String::from_iter(["x"; MAX_SCOPE_BYTES + 1])]);
        assert_eq!(scopes, ["a", "b"]);
        add_scopes(&mut scopes, (0..1_000).map(|index| index.to_string()));
        assert_eq!(scopes.len(), MAX_SCOPES);
    }

    #[test]
    fn a_record_survives_and_hides_its_secrets() {
        let mut kept = AuthorizationRecord {
            url: "https://u.example".to_owned(),
            grant: Some(grant(Some(7), Some(5))),
            ..AuthorizationRecord::default()
        };
        let text = serde_json::to_string(&kept).unwrap();
        assert_eq!(serde_json::from_str::<AuthorizationRecord>(&text).unwrap(), kept);
        assert!(text.contains("sesame") && !format!("{kept:?}").contains("sesame"));

        kept.end_grant();
        assert_eq!((kept.grant, kept.wanted), (None, vec!["read".to_owned()]));
    }
}
