//! What code can do in a worker: the same as on a thread.

use std::sync::Arc;

use serde_json::Value;
use toolyard_sandbox::{
    MemoryStorage, PluginStorage as _, RunPermissions, SandboxError, SandboxJob, SandboxLimits,
};

use crate::support::{NOW, job, with_args};
use crate::{patient, pool, run, slots, value};

#[tokio::test]
async fn arguments_go_in_and_a_result_comes_out() {
    let pool = pool(patient(), slots(2)).await;
    let job = with_args("return { sum: args.a + args.b, text: 'ü' }", r#"{"a":2,"b":3}"#);
    assert_eq!(value(&pool, "ada", job).await, r#"{"sum":5,"text":"ü"}"#);
}

#[tokio::test]
async fn nothing_stays_from_one_run_to_the_next() {
    let pool = pool(patient(), slots(1)).await;
    let source = "const seen = [typeof globalThis.mark, Array.prototype.mark, Object.prototype.mark];
        globalThis.mark = Array.prototype.mark = Object.prototype.mark = 1; return seen";
    let before = pool.idle_workers();
    for user in ["ada", "bob", "ada"] {
        assert_eq!(value(&pool, user, job(source)).await, r#"["undefined",null,null]"#);
    }
    assert_eq!(pool.idle_workers(), before, "the same process served all of them");
}

#[tokio::test]
async fn errors_have_their_text_and_place() {
    let pool = pool(patient(), slots(1)).await;
    let error = run(&pool, "ada", job("const a = 1;\nthrow new TypeError('no luck');")).await.unwrap_err();
    assert_eq!(error.to_string(), "TypeError: no luck (line 2, column 11)");
    let error = run(&pool, "ada", job("return (")).await.unwrap_err();
    assert!(matches!(error, SandboxError::Syntax { .. }), "{error:?}");
    let error = run(&pool, "ada", job("return 'x'.repeat(300000)")).await.unwrap_err();
    assert_eq!(error, SandboxError::OutputTooLarge { limit: SandboxLimits::default().output_bytes });
    assert_eq!(value(&pool, "ada", job("return 1")).await, "1");
}

#[tokio::test]
async fn storage_and_lines_go_through_the_parent() {
    let pool = pool(patient(), slots(1)).await;
    let storage = Arc::new(MemoryStorage::default());
    let source = "console.warn('one', 2); await storage.set('k', [1]); return await storage.get('k')";
    let permissions = RunPermissions { storage: Some(storage.clone()), ..RunPermissions::default() };
    let outcome = run(&pool, "ada", SandboxJob { permissions, ..job(source) }).await.unwrap();
    assert_eq!((outcome.json.get(), outcome.used.host_calls), ("[1]", 2));
    assert_eq!(outcome.logs[0].text, "one 2");
    assert_eq!(storage.get("k").await.unwrap().unwrap(), "[1]");
    let error = run(&pool, "ada", job(source)).await.unwrap_err().to_string();
    assert!(error.contains("storage needs the permission"), "{error}");
    let error = run(&pool, "ada", job("await fetch('https://example.com/')")).await.unwrap_err().to_string();
    assert!(error.contains("not among the hosts"), "{error}");
}

#[tokio::test]
async fn the_clock_needs_the_permission() {
    let pool = pool(patient(), slots(1)).await;
    let clock = RunPermissions { clock: true, ..RunPermissions::default() };
    let now: i64 = value(&pool, "ada", SandboxJob { permissions: clock, ..job("return Date.now()") })
        .await
        .parse()
        .unwrap();
    assert!((NOW..NOW + 60_000).contains(&now), "{now}");
    let error = run(&pool, "ada", job("return Date.now()")).await.unwrap_err().to_string();
    assert!(error.contains("needs the permission `clock`"), "{error}");
}

#[tokio::test]
async fn every_run_has_a_chance_of_its_own() {
    let pool = pool(patient(), slots(1)).await;
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..5 {
        let told = value(&pool, "ada", job("return [Math.random(), crypto.randomUUID()]")).await;
        let told: Value = serde_json::from_str(&told).unwrap();
        assert!(seen.insert(told[0].to_string()) && seen.insert(told[1].to_string()), "{told}");
    }
}
