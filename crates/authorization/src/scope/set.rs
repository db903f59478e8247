//! Sets of scopes: parse, format, compare, narrow.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use toolyard_protocol::PackageName;

use super::{OAuthScope, ScopeWordError};

/// Longest text of scopes, in bytes.
pub const MAX_SCOPE_BYTES: usize = 8 * 1024;
/// Most apps that one set names. All other scopes are a closed list, so this bounds a set.
pub const MAX_APP_SCOPES: usize = 50;
/// Most unknown scopes that are reported.
pub const MAX_UNKNOWN_SCOPES: usize = 16;
/// Longest unknown scope that is reported, in bytes. Longer ones are ignored without a report.
const MAX_UNKNOWN_BYTES: usize = 100;

/// Why scopes cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// The text is too long.
    #[error("the scopes are longer than {MAX_SCOPE_BYTES} bytes; request fewer")]
    TooLong,
    /// A character that RFC 6749 does not allow.
    #[error("the scopes have a character that is not allowed; separate scopes by single spaces")]
    BadCharacter,
    /// Too many apps.
    #[error("the scopes name more than {MAX_APP_SCOPES} apps; leave the apps out to request all")]
    TooManyApps,
    /// An `apps:` scope without a package name.
    #[error("a scope that starts with `apps:` does not name a package, such as apps:com.example.todo")]
    InvalidApp,
}

/// An ordered set of scopes. On the wire a text with spaces between them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ScopeSet(BTreeSet<OAuthScope>);

/// The scopes of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedScopes {
    /// Those of this server.
    pub scopes: ScopeSet,
    /// Others, which are ignored (RFC 6749, 3.3). For the log: some clients add scopes of their own.
    pub unknown: Vec<String>,
}

impl ScopeSet {
    /// Reads a text with spaces between the scopes.
    ///
    /// Unknown scopes are ignored, with one exception: ignoring a broken `apps:` scope would turn a restricted request
    /// into one for all apps, so it is refused.
    pub fn parse(text: &str) -> Result<ParsedScopes, ScopeError> {
        if text.len() > MAX_SCOPE_BYTES {
            return Err(ScopeError::TooLong);
        }
        // RFC 6749, 3.3: visible ASCII without quote and backslash.
        if !text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
            return Err(ScopeError::BadCharacter);
        }
        let mut parsed = ParsedScopes::default();
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            match word.parse() {
                Ok(scope) => parsed.scopes.insert(scope)?,
                Err(ScopeWordError::InvalidApp) => return Err(ScopeError::InvalidApp),
                Err(ScopeWordError::Unknown) => {
                    if parsed.unknown.len() < MAX_UNKNOWN_SCOPES && word.len() <= MAX_UNKNOWN_BYTES {
                        parsed.unknown.push(word.to_owned());
                    }
                }
            }
        }
        Ok(parsed)
    }

    /// Adds a scope.
    pub fn insert(&mut self, scope: OAuthScope) -> Result<(), ScopeError> {
        let is_new_app = matches!(scope, OAuthScope::App(_)) && !self.0.contains(&scope);
        if is_new_app && self.packages().count() >= MAX_APP_SCOPES {
            return Err(ScopeError::TooManyApps);
        }
        self.0.insert(scope);
        Ok(())
    }

    /// The scopes, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = &OAuthScope> {
        self.0.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether exactly this scope is in the set. To check a permission, use [`covers`](Self::covers).
    pub fn has(&self, scope: &OAuthScope) -> bool {
        self.0.contains(scope)
    }

    /// The apps that the set is restricted to; none if it is not restricted.
    pub fn packages(&self) -> impl Iterator<Item = &PackageName> {
        self.0.iter().filter_map(|scope| match scope {
            OAuthScope::App(package) => Some(package),
            _ => None,
        })
    }

    /// Whether an app is visible: the set names it, or no app at all.
    pub fn allows_package(&self, package: &PackageName) -> bool {
        let mut restricted = self.packages().peekable();
        restricted.peek().is_none() || restricted.any(|allowed| allowed == package)
    }

    /// Whether the set permits everything that an operation needs.
    pub fn covers(&self, needed: &Self) -> bool {
        needed.iter().all(|scope| self.covers_scope(scope))
    }

    /// What an operation needs and the set does not permit. Empty if [`covers`](Self::covers).
    pub fn missing_scopes(&self, needed: &Self) -> Self {
        Self(needed.iter().filter(|scope| !self.covers_scope(scope)).cloned().collect())
    }

    /// Both sets together, for a step-up. A restriction to apps stays: it is never lifted by adding scopes.
    pub fn union(&self, other: &Self) -> Result<Self, ScopeError> {
        let mut all = self.clone();
        other.iter().try_for_each(|scope| all.insert(scope.clone()))?;
        Ok(all)
    }

    /// What both sets permit. `None` if both are restricted to apps and have none in common: a set that names no app
    /// would permit all of them.
    pub fn narrow(&self, allowed: &Self) -> Option<Self> {
        let both = |scope: &&OAuthScope| self.covers_scope(scope) && allowed.covers_scope(scope);
        let narrowed = Self(self.iter().chain(allowed.iter()).filter(both).cloned().collect());
        let was_restricted = self.packages().next().is_some() || allowed.packages().next().is_some();
        let is_restricted = narrowed.packages().next().is_some();
        (was_restricted == is_restricted).then_some(narrowed)
    }

    fn covers_scope(&self, needed: &OAuthScope) -> bool {
        match needed {
            OAuthScope::App(package) => self.allows_package(package),
            needed => self.0.iter().any(|own| own.contains(needed)),
        }
    }
}

