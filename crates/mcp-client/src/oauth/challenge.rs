//! Parses the challenge with which a server refuses a request.

use http::Uri;
use rmcp::transport::auth::WWWAuthenticateParams;
use url::Url;

use crate::AuthChallenge;

/// Longest header that is read, in bytes.
const MAX_CHALLENGE_BYTES: usize = 4 * 1024;

/// What a challenge asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ParsedChallenge {
    /// The header to start from; `None` if no header names a place or scopes to authorize.
    pub(super) header: Option<String>,
    /// The token is valid but lacks scopes.
    pub(super) insufficient: bool,
    /// The scopes that the request needs.
    pub(super) scopes: Vec<String>,
}

/// Reads the headers. The first one with usable parameters wins.
pub(super) fn parse_challenge(url: &Uri, challenge: &AuthChallenge) -> ParsedChallenge {
    let Ok(base) = Url::parse(&url.to_string()) else { return ParsedChallenge::default() };
    let headers = challenge.www_authenticate.iter().filter(|header| header.len() <= MAX_CHALLENGE_BYTES);
    for header in headers {
        let parameters = WWWAuthenticateParams::parse(header, &base);
        let insufficient = parameters.is_insufficient_scope();
        if parameters.resource_metadata_url.is_none() && parameters.scope.is_none() && !insufficient {
            continue;
        }
        let scopes = parameters.scope.as_deref().unwrap_or_default();
        let scopes = scopes.split_whitespace().map(str::to_owned).collect();
        return ParsedChallenge { header: Some(header.clone()), insufficient, scopes };
    }
    ParsedChallenge::default()
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn asked(headers: &[&str]) -> ParsedChallenge {
        let www_authenticate = headers.iter().map(|header| (*header).to_owned()).collect();
        let challenge = AuthChallenge { status: StatusCode::UNAUTHORIZED, www_authenticate };
        parse_challenge(&Uri::from_static("https://mcp.example/mcp"), &challenge)
    }

    #[test]
    fn the_first_usable_challenge_header_wins() {
        let bearer = r#"Bearer resource_metadata="https://mcp.example/prm", scope="a b""#;
        let read = asked(&["Basic realm=\"x\"", bearer, "Bearer scope=c"]);
        let scopes = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(read, ParsedChallenge { header: Some(bearer.to_owned()), insufficient: false, scopes });
    }

    #[test]
    fn an_insufficient_scope_is_recognized() {
        let header = r#"Bearer error="insufficient_scope", scope="write""#;
        let read = asked(&[header]);
        assert!(read.insufficient);
        assert_eq!(read.scopes, ["write"]);
        assert!(!asked(&[r#"Bearer error="invalid_token", scope="write""#]).insufficient);
    }

    #[test]
    fn missing_and_too_long_challenges_are_ignored() {
        assert_eq!(asked(&[]), ParsedChallenge::default());
        assert_eq!(asked(&["Bearer", "Basic realm=\"x\""]), ParsedChallenge::default());
        let long = format!("Bearer scope=\"{}\"", "a".repeat(MAX_CHALLENGE_BYTES));
        assert_eq!(asked(&[&long]), ParsedChallenge::default());
    }

    #[test]
    fn challenge_metadata_at_a_foreign_origin_is_ignored() {
        let read = asked(&[r#"Bearer resource_metadata="http://169.254.169.254/prm""#]);
        assert_eq!(read, ParsedChallenge::default());
    }
}
