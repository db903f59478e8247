//! Names of packages and tools, and the alias under which models and MCP clients see a tool.
//!
//! Names are parsed once, at the edge. The alias is a pure function of the canonical name, so it stays the same when
//! other apps are added or removed: stored histories and prompt caches keep working.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize, de};

use crate::name_hash::{NAME_HASH_CHARS, ends_like_name_hash, name_hash};

use crate::user_id::is_invisible;

/// Longest package name.
pub const MAX_PACKAGE_CHARS: usize = 100;
/// Longest local tool name.
pub const MAX_TOOL_CHARS: usize = 128;
/// Longest alias. Leaves room for the prefixes that clients add (Mastra 63, Claude 64, Cursor 60).
pub const MAX_ALIAS_CHARS: usize = 40;

/// Characters for package and tool in a hashed alias: `package__tool_hhhhhhhhhhhhhh`.
const HASHED_BUDGET: usize = MAX_ALIAS_CHARS - 2 - 1 - NAME_HASH_CHARS;
/// The tool part is never truncated below this: it distinguishes the tools of one app.
const MIN_TOOL_KEPT: usize = 14;

/// Why a text is not a valid name. The message says which part is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    /// Neither `package:tool` nor an alias.
    #[error("`{0}` is not a tool name: expected `package:tool` or the tool's alias")]
    NotATool(String),
    /// The package part is invalid.
    #[error(
        "`{0}` is not a package name: 1 to {MAX_PACKAGE_CHARS} of a-z, 0-9, `.`, `_`, `-`, such as `com.example.todo`"
    )]
    Package(String),
    /// The tool part is invalid.
    #[error("`{0}` is not a local tool name: 1 to {MAX_TOOL_CHARS} printable ASCII characters without space")]
    Tool(String),
}

/// A text for an error message, truncated so that hostile input cannot fill the log. Invisible characters are written as
/// escapes, so that the message shows what is wrong and a text cannot look like another one.
pub(crate) fn text_excerpt(text: &str) -> String {
    let mut excerpt = String::new();
    for c in text.chars().take(80) {
        if is_invisible(c) { excerpt.extend(c.escape_unicode()) } else { excerpt.push(c) }
    }
    if text.chars().nth(80).is_some() {
        excerpt.push('…');
    }
    excerpt
}

/// The name of an app: `com.example.todo`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PackageName(Arc<str>);

impl PackageName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The platform's own name.
    pub fn platform() -> Self {
        Self("toolyard".into())
    }

    /// Whether the name is reserved for the platform: `toolyard`, `mcp.*`, `plugin.*`.
    pub fn is_reserved(&self) -> bool {
        let name = self.as_str();
        name == "toolyard" || name.starts_with("mcp.") || name.starts_with("plugin.")
    }
}

impl FromStr for PackageName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
        if text.is_empty() || text.len() > MAX_PACKAGE_CHARS || !text.bytes().all(allowed) {
            return Err(InvalidName::Package(text_excerpt(text)));
        }
        Ok(Self(text.into()))
    }
}

/// A tool's name inside its app: `add_todo`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalName(Arc<str>);

impl LocalName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LocalName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        if text.is_empty() || text.len() > MAX_TOOL_CHARS || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(InvalidName::Tool(text_excerpt(text)));
        }
        Ok(Self(text.into()))
    }
}

/// A tool's canonical name: `package:tool`, split at the first colon.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName {
    full: Arc<str>,
    package: PackageName,
}

impl ToolName {
    /// Joins the two parts.
    pub fn new(package: &PackageName, tool: &LocalName) -> Self {
        Self { full: format!("{package}:{tool}").into(), package: package.clone() }
    }

    /// The whole name as text.
    pub fn as_str(&self) -> &str {
        &self.full
    }

    /// The package part.
    pub fn package(&self) -> &PackageName {
        &self.package
    }

    /// The tool part, without the package.
    pub fn local_name(&self) -> &str {
        &self.full[self.package.as_str().len() + 1..]
    }

    /// The name under which models and MCP clients see this tool.
    pub fn alias(&self) -> ToolAlias {
        ToolAlias(
            plain_alias(self.package.as_str(), self.local_name())
                .unwrap_or_else(|| self.hashed_alias())
                .into(),
        )
    }

