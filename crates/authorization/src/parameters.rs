//! The parameters of a request: a query, or the form of a POST.
//!
//! RFC 6749 forbids to send a parameter twice. Two readers of the same request must never see two values, so a
//! duplicate is refused here instead of being resolved.

use std::fmt;

use url::form_urlencoded;

/// Largest query or form, in bytes. A client assertion and an identity assertion fit into it together.
pub const MAX_PARAMETERS_BYTES: usize = 64 * 1024;
/// Most parameters of one request.
pub const MAX_PARAMETERS: usize = 64;

/// Parameters that this crate reads. A message names only these, so that it never repeats foreign text.
const KNOWN_NAMES: [&str; 26] = [
    "assertion",
    "client_assertion",
    "client_assertion_type",
    "client_id",
    "client_secret",
    "code",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "device_code",
    "grant_type",
    "login_hint",
    "max_age",
    "nonce",
    "prompt",
    "redirect_uri",
    "refresh_token",
    "request",
    "request_uri",
    "resource",
    "response_mode",
    "response_type",
    "scope",
    "state",
    "token",
    "token_type_hint",
];

/// Parameters that cannot be read, or one that has a bad value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The request is too large.
    #[error("the request is larger than {MAX_PARAMETERS_BYTES} bytes; send shorter parameters")]
    TooLarge,
    /// The request has too many parameters.
    #[error("the request has more than {MAX_PARAMETERS} parameters; send only those of OAuth")]
    TooMany,
    /// A parameter is there twice. An unknown one is not named.
    #[error("the parameter `{0}` is there more than once; send each parameter once")]
    Duplicated(&'static str),
    /// A required parameter is missing or empty.
    #[error("the parameter `{0}` is missing; add it")]
    Missing(&'static str),
    /// A parameter is too long.
    #[error("the parameter `{0}` is longer than {1} bytes; shorten it")]
    TooLong(&'static str, usize),
    /// A parameter has a value that is not allowed.
    #[error("the parameter `{0}` is not valid: {1}")]
    Invalid(&'static str, &'static str),
}

/// The parameters of one request. Parameters without a value count as omitted (RFC 6749, 3.1).
#[derive(Clone, PartialEq, Eq)]
pub struct RequestParameters(Vec<(String, String)>);

impl RequestParameters {
    /// Reads a query without its `?`, or the body of a form.
    pub fn parse(encoded: &[u8]) -> Result<Self, ParameterError> {
        if encoded.len() > MAX_PARAMETERS_BYTES {
            return Err(ParameterError::TooLarge);
        }
        Self::from_pairs(form_urlencoded::parse(encoded).into_owned())
    }

    /// From decoded pairs.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, ParameterError> {
        let (mut kept, mut bytes) = (Vec::new(), 0);
        for (name, value) in pairs {
            bytes += name.len() + value.len();
            if kept.len() == MAX_PARAMETERS {
                return Err(ParameterError::TooMany);
            }
            // Percent-decoding never makes a text longer, but replacing invalid UTF-8 can triple it.
            if bytes > 3 * MAX_PARAMETERS_BYTES {
                return Err(ParameterError::TooLarge);
            }
            kept.push((name, value));
        }
        Ok(Self(kept))
    }

    /// Refuses a request in which any parameter is there twice, also one that this crate does not know.
    pub fn refuse_duplicates(&self) -> Result<(), ParameterError> {
        match self.0.iter().find(|(name, _)| self.is_duplicated(name)) {
            Some((name, _)) => Err(ParameterError::Duplicated(known_name(name))),
            None => Ok(()),
        }
    }

    /// Whether a parameter is there more than once, with or without a value.
    pub(crate) fn is_duplicated(&self, name: &str) -> bool {
        self.0.iter().filter(|(other, _)| other == name).nth(1).is_some()
    }

    /// A parameter that is there once and has a value.
    pub(crate) fn get(&self, name: &'static str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(other, _)| other == name).map(|(_, value)| value.as_str());
        let first = values.next()?;
        (values.next().is_none() && !first.is_empty()).then_some(first)
    }

    /// An optional parameter of at most `max` bytes.
    pub(crate) fn optional(&self, name: &'static str, max: usize) -> Result<Option<&str>, ParameterError> {
        match self.get(name) {
            Some(value) if value.len() > max => Err(ParameterError::TooLong(name, max)),
            value => Ok(value),
        }
    }

    /// A required parameter of at most `max` bytes.
    pub(crate) fn required(&self, name: &'static str, max: usize) -> Result<&str, ParameterError> {
        self.optional(name, max)?.ok_or(ParameterError::Missing(name))
    }
}

impl fmt::Debug for RequestParameters {
    /// Names only: values are codes, secrets and tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| known_name(name))).finish()
    }
}

fn known_name(name: &str) -> &'static str {
    KNOWN_NAMES.into_iter().find(|known| *known == name).unwrap_or("(unknown)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(query: &str) -> RequestParameters {
        RequestParameters::parse(query.as_bytes()).unwrap()
    }

    #[test]
    fn values_are_decoded_and_empty_ones_are_omitted() {
        let read = parameters("client_id=a+b%26c&state=&scope");
        assert_eq!(
            (read.get("client_id"), read.get("state"), read.get("scope")),
            (Some("a b&c"), None, None)
        );
        assert_eq!(read.required("state", 9), Err(ParameterError::Missing("state")));
    }

    #[test]
    fn duplicates_are_refused_and_read_as_missing() {
        let read = parameters("code=a&code=b&state=x");
        assert_eq!(read.refuse_duplicates(), Err(ParameterError::Duplicated("code")));
        assert_eq!((read.get("code"), read.get("state")), (None, Some("x")));
        assert_eq!(
            parameters("evil=1&evil=").refuse_duplicates(),
            Err(ParameterError::Duplicated("(unknown)"))
        );
        assert_eq!(parameters("code=a&state=b").refuse_duplicates(), Ok(()));
    }

    #[test]
    fn requests_are_bounded() {
        let large = format!("a={}", "x".repeat(MAX_PARAMETERS_BYTES));
        assert_eq!(RequestParameters::parse(large.as_bytes()), Err(ParameterError::TooLarge));
        let invalid = [&b"a="[..], &[0xff; MAX_PARAMETERS_BYTES - 2]].concat();
        assert!(RequestParameters::parse(&invalid).is_ok());
        let huge = [("a".to_owned(), "x".repeat(3 * MAX_PARAMETERS_BYTES))];
        assert_eq!(RequestParameters::from_pairs(huge), Err(ParameterError::TooLarge));
        let many = |count: usize| (0..count).map(|n| format!("p{n}=1&")).collect::<String>();
        assert!(RequestParameters::parse(many(MAX_PARAMETERS).as_bytes()).is_ok());
        let too_many = many(MAX_PARAMETERS + 1);
        assert_eq!(RequestParameters::parse(too_many.as_bytes()), Err(ParameterError::TooMany));
        assert_eq!(parameters("state=1234").optional("state", 4), Ok(Some("1234")));
        assert_eq!(parameters("state=12345").optional("state", 4), Err(ParameterError::TooLong("state", 4)));
    }

    #[test]
    fn debug_shows_no_values() {
        let shown = format!("{:?}", parameters("client_secret=sesame&sesame=1"));
        assert_eq!(shown, r#"{"client_secret", "(unknown)"}"#);
    }
}
