//! Token requests with stolen, guessed or mixed credentials.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use toolyard_authorization::{
    client::OAuthClient,
    client_auth::{AssertionContext, AuthenticatedClient, ClientAuthError, authenticate_client},
    code::{CODE_LIFETIME_S, CodeBinding},
    grant_type::GrantType,
    parameters::{ParameterError, RequestParameters},
    pkce::{CodeChallenge, PkceError},
    refresh::{GrantId, GrantState, RefreshDecision, RefreshKeys, RefreshToken, decide_rotation},
    token_request::{GrantError, TokenError, TokenGrant, TokenRequest},
};

use crate::{NOW, RESOURCE, TOKEN_ENDPOINT, issuer, now, public_victim, secret_victim};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// The code of the victim.
fn binding() -> CodeBinding {
    CodeBinding {
        client_id: "victim".parse().unwrap(),
        redirect_uri: "https://client.example/cb".parse().unwrap(),
        resource: RESOURCE.parse().unwrap(),
        code_challenge: CodeChallenge::parse(CHALLENGE).unwrap(),
        expires_at: jiff::Timestamp::from_second(NOW + CODE_LIFETIME_S).unwrap(),
    }
}

fn client_named(id: &str) -> OAuthClient {
    OAuthClient { id: id.parse().unwrap(), ..public_victim() }
}

fn authenticate(
    client: &OAuthClient,
    request: &TokenRequest,
) -> Result<AuthenticatedClient, ClientAuthError> {
    let context = AssertionContext {
        issuer: &issuer(),
        token_endpoint: TOKEN_ENDPOINT,
        fetched_keys: None,
        now: now(),
    };
    authenticate_client(client, &request.client, &context)
}

/// Redeems a code as the token endpoint does.
fn redeem(client: &OAuthClient, header: Option<&str>, form: &str) -> Result<(), TokenError> {
    let request = TokenRequest::parse(header, &RequestParameters::parse(form.as_bytes())?)?;
    let authenticated = authenticate(client, &request)?;
    authenticated.check_grant(client, request.grant.grant_type())?;
    let TokenGrant::AuthorizationCode(redemption) = &request.grant else { panic!("another grant") };
    Ok(binding().check(&authenticated, redemption, request.resource.as_deref(), now())?)
}

fn form(client: &str, more: &str) -> String {
    format!("grant_type=authorization_code&code=c-1&client_id={client}&code_verifier={VERIFIER}{more}")
}

/// Name, stored client, header, form, error.
pub(crate) fn attacks() -> Vec<(&'static str, OAuthClient, Option<String>, String, TokenError)> {
    let basic = |text: &str| Some(format!("Basic {}", STANDARD.encode(text)));
    let auth = |error: ClientAuthError| TokenError::Client(error);
    let grant = |error: GrantError| TokenError::Grant(error);
    let twice = |name: &'static str| TokenError::Parameter(ParameterError::Duplicated(name));
    let victim = public_victim;
    let other_verifier = form("victim", "").replace(VERIFIER, &"a".repeat(43));
    let challenge_as_verifier = form("victim", "").replace(VERIFIER, CHALLENGE);
    let no_verifier = "grant_type=authorization_code&code=c-1&client_id=victim".to_owned();
    vec![
        (
            "stolen code, own client",
            client_named("attacker"),
            None,
            form("attacker", ""),
            grant(GrantError::CodeClient),
        ),
        (
            "stolen code, no verifier",
            victim(),
            None,
            no_verifier,
            TokenError::Parameter(ParameterError::Missing("code_verifier")),
        ),
        ("stolen code, guessed verifier", victim(), None, other_verifier, grant(GrantError::CodeVerifier)),
        (
            "stolen code, challenge as the verifier",
            victim(),
            None,
            challenge_as_verifier,
            grant(GrantError::CodeVerifier),
        ),
        (
            "short verifier",
            victim(),
            None,
            form("victim", "").replace(VERIFIER, "abc"),
            TokenError::Verifier(PkceError::Verifier),
        ),
        (
            "code injected into another redirect",
            victim(),
            None,
            form("victim", "&redirect_uri=https%3A%2F%2Fevil.example%2Fcb"),
            grant(GrantError::CodeRedirect),
        ),
        (
            "token for another resource",
            victim(),
            None,
            form("victim", "&resource=https%3A%2F%2Fother.example.com%2Fmcp"),
            grant(GrantError::Resource),
        ),
        ("two codes", victim(), None, form("victim", "&code=c-2"), twice("code")),
        ("two verifiers", victim(), None, form("victim", "&code_verifier=x"), twice("code_verifier")),
        (
            "two clients in the form",
            victim(),
            None,
            form("victim", "&client_id=attacker"),
            twice("client_id"),
        ),
        (
            "two clients in header and form",
            victim(),
            basic("attacker:x"),
            form("victim", ""),
            auth(ClientAuthError::TwoClients),
        ),
        (
            "two secrets",
            secret_victim("sesame"),
            basic("victim:sesame"),
            form("victim", "&client_secret=sesame"),
            auth(ClientAuthError::TwoMethods),
        ),
        (
            "confidential client without its secret",
            secret_victim("sesame"),
            None,
            form("victim", ""),
            auth(ClientAuthError::MethodNotAllowed),
        ),
        (
            "confidential client with an empty secret",
            secret_victim("sesame"),
            basic("victim:"),
            form("victim", ""),
            auth(ClientAuthError::MethodNotAllowed),
        ),
        (
            "confidential client with a wrong secret",
            secret_victim("sesame"),
            basic("victim:Sesame"),
            form("victim", ""),
            auth(ClientAuthError::Secret),
        ),
        (
            "confidential client with a prefix of its secret",
            secret_victim("sesame"),
            None,
            form("victim", "&client_secret=sesam"),
            auth(ClientAuthError::Secret),
        ),
        (
            "public client with an invented secret",
            victim(),
            None,
            form("victim", "&client_secret=x"),
            auth(ClientAuthError::MethodNotAllowed),
        ),
        (
            "broken header",
            victim(),
            Some("Basic %%%".to_owned()),
            form("victim", ""),
            auth(ClientAuthError::BasicHeader),
        ),
        (
            "assertion without its type",
            victim(),
            None,
            form("victim", "&client_assertion=a.b.c"),
            auth(ClientAuthError::AssertionType),
        ),
        (
            "password grant",
            victim(),
            None,
            "grant_type=password&client_id=victim&username=a&password=b".to_owned(),
            TokenError::GrantType(toolyard_authorization::grant_type::UnknownGrantType),
        ),
        ("two grant types", victim(), None, form("victim", "&grant_type=refresh_token"), twice("grant_type")),
    ]
}

