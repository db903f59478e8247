use serde_json::{Value, json};

use super::*;

fn plugin(code: &str, permissions: Value) -> Manifest {
    let manifest = json!({
        "id": "a", "name": "A", "version": "1.0.0", "description": "d", "permissions": permissions,
        "tools": [{ "name": "t", "description": "d", "parameters": { "type": "object" }, "executorCode": code }],
    });
    Manifest::parse(manifest.to_string().as_bytes()).unwrap()
}

/// The findings in code that requests and uses every permission.
fn codes(code: &str) -> Vec<Code> {
    let asked = json!({ "network": ["api.example.com"], "storage": true, "clock": true });
    let used = "\nfetch('https://api.example.com/'); storage; Date;";
    let report = audit_manifest(&plugin(&format!("{code}{used}"), asked));
    report.findings.iter().map(|found| found.code).collect()
}

#[test]
fn plain_code_has_no_findings() {
    let code = r#"
        // class with a constructor, a division, a regular expression, a template
        class Point { constructor(x) { this.x = x / 2; } }
        const tz = args.timezone || 'UTC', clean = tz.replace(/["']/g, '');
        const answer = await fetch(`https://api.example.com/v1/${encodeURIComponent(tz)}`);
        await storage.set('last', clean);
        return { time: new Date().toISOString(), parent: new Point(3).x, text: await answer.text() };
    "#;
    assert_eq!(codes(code), []);
}

#[test]
fn brackets_without_a_counterpart_are_errors() {
    for code in [
        "return 1; }",
        "if (args.a) { return 1;",
        "}), (() => { for (;;); })(), (async function () {",
        "return 1; }); (async () => { await x",
        "f(1",
        "f(1))",
        "[1, 2",
        "a = [1, 2]]",
        "f([1)]",
        "f({ a: [1 })",
        "`${ f( }`",
        "`${ {a: 1 }`",
        "return { a: `${b}` ",
    ] {
        let report = audit_manifest(&plugin(code, json!({})));
        assert!(!report.passes, "{code}");
        assert!(report.findings.iter().any(|found| found.code == Code::Syntax), "{code}: {report:?}");
    }
    for code in [
        "return { a: [1, (2)], b: `${ f({ c: `${d[0]}` }) }` };",
        "const open = '{[(', close = /[)\\]}]/; // }])\nreturn open + close /* { */;",
        "if (a) { b() } else { c[d](e) }",
    ] {
        assert!(audit_manifest(&plugin(code, json!({}))).passes, "{code}");
    }
    let report = audit_manifest(&plugin("a();\nb(\nc();", json!({})));
    assert!(report.findings[0].text.contains("`(` has no counterpart"), "{report:?}");
    assert!(report.findings[0].place.ends_with("line 2"), "{report:?}");
}

#[test]
fn every_construct_is_found() {
    for (code, found) in [
        ("eval('1')", Code::Eval),
        ("(0, eval)('1')", Code::Eval),
        (r"\u0065val('1')", Code::Eval),
        ("this['eval']('1')", Code::Eval),
        ("setTimeout('x()', 1)", Code::Eval),
        ("new Function('a', 'b')", Code::FunctionConstructor),
        ("(async () => {}).constructor('x')()", Code::ConstructorAccess),
        ("[]['constructor']", Code::ConstructorAccess),
        ("await import('fs')", Code::Import),
        ("require('fs')", Code::Import),
        ("WebAssembly.compile(x)", Code::WebAssembly),
        ("globalThis['ev' + 'al']", Code::GlobalObject),
        ("process.env.HOME", Code::GlobalObject),
        ("window[x]", Code::GlobalObject),
        ("let a = '\u{202e}'", Code::BidiControl),
        ("let a\u{200d} = 1", Code::InvisibleCharacter),
        ("a <!-- b", Code::HtmlComment),
        ("'abc", Code::Syntax),
        (r"let \u0061 = 1", Code::EscapedName),
        (r"'\x65\x76\x61\x6c\x28\x31\x29\x65\x76\x61\x6c\x28'", Code::EscapedText),
        ("String.fromCharCode(101)", Code::Decoding),
        ("atob(x)", Code::Decoding),
        ("{} /a/.test(x)", Code::UnclearSlash),
        ("let а = 1 // Cyrillic", Code::ForeignLetters),
        ("// do not use eval here", Code::WordInText),
        ("fetch('https://evil.com/')", Code::UndeclaredHost),
        ("fetch('https://api.example.com@evil.com/')", Code::UndeclaredHost),
        ("fetch('http://api.example.com/')", Code::PlainHttp),
        ("fetch(url)", Code::ComputedUrl),
        ("fetch(`https://${host}/`)", Code::ComputedUrl),
        ("let docs = 'https://example.org/'", Code::OtherUrl),
    ] {
        assert!(codes(code).contains(&found), "{code}: {:?}", codes(code));
    }
    assert!(codes(&format!("let a = '{}'", "QUJD".repeat(50))).contains(&Code::EncodedBlob));
    assert!(codes(&format!("let a = 1;{}", " ".repeat(500))).contains(&Code::LongLine));
    assert!(codes(&"let a = 1;\n".repeat(6_600)).contains(&Code::LargeCode));
}

#[test]
fn words_that_only_look_bad_are_not_errors() {
    for code in ["// eval", "'eval'", "a.require('x')", "/eval/.test(a)", "let evaluate = 1", "a.fetch(b)"] {
        assert!(
            codes(code).iter().all(|code| code.severity() == Severity::Note),
            "{code}: {:?}",
            codes(code)
        );
    }
}

/// A string that looks unterminated if the slash is taken for a division.
#[test]
fn a_regular_expression_cannot_hide_code() {
    for code in ["if (1) /\"/; eval(x); /\"/", "x = 1\n;/`/; eval(x); /`/", "return `${'`'}` + eval(x) + `'`"]
    {
        assert!(codes(code).contains(&Code::Eval), "{code}");
    }
}

#[test]
fn permissions_are_compared_with_what_is_used() {
    let found = |code: &str, asked| {
        audit_manifest(&plugin(code, asked))
            .findings
            .into_iter()
            .map(|one| (one.code, one.place))
            .collect::<Vec<_>>()
    };
    let unused = |what: &str| (Code::UnusedPermission, format!("permissions.{what}"));
    let missing = |what: &str| (Code::MissingPermission, format!("permissions.{what}"));
    assert_eq!(
        found("return 1", json!({ "network": ["a.b"], "storage": true, "clock": true })),
        [unused("network"), unused("storage"), unused("clock")]
    );
    let all = "await fetch('https://a.b/'); storage.get('x'); return Date.now()";
    assert_eq!(found(all, json!({ "network": ["a.b"], "storage": true, "clock": true })), []);
    let older = found("await fetch(a); storage.get('x'); return new Date()", json!({}));
    assert_eq!(older[..2], [missing("network"), missing("storage")]);
    assert!(!older.contains(&missing("clock")), "the older form knows the time without asking");
    let manifest = json!({
        "schemaVersion": 1, "id": "a", "name": "A", "version": "1.0.0", "publisher": "P", "description": "d",
        "tools": [{ "name": "t", "description": "d", "parameters": { "type": "object" },
            "executorCode": "return new Date()" }],
    });
    let report = audit_manifest(&Manifest::parse(manifest.to_string().as_bytes()).unwrap());
    assert_eq!(report.findings[0].place, "permissions.clock");
}

#[test]
fn what_a_plugin_says_of_itself_is_looked_at() {
    let wide: serde_json::Map<String, Value> = (0..21).map(|n| (format!("p{n}"), json!({}))).collect();
    let manifest = json!({
        "id": "a", "name": "A", "version": "1", "permissions": { "network": ["*.a.com", "127.0.0.1", "localhost"] },
        "tools": [{ "name": "t", "description": " ", "executorCode": "fetch('https://x.a.com')",
                    "parameters": { "type": "object", "properties": wide } },
                  { "name": "u", "description": "a\u{2066}b", "executorCode": "1", "parameters": { "type": "object", "title": "\u{202d}" } }],
    });
    let report = audit_manifest(&Manifest::parse(manifest.to_string().as_bytes()).unwrap());
    let found: Vec<_> = report.findings.iter().map(|found| (found.code, found.place.as_str())).collect();
    assert_eq!(
        found,
        [
            (Code::BidiControl, "tools[1].description"),
            (Code::BidiControl, "tools[1].parameters"),
            (Code::WildcardHost, "permissions.network[0]"),
            (Code::IpHost, "permissions.network[1]"),
            (Code::IpHost, "permissions.network[2]"),
            (Code::NoToolDescription, "tools[0].description"),
            (Code::NoDescription, "description"),
            (Code::SchemaLimits, "tools"),
        ]
    );
    assert!(!report.passes);
}

#[test]
fn places_have_lines() {
    let report = audit_manifest(&plugin("let a = 1;\n\neval(a);", json!({})));
    assert_eq!((report.findings[0].place.as_str(), report.passes), ("tools[0].executorCode, line 3", false));
    assert!(audit_manifest(&plugin("return 1", json!({}))).passes);
}
