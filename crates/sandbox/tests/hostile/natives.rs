//! Built-in functions that would run for hours inside the engine. A single call of most of these would never end.

use serde_json::json;
use toolyard_sandbox::SandboxError;

use crate::{assert_stopped, slow_trick, trick};

#[track_caller]
fn assert_refused(outcome: &Result<serde_json::Value, SandboxError>) {
    assert!(matches!(outcome, Err(SandboxError::Thrown { .. })), "{outcome:?}");
}

#[tokio::test]
async fn functions_of_arrays_refuse_things_that_claim_to_be_endless() {
    for call in [
        "reverse.call(o)",
        "copyWithin.call(o, 0, 5)",
        "unshift.call(o, 1)",
        "shift.call(o)",
        "splice.call(o, 0, 1)",
        "sort.call(o)",
        "fill.call(o, 1)",
        "slice.call(o)",
        "join.call(o, '')",
        "toLocaleString.call(o)",
        "toReversed.call(o)",
        "toSorted.call(o)",
        "toSpliced.call(o, 0, 1)",
        "with.call(o, 0, 1)",
        "flat.call(o)",
        "flatMap.call(o, (x) => x)",
        "concat.call([], o)",
    ] {
        let source = format!(
            "const o = {{ length: 2 ** 53 - 10, [Symbol.isConcatSpreadable]: true }}; return Array.prototype.{call}"
        );
        assert_refused(&trick(&source).await);
    }
}

#[tokio::test]
async fn functions_of_arrays_refuse_four_billion_holes() {
    for call in [
        "reverse()",
        "sort()",
        "shift()",
        "join()",
        "slice()",
        "concat([])",
        "fill(0)",
        "toReversed()",
        "flat()",
    ] {
        assert_refused(&trick(&format!("const a = []; a.length = 2 ** 32 - 1; return a.{call}")).await);
    }
}

#[tokio::test]
async fn a_length_that_changes_between_two_looks_does_not_help() {
    let like = "let n = 0; const o = { get length() { return n++ ? 2 ** 53 - 1 : 1 } };";
    for call in ["reverse.call(o)", "sort.call(o)", "fill.call(o, 0)", "unshift.call(o, 1)"] {
        assert_refused(&trick(&format!("{like} Array.prototype.{call}")).await);
    }
    for call in ["slice.call(o)", "join.call(o)", "flat.call(o)"] {
        trick(&format!("{like} return Array.prototype.{call}")).await.unwrap();
    }
}

#[tokio::test]
async fn a_proxy_around_an_array_cannot_lie_about_its_length() {
    let proxy = "const p = new Proxy([], { get: (t, k) => k === 'length' ? 2 ** 53 - 1 : t[k] });";
    for call in ["reverse()", "sort()", "slice()", "join()", "fill(0)"] {
        assert_refused(&trick(&format!("{proxy} return p.{call}")).await);
    }
    assert_stopped(&trick(&format!("{proxy} return [p].flat(2)")).await);
}

#[tokio::test]
async fn holes_behind_a_long_chain_of_prototypes_are_refused() {
    let chain = "let o = Array.prototype; for (let i = 0; i < 3000; i++) o = Object.create(o); const a = []; a.length = 1e6;";
    for call in ["reverse.call(a)", "slice.call(a)", "concat.call([], a)", "shift.call(a)", "join.call(a)"] {
        let source = format!("{chain} Object.setPrototypeOf(a, o); return Array.prototype.{call}");
        assert_refused(&slow_trick(&source).await);
    }
    // The chain may hang below the prototype of all arrays as well.
    let below = "let o = {}; for (let i = 0; i < 3000; i++) o = Object.create(o); Object.setPrototypeOf(Array.prototype, o);";
    assert_refused(&slow_trick(&format!("{below} const a = []; a.length = 1e6; return a.reverse()")).await);
    let endless =
        "const p = new Proxy({}, { getPrototypeOf: () => p }); const a = [,]; Object.setPrototypeOf(a, p);";
    assert_refused(&slow_trick(&format!("{endless} return Array.prototype.reverse.call(a)")).await);
}

#[tokio::test]
async fn flattening_what_grows_by_itself_is_ended() {
    assert_stopped(
        &trick("let a = []; for (let i = 0; i < 60; i++) a = [a, a]; return a.flat(Infinity)").await,
    );
}

#[tokio::test]
async fn a_mapper_that_returns_four_billion_holes_is_ended() {
    assert_stopped(&trick("const a = []; a.length = 2 ** 32 - 1; return [1].flatMap(() => a)").await);
}

#[tokio::test]
async fn searching_a_long_text_in_a_long_text_is_refused() {
    let texts = "const a = 'a'.repeat(4e6), b = 'a'.repeat(2e6) + 'b';";
    for call in
        ["indexOf(b)", "lastIndexOf(b)", "includes(b)", "split(b)", "replace(b, '')", "replaceAll(b, '')"]
    {
        assert_refused(&slow_trick(&format!("{texts} return a.{call}")).await);
    }
    assert_refused(&slow_trick(&format!("{texts} return a.indexOf({{ toString: () => b }})")).await);
    assert_eq!(trick("return 'abc'.repeat(1e6).indexOf('bcx')").await, Ok(json!(-1)));
}

#[tokio::test]
async fn a_template_without_end_is_ended() {
    let outcome = trick("return String.raw({ raw: { length: 2 ** 53 - 1 } })").await;
    let ended = matches!(outcome, Err(SandboxError::TooMuchWork { .. } | SandboxError::OutOfMemory { .. }));
    assert!(ended, "{outcome:?}");
}

#[tokio::test]
async fn a_list_of_four_billion_keys_for_json_is_refused() {
    assert_refused(&trick("const a = []; a.length = 2 ** 32 - 1; return JSON.stringify({}, a)").await);
}

#[tokio::test]
async fn long_texts_in_a_loop_are_paid_for() {
    for call in [
        "'x'.repeat(2e6)",
        "''.padEnd(2e6, 'ab')",
        "t.toUpperCase()",
        "t.normalize('NFKD')",
        "t.slice(1)",
        "t.split('y')",
        "t.indexOf('y')",
        "t.replaceAll('y', '')",
        "JSON.parse(j)",
        "JSON.stringify(t)",
        "t.trim()",
        "t.concat('y')",
    ] {
        let source = format!("const t = 'é'.repeat(1e6), j = '[' + '1,'.repeat(1e5) + '1]'; for (;;) {call}");
        assert_stopped(&trick(&source).await);
    }
}

#[tokio::test]
async fn long_arrays_in_a_loop_are_paid_for() {
    for call in ["slice()", "reverse()", "sort()", "join()", "concat([1])", "fill(1)", "flat()", "toSorted()"]
    {
        let source = format!("const a = new Array(1e5).fill(7); for (;;) a.{call}");
        assert_stopped(&trick(&source).await);
    }
}

#[tokio::test]
async fn json_that_fails_late_in_a_loop_is_paid_for() {
    let source =
        "let a = ['x']; for (let i = 0; i < 60; i++) a = [a, a]; for (;;) try { JSON.stringify(a) } catch {}";
    assert_stopped(&trick(source).await);
}

#[tokio::test]
async fn the_price_cannot_be_made_negative() {
    let source = "try { ''.repeat(Infinity) } catch {} try { 'x'.repeat(-1e300) } catch {} ''.padEnd(-1e300);
        const t = 'é'.repeat(1e6); for (;;) t.normalize('NFKD')";
    assert_stopped(&trick(source).await);
}
