//! Code that does not end.

use std::time::Duration;

use toolyard_sandbox::{SandboxError, SandboxLimits};

use crate::support::{job, run, sandbox};
use crate::{assert_stopped, tight, trick};

#[tokio::test]
async fn an_endless_loop_is_ended() {
    assert_stopped(&trick("for (;;);").await);
}

#[tokio::test]
async fn a_loop_that_catches_everything_is_ended() {
    assert_stopped(&trick("for (;;) try { for (;;); } catch {} finally { continue }").await);
}

#[tokio::test]
async fn a_loop_in_a_finally_block_is_ended() {
    assert_stopped(&trick("try { for (;;); } finally { for (;;); }").await);
}

#[tokio::test]
async fn recursion_that_catches_its_own_overflow_is_ended() {
    assert_stopped(&trick("function f() { try { f() } catch { f() } } f()").await);
}

#[tokio::test]
async fn a_storm_of_microtasks_is_ended() {
    assert_stopped(
        &trick("const f = () => { Promise.resolve().then(f) }; f(); await new Promise(() => 0)").await,
    );
}

#[tokio::test]
async fn a_storm_of_awaits_is_ended() {
    assert_stopped(&trick("for (;;) await null").await);
}

#[tokio::test]
async fn a_storm_behind_a_promise_that_never_settles_is_ended() {
    assert_stopped(&trick("const f = () => queueMicrotask(f); f(); await new Promise(() => 0)").await);
}

#[tokio::test]
async fn a_storm_of_timers_is_ended() {
    // Waiting for a timer is not compute time, so the wall time ends this.
    let sandbox = sandbox(SandboxLimits { time: Duration::from_millis(500), ..tight() });
    let outcome =
        run(&sandbox, job("const f = () => setTimeout(f, 0); f(); await new Promise(() => 0)")).await;
    let error = outcome.unwrap_err();
    let ended =
        matches!(error, SandboxError::TooMuchWork { .. } | SandboxError::TimedOut { stuck: false, .. });
    assert!(ended, "{error:?}");
}

#[tokio::test]
async fn a_promise_that_cannot_settle_is_reported_at_once() {
    assert_eq!(trick("await new Promise(() => 0)").await, Err(SandboxError::NeverSettled));
}

#[tokio::test]
async fn two_promises_that_wait_for_each_other_are_reported_at_once() {
    let source = "let a, b; a = (async () => { await 0; return b })(); b = (async () => { await 0; return a })(); await a";
    assert_eq!(trick(source).await, Err(SandboxError::NeverSettled));
}

#[tokio::test]
async fn a_long_timer_ends_with_the_time_of_the_run() {
    let time = Duration::from_millis(300);
    let sandbox = sandbox(SandboxLimits { time, ..tight() });
    let outcome = run(&sandbox, job("await new Promise((r) => setTimeout(r, 1e12))")).await;
    assert_eq!(outcome.unwrap_err(), SandboxError::TimedOut { limit: time, stuck: false });
}

#[tokio::test]
async fn a_thenable_that_never_settles_is_reported_at_once() {
    assert_eq!(trick("return { then() {} }").await, Err(SandboxError::NeverSettled));
}

#[tokio::test]
async fn a_thenable_that_answers_with_itself_is_ended() {
    assert_stopped(&trick("const t = { then(ok) { ok(t) } }; return t").await);
}

#[tokio::test]
async fn a_regular_expression_that_explodes_is_ended() {
    assert_stopped(&trick("return /^(x+x+)+y$/.test('x'.repeat(60))").await);
}

#[tokio::test]
async fn a_regular_expression_in_replace_or_split_is_ended() {
    assert_stopped(&trick("return 'x'.repeat(60).replace(/(x+x+)+y/g, '')").await);
    assert_stopped(&trick("return 'x'.repeat(60).split(/(x+x+)+y/)").await);
}

#[tokio::test]
async fn a_generator_without_end_is_ended() {
    assert_stopped(&trick("function* g() { for (;;) yield } for (const x of g());").await);
}

#[tokio::test]
async fn an_async_iterator_without_end_is_ended() {
    assert_stopped(&trick("async function* g() { for (;;) yield 1 } for await (const x of g());").await);
}

#[tokio::test]
async fn a_comparison_that_loops_is_ended() {
    assert_stopped(&trick("[2, 1].sort(() => { for (;;); })").await);
}

#[tokio::test]
async fn a_getter_that_loops_in_the_result_is_ended() {
    assert_stopped(&trick("return { get x() { for (;;); } }").await);
}

#[tokio::test]
async fn a_loop_in_to_json_is_ended() {
    assert_stopped(&trick("return { toJSON() { for (;;); } }").await);
}

#[tokio::test]
async fn an_error_whose_text_loops_is_ended() {
    assert_stopped(&trick("throw { get message() { for (;;); } }").await);
    assert_stopped(&trick("throw { toJSON() { for (;;); } }").await);
}

#[tokio::test]
async fn a_proxy_that_loops_is_ended() {
    assert_stopped(&trick("return new Proxy({}, { ownKeys() { for (;;); } })").await);
    assert_stopped(&trick("throw new Proxy({}, { get() { for (;;); } })").await);
}

#[tokio::test]
async fn a_loop_that_logs_is_ended_and_most_lines_are_dropped() {
    assert_stopped(&trick("for (;;) console.log('x'.repeat(1e5))").await);
}

#[tokio::test]
async fn code_that_takes_long_to_start_is_ended() {
    assert_stopped(&trick("}), (() => { for (;;); })(), (async function () {").await);
}
