//! Forms of the token endpoint, and the credentials in them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use super::*;
use crate::{
    client_auth::ClientAuthError,
    error::{ErrorResponse, OAuthErrorCode},
    parameters::ParameterError,
    test_keys::encode_unsigned,
};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const ASSERTION_TYPE: &str = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer";

fn parse_with(authorization: Option<&str>, form: &str) -> Result<TokenRequest, TokenError> {
    TokenRequest::parse(authorization, &RequestParameters::parse(form.as_bytes()).unwrap())
}

fn parse(form: &str) -> Result<TokenRequest, TokenError> {
    parse_with(None, form)
}

fn basic(text: &str) -> String {
    format!("Basic {}", STANDARD.encode(text))
}

fn proof(authorization: Option<&str>, more: &str) -> Result<(String, ClientProof), TokenError> {
    let form = format!("grant_type=client_credentials&{more}");
    parse_with(authorization, &form).map(|request| (request.client.id.into(), request.client.proof))
}

#[test]
fn every_grant_is_read() {
    let code = format!(
        "grant_type=authorization_code&client_id=c&code=x&redirect_uri=http%3A%2F%2Fa&code_verifier={VERIFIER}"
    );
    let TokenGrant::AuthorizationCode(redemption) = parse(&code).unwrap().grant else { panic!("no code") };
    assert_eq!((redemption.code.expose(), redemption.redirect_uri.as_deref()), ("x", Some("http://a")));
    let secret = |text: &str| SecretText::new(text);
    for (form, expected) in [
        ("grant_type=refresh_token&refresh_token=r", TokenGrant::RefreshToken(secret("r"))),
        ("grant_type=client_credentials", TokenGrant::ClientCredentials),
        (
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c",
            TokenGrant::JwtBearer(secret("a.b.c")),
        ),
        (
            "grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=d",
            TokenGrant::DeviceCode(secret("d")),
        ),
    ] {
        let request = parse(&format!("{form}&client_id=c")).unwrap();
        assert_eq!(request.grant.grant_type().as_str(), expected.grant_type().as_str());
        assert_eq!(request.grant, expected, "{form}");
    }
}

#[test]
fn incomplete_and_unknown_grants_are_refused() {
    for (form, expected) in [
        ("", TokenError::Parameter(ParameterError::Missing("grant_type"))),
        ("grant_type=password&client_id=c", TokenError::GrantType(crate::grant_type::UnknownGrantType)),
        ("grant_type=authorization_code&client_id=c", TokenError::Parameter(ParameterError::Missing("code"))),
        (
            "grant_type=authorization_code&client_id=c&code=x",
            TokenError::Parameter(ParameterError::Missing("code_verifier")),
        ),
        (
            "grant_type=authorization_code&client_id=c&code=x&code_verifier=short",
            TokenError::Verifier(crate::pkce::PkceError::Verifier),
        ),
        (
            "grant_type=refresh_token&client_id=c",
            TokenError::Parameter(ParameterError::Missing("refresh_token")),
        ),
        (
            "grant_type=refresh_token&client_id=c&refresh_token=a&refresh_token=b",
            TokenError::Parameter(ParameterError::Duplicated("refresh_token")),
        ),
        (
            "grant_type=client_credentials&client_id=c&scope=apps:X",
            TokenError::Scope(crate::scope::ScopeError::InvalidApp),
        ),
        ("grant_type=client_credentials", TokenError::Client(ClientAuthError::MissingId)),
    ] {
        assert_eq!(parse(form), Err(expected), "{form}");
    }
}

