use toolyard_core::ports::Change;
use toolyard_platform::{
    Actor, Credential, PlatformError,
    tokens::{self, TokenError, TokenRequest},
};
use toolyard_protocol::api::Role;

use crate::fixture::{Fixture, person, refusal};

fn request(name: &str) -> TokenRequest {
    TokenRequest { name: name.to_owned(), user: None, role: None, days: None }
}

#[tokio::test]
async fn a_token_is_valid_until_it_is_revoked_with_all_that_it_made() {
    let f = Fixture::start().await;
    let ada = person("ada", Role::User);
    let first = tokens::issue(&f.platform, &ada, request("laptop")).await.unwrap();
    assert_eq!(f.announced(), [Change::TokenIssued { subject: "ada".into() }]);
    let now = f.platform.clock.now();
    let claims = f.platform.tokens.verify(&first.token, now).unwrap();
    let credential = Credential::Token { expires_at: claims.exp, id: claims.jti.clone() };
    let with_token = Actor::Person { name: "ada".to_owned(), role: Role::User, credential };
    let second = tokens::issue(&f.platform, &with_token, request("phone")).await.unwrap();
    let bob = person("bob", Role::User);
    let missing = refusal(tokens::revoke(&f.platform, &bob, &first.listed.id).await);
    assert!(matches!(missing, PlatformError::NotFound(_)), "another's token does not exist: {missing}");
    f.announced();
    tokens::revoke(&f.platform, &ada, &first.listed.id).await.unwrap();
    assert_eq!(f.announced().len(), 2, "both are announced");
    for token in [&first.token, &second.token] {
        assert_eq!(f.platform.tokens.verify(token, now).unwrap_err(), TokenError::Revoked);
    }
    assert_eq!(tokens::list(&f.platform, &ada, None, 9).await.unwrap().len(), 2);
    assert!(tokens::list(&f.platform, &bob, None, 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_token_never_exceeds_the_credential_it_was_issued_with() {
    let f = Fixture::start().await;
    let ada = person("ada", Role::User);
    let other = TokenRequest { user: Some("bob".parse().unwrap()), ..request("x") };
    let stronger = TokenRequest { role: Some(Role::Operator), ..request("x") };
    for refused in [other, stronger] {
        let refused = refusal(tokens::issue(&f.platform, &ada, refused).await);
        assert!(matches!(refused, PlatformError::Forbidden(_)), "{refused}");
    }
    let now = f.platform.clock.now().as_second();
    let with = |credential| Actor::Person { name: "ada".to_owned(), role: Role::User, credential };
    let short = with(Credential::Token { expires_at: now + 60, id: None });
    let issued = tokens::issue(&f.platform, &short, request("x")).await.unwrap();
    assert_eq!(issued.listed.expires_at.as_second(), now + 60);
    let provider = with(Credential::IdentityProvider { expires_at: now + 60 });
    let long = TokenRequest { days: Some(365), ..request("x") };
    let issued = tokens::issue(&f.platform, &provider, long).await.unwrap();
    assert_eq!(issued.listed.expires_at.as_second(), now + 90 * 24 * 60 * 60, "the operator's limit");
}

#[tokio::test]
async fn names_days_and_numbers_have_bounds() {
    let f = Fixture::start().await;
    let ada = person("ada", Role::User);
    for name in ["", "   ", "a\nb", &"x".repeat(101)] {
        refusal(tokens::issue(&f.platform, &ada, request(name)).await);
    }
    for days in [0, 366] {
        refusal(tokens::issue(&f.platform, &ada, TokenRequest { days: Some(days), ..request("x") }).await);
    }
    for _ in 0..3 {
        tokens::issue(&f.platform, &ada, request("x")).await.unwrap();
    }
    let full = refusal(tokens::issue(&f.platform, &ada, request("x")).await);
    assert!(matches!(full, PlatformError::QuotaReached(_)), "{full}");
}
