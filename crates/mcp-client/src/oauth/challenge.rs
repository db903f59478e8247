//! What a server says when it turns a request away.

use http::Uri;
use rmcp::transport::auth::WWWAuthenticateParams;
use url::Url;

use crate::AuthChallenge;

/// Longest header that is looked at, in bytes.
const MAX_CHALLENGE_BYTES: usize = 4 * 1024;

/// What was understood of a challenge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ParsedChallenge {
    /// The header to begin with; `None` if no header says where to authorize or for what.
    pub(super) header: Option<String>,
    /// The token is fine, and not for this.
    pub(super) insufficient: bool,
    /// What the request needs.
    pub(super) scopes: Vec<String>,
}

/// Reads the headers. Of several, the first that says something is believed.
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
    fn the_first_header_that_says_something_is_read() {
        let bearer = r#"Bearer resource_metadata="https://mcp.example/prm", scope="a b""#;
        let read = asked(&["Basic realm=\"x\"", bearer, "Bearer scope=c"]);
        let scopes = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(read, ParsedChallenge { header: Some(bearer.to_owned()), insufficient: false, scopes });
    }

    #[test]
    fn a_want_of_scope_is_told_apart() {
        let header = r#"Bearer error="insufficient_scope", scope="write""#;
        let read = asked(&[header]);
        assert!(read.insufficient);
        assert_eq!(read.scopes, ["write"]);
        assert!(!asked(&[r#"Bearer error="invalid_token", scope="write""#]).insufficient);
    }

    #[test]
    fn nothing_and_far_too_much_say_nothing() {
        assert_eq!(asked(&[]), ParsedChallenge::default());
        assert_eq!(asked(&["Bearer", "Basic realm=\"x\""]), ParsedChallenge::default());
        let long = format!("Bearer scope=\"{}\"", "a".repeat(MAX_CHALLENGE_BYTES));
        assert_eq!(asked(&[&long]), ParsedChallenge::default());
    }

    #[test]
    fn metadata_elsewhere_on_this_machine_is_not_believed() {
        let read = asked(&[r#"Bearer resource_metadata="http://169.254.169.254/prm""#]);
        assert_eq!(read, ParsedChallenge::default());
    }
}
