//! Seals the state of a question that spans several requests, so that a forged one is detected.
//! A keyed hash of the standard library is enough here: this server is for tests only.

use std::hash::{BuildHasher as _, RandomState};

use serde_json::Value;

/// The key of one upstream.
#[derive(Default)]
pub(super) struct StateSeal(RandomState);

impl StateSeal {
    pub(super) fn keyed_hash(&self, parts: &[&str]) -> u64 {
        self.0.hash_one(parts)
    }

    /// The state as an opaque string, valid only for this request.
    pub(super) fn seal_state(&self, request: &str, state: &Value) -> String {
        let state = state.to_string();
        let body: String = state.bytes().map(|byte| format!("{byte:02x}")).collect();
        format!("{body}.{:016x}", self.keyed_hash(&[request, &state]))
    }

    /// The original state. `None` if it was modified, or belongs to another request.
    pub(super) fn open_state(&self, request: &str, sealed: &str) -> Option<Value> {
        let (body, seal) = sealed.split_once('.')?;
        let digits = body.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
        let bytes: Option<Vec<u8>> = digits.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect();
        let state = String::from_utf8(bytes?).ok()?;
        let sealed = format!("{:016x}", self.keyed_hash(&[request, &state]));
        (sealed == seal).then(|| serde_json::from_str(&state).ok())?
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn opens_only_what_it_closed() {
        let seal = StateSeal::default();
        let sealed = seal.seal_state("tools/call a", &json!({ "round": 1 }));
        assert_eq!(seal.open_state("tools/call a", &sealed), Some(json!({ "round": 1 })));
        assert_eq!(seal.open_state("tools/call b", &sealed), None);
        assert_eq!(seal.open_state("tools/call a", &format!("{sealed}-TAMPERED")), None);
        assert_eq!(seal.open_state("tools/call a", &format!("00{sealed}")), None);
        assert_eq!(seal.open_state("tools/call a", "nonsense"), None);
        assert_eq!(StateSeal::default().open_state("tools/call a", &sealed), None);
    }
}
