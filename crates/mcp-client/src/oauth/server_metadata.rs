//! The metadata of an authorization server (RFC 8414 or OpenID Connect): where it is, and whether it can be used.

use http::StatusCode;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;

use super::discover::{fetch_document, is_secure_url, well_known_url};
use super::error::{OAuthError, sanitize_foreign_text};
use super::requests::StepHttpClient;

const OAUTH_NAME: &str = "oauth-authorization-server";
const OPENID_NAME: &str = "openid-configuration";
/// Most authorization servers of one upstream that are tried.
const MAX_SERVERS: usize = 8;

/// An authorization server whose metadata passed all checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuthorizationServer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Url,
    pub(super) token_endpoint: Url,
    pub(super) registration_endpoint: Option<Url>,
    /// Whether its responses to the browser name the issuer (RFC 9207).
    pub(super) names_issuer: bool,
    /// Whether the URL of a metadata document can be a client id.
    pub(super) reads_client_documents: bool,
    /// Whether client secrets belong into the body: only if it does not accept them in a header.
    pub(super) secret_in_body: bool,
    /// Whether it knows the scope `offline_access`.
    pub(super) has_offline_access: bool,
}

/// The document, as far as it is used here.
#[derive(Debug, Deserialize)]
struct ServerDocument {
    issuer: Option<String>,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    scopes_supported: Option<Vec<String>>,
    response_types_supported: Option<Vec<String>>,
    code_challenge_methods_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default, deserialize_with = "is_true")]
    authorization_response_iss_parameter_supported: bool,
    #[serde(default, deserialize_with = "is_true")]
    client_id_metadata_document_supported: bool,
}

/// A place where metadata may be, and the issuer that it must name there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MetadataPlace {
    url: Url,
    issuer: Url,
}

