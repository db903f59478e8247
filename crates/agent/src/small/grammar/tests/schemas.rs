//! What the grammars of schemas allow and what they do not.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolyard_core::{ports::IdGenerator, schema::CompiledSchema};

use super::gbnf::Gbnf;
use crate::{
    model::ToolSpec,
    small::grammar::{
        MAX_CALLS, MAX_CALLS_AT_ONCE, MAX_ITEMS, MAX_STRING, MAX_WORDS, arguments_grammar, calls_grammar,
        copying_grammar,
    },
};

/// A reproducible random source.
pub(super) struct SchemaDice(std::sync::atomic::AtomicU64);

impl SchemaDice {
    pub(super) fn new(seed: u64) -> Self {
        Self(std::sync::atomic::AtomicU64::new(seed))
    }
}

impl IdGenerator for SchemaDice {
    fn fill_random(&self, bytes: &mut [u8]) {
        for byte in bytes {
            let step =
                |x: u64| x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let before = self.0.fetch_update(
                std::sync::atomic::Ordering::Relaxed,
                std::sync::atomic::Ordering::Relaxed,
                |x| Some(step(x)),
            );
            *byte = (before.unwrap() >> 33) as u8;
        }
    }
}

fn of(properties: Value, required: Value) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn check(schema: &Value, allowed: &[&str], not: &[&str]) {
    let grammar = arguments_grammar(schema);
    assert!(grammar.is_of_schema(), "{schema}");
    let gbnf = Gbnf::read(grammar.gbnf()).unwrap_or_else(|error| panic!("{error}\n{}", grammar.gbnf()));
    for text in allowed {
        assert!(gbnf.matches(text), "{text} is missing in\n{}", grammar.gbnf());
    }
    for text in not {
        assert!(!gbnf.matches(text), "{text} is allowed in\n{}", grammar.gbnf());
    }
}

