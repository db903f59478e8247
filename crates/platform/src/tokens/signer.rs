//! Signs and verifies tokens: JWTs with EdDSA; the key is derived from the root key.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use dashmap::DashMap;
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use toolyard_authorization::scope::ScopeSet;
use toolyard_core::{
    bounded_cache::BoundedCache,
    ports::{BrowserSession, ClientGrant, SecretSealer},
};
use toolyard_protocol::{TokenId, UserId, accounts::SignInMethod, api::Role};

use super::disabled::DisabledUsers;
use crate::{Credential, clients::ClientAccess};

/// The issuer of the tokens.
const ISSUER: &str = "toolyard";
/// Verified tokens that are cached, so that a request needs no signature check.
const MAX_REMEMBERED: usize = 10_000;

/// The claims of a token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TokenClaims {
    /// The subject.
    pub sub: String,
    /// The role.
    pub role: Role,
    /// The issuer.
    pub iss: String,
    /// When it was issued, in seconds.
    pub iat: i64,
    /// When it expires, in seconds.
    pub exp: i64,
    /// The id under which it is listed and revoked; unlisted tokens have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jti: Option<TokenId>,
    /// The client that the token was issued to. Its id is then that of the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// What the user granted the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The browser session that the token is the cookie of. Its id is that of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionClaims>,
    /// What `scope` means, read once.
    #[serde(skip)]
    pub access: Option<Arc<ClientAccess>>,
}

/// What a cookie says about its session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionClaims {
    /// How the user signed in.
    pub method: SignInMethod,
    /// When, in seconds.
    pub started: i64,
    /// When it ends at the latest, in seconds.
    pub ends: i64,
}

impl TokenClaims {
    /// The credential that the token is.
    pub fn credential(&self) -> Credential {
        if let (Some(session), Some(id)) = (&self.session, &self.jti) {
            return Credential::Session {
                expires_at: self.exp,
                id: id.clone(),
                method: session.method,
                issued_at: self.iat,
                started_at: session.started,
                ends_at: session.ends,
            };
        }
        match (&self.access, &self.jti) {
            (Some(access), Some(grant)) => {
                Credential::Client { expires_at: self.exp, grant: grant.clone(), access: access.clone() }
            }
            _ => Credential::Token { expires_at: self.exp, id: self.jti.clone() },
        }
    }
}

/// A token that is not accepted, or could not be signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not a token of this server.
    #[error("the token is not valid here")]
    Invalid,
    /// Expired.
    #[error("the token has expired; get a new one")]
    Expired,
    /// Revoked.
    #[error("the token was revoked; get a new one")]
    Revoked,
    /// Its user is disabled.
    #[error("this account is disabled; ask the operator")]
    Disabled,
    /// Valid, but it names no user.
    #[error("the token names no user: {0}")]
    NoUser(String),
    /// No key pair can be derived from the root key.
    #[error("tokens cannot be signed with this root key")]
    NoKey,
}

/// The public keys of a signer.
#[derive(Debug, Clone, Serialize)]
pub struct PublicKeySet {
    keys: Vec<PublicKey>,
}

/// An Ed25519 key as JSON (RFC 8037).
#[derive(Debug, Clone, Serialize)]
struct PublicKey {
    kty: &'static str,
    crv: &'static str,
    alg: &'static str,
    #[serde(rename = "use")]
    used_for: &'static str,
    kid: String,
    x: String,
}

impl PublicKey {
    fn new(bytes: &[u8]) -> Self {
        Self {
            kty: "OKP",
            crv: "Ed25519",
            alg: "EdDSA",
            used_for: "sig",
            kid: hex::encode(&Sha256::digest(bytes)[..8]),
            x: BASE64_URL_SAFE_NO_PAD.encode(bytes),
        }
    }
}

/// Signs and verifies tokens, and knows which were revoked.
pub struct TokenSigner {
    public_keys: PublicKeySet,
    sign: EncodingKey,
    verify: Vec<DecodingKey>,
    remembered: BoundedCache<[u8; 32], Arc<TokenClaims>>,
    /// Revoked tokens with their expiry, in seconds. Checked on every request, so it is kept in memory as well as in
    /// the store. Bounded, because the store bounds the number of tokens.
    revoked: DashMap<TokenId, i64>,
    disabled: DisabledUsers,
}

