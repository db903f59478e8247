//! The `WWW-Authenticate` header with which the resource refuses a request.

use crate::{error::OAuthErrorCode, scope::ScopeSet};

/// Longest URL in a challenge, in bytes. A longer one is left out.
const MAX_URL_BYTES: usize = 2 * 1024;

/// Whether a request that is answered with 401 had a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenPresence {
    /// It had none, so there is no error to report (RFC 6750, 3.1).
    Missing,
    /// It had one that is expired, revoked or not ours.
    Invalid,
}

/// The challenge of a 401. `scopes` are those that a client should request first.
pub fn unauthorized_challenge(presence: TokenPresence, resource_metadata: &str, scopes: &ScopeSet) -> String {
    let mut challenge = ChallengeWriter::new();
    if presence == TokenPresence::Invalid {
        challenge.add("error", OAuthErrorCode::InvalidToken.as_str());
        challenge
            .add("error_description", "the token is expired, revoked or not for this server; get a new one");
    }
    challenge.add_url("resource_metadata", resource_metadata);
    challenge.add_scopes(scopes);
    challenge.text
}

/// The challenge of a 403: the token is valid and lacks scopes. `needed` are all scopes of the operation, so that one
/// step-up is enough, also for a client that replaces its scopes instead of adding to them.
pub fn insufficient_scope_challenge(resource_metadata: &str, needed: &ScopeSet) -> String {
    let mut challenge = ChallengeWriter::new();
    challenge.add("error", OAuthErrorCode::InsufficientScope.as_str());
    challenge.add_scopes(needed);
    challenge.add_url("resource_metadata", resource_metadata);
    challenge.add("error_description", "the token lacks a scope; authorize again with all of these scopes");
    challenge.text
}

struct ChallengeWriter {
    text: String,
}

impl ChallengeWriter {
    fn new() -> Self {
        Self { text: "Bearer".to_owned() }
    }

    fn add_scopes(&mut self, scopes: &ScopeSet) {
        if !scopes.is_empty() {
            self.add("scope", &scopes.to_string());
        }
    }

    fn add_url(&mut self, name: &str, url: &str) {
        if (1..=MAX_URL_BYTES).contains(&url.len()) {
            self.add(name, url);
        }
    }

    /// Adds a quoted string (RFC 9110, 5.6.4). What cannot be in a header is left out, so that a value can neither
    /// end the string nor the header.
    fn add(&mut self, name: &str, value: &str) {
        self.text.push_str(if self.text.ends_with('"') { ", " } else { " " });
        self.text.push_str(name);
        self.text.push_str("=\"");
        for char in value.chars().filter(|char| matches!(char, ' '..='~')) {
            if matches!(char, '"' | '\\') {
                self.text.push('\\');
            }
            self.text.push(char);
        }
        self.text.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = "https://tools.example.com/.well-known/oauth-protected-resource/mcp";

    fn scopes(text: &str) -> ScopeSet {
        ScopeSet::parse(text).unwrap().scopes
    }

    #[test]
    fn a_401_names_the_metadata_and_the_first_scopes() {
        let challenge = unauthorized_challenge(TokenPresence::Missing, METADATA, &scopes("tools:read"));
        assert_eq!(challenge, format!(r#"Bearer resource_metadata="{METADATA}", scope="tools:read""#));
        let challenge = unauthorized_challenge(TokenPresence::Invalid, METADATA, &ScopeSet::default());
        let start = r#"Bearer error="invalid_token", error_description="the token is"#;
        assert!(challenge.starts_with(start) && !challenge.contains(" scope="), "{challenge}");
        assert!(challenge.ends_with(&format!(r#"resource_metadata="{METADATA}""#)), "{challenge}");
    }

    #[test]
    fn a_403_names_all_scopes_at_once() {
        let challenge =
            insufficient_scope_challenge(METADATA, &scopes("tools:destructive apps:a tools:read"));
        let start = format!(
            r#"Bearer error="insufficient_scope", scope="tools:read tools:destructive apps:a", resource_metadata="{METADATA}","#
        );
        assert!(challenge.starts_with(&start), "{challenge}");
    }

    #[test]
    fn values_cannot_leave_their_quotes() {
        let hostile = "https://a.example/\"\\\r\nX-Evil: 1, ä";
        let challenge = unauthorized_challenge(TokenPresence::Missing, hostile, &ScopeSet::default());
        assert_eq!(challenge, r#"Bearer resource_metadata="https://a.example/\"\\X-Evil: 1, ""#);
        let long = format!("https://a.example/{}", "x".repeat(MAX_URL_BYTES));
        let challenge = unauthorized_challenge(TokenPresence::Missing, &long, &ScopeSet::default());
        assert_eq!(challenge, "Bearer");
    }
}
