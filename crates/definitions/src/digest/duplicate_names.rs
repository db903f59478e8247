//! Finds a member name that an object has twice. Parsers disagree about which one counts, so a digest could cover one
//! definition while a client shows the other.

use std::{cell::RefCell, collections::HashSet, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The first duplicate name of a document. `None` if there is none, or if the text is not JSON.
pub(super) fn find_duplicate(text: &str) -> Option<String> {
    let found = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_str(text);
    // An error means either a duplicate, which is recorded, or invalid JSON, which the caller reports.
    let _ = NameCheck(&found).deserialize(&mut reader);
    found.into_inner()
}

#[derive(Clone, Copy)]
struct NameCheck<'f>(&'f RefCell<Option<String>>);

impl<'de> DeserializeSeed<'de> for NameCheck<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NameCheck<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if names.contains(&name) {
                *self.0.borrow_mut() = Some(name);
                members.next_value::<IgnoredAny>()?;
                return Err(A::Error::custom("duplicate"));
            }
            names.insert(name);
            members.next_value_seed(self)?;
        }
        Ok(())
    }
}
