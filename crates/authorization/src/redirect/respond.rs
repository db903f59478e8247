//! The authorization response: the redirect URI with the parameters of the result.

use url::form_urlencoded;

use super::RedirectUri;
use crate::{
    error::{OAuthErrorCode, clean_description},
    issuer::IssuerOrigin,
};

/// The address that brings a code to the client. `iss` is always there, so that a client with several authorization
/// servers can notice a mix-up (RFC 9207).
pub fn code_redirect(to: &RedirectUri, code: &str, state: Option<&str>, issuer: &IssuerOrigin) -> String {
    with_parameters(to, &[("code", Some(code)), ("state", state), ("iss", Some(issuer.as_str()))])
}

/// The address that brings an error to the client.
pub fn error_redirect(
    to: &RedirectUri,
    error: OAuthErrorCode,
    description: &str,
    state: Option<&str>,
    issuer: &IssuerOrigin,
) -> String {
    let description = clean_description(description);
    let parameters = [
        ("error", Some(error.as_str())),
        ("error_description", Some(description.as_str())),
        ("state", state),
        ("iss", Some(issuer.as_str())),
    ];
    with_parameters(to, &parameters)
}

/// Adds parameters after the query that the client registered, which stays byte for byte.
fn with_parameters(to: &RedirectUri, parameters: &[(&str, Option<&str>)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in parameters {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let to = to.as_str();
    let separator = match to.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some((_, query)) if query.ends_with('&') => "",
        Some(_) => "&",
    };
    format!("{to}{separator}{}", query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issuer() -> IssuerOrigin {
        "https://tools.example.com".parse().unwrap()
    }

    #[test]
    fn parameters_follow_the_query_of_the_client() {
        for (registered, start) in [
            ("https://a.example/cb", "https://a.example/cb?code="),
            ("https://a.example", "https://a.example?code="),
            ("https://a.example/cb?", "https://a.example/cb?code="),
            ("https://a.example/cb?t=a%20b", "https://a.example/cb?t=a%20b&code="),
            ("https://a.example/cb?t=1&", "https://a.example/cb?t=1&code="),
            ("cursor://x/cb", "cursor://x/cb?code="),
            ("com.example.app:/cb", "com.example.app:/cb?code="),
        ] {
            let location = code_redirect(&registered.parse().unwrap(), "c", None, &issuer());
            assert_eq!(location, format!("{start}c&iss=https%3A%2F%2Ftools.example.com"));
        }
    }

    #[test]
    fn values_are_encoded() {
        let to = "https://a.example/cb".parse().unwrap();
        let location = code_redirect(&to, "a&b", Some("x y&iss=evil#\r\nä"), &issuer());
        let expected = "https://a.example/cb?code=a%26b&state=x+y%26iss%3Devil%23%0D%0A%C3%A4&iss=https%3A%2F%2Ftools.example.com";
        assert_eq!(location, expected);
    }

    #[test]
    fn errors_have_state_and_issuer_too() {
        let to = "https://a.example/cb".parse().unwrap();
        let location =
            error_redirect(&to, OAuthErrorCode::AccessDenied, "no \"access\"", Some("s"), &issuer());
        let expected = "https://a.example/cb?error=access_denied&error_description=no+%27access%27&state=s\
                        &iss=https%3A%2F%2Ftools.example.com";
        assert_eq!(location, expected);
    }
}
