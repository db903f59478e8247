//! Authorization requests that try to get more, or to send the answer elsewhere.

use toolyard_authorization::{
    authorize::{
        AuthorizeError as E, AuthorizePageError, AuthorizeQuery, AuthorizeRefusal, AuthorizeRules,
        MAX_STATE_BYTES, ValidAuthorizeRequest,
    },
    parameters::{MAX_PARAMETERS, MAX_PARAMETERS_BYTES, ParameterError, RequestParameters},
    pkce::PkceError,
    scope::{OAuthScope, ScopeError, ScopeSet},
};
use url::{Url, form_urlencoded};

use crate::{ISSUER, issuer, public_victim, resources};

const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A good request with changed parameters, followed by raw text.
pub(crate) fn query(changes: &[(&str, &str)], raw: &str) -> String {
    let mut pairs = vec![
        ("response_type", "code"),
        ("client_id", "victim"),
        ("redirect_uri", "https://client.example/cb"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "s-1"),
    ];
    for (name, value) in changes {
        pairs.retain(|(other, _)| other != name);
        pairs.push((name, value));
    }
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish() + raw
}

fn validate_query(query: &str) -> Result<ValidAuthorizeRequest, AuthorizeRefusal> {
    let (issuer, resources) = (issuer(), resources());
    let default_scopes = ScopeSet::from([OAuthScope::ToolsRead]);
    let rules = AuthorizeRules { issuer: &issuer, resources: &resources, default_scopes: &default_scopes };
    let parameters = RequestParameters::parse(query.as_bytes()).map_err(AuthorizePageError::from)?;
    AuthorizeQuery::parse(parameters)?.validate(&public_victim(), &rules)
}

pub(crate) fn validate(changes: &[(&str, &str)]) -> Result<ValidAuthorizeRequest, AuthorizeRefusal> {
    validate_query(&query(changes, ""))
}

/// Name, query, error at the client.
pub(crate) fn attacks() -> Vec<(&'static str, String, E)> {
    let q = |changes: &[(&str, &str)]| query(changes, "");
    let raw = |raw: &str| query(&[], raw);
    let twice = |name: &'static str| E::Parameter(ParameterError::Duplicated(name));
    vec![
        ("PKCE left out", q(&[("code_challenge", ""), ("code_challenge_method", "")]), E::PkceMissing),
        ("PKCE downgraded to plain", q(&[("code_challenge_method", "plain")]), E::PkceMethod),
        ("PKCE downgraded by leaving out the method", q(&[("code_challenge_method", "")]), E::PkceMethod),
        ("PKCE method in another case", q(&[("code_challenge_method", "s256")]), E::PkceMethod),
        ("PKCE challenge too short", q(&[("code_challenge", "abc")]), E::PkceChallenge(PkceError::Challenge)),
        (
            "PKCE challenge with padding",
            q(&[("code_challenge", &format!("{CHALLENGE}="))]),
            E::PkceChallenge(PkceError::Challenge),
        ),
        ("PKCE challenge twice", raw(&format!("&code_challenge={CHALLENGE}")), twice("code_challenge")),
        ("PKCE method twice", raw("&code_challenge_method=plain"), twice("code_challenge_method")),
        ("token in the fragment", q(&[("response_type", "token")]), E::ResponseType),
        ("hybrid flow", q(&[("response_type", "code token")]), E::ResponseType),
        ("response type none", q(&[("response_type", "none")]), E::ResponseType),
        ("response type twice", raw("&response_type=token"), twice("response_type")),
        (
            "answer in a form",
            q(&[("response_mode", "form_post")]),
            E::Parameter(ParameterError::Invalid("response_mode", "only `query` is supported")),
        ),
        (
            "answer in the fragment",
            q(&[("response_mode", "fragment")]),
            E::Parameter(ParameterError::Invalid("response_mode", "only `query` is supported")),
        ),
        ("parameters in an unsigned object", q(&[("request", "eyJhbGciOiJub25lIn0.e30.")]), E::RequestObject),
        ("parameters fetched from a URL", q(&[("request_uri", "http://169.254.169.254/")]), E::RequestUri),
        ("resource of another server", q(&[("resource", "https://evil.example/mcp")]), E::Resource),
        (
            "resource with our host as a prefix",
            q(&[("resource", "https://tools.example.com.evil.example/mcp")]),
            E::Resource,
        ),
        (
            "resource with a user name",
            q(&[("resource", "https://tools.example.com@evil.example/mcp")]),
            E::Resource,
        ),
        ("resource with another path", q(&[("resource", "https://tools.example.com/admin")]), E::Resource),
        ("resource over http", q(&[("resource", "http://tools.example.com/mcp")]), E::Resource),
        (
            "two resources",
            raw("&resource=https://tools.example.com/mcp&resource=https://evil.example/mcp"),
            twice("resource"),
        ),
        ("scope for a broken app", q(&[("scope", "tools:read apps:../x")]), E::Scope(ScopeError::InvalidApp)),
        (
            "scope with a quote",
            q(&[("scope", "tools:read\", error=\"x")]),
            E::Scope(ScopeError::BadCharacter),
        ),
        (
            "scope with a line break",
            q(&[("scope", "tools:read\r\nx: y")]),
            E::Scope(ScopeError::BadCharacter),
        ),
        ("scope twice", raw("&scope=tools:read&scope=tools:destructive"), twice("scope")),
        ("state twice", raw("&state=other"), twice("state")),
        ("nonce twice", raw("&nonce=a&nonce=b"), twice("nonce")),
        (
            "long state",
            q(&[("state", &"s".repeat(MAX_STATE_BYTES + 1))]),
            E::Parameter(ParameterError::TooLong("state", MAX_STATE_BYTES)),
        ),
        ("unknown parameter twice", raw("&x=1&x=2"), twice("(unknown)")),
    ]
}

