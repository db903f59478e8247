//! Every message fits into an error response as it is: bounded ASCII without quotes, and never foreign text.

#![cfg(test)]

use std::fmt::Display;

use toolyard_authorization::{
    authorize::{AuthorizeError, AuthorizePageError},
    client::{ClientMetadataError, InvalidClientId},
    client_auth::ClientAuthError,
    error::{ErrorResponse, MAX_DESCRIPTION_CHARS, OAuthErrorCode},
    grant_type::UnknownGrantType,
    jwt::{AssertionError, KeySetError},
    parameters::ParameterError,
    passkey::PasskeyError,
    pkce::PkceError,
    redirect::RedirectError,
    scope::ScopeError,
    token_request::{GrantError, TokenError},
};

fn check(errors: &[&dyn Display]) {
    for error in errors {
        let message = error.to_string();
        let response = ErrorResponse::new(OAuthErrorCode::InvalidRequest, error);
        assert_eq!(response.error_description, message, "changed on the wire");
        assert!((10..=MAX_DESCRIPTION_CHARS).contains(&message.len()), "{message}");
    }
}

#[test]
fn messages_of_requests() {
    use {AuthorizeError as A, ParameterError as P, RedirectError as R, ScopeError as S};
    check(&[&P::TooLarge, &P::TooMany, &P::Duplicated("code"), &P::Missing("code"), &P::TooLong("code", 9)]);
    check(&[&P::Invalid("prompt", "`none` cannot be combined with another value")]);
    check(&[
        &R::Length,
        &R::Character,
        &R::NotAbsolute,
        &R::Fragment,
        &R::UserInfo,
        &R::Scheme,
        &R::Insecure,
    ]);
    check(&[&R::Host, &R::DotSegment, &R::ResponseParameter, &R::NotRegistered]);
    check(&[&S::TooLong, &S::BadCharacter, &S::TooManyApps, &S::InvalidApp]);
    check(&[&PkceError::Challenge, &PkceError::Verifier, &UnknownGrantType, &InvalidClientId]);
    check(&[
        &A::ResponseType,
        &A::PkceMissing,
        &A::PkceMethod,
        &A::Resource,
        &A::UnauthorizedClient,
        &A::RequestObject,
    ]);
    check(&[
        &A::RequestUri,
        &A::AccessDenied,
        &A::LoginRequired,
        &A::ConsentRequired,
        &A::InteractionRequired,
    ]);
    check(&[&A::ServerError, &A::TemporarilyUnavailable]);
    check(&[&AuthorizePageError::UnknownClient, &AuthorizePageError::DocumentUnavailable]);
}

#[test]
fn messages_of_clients() {
    use {ClientAuthError as C, ClientMetadataError as M, KeySetError as K};
    check(&[
        &M::DocumentUrl,
        &M::TooLarge(9),
        &M::Malformed,
        &M::OtherClient,
        &M::PublishedSecret,
        &M::NoRedirect,
    ]);
    check(&[&M::TooManyRedirects, &M::Redirect(RedirectError::Host), &M::TooManyItems("grant_types")]);
    check(&[
        &M::AuthenticationMethod,
        &M::NoKeys,
        &M::TwoKeySets,
        &M::KeyUrl,
        &M::GrantType,
        &M::ResponseType,
    ]);
    check(&[&K::TooLarge, &K::Malformed, &K::TooMany, &K::Private, &K::NoUsableKey]);
    check(&[
        &C::MissingId,
        &C::UnknownClient,
        &C::DocumentUnavailable,
        &C::BasicHeader,
        &C::TwoMethods,
        &C::TwoClients,
    ]);
    check(&[&C::AssertionType, &C::MethodNotAllowed, &C::Secret, &C::KeysUnavailable, &C::AssertionReplayed]);
}

#[test]
fn messages_of_grants() {
    use {AssertionError as A, GrantError as G};
    check(&[
        &G::CodeUnknown,
        &G::CodeExpired,
        &G::CodeClient,
        &G::CodeRedirect,
        &G::CodeVerifier,
        &G::Resource,
    ]);
    check(&[
        &G::ScopeExceeded,
        &G::RefreshUnknown,
        &G::RefreshClient,
        &G::RefreshExpired,
        &G::RefreshRevoked,
    ]);
    check(&[
        &G::RefreshReplayed,
        &G::GrantNotAllowed,
        &G::PublicClient,
        &G::UntrustedIssuer,
        &G::AssertionReplayed,
    ]);
    check(&[&G::UnknownUser, &G::DeviceUnknown, &G::DevicePending, &G::DeviceSlowDown, &G::DeviceExpired]);
    check(&[&G::DeviceDenied, &TokenError::ServerError, &TokenError::TemporarilyUnavailable]);
    check(&[&A::TooLarge, &A::Malformed, &A::Algorithm, &A::CriticalHeader, &A::TokenType, &A::UnknownKey]);
    check(&[&A::Signature, &A::Claims, &A::Claim("jti"), &A::Expired, &A::NotYetValid, &A::LifetimeTooLong]);
    check(&[&A::Issuer, &A::Subject, &A::Audience, &A::Client, &A::Resource]);
}

#[test]
fn messages_of_passkeys() {
    use PasskeyError as P;
    check(&[&P::TooLong("id"), &P::Encoding("id"), &P::CredentialType, &P::CredentialId, &P::ClientData]);
    check(&[&P::Ceremony, &P::Challenge, &P::Origin, &P::CrossOrigin, &P::AuthenticatorData]);
    check(&[&P::RelyingParty, &P::UserNotPresent, &P::UserNotVerified, &P::BackupFlags, &P::NoCredential]);
    check(&[&P::OtherCredential, &P::Algorithm, &P::NoPublicKey, &P::PublicKey, &P::KeySize]);
    check(&[&P::UnknownPasskey, &P::UserHandle, &P::Signature, &P::ClonedKey]);
}
