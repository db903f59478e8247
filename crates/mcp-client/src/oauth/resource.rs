//! The metadata of an upstream as a protected resource (RFC 9728): where it is, and whether it is the upstream's own.

use http::StatusCode;
use http::header::WWW_AUTHENTICATE;
use serde::Deserialize;
use url::Url;

use super::challenge::{ParsedChallenge, parse_challenge, parse_header};
use super::discover::{fetch_document, well_known_url};
use super::error::{OAuthError, sanitize_foreign_text};
use super::requests::StepHttpClient;

const WELL_KNOWN_NAME: &str = "oauth-protected-resource";

/// What an upstream says about itself. An upstream without metadata is described by its URL alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProtectedResource {
    /// Its identifier, exactly as it writes it: the `resource` of RFC 8707.
    pub(super) identifier: String,
    /// The authorization servers that it trusts.
    pub(super) servers: Vec<Url>,
    /// The scopes of its challenge, or else of its metadata.
    pub(super) scopes: Vec<String>,
}

/// The document of RFC 9728.
#[derive(Debug, Deserialize)]
struct ResourceDocument {
    resource: Option<String>,
    authorization_servers: Option<Vec<String>>,
    /// The name in drafts of RFC 9728.
    authorization_server: Option<String>,
    scopes_supported: Option<Vec<String>>,
}

/// Who says that the metadata is at a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UrlSource {
    /// The upstream, in a challenge. A document of another resource there is an error.
    Challenge,
    /// Nobody. Another document there means nothing.
    WellKnown,
}

/// Reads the metadata: at the URL in the challenge, or else in a new challenge, or else at the well-known paths.
pub(super) async fn describe_resource(
    upstream: &Url,
    requests: &StepHttpClient,
    challenge: Option<&str>,
) -> Result<ProtectedResource, OAuthError> {
    let mut search = ResourceSearch { upstream, requests, requested: Vec::new() };
    let stored = challenge.and_then(|header| parse_header(upstream, header));
    let (document, challenge) = match search.read_challenged(stored.as_ref()).await? {
        Some(document) => (Some(document), stored),
        None => {
            let fresh = search.request_challenge().await?;
            let document = match search.read_challenged(Some(&fresh)).await? {
                Some(document) => Some(document),
                None => search.read_well_known().await?,
            };
            (document, stored.or(Some(fresh)))
        }
    };
    let challenged = challenge.map(|challenge| challenge.scopes).unwrap_or_default();
    let mut resource = document.unwrap_or_else(|| ProtectedResource {
        identifier: upstream.to_string(),
        servers: Vec::new(),
        scopes: Vec::new(),
    });
    if !challenged.is_empty() {
        resource.scopes = challenged;
    }
    Ok(resource)
}

struct ResourceSearch<'a> {
    upstream: &'a Url,
    requests: &'a StepHttpClient,
    /// A challenge may name a well-known path.
    requested: Vec<Url>,
}

impl ResourceSearch<'_> {
    /// Requests the upstream without credentials, only for its challenge.
    async fn request_challenge(&self) -> Result<ParsedChallenge, OAuthError> {
        let answer = fetch_document(self.requests, self.upstream).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(ParsedChallenge::default());
        }
        let headers = answer.headers().get_all(WWW_AUTHENTICATE).iter();
        Ok(parse_challenge(self.upstream, headers.filter_map(|value| value.to_str().ok())))
    }

    async fn read_challenged(
        &mut self,
        challenge: Option<&ParsedChallenge>,
    ) -> Result<Option<ProtectedResource>, OAuthError> {
        let Some(url) = challenge.and_then(|challenge| challenge.metadata_url.clone()) else {
            return Ok(None);
        };
        match self.read_at(url, UrlSource::Challenge).await {
            // An address that may not be requested is as good as none: the upstream itself is still there.
            Err(OAuthError::Refused(_)) => Ok(None),
            read => read,
        }
    }

    async fn read_well_known(&mut self) -> Result<Option<ProtectedResource>, OAuthError> {
        for url in well_known_urls(self.upstream) {
            if let Some(resource) = self.read_at(url, UrlSource::WellKnown).await? {
                return Ok(Some(resource));
            }
        }
        Ok(None)
    }

    async fn read_at(
        &mut self,
        url: Url,
        source: UrlSource,
    ) -> Result<Option<ProtectedResource>, OAuthError> {
        if self.requested.contains(&url) {
            return Ok(None);
        }
        self.requested.push(url.clone());
        let answer = fetch_document(self.requests, &url).await?;
        let document = (answer.status() == StatusCode::OK)
            .then(|| serde_json::from_slice::<ResourceDocument>(answer.body()).ok())
            .flatten();
        let Some(document) = document else { return Ok(None) };
        match check_document(self.upstream, &url, document) {
            Err(_) if source == UrlSource::WellKnown => Ok(None),
            checked => checked.map(Some),
        }
    }
}