#[test]
fn attacks_go_back_as_errors_with_our_issuer() {
    for (name, query, expected) in attacks() {
        let Err(AuthorizeRefusal::Redirect { error, location }) = validate_query(&query) else {
            panic!("{name}: not sent back")
        };
        assert_eq!(error, expected, "{name}");
        let url = Url::parse(&location).unwrap();
        assert_eq!(url.host_str(), Some("client.example"), "{name}");
        let issuers: Vec<_> =
            url.query_pairs().filter(|(key, _)| key == "iss").map(|(_, value)| value.into_owned()).collect();
        assert_eq!(issuers, [ISSUER], "{name}");
        assert!(url.query_pairs().all(|(key, _)| key != "code"), "{name}");
    }
}

#[test]
fn a_client_cannot_choose_the_issuer_of_the_answer() {
    let request = validate_query(&query(&[], "&iss=https://evil.example")).unwrap();
    let location = Url::parse(&request.code_location("c-1", &issuer())).unwrap();
    let issuers: Vec<_> = location.query_pairs().filter(|(key, _)| key == "iss").collect();
    assert_eq!(issuers.len(), 1);
    assert_eq!(issuers[0].1, ISSUER);
}

#[test]
fn a_state_cannot_add_parameters_to_the_answer() {
    let request = validate(&[("state", "x&code=evil&iss=https://evil.example#")]).unwrap();
    let location = Url::parse(&request.code_location("c-1", &issuer())).unwrap();
    let names: Vec<_> = location.query_pairs().map(|(name, _)| name.into_owned()).collect();
    assert_eq!((names, location.fragment()), (["code", "state", "iss"].map(str::to_owned).to_vec(), None));
}

#[test]
fn floods_end_on_a_page() {
    let many = "&x=1".repeat(MAX_PARAMETERS);
    let large = format!("&x={}", "x".repeat(MAX_PARAMETERS_BYTES));
    for (raw, expected) in [
        (many.as_str(), ParameterError::TooMany),
        (large.as_str(), ParameterError::TooLarge),
        ("&client_id=evil", ParameterError::Duplicated("client_id")),
        ("&redirect_uri=https://evil.example", ParameterError::Duplicated("redirect_uri")),
        ("&redirect_uri=", ParameterError::Duplicated("redirect_uri")),
    ] {
        let refused = validate_query(&query(&[], raw)).unwrap_err();
        assert_eq!(refused, AuthorizeRefusal::Page(AuthorizePageError::Parameter(expected)));
    }
    assert_eq!(
        validate(&[("client_id", "stranger")]).unwrap_err(),
        AuthorizeRefusal::Page(AuthorizePageError::UnknownClient)
    );
}
