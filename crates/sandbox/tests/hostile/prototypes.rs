//! Code that changes built-in prototypes to deceive the host.

use std::sync::Arc;

use serde_json::json;
use toolyard_sandbox::{MemoryStorage, RunPermissions, SandboxError, SandboxJob};

use crate::support::{job, sandbox};
use crate::{tight, trick, trick_in};

/// With everything allowed that needs no network.
async fn with_everything(source: &str) -> Result<serde_json::Value, SandboxError> {
    let storage = Some(Arc::new(MemoryStorage::default()) as _);
    let permissions = RunPermissions { storage, clock: true, hosts: vec!["example.com".parse().unwrap()] };
    trick_in(&sandbox(tight()), SandboxJob { permissions, ..job(source) }).await
}

/// Takes every built-in function away, or makes it throw, in all the places that can be reached by name.
const VANDALISE: &str = "
    const { defineProperty } = Object, { ownKeys } = Reflect;
    const boom = () => { throw new Error('boom') };
    const roots = [Object, Array, String, Number, Map, Set, Promise, JSON, Math, Reflect, RegExp, Error, TypeError, Symbol, Date];
    const found = [];
    for (const root of roots) for (const target of [root, root.prototype]) {
      if (!target) continue;
      for (const key of ownKeys(target)) if (key !== 'prototype' && key !== 'then') found.push([target, key]);
    }
    const count = found.length;
    for (let i = 0; i < count; i++) try { defineProperty(found[i][0], found[i][1], { value: boom }) } catch {}
";

#[tokio::test]
async fn a_plugin_that_breaks_everything_breaks_only_itself() {
    let source = format!("{VANDALISE} console.log('x', {{ a: 1 }}); return {{ ok: true }}");
    assert_eq!(with_everything(&source).await, Ok(json!({ "ok": true })));
}

#[tokio::test]
async fn calls_work_after_everything_is_broken() {
    let source = format!(
        "{VANDALISE} await storage.set('k', {{ a: [1] }}); await new Promise((r) => setTimeout(r, 1));
         let refused = ''; try {{ await fetch('https://evil.example/') }} catch (e) {{ refused = e.message }}
         return [await storage.get('k'), refused, typeof crypto.randomUUID(), typeof Date.now]"
    );
    let expected = json!([
        { "a": [1] },
        "`https://evil.example` is not among the hosts that this code may call; declare it under the permission `network`",
        "string",
        "function"
    ]);
    assert_eq!(with_everything(&source).await, Ok(expected));
}

#[tokio::test]
async fn a_then_on_every_object_does_not_fool_the_host() {
    let source = "Object.prototype.then = function (ok) { ok('fooled') }; return { a: 1 }";
    assert!(matches!(trick(source).await, Ok(value) if value == json!("fooled")));
    let source = "Object.prototype.then = () => {}; return 5";
    assert_eq!(trick(source).await, Ok(json!(5)));
    let source = "Promise.prototype.then = function () { return 'fooled' }; return 5";
    assert_eq!(trick(source).await, Ok(json!(5)));
}

#[tokio::test]
async fn a_to_json_on_every_object_changes_the_result_and_nothing_else() {
    let source = "Object.prototype.toJSON = () => 'x'; await storage.set('k', 1); return { a: await storage.get('k') }";
    assert_eq!(with_everything(source).await, Ok(json!("x")));
    let source = "Object.prototype.toJSON = () => ({ url: 'https://example.com/', method: 'GET', headers: {}, body: null });
        try { await fetch('https://evil.example/') } catch (e) { throw e }";
    let error = with_everything(source).await.unwrap_err().to_string();
    assert!(error.contains("`https://evil.example` is not among"), "{error}");
}

#[tokio::test]
async fn json_of_our_own_is_used_for_the_result() {
    let source =
        "JSON.stringify = () => 'not json'; JSON.parse = () => 'x'; globalThis.JSON = null; return [1]";
    assert_eq!(trick(source).await, Ok(json!([1])));
}

#[tokio::test]
async fn indexes_and_iterators_on_prototypes_do_not_fool_the_host() {
    // The engine's JSON passes our objects through such a setter. Whatever the setter makes of them is checked like
    // anything else.
    let source = "let url = 'https://evil.example/';
        const set = (v) => { if (v && v.url) v.url = 'https://worse.example/' };
        Object.defineProperty(Array.prototype, '0', { set, get: () => 'fooled', configurable: true });
        Array.prototype[Symbol.iterator] = function* () { yield 'fooled' };
        console.log('a', 'b'); await storage.set('k', 'v'); const got = await storage.get('k');
        try { await fetch(url) } catch (e) { return { got, text: e.message.slice(1, 14) } }";
    let outcome = with_everything(source).await.unwrap();
    assert_eq!(outcome["got"], "v");
    assert!(
        ["https://evil.", "https://worse"].map(|text| json!(text)).contains(&outcome["text"]),
        "{outcome}"
    );
}

#[tokio::test]
async fn a_changed_promise_constructor_does_not_fool_the_host() {
    let source = "globalThis.Promise = class extends Promise { constructor() { super(() => {}) } };
        Object.defineProperty(Object.getPrototypeOf((async () => 0)()), 'constructor', { value: globalThis.Promise });
        return 7";
    assert_eq!(trick(source).await, Ok(json!(7)));
}

#[tokio::test]
async fn own_functions_for_ours_are_the_plugins_own_business() {
    let source = "globalThis.fetch = async () => 'mine'; globalThis.storage = { get: () => 'mine' }; console.log = null;
        return [await fetch(), storage.get()]";
    assert_eq!(trick(source).await, Ok(json!(["mine", "mine"])));
}

#[tokio::test]
async fn options_with_getters_are_read_once_and_may_throw() {
    let source = "try { await fetch('https://example.com/', { get method() { throw new Error('mine') } }) } catch (e) { return e.message }";
    assert_eq!(with_everything(source).await, Ok(json!("mine")));
    let source = "let n = 0; const url = { toString() { return n++ ? 'https://evil.example/' : 'https://other.example/' } };
        try { await fetch(url) } catch (e) { return [n, e.message.includes('other.example')] }";
    assert_eq!(with_everything(source).await, Ok(json!([1, true])));
}
