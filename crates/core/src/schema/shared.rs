//! Compiled schemas, shared by content: a definition that many users see, or that is loaded again, is compiled once.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, LazyLock, Mutex, PoisonError, Weak},
};

use serde_json::Value;
use sha2::{Digest, Sha256};
use toolyard_protocol::Problem;

use super::Schema;

/// Schemas that took too long and are remembered although nobody holds them.
const MAX_OVERRUN: usize = 256;
/// Fewest entries at which those of schemas that are gone are swept out.
const SWEEP_AT: usize = 1_024;

type SchemaDigest = [u8; 32];

#[derive(Default)]
struct SharedSchemas {
    compiled: HashMap<SchemaDigest, Weak<Schema>>,
    sweep_at: usize,
    overrun: VecDeque<Arc<Schema>>,
}

static TABLE: LazyLock<Mutex<SharedSchemas>> = LazyLock::new(Mutex::default);

/// The compiled form of a schema.
pub(super) fn get_or_compile(schema: &Value, path: &str) -> Result<Arc<Schema>, Problem> {
    // Writing a value cannot fail; if it did, it would be compiled for itself.
    let Ok(text) = serde_json::to_vec(schema) else { return Schema::compile(schema, path).map(Arc::new) };
    let digest: SchemaDigest = Sha256::digest(&text).into();
    let known = || table().compiled.get(&digest).and_then(Weak::upgrade);
    if let Some(known) = known() {
        return Ok(known);
    }
    let compiled = Arc::new(Schema::compile(schema, path)?);
    let mut table = table();
    // Somebody else may have been faster; all hold the same one, so that all learn when it takes too long.
    if let Some(known) = table.compiled.get(&digest).and_then(Weak::upgrade) {
        return Ok(known);
    }
    if table.compiled.len() >= table.sweep_at.max(SWEEP_AT) {
        table.compiled.retain(|_, schema| schema.strong_count() > 0);
        table.sweep_at = table.compiled.len() * 2;
    }
    table.compiled.insert(digest, Arc::downgrade(&compiled));
    Ok(compiled)
}

/// Keeps a schema that took too long, so that reloading its definition does not reset the mark.
pub(super) fn remember(schema: &Arc<Schema>) {
    let mut table = table();
    if table.overrun.len() >= MAX_OVERRUN {
        table.overrun.pop_front();
    }
    table.overrun.push_back(schema.clone());
}

fn table() -> std::sync::MutexGuard<'static, SharedSchemas> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}
