//! Requests that are accepted, and the two ways in which others fail.

use toolyard_protocol::secret::SecretText;
use url::Url;

use super::*;
use crate::{
    client::{OAuthClient, tests::public_client},
    error::OAuthErrorCode,
    grant_type::GrantType,
    parameters::{ParameterError, RequestParameters},
    redirect::RedirectError,
    resource::AcceptedResources,
    scope::OAuthScope,
};

const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const ISSUER: &str = "https://tools.example.com";

/// A good request with changed parameters: an empty value removes one.
fn query(changes: &[(&str, &str)]) -> String {
    let mut pairs = vec![
        ("response_type", "code"),
        ("client_id", "the-client"),
        ("redirect_uri", "https://client.example/cb"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "the state"),
    ];
    for (name, value) in changes {
        pairs.retain(|(other, _)| other != name);
        pairs.push((name, value));
    }
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

fn validate_for(client: &OAuthClient, query: &str) -> Result<ValidAuthorizeRequest, AuthorizeRefusal> {
    let resources = AcceptedResources::single(format!("{ISSUER}/mcp").parse().unwrap());
    let rules = AuthorizeRules {
        issuer: &ISSUER.parse().unwrap(),
        resources: &resources,
        default_scopes: &ScopeSet::from([OAuthScope::ToolsRead]),
    };
    let parameters = RequestParameters::parse(query.as_bytes()).map_err(AuthorizePageError::from)?;
    AuthorizeQuery::parse(parameters)?.validate(client, &rules)
}

fn validate(changes: &[(&str, &str)]) -> Result<ValidAuthorizeRequest, AuthorizeRefusal> {
    validate_for(&public_client(), &query(changes))
}

fn redirected(
    result: Result<ValidAuthorizeRequest, AuthorizeRefusal>,
) -> (AuthorizeError, Vec<(String, String)>) {
    match result {
        Err(AuthorizeRefusal::Redirect { error, location }) => {
            let location = Url::parse(&location).unwrap();
            assert_eq!(location.origin().ascii_serialization(), "https://client.example");
            (error, location.query_pairs().into_owned().collect())
        }
        other => panic!("not redirected: {other:?}"),
    }
}

#[test]
fn a_minimal_request_gets_the_defaults() {
    let request = validate(&[]).unwrap();
    assert_eq!(request.scopes, ScopeSet::from([OAuthScope::ToolsRead]));
    assert_eq!(request.resource.as_str(), "https://tools.example.com/mcp");
    assert_eq!(request.state.as_deref(), Some("the state"));
    assert!(request.prompt.is_empty() && request.nonce.is_none() && request.login_hint.is_none());
    let text = serde_json::to_string(&request).unwrap();
    assert_eq!(serde_json::from_str::<ValidAuthorizeRequest>(&text).unwrap(), request);
}

#[test]
fn a_full_request_is_read_and_can_be_sealed() {
    let request = validate(&[
        ("scope", "openid claudeai tools:write apps:a"),
        ("resource", "https://tools.example.com/mcp/"),
        ("prompt", "login consent"),
        ("login_hint", "ada@example.com\u{202e}"),
        ("nonce", "n-1"),
        ("max_age", "600"),
        ("response_mode", "query"),
        ("unknown", "ignored"),
    ]);
    let request = request.unwrap();
    assert_eq!(request.scopes.to_string(), "tools:write apps:a openid");
    assert_eq!(request.unknown_scopes, ["claudeai"]);
    assert_eq!(
        (request.login_hint.as_deref(), request.nonce.as_deref()),
        (Some("ada@example.com"), Some("n-1"))
    );
    let text = SecretText::new(serde_json::to_string(&request).unwrap());
    assert_eq!(serde_json::from_str::<ValidAuthorizeRequest>(text.expose()).unwrap(), request);
}

#[test]
fn only_foreign_scopes_mean_the_default() {
    assert_eq!(validate(&[("scope", "claudeai")]).unwrap().scopes, ScopeSet::from([OAuthScope::ToolsRead]));
    assert_eq!(validate(&[("scope", "openid")]).unwrap().scopes, ScopeSet::from([OAuthScope::OpenId]));
}

#[test]
fn client_and_redirect_failures_are_shown_and_never_redirected() {
    use AuthorizePageError as Page;
    let long = "a".repeat(2_000);
    for (changes, expected) in [
        ([("client_id", "")], Page::Parameter(ParameterError::Missing("client_id"))),
        ([("client_id", "other")], Page::UnknownClient),
        ([("client_id", "a b")], Page::ClientId(crate::client::InvalidClientId)),
        ([("client_id", long.as_str())], Page::Parameter(ParameterError::TooLong("client_id", 1_024))),
        ([("redirect_uri", "")], Page::Parameter(ParameterError::Missing("redirect_uri"))),
        ([("redirect_uri", "https://evil.example/cb")], Page::Redirect(RedirectError::NotRegistered)),
        ([("redirect_uri", "javascript:alert(1)")], Page::Redirect(RedirectError::Scheme)),
    ] {
        assert_eq!(validate(&changes), Err(AuthorizeRefusal::Page(expected)), "{changes:?}");
        assert_eq!(expected.http_status(), 400);
    }
    for name in ["client_id", "redirect_uri"] {
        let twice = format!("{}&{name}=x", query(&[]));
        let expected = Page::Parameter(ParameterError::Duplicated(name));
        assert_eq!(validate_for(&public_client(), &twice), Err(AuthorizeRefusal::Page(expected)));
    }
}

#[test]
fn other_failures_go_back_with_state_and_issuer() {
    let long = "a".repeat(MAX_NONCE_BYTES + 1);
    for (changes, expected, code) in [
        (
            [("response_type", "")],
            AuthorizeError::Parameter(ParameterError::Missing("response_type")),
            "invalid_request",
        ),
        ([("response_type", "token")], AuthorizeError::ResponseType, "unsupported_response_type"),
        ([("response_type", "code id_token")], AuthorizeError::ResponseType, "unsupported_response_type"),
        ([("code_challenge", "")], AuthorizeError::PkceMissing, "invalid_request"),
        ([("code_challenge_method", "")], AuthorizeError::PkceMethod, "invalid_request"),
        ([("code_challenge_method", "plain")], AuthorizeError::PkceMethod, "invalid_request"),
        ([("resource", "https://other.example/mcp")], AuthorizeError::Resource, "invalid_target"),
        ([("request", "eyJ")], AuthorizeError::RequestObject, "request_not_supported"),
        ([("request_uri", "https://a.example")], AuthorizeError::RequestUri, "request_uri_not_supported"),
        (
            [("nonce", long.as_str())],
            AuthorizeError::Parameter(ParameterError::TooLong("nonce", MAX_NONCE_BYTES)),
            "invalid_request",
        ),
        (
            [("login_hint", long.as_str())],
            AuthorizeError::Parameter(ParameterError::TooLong("login_hint", MAX_LOGIN_HINT_BYTES)),
            "invalid_request",
        ),
    ] {
        let (error, pairs) = redirected(validate(&changes));
        assert_eq!(error, expected, "{changes:?}");
        let get = |name: &str| pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        assert_eq!((get("error"), get("state"), get("iss")), (Some(code), Some("the state"), Some(ISSUER)));
        assert!(get("error_description").is_some_and(|text| !text.is_empty()));
    }
    for (name, value) in
        [("response_mode", "fragment"), ("max_age", "-1"), ("max_age", "x"), ("prompt", "none login")]
    {
        let (error, _) = redirected(validate(&[(name, value)]));
        assert!(matches!(error, AuthorizeError::Parameter(ParameterError::Invalid(..))), "{name}");
    }
}

#[test]
fn a_state_that_cannot_be_returned_is_left_out() {
    let twice = format!("{}&state=other", query(&[]));
    for result in
        [validate_for(&public_client(), &twice), validate(&[("state", &"s".repeat(MAX_STATE_BYTES + 1))])]
    {
        let (error, pairs) = redirected(result);
        assert_eq!(error.code(), OAuthErrorCode::InvalidRequest);
        assert!(pairs.iter().all(|(name, _)| name != "state"));
        assert!(pairs.iter().any(|(name, value)| name == "iss" && value == ISSUER));
    }
    assert!(validate(&[("state", &"s".repeat(MAX_STATE_BYTES))]).is_ok());
}

#[test]
fn a_client_without_the_code_grant_is_refused() {
    let mut client = public_client();
    client.grant_types = vec![GrantType::ClientCredentials];
    let (error, _) = redirected(validate_for(&client, &query(&[])));
    assert_eq!(error, AuthorizeError::UnauthorizedClient);
}

#[test]
fn responses_go_to_the_port_of_the_request() {
    let mut client = public_client();
    client.redirect_uris = vec!["http://localhost/cb".parse().unwrap()];
    let request = validate_for(&client, &query(&[("redirect_uri", "http://localhost:5000/cb")])).unwrap();
    let issuer = ISSUER.parse().unwrap();
    assert_eq!(
        request.code_location("c-1", &issuer),
        "http://localhost:5000/cb?code=c-1&state=the+state&iss=https%3A%2F%2Ftools.example.com"
    );
    let denied = request.error_location(AuthorizeError::AccessDenied, &issuer);
    assert!(denied.starts_with("http://localhost:5000/cb?error=access_denied&"), "{denied}");
}

#[test]
fn old_sign_ins_are_repeated_if_the_client_asks() {
    let at = |second: i64| Timestamp::from_second(second).unwrap();
    assert!(!validate(&[]).unwrap().needs_login(at(0), at(1_000_000)));
    assert!(validate(&[("prompt", "login")]).unwrap().needs_login(at(10), at(10)));
    let request = validate(&[("max_age", "60")]).unwrap();
    assert!(!request.needs_login(at(0), at(60)) && request.needs_login(at(0), at(61)));
}
