//! Ids of calls. Each vendor makes its own and rejects some of the others', so ours are valid for all of them.

use std::collections::{HashMap, HashSet};

use sha2::{Digest as _, Sha256};
use toolyard_core::ports::IdGenerator;

/// The characters that every vendor accepts in a call's id, and how many we use.
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LENGTH: usize = 24;

/// Longest id that is sent unchanged. Some deployments reject more than 40.
const MAX_ID: usize = 40;

/// A new id: `call_` and 24 letters and digits.
pub(crate) fn new_call_id(ids: &dyn IdGenerator) -> String {
    let mut bytes = [0; LENGTH];
    ids.fill_random(&mut bytes);
    encode_id(&bytes)
}

fn encode_id(bytes: &[u8]) -> String {
    let letters = bytes.iter().map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]));
    "call_".chars().chain(letters).collect()
}

/// The ids of a conversation as they are sent to a vendor. They may come from anywhere and may repeat.
#[derive(Debug, Default)]
pub(super) struct WireIds {
    used: HashSet<String>,
    latest: HashMap<String, String>,
}

impl WireIds {
    /// The id of a call. Calls come in the order of the conversation.
    pub(super) fn assign_call_id(&mut self, id: &str) -> String {
        let mut wire = safe_id(id);
        let mut copies = 1_u32;
        while !self.used.insert(wire.clone()) {
            copies += 1;
            wire = digest_id(&format!("{id}#{copies}"));
        }
        self.latest.insert(id.to_owned(), wire.clone());
        wire
    }

    /// The id of the call that a result belongs to: the latest with this id.
    pub(super) fn result_call_id(&self, id: &str) -> String {
        self.latest.get(id).cloned().unwrap_or_else(|| safe_id(id))
    }
}

/// The id itself if every vendor accepts it, else one derived from it.
fn safe_id(id: &str) -> String {
    let fits = (1..=MAX_ID).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if fits { id.to_owned() } else { digest_id(id) }
}

fn digest_id(text: &str) -> String {
    encode_id(&Sha256::digest(text.as_bytes())[..LENGTH])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(id: &str) -> bool {
        id.strip_prefix("call_")
            .is_some_and(|rest| rest.len() == 24 && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
    }

    #[test]
    fn new_ids_are_valid_for_every_vendor_and_unique() {
        let ids = toolyard_core::ports::SystemIds;
        let (one, two) = (new_call_id(&ids), new_call_id(&ids));
        assert!(fits(&one) && fits(&two), "{one} {two}");
        assert_ne!(one, two);
    }

    #[test]
    fn ids_of_others_are_made_safe_and_stay_together() {
        let mut wire = WireIds::default();
        for id in ["functions.x:0", "call#todo__add#0", "", "é", &"x".repeat(MAX_ID + 1)] {
            let call = wire.assign_call_id(id);
            assert!(fits(&call), "{id} became {call}");
            assert_eq!(wire.result_call_id(id), call);
        }
        for id in ["toolu_01A-b", "call_1", &"x".repeat(MAX_ID)] {
            assert_eq!(wire.assign_call_id(id), id);
            assert_eq!(wire.result_call_id(id), id);
        }
        assert_eq!(
            WireIds::default().assign_call_id("functions.x:0"),
            WireIds::default().assign_call_id("functions.x:0")
        );
    }

    #[test]
    fn a_repeated_id_becomes_another_and_answers_belong_to_the_latest() {
        let mut wire = WireIds::default();
        let first = wire.assign_call_id("call_0");
        assert_eq!(wire.result_call_id("call_0"), first);
        let second = wire.assign_call_id("call_0");
        assert_ne!(first, second);
        assert_eq!(wire.result_call_id("call_0"), second);
        assert!(fits(&wire.result_call_id("never:seen")));
    }
}
