//! Code that does not end and cannot be interrupted: it costs its own user a slot until its process is gone, and does
//! not affect others.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolyard_sandbox::process::SlotLimits;
use toolyard_sandbox::{SandboxError, SandboxLimits};

use crate::support::job;
use crate::{HOG, hasty, is_alive, patient, pool, request, run, slots, value};

/// Each spends nearly all its time inside one built-in function.
const HOGS: &[&str] = &[
    "const b = (1n << 500000n) - 1n; for (let i = 0; i < 5000; i++) b * b",
    "const b = (1n << 1000000n) - 1n; for (let i = 0; i < 5000; i++) b.toString()",
    "let b = 3n; for (;;) b = b ** 7n",
    "const a = new Float64Array(2e6); for (let i = 0; i < 5000; i++) a.sort((x, y) => 0)",
    "const a = new Float64Array(2e6); for (let i = 0; i < 9000; i++) a.fill(i)",
    "const a = new Uint8Array(4e6); for (let i = 0; i < 9000; i++) a.join('')",
    "const a = new Uint8Array(2e7); for (let i = 0; i < 9000; i++) a.indexOf(1)",
    "const a = new Uint8Array(2e7); for (let i = 0; i < 9000; i++) a.reverse()",
    "const a = new Array(1e6).fill('x'); for (let i = 0; i < 9000; i++) a.indexOf('y')",
    "const a = new Array(1e6).fill('x'); for (let i = 0; i < 9000; i++) a.includes('y')",
    "const a = new Array(5e5).fill(7); for (let i = 0; i < 9000; i++) Math.max.apply(null, a.slice(0, 60000))",
    "const o = {}; for (let i = 0; i < 2e5; i++) o['k' + i] = i; for (let i = 0; i < 9000; i++) Object.keys(o)",
    "const o = {}; for (let i = 0; i < 1e5; i++) o['k' + i] = i; for (let i = 0; i < 9000; i++) Object.entries(o)",
    "const t = 'é'.repeat(2e6); for (let i = 0; i < 9000; i++) t.normalize('NFKD')",
    "const t = 'x'.repeat(8e6); for (let i = 0; i < 9000; i++) t.replaceAll('y', '')",
    "for (let i = 0; i < 9000; i++) ''.padEnd(8e6, 'ab').codePointAt(7e6)",
    "const a = new Array(3e5).fill('xy'); for (let i = 0; i < 9000; i++) JSON.stringify(a)",
    "const j = '[' + '1,'.repeat(5e5) + '1]'; for (let i = 0; i < 9000; i++) JSON.parse(j)",
    "/^(a|a|a)*$/.test('a'.repeat(40) + 'b')",
    "const p = new Proxy({}, { ownKeys: () => Array.from({ length: 2e5 }, (_, i) => 'k' + i) }); for (;;) Reflect.ownKeys(p)",
];

#[tokio::test]
async fn no_built_in_function_affects_the_calls_of_another_user() {
    let pool = pool(hasty(), slots(2)).await;
    for source in HOGS {
        let hog = run(&pool, "mallory", job(source));
        let neighbour = async {
            let call = async || {
                run(&pool, "ada", job("return 6 * 7")).await.map(|outcome| outcome.json.get().to_owned())
            };
            // A machine under load may be too slow for the first one.
            match call().await {
                Ok(value) => Ok(value),
                Err(_) => call().await,
            }
        };
        let (hog, neighbour) = tokio::join!(hog, neighbour);
        assert_eq!(neighbour.as_deref(), Ok("42"), "{source}");
        assert!(hog.is_err(), "{source}: {hog:?}");
    }
}

#[tokio::test]
async fn what_does_not_end_in_time_is_killed() {
    let pool = pool(hasty(), slots(1)).await;
    let worker = pool.idle_workers()[0];
    let (hog, kills) = request("mallory", job(HOG));
    let outcome = pool.run(hog, CancellationToken::new(), &mut |_| ()).await;
    let limit = Duration::from_millis(1_000);
    assert_eq!(outcome.unwrap_err(), SandboxError::TimedOut { limit, stuck: true });
    assert_eq!(kills.load(Ordering::SeqCst), 1);
    // The only slot is free when the process is gone, not before.
    assert_eq!(value(&pool, "ada", job("return 1")).await, "1");
    assert!(!is_alive(worker));
}

