//! Text that must not appear in a log.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A key, or a hash that is as good as a key. `Debug` hides it; serialization does not.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_it_and_the_wire_does_not() {
        let secret: SecretText = serde_json::from_str("\"the-key\"").unwrap();
        assert_eq!(format!("{secret:?}"), "(secret)");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"the-key\"");
    }
}
