//! Who we are, for one server, and what we ask for.

use serde_json::{Value, json};
use toolyard_protocol::secret::SecretText;
use url::{Host, Url};

/// How we present ourselves to the authorization server of one upstream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OAuthSettings {
    /// Where the browser comes back to.
    pub redirect_uri: String,
    /// An https URL where [`OAuthSettings::client_metadata`] can be read. Used as client id where the server can.
    pub client_metadata_url: Option<String>,
    /// Our name, for people.
    pub client_name: String,
    /// A client that was registered by hand. It goes before all other ways.
    pub client: Option<RegisteredClient>,
    /// What to ask for. Empty: what the server names.
    pub scopes: Vec<String>,
}

/// A client that was registered by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredClient {
    /// Its id.
    pub id: String,
    /// Its secret, where it has one.
    pub secret: Option<SecretText>,
    /// The authorization server that knows it. Another one is refused; if this is not said, the one that the upstream
    /// names gets to see the secret.
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

    /// `web` for a server, `native` for a program on the user's machine, as OpenID Connect has it.
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