#[test]
fn values_are_bounded() {
    let code = format!("authorization_code&code_verifier={VERIFIER}");
    for (grant, name, max) in [
        ("refresh_token", "refresh_token", MAX_REFRESH_TOKEN_BYTES),
        ("refresh_token", "client_secret", crate::client::MAX_SECRET_BYTES),
        ("refresh_token&refresh_token=r", "resource", MAX_RESOURCE_BYTES),
        ("refresh_token&refresh_token=r", "scope", MAX_SCOPE_BYTES),
        ("refresh_token&refresh_token=r", "client_assertion", MAX_ASSERTION_BYTES),
        ("refresh_token&refresh_token=r", "client_assertion_type", 100),
        (code.as_str(), "code", MAX_CODE_BYTES),
        ("authorization_code&code=c", "code_verifier", MAX_VERIFIER_CHARS),
        (&format!("{code}&code=c"), "redirect_uri", MAX_REDIRECT_BYTES),
        (GrantType::JwtBearer.as_str(), "assertion", MAX_ASSERTION_BYTES),
        (GrantType::DeviceCode.as_str(), "device_code", MAX_DEVICE_CODE_BYTES),
    ] {
        let form = format!("client_id=c&{name}={}&grant_type={grant}", "x".repeat(max + 1));
        assert_eq!(parse(&form), Err(TokenError::Parameter(ParameterError::TooLong(name, max))), "{name}");
    }
    for (name, max) in
        [("client_id", crate::client::MAX_CLIENT_ID_BYTES), ("grant_type", MAX_GRANT_TYPE_BYTES)]
    {
        let form = "grant_type=refresh_token&client_id=c&refresh_token=r";
        let form = form.replace(&format!("{name}="), &format!("{name}={}", "x".repeat(max + 1)));
        assert_eq!(parse(&form), Err(TokenError::Parameter(ParameterError::TooLong(name, max))), "{name}");
    }
}

#[test]
fn credentials_are_read_from_header_and_form() {
    let none = |id: &str| Ok((id.to_owned(), ClientProof::None));
    assert_eq!(proof(None, "client_id=c"), none("c"));
    assert_eq!(proof(None, "client_id=c&client_secret="), none("c"));
    let post = ClientProof::SecretPost(SecretText::new("s"));
    assert_eq!(proof(None, "client_id=c&client_secret=s"), Ok(("c".to_owned(), post)));
    let with = |secret: &str| ClientProof::SecretBasic(SecretText::new(secret));
    for (header, expected) in [
        ("c:s", with("s")),
        ("c:a%20b%2Bc+d", with("a b+c d")),
        ("c:a:b", with("a:b")),
        ("c:a&b=c", with("a&b=c")),
        ("c:", ClientProof::None),
    ] {
        assert_eq!(proof(Some(&basic(header)), ""), Ok(("c".to_owned(), expected)), "{header}");
    }
    let encoded = basic("https%3A%2F%2Fa.example%2Fc:s");
    assert_eq!(proof(Some(&encoded), "").unwrap().0, "https://a.example/c");
    assert_eq!(proof(Some(&basic("c:s").replace("Basic", "basic")), "client_id=c").unwrap().1, with("s"));
    assert_eq!(proof(Some("Bearer stale"), "client_id=c"), none("c"));
}

#[test]
fn an_assertion_names_its_client() {
    let assertion = encode_unsigned(&json!({ "alg": "RS256" }), &json!({ "sub": "c", "iss": "c" }));
    let form = format!("client_assertion={assertion}&client_assertion_type={ASSERTION_TYPE}");
    let expected = ClientProof::Assertion(SecretText::new(assertion.clone()));
    assert_eq!(proof(None, &form), Ok(("c".to_owned(), expected.clone())));
    assert_eq!(proof(None, &format!("{form}&client_id=c")), Ok(("c".to_owned(), expected)));
    for (form, expected) in [
        (format!("{form}&client_id=other"), ClientAuthError::TwoClients),
        (format!("client_assertion={assertion}"), ClientAuthError::AssertionType),
        (format!("client_assertion={assertion}&client_assertion_type=saml"), ClientAuthError::AssertionType),
        (format!("client_id=c&client_assertion_type={ASSERTION_TYPE}"), ClientAuthError::AssertionType),
        (
            format!("client_assertion=junk&client_assertion_type={ASSERTION_TYPE}"),
            ClientAuthError::Assertion(crate::jwt::AssertionError::Malformed),
        ),
    ] {
        assert_eq!(proof(None, &form), Err(TokenError::Client(expected)), "{form}");
    }
}

