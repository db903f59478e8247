//! Code that tries to escape.

use serde_json::json;
use toolyard_sandbox::SandboxError;

use crate::trick;

#[tokio::test]
async fn the_constructor_of_constructors_makes_no_code() {
    for source in [
        "return this.constructor.constructor('return process')()",
        "return (() => {}).constructor('return 1')()",
        "return (async () => {}).constructor('return 1')()",
        "return (function* () {}).constructor('yield 1')()",
        "return (async function* () {}).constructor('yield 1')()",
        "return new Function('return 1')()",
        "return Function.prototype.constructor('return 1')()",
        "return Reflect.construct(Object.getPrototypeOf(async () => {}).constructor, ['return 1'])()",
        "return class extends Function { constructor() { super('return 1') } }.constructor('return 1')()",
        "return console.log.constructor('return 1')()",
        "return fetch.constructor('return 1')()",
        "return [].reverse.constructor('return 1')()",
        "return Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Object.getPrototypeOf(async () => {})), 'constructor').value('return 1')()",
    ] {
        let Err(SandboxError::Thrown { text, .. }) = trick(source).await else { panic!("{source}") };
        assert!(text.starts_with("EvalError: text cannot be turned into code"), "{source}: {text}");
    }
}

#[tokio::test]
async fn there_is_no_eval() {
    for source in [
        "return eval('1')",
        "return (0, eval)('1')",
        "return globalThis.eval('1')",
        "with ({}) return eval('1')",
    ] {
        assert!(matches!(trick(source).await, Err(SandboxError::Thrown { .. })), "{source}");
    }
    assert!(matches!(trick("setTimeout('1')").await, Err(SandboxError::Thrown { .. })));
}

#[tokio::test]
async fn there_are_no_modules() {
    for module in [
        "std",
        "os",
        "fs",
        "node:fs",
        "/etc/passwd",
        "./x.js",
        "data:text/javascript,1",
        "https://example.com/x.js",
    ] {
        let outcome = trick(&format!("return await import('{module}')")).await;
        assert!(matches!(outcome, Err(SandboxError::Thrown { .. })), "{module}: {outcome:?}");
    }
    assert!(matches!(trick("return require('fs')").await, Err(SandboxError::Thrown { .. })));
}

#[tokio::test]
async fn only_known_names_are_there() {
    let known = "Object Function Error EvalError RangeError ReferenceError SyntaxError TypeError URIError InternalError \
        AggregateError SuppressedError Iterator Array parseInt parseFloat isNaN isFinite queueMicrotask decodeURI \
        decodeURIComponent encodeURI encodeURIComponent escape unescape Infinity NaN undefined Number Boolean String Math \
        Reflect Symbol globalThis Date RegExp JSON Proxy Map Set WeakMap WeakSet ArrayBuffer Uint8ClampedArray Int8Array \
        Uint8Array Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array Float16Array Float32Array \
        Float64Array DataView Promise BigInt DisposableStack AsyncDisposableStack Intl console crypto fetch storage \
        setTimeout clearTimeout";
    let source = format!(
        "const known = new Set('{known}'.split(/\\s+/)); return Reflect.ownKeys(globalThis).map(String).filter((k) => !known.has(k))"
    );
    assert_eq!(trick(&source).await, Ok(json!(["Symbol(Symbol.toStringTag)"])));
}

#[tokio::test]
async fn stacks_hand_out_no_functions() {
    let source = "Error.prepareStackTrace = (e, sites) => sites; Error.captureStackTrace?.({});
        return [typeof new Error('x').stack, typeof Error.captureStackTrace]";
    assert_eq!(trick(source).await, Ok(json!(["string", "undefined"])));
    let source =
        "let seen; try { [1, 2].sort((a, b) => { null.x }) } catch (e) { seen = e } return typeof seen.stack";
    assert_eq!(trick(source).await, Ok(json!("string")));
}

#[tokio::test]
async fn callers_cannot_be_seen() {
    for source in [
        "function f() { return f.caller } return f() ?? 'none'",
        "function f() { return arguments.callee.caller } setTimeout(f); return f() ?? 'none'",
        "return [1].map(function f() { return String(f.caller) })[0]",
    ] {
        let outcome = trick(source).await;
        let hidden = match &outcome {
            Ok(value) => value == "none" || value == "undefined" || value == "null",
            Err(error) => matches!(error, SandboxError::Thrown { .. }),
        };
        assert!(hidden, "{source}: {outcome:?}");
    }
}

#[tokio::test]
async fn closing_the_function_early_leads_nowhere() {
    let source = "}), globalThis.seen = Object.keys(this), (async function () { return globalThis.seen";
    assert_eq!(trick(source).await, Ok(json!([])));
    let source = "return 1 }); (async function () { return typeof host + typeof pay + typeof nativeStringify";
    assert_eq!(trick(source).await, Ok(json!("undefinedundefinedundefined")));
}

#[tokio::test]
async fn nothing_stays_for_the_next_run() {
    // `trick` runs a harmless job in the same sandbox, which would fail.
    let source =
        "Array.prototype.join = () => 'fooled'; globalThis.args = 1; Object.prototype.a = 2; return 1";
    assert_eq!(trick(source).await, Ok(json!(1)));
}
