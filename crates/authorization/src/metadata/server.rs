//! Authorization server metadata (RFC 8414), which is also the OpenID configuration.
//!
//! Clients look for it at different places, and some read a flag from one place only. So there is one document, and it is
//! served with the same bytes everywhere.

use serde::Serialize;

use crate::{
    client::ClientAuthMethod, grant_type::GrantType, id_jag::ID_JAG_PROFILE, issuer::IssuerOrigin,
    jwt::SIGNING_ALGORITHMS, pkce::CHALLENGE_METHOD, scope::ScopeSet,
};

/// The paths of the endpoints. Each starts with a slash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointPaths {
    /// The page where people allow clients.
    pub authorization: &'static str,
    /// Where clients get tokens.
    pub token: &'static str,
    /// The public keys.
    pub keys: &'static str,
    /// Dynamic registration.
    pub registration: &'static str,
    /// Revocation.
    pub revocation: &'static str,
    /// Introspection.
    pub introspection: &'static str,
    /// Device authorization.
    pub device_authorization: &'static str,
    /// Who signed in.
    pub userinfo: &'static str,
}

impl Default for EndpointPaths {
    fn default() -> Self {
        Self {
            authorization: "/oauth/authorize",
            token: "/oauth/token",
            keys: "/oauth/jwks.json",
            registration: "/oauth/register",
            revocation: "/oauth/revoke",
            introspection: "/oauth/introspect",
            device_authorization: "/oauth/device",
            userinfo: "/oauth/userinfo",
        }
    }
}

/// What the document depends on.
#[derive(Debug, Clone, Copy)]
pub struct MetadataSettings<'a> {
    /// This server.
    pub issuer: &'a IssuerOrigin,
    /// Its endpoints.
    pub paths: &'a EndpointPaths,
    /// The scopes to announce. Keep them few: some clients request all of them.
    pub scopes: &'a ScopeSet,
    /// The algorithms with which ID tokens are signed.
    pub id_token_algorithms: &'a [&'a str],
    /// Whether clients may register themselves.
    pub allows_registration: bool,
    /// The grants that at least one client could use.
    pub grants: &'a [GrantType],
}