#[test]
fn two_methods_or_clients_at_once_are_refused() {
    let assertion = encode_unsigned(&json!({ "alg": "RS256" }), &json!({ "sub": "c" }));
    let asserted = format!("client_assertion={assertion}&client_assertion_type={ASSERTION_TYPE}");
    let header = basic("c:s");
    for (header, form, expected) in [
        (Some(header.as_str()), "client_secret=s".to_owned(), ClientAuthError::TwoMethods),
        (Some(header.as_str()), asserted.clone(), ClientAuthError::TwoMethods),
        (None, format!("client_secret=s&{asserted}"), ClientAuthError::TwoMethods),
        (Some(header.as_str()), "client_id=other".to_owned(), ClientAuthError::TwoClients),
        (Some("Basic !!!"), String::new(), ClientAuthError::BasicHeader),
        (Some("Basic Yw=="), String::new(), ClientAuthError::BasicHeader),
        (
            Some(&format!("Basic {}", "a".repeat(MAX_BASIC_BYTES + 4))),
            String::new(),
            ClientAuthError::BasicHeader,
        ),
    ] {
        assert_eq!(proof(header, &form), Err(TokenError::Client(expected)), "{form}");
    }
}

#[test]
fn scopes_can_be_narrowed_but_not_widened() {
    let granted = ScopeSet::parse("tools:write apps:a apps:b").unwrap().scopes;
    for (scope, expected) in [
        ("", Ok("tools:write apps:a apps:b")),
        ("unknown", Ok("tools:write apps:a apps:b")),
        ("tools:read", Ok("tools:read apps:a apps:b")),
        ("tools:read apps:b", Ok("tools:read apps:b")),
        ("tools:destructive", Err(GrantError::ScopeExceeded)),
        ("tools:read apps:c", Err(GrantError::ScopeExceeded)),
        ("chat", Err(GrantError::ScopeExceeded)),
    ] {
        let request = parse(&format!("grant_type=client_credentials&client_id=c&scope={scope}")).unwrap();
        let effective = request.effective_scopes(&granted).map(|scopes| scopes.to_string());
        assert_eq!(effective.as_deref().map_err(|error| *error), expected, "{scope}");
    }
}

#[test]
fn the_resource_is_ours_or_the_default() {
    let resources = AcceptedResources::single("https://tools.example.com/mcp".parse().unwrap());
    let find = |more: &str| {
        let request = parse(&format!("grant_type=client_credentials&client_id=c{more}")).unwrap();
        request.find_resource(&resources).cloned()
    };
    assert_eq!(find(""), Ok(resources.default.clone()));
    assert_eq!(find("&resource=https://tools.example.com/mcp"), Ok(resources.default.clone()));
    assert_eq!(find("&resource=https://evil.example/mcp"), Err(GrantError::Resource));
}

#[test]
fn errors_have_the_codes_of_the_specifications() {
    for (error, code, status) in [
        (TokenError::Client(ClientAuthError::Secret), OAuthErrorCode::InvalidClient, 401),
        (TokenError::Client(ClientAuthError::TwoMethods), OAuthErrorCode::InvalidRequest, 400),
        (TokenError::Grant(GrantError::CodeVerifier), OAuthErrorCode::InvalidGrant, 400),
        (TokenError::Grant(GrantError::Resource), OAuthErrorCode::InvalidTarget, 400),
        (TokenError::Grant(GrantError::DevicePending), OAuthErrorCode::AuthorizationPending, 400),
        (TokenError::Grant(GrantError::PublicClient), OAuthErrorCode::UnauthorizedClient, 400),
        (TokenError::ServerError, OAuthErrorCode::ServerError, 500),
        (TokenError::TemporarilyUnavailable, OAuthErrorCode::TemporarilyUnavailable, 503),
    ] {
        let response = ErrorResponse::from(error);
        assert_eq!((response.error, response.status), (code, status));
        assert_eq!(response.error_description, error.to_string(), "the message is plain ASCII");
    }
}
