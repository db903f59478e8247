//! Judging a manifest by the current key and revocation lists.

use std::sync::Arc;

use jiff::Timestamp;
use toolyard_protocol::plugin::{ContentHash, Manifest, ManifestError};

use crate::PluginVerdict;

/// A manifest and its verdict.
#[derive(Debug)]
pub struct JudgedManifest {
    /// The manifest.
    pub manifest: Arc<Manifest>,
    /// The verdict.
    pub verdict: PluginVerdict,
}

/// Decides whether a plugin may run, by the lists in force.
pub trait PluginJudge: Send + Sync {
    /// Judges the text of a manifest, which must match the pinned content if one is given.
    fn judge_text(
        &self,
        text: &str,
        pinned: Option<&ContentHash>,
        now: Timestamp,
    ) -> Result<Arc<JudgedManifest>, ManifestError>;
}