/// The places of RFC 9728 in the order of MCP: with the path of the upstream, then at the root. Some servers append
/// the well-known path to their own.
fn well_known_urls(upstream: &Url) -> Vec<Url> {
    let path = upstream.path().trim_matches('/');
    let root = well_known_url(upstream, WELL_KNOWN_NAME, "");
    if path.is_empty() {
        return vec![root];
    }
    let mut appended = root.clone();
    appended.set_path(&format!("/{path}/.well-known/{WELL_KNOWN_NAME}"));
    vec![well_known_url(upstream, WELL_KNOWN_NAME, path), root, appended]
}

/// Checks that the document describes this upstream and not another one.
fn check_document(
    upstream: &Url,
    url: &Url,
    document: ResourceDocument,
) -> Result<ProtectedResource, OAuthError> {
    let bad = |text: String| OAuthError::BadMetadata(sanitize_foreign_text(&text));
    let identifier = document.resource.ok_or_else(|| bad(format!("{url} names no resource")))?;
    if !Url::parse(&identifier).is_ok_and(|resource| covers_upstream(&resource, upstream)) {
        return Err(bad(format!("{url} describes another resource than {upstream}: {identifier}")));
    }
    let listed =
        document.authorization_server.into_iter().chain(document.authorization_servers.into_iter().flatten());
    let mut servers = Vec::new();
    for server in
        listed.filter(|server| !server.trim().is_empty()).filter_map(|server| url.join(server.trim()).ok())
    {
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    Ok(ProtectedResource { identifier, servers, scopes: document.scopes_supported.unwrap_or_default() })
}

/// Whether the identifier is the upstream's URL or a parent path of it. A query may select something within the
/// resource.
fn covers_upstream(resource: &Url, upstream: &Url) -> bool {
    let rest = upstream.path().strip_prefix(resource.path());
    let is_parent =
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || resource.path().ends_with('/'));
    resource.fragment().is_none() && resource.origin() == upstream.origin() && is_parent
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn checked(document: Value) -> Result<ProtectedResource, OAuthError> {
        let document = serde_json::from_value(document).unwrap();
        check_document(&url("https://mcp.example/a/mcp"), &url("https://mcp.example/prm"), document)
    }

    #[test]
    fn resource_metadata_is_looked_for_at_the_path_first_and_then_at_the_root() {
        let urls = |upstream: &str| {
            well_known_urls(&url(upstream)).into_iter().map(String::from).collect::<Vec<_>>()
        };
        let expected = [
            "https://mcp.example/.well-known/oauth-protected-resource/a/mcp",
            "https://mcp.example/.well-known/oauth-protected-resource",
            "https://mcp.example/a/mcp/.well-known/oauth-protected-resource",
        ];
        assert_eq!(urls("https://mcp.example/a/mcp?tenant=1"), expected);
        assert_eq!(urls("https://mcp.example/a/mcp/"), expected);
        assert_eq!(urls("https://mcp.example"), expected[1..2]);
    }

    #[test]
    fn a_document_describes_the_upstream_or_a_parent_of_it() {
        for own in [
            "https://mcp.example/a/mcp",
            "https://mcp.example/a",
            "https://mcp.example",
            "https://MCP.example:443/a/",
        ] {
            let resource = checked(json!({ "resource": own })).unwrap();
            assert_eq!(resource.identifier, own);
        }
        for other in [
            "https://evil.example/a/mcp",
            "http://mcp.example/a/mcp",
            "https://mcp.example:444/a/mcp",
            "https://mcp.example/a/mcp/more",
            "https://mcp.example/a/m",
            "https://mcp.example/a/mcp#part",
            "urn:mcp",
            "",
        ] {
            let refused = checked(json!({ "resource": other }));
            assert!(matches!(refused, Err(OAuthError::BadMetadata(_))), "{other}: {refused:?}");
        }
        assert!(checked(json!({ "authorization_servers": ["https://as.example"] })).is_err());
    }

    #[test]
    fn each_authorization_server_is_named_once() {
        let resource = checked(json!({
            "resource": "https://mcp.example/a/mcp",
            "authorization_server": "https://as.example",
            "authorization_servers": ["https://as.example/", " ", "https://other.example/t", "https://["],
            "scopes_supported": ["read"],
        }));
        let resource = resource.unwrap();
        assert_eq!(resource.servers, [url("https://as.example"), url("https://other.example/t")]);
        assert_eq!(resource.scopes, ["read"]);
    }
}
