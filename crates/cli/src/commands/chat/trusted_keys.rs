//! The keys that the user trusts: public keys, and lists signed by a root key.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use toolyard_protocol::{
    Problem,
    plugin::{Manifest, PluginSignature},
};
use toolyard_trust::{KeyEntry, KeyList, MAX_LIST_BYTES, PublicKey, RevocationList, RootPin};

use crate::{commands::keys, error::CliError, input};

/// The trusted keys of the command line.
pub(super) struct TrustedKeys {
    list: KeyList,
    revocations: RevocationList,
    /// Single keys, each with its file.
    single: Vec<(PublicKey, String)>,
}

impl TrustedKeys {
    /// Reads the files. Lists must be signed by the root key.
    pub(super) fn from_files(
        files: &[PathBuf],
        root: Option<&Path>,
        revocations: Option<&Path>,
        now: Timestamp,
    ) -> Result<Self, CliError> {
        let mut all = Self {
            list: KeyList::from_local_keys([]),
            revocations: RevocationList::default(),
            single: Vec::new(),
        };
        let mut pin = root.map(|root| keys::read_public_key(root).map(RootPin::new)).transpose()?;
        let mut has_list = false;
        for file in files {
            let text = input::read_text_file(file, MAX_LIST_BYTES)?;
            if !text.trim_start().starts_with('{') {
                all.single.push((keys::read_public_key(file)?, file.display().to_string()));
                continue;
            }
            if std::mem::replace(&mut has_list, true) {
                return Err(CliError::usage(
                    "only one key list is allowed",
                    "pass one key list; single keys can be repeated",
                ));
            }
            let Some(root) = &pin else {
                let message = format!("{} is a key list, which needs a root key", file.display());
                return Err(CliError::usage(message, "pass the key that signed it with --root FILE"));
            };
            let (list, next) = root.accept_keys(&text, now).map_err(|error| list_problem(file, &error))?;
            (all.list, pin) = (list, Some(next));
        }
        if let (Some(file), Some(root)) = (revocations, &pin) {
            let text = input::read_text_file(file, MAX_LIST_BYTES)?;
            (all.revocations, _) =
                root.accept_revocations(&text, now).map_err(|error| list_problem(file, &error))?;
        }
        Ok(all)
    }

    /// The keys to verify a manifest with. If a key is in the list, the entry of the list is used.
    pub(super) fn keys_for(&self, manifest: &Manifest) -> KeyList {
        let mut list = self.list.clone();
        for (key, file) in &self.single {
            if list.keys.iter().any(|entry| entry.key_id == key.id()) {
                continue;
            }
            let mut entry = KeyEntry::new(key.clone(), file);
            // The older format refers to keys by arbitrary names. A key on the command line matches any of them.
            if let Some(PluginSignature::Rs256 { key, .. }) = manifest.signature() {
                entry.curator_id = Some(key.clone().unwrap_or_default());
            }
            list.keys.push(entry);
        }
        list
    }

    pub(super) fn revocations(&self) -> &RevocationList {
        &self.revocations
    }
}

fn list_problem(file: &Path, error: &dyn std::fmt::Display) -> CliError {
    let problems = vec![Problem::new("", error.to_string())];
    CliError::Problems { what: file.display().to_string(), problems }
}