#[test]
fn strings_have_bounds_and_no_free_space() {
    let schema = of(json!({ "text": { "type": "string" } }), json!(["text"]));
    let long = format!(r#"{{"text":"{}"}}"#, "é".repeat(MAX_STRING));
    let longer = format!(r#"{{"text":"{}"}}"#, "é".repeat(MAX_STRING + 1));
    check(
        &schema,
        &[r#"{"text":"a"}"#, r#"{"text":"buy \"milk\" \\ now"}"#, r#"{"text":"a\nb 日本"}"#, &long],
        &[
            r#"{"text":""}"#,
            r#"{"text":" a"}"#,
            r#"{"text": "a"}"#,
            r#"{ "text":"a"}"#,
            "{\"text\":\"a\nb\"}",
            r#"{"text":"a""#,
            r#"{"text":"\u0041"}"#,
            r#"{"text":"a","more":1}"#,
            "{}",
            &longer,
        ],
    );
    let bounded =
        of(json!({ "code": { "type": "string", "minLength": 2, "maxLength": 3 } }), json!(["code"]));
    check(&bounded, &[r#"{"code":"ab"}"#, r#"{"code":"abc"}"#], &[r#"{"code":"a"}"#, r#"{"code":"abcd"}"#]);
    let empty = of(json!({ "none": { "type": "string", "maxLength": 0 } }), json!(["none"]));
    check(&empty, &[r#"{"none":""}"#], &[r#"{"none":"a"}"#]);
    let long = of(json!({ "text": { "type": "string", "minLength": 130 } }), json!(["text"]));
    let text = |count: usize| format!(r#"{{"text":"{}"}}"#, "a".repeat(count));
    check(&long, &[&text(130)], &[&text(129), &text(131)]);
}

#[test]
fn required_members_come_first_and_others_may_follow_in_their_order() {
    let schema = of(
        json!({ "a": { "type": "boolean" }, "b": { "type": "boolean" }, "c": { "type": "null" } }),
        json!(["b"]),
    );
    check(
        &schema,
        &[
            r#"{"b":true}"#,
            r#"{"b":false,"a":true}"#,
            r#"{"b":true,"c":null}"#,
            r#"{"b":true,"a":true,"c":null}"#,
        ],
        &[
            r#"{"a":true,"b":true}"#,
            r#"{"b":true,}"#,
            r#"{"b":true,"c":null,"a":true}"#,
            r#"{"b":true,"b":true}"#,
            "{}",
        ],
    );
    let optional = of(json!({ "a": { "const": 1 }, "b": { "const": 2 }, "c": { "const": 3 } }), json!([]));
    check(
        &optional,
        &["{}", r#"{"a":1}"#, r#"{"b":2}"#, r#"{"a":1,"c":3}"#, r#"{"a":1,"b":2,"c":3}"#],
        &[r#"{,"a":1}"#, r#"{"c":3,"a":1}"#, r#"{"a":2}"#],
    );
    let some = json!({ "properties": { "a": { "const": 1 }, "b": { "const": 2 } }, "minProperties": 1, "maxProperties": 1 });
    check(&some, &[r#"{"a":1}"#], &["{}", r#"{"a":1,"b":2}"#]);
}

#[test]
fn numbers_keep_their_range() {
    let of_number = |schema: Value| of(json!({ "n": schema }), json!(["n"]));
    check(
        &of_number(json!({ "type": "integer" })),
        &[r#"{"n":0}"#, r#"{"n":-12}"#, r#"{"n":999999999999999}"#],
        &[r#"{"n":-0}"#, r#"{"n":01}"#, r#"{"n":1.5}"#, r#"{"n":1000000000000000}"#, r#"{"n":}"#],
    );
    check(
        &of_number(json!({ "type": "integer", "minimum": -3, "exclusiveMaximum": 12 })),
        &[r#"{"n":-3}"#, r#"{"n":11}"#, r#"{"n":0}"#],
        &[r#"{"n":-4}"#, r#"{"n":12}"#, r#"{"n":99}"#],
    );
    check(
        &of_number(json!({ "type": "number", "minimum": -1.5, "maximum": 2 })),
        &[r#"{"n":-1}"#, r#"{"n":-0.5}"#, r#"{"n":1.999999}"#, r#"{"n":2}"#],
        &[r#"{"n":-1.4}"#, r#"{"n":2.0001}"#, r#"{"n":-2}"#, r#"{"n":1e3}"#],
    );
    check(
        &of_number(json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 })),
        &[r#"{"n":0.5}"#],
        &[r#"{"n":0}"#, r#"{"n":1}"#],
    );
    check(
        &of_number(json!({ "type": "number" })),
        &[r#"{"n":-0.25}"#, r#"{"n":1000}"#],
        &[r#"{"n":.5}"#, r#"{"n":1.}"#],
    );
}

#[test]
fn choices_are_written_as_they_are() {
    let schema = of(
        json!({ "unit": { "enum": ["C", "\"F\"", "é\\", 7, null, { "a": [1] }] }, "on": { "type": "boolean" } }),
        json!(["unit"]),
    );
    check(
        &schema,
        &[
            r#"{"unit":"C"}"#,
            r#"{"unit":"\"F\""}"#,
            r#"{"unit":"é\\"}"#,
            r#"{"unit":7}"#,
            r#"{"unit":{"a":[1]},"on":true}"#,
        ],
        &[r#"{"unit":"D"}"#, r#"{"unit":"c"}"#],
    );
    let typed = of(json!({ "unit": { "type": "string", "enum": ["C", 7] } }), json!(["unit"]));
    check(&typed, &[r#"{"unit":"C"}"#], &[r#"{"unit":7}"#]);
}

#[test]
fn lists_and_objects_nest_within_bounds() {
    let schema = of(
        json!({
            "tags": { "type": "array", "items": { "type": "integer" } },
            "at": { "type": "object", "properties": { "city": { "enum": ["Rome"] } }, "required": ["city"] },
            "pair": { "prefixItems": [{ "type": "boolean" }, { "type": "null" }], "minItems": 2 },
            "labels": { "type": "object", "additionalProperties": { "type": "integer" } },
        }),
        json!(["tags", "at", "pair"]),
    );
    let list = |count: usize| {
        let items = vec!["1"; count].join(",");
        format!(r#"{{"tags":[{items}],"at":{{"city":"Rome"}},"pair":[true,null]}}"#)
    };
    check(
        &schema,
        &[
            &list(0),
            &list(1),
            &list(MAX_ITEMS),
            r#"{"tags":[],"at":{"city":"Rome"},"pair":[true,null],"labels":{"a b":1}}"#,
        ],
        &[&list(MAX_ITEMS + 1), r#"{"tags":[1,],"at":{"city":"Rome"},"pair":[true,null]}"#],
    );
    let bounded = of(
        json!({ "l": { "type": "array", "minItems": 1, "maxItems": 2, "items": { "const": 1 } } }),
        json!(["l"]),
    );
    check(&bounded, &[r#"{"l":[1]}"#, r#"{"l":[1,1]}"#], &[r#"{"l":[]}"#, r#"{"l":[1,1,1]}"#]);
}

#[test]
fn references_and_combinations_are_followed() {
    let schema = json!({
        "$defs": { "city": { "type": "string", "enum": ["Rome", "Oslo"] } },
        "allOf": [
            { "properties": { "city": { "$ref": "#/$defs/city" } }, "required": ["city"] },
            { "properties": { "city": { "enum": ["Oslo", "Bonn"] }, "n": { "anyOf": [{ "type": "null" }, { "const": 3 }] } } },
        ],
    });
    check(
        &schema,
        &[r#"{"city":"Oslo"}"#, r#"{"city":"Oslo","n":3}"#, r#"{"city":"Oslo","n":null}"#],
        &[r#"{"city":"Rome"}"#, r#"{"city":"Bonn"}"#, r#"{"n":3}"#],
    );
    let tree = json!({
        "type": "object",
        "properties": { "v": { "const": 1 }, "left": { "$ref": "#" } },
        "required": ["v"],
    });
    check(&tree, &[r#"{"v":1}"#, r#"{"v":1,"left":{"v":1,"left":{"v":1}}}"#], &[r#"{"v":1,"left":1}"#]);
    let either = json!({ "type": "object", "properties": { "a": { "const": 1 }, "b": { "const": 2 } },
        "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] });
    check(&either, &[r#"{"a":1}"#, r#"{"b":2}"#], &["{}"]);
}

#[test]
fn a_tool_without_arguments_gets_none() {
    for schema in
        [json!({}), json!({ "type": "object" }), json!({ "type": "object", "properties": {} }), json!(true)]
    {
        check(&schema, &["{}"], &[r#"{"a":1}"#, "", "{ }"]);
    }
}

#[test]
fn copied_strings_are_words_of_the_text() {
    let schema = of(
        json!({ "text": { "type": "string" }, "unit": { "enum": ["C"] }, "code": { "type": "string", "pattern": "^x" } }),
        json!(["text"]),
    );
    let grammar = copying_grammar(&schema, "Say \"good  morning\", in C:\\x .env: ?!");
    let gbnf = Gbnf::read(grammar.gbnf()).unwrap_or_else(|error| panic!("{error}\n{}", grammar.gbnf()));
    for (text, fits) in [
        (r#"{"text":"Say"}"#, true),
        (r#"{"text":"good morning"}"#, true),
        (r#"{"text":"\"good morning"}"#, true),
        (r#"{"text":"morning\", in C:\\x"}"#, true),
        (r#"{"text":".env"}"#, true),
        (r#"{"text":"env","unit":"C"}"#, true),
        (r#"{"text":"Say","code":"x y"}"#, true),
        (r#"{"text":"good in"}"#, false),
        (r#"{"text":"goo"}"#, false),
        (r#"{"text":"?!"}"#, false),
        (r#"{"text":""}"#, false),
        (r#"{"text":"bad"}"#, false),
    ] {
        assert_eq!(gbnf.matches(text), fits, "{text} in\n{}", grammar.gbnf());
    }
    assert_eq!(copying_grammar(&schema, " ?! "), arguments_grammar(&schema));
    let many = (0..MAX_WORDS + 1).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    let gbnf = Gbnf::read(copying_grammar(&schema, &many).gbnf()).unwrap();
    assert!(gbnf.matches(&format!(r#"{{"text":"w{}"}}"#, MAX_WORDS - 1)));
    assert!(!gbnf.matches(&format!(r#"{{"text":"w{MAX_WORDS}"}}"#)));
}

/// Schemas that a grammar expresses completely: whatever it allows must validate.
fn exact() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({ "type": "boolean" })),
        Just(json!({ "type": ["string", "null"] })),
        (0_u64..20, 0_u64..200)
            .prop_map(|(min, more)| json!({ "type": "string", "minLength": min, "maxLength": min + more })),
        (-2_000_i64..2_000, 0_i64..5_000)
            .prop_map(|(min, more)| json!({ "type": "integer", "minimum": min, "maximum": min + more })),
        (-50.0_f64..50.0, 0.0_f64..90.0).prop_map(
            |(min, more)| json!({ "type": "number", "minimum": min, "exclusiveMaximum": min + more + 0.5 })
        ),
        proptest::collection::vec("[a-zé\"\\\\<\n ]{0,6}", 1..4).prop_map(|values| json!({ "enum": values })),
        Just(json!({ "type": "number", "exclusiveMinimum": -2 })),
        Just(json!(true)),
    ];
    let value = leaf.prop_recursive(3, 24, 4, |inner| {
        let member = ("[a-e\"é]{1,3}", inner.clone());
        prop_oneof![
            (inner.clone(), 0_u64..3, 0_u64..4).prop_map(|(items, min, more)| json!({ "type": "array", "items": items, "minItems": min, "maxItems": min + more })),
            proptest::collection::vec(member, 0..5).prop_map(object),
            (inner.clone(), inner).prop_map(|(a, b)| json!({ "anyOf": [a, b] })),
        ]
    });
    proptest::collection::vec(("[a-e]{1,2}", value), 0..5).prop_map(object)
}

/// An object, half of whose members are required.
fn object(members: Vec<(String, Value)>) -> Value {
    let required: Vec<_> = members
        .iter()
        .map(|(name, _)| name.clone())
        .step_by(2)
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect();
    json!({ "type": "object", "properties": serde_json::Map::from_iter(members), "required": required, "additionalProperties": false })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_grammar_allows_validates(schema in exact(), seed: u64) {
        let grammar = arguments_grammar(&schema);
        prop_assert!(grammar.is_of_schema(), "{}", schema);
        let gbnf = Gbnf::read(grammar.gbnf()).map_err(TestCaseError::fail)?;
        let compiled = CompiledSchema::compile(&schema, "schema").unwrap();
        for turn in 0..4 {
            let text = gbnf.write(&SchemaDice::new(seed.wrapping_add(turn)));
            prop_assert!(gbnf.matches(&text) || text.len() > 2_000, "{}", text);
            let value: Value = serde_json::from_str(&text).map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
            let errors = compiled.list_errors(&value);
            prop_assert!(errors.is_empty(), "{} does not fit {}: {:?}", text, schema, errors);
        }
    }
}

fn tool(name: &str, schema: Value) -> std::sync::Arc<ToolSpec> {
    std::sync::Arc::new(ToolSpec { name: name.to_owned(), description: String::new(), schema })
}

#[test]
fn calls_name_a_tool_and_then_keep_to_its_schema() {
    assert!(calls_grammar(&[]).is_none());
    let tools = [
        tool("add", of(json!({ "a": { "type": "integer", "minimum": 0, "maximum": 9 } }), json!(["a"]))),
        tool("odd\"name", of(json!({ "b": { "enum": ["x"] } }), json!(["b"]))),
    ];
    let grammar = calls_grammar(&tools).unwrap();
    assert!(grammar.is_of_schema());
    let gbnf = Gbnf::read(grammar.gbnf()).unwrap_or_else(|error| panic!("{error}\n{}", grammar.gbnf()));
    let add = r#"<tool>{"name":"add","arguments":{"a":5}}</tool>"#;
    let odd = r#"<tool>{"name":"odd\"name","arguments":{"b":"x"}}</tool>"#;
    for allowed in [add.to_owned(), format!("{odd}\n{add}"), [add; MAX_CALLS_AT_ONCE].join("\n")] {
        assert!(gbnf.matches(&allowed), "{allowed}\n{}", grammar.gbnf());
    }
    for not in [
        r#"<tool>{"name":"add","arguments":{"b":"x"}}</tool>"#.to_owned(),
        r#"<tool>{"arguments":{"a":5},"name":"add"}</tool>"#.to_owned(),
        r#"<tool>{"name":"sub","arguments":{}}</tool>"#.to_owned(),
        format!("{add}\nDone."),
        [add; MAX_CALLS_AT_ONCE + 1].join("\n"),
    ] {
        assert!(!gbnf.matches(&not), "{not}");
    }
}

#[test]
fn calls_of_many_large_tools_stay_within_bounds() {
    let names: Vec<_> = (0..60).map(|at| format!("a choice of some length, number {at}")).collect();
    let large = |at: usize| {
        let names: Vec<_> = names.iter().map(|name| format!("{name} of {at}")).collect();
        tool(&format!("tool{at}"), of(json!({ "x": { "enum": names } }), json!(["x"])))
    };
    let tools: Vec<_> = (0..128).map(large).collect();
    let grammar = calls_grammar(&tools).unwrap();
    assert!(!grammar.is_of_schema());
    assert!(grammar.gbnf().len() < 2 * MAX_CALLS, "{}", grammar.gbnf().len());
    assert!(Gbnf::read(grammar.gbnf()).is_ok());
}
