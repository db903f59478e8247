//! Secret values of upstreams: stored sealed, and never shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toolyard_protocol::{raw::to_raw, upstream::UpstreamDetails};

use crate::ports::{SealError, SecretSealer, UpstreamRecord};

/// The placeholder for a sealed value.
pub const HIDDEN: &str = "(sealed)";

/// Sealed values that cannot be opened, or a placeholder without a stored value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnusableSecrets(pub String);

/// The secret values of an upstream. Values that refer to environment variables are not secret.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SecretValues {
    /// Header values, by name.
    pub headers: BTreeMap<String, String>,
    /// Environment variables, by name.
    pub env: BTreeMap<String, String>,
    /// The OAuth client secret.
    pub client_secret: Option<String>,
}

/// Takes the secret values out of an upstream's details and seals them. Values that refer to environment variables stay
/// readable.
pub fn seal_secrets(
    mut details: UpstreamDetails,
    secrets: &dyn SecretSealer,
) -> Result<(UpstreamDetails, Vec<u8>), SealError> {
    let mut values = SecretValues::default();
    let hide = |from: &mut BTreeMap<String, String>, to: &mut BTreeMap<String, String>| {
        for (name, value) in from {
            if !value.contains("${") {
                to.insert(name.clone(), std::mem::replace(value, HIDDEN.to_owned()));
            }
        }
    };
    hide(&mut details.headers, &mut values.headers);
    hide(&mut details.env, &mut values.env);
    if let Some(secret) = details.client_secret.as_mut().filter(|secret| !secret.contains("${")) {
        values.client_secret = Some(std::mem::replace(secret, HIDDEN.to_owned()));
    }
    let sealed = secrets.seal(to_raw(&values).get())?;
    Ok((details, sealed))
}

/// Replaces placeholders with the values that were sealed before.
pub fn restore_secrets(
    mut details: UpstreamDetails,
    before: Option<&UpstreamRecord>,
    secrets: &dyn SecretSealer,
) -> Result<UpstreamDetails, UnusableSecrets> {
    let values = match before {
        // If all values are replaced nothing has to be opened, so an upstream whose seal is lost can be repaired.
        Some(before) if has_placeholder(&details) => open_secrets(before, secrets)?,
        _ => SecretValues::default(),
    };
    let restore = |now: &mut BTreeMap<String, String>, then: &BTreeMap<String, String>| {
        for (name, value) in now.iter_mut().filter(|(_, value)| *value == HIDDEN) {
            if let Some(restored) = then.get(name) {
                value.clone_from(restored);
            }
        }
    };
    restore(&mut details.headers, &values.headers);
    restore(&mut details.env, &values.env);
    if details.client_secret.as_deref() == Some(HIDDEN) {
        details.client_secret = values.client_secret.or(details.client_secret);
    }
    if has_placeholder(&details) {
        return Err(UnusableSecrets(format!(
            "`{HIDDEN}` is a placeholder without a stored value; send the value"
        )));
    }
    Ok(details)
}

/// Whether a value is a placeholder.
fn has_placeholder(details: &UpstreamDetails) -> bool {
    let mut all = details.headers.values().chain(details.env.values()).chain(&details.client_secret);
    all.any(|value| value == HIDDEN)
}

/// Opens the sealed values of an upstream.
pub fn open_secrets(
    record: &UpstreamRecord,
    secrets: &dyn SecretSealer,
) -> Result<SecretValues, UnusableSecrets> {
    let values = secrets.unseal(&record.sealed).map_err(|error| UnusableSecrets(error.to_string()))?;
    serde_json::from_str(&values).map_err(|error| UnusableSecrets(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::UnsealError;

    /// Does not encrypt: the test is about what gets sealed.
    struct Open;
    impl SecretSealer for Open {
        fn seal(&self, plain: &str) -> Result<Vec<u8>, SealError> {
            Ok(plain.as_bytes().to_vec())
        }
        fn unseal(&self, sealed: &[u8]) -> Result<String, UnsealError> {
            String::from_utf8(sealed.to_vec()).map_err(|_| UnsealError)
        }
        fn derive_keys(&self, _: &str) -> Vec<[u8; 32]> {
            Vec::new()
        }
    }

    fn record(text: &str) -> UpstreamRecord {
        let (details, sealed) = seal_secrets(serde_json::from_str(text).unwrap(), &Open).unwrap();
        UpstreamRecord { details, sealed, managed: false, disabled: false }
    }

    #[test]
    fn a_change_that_leaves_a_secret_alone_keeps_it() {
        let before = record(r#"{"url":"u","headers":{"a":"one","b":"two"},"clientSecret":"c"}"#);
        let mut details = before.details.clone();
        details.headers.insert("b".to_owned(), "new".to_owned());
        let restored = restore_secrets(details, Some(&before), &Open).unwrap();
        assert_eq!((restored.headers["a"].as_str(), restored.headers["b"].as_str()), ("one", "new"));
        assert_eq!(restored.client_secret.as_deref(), Some("c"));
    }

    #[test]
    fn a_placeholder_without_a_value_is_refused() {
        let before = record(r#"{"url":"u","headers":{"a":"one"}}"#);
        let mut details = before.details.clone();
        details.headers.insert("b".to_owned(), HIDDEN.to_owned());
        assert!(restore_secrets(details.clone(), Some(&before), &Open).is_err());
        assert!(restore_secrets(details.clone(), None, &Open).is_err());
        details.headers.remove("b");
        details.headers.insert("a".to_owned(), "new".to_owned());
        let lost = UpstreamRecord { sealed: vec![0xff], ..before };
        assert_eq!(
            restore_secrets(details, Some(&lost), &Open).unwrap().headers["a"],
            "new",
            "a lost seal is no trap"
        );
    }
}
