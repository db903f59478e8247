//! What a connected client may do.

use std::{collections::BTreeSet, sync::Arc};

use toolyard_authorization::scope::{OAuthScope, ScopeSet};
use toolyard_core::catalog::{ClientScope, ToolAccess};

/// What the user granted a client, as its access token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientAccess {
    /// The client.
    pub client_id: String,
    /// What was granted.
    pub scopes: ScopeSet,
    /// What that means for tools.
    pub view: Arc<ClientScope>,
}

impl ClientAccess {
    /// What these scopes permit.
    pub fn new(client_id: String, scopes: ScopeSet) -> Self {
        let packages: BTreeSet<_> = scopes.packages().cloned().collect();
        let view = ClientScope {
            packages: (!packages.is_empty()).then_some(packages),
            access: tool_access(&scopes),
        };
        Self { client_id, scopes, view: Arc::new(view) }
    }

    /// Reads the claims of an access token. Scopes that this server no longer knows permit nothing.
    pub(crate) fn from_claims(client_id: &str, scope: &str) -> Self {
        let scopes = ScopeSet::parse(scope).map(|parsed| parsed.scopes).unwrap_or_default();
        Self::new(client_id.to_owned(), scopes)
    }

    /// Whether a scope was granted.
    pub fn has(&self, scope: OAuthScope) -> bool {
        self.scopes.has(&scope)
    }

    /// Whether the client may list or call tools.
    pub fn has_tools(&self) -> bool {
        self.view.access > ToolAccess::List
    }
}

fn tool_access(scopes: &ScopeSet) -> ToolAccess {
    [
        (OAuthScope::ToolsDestructive, ToolAccess::Destructive),
        (OAuthScope::ToolsWrite, ToolAccess::Write),
        (OAuthScope::ToolsRead, ToolAccess::Read),
    ]
    .into_iter()
    .find(|(scope, _)| scopes.has(scope))
    .map_or(ToolAccess::List, |(_, access)| access)
}

/// The scope that allows this much.
pub fn scope_for(access: ToolAccess) -> OAuthScope {
    match access {
        ToolAccess::List | ToolAccess::Read => OAuthScope::ToolsRead,
        ToolAccess::Write => OAuthScope::ToolsWrite,
        ToolAccess::Destructive => OAuthScope::ToolsDestructive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_say_which_tools_a_client_may_call() {
        let access = |scope: &str| ClientAccess::from_claims("c", scope);
        for (scope, expected) in [
            ("", ToolAccess::List),
            ("chat openid", ToolAccess::List),
            ("tools:read", ToolAccess::Read),
            ("tools:read tools:write", ToolAccess::Write),
            ("tools:destructive", ToolAccess::Destructive),
            ("tools:admin", ToolAccess::List),
            ("apps:Not A Package", ToolAccess::List),
        ] {
            assert_eq!(access(scope).view.access, expected, "{scope}");
        }
        assert_eq!(access("tools:read").view.packages, None);
        let one = access("tools:read apps:com.a").view.packages.clone().unwrap();
        assert_eq!(one.into_iter().map(|package| package.to_string()).collect::<Vec<_>>(), ["com.a"]);
        assert!(!access("account").has_tools() && access("account").has(OAuthScope::Account));
    }
}
