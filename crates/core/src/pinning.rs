//! Which definitions users get: those that were accepted.
//!
//! A review stores what was accepted (see [`crate::ports::PinStore`]). Here only pinned definitions pass, so whatever a
//! package sends between two reviews reaches nobody.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
pub use toolyard_definitions::{ContentDigest, PinSubject, PinnedContent, review::AcceptedVersion};
use toolyard_definitions::{change::MAX_LISTED_TOOLS, review::CurrentOffer};
use toolyard_protocol::{raw::RawFields, tool::ToolDefinition};

use crate::ports::{PackagePins, StoredToolSet, UpstreamOffer};

/// What happens to a definition that changed and is not harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PinMode {
    /// The accepted version stays in use until someone accepts the new one.
    Quarantine,
    /// The new version is used, and a note is kept.
    Note,
    /// Nothing is compared.
    Off,
}

/// What happens to a definition that was never seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FirstUse {
    /// It is pinned and used.
    #[default]
    Pin,
    /// An operator must accept it first. Upstreams only.
    Approve,
}

/// How definitions are pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinPolicy {
    /// For upstreams.
    pub upstreams: PinMode,
    /// For apps whose tools are not published by an operator.
    pub apps: PinMode,
    /// For upstreams that were never seen.
    pub first_use: FirstUse,
}

impl Default for PinPolicy {
    fn default() -> Self {
        Self { upstreams: PinMode::Quarantine, apps: PinMode::Quarantine, first_use: FirstUse::Pin }
    }
}

/// A tool that is offered but not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldTool {
    /// The name that its source lists.
    pub name: String,
    /// Why it is held back.
    pub reason: String,
}

/// The definitions that users get.
#[derive(Debug, Default)]
pub struct PinnedListing {
    /// The tools, in the order in which the package lists them.
    pub tools: Vec<Box<RawValue>>,
    /// Tools that users do not get.
    pub held: Vec<HeldTool>,
    /// Whether anything differs from what the package offers now.
    pub differs: bool,
}

/// The accepted pages of a package. If they are enforced, no other `ui://` page is shown.
#[derive(Debug, Default)]
pub struct PinnedPages {
    /// Whether only pinned pages are shown.
    pub is_enforced: bool,
    /// The results of `resources/read`, by URI.
    pub contents: BTreeMap<String, Box<RawValue>>,
}

impl PinnedPages {
    /// The pages of these pins.
    pub fn from_pins(pins: &PackagePins) -> Self {
        let page = |(subject, text): (&PinSubject, &String)| match subject {
            PinSubject::Page(uri) => Some((uri.clone(), RawValue::from_string(text.clone()).ok()?)),
            PinSubject::Tool(_) | PinSubject::Instructions => None,
        };
        let effective = pins.effective();
        let texts = effective.iter().map(|(subject, pin)| (*subject, &pin.version.content.text));
        Self { is_enforced: true, contents: texts.filter_map(page).collect() }
    }
}

/// Replaces each tool by its accepted version, and holds back those that have none. Invalid ones are left to their reader. A
/// package that was never reviewed is used as it is, unless everything must be accepted first.
pub fn list_pinned(offered: &[Box<RawValue>], pins: &PackagePins, first_use: FirstUse) -> PinnedListing {
    let effective = pins.effective();
    let is_new = pins.first_seen.is_none() && first_use == FirstUse::Pin;
    let mut listing = PinnedListing::default();
    for raw in offered {
        let name = tool_name(raw);
        let Some(name) = name.filter(|_| !is_new) else {
            // Without a name it is not a tool, and its reader says so.
            listing.tools.push(raw.clone());
            continue;
        };
        let pin = effective.get(&PinSubject::Tool(name.clone()));
        match pin.and_then(|pin| RawValue::from_string(pin.version.content.text.clone()).ok()) {
            Some(accepted) => {
                listing.differs |= accepted.get() != raw.get();
                listing.tools.push(accepted);
            }
            // Its reader says what is wrong with it.
            None if ToolDefinition::parse(raw, "tool").is_err() => listing.tools.push(raw.clone()),
            None => {
                listing.differs = true;
                let reason =
                    "it is new or has another name, and was not accepted; see the changed definitions";
                listing.held.push(HeldTool { name, reason: reason.to_owned() });
            }
        }
    }
    listing
}

