//! ID tokens of an identity provider at which people sign in here (OpenID Connect Core 3.1.3.7).

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::jwt::{AssertionError, CLOCK_LEEWAY_S, KeySet, verify_signature};

/// Longest subject, in bytes (OpenID Connect Core 2).
pub const MAX_SUBJECT_BYTES: usize = 255;

/// What an ID token must say.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedIdToken<'a> {
    /// The issuer, exactly.
    pub issuer: &'a str,
    /// Our client id there.
    pub client_id: &'a str,
    /// What we sent with the request that this is the response to.
    pub nonce: &'a str,
    /// The time.
    pub now: Timestamp,
}

/// Verifies an ID token and returns its claims.
pub fn verify_issuer_id_token(
    token: &str,
    keys: &KeySet,
    expected: ExpectedIdToken<'_>,
) -> Result<Map<String, Value>, AssertionError> {
    let is_type = |typ: Option<&str>| typ.is_none_or(|typ| typ.eq_ignore_ascii_case("jwt"));
    let claims: Map<String, Value> = verify_signature(token, keys, is_type)?;
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    if text("iss") != Some(expected.issuer) {
        return Err(AssertionError::Issuer);
    }
    if !is_for_client(&claims, expected.client_id) {
        return Err(AssertionError::Audience);
    }
    let now = expected.now.as_second();
    let second = |name: &str| {
        let claim = claims.get(name)?;
        claim.as_i64().or_else(|| claim.as_f64().map(|seconds| seconds as i64))
    };
    if second("exp").ok_or(AssertionError::Claim("exp"))? <= now - CLOCK_LEEWAY_S {
        return Err(AssertionError::Expired);
    }
    if second("iat").ok_or(AssertionError::Claim("iat"))? > now + CLOCK_LEEWAY_S
        || second("nbf").is_some_and(|from| from > now + CLOCK_LEEWAY_S)
    {
        return Err(AssertionError::NotYetValid);
    }
    if text("nonce") != Some(expected.nonce) {
        return Err(AssertionError::Claim("nonce"));
    }
    let subject = text("sub").filter(|subject| (1..=MAX_SUBJECT_BYTES).contains(&subject.len()));
    subject.ok_or(AssertionError::Claim("sub"))?;
    Ok(claims)
}

/// Whether `aud` contains our client id, and `azp`, if present, equals it. With several audiences, `azp` is required.
fn is_for_client(claims: &Map<String, Value>, client_id: &str) -> bool {
    let party = claims.get("azp").map(|party| party.as_str() == Some(client_id));
    match claims.get("aud") {
        Some(Value::String(audience)) => audience == client_id && party.unwrap_or(true),
        Some(Value::Array(audiences)) => {
            let names_us = audiences.iter().any(|audience| audience.as_str() == Some(client_id));
            names_us && party.unwrap_or(audiences.len() == 1)
        }
        _ => false,
    }
}
