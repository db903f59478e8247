//! `storage`: its permission and its limits.

use std::sync::Arc;

use serde_json::json;
use toolyard_sandbox::{
    MemoryStorage, PluginStorage, RunPermissions, SandboxError, SandboxJob, SandboxLimits, StorageQuota,
};

use crate::error;
use crate::support::{job, run, sandbox};

fn with_storage(source: &str, storage: &Arc<MemoryStorage>) -> SandboxJob {
    let storage: Arc<dyn PluginStorage> = Arc::<MemoryStorage>::clone(storage);
    SandboxJob {
        permissions: RunPermissions { storage: Some(storage), ..RunPermissions::default() },
        ..job(source)
    }
}

#[tokio::test]
async fn what_one_run_stores_the_next_one_finds() {
    let storage = Arc::new(MemoryStorage::default());
    let sandbox = sandbox(SandboxLimits::default());
    let source = "await storage.set('list', [1, { a: 'ü' }]); await storage.set('gone', 1);
        return [await storage.get('none'), await storage.delete('gone'), await storage.delete('gone')]";
    let outcome = run(&sandbox, with_storage(source, &storage)).await.unwrap();
    assert_eq!(outcome.json.get(), "[null,true,false]");
    assert_eq!(outcome.used.host_calls, 5);
    let source = "return [await storage.keys(), await storage.get('list')]";
    let outcome = run(&sandbox, with_storage(source, &storage)).await.unwrap();
    assert_eq!(outcome.json.get(), r#"[["list"],[1,{"a":"ü"}]]"#);
}

#[tokio::test]
async fn storage_needs_the_permission() {
    let SandboxError::Thrown { text, .. } = error(job("await storage.get('x')")).await else { panic!() };
    assert_eq!(text, "TypeError: storage needs the permission `storage`");
}

#[tokio::test]
async fn sizes_are_bounded() {
    let storage = Arc::new(MemoryStorage::new(StorageQuota { keys: 1, bytes: 100 }));
    let sandbox = sandbox(SandboxLimits { key_length: 3, value_bytes: 10, ..SandboxLimits::default() });
    let tell =
        |call: &str| format!("try {{ await storage.{call}; return 'ok' }} catch (e) {{ return e.message }}");
    for (call, expected) in [
        ("set('abc', '12345678')", "ok"),
        ("set('abcd', 1)", "the key is longer than 3 characters"),
        ("get('abcd')", "the key is longer than 3 characters"),
        ("set('abc', '123456789')", "the value is longer than 10 characters"),
        ("set('abc', 'üüüüü')", "the value is larger than 10 bytes"),
        ("set('x', 1)", "the storage is full (1 keys); delete something first"),
        ("set('abc', undefined)", "storage keeps what can be written as JSON; use delete to remove a key"),
    ] {
        let outcome = run(&sandbox, with_storage(&tell(call), &storage)).await.unwrap();
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(outcome.json.get()).unwrap(),
            json!(expected),
            "{call}"
        );
    }
}

#[tokio::test]
async fn one_call_too_many_ends_the_run_even_if_the_code_catches_it() {
    let storage = Arc::new(MemoryStorage::default());
    let sandbox = sandbox(SandboxLimits { host_calls: 3, ..SandboxLimits::default() });
    let calls =
        |n| format!("for (let i = 0; i < {n}; i++) try {{ await storage.get('x') }} catch {{}} return 1");
    run(&sandbox, with_storage(&calls(3), &storage)).await.unwrap();
    let error = run(&sandbox, with_storage(&calls(4), &storage)).await.unwrap_err();
    assert_eq!(error, SandboxError::TooManyHostCalls { limit: 3 });
}

#[tokio::test]
async fn stored_values_that_are_not_json_throw_a_catchable_error() {
    let storage = Arc::new(MemoryStorage::default());
    storage.set("k", "{nonsense").await.unwrap();
    let source = "try { return await storage.get('k') } catch (e) { return e.name }";
    let outcome = run(&sandbox(SandboxLimits::default()), with_storage(source, &storage)).await.unwrap();
    assert_eq!(outcome.json.get(), r#""SyntaxError""#);
}