/// The name of a definition.
pub fn tool_name(raw: &RawValue) -> Option<String> {
    let fields: RawFields = serde_json::from_str(raw.get()).ok()?;
    fields.parse_field::<String>("name").and_then(Result::ok)
}

fn named_tools(tools: &[Box<RawValue>]) -> Vec<(String, PinnedContent)> {
    let named = tools.iter().take(MAX_LISTED_TOOLS);
    named.filter_map(|raw| Some((tool_name(raw)?, PinnedContent::new(raw.get())))).collect()
}

/// What an upstream offers, as it is compared.
pub fn current_offer(offer: &UpstreamOffer) -> CurrentOffer {
    let mut tools = named_tools(&offer.tools);
    for (_, content) in &mut tools {
        let definition = serde_json::from_str::<serde_json::Value>(&content.text).unwrap_or_default();
        let urls = toolyard_definitions::pin::icon_urls(&definition);
        let known = urls.into_iter().filter_map(|url| Some((url.to_owned(), *offer.icons.get(url)?)));
        content.icons = known.collect();
    }
    CurrentOffer {
        tools,
        pages: offer.pages.iter().map(|(uri, page)| (uri.clone(), PinnedContent::new(page.get()))).collect(),
        instructions: Some(PinnedContent::new(offer.instructions.clone().unwrap_or_default())),
    }
}

/// The tools of an app, as they are compared.
pub fn current_tools(set: &StoredToolSet) -> CurrentOffer {
    CurrentOffer { tools: named_tools(&set.tools), ..CurrentOffer::default() }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;
    use toolyard_protocol::{UserId, definitions::PinOrigin, raw::to_raw};

    use super::*;
    use crate::ports::DefinitionPin;

    fn tool(name: &str, description: &str) -> Box<RawValue> {
        to_raw(&json!({ "name": name, "description": description, "inputSchema": { "type": "object" } }))
    }

    fn pin(raw: &RawValue, user: Option<&str>) -> DefinitionPin {
        let content = PinnedContent::new(raw.get());
        let digest = ContentDigest::from_content(raw.get().as_bytes());
        DefinitionPin {
            subject: PinSubject::Tool(tool_name(raw).unwrap()),
            user: user.map(|user| user.parse::<UserId>().unwrap()),
            version: AcceptedVersion { content, digest, earlier: Vec::new() },
            origin: PinOrigin::FirstUse,
            by: None,
            at: Timestamp::UNIX_EPOCH,
            findings: Vec::new(),
        }
    }

    fn known(pins: Vec<DefinitionPin>) -> PackagePins {
        PackagePins { first_seen: Some(Timestamp::UNIX_EPOCH), pins, ..PackagePins::default() }
    }

    fn texts(listing: &PinnedListing) -> Vec<&str> {
        listing.tools.iter().map(|raw| raw.get()).collect()
    }

    #[test]
    fn only_accepted_versions_are_listed_and_the_users_own_come_first() {
        let (old, new, other) = (tool("a", "Old."), tool("a", "New."), tool("b", "Other."));
        let offered = [new.clone(), other, tool("a", "Twice.")];
        let listing = list_pinned(&offered, &known(vec![pin(&old, None)]), FirstUse::Pin);
        assert_eq!(texts(&listing), [old.get(), old.get()], "a name that is listed twice has one version");
        assert_eq!(listing.held.iter().map(|held| held.name.as_str()).collect::<Vec<_>>(), ["b"]);
        assert!(listing.differs);
        let own = list_pinned(&offered, &known(vec![pin(&new, Some("ada")), pin(&old, None)]), FirstUse::Pin);
        assert_eq!(texts(&own), [new.get(), new.get()]);
        let gone = list_pinned(&[], &known(vec![pin(&old, None)]), FirstUse::Pin);
        assert!(gone.tools.is_empty(), "what is no longer offered is not listed");
    }

    #[test]
    fn a_package_that_was_never_reviewed_is_used_unless_an_operator_must_accept_it() {
        let offered = [tool("a", "A tool."), to_raw(&json!({ "description": "no name" }))];
        let used = list_pinned(&offered, &PackagePins::default(), FirstUse::Pin);
        assert_eq!((used.tools.len(), used.held.len()), (2, 0));
        let held = list_pinned(&offered, &PackagePins::default(), FirstUse::Approve);
        assert_eq!((held.tools.len(), held.held.len()), (1, 1));
    }
}
