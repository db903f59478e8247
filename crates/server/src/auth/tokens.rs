//! Tokens of this server: JWTs, EdDSA, the key derived from the root key.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use dashmap::DashMap;
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use toolyard_core::ports::Secrets;

/// Who issues and who reads.
const ISSUER: &str = "toolyard";
/// Verified tokens that are remembered, so that a call costs no signature check. Beyond this the memory is emptied.
const MAX_REMEMBERED: usize = 10_000;

/// What a person may do. Each includes the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Uses tools.
    User,
    /// Registers apps.
    Developer,
    /// Signs plugins and calls them back.
    Curator,
    /// Runs the platform.
    Operator,
}

/// What a token says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Claims {
    /// Who.
    pub sub: String,
    /// What they may do.
    pub role: Role,
    /// By whom the token was made.
    pub iss: String,
    /// When, in seconds.
    pub iat: i64,
    /// Until when, in seconds.
    pub exp: i64,
}

/// A token that is not believed, or could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not a token of ours.
    #[error("the token is not valid here")]
    Invalid,
    /// Too old.
    #[error("the token has expired; get a new one")]
    Expired,
    /// The root key cannot make a key pair.
    #[error("tokens cannot be made with this root key")]
    NoKey,
}

/// Makes and verifies tokens.
pub struct Tokens {
    sign: EncodingKey,
    verify: Vec<DecodingKey>,
    remembered: DashMap<[u8; 32], Arc<Claims>>,
}

impl Tokens {
    /// Tokens under these secrets; those of the old root key are believed during a rotation.
    pub fn new(secrets: &dyn Secrets) -> Result<Self, TokenError> {
        let (mut sign, mut verify) = (None, Vec::new());
        for seed in secrets.derive("tokens") {
            let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| TokenError::NoKey)?;
            let private = pair.to_pkcs8().map_err(|_| TokenError::NoKey)?;
            sign.get_or_insert_with(|| EncodingKey::from_ed_der(private.as_ref()));
            verify.push(DecodingKey::from_ed_der(pair.public_key().as_ref()));
        }
        Ok(Self { sign: sign.ok_or(TokenError::NoKey)?, verify, remembered: DashMap::new() })
    }

    /// Makes a token.
    pub fn make(&self, sub: &str, role: Role, now: Timestamp, seconds: i64) -> Result<String, TokenError> {
        let iat = now.as_second();
        let claims = Claims {
            sub: sub.to_owned(),
            role,
            iss: ISSUER.to_owned(),
            iat,
            exp: iat.saturating_add(seconds),
        };
        jsonwebtoken::encode(&Header::new(Algorithm::EdDSA), &claims, &self.sign)
            .map_err(|_| TokenError::NoKey)
    }

    /// Verifies a token.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Arc<Claims>, TokenError> {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(claims) = self.remembered.get(&digest) {
            return if claims.exp > now.as_second() { Ok(claims.clone()) } else { Err(TokenError::Expired) };
        }
        let mut rules = Validation::new(Algorithm::EdDSA);
        rules.set_issuer(&[ISSUER]);
        rules.validate_aud = false;
        // The clock is ours, not the library's.
        rules.validate_exp = false;
        let verified =
            self.verify.iter().find_map(|key| jsonwebtoken::decode::<Claims>(token, key, &rules).ok());
        let claims = Arc::new(verified.ok_or(TokenError::Invalid)?.claims);
        if claims.exp <= now.as_second() {
            return Err(TokenError::Expired);
        }
        if self.remembered.len() >= MAX_REMEMBERED {
            self.remembered.clear();
        }
        self.remembered.insert(digest, claims.clone());
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use toolyard_core::ports::SystemIds;

    use super::*;
    use crate::secrets::RootKeys;

    fn tokens(keys: &[u8]) -> Tokens {
        Tokens::new(&RootKeys::new(keys.iter().map(|k| [*k; 32]).collect(), Arc::new(SystemIds))).unwrap()
    }

    #[test]
    fn a_token_says_who_until_it_expires() {
        let (tokens, now) = (tokens(&[1]), Timestamp::UNIX_EPOCH);
        let token = tokens.make("ada", Role::Developer, now, 60).unwrap();
        for _ in 0..2 {
            let claims = tokens.verify(&token, now).unwrap();
            assert_eq!((claims.sub.as_str(), claims.role), ("ada", Role::Developer));
        }
        let later = Timestamp::from_second(60).unwrap();
        assert_eq!(tokens.verify(&token, later).unwrap_err(), TokenError::Expired);
        assert_eq!(self::tokens(&[1]).verify(&token, later).unwrap_err(), TokenError::Expired);
    }

    #[test]
    fn other_keys_and_other_algorithms_are_not_believed() {
        let now = Timestamp::UNIX_EPOCH;
        let token = tokens(&[1]).make("ada", Role::User, now, 60).unwrap();
        assert_eq!(tokens(&[2]).verify(&token, now).unwrap_err(), TokenError::Invalid);
        assert!(tokens(&[2, 1]).verify(&token, now).is_ok());
        let claims = Claims { sub: "ada".into(), role: Role::Operator, iss: ISSUER.into(), iat: 0, exp: 60 };
        let forged =
            jsonwebtoken::encode(&Header::default(), &claims, &EncodingKey::from_secret(b"x")).unwrap();
        for bad in [forged.as_str(), "", "a.b.c", &token[..token.len() - 2]] {
            assert_eq!(tokens(&[1]).verify(bad, now).unwrap_err(), TokenError::Invalid, "{bad}");
        }
    }
}
