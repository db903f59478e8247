//! The code, its arguments and its result.

use serde_json::json;
use toolyard_sandbox::{LogLevel, LogLine, SandboxLimits};

use crate::support::{job, run, sandbox, with_args};
use crate::value;

#[tokio::test]
async fn the_code_is_an_async_function_body_over_args() {
    assert_eq!(value(with_args("return args.a + args.b", r#"{"a":1,"b":2}"#)).await, json!(3));
    assert_eq!(value(job("const x = await Promise.resolve(7); return { x }")).await, json!({ "x": 7 }));
    assert_eq!(value(job("return await (async () => 'done')()")).await, json!("done"));
    assert_eq!(value(job("")).await, json!(null));
    assert_eq!(value(job("return undefined // said so")).await, json!(null));
}

#[tokio::test]
async fn json_comes_in_and_goes_out_as_it_is() {
    let text = r#"{"text":"Grüße 👋 \u0000 \"x\"","list":[1.5,-0.25,true,null,[]],"__proto__":{"a":1},"deep":{"a":{"b":"c"}}}"#;
    let outcome = run(&sandbox(SandboxLimits::default()), with_args("return args", text)).await.unwrap();
    assert_eq!(outcome.json.get(), text);
}

#[tokio::test]
async fn half_a_surrogate_pair_does_not_make_the_result_unreadable() {
    assert_eq!(value(job("return ['\\ud83d', '👋']")).await, json!(["\u{fffd}", "👋"]));
}

#[tokio::test]
async fn code_that_is_not_strict_runs_as_it_was_written() {
    assert_eq!(value(job("undeclared = 3; with ({ y: 4 }) { return undeclared + y }")).await, json!(7));
    assert_eq!(value(job("return this === globalThis")).await, json!(true));
}

#[tokio::test]
async fn console_lines_are_kept_and_passed_on_as_they_arrive() {
    let source = "console.log('a', 1, { b: [2] }, undefined, null, Symbol('s'), 3n);
        console.warn(new TypeError('bad')); console.error('e'); console.debug('d'); console.info();
        const ring = {}; ring.ring = ring; console.log(ring); return 1";
    let mut told = Vec::new();
    let sandbox = sandbox(SandboxLimits::default());
    let cancel = tokio_util::sync::CancellationToken::new();
    let outcome =
        sandbox.run(job(source), cancel, &mut |line: &LogLine| told.push(line.clone())).await.unwrap();
    assert_eq!(told, outcome.logs);
    let lines: Vec<_> = outcome.logs.iter().map(|line| (line.level, line.text.as_str())).collect();
    assert_eq!(
        lines,
        [
            (LogLevel::Info, r#"a 1 {"b":[2]} undefined null Symbol(s) 3"#),
            (LogLevel::Warn, "TypeError: bad"),
            (LogLevel::Error, "e"),
            (LogLevel::Debug, "d"),
            (LogLevel::Info, ""),
            (LogLevel::Info, "[cannot be shown]"),
        ]
    );
}

#[tokio::test]
async fn lines_beyond_the_bound_are_dropped_and_counted() {
    let limits = SandboxLimits { log_lines: 2, log_line_length: 5, ..SandboxLimits::default() };
    let outcome =
        run(&sandbox(limits), job("for (let i = 0; i < 9; i++) console.log('line ' + i)")).await.unwrap();
    let lines: Vec<_> = outcome.logs.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(lines, ["line ", "line ", "7 more lines were dropped"]);
}

#[tokio::test]
async fn timers_fire_in_order_and_can_be_cleared() {
    let source = "const seen = []; const wait = (ms) => new Promise((r) => setTimeout(r, ms));
        const never = setTimeout(() => seen.push('never'), 1); clearTimeout(never);
        setTimeout((x) => seen.push(x), 2, 'late'); setTimeout(() => seen.push('soon'));
        await wait(3); seen.push('end'); return seen";
    assert_eq!(value(job(source)).await, json!(["soon", "late", "end"]));
}

#[tokio::test]
async fn only_so_many_timers_are_set_at_a_time() {
    let source =
        "let n = 0; try { for (;;) { setTimeout(() => 0, 1e9); n++ } } catch (e) { return [n, e.name] }";
    let outcome =
        run(&sandbox(SandboxLimits { timers: 3, ..SandboxLimits::default() }), job(source)).await.unwrap();
    assert_eq!(outcome.json.get(), r#"[3,"RangeError"]"#);
}

#[tokio::test]
async fn chance_comes_from_the_host() {
    let source = "return [Math.random(), Math.random(), crypto.randomUUID()]";
    let (one, same) = (value(job(source)).await, value(job(source)).await);
    assert_eq!(one, same);
    assert_eq!(one[2], "02020202-0202-4202-8202-020202020202");
    assert_ne!(one[0], one[1]);
    // A second run of the same sandbox has its own seed.
    let sandbox = sandbox(SandboxLimits::default());
    let first = run(&sandbox, job("return Math.random()")).await.unwrap();
    let second = run(&sandbox, job("return Math.random()")).await.unwrap();
    assert_ne!(first.json.get(), second.json.get());
}

/// The guards replace built-in functions; they must behave the same.
#[tokio::test]
async fn arrays_and_texts_work_as_everywhere() {
    for (source, expected) in [
        ("[3, 1, 2].sort()", json!([1, 2, 3])),
        ("[3, 1, 2].toSorted((a, b) => b - a)", json!([3, 2, 1])),
        ("[1, 2].reverse()", json!([2, 1])),
        ("[1, [2, [3, [4]]]].flat()", json!([1, 2, [3, [4]]])),
        ("[1, [2, [3, [4]]]].flat(Infinity)", json!([1, 2, 3, 4])),
        ("[1, 2].flatMap((x) => [x, [x]])", json!([1, [1], 2, [2]])),
        ("[1].concat(2, [3], [[4]], 'x')", json!([1, 2, 3, [4], "x"])),
        ("[1, 2, 3].slice(-2)", json!([2, 3])),
        ("(function () { return Array.prototype.slice.call(arguments, 1) })(1, 2, 3)", json!([2, 3])),
        ("[1, null, undefined, 2].join('-')", json!("1---2")),
        ("String([1, [2, 3]])", json!("1,2,3")),
        (
            "(() => { const a = [1, 2, 3]; a.splice(1, 1, 9, 8); a.unshift(0); a.shift(); return a })()",
            json!([1, 9, 8, 3]),
        ),
        ("new Array(3).fill(0)", json!([0, 0, 0])),
        ("[1, 2, 3, 4].copyWithin(0, 2)", json!([3, 4, 3, 4])),
        ("[1, 2].with(0, 5)", json!([5, 2])),
        ("Object.keys([[1], 2].flat())", json!(["0", "1"])),
        ("'a-b-c'.split('-')", json!(["a", "b", "c"])),
        ("'abc'.split()", json!(["abc"])),
        ("'a1b22'.split(/\\d+/)", json!(["a", "b", ""])),
        ("'aXbX'.replaceAll('X', '$&!')", json!("aX!bX!")),
        ("'aXbX'.replace('X', (m, at) => m + at)", json!("aX1bX")),
        ("'aab'.replace(/a/g, 'c')", json!("ccb")),
        (
            "['abc'.indexOf('c'), 'abcabc'.lastIndexOf('abc'), 'abc'.includes('bc'), 'a'.indexOf()]",
            json!([2, 3, true, -1]),
        ),
        ("['a'.padEnd(3, '-'), 'a'.padStart(3), 'ab'.repeat(2)]", json!(["a--", "  a", "abab"])),
        ("[' a '.trim(), 'É'.toLowerCase(), 'abc'.substring(1), 'abc'.at(-1)]", json!(["a", "é", "bc", "c"])),
        ("String.raw`a\\n${1}b`", json!("a\\n1b")),
        ("JSON.stringify({ a: 1, b: 2 }, ['a'])", json!("{\"a\":1}")),
        ("JSON.stringify([1], null, 1)", json!("[\n 1\n]")),
        ("JSON.parse('[1,2]', (k, v) => Array.isArray(v) ? v : v * 2)", json!([2, 4])),
        ("(() => {}) instanceof Function", json!(true)),
        ("[...'abc'.matchAll(/./g)].map((m) => m[0])", json!(["a", "b", "c"])),
        ("[...new Set([1, 1, 2])].concat([...new Map([[1, 2]])])", json!([1, 2, [1, 2]])),
        ("Math.max(...[1, 5, 3])", json!(5)),
    ] {
        assert_eq!(value(job(&format!("return {source}"))).await, expected, "{source}");
    }
}
