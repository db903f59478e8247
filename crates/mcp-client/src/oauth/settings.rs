//! How this client identifies itself to one server, and what it requests.

use serde_json::{Value, json};
use toolyard_protocol::secret::SecretText;
use url::{Host, Url};

/// How this client identifies itself to the authorization server of one upstream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OAuthSettings {
    /// Where the browser returns to.
    pub redirect_uri: String,
    /// An https URL that serves [`OAuthSettings::client_metadata`]. Used as client id if the server supports it.
    pub client_metadata_url: Option<String>,
    /// Display name of this client.
    pub client_name: String,
    /// A manually registered client. Takes precedence over all other ways.
    pub client: Option<RegisteredClient>,
    /// Scopes to request. If empty, those that the server names.
    pub scopes: Vec<String>,
    /// What every `state` begins with. The rest is random.
    pub state_prefix: String,
}

/// A manually registered client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredClient {
    /// Its id.
    pub id: String,
    /// Its secret, if it has one.
    pub secret: Option<SecretText>,
    /// The authorization server that knows it. Any other one is refused. If not set, the secret is sent to the one that
    /// the upstream names.
    pub issuer: Option<String>,
}

impl OAuthSettings {
    /// The document to serve at [`OAuthSettings::client_metadata_url`].
    pub fn client_metadata(&self) -> Value {
        json!({
            "client_id": self.client_metadata_url,
            "client_name": self.client_name,
            "redirect_uris": [self.redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": self.application_type(),
        })
    }

    /// `web` for a server, `native` for a program on the user's machine, as in OpenID Connect.
    pub(super) fn application_type(&self) -> &'static str {
        let local = Url::parse(&self.redirect_uri).is_ok_and(|url| match url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(v4)) => v4.is_loopback(),
            Some(Host::Ipv6(v6)) => v6.is_loopback(),
            None => true,
        });
        if local { "native" } else { "web" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redirecting_to(uri: &str) -> OAuthSettings {
        OAuthSettings { redirect_uri: uri.to_owned(), ..OAuthSettings::default() }
    }

    #[test]
    fn a_redirect_to_this_machine_makes_it_native() {
        for uri in ["http://127.0.0.1:7/cb", "http://[::1]/cb", "http://localhost/cb", "toolyard:cb"] {
            assert_eq!(redirecting_to(uri).application_type(), "native", "{uri}");
        }
        for uri in ["https://yard.example/cb", "http://10.0.0.1/cb", "https://localhost.example/cb"] {
            assert_eq!(redirecting_to(uri).application_type(), "web", "{uri}");
        }
    }

    #[test]
    fn the_document_names_itself() {
        let settings = OAuthSettings {
            client_metadata_url: Some("https://yard.example/client.json".to_owned()),
            client_name: "Yard".to_owned(),
            ..redirecting_to("https://yard.example/cb")
        };
        assert_eq!(
            settings.client_metadata(),
            json!({
                "client_id": "https://yard.example/client.json",
                "client_name": "Yard",
                "redirect_uris": ["https://yard.example/cb"],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                "application_type": "web",
            })
        );
    }
}