    fn hashed_alias(&self) -> String {
        let (package, tool) = (fold_package(self.package.as_str()), fold_to_identifier(self.local_name()));
        let tool_room = MIN_TOOL_KEPT.max(HASHED_BUDGET.saturating_sub(package.len()));
        let tool = &tool[..tool.len().min(tool_room)];
        // The start of a package name says the least: many start with `com.example.`.
        let cut = package.len().saturating_sub(HASHED_BUDGET - tool.len());
        let mut package = package[cut..].to_owned();
        if !package.starts_with(|c: char| c.is_ascii_alphabetic()) {
            package.replace_range(..1, "p");
        }
        let hash = name_hash(&[&self.full]);
        format!("{package}__{tool}_{hash}")
    }
}

impl FromStr for ToolName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let (package, tool) =
            text.split_once(':').ok_or_else(|| InvalidName::NotATool(text_excerpt(text)))?;
        Ok(Self::new(&package.parse()?, &tool.parse()?))
    }
}

/// A tool's name as models and MCP clients see it: at most 40 of `[A-Za-z0-9_]`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolAlias(Arc<str>);

impl ToolAlias {
    /// The alias as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The canonical name, if the alias has the plain, reversible form.
    pub fn canonical_name(&self) -> Option<ToolName> {
        // The tool part has no `__` and starts with a letter, so the last `__` is the separator.
        let (package, tool) = self.0.rsplit_once("__")?;
        let package = package.replace('_', ".");
        (plain_alias(&package, tool)? == *self.0).then_some(())?;
        Some(ToolName::new(&package.parse().ok()?, &tool.parse().ok()?))
    }
}

impl FromStr for ToolAlias {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let fits = text.len() <= MAX_ALIAS_CHARS
            && text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if fits { Ok(Self(text.into())) } else { Err(InvalidName::NotATool(text_excerpt(text))) }
    }
}

/// How a caller may refer to a tool: by canonical name or alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolRef {
    /// `package:tool`
    Canonical(ToolName),
    /// `package__tool`
    Alias(ToolAlias),
}

impl FromStr for ToolRef {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        if text.contains(':') { text.parse().map(Self::Canonical) } else { text.parse().map(Self::Alias) }
    }
}

impl fmt::Display for ToolRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Canonical(name) => name.fmt(f),
            Self::Alias(alias) => alias.fmt(f),
        }
    }
}

/// The alias without a hash, only if it is reversible, fits, and cannot be mistaken for a hashed one.
fn plain_alias(package: &str, tool: &str) -> Option<String> {
    let package_undoes = package.starts_with(|c: char| c.is_ascii_lowercase())
        && package.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'.')
        && !package.contains("..")
        && !package.ends_with('.');
    let tool_undoes = tool.starts_with(|c: char| c.is_ascii_alphabetic())
        && tool.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !tool.contains("__");
    if !package_undoes || !tool_undoes {
        return None;
    }
    let alias = format!("{}__{tool}", fold_to_identifier(package));
    (alias.len() <= MAX_ALIAS_CHARS && !ends_like_name_hash(&alias)).then_some(alias)
}