#[test]
fn codes_and_secrets_cannot_be_used_by_others() {
    assert_eq!(redeem(&public_victim(), None, &form("victim", "")), Ok(()));
    for (name, client, header, form, expected) in attacks() {
        assert_eq!(redeem(&client, header.as_deref(), &form), Err(expected), "{name}");
    }
}

#[test]
fn a_public_client_is_not_a_machine() {
    let client = public_victim();
    let form = RequestParameters::parse(b"grant_type=client_credentials&client_id=victim").unwrap();
    let authenticated = authenticate(&client, &TokenRequest::parse(None, &form).unwrap()).unwrap();
    assert_eq!(
        authenticated.check_grant(&client, GrantType::ClientCredentials),
        Err(GrantError::PublicClient)
    );
}

#[test]
fn refresh_tokens_cannot_be_made_or_moved() {
    let keys = RefreshKeys::new([1; 32], Some([2; 32]));
    let mine = RefreshToken { grant: GrantId::from_bytes([1; 16]), generation: 0 };
    let text = keys.write_token(mine).expose().to_owned();
    let other = RefreshKeys::new([3; 32], None).write_token(mine).expose().to_owned();
    let next = RefreshKeys::new([1; 32], None)
        .write_token(RefreshToken { generation: 1, ..mine })
        .expose()
        .to_owned();
    // The body of one token with the MAC of another.
    let mixed = format!("{}{}", &next[..4 + 27], &text[4 + 27..]);
    for (name, forged) in [
        ("another server's", other),
        ("a later generation with an old MAC", mixed),
        ("cut", text[..text.len() - 2].to_owned()),
        ("without prefix", text[4..].to_owned()),
        ("in another case", text.to_uppercase()),
        ("empty", String::new()),
    ] {
        assert_eq!(keys.read_token(&forged), None, "{name}");
    }
    assert_eq!(keys.read_token(&text), Some(mine));
}

#[test]
fn a_stolen_refresh_token_ends_the_grant() {
    let at = |second: i64| jiff::Timestamp::from_second(second).unwrap();
    let state =
        GrantState { generation: 3, rotated_at: Some(at(1_000)), is_revoked: false, expires_at: at(9_000) };
    // The thief copied generation 2 and uses it an hour later; the client is at generation 3.
    assert_eq!(decide_rotation(&state, 2, at(4_600)), RefreshDecision::Replay);
    // Within the window, the thief gets the same successor and not a branch of its own.
    assert_eq!(decide_rotation(&state, 2, at(1_010)), RefreshDecision::RepeatSuccessor { current: 3 });
    assert_eq!(decide_rotation(&state, 1, at(1_010)), RefreshDecision::Replay);
}
