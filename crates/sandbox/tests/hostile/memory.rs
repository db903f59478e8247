//! Code that fills the memory.

use serde_json::json;
use toolyard_sandbox::{SandboxError, SandboxLimits};

use crate::support::{job, sandbox};
use crate::{assert_stopped, roomy, slow_trick, tight, trick, trick_in};

/// Peak memory of the process, in MiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok()).unwrap_or(0) / 1024
}

/// It ran out of memory, or caught that and continued until its time was over, and the process stayed small.
async fn filled(source: &str) {
    let outcome = trick(source).await;
    let ended = matches!(outcome, Err(SandboxError::OutOfMemory { .. } | SandboxError::TooMuchWork { .. }));
    assert!(ended, "{source}: {outcome:?}");
    // Other tests may run in the same process.
    let tests = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(peak() < 100 + 40 * tests, "the process took {} MiB", peak());
}

#[tokio::test]
async fn an_array_that_grows_for_ever_is_ended() {
    filled("const a = []; for (;;) a.push({})").await;
}

#[tokio::test]
async fn a_text_that_doubles_for_ever_is_ended() {
    // Texts that are put together share their parts: this one hits the bound on lengths before it takes memory.
    assert!(matches!(trick("let s = 'x'; for (;;) s += s + 'y'").await, Err(SandboxError::Thrown { .. })));
    filled("let s = 'x'; for (let i = 0; i < 27; i++) s += s; return s.codePointAt(5) + s").await;
    filled("let s = 'x'; for (;;) s = [s, s].join('')").await;
}

#[tokio::test]
async fn a_text_by_repeat_or_padding_is_refused() {
    filled("return 'x'.repeat(2 ** 29)").await;
    filled("return 'x'.padEnd(2 ** 29)").await;
    filled("return 'x'.padStart(2 ** 29, 'abc')").await;
}

#[tokio::test]
async fn a_large_typed_array_is_refused() {
    filled("return new Uint8Array(1e9)").await;
    filled("return new ArrayBuffer(1e9)").await;
    filled("return new ArrayBuffer(1, { maxByteLength: 1e9 }).resize(9e8)").await;
    filled("const a = []; for (;;) a.push(new Float64Array(1e5))").await;
}

#[tokio::test]
async fn a_large_array_by_fill_or_from_is_refused() {
    filled("return new Array(4e6).fill(0).map(() => ({}))").await;
    filled("return Array.from({ length: 2 ** 31 }, () => 0)").await;
}

#[tokio::test]
async fn maps_sets_symbols_and_closures_that_pile_up_are_ended() {
    filled("const m = new Map(); for (let i = 0; ; i++) m.set(i, i)").await;
    filled("const s = new Set(); for (;;) s.add(Symbol())").await;
    filled("let f = () => 0; for (;;) { const g = f; f = () => g }").await;
}

#[tokio::test]
async fn promises_that_pile_up_are_ended() {
    filled("const a = []; for (;;) a.push(new Promise(() => 0).then(() => 1))").await;
    filled("for (;;) Promise.resolve().then(() => 0)").await;
}

#[tokio::test]
async fn a_result_that_holds_itself_many_times_is_too_large() {
    let limit = tight().output_bytes;
    for source in [
        "let a = ['x']; for (let i = 0; i < 60; i++) a = [a, a]; return a",
        "let a = {}; for (let i = 0; i < 60; i++) a = { a, b: a }; return a",
        "let a = [[]]; for (let i = 0; i < 60; i++) a = [a, a]; return { toJSON: () => a }",
    ] {
        assert_eq!(slow_trick(source).await, Err(SandboxError::OutputTooLarge { limit }), "{source}");
    }
}

#[tokio::test]
async fn json_that_grows_by_itself_is_ended() {
    filled("const s = JSON.stringify(new Array(1e5).fill({ a: 1 }), null, '          '); const a = []; for (;;) a.push(JSON.parse(s))").await;
}

#[tokio::test]
async fn numbers_that_grow_for_ever_are_refused() {
    let outcome = slow_trick("let n = 3n; for (;;) n = n * n").await;
    assert!(matches!(outcome, Err(SandboxError::Thrown { .. })), "{outcome:?}");
}

#[tokio::test]
async fn a_regular_expression_as_large_as_the_memory_is_refused() {
    let outcome = trick("return new RegExp('(?:ab|cd){1,5}'.repeat(1e6)).test('x')").await;
    assert!(outcome.is_err(), "{outcome:?}");
}

#[tokio::test]
async fn catching_the_end_of_the_memory_and_going_on_is_ended() {
    filled("const a = []; for (;;) try { for (;;) a.push(new Array(100).fill(a)) } catch {}").await;
}

#[tokio::test]
async fn a_job_without_memory_reports_out_of_memory() {
    // Each promise waits for the next. When the last one finds no memory, the engine lets the whole chain go.
    let outcome = slow_trick("const f = () => Promise.resolve().then(f); await f()").await;
    assert_eq!(outcome, Err(SandboxError::OutOfMemory { limit: roomy().memory }));
}

#[tokio::test]
async fn code_may_catch_the_end_of_the_memory_and_return() {
    let source =
        "try { const a = []; for (;;) a.push('x'.repeat(1e5) + a.length) } catch { return 'caught' }";
    assert_eq!(slow_trick(source).await, Ok(json!("caught")));
}

#[tokio::test]
async fn the_memory_that_is_left_does_not_matter() {
    // From hardly enough to start up to plenty: whatever fails first fails as an error.
    let source = "const out = []; class A { #x = 1; async m() { await null; return [...'abc'] } }
        for (let i = 0; i < 600; i++) { out.push(new A(), /a(b)?/g.exec('xab' + i), new Uint8Array(100), new Date(i), 2n ** 99n,
          JSON.parse('{\"a\":[1,{\"b\":2}]}'), 'a,b'.split(','), new Error('e'), new Proxy({}, {})); await new A().m();
          await new Promise((r) => setTimeout(r, 0)) }
        return out.length";
    let mut ran = 0;
    for step in 0..60 {
        let limits = SandboxLimits { memory: 1024 * 1024 + step * 32 * 1024, ..roomy() };
        match trick_in(&sandbox(limits), job(source)).await {
            Ok(length) => {
                assert_eq!(length, json!(5400));
                ran += 1;
            }
            Err(SandboxError::OutOfMemory { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!((1..60).contains(&ran), "{ran} ran");
}

#[tokio::test]
async fn garbage_that_needs_collecting_is_collected() {
    assert_stopped(&trick("for (;;) { const a = {}; a.a = a; a.b = new Array(100).fill(a) }").await);
}