fn fold_to_identifier(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn fold_package(package: &str) -> String {
    let folded = fold_to_identifier(package);
    if folded.starts_with(|c: char| c.is_ascii_digit()) { format!("p{folded}") } else { folded }
}

macro_rules! text_type {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.as_str()) }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.as_str()) }
        }
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from)?.parse().map_err(de::Error::custom)
            }
        }
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string" })
            }
            fn inline_schema() -> bool { true }
        }
    )*};
}
pub(crate) use text_type;
text_type!(PackageName, LocalName, ToolName, ToolAlias);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn alias(name: &str) -> String {
        name.parse::<ToolName>().unwrap().alias().to_string()
    }

    #[test]
    fn splits_at_the_first_colon() {
        let name: ToolName = "com.example.app:a:b".parse().unwrap();
        assert_eq!((name.package().as_str(), name.local_name()), ("com.example.app", "a:b"));
    }

    #[test]
    fn says_which_part_is_wrong() {
        assert!(matches!("nocolon here".parse::<ToolRef>(), Err(InvalidName::NotATool(_))));
        assert!(matches!("Com.Ex:a".parse::<ToolName>(), Err(InvalidName::Package(_))));
        assert!(matches!(":a".parse::<ToolName>(), Err(InvalidName::Package(_))));
        assert!(matches!("com.ex:".parse::<ToolName>(), Err(InvalidName::Tool(_))));
        assert!(matches!("com.ex:a b".parse::<ToolName>(), Err(InvalidName::Tool(_))));
        let long = format!("com.ex:{}", "a".repeat(MAX_TOOL_CHARS + 1));
        assert!(matches!(long.parse::<ToolName>(), Err(InvalidName::Tool(_))));
        let long = format!("{}:a", "a".repeat(MAX_PACKAGE_CHARS + 1));
        assert!(matches!(long.parse::<ToolName>(), Err(InvalidName::Package(_))));
    }

    #[test]
    fn plain_aliases_read_well() {
        assert_eq!(alias("com.example.todo:add_todo"), "com_example_todo__add_todo");
    }

    #[test]
    fn names_that_cannot_be_undone_get_a_hash() {
        for name in [
            "com.ex-app:pay",
            "com.ex_app:pay",
            "1x.y:t",
            "com.ex:a__b",
            "com.ex:_a",
            "com.ex:a-b",
            "a..b:c",
            "a.:c",
        ] {
            assert!(ends_like_name_hash(&alias(name)), "{name} -> {}", alias(name));
        }
    }

    #[test]
    fn a_crafted_name_cannot_take_anothers_alias() {
        let victim = alias("com.ex-app:pay");
        let hash = victim.rsplit('_').next().unwrap();
        assert_ne!(alias(&format!("com.ex.app:pay_{hash}")), victim);
        assert_ne!(alias("1x.y:t"), alias("p1x.y:t"));
        // A tool that looks like a hash and nothing else.
        assert!(ends_like_name_hash(&alias("com.ex:2aaaaaaaaaaaaa")));
        assert_ne!(alias("com.ex:2aaaaaaaaaaaaa"), "com_ex__2aaaaaaaaaaaaa");
    }

    #[test]
    fn names_that_shared_32_bits_of_a_hash_have_aliases_of_their_own() {
        // Found by brute force: the readable parts are the same, and so were eight hex digits.
        let (one, other) =
            ("com.ex-bank:transfer_money_to_account_68f1", "com.ex-bank:transfer_money_to_account_14963");
        let head = |name: &str| alias(name).rsplit_once('_').unwrap().0.to_owned();
        assert_eq!(head(one), head(other));
        assert_ne!(alias(one), alias(other));
    }

    #[test]
    fn a_hashed_alias_keeps_what_can_be_read() {
        assert!(alias("com.my-app:add-todo").starts_with("com_my_app__add_todo_"));
        assert!(alias("com.example.my-company:search-documents").starts_with("y_company__search_documen_"));
    }

    #[test]
    fn reserved_packages() {
        for name in ["toolyard", "mcp.github", "plugin.x"] {
            assert!(name.parse::<PackageName>().unwrap().is_reserved());
        }
        assert!(!"toolyard.todo".parse::<PackageName>().unwrap().is_reserved());
    }

    fn canonical() -> impl Strategy<Value = ToolName> {
        ("[a-z0-9._-]{1,50}", "[!-~]{1,60}|[A-Za-z][A-Za-z0-9_]{0,20}")
            .prop_map(|(package, tool)| ToolName::new(&package.parse().unwrap(), &tool.parse().unwrap()))
    }

    proptest! {
        #[test]
        fn an_alias_fits_every_client(name in canonical()) {
            let alias = name.alias();
            prop_assert!(alias.as_str().parse::<ToolAlias>().is_ok(), "{alias}");
            prop_assert_eq!(&alias, &name.alias());
        }

        #[test]
        fn a_plain_alias_can_be_undone(name in canonical()) {
            let alias = name.alias();
            match alias.canonical_name() {
                Some(back) => prop_assert_eq!(back, name),
                None => prop_assert!(ends_like_name_hash(alias.as_str())),
            }
        }

        #[test]
        fn a_hashed_alias_never_looks_plain(name in canonical()) {
            if plain_alias(name.package().as_str(), name.local_name()).is_none() {
                prop_assert_eq!(name.alias().canonical_name(), None);
            }
        }
    }
}