/// Finds the authorization server of an upstream: the first usable one that it names, or the upstream itself if it
/// names none, as in the revision 2025-03-26.
pub(super) async fn find_server(
    upstream: &Url,
    named: &[Url],
    requests: &StepHttpClient,
) -> Result<AuthorizationServer, OAuthError> {
    if named.is_empty() {
        let document = read_first(requests, places_at_upstream(upstream)).await?;
        return check_server(upstream, document.ok_or(OAuthError::NoMetadata)?);
    }
    let mut refused = None;
    for server in named.iter().filter(|server| is_secure_url(server, upstream.scheme())).take(MAX_SERVERS) {
        match read_first(requests, places_of_server(server)).await {
            Ok(Some(document)) => return check_server(upstream, document),
            Ok(None) => {}
            // The next one may be at an address that may be called.
            Err(error @ OAuthError::Refused(_)) => refused = refused.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    let unusable = "none of the authorization servers that it names has usable metadata";
    Err(refused.unwrap_or_else(|| OAuthError::BadMetadata(unusable.to_owned())))
}

/// The first document. One that names another issuer ends the search: it is not merely missing.
async fn read_first(
    requests: &StepHttpClient,
    places: Vec<MetadataPlace>,
) -> Result<Option<ServerDocument>, OAuthError> {
    for place in places {
        let answer = fetch_document(requests, &place.url).await?;
        if answer.status() != StatusCode::OK {
            continue;
        }
        if let Ok(document) = serde_json::from_slice::<ServerDocument>(answer.body()) {
            check_issuer(&document, &place)?;
            return Ok(Some(document));
        }
    }
    Ok(None)
}

/// The places of a named server, in the order of MCP. All of them must name it as the issuer.
fn places_of_server(server: &Url) -> Vec<MetadataPlace> {
    let issuer = strip_well_known(server);
    metadata_urls(&issuer).into_iter().map(|url| MetadataPlace { url, issuer: issuer.clone() }).collect()
}

/// The same for an upstream that names no server. The issuer follows from the place.
fn places_at_upstream(upstream: &Url) -> Vec<MetadataPlace> {
    let mut issuer = upstream.clone();
    issuer.set_query(None);
    issuer.set_path(upstream.path().trim_end_matches('/'));
    let mut root = issuer.clone();
    root.set_path("");
    let is_root = |url: &Url| url.path() == format!("/.well-known/{OAUTH_NAME}");
    let place =
        |url: Url| MetadataPlace { issuer: if is_root(&url) { root.clone() } else { issuer.clone() }, url };
    metadata_urls(upstream).into_iter().map(place).collect()
}

fn metadata_urls(server: &Url) -> Vec<Url> {
    let path = server.path().trim_matches('/');
    let root = well_known_url(server, OAUTH_NAME, "");
    if path.is_empty() {
        return vec![root, well_known_url(server, OPENID_NAME, "")];
    }
    let mut appended = root.clone();
    appended.set_path(&format!("/{path}/.well-known/{OPENID_NAME}"));
    vec![well_known_url(server, OAUTH_NAME, path), well_known_url(server, OPENID_NAME, path), appended, root]
}

/// Some upstreams name the URL of the metadata instead of the issuer.
fn strip_well_known(named: &Url) -> Url {
    let mut server = named.clone();
    server.set_query(None);
    server.set_fragment(None);
    for name in [OAUTH_NAME, OPENID_NAME] {
        if let Some((before, after)) = named.path().split_once(&format!("/.well-known/{name}")) {
            server.set_path(&format!("{before}{after}"));
        }
    }
    server
}

fn check_issuer(document: &ServerDocument, place: &MetadataPlace) -> Result<(), OAuthError> {
    let Some(issuer) = &document.issuer else {
        return Err(OAuthError::BadMetadata("it names no issuer".to_owned()));
    };
    if is_issuer(issuer, &place.issuer) {
        return Ok(());
    }
    let text = format!("{} names another issuer than {}: {issuer}", place.url, place.issuer);
    Err(OAuthError::BadMetadata(sanitize_foreign_text(&text)))
}

/// Compared byte by byte, except that a URL parser adds a slash to a URL without a path.
fn is_issuer(issuer: &str, expected: &Url) -> bool {
    let expected_text = expected.as_str();
    issuer == expected_text || expected.path() == "/" && Some(issuer) == expected_text.strip_suffix('/')
}

/// Checks that the server can be used: with PKCE, with codes, and without exposing secrets.
fn check_server(upstream: &Url, document: ServerDocument) -> Result<AuthorizationServer, OAuthError> {
    let has = |list: &Option<Vec<String>>, wanted: &str| list.iter().flatten().any(|item| item == wanted);
    if !has(&document.code_challenge_methods_supported, "S256") {
        return Err(OAuthError::NoPkce);
    }
    if document.response_types_supported.is_some() && !has(&document.response_types_supported, "code") {
        let text = "its authorization server does not offer the response type `code`";
        return Err(OAuthError::BadMetadata(text.to_owned()));
    }
    let secure = |name, endpoint: &str| {
        let url = Url::parse(endpoint).ok().filter(|url| is_secure_url(url, upstream.scheme()));
        url.ok_or(OAuthError::Insecure(name))
    };
    let methods = &document.token_endpoint_auth_methods_supported;
    Ok(AuthorizationServer {
        authorization_endpoint: secure("authorization", &document.authorization_endpoint)?,
        token_endpoint: secure("token", &document.token_endpoint)?,
        registration_endpoint: document
            .registration_endpoint
            .as_deref()
            .map(|endpoint| secure("registration", endpoint))
            .transpose()?,
        names_issuer: document.authorization_response_iss_parameter_supported,
        reads_client_documents: document.client_id_metadata_document_supported,
        secret_in_body: has(methods, "client_secret_post") && !has(methods, "client_secret_basic"),
        has_offline_access: has(&document.scopes_supported, "offline_access"),
        issuer: document.issuer.unwrap_or_default(),
    })
}

/// Anything but `true` counts as not set.
fn is_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Value::deserialize(deserializer)? == Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn document(change: impl FnOnce(&mut Value)) -> ServerDocument {
        let mut metadata = json!({
            "issuer": "https://as.example",
            "authorization_endpoint": "https://as.example/authorize",
            "token_endpoint": "https://as.example/token",
            "registration_endpoint": "https://as.example/register",
            "code_challenge_methods_supported": ["plain", "S256"],
        });
        change(&mut metadata);
        serde_json::from_value(metadata).unwrap()
    }

    fn checked(upstream: &str, change: impl FnOnce(&mut Value)) -> Result<AuthorizationServer, OAuthError> {
        check_server(&url(upstream), document(change))
    }

    fn places(places: Vec<MetadataPlace>) -> Vec<(String, String)> {
        places.into_iter().map(|place| (place.url.path().to_owned(), place.issuer.to_string())).collect()
    }

    #[test]
    fn server_metadata_is_looked_for_in_the_order_of_the_specification() {
        let at = |paths: &[&str], issuer: &str| -> Vec<_> {
            paths.iter().map(|path| ((*path).to_owned(), issuer.to_owned())).collect()
        };
        let root = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];
        let with_path = [
            "/.well-known/oauth-authorization-server/t/1",
            "/.well-known/openid-configuration/t/1",
            "/t/1/.well-known/openid-configuration",
            "/.well-known/oauth-authorization-server",
        ];
        assert_eq!(places(places_of_server(&url("https://as.example"))), at(&root, "https://as.example/"));
        let tenant = at(&with_path, "https://as.example/t/1");
        assert_eq!(places(places_of_server(&url("https://as.example/t/1"))), tenant);
        for named in &with_path[..3] {
            assert_eq!(
                places(places_of_server(&url("https://as.example").join(named).unwrap())),
                tenant,
                "{named}"
            );
        }
        let slash = at(&with_path, "https://as.example/t/1/");
        assert_eq!(places(places_of_server(&url("https://as.example/t/1/"))), slash);
    }

    #[test]
    fn an_upstream_without_metadata_is_its_own_issuer() {
        let found = places(places_at_upstream(&url("https://mcp.example/mcp/?x=1")));
        let issuers: Vec<_> = found.iter().map(|(_, issuer)| issuer.as_str()).collect();
        let own = "https://mcp.example/mcp";
        assert_eq!(issuers, [own, own, own, "https://mcp.example/"]);
        assert_eq!(found[3].0, "/.well-known/oauth-authorization-server");
    }

    #[test]
    fn metadata_must_name_the_expected_issuer() {
        for (issuer, expected, same) in [
            ("https://as.example", "https://as.example", true),
            ("https://as.example/", "https://as.example", true),
            ("https://as.example/t", "https://as.example/t", true),
            ("https://as.example/t/", "https://as.example/t", false),
            ("https://as.example/t", "https://as.example/t/", false),
            ("https://AS.example", "https://as.example", false),
            ("https://as.example.evil.example", "https://as.example", false),
            ("http://as.example", "https://as.example", false),
            ("", "https://as.example", false),
        ] {
            let place = MetadataPlace { url: url("https://as.example/x"), issuer: url(expected) };
            let checked = check_issuer(&document(|metadata| metadata["issuer"] = json!(issuer)), &place);
            assert_eq!(checked.is_ok(), same, "{issuer} for {expected}");
        }
        let place = MetadataPlace { url: url("https://as.example/x"), issuer: url("https://as.example") };
        let without = check_issuer(&document(|metadata| metadata["issuer"] = json!(null)), &place);
        assert_eq!(without, Err(OAuthError::BadMetadata("it names no issuer".to_owned())));
    }

    #[test]
    fn good_metadata_pass() {
        let server = checked("https://mcp.example/mcp", |_| {}).unwrap();
        assert_eq!(server.issuer, "https://as.example");
        assert_eq!(server.token_endpoint, url("https://as.example/token"));
        assert!(!server.names_issuer && !server.reads_client_documents && !server.secret_in_body);
    }

    #[test]
    fn pkce_must_be_offered() {
        for methods in [json!(null), json!([]), json!(["plain"])] {
            let without = checked("https://mcp.example/mcp", |metadata| {
                metadata["code_challenge_methods_supported"] = methods.clone();
            });
            assert_eq!(without, Err(OAuthError::NoPkce), "{methods}");
        }
    }

    #[test]
    fn codes_must_be_offered() {
        let with = |types: Value| {
            checked("https://mcp.example/mcp", |metadata| metadata["response_types_supported"] = types)
        };
        assert!(matches!(with(json!(["token"])), Err(OAuthError::BadMetadata(_))));
        assert!(with(json!(["token", "code"])).is_ok());
    }

    #[test]
    fn endpoints_are_https_unless_the_upstream_is_not() {
        for name in ["authorization", "token", "registration"] {
            let field = format!("{name}_endpoint");
            for endpoint in
                ["http://as.example/x", "javascript:alert(1)", "https://as.example@evil.example/x", "/x", ""]
            {
                let change = |metadata: &mut Value| metadata[&field] = json!(endpoint);
                assert_eq!(checked("https://mcp.example/mcp", change), Err(OAuthError::Insecure(name)));
            }
            let plain = |metadata: &mut Value| metadata[&field] = json!("http://127.0.0.1/x");
            assert!(checked("http://127.0.0.1/mcp", plain).is_ok());
            let script = |metadata: &mut Value| metadata[&field] = json!("javascript:alert(1)");
            assert_eq!(checked("http://127.0.0.1/mcp", script), Err(OAuthError::Insecure(name)));
        }
    }

    #[test]
    fn flags_count_only_if_they_are_true() {
        for (value, set) in [(json!(true), true), (json!("true"), false), (json!(null), false)] {
            let server = checked("https://mcp.example/mcp", |metadata| {
                metadata["client_id_metadata_document_supported"] = value.clone();
                metadata["authorization_response_iss_parameter_supported"] = value.clone();
            });
            let server = server.unwrap();
            assert_eq!((server.reads_client_documents, server.names_issuer), (set, set), "{value}");
        }
    }

    #[test]
    fn a_secret_goes_into_the_body_only_if_the_header_is_not_accepted() {
        for (methods, in_body) in [
            (json!(null), false),
            (json!(["client_secret_basic", "client_secret_post"]), false),
            (json!(["none", "client_secret_post"]), true),
        ] {
            let server = checked("https://mcp.example/mcp", |metadata| {
                metadata["token_endpoint_auth_methods_supported"] = methods.clone();
            });
            assert_eq!(server.unwrap().secret_in_body, in_body, "{methods}");
        }
    }
}
