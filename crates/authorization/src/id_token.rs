//! OpenID Connect: who signed in, for clients that ask for `openid`. The caller signs.

use jiff::Timestamp;
use serde::Serialize;

use crate::{
    client::ClientId,
    issuer::IssuerOrigin,
    scope::{OAuthScope, ScopeSet},
};

/// Lifetime of an ID token, in seconds. Clients read it once, right after the sign-in.
pub const ID_TOKEN_LIFETIME_S: i64 = 60 * 60;

/// A person, as far as this server knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserProfile {
    /// The id. Never used for another person.
    pub subject: String,
    /// The name.
    pub name: Option<String>,
    /// The e-mail address.
    pub email: Option<String>,
    /// Whether the address was verified.
    pub email_verified: bool,
}

/// Claims about a person, limited to what was granted. The body of the userinfo endpoint, and a part of the ID token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UserinfoClaims {
    /// The id.
    pub sub: String,
    /// The name, with `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The e-mail address, with `email`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Whether the address was verified, with `email`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email_verified: Option<bool>,
}

impl UserinfoClaims {
    /// The claims that the scopes permit.
    pub fn from_profile(profile: &UserProfile, scopes: &ScopeSet) -> Self {
        let email = profile.email.clone().filter(|_| scopes.has(&OAuthScope::Email));
        Self {
            sub: profile.subject.clone(),
            name: profile.name.clone().filter(|_| scopes.has(&OAuthScope::Profile)),
            email_verified: email.is_some().then_some(profile.email_verified),
            email,
        }
    }
}

/// A sign-in, for an ID token.
#[derive(Debug, Clone, Copy)]
pub struct SignIn<'a> {
    /// This server.
    pub issuer: &'a IssuerOrigin,
    /// The client that the token is for.
    pub client_id: &'a ClientId,
    /// The person.
    pub profile: &'a UserProfile,
    /// The granted scopes.
    pub scopes: &'a ScopeSet,
    /// The nonce of the authorization request.
    pub nonce: Option<&'a str>,
    /// When the person signed in.
    pub signed_in_at: Timestamp,
    /// The current time.
    pub now: Timestamp,
}

/// The claims of an ID token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IdTokenClaims {
    /// This server.
    pub iss: String,
    /// The client alone.
    pub aud: String,
    /// When it expires, in seconds since 1970.
    pub exp: i64,
    /// When it was issued, in seconds since 1970.
    pub iat: i64,
    /// When the person signed in, in seconds since 1970.
    pub auth_time: i64,
    /// The nonce of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// The person.
    #[serde(flatten)]
    pub user: UserinfoClaims,
}

impl IdTokenClaims {
    /// The claims for a sign-in; `None` if `openid` was not granted.
    pub fn for_sign_in(sign_in: &SignIn<'_>) -> Option<Self> {
        let iat = sign_in.now.as_second();
        sign_in.scopes.has(&OAuthScope::OpenId).then(|| Self {
            iss: sign_in.issuer.as_str().to_owned(),
            aud: sign_in.client_id.as_str().to_owned(),
            exp: iat.saturating_add(ID_TOKEN_LIFETIME_S),
            iat,
            auth_time: sign_in.signed_in_at.as_second(),
            nonce: sign_in.nonce.map(str::to_owned),
            user: UserinfoClaims::from_profile(sign_in.profile, sign_in.scopes),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn claims(scopes: &str) -> Option<Value> {
        let profile = UserProfile {
            subject: "u-1".to_owned(),
            name: Some("Ada".to_owned()),
            email: Some("ada@example.com".to_owned()),
            email_verified: false,
        };
        let claims = IdTokenClaims::for_sign_in(&SignIn {
            issuer: &"https://tools.example.com".parse().unwrap(),
            client_id: &"c".parse().unwrap(),
            profile: &profile,
            scopes: &ScopeSet::parse(scopes).unwrap().scopes,
            nonce: Some("n-1"),
            signed_in_at: Timestamp::from_second(1_000).unwrap(),
            now: Timestamp::from_second(2_000).unwrap(),
        });
        claims.map(|claims| serde_json::to_value(claims).unwrap())
    }

    #[test]
    fn an_id_token_says_who_signed_in_where_and_when() {
        let mut expected = json!({
            "iss": "https://tools.example.com", "aud": "c", "sub": "u-1", "exp": 5_600, "iat": 2_000, "auth_time": 1_000,
            "nonce": "n-1",
        });
        assert_eq!(claims("openid"), Some(expected.clone()));
        expected["name"] = json!("Ada");
        expected["email"] = json!("ada@example.com");
        expected["email_verified"] = json!(false);
        assert_eq!(claims("openid profile email"), Some(expected));
        assert_eq!(claims("tools:read profile email"), None);
    }
}
