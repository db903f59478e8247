//! Compiled schemas, shared by content: a definition that many users see, or that is loaded again, is compiled once.
//!
//! What cannot be used is remembered by content as well, so that a tool with such a schema is not listed: refused when it
//! was compiled, or given up because a check took too long.

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

/// Schemas that took too long and are remembered although nobody holds them.
const MAX_OVERRUN: usize = 256;
/// Fewest entries at which those of schemas that are gone are swept out.
const SWEEP_AT: usize = 1_024;

/// Schemas that are known to be of no use. The oldest are forgotten, and judged again when they are used.
const MAX_FAULTS: usize = 4_096;
/// Schemas that are known to be good although nobody holds them compiled: 32 bytes each. Beyond that all are judged again.
const MAX_SOUND: usize = 65_536;

/// SHA-256 of a schema as it is written.
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
/// Another number whenever a schema that was listed turned out to be of no use.
static FAULT_GENERATION: AtomicU64 = AtomicU64::new(0);

/// The compiled form of a schema.
pub(super) fn get_or_compile(schema: &Value, path: &str) -> Result<Arc<CompiledSchema>, Problem> {
    // Writing a value cannot fail; if it did, it would be compiled for itself.
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
pub(super) fn keep_overrun(schema: &Arc<CompiledSchema>) {
    let mut table = lock_table();
    if table.overrun.len() >= MAX_OVERRUN {
        table.overrun.pop_front();
    }
    table.overrun.push_back(schema.clone());
}

/// Under what a schema is known.
pub(crate) fn schema_digest(schema: &Value) -> Option<SchemaDigest> {
    serde_json::to_vec(schema).ok().map(|text| Sha256::digest(&text).into())
}

/// Compiles a schema only to see whether it can be: the verdict is remembered, the compiled form is not.
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

/// What is known of a schema: good, or why it is of no use. None where nobody looked.
pub(crate) fn known_verdict(digest: &SchemaDigest) -> Option<Result<(), Problem>> {
    let table = lock_table();
    match table.faults.get(digest) {
        Some(problem) => Some(Err(problem.clone())),
        None => table.sound.contains(digest).then_some(Ok(())),
    }
}

/// A schema of a tool that was listed turned out to be of no use: views that show it are stale.
pub(crate) fn report_fault(digest: SchemaDigest, problem: Problem) {
    if lock_table().add_fault(digest, problem) {
        FAULT_GENERATION.fetch_add(1, Ordering::AcqRel);
    }
}

/// Another number whenever [`report_fault`] had something new to say.
pub(crate) fn fault_generation() -> u64 {
    FAULT_GENERATION.load(Ordering::Acquire)
}

impl SharedSchemas {
    /// Whether it is new.
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
