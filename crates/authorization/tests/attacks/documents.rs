//! Metadata documents and registrations of hostile clients.

use serde_json::{Value, json};
use toolyard_authorization::{
    client::{
        ClientMetadataError, ClientMetadataError as E, DocumentUrl, MAX_DOCUMENT_BYTES, MAX_NAME_CHARS,
        OAuthClient, RegistrationBytes, parse_document, register_client,
    },
    jwt::KeySetError,
    redirect::RedirectError,
};

use crate::{now, with};

const URL: &str = "https://client.example/metadata.json";

fn parse(body: &str) -> Result<OAuthClient, ClientMetadataError> {
    parse_document(&DocumentUrl::parse(&URL.parse().unwrap()).unwrap(), body.as_bytes())
}

fn document(changes: Value) -> String {
    let good =
        json!({ "client_id": URL, "client_name": "Good", "redirect_uris": ["https://client.example/cb"] });
    with(good, changes).to_string()
}

/// Name, body, error.
pub(crate) fn attacks() -> Vec<(&'static str, String, ClientMetadataError)> {
    let private = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A" }] });
    let symmetric = json!({ "keys": [{ "kty": "oct", "k": "c2VzYW1l" }] });
    vec![
        (
            "document of another client",
            document(json!({ "client_id": "https://claude.ai/oauth/client" })),
            E::OtherClient,
        ),
        ("id that differs by a slash", document(json!({ "client_id": format!("{URL}/") })), E::OtherClient),
        ("id that differs by a query", document(json!({ "client_id": format!("{URL}?") })), E::OtherClient),
        ("id that differs by case", document(json!({ "client_id": URL.to_uppercase() })), E::OtherClient),
        ("no id", document(json!({ "client_id": null })), E::OtherClient),
        (
            "two ids",
            format!(
                r#"{{"client_id":"https://claude.ai/x","client_id":"{URL}","redirect_uris":["https://a.example/"]}}"#
            ),
            E::Malformed,
        ),
        ("published secret", document(json!({ "client_secret": "sesame" })), E::PublishedSecret),
        ("published private key", document(json!({ "jwks": private })), E::Keys(KeySetError::Private)),
        ("published symmetric key", document(json!({ "jwks": symmetric })), E::Keys(KeySetError::Private)),
        (
            "shared secret as the method",
            document(json!({ "token_endpoint_auth_method": "client_secret_jwt" })),
            E::AuthenticationMethod,
        ),
        (
            "only forbidden redirects",
            document(json!({ "redirect_uris": ["javascript:x", "http://a.example"] })),
            E::NoRedirect,
        ),
        ("redirect wildcard", document(json!({ "redirect_uris": ["https://*"] })), E::NoRedirect),
        ("implicit flow", document(json!({ "grant_types": ["implicit"] })), E::GrantType),
        ("machine grant", document(json!({ "grant_types": ["client_credentials"] })), E::GrantType),
        (
            "large document",
            document(json!({ "x": "x".repeat(MAX_DOCUMENT_BYTES) })),
            E::TooLarge(MAX_DOCUMENT_BYTES),
        ),
        ("deep document", format!("{}{}", "[".repeat(4_000), "]".repeat(4_000)), E::Malformed),
        ("a page instead of JSON", "<!doctype html>".to_owned(), E::Malformed),
    ]
}

#[test]
fn hostile_documents_are_refused() {
    assert!(parse(&document(json!({}))).is_ok());
    for (name, body, expected) in attacks() {
        assert_eq!(parse(&body), Err(expected), "{name}");
    }
}

#[test]
fn a_hostile_redirect_in_a_document_cannot_be_used() {
    let uris = json!(["javascript:alert(1)", "https://client.example/cb", "data:text/html,x"]);
    let client = parse(&document(json!({ "redirect_uris": uris }))).unwrap();
    assert!(client.find_redirect("javascript:alert(1)").is_err());
    assert_eq!(client.redirect_uris.len(), 1);
}

#[test]
fn names_on_the_consent_page_have_no_tricks() {
    let name = |text: &str| parse(&document(json!({ "client_name": text }))).unwrap().name.to_string();
    for (hostile, shown) in [
        ("Claude\u{202e}edualC", "ClaudeedualC"),
        ("Cla\u{200b}u\u{200d}de", "Claude"),
        ("\u{2066}Claude\u{2069}", "Claude"),
        ("Claude\u{e0041}\u{e0042}", "Claude"),
        ("Claude\u{ad}", "Claude"),
        ("Claude\n\n\n\nwants nothing", "Claude wants nothing"),
        ("Claude\u{2028}x", "Claude x"),
        ("\u{3164}\u{ffa0}\u{2800}", "client.example"),
        ("   ", "client.example"),
    ] {
        assert_eq!(name(hostile), shown, "{hostile:?}");
    }
    assert_eq!(name(&"A".repeat(5_000)).chars().count(), MAX_NAME_CHARS + 1);
}

#[test]
fn a_registration_cannot_smuggle_a_redirect() {
    let bytes = || RegistrationBytes { id: [1; 16], secret: [2; 32].into() };
    for (uri, expected) in [
        ("javascript:alert(1)", RedirectError::Scheme),
        ("http://evil.example/cb", RedirectError::Insecure),
        ("https://a.example/cb#x", RedirectError::Fragment),
        ("https://a.example/cb?state=x", RedirectError::ResponseParameter),
    ] {
        let body = json!({ "redirect_uris": ["https://client.example/cb", uri] }).to_string();
        let refused = register_client(body.as_bytes(), bytes(), now()).unwrap_err();
        assert_eq!(refused, E::Redirect(expected), "{uri}");
    }
}