impl TokenSigner {
    /// Creates a signer from these keys; tokens of the old root key are accepted during a rotation.
    pub fn new(secrets: &dyn SecretSealer) -> Result<Self, TokenError> {
        let (mut sign, mut verify, mut keys) = (None, Vec::new(), Vec::new());
        for seed in secrets.derive_keys("tokens") {
            let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| TokenError::NoKey)?;
            let private = pair.to_pkcs8().map_err(|_| TokenError::NoKey)?;
            sign.get_or_insert_with(|| EncodingKey::from_ed_der(private.as_ref()));
            verify.push(DecodingKey::from_ed_der(pair.public_key().as_ref()));
            keys.push(PublicKey::new(pair.public_key().as_ref()));
        }
        Ok(Self {
            public_keys: PublicKeySet { keys },
            sign: sign.ok_or(TokenError::NoKey)?,
            verify,
            remembered: BoundedCache::new(MAX_REMEMBERED),
            revoked: DashMap::new(),
            disabled: DisabledUsers::default(),
        })
    }

    /// Signs a token that is not listed.
    pub fn issue_unlisted(
        &self,
        sub: &str,
        role: Role,
        now: Timestamp,
        seconds: i64,
    ) -> Result<String, TokenError> {
        self.issue_with_id(None, sub, role, now, seconds)
    }

    /// Signs a token with an id.
    pub fn issue_with_id(
        &self,
        id: Option<TokenId>,
        sub: &str,
        role: Role,
        now: Timestamp,
        seconds: i64,
    ) -> Result<String, TokenError> {
        let iat = now.as_second();
        let claims = TokenClaims {
            sub: sub.to_owned(),
            role,
            iss: ISSUER.to_owned(),
            iat,
            exp: iat.saturating_add(seconds),
            jti: id,
            client_id: None,
            scope: None,
            session: None,
            access: None,
        };
        self.sign_claims(&claims)
    }

    /// Signs an access token of a grant. It ends with the grant.
    pub(crate) fn issue_for_grant(
        &self,
        grant: &ClientGrant,
        scope: &ScopeSet,
        now: Timestamp,
        seconds: i64,
    ) -> Result<String, TokenError> {
        let iat = now.as_second();
        self.sign_claims(&TokenClaims {
            sub: grant.user.to_string(),
            role: Role::User,
            iss: ISSUER.to_owned(),
            iat,
            exp: iat.saturating_add(seconds).min(grant.expires_at.as_second()),
            jti: Some(grant.id.clone()),
            client_id: Some(grant.client_id.clone()),
            scope: Some(scope.to_string()),
            session: None,
            access: None,
        })
    }

    /// Signs the cookie of a session.
    pub(crate) fn issue_for_session(
        &self,
        session: &BrowserSession,
        role: Role,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<String, TokenError> {
        self.sign_claims(&TokenClaims {
            sub: session.user.to_string(),
            role,
            iss: ISSUER.to_owned(),
            iat: now.as_second(),
            exp: expires_at.as_second(),
            jti: Some(session.id.clone()),
            client_id: None,
            scope: None,
            session: Some(SessionClaims {
                method: session.method,
                started: session.started_at.as_second(),
                ends: session.expires_at.as_second(),
            }),
            access: None,
        })
    }

    /// Signs claims for others, who verify them with [`TokenSigner::public_keys`]. Their issuer is another one than that of our
    /// own tokens, so they are not accepted as such.
    pub(crate) fn sign_claims(&self, claims: &impl Serialize) -> Result<String, TokenError> {
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = self.public_keys.keys.first().map(|key| key.kid.clone());
        jsonwebtoken::encode(&header, claims, &self.sign).map_err(|_| TokenError::NoKey)
    }

    /// The public keys, the current one first, as a JSON Web Key Set.
    pub fn public_keys(&self) -> &PublicKeySet {
        &self.public_keys
    }

    /// Verifies a token. A cookie is none: it is only valid where a browser sends it by itself.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Arc<TokenClaims>, TokenError> {
        let claims = self.verify_any(token, now)?;
        if claims.session.is_none() { Ok(claims) } else { Err(TokenError::Invalid) }
    }

    /// Verifies the cookie of a session.
    pub fn verify_cookie(&self, cookie: &str, now: Timestamp) -> Result<Arc<TokenClaims>, TokenError> {
        let claims = self.verify_any(cookie, now)?;
        if claims.session.is_some() && claims.jti.is_some() { Ok(claims) } else { Err(TokenError::Invalid) }
    }

    fn verify_any(&self, token: &str, now: Timestamp) -> Result<Arc<TokenClaims>, TokenError> {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(claims) = self.remembered.get(&digest) {
            return self.check_current(claims, now);
        }
        let mut rules = Validation::new(Algorithm::EdDSA);
        rules.set_issuer(&[ISSUER]);
        rules.validate_aud = false;
        // Expiry is checked with our own clock.
        rules.validate_exp = false;
        let verified =
            self.verify.iter().find_map(|key| jsonwebtoken::decode::<TokenClaims>(token, key, &rules).ok());
        let mut claims = verified.ok_or(TokenError::Invalid)?.claims;
        // A token of a client has a grant. Without one it could not be revoked.
        if let Some(client) = &claims.client_id {
            if claims.jti.is_none() || claims.role != Role::User {
                return Err(TokenError::Invalid);
            }
            let scope = claims.scope.as_deref().unwrap_or_default();
            claims.access = Some(Arc::new(ClientAccess::from_claims(client, scope)));
        }
        let claims = self.check_current(Arc::new(claims), now)?;
        self.remembered.insert(digest, claims.clone());
        Ok(claims)
    }

    fn check_current(
        &self,
        claims: Arc<TokenClaims>,
        now: Timestamp,
    ) -> Result<Arc<TokenClaims>, TokenError> {
        if claims.exp <= now.as_second() {
            return Err(TokenError::Expired);
        }
        if claims.jti.as_ref().is_some_and(|id| self.is_revoked(id)) {
            return Err(TokenError::Revoked);
        }
        if self.is_disabled(&claims.sub) {
            return Err(TokenError::Disabled);
        }
        Ok(claims)
    }

    /// Whether a person is disabled: nothing of theirs is accepted.
    pub fn is_disabled(&self, name: &str) -> bool {
        self.disabled.contains(name)
    }

    pub(super) fn disable_user(&self, user: &UserId) {
        self.disabled.insert(user);
    }

    pub(super) fn enable_user(&self, user: &UserId) {
        self.disabled.remove(user);
    }

    pub(super) fn set_disabled_users(&self, users: &[UserId]) {
        self.disabled.replace(users);
    }

    /// Marks a token as revoked, with its expiry.
    pub fn mark_revoked(&self, id: TokenId, ends: Timestamp) {
        self.revoked.insert(id, ends.as_second());
    }

    /// Whether a token was revoked.
    pub fn is_revoked(&self, id: &TokenId) -> bool {
        self.revoked.contains_key(id)
    }

    /// Removes expired tokens. Called periodically.
    pub fn remove_expired(&self, now: Timestamp) {
        self.revoked.retain(|_, ends| *ends > now.as_second());
    }
}

