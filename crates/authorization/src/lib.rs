//! The rules of an OAuth 2.1 and OpenID Connect authorization server for MCP clients.
//!
//! Pure functions over values: time, random bytes, fetched documents and stored records are passed in, decisions and wire
//! texts come out. Nothing here does I/O, reads a clock or makes randomness; the caller stores, fetches and signs.
//! Everything that comes from outside is bounded by a named constant, and parsed once into a type.
//!
//! | look for | in |
//! | --- | --- |
//! | what a token may do, and whether that is enough | [`scope`] |
//! | the `WWW-Authenticate` header of a 401 or 403 | [`challenge`] |
//! | where a code may be sent, and the redirect that brings it | [`redirect`] |
//! | clients, metadata documents, dynamic registration | [`client`] |
//! | the request that a person decides about | [`authorize`] |
//! | proof keys | [`pkce`] |
//! | codes, and what they are bound to | [`code`] |
//! | requests of the token endpoint | [`token_request`], [`grant_type`] |
//! | responses of the token endpoint | [`token_response`] |
//! | whether a client is who it claims to be | [`client_auth`] |
//! | signed assertions and published keys | [`jwt`] |
//! | people who come with an assertion of their company | [`id_jag`] |
//! | refresh tokens, rotation and the grace window | [`refresh`] |
//! | programs on devices without a browser | [`device`] |
//! | introspection and revocation | [`introspection`], [`token_reference`] |
//! | ID tokens and userinfo | [`id_token`] |
//! | ID tokens of an identity provider at which people sign in here | [`issuer_id_token`] |
//! | passkeys: registration and sign-in | [`passkey`] |
//! | the role and groups of a person of an identity provider | [`sign_in_rules`] |
//! | the documents that clients discover | [`metadata`] |
//! | the issuer, and resource indicators | [`issuer`], [`resource`] |
//! | parameters of queries and forms | [`parameters`] |
//! | error codes and bodies | [`error`] |
//!
//! The life of a sign-in:
//! [`AuthorizeQuery::parse`](authorize::AuthorizeQuery::parse), load or fetch the client,
//! [`validate`](authorize::AuthorizeQuery::validate), let the person sign in and consent, store
//! [`code_binding`](authorize::ValidAuthorizeRequest::code_binding) under a hash of the code, redirect to
//! [`code_location`](authorize::ValidAuthorizeRequest::code_location). Then
//! [`TokenRequest::parse`](token_request::TokenRequest::parse),
//! [`authenticate_client`](client_auth::authenticate_client), take the binding and
//! [`check`](code::CodeBinding::check) it, and answer with a [`TokenResponse`](token_response::TokenResponse).

#![warn(missing_docs)]

pub mod authorize;
pub mod challenge;
pub mod client;
pub mod client_auth;
pub mod code;
pub mod device;
pub mod error;
pub mod grant_type;
pub mod id_jag;
pub mod id_token;
pub mod introspection;
pub mod issuer;
pub mod issuer_id_token;
pub mod jwt;
pub mod metadata;
pub mod parameters;
pub mod passkey;
pub mod pkce;
pub mod redirect;
pub mod refresh;
pub mod resource;
pub mod scope;
pub mod sign_in_rules;
pub mod token_reference;
pub mod token_request;
pub mod token_response;

#[cfg(test)]
#[path = "../tests/support/keys.rs"]
mod test_keys;
