//! Protected resource metadata (RFC 9728): where a client of the MCP endpoint gets a token.

use serde::Serialize;

use crate::{
    issuer::IssuerOrigin,
    resource::ResourceIdentifier,
    scope::{OAuthScope, ScopeSet},
};

/// The document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProtectedResourceMetadata {
    resource: ResourceIdentifier,
    authorization_servers: [IssuerOrigin; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes_supported: Vec<String>,
    bearer_methods_supported: [&'static str; 1],
    resource_name: String,
}

impl ProtectedResourceMetadata {
    /// Builds the document. `scopes` are the few that a client should start with; more are asked for when they are
    /// needed. `offline_access` is between client and authorization server, so it is left out.
    pub fn new(resource: &ResourceIdentifier, issuer: &IssuerOrigin, scopes: &ScopeSet, name: &str) -> Self {
        let announced = scopes.iter().filter(|scope| **scope != OAuthScope::OfflineAccess);
        Self {
            resource: resource.clone(),
            authorization_servers: [issuer.clone()],
            scopes_supported: announced.map(ToString::to_string).collect(),
            bearer_methods_supported: ["header"],
            resource_name: name.to_owned(),
        }
    }
}

/// The paths at which the document is served: with the path of the MCP endpoint, and at the root for older clients.
pub fn resource_metadata_paths(resource_path: &str) -> [String; 2] {
    let root = "/.well-known/oauth-protected-resource";
    [format!("{root}{resource_path}"), root.to_owned()]
}

/// The URL of the document, for challenges.
pub fn resource_metadata_url(issuer: &IssuerOrigin, resource_path: &str) -> String {
    let [path, _] = resource_metadata_paths(resource_path);
    issuer.join(&path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_whole_document() {
        let issuer: IssuerOrigin = "https://tools.example.com".parse().unwrap();
        let resource = "https://tools.example.com/mcp".parse().unwrap();
        let scopes = ScopeSet::parse("tools:read tools:write offline_access").unwrap().scopes;
        let document = ProtectedResourceMetadata::new(&resource, &issuer, &scopes, "Toolyard");
        let expected = json!({
            "resource": "https://tools.example.com/mcp",
            "authorization_servers": ["https://tools.example.com"],
            "scopes_supported": ["tools:read", "tools:write"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Toolyard",
        });
        assert_eq!(serde_json::to_value(document).unwrap(), expected);
    }

    #[test]
    fn both_places_are_served_and_the_longer_one_is_named() {
        let issuer = "https://tools.example.com".parse().unwrap();
        let paths = resource_metadata_paths("/mcp");
        assert_eq!(
            paths,
            ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"]
        );
        let url = "https://tools.example.com/.well-known/oauth-protected-resource/mcp";
        assert_eq!(resource_metadata_url(&issuer, "/mcp"), url);
    }
}
