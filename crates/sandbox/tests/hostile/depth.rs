//! Code that recurses: calls, nested values, the compiler.

use serde_json::json;
use toolyard_sandbox::SandboxError;

use crate::{slow_trick, trick};

/// It exceeds a limit and the thread survives.
async fn too_deep(source: &str) {
    let outcome = trick(source).await;
    let ended = matches!(
        outcome,
        Err(SandboxError::StackOverflow { .. }
            | SandboxError::OutOfMemory { .. }
            | SandboxError::OutputTooDeep { .. }
            | SandboxError::Syntax { .. }
            | SandboxError::TooMuchWork { .. })
    );
    assert!(ended, "{source:.200}: {outcome:?}");
}

#[tokio::test]
async fn recursion_is_an_error_with_a_line() {
    let outcome = trick("\nfunction f() { return f() + 1 }\nreturn f()").await;
    let Err(SandboxError::StackOverflow { place: Some(place) }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(place.line, 2);
}

#[tokio::test]
async fn recursion_can_be_caught() {
    let source = "const f = () => f() + 1; try { f() } catch (e) { return e.name }";
    assert_eq!(trick(source).await, Ok(json!("RangeError")));
}

#[tokio::test]
async fn recursion_through_the_engine_is_an_error() {
    for source in [
        "const o = { toString() { return '' + o } }; return '' + o",
        "const o = { get x() { return this.x } }; return o.x",
        "[1, 2].sort(function c(a, b) { return [a, b].sort(c).length })",
        "const r = /a/; r.exec = () => r.test('x'); r.test('a')",
        "'aa'.replace(/a/g, function f(x) { return x.replace(/a/g, f) })",
        "const o = { toJSON() { return JSON.stringify(o) } }; return o",
        "function* g() { yield* g() } [...g()]",
        "const p = new Proxy({}, { get(t, k, r) { return r[k] } }); return p.x",
        "class A { constructor() { new A() } } new A()",
        "const a = [[]]; a[0].push(a); return a.flat(Infinity)",
    ] {
        too_deep(source).await;
    }
}

#[tokio::test]
async fn chains_of_proxies_are_an_error() {
    let chain =
        |from: &str| format!("let p = {from}; for (let i = 0; i < 20000; i++) p = new Proxy(p, {{}});");
    for (from, source) in [
        ("{}", "return p.x"),
        ("{}", "p.x = 1"),
        ("{}", "return 'x' in p"),
        ("{}", "return Object.keys(p)"),
        ("{}", "return Object.getPrototypeOf(p)"),
        ("{}", "return delete p.x"),
        ("{}", "return p"),
        ("[]", "return Array.isArray(p)"),
        ("[]", "return [].concat(p)"),
        ("() => 1", "return p()"),
        ("class {}", "return new p()"),
    ] {
        too_deep(&format!("{} {source}", chain(from))).await;
    }
}

#[tokio::test]
async fn nested_things_are_an_error() {
    for source in [
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a.flat(Infinity)",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return String(a)",
        "return JSON.parse('['.repeat(1e6))",
        "let a = {}; for (let i = 0; i < 101; i++) a = { a }; return a",
    ] {
        too_deep(source).await;
    }
    let deepest = "let a = 1; for (let i = 0; i < 100; i++) a = [a]; return a";
    assert!(trick(deepest).await.is_ok());
}

#[tokio::test]
async fn long_chains_are_let_go_without_recursion() {
    for source in [
        "let l; for (let i = 0; i < 5e4; i++) l = { l }; return 1",
        "let f = () => 1; for (let i = 0; i < 3e4; i++) { const g = f; f = () => g } return 1",
        "let e; for (let i = 0; i < 1e4; i++) e = new Error('x', { cause: e }); return 1",
        "let s = '', t = ''; for (let i = 0; i < 1e5; i++) { s = 'a' + s; t = t + 'b' } return (s + t).length / 2e5",
        "let p = Promise.resolve(1); for (let i = 0; i < 1e4; i++) p = p.then((x) => x); return p",
        "let p = {}; for (let i = 0; i < 3e3; i++) p = Object.create(p); return p.x === undefined ? 1 : 0",
    ] {
        assert_eq!(slow_trick(source).await, Ok(json!(1)), "{source}");
    }
}

#[tokio::test]
async fn code_that_is_nested_too_deep_is_an_error() {
    for source in [
        "(".repeat(100_000),
        "!".repeat(100_000) + "1",
        "[".repeat(100_000),
        "{".repeat(100_000),
        "1?1:".repeat(30_000) + "1",
        "1**".repeat(40_000) + "1",
        "if(0);else ".repeat(10_000) + ";",
        "x=>".repeat(40_000) + "1",
        "`${".repeat(40_000),
        "new ".repeat(30_000) + "Object",
        "class A{m(){".repeat(9_000),
        format!("/{}/", "(".repeat(100_000)),
        format!("/{}{}/", "(?=".repeat(20_000), ")".repeat(20_000)),
    ] {
        too_deep(&source).await;
    }
}

#[tokio::test]
async fn code_that_the_compiler_takes_long_for_is_bounded_by_its_size() {
    let mut variables = String::new();
    for i in 0..9_000 {
        variables.push_str(&format!("let v{i}=1;"));
    }
    let mut calls = String::new();
    for i in 0..4_000 {
        calls.push_str(&format!("function f{i}(){{}}f{i}();"));
    }
    for source in [variables, calls, "a.".repeat(60_000) + "b", "1+".repeat(60_000) + "1"] {
        // Whatever the result is, it arrives in time.
        let _ = trick(&source).await;
    }
}
