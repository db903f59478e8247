//! Results and errors that are not what they seem.

use serde_json::json;
use toolyard_sandbox::{SandboxError, SandboxLimits};

use crate::support::{job, sandbox};
use crate::{tight, trick, trick_in};

#[tokio::test]
async fn a_result_larger_than_its_bound_is_refused() {
    let limit = tight().output_bytes;
    let too_large = Err(SandboxError::OutputTooLarge { limit });
    assert_eq!(trick(&format!("return 'x'.repeat({})", limit - 1)).await, too_large);
    assert!(trick(&format!("return 'x'.repeat({})", limit - 2)).await.is_ok());
    // In bytes, not in characters.
    assert_eq!(trick(&format!("return 'ü'.repeat({})", limit / 2)).await, too_large);
    assert_eq!(trick("return 'x'.repeat(2e6)").await, too_large);
    assert_eq!(trick("return { toJSON: () => 'x'.repeat(2e6) }").await, too_large);
}

#[tokio::test]
async fn results_that_are_not_json_are_reported() {
    for (source, expected) in [
        ("return Symbol('x')", "it is a function or a symbol"),
        ("return () => 1", "it is a function or a symbol"),
        ("return 10n", "TypeError: BigInt are forbidden in JSON.stringify"),
        ("const a = {}; a.a = a; return a", "TypeError: circular reference"),
        ("const a = []; a.push(a); return a", "TypeError: circular reference"),
        ("return { get x() { throw new Error('no') } }", "Error: no"),
        ("return { toJSON() { throw new Error('no') } }", "Error: no"),
        ("return new Proxy({}, { ownKeys() { throw new Error('no') } })", "Error: no"),
        (
            "const { proxy, revoke } = Proxy.revocable({}, {}); setTimeout(revoke); await 0; revoke(); return [proxy]",
            "TypeError: revoked proxy",
        ),
    ] {
        assert_eq!(trick(source).await, Err(SandboxError::NotJson { text: expected.into() }), "{source}");
    }
}

#[tokio::test]
async fn results_of_odd_kinds_are_written_as_json_writes_them() {
    for (source, expected) in [
        ("return undefined", json!(null)),
        ("return NaN", json!(null)),
        ("return [undefined, () => 1, Symbol()]", json!([null, null, null])),
        ("return { a: undefined, b: () => 1 }", json!({})),
        ("return new Map([[1, 2]])", json!({})),
        ("return new Date(0)", json!("1970-01-01T00:00:00.000Z")),
        ("return Object.create({ inherited: 1 })", json!({})),
        (
            "return new Proxy({ a: 1 }, { get: (t, k) => (k === 'toJSON' ? undefined : 2) })",
            json!({ "a": 2 }),
        ),
        ("return new Proxy([1], {})", json!([1])),
        ("return new Error('x')", json!({})),
        ("return { toJSON: () => undefined }", json!(null)),
        ("return Promise.resolve(Promise.resolve(3))", json!(3)),
        ("return { __proto__: null, a: 1 }", json!({ "a": 1 })),
    ] {
        assert_eq!(trick(source).await, Ok(expected), "{source}");
    }
}

#[tokio::test]
async fn huge_errors_are_cut() {
    for source in [
        "throw new Error('x'.repeat(2e6))",
        "throw 'x'.repeat(2e6)",
        "const e = new Error('m'); e.name = 'x'.repeat(2e6); e.stack = 'x'.repeat(2e6); throw e",
        "throw { message: 'x'.repeat(2e6) }",
        "throw ['x'.repeat(2e6)]",
        "throw { toString: () => 'x'.repeat(2e6), toJSON() {} }",
        "function f() { throw new Error('y') } Object.defineProperty(f, 'name', { value: 'x'.repeat(1e5) }); f()",
        "return { get x() { throw new Error('x'.repeat(2e6)) } }",
    ] {
        let error = trick(source).await.unwrap_err().to_string();
        assert!(error.len() < 2500, "{source}: {} bytes", error.len());
    }
}

#[tokio::test]
async fn unreadable_errors_are_still_reported() {
    for source in [
        "throw { get message() { throw 1 } }",
        "throw { toString() { throw 1 }, toJSON() { throw 1 } }",
        "throw new Proxy({}, { get() { throw 1 } })",
        "throw Object.create(null)",
        "throw Symbol('x')",
        "throw undefined",
        "throw () => 1",
        "throw '\\ud800'",
        "const e = new Error('x'); Object.defineProperty(e, 'stack', { get() { throw 1 } }); throw e",
        "const e = new Error('x'); e.stack = 'plugin.js:99999999999:1'; throw e",
        "const e = new Error('x'); e.stack = { length: 1e9 }; throw e",
        "const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy",
    ] {
        assert!(matches!(trick(source).await, Err(SandboxError::Thrown { .. })), "{source}");
    }
}

#[tokio::test]
async fn a_forged_engine_error_is_believed_and_harmless() {
    assert!(matches!(
        trick("throw new InternalError('out of memory')").await,
        Err(SandboxError::OutOfMemory { .. })
    ));
    assert!(matches!(trick("throw null").await, Err(SandboxError::OutOfMemory { .. })));
    assert!(matches!(
        trick("throw new InternalError('interrupted')").await,
        Err(SandboxError::Thrown { .. })
    ));
}

#[tokio::test]
async fn huge_lines_of_the_console_are_cut() {
    let source = "for (let i = 0; i < 200; i++) console.log('x'.repeat(1e5), { a: 'y'.repeat(1e5) }, [['z'.repeat(1e5)]]); return 1";
    let sandbox = sandbox(SandboxLimits {
        compute: std::time::Duration::from_secs(20),
        time: std::time::Duration::from_secs(30),
        ..tight()
    });
    let outcome = crate::support::run(&sandbox, job(source)).await.unwrap();
    assert_eq!(outcome.logs.len(), 101);
    assert_eq!(outcome.logs[100].text, "100 more lines were dropped");
    assert!(outcome.logs.iter().all(|line| line.text.len() <= 2000));
    let loud = "console.log({ get x() { throw 1 } }, { toJSON() { throw 1 }, toString() { throw 1 } }, new Proxy({}, { get() { throw 1 } })); return 1";
    assert_eq!(trick_in(&sandbox, job(loud)).await, Ok(json!(1)));
}