/// The document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuthorizationServerMetadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_endpoint: Option<String>,
    revocation_endpoint: String,
    introspection_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_authorization_endpoint: Option<String>,
    userinfo_endpoint: String,
    client_id_metadata_document_supported: bool,
    authorization_response_iss_parameter_supported: bool,
    scopes_supported: Vec<String>,
    response_types_supported: [&'static str; 1],
    response_modes_supported: [&'static str; 1],
    grant_types_supported: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization_grant_profiles_supported: Vec<&'static str>,
    code_challenge_methods_supported: [&'static str; 1],
    token_endpoint_auth_methods_supported: Vec<&'static str>,
    token_endpoint_auth_signing_alg_values_supported: [&'static str; 4],
    revocation_endpoint_auth_methods_supported: Vec<&'static str>,
    revocation_endpoint_auth_signing_alg_values_supported: [&'static str; 4],
    introspection_endpoint_auth_methods_supported: Vec<&'static str>,
    introspection_endpoint_auth_signing_alg_values_supported: [&'static str; 4],
    subject_types_supported: [&'static str; 1],
    id_token_signing_alg_values_supported: Vec<String>,
    claims_supported: [&'static str; 10],
    prompt_values_supported: [&'static str; 4],
    claims_parameter_supported: bool,
    request_parameter_supported: bool,
    request_uri_parameter_supported: bool,
}

impl AuthorizationServerMetadata {
    /// Builds the document.
    pub fn new(settings: &MetadataSettings<'_>) -> Self {
        let (issuer, paths) = (settings.issuer, settings.paths);
        let has = |grant: GrantType| settings.grants.contains(&grant);
        let methods = |public: bool| {
            let methods =
                ClientAuthMethod::ALL.into_iter().filter(|method| public || method.is_confidential());
            methods.map(ClientAuthMethod::as_str).collect()
        };
        Self {
            issuer: issuer.as_str().to_owned(),
            authorization_endpoint: issuer.join(paths.authorization),
            token_endpoint: issuer.join(paths.token),
            jwks_uri: issuer.join(paths.keys),
            registration_endpoint: settings.allows_registration.then(|| issuer.join(paths.registration)),
            revocation_endpoint: issuer.join(paths.revocation),
            introspection_endpoint: issuer.join(paths.introspection),
            device_authorization_endpoint: has(GrantType::DeviceCode)
                .then(|| issuer.join(paths.device_authorization)),
            userinfo_endpoint: issuer.join(paths.userinfo),
            client_id_metadata_document_supported: true,
            authorization_response_iss_parameter_supported: true,
            scopes_supported: settings.scopes.iter().map(ToString::to_string).collect(),
            response_types_supported: ["code"],
            response_modes_supported: ["query"],
            grant_types_supported: settings.grants.iter().map(|grant| grant.as_str()).collect(),
            authorization_grant_profiles_supported: has(GrantType::JwtBearer)
                .then_some(ID_JAG_PROFILE)
                .into_iter()
                .collect(),
            code_challenge_methods_supported: [CHALLENGE_METHOD],
            token_endpoint_auth_methods_supported: methods(true),
            token_endpoint_auth_signing_alg_values_supported: SIGNING_ALGORITHMS,
            revocation_endpoint_auth_methods_supported: methods(true),
            revocation_endpoint_auth_signing_alg_values_supported: SIGNING_ALGORITHMS,
            introspection_endpoint_auth_methods_supported: methods(false),
            introspection_endpoint_auth_signing_alg_values_supported: SIGNING_ALGORITHMS,
            subject_types_supported: ["public"],
            id_token_signing_alg_values_supported: settings
                .id_token_algorithms
                .iter()
                .map(ToString::to_string)
                .collect(),
            claims_supported: [
                "iss",
                "sub",
                "aud",
                "exp",
                "iat",
                "auth_time",
                "nonce",
                "name",
                "email",
                "email_verified",
            ],
            prompt_values_supported: ["none", "login", "consent", "select_account"],
            claims_parameter_supported: false,
            request_parameter_supported: false,
            // Its default is true.
            request_uri_parameter_supported: false,
        }
    }
}

/// The paths at which the document is served. `resource_path` is that of the MCP endpoint, such as `/mcp`: clients insert it
/// after the well-known part or put it in front of it, although the issuer is the origin.
pub fn server_metadata_paths(resource_path: &str) -> [String; 5] {
    [
        "/.well-known/oauth-authorization-server".to_owned(),
        format!("/.well-known/oauth-authorization-server{resource_path}"),
        "/.well-known/openid-configuration".to_owned(),
        format!("/.well-known/openid-configuration{resource_path}"),
        format!("{resource_path}/.well-known/openid-configuration"),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::scope::OAuthScope;

    fn document(allows_registration: bool, grants: &[GrantType]) -> Value {
        let settings = MetadataSettings {
            issuer: &"https://tools.example.com".parse().unwrap(),
            paths: &EndpointPaths::default(),
            scopes: &ScopeSet::from([OAuthScope::ToolsRead, OAuthScope::OpenId, OAuthScope::OfflineAccess]),
            id_token_algorithms: &["EdDSA"],
            allows_registration,
            grants,
        };
        serde_json::to_value(AuthorizationServerMetadata::new(&settings)).unwrap()
    }

    #[test]
    fn the_whole_document() {
        let algorithms = json!(["RS256", "PS256", "ES256", "EdDSA"]);
        let methods = json!(["none", "private_key_jwt", "client_secret_basic", "client_secret_post"]);
        let expected = json!({
            "issuer": "https://tools.example.com",
            "authorization_endpoint": "https://tools.example.com/oauth/authorize",
            "token_endpoint": "https://tools.example.com/oauth/token",
            "jwks_uri": "https://tools.example.com/oauth/jwks.json",
            "registration_endpoint": "https://tools.example.com/oauth/register",
            "revocation_endpoint": "https://tools.example.com/oauth/revoke",
            "introspection_endpoint": "https://tools.example.com/oauth/introspect",
            "device_authorization_endpoint": "https://tools.example.com/oauth/device",
            "userinfo_endpoint": "https://tools.example.com/oauth/userinfo",
            "client_id_metadata_document_supported": true,
            "authorization_response_iss_parameter_supported": true,
            "scopes_supported": ["tools:read", "openid", "offline_access"],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": [
                "authorization_code", "refresh_token", "client_credentials",
                "urn:ietf:params:oauth:grant-type:jwt-bearer", "urn:ietf:params:oauth:grant-type:device_code",
            ],
            "authorization_grant_profiles_supported": ["urn:ietf:params:oauth:grant-profile:id-jag"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": methods,
            "token_endpoint_auth_signing_alg_values_supported": algorithms,
            "revocation_endpoint_auth_methods_supported": methods,
            "revocation_endpoint_auth_signing_alg_values_supported": algorithms,
            "introspection_endpoint_auth_methods_supported": ["private_key_jwt", "client_secret_basic", "client_secret_post"],
            "introspection_endpoint_auth_signing_alg_values_supported": algorithms,
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["EdDSA"],
            "claims_supported": [
                "iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "name", "email", "email_verified",
            ],
            "prompt_values_supported": ["none", "login", "consent", "select_account"],
            "claims_parameter_supported": false,
            "request_parameter_supported": false,
            "request_uri_parameter_supported": false,
        });
        assert_eq!(document(true, &GrantType::ALL), expected);
    }

    #[test]
    fn what_is_turned_off_is_not_announced() {
        let document = document(false, &[GrantType::AuthorizationCode, GrantType::RefreshToken]);
        assert!(document.get("registration_endpoint").is_none());
        assert!(document.get("device_authorization_endpoint").is_none());
        assert!(document.get("authorization_grant_profiles_supported").is_none());
        assert_eq!(document["grant_types_supported"], json!(["authorization_code", "refresh_token"]));
    }

    #[test]
    fn the_document_is_at_every_place_where_clients_look() {
        let expected = [
            "/.well-known/oauth-authorization-server",
            "/.well-known/oauth-authorization-server/mcp",
            "/.well-known/openid-configuration",
            "/.well-known/openid-configuration/mcp",
            "/mcp/.well-known/openid-configuration",
        ];
        assert_eq!(server_metadata_paths("/mcp"), expected);
    }
}
