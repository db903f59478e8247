//! Compiled schemas, shared by content: a definition that many users see, or that is reloaded, is compiled once.
//!
//! Unusable schemas are also remembered by content, so that tools with such a schema are not listed: those that do not
//! compile, and those whose validation took too long.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{
        Arc, LazyLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use toolyard_protocol::Problem;

use super::CompiledSchema;

/// Most schemas that are kept because their validation took too long.
const MAX_OVERRUN: usize = 256;
/// Fewest entries at which unused ones are removed.
const SWEEP_AT: usize = 1_024;

/// Most schemas that are remembered as unusable. The oldest are forgotten, and checked again on use.
const MAX_FAULTS: usize = 4_096;
/// Most schemas that are remembered as good, 32 bytes each. Beyond that, all are forgotten and checked again.
const MAX_SOUND: usize = 65_536;

/// SHA-256 of the serialized schema.
pub(crate) type SchemaDigest = [u8; 32];

#[derive(Default)]
struct SharedSchemas {
    compiled: HashMap<SchemaDigest, Weak<CompiledSchema>>,
    sweep_at: usize,
    overrun: VecDeque<Arc<CompiledSchema>>,
    faults: HashMap<SchemaDigest, Problem>,
    fault_order: VecDeque<SchemaDigest>,
    sound: HashSet<SchemaDigest>,
}

static TABLE: LazyLock<Mutex<SharedSchemas>> = LazyLock::new(Mutex::default);
/// Raised whenever a schema in use proves unusable.
static FAULT_GENERATION: AtomicU64 = AtomicU64::new(0);

/// Returns the compiled schema, compiling it if needed.
pub(super) fn get_or_compile(schema: &Value, path: &str) -> Result<Arc<CompiledSchema>, Problem> {
    // Serializing a value cannot fail; if it did, the schema would be compiled unshared.
    let Some(digest) = schema_digest(schema) else {
        return CompiledSchema::compile(schema, path).map(Arc::new);
    };
    let known = || lock_table().compiled.get(&digest).and_then(Weak::upgrade);
    if let Some(known) = known() {
        return Ok(known);
    }
    let compiled =
        Arc::new(CompiledSchema { digest: Some(digest), ..CompiledSchema::compile(schema, path)? });
    let mut table = lock_table();
    // Another thread may have been faster. All callers share one instance, so that all see when it is marked as too
    // slow.
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

/// Keeps a schema whose validation took too long, so that reloading its definition does not reset the mark.
pub(super) fn keep_overrun(schema: &Arc<CompiledSchema>) {
    let mut table = lock_table();
    if table.overrun.len() >= MAX_OVERRUN {
        table.overrun.pop_front();
    }
    table.overrun.push_back(schema.clone());
}

/// The digest that identifies a schema.
pub(crate) fn schema_digest(schema: &Value) -> Option<SchemaDigest> {
    serde_json::to_vec(schema).ok().map(|text| Sha256::digest(&text).into())
}

/// Compiles a schema only to check it: the verdict is kept, the compiled form is not.
pub(crate) fn precheck_schema(schema: &Value, path: &str) {
    let Some(digest) = schema_digest(schema) else { return };
    if known_verdict(&digest).is_some() {
        return;
    }
    match get_or_compile(schema, path) {
        Ok(_) => {
            let mut table = lock_table();
            if table.sound.len() >= MAX_SOUND {
                table.sound.clear();
            }
            table.sound.insert(digest);
        }
        Err(problem) => drop(lock_table().add_fault(digest, problem)),
    }
}

/// What is known about a schema: good, or why it is unusable. None if it was not checked.
pub(crate) fn known_verdict(digest: &SchemaDigest) -> Option<Result<(), Problem>> {
    let table = lock_table();
    match table.faults.get(digest) {
        Some(problem) => Some(Err(problem.clone())),
        None => table.sound.contains(digest).then_some(Ok(())),
    }
}

/// Marks a schema in use as unusable: views that show its tools become stale.
pub(crate) fn report_fault(digest: SchemaDigest, problem: Problem) {
    if lock_table().add_fault(digest, problem) {
        FAULT_GENERATION.fetch_add(1, Ordering::AcqRel);
    }
}

/// Raised whenever [`report_fault`] adds a new fault.
pub(crate) fn fault_generation() -> u64 {
    FAULT_GENERATION.load(Ordering::Acquire)
}

impl SharedSchemas {
    /// Adds a fault; returns whether it is new.
    fn add_fault(&mut self, digest: SchemaDigest, problem: Problem) -> bool {
        if self.faults.insert(digest, problem).is_some() {
            return false;
        }
        self.sound.remove(&digest);
        self.fault_order.push_back(digest);
        if self.fault_order.len() > MAX_FAULTS
            && let Some(oldest) = self.fault_order.pop_front()
        {
            self.faults.remove(&oldest);
        }
        true
    }
}

fn lock_table() -> parking_lot::MutexGuard<'static, SharedSchemas> {
    TABLE.lock()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest(at: usize) -> SchemaDigest {
        schema_digest(&json!({ "title": format!("fault {at}") })).unwrap()
    }

    #[test]
    fn the_oldest_faults_are_forgotten() {
        let mut table = SharedSchemas::default();
        for at in 0..=MAX_FAULTS {
            assert!(table.add_fault(digest(at), Problem::new("inputSchema", "bad")));
        }
        assert_eq!((table.faults.len(), table.fault_order.len()), (MAX_FAULTS, MAX_FAULTS));
        assert!(!table.faults.contains_key(&digest(0)) && table.faults.contains_key(&digest(1)));
        assert!(!table.add_fault(digest(1), Problem::new("inputSchema", "bad")), "known already");
    }

    #[test]
    fn a_verdict_is_remembered() {
        let good = json!({ "type": "object", "title": "judged and good" });
        let bad =
            json!({ "type": "object", "title": "judged and bad", "properties": { "a": { "type": 7 } } });
        assert!(known_verdict(&schema_digest(&good).unwrap()).is_none(), "nobody looked yet");
        precheck_schema(&good, "inputSchema");
        precheck_schema(&bad, "inputSchema");
        assert_eq!(known_verdict(&schema_digest(&good).unwrap()), Some(Ok(())));
        assert!(matches!(known_verdict(&schema_digest(&bad).unwrap()), Some(Err(_))));
    }
}
