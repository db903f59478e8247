//! Walks two versions of a definition side by side.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    ChangeClass, DefinitionChange, IconContents, MAX_CHANGES,
    judge::{judge_annotation, judge_text},
};

/// Schema keywords whose value is data, in which the order of a list can matter.
const DATA_KEYWORDS: [&str; 4] = ["default", "const", "examples", "example"];
/// Schema keywords whose members are names, not keywords.
const NAME_KEYWORDS: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// What a value means in its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WalkPlace {
    Definition,
    Annotations,
    Icons,
    Schema,
    SchemaNames,
    /// A list whose order means nothing.
    Set,
    /// A text that people and models read. Elsewhere, in a pattern or an enum, whitespace is part of the value.
    Prose,
    Data,
}

impl WalkPlace {
    fn enter(self, member: &str) -> Self {
        match (self, member) {
            (Self::Definition | Self::Annotations, "title") | (Self::Definition, "description") => {
                Self::Prose
            }
            (Self::Definition, "annotations") => Self::Annotations,
            (Self::Definition, "icons") => Self::Icons,
            (Self::Definition, "inputSchema" | "outputSchema") => Self::Schema,
            (Self::Schema, "description" | "title" | "$comment") => Self::Prose,
            (Self::Schema, "required" | "enum" | "type") => Self::Set,
            (Self::Schema, member) if NAME_KEYWORDS.contains(&member) => Self::SchemaNames,
            (Self::Schema, member) if DATA_KEYWORDS.contains(&member) => Self::Data,
            (Self::SchemaNames, _) => Self::Schema,
            (Self::Definition | Self::Set | Self::Prose, _) => Self::Data,
            (other, _) => other,
        }
    }
}

pub(super) fn list_changes(old: &Value, new: &Value, icons: IconContents<'_>) -> Vec<DefinitionChange> {
    let mut walk = VersionWalk { icons, changes: Vec::new(), overflow: false };
    walk.compare("", WalkPlace::Definition, "", Some(old), Some(new));
    if walk.overflow {
        let reason = (ChangeClass::NeedsAcceptance, "there are more changes than are listed");
        walk.changes.truncate(MAX_CHANGES - 1);
        walk.changes.push(DefinitionChange::new("", None, None, reason));
    }
    walk.changes
}

struct VersionWalk<'c> {
    icons: IconContents<'c>,
    changes: Vec<DefinitionChange>,
    overflow: bool,
}

impl VersionWalk<'_> {
    /// `place` is that of the value itself, `member` its name in the parent.
    fn compare(
        &mut self,
        pointer: &str,
        place: WalkPlace,
        member: &str,
        old: Option<&Value>,
        new: Option<&Value>,
    ) {
        if old == new || self.overflow {
            return;
        }
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                self.compare_members(pointer, place, old, new);
            }
            // Absent annotations are annotations without members, and the other way round.
            (None, Some(Value::Object(new))) if pointer == "/annotations" => {
                self.compare_members(pointer, place, &Map::new(), new);
            }
            (Some(Value::Object(old)), None) if pointer == "/annotations" => {
                self.compare_members(pointer, place, old, &Map::new());
            }
            (Some(Value::Array(old_items)), Some(Value::Array(new_items)))
                if place != WalkPlace::Set || !same_items(old_items, new_items) =>
            {
                let place = if place == WalkPlace::Set { WalkPlace::Data } else { place };
                for index in 0..old_items.len().max(new_items.len()) {
                    let item = format!("{pointer}/{index}");
                    self.compare(&item, place, "", old_items.get(index), new_items.get(index));
                }
            }
            _ => {
                let judgement = self.judge(place, member, old, new);
                self.push(DefinitionChange::new(pointer, old, new, judgement));
            }
        }
    }

    fn compare_members(
        &mut self,
        pointer: &str,
        place: WalkPlace,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
    ) {
        let names: BTreeMap<&String, ()> = old.keys().chain(new.keys()).map(|name| (name, ())).collect();
        for name in names.into_keys() {
            let pointer = format!("{pointer}/{}", escape_pointer(name));
            self.compare(&pointer, place.enter(name), name, old.get(name), new.get(name));
        }
    }

    fn judge(
        &self,
        place: WalkPlace,
        member: &str,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> (ChangeClass, &'static str) {
        use ChangeClass::{Harmless, NeedsAcceptance};
        match (place, old, new) {
            (WalkPlace::Annotations, old, new) => judge_annotation(member, old, new),
            (WalkPlace::Icons, Some(Value::String(old)), Some(Value::String(new)))
                if member == "src" && self.icons.are_equal(old, new) =>
            {
                (Harmless, "the icon has the same content at another URL")
            }
            // `compare` has checked that the items are the same.
            (WalkPlace::Set, Some(Value::Array(_)), Some(Value::Array(_))) => {
                (Harmless, "only the order changed")
            }
            (WalkPlace::Prose, Some(Value::String(old)), Some(Value::String(new))) => judge_text(old, new),
            (_, None, Some(_)) => (NeedsAcceptance, "this was added"),
            (_, Some(_), None) => (NeedsAcceptance, "this was removed"),
            _ => (NeedsAcceptance, "the value changed"),
        }
    }

    fn push(&mut self, change: DefinitionChange) {
        if self.changes.len() < MAX_CHANGES {
            self.changes.push(change);
        } else {
            self.overflow = true;
        }
    }
}

fn same_items(old: &[Value], new: &[Value]) -> bool {
    let sorted = |items: &[Value]| {
        let mut texts: Vec<String> = items.iter().map(Value::to_string).collect();
        texts.sort_unstable();
        texts
    };
    old.len() == new.len() && sorted(old) == sorted(new)
}

/// A member name as a JSON pointer writes it.
pub(super) fn escape_pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