#[tokio::test]
async fn what_notices_its_end_keeps_its_process() {
    let pool = pool(SandboxLimits { grace: Duration::from_secs(60), ..hasty() }, slots(1)).await;
    let worker = pool.idle_workers();
    let (endless, kills) = request("ada", job("for (;;);"));
    let outcome = pool.run(endless, CancellationToken::new(), &mut |_| ()).await;
    assert!(matches!(outcome, Err(SandboxError::TimedOut { stuck: false, .. })), "{outcome:?}");
    assert_eq!((kills.load(Ordering::SeqCst), pool.idle_workers()), (0, worker));
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_free_the_slot_before_the_process_is_gone() {
    let limits = SandboxLimits { grace: Duration::from_millis(50), ..patient() };
    let pool = pool(limits, slots(1)).await;
    for leaves in ["drops the call", "cancels it"] {
        // Started by the end of the run before, if there was one.
        assert_eq!(value(&pool, "ada", job("return 1")).await, "1");
        let worker = pool.idle_workers()[0];
        let (hog, kills) = request("mallory", job(HOG));
        let cancel = CancellationToken::new();
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let mut begun = Some(begun);
        let mut on_log = |_: &_| {
            if let Some(begun) = begun.take() {
                let _ = begun.send(());
            }
        };
        let mut call = Box::pin(pool.run(hog, cancel.clone(), &mut on_log));
        tokio::select! {
            outcome = &mut call => panic!("{outcome:?}"),
            _ = has_begun => {}
        }
        if leaves == "cancels it" {
            cancel.cancel();
            assert_eq!(call.await.unwrap_err(), SandboxError::Cancelled);
        } else {
            drop(call);
        }
        // Its user has no more slots than before, and this slot stays taken.
        let again = run(&pool, "mallory", job("return 1")).await;
        assert_eq!(again.unwrap_err(), SandboxError::TooManyRuns { limit: 1 }, "{leaves}");
        assert_eq!(value(&pool, "ada", job("return 2")).await, "2");
        assert!(!is_alive(worker), "{leaves}");
        assert_eq!(kills.load(Ordering::SeqCst), 1, "{leaves}");
    }
}

#[tokio::test]
async fn a_caller_who_leaves_code_that_waits_costs_no_process() {
    let pool = pool(patient(), slots(1)).await;
    let worker = pool.idle_workers();
    for source in
        ["console.log('on'); for (;;);", "console.log('on'); await new Promise((r) => setTimeout(r, 1e6))"]
    {
        let (waits, kills) = request("ada", job(source));
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let outcome = pool.run(waits, cancel, &mut |_| stop.cancel()).await;
        assert_eq!(outcome.unwrap_err(), SandboxError::Cancelled);
        assert_eq!(value(&pool, "bob", job("return 1")).await, "1");
        assert_eq!((kills.load(Ordering::SeqCst), &pool.idle_workers()), (0, &worker), "{source}");
    }
}

#[tokio::test]
async fn the_system_ends_what_computes_for_too_long() {
    let limits = SandboxLimits { compute: Duration::from_millis(300), ..patient() };
    let pool = pool(limits.clone(), slots(1)).await;
    let (hog, kills) = request("mallory", job(HOG));
    let outcome = pool.run(hog, CancellationToken::new(), &mut |_| ()).await;
    assert_eq!(outcome.unwrap_err(), SandboxError::TooMuchWork { limit: limits.compute });
    assert_eq!(kills.load(Ordering::SeqCst), 1);
    assert_eq!(value(&pool, "ada", job("return 1")).await, "1");
}

#[tokio::test]
async fn one_user_cannot_take_all_workers() {
    let pool = pool(patient(), SlotLimits { waiting: 0, ..slots(4) }).await;
    let cancel = CancellationToken::new();
    let waits = "await new Promise((r) => setTimeout(r, 1e6))";
    let calls = (0..4).map(|_| {
        let (waits, _) = request("mallory", job(waits));
        let (pool, cancel) = (&pool, cancel.clone());
        async move { pool.run(waits, cancel, &mut |_| ()).await }
    });
    let mut calls = Box::pin(futures_util::future::join_all(calls));
    // Each one takes its slot, or is refused, immediately.
    assert!(futures_util::poll!(&mut calls).is_pending());
    for user in ["ada", "bob"] {
        assert_eq!(value(&pool, user, job("return 1")).await, "1");
    }
    cancel.cancel();
    let refused =
        calls.await.into_iter().filter(|outcome| matches!(outcome, Err(SandboxError::Busy))).count();
    assert_eq!(refused, 2, "half of the workers stay for others");
}

#[tokio::test]
async fn a_memory_bomb_ends_its_own_run() {
    let pool = pool(SandboxLimits { compute: Duration::from_secs(60), ..patient() }, slots(2)).await;
    for bomb in [
        "const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1))",
        "let s = 'x'; for (;;) s = [s, s].join('')",
        "const a = []; for (;;) a.push({ a: [a.length] })",
    ] {
        let (bomb, neighbour) =
            tokio::join!(run(&pool, "mallory", job(bomb)), run(&pool, "ada", job("return 1")));
        assert!(matches!(bomb, Err(SandboxError::OutOfMemory { .. })), "{bomb:?}");
        assert_eq!(neighbour.unwrap().json.get(), "1");
    }
}