impl<const N: usize> From<[OAuthScope; N]> for ScopeSet {
    fn from(scopes: [OAuthScope; N]) -> Self {
        const { assert!(N <= MAX_APP_SCOPES, "too many scopes") };
        Self(scopes.into())
    }
}

impl fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, scope) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str(" ")?;
            }
            scope.fmt(f)?;
        }
        Ok(())
    }
}

impl Serialize for ScopeSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ScopeSet {
    /// Scopes of a newer version are ignored, so that its records still work and permit less.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map(|parsed| parsed.scopes).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(text: &str) -> ScopeSet {
        ScopeSet::parse(text).unwrap().scopes
    }

    #[test]
    fn a_text_is_ordered_and_unknown_scopes_are_reported() {
        let parsed =
            ScopeSet::parse(" openid  claudeai tools:write tools:read apps:b apps:a openid ").unwrap();
        assert_eq!(parsed.scopes.to_string(), "tools:read tools:write apps:a apps:b openid");
        assert_eq!(parsed.unknown, ["claudeai"]);
        assert_eq!(ScopeSet::parse("").unwrap(), ParsedScopes::default());
        assert!(ScopeSet::parse("").unwrap().scopes.is_empty());
    }

    #[test]
    fn a_broken_app_scope_does_not_become_all_apps() {
        assert_eq!(ScopeSet::parse("tools:read apps:NOT"), Err(ScopeError::InvalidApp));
    }

    #[test]
    fn texts_and_sets_are_bounded() {
        assert_eq!(ScopeSet::parse(&"a".repeat(MAX_SCOPE_BYTES + 1)), Err(ScopeError::TooLong));
        for bad in ["tools:read\ttools:write", "a\"b", "a\\b", "ä", "a\nb", "a\u{200b}"] {
            assert_eq!(ScopeSet::parse(bad), Err(ScopeError::BadCharacter), "{bad:?}");
        }
        let apps = |count: usize| (0..count).map(|n| format!("apps:p{n} ")).collect::<String>();
        let most = scopes(&apps(MAX_APP_SCOPES));
        assert_eq!(ScopeSet::parse(&apps(MAX_APP_SCOPES + 1)), Err(ScopeError::TooManyApps));
        assert_eq!(most.union(&scopes("apps:one-more")), Err(ScopeError::TooManyApps));
        assert!(most.union(&scopes("apps:p1 chat")).is_ok());
        let unknown: String = (0..40).map(|n| format!("u{n} ")).collect();
        assert_eq!(ScopeSet::parse(&unknown).unwrap().unknown.len(), MAX_UNKNOWN_SCOPES);
        let long = "u".repeat(MAX_UNKNOWN_BYTES + 1);
        assert!(ScopeSet::parse(&long).unwrap().unknown.is_empty());
    }

    #[test]
    fn a_set_covers_what_its_scopes_contain() {
        let table = [
            ("tools:destructive", "tools:read tools:write", true),
            ("tools:read", "tools:write", false),
            ("tools:write", "tools:read apps:a", true),
            ("tools:write apps:a", "tools:read apps:a", true),
            ("tools:write apps:a", "tools:read apps:b", false),
            ("apps:a", "tools:read", false),
            ("openid", "email", false),
            ("", "", true),
            ("", "chat", false),
        ];
        for (own, needed, covered) in table {
            assert_eq!(scopes(own).covers(&scopes(needed)), covered, "{own} / {needed}");
            let missing = scopes(own).missing_scopes(&scopes(needed));
            assert_eq!(missing.is_empty(), covered, "{own} / {needed}");
        }
        let missing = scopes("tools:read apps:a").missing_scopes(&scopes("tools:destructive apps:b"));
        assert_eq!(missing, scopes("tools:destructive apps:b"));
    }

    #[test]
    fn a_step_up_keeps_the_restriction_to_apps() {
        let more = scopes("tools:read apps:a").union(&scopes("tools:destructive")).unwrap();
        assert_eq!(more.to_string(), "tools:read tools:destructive apps:a");
        assert!(!more.allows_package(&"b".parse().unwrap()));
    }

    #[test]
    fn narrowing_never_widens() {
        let table = [
            ("tools:destructive chat", "tools:read", Some("tools:read")),
            ("tools:read", "tools:destructive account", Some("tools:read")),
            ("tools:write apps:a", "tools:write", Some("tools:write apps:a")),
            ("tools:write", "tools:write apps:a", Some("tools:write apps:a")),
            ("tools:write apps:a apps:b", "tools:read apps:b apps:c", Some("tools:read apps:b")),
            ("tools:write apps:a", "tools:write apps:b", None),
            ("chat", "account", Some("")),
        ];
        for (own, allowed, expected) in table {
            let narrowed = scopes(own).narrow(&scopes(allowed));
            assert_eq!(narrowed, expected.map(scopes), "{own} / {allowed}");
            assert_eq!(scopes(allowed).narrow(&scopes(own)), expected.map(scopes), "{allowed} / {own}");
        }
    }

    #[test]
    fn a_stored_set_is_a_text() {
        let set = ScopeSet::from([OAuthScope::Chat, OAuthScope::ToolsRead]);
        assert_eq!(serde_json::to_string(&set).unwrap(), r#""tools:read chat""#);
        assert_eq!(serde_json::from_str::<ScopeSet>(r#""chat newer:scope tools:read""#).unwrap(), set);
        assert!(serde_json::from_str::<ScopeSet>(r#""apps:NOT""#).is_err());
    }
}
