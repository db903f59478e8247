//! JSON objects whose members stay raw.
//!
//! A tool definition or a result passes through byte for byte unless a part must be inspected. [`RawFields`] can
//! read or replace one member and leaves the others, and their order, unchanged.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::value::RawValue;

/// The members of a JSON object, in their order, each as raw JSON.
#[derive(Debug, Clone, Default)]
pub struct RawFields(Vec<(String, Box<RawValue>)>);

impl RawFields {
    /// The member with that name; the last one if it is duplicated, as in other JSON parsers.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// The member parsed as a type, if it exists.
    pub fn parse_field<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Option<Result<T, serde_json::Error>> {
        self.get(name).map(|raw| serde_json::from_str(raw.get()))
    }

    /// Replaces the member with that name, or inserts it at the front.
    pub fn set(&mut self, name: &str, value: Box<RawValue>) {
        self.0.retain({
            let mut seen = false;
            move |(key, _)| key != name || !std::mem::replace(&mut seen, true)
        });
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some(member) => member.1 = value,
            None => self.0.insert(0, (name.to_owned(), value)),
        }
    }

    /// Removes a member.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| key != name);
    }

    /// The names of the members.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The members by name; the last one if a name is duplicated. For reading many of them.
    pub fn by_name(&self) -> BTreeMap<&str, &RawValue> {
        self.0.iter().map(|(name, value)| (name.as_str(), &**value)).collect()
    }

    /// The object as raw JSON.
    pub fn to_raw(&self) -> Box<RawValue> {
        to_raw(self)
    }
}

/// Serializes a value as raw JSON. Our types have string keys and finite numbers only, so this cannot fail; if it ever
/// did, the result would be `null` instead of a panic.
pub fn to_raw<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl Serialize for RawFields {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RawFields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct RawFieldsVisitor;
        impl<'de> Visitor<'de> for RawFieldsVisitor {
            type Value = RawFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawFields, A::Error> {
                let mut fields = Vec::with_capacity(map.size_hint().unwrap_or(8).min(64));
                while let Some(member) = map.next_entry()? {
                    fields.push(member);
                }
                Ok(RawFields(fields))
            }
        }
        from.deserialize_map(RawFieldsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_member_changes_and_the_rest_stays_as_it_came() {
        let mut fields: RawFields =
            serde_json::from_str(r#"{"z": {"b":1.50,  "a":2}, "name":"x", "big":12345678901234567890123}"#)
                .unwrap();
        fields.set("name", to_raw("com.ex:x"));
        assert_eq!(
            fields.to_raw().get(),
            r#"{"z":{"b":1.50,  "a":2},"name":"com.ex:x","big":12345678901234567890123}"#
        );
    }

    #[test]
    fn a_name_given_twice_cannot_hide_behind_the_first() {
        let mut fields: RawFields = serde_json::from_str(r#"{"name":"a","name":"b"}"#).unwrap();
        assert_eq!(fields.get("name").unwrap().get(), r#""b""#);
        fields.set("name", to_raw("c"));
        assert_eq!(fields.to_raw().get(), r#"{"name":"c"}"#);
    }
}