#[cfg(test)]
mod tests {
    use toolyard_core::ports::{SealError, UnsealError};

    use super::*;

    /// Root keys of one byte each, which are used as seeds.
    struct TestKeys<'a>(&'a [u8]);

    impl SecretSealer for TestKeys<'_> {
        fn seal(&self, plain: &str) -> Result<Vec<u8>, SealError> {
            Ok(plain.as_bytes().to_vec())
        }

        fn unseal(&self, _sealed: &[u8]) -> Result<String, UnsealError> {
            Err(UnsealError)
        }

        fn derive_keys(&self, _purpose: &str) -> Vec<[u8; 32]> {
            self.0.iter().map(|key| [*key; 32]).collect()
        }
    }

    fn tokens(keys: &[u8]) -> TokenSigner {
        TokenSigner::new(&TestKeys(keys)).unwrap()
    }

    #[test]
    fn a_token_says_who_until_it_expires() {
        let (tokens, now) = (tokens(&[1]), Timestamp::UNIX_EPOCH);
        let token = tokens.issue_unlisted("ada", Role::Developer, now, 60).unwrap();
        for _ in 0..2 {
            let claims = tokens.verify(&token, now).unwrap();
            assert_eq!((claims.sub.as_str(), claims.role), ("ada", Role::Developer));
        }
        let later = Timestamp::from_second(60).unwrap();
        assert_eq!(tokens.verify(&token, later).unwrap_err(), TokenError::Expired);
        assert_eq!(self::tokens(&[1]).verify(&token, later).unwrap_err(), TokenError::Expired);
    }

    #[test]
    fn a_revoked_token_is_refused_until_it_expires() {
        let (tokens, now) = (tokens(&[1]), Timestamp::UNIX_EPOCH);
        let ids = [1, 2].map(|byte| TokenId::from_bytes([byte; 16]));
        let [one, two] =
            ids.clone().map(|id| tokens.issue_with_id(Some(id), "ada", Role::User, now, 60).unwrap());
        assert!(tokens.verify(&one, now).is_ok(), "and remembered");
        tokens.mark_revoked(ids[0].clone(), Timestamp::from_second(60).unwrap());
        assert_eq!(tokens.verify(&one, now).unwrap_err(), TokenError::Revoked);
        assert!(tokens.verify(&two, now).is_ok());
        tokens.remove_expired(Timestamp::from_second(59).unwrap());
        assert!(tokens.is_revoked(&ids[0]));
        tokens.remove_expired(Timestamp::from_second(60).unwrap());
        assert!(!tokens.is_revoked(&ids[0]), "nothing is kept longer than it is needed");
        assert_eq!(
            tokens.verify(&one, Timestamp::from_second(60).unwrap()).unwrap_err(),
            TokenError::Expired
        );
    }

    #[test]
    fn other_keys_and_other_algorithms_are_refused() {
        let now = Timestamp::UNIX_EPOCH;
        let token = tokens(&[1]).issue_unlisted("ada", Role::User, now, 60).unwrap();
        assert_eq!(tokens(&[2]).verify(&token, now).unwrap_err(), TokenError::Invalid);
        assert!(tokens(&[2, 1]).verify(&token, now).is_ok());
        let claims = TokenClaims {
            sub: "ada".into(),
            role: Role::Operator,
            iss: ISSUER.into(),
            iat: 0,
            exp: 60,
            jti: None,
            client_id: None,
            scope: None,
            session: None,
            access: None,
        };
        let forged =
            jsonwebtoken::encode(&Header::default(), &claims, &EncodingKey::from_secret(b"x")).unwrap();
        for bad in [forged.as_str(), "", "a.b.c", &token[..token.len() - 2]] {
            assert_eq!(tokens(&[1]).verify(bad, now).unwrap_err(), TokenError::Invalid, "{bad}");
        }
    }
}
