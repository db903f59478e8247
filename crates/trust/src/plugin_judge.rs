//! Judging the text of a manifest, by whoever holds the lists of keys and revocations.

use std::sync::Arc;

use jiff::Timestamp;
use toolyard_protocol::plugin::{ContentHash, Manifest, ManifestError};

use crate::PluginVerdict;

/// What the text of a manifest came to.
#[derive(Debug)]
pub struct JudgedManifest {
    /// What it says.
    pub manifest: Arc<Manifest>,
    /// What it is.
    pub verdict: PluginVerdict,
}

/// Says of a manifest what it is and whether it may run, by the lists that are in force.
pub trait PluginJudge: Send + Sync {
    /// Judges a text, which must have the pinned content if one is given.
    fn judge_text(
        &self,
        text: &str,
        pinned: Option<&ContentHash>,
        now: Timestamp,
    ) -> Result<Arc<JudgedManifest>, ManifestError>;
}
