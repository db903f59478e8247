//! The link that a user opens to consent.

use url::Url;

use super::discover::DiscoveredServer;
use super::error::OAuthError;
use super::record::OAuthClient;

/// Longest authorization link, in bytes.
const MAX_LINK_BYTES: usize = 8 * 1024;

/// Builds the link. `challenge` is that of PKCE.
pub(super) fn build_link(
    found: &DiscoveredServer,
    client: &OAuthClient,
    scopes: &[String],
    state: &str,
    challenge: &str,
) -> Result<String, OAuthError> {
    let mut link: Url = found.server.authorization_endpoint.clone();
    link.set_fragment(None);
    let scopes = scopes.join(" ");
    let parameters = [
        ("response_type", "code"),
        ("client_id", client.id.as_str()),
        ("state", state),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256"),
        ("redirect_uri", client.redirect_uri.as_str()),
        ("scope", scopes.as_str()),
        ("resource", found.resource.as_str()),
    ];
    let filled = parameters.into_iter().filter(|(_, value)| !value.is_empty());
    link.query_pairs_mut().extend_pairs(filled);
    let link = String::from(link);
    if link.len() > MAX_LINK_BYTES {
        return Err(OAuthError::BadMetadata("its authorization endpoint is too long".to_owned()));
    }
    Ok(link)
}

#[cfg(test)]
mod tests {
    use super::super::server_metadata::AuthorizationServer;
    use super::*;

    fn link(endpoint: &str, scopes: &[String]) -> Result<String, OAuthError> {
        let server = AuthorizationServer {
            issuer: "https://as.example".to_owned(),
            authorization_endpoint: Url::parse(endpoint).unwrap(),
            token_endpoint: Url::parse("https://as.example/token").unwrap(),
            registration_endpoint: None,
            names_issuer: false,
            reads_client_documents: false,
            secret_in_body: false,
            has_offline_access: false,
        };
        let found =
            DiscoveredServer { server, resource: "https://mcp.example/mcp".to_owned(), scopes: Vec::new() };
        let client = OAuthClient {
            id: "id&x".to_owned(),
            secret: None,
            redirect_uri: "https://yard.example/cb".to_owned(),
        };
        build_link(&found, &client, scopes, "the-state", "the-challenge")
    }

    #[test]
    fn a_link_keeps_the_query_of_its_endpoint() {
        let expected = "https://as.example/a?tenant=1&response_type=code&client_id=id%26x&state=the-state\
                        &code_challenge=the-challenge&code_challenge_method=S256\
                        &redirect_uri=https%3A%2F%2Fyard.example%2Fcb&scope=read+write\
                        &resource=https%3A%2F%2Fmcp.example%2Fmcp";
        let scopes = ["read".to_owned(), "write".to_owned()];
        assert_eq!(link("https://as.example/a?tenant=1#part", &scopes).as_deref(), Ok(expected));
        assert!(!link("https://as.example/a", &[]).unwrap().contains("scope"));
    }

    #[test]
    fn long_links_are_refused() {
        let long = format!("https://as.example/{}", "a".repeat(MAX_LINK_BYTES));
        assert!(matches!(link(&long, &[]), Err(OAuthError::BadMetadata(_))));
    }
}
