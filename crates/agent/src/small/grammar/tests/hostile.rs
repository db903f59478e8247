//! Hostile schemas: the result is always a grammar, and always a small one.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{gbnf::Gbnf, schemas::SchemaDice};
use crate::small::grammar::{
    MAX_CHOICES, MAX_DEPTH, MAX_GRAMMAR, MAX_LITERAL, MAX_OPTIONAL, MAX_REQUIRED, any_object_grammar,
    arguments_grammar,
};

/// Parses the grammar of a schema, generates from it, and returns whether it follows the schema.
fn survives(schema: &Value) -> bool {
    let grammar = arguments_grammar(schema);
    assert!(grammar.gbnf().len() < 2 * MAX_GRAMMAR, "{} bytes", grammar.gbnf().len());
    let gbnf = Gbnf::read(grammar.gbnf()).unwrap_or_else(|error| panic!("{error}\n{}", grammar.gbnf()));
    let text = gbnf.write(&SchemaDice::new(7));
    assert!(serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_object()), "{text}");
    grammar.is_of_schema()
}

#[test]
fn what_cannot_be_a_rule_becomes_any_object() {
    let loops = json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } }, "$ref": "#/$defs/a" });
    let endless = json!({ "properties": { "next": { "$ref": "#" } }, "required": ["next"] });
    let long = json!({ "properties": { "a": { "type": "string", "minLength": 5_000_000_000_u64 } }, "required": ["a"] });
    let name = "n".repeat(MAX_LITERAL);
    for schema in [
        json!(false),
        json!(null),
        json!([1]),
        json!({ "type": "string" }),
        json!({ "type": 7 , "properties": 7, "required": 7, "enum": 7 , "$ref": 7 }),
        json!({ "$ref": "https://example.com/schema" }),
        json!({ "properties": { "a": false }, "required": ["a"] }),
        json!({ "properties": { "a": { "enum": [] } }, "required": ["a"] }),
        json!({ "properties": { "a": { "type": "integer", "minimum": 5, "maximum": 4 } }, "required": ["a"] }),
        json!({ "properties": { (name.clone()): true }, "required": [name] }),
        json!({ "required": ["a"], "additionalProperties": false }),
        json!({ "required": (0..=MAX_REQUIRED).map(|n| n.to_string()).collect::<Vec<_>>() }),
        loops,
        endless,
        long,
    ] {
        assert!(!survives(&schema), "{schema}");
    }
}

#[test]
fn what_is_optional_and_impossible_is_left_out() {
    for schema in [
        json!({ "properties": { "a": false, "b": { "enum": [] }, "c": { "$ref": "#/nowhere" }, "d": { "type": "odd" } } }),
        json!({ "properties": { "a": { "type": "array", "items": false }, "b": { "type": "array", "minItems": 99 } } }),
        json!({ "properties": { "a": { "minimum": 1e300 }, "b": { "maximum": -1e300, "type": "integer" } } }),
    ] {
        assert!(survives(&schema), "{schema}");
    }
}

#[test]
fn exponential_schemas_are_bounded() {
    // Each level doubles.
    let levels = |of: &str| {
        let mut defs = serde_json::Map::new();
        for level in 0..24 {
            let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
            let schema = match of {
                "allOf" | "anyOf" => json!({ of: [next, next] }),
                _ => {
                    json!({ "type": "object", "properties": { "a": next, "b": next, "c": next }, "required": ["a"] })
                }
            };
            defs.insert(format!("l{level}"), schema);
        }
        defs.insert("l24".to_owned(), json!({ "type": "object" }));
        json!({ "$defs": defs, "$ref": "#/$defs/l0" })
    };
    for of in ["allOf", "anyOf", "properties"] {
        survives(&levels(of));
    }
    let wide: serde_json::Map<_, _> =
        (0..500).map(|n| (format!("p{n}"), json!({ "type": "string" }))).collect();
    assert!(survives(&json!({ "properties": wide })));
    let choices: Vec<_> = (0..1_000).map(|n| "x".repeat(n)).collect();
    assert!(survives(&json!({ "properties": { "a": { "enum": choices } }, "required": ["a"] })));
    let huge: serde_json::Map<_, _> =
        (0..9_000).map(|n| (format!("p{n}"), json!({ "type": "string" }))).collect();
    assert!(!survives(&json!({ "properties": huge })));
    let nested = |levels: usize| {
        (0..levels).fold(
            json!({ "type": "string" }),
            |inner, _| json!({ "type": "object", "properties": { "d": inner }, "required": ["d"] }),
        )
    };
    assert!(survives(&nested(MAX_DEPTH + 1)));
    assert!(!survives(&nested(MAX_DEPTH + 2)));
}

#[test]
fn long_lists_of_choices_and_members_are_cut() {
    let choices: Vec<_> = (0..MAX_CHOICES + 1).map(|n| format!("c{n}")).collect();
    let grammar =
        arguments_grammar(&json!({ "properties": { "a": { "enum": choices } }, "required": ["a"] }));
    let gbnf = Gbnf::read(grammar.gbnf()).unwrap();
    assert!(gbnf.matches(&format!(r#"{{"a":"c{}"}}"#, MAX_CHOICES - 1)));
    assert!(!gbnf.matches(&format!(r#"{{"a":"c{MAX_CHOICES}"}}"#)));
    let many: serde_json::Map<_, _> =
        (0..MAX_OPTIONAL + 1).map(|n| (format!("p{n:02}"), json!({ "const": 1 }))).collect();
    let grammar = arguments_grammar(&json!({ "properties": many }));
    let gbnf = Gbnf::read(grammar.gbnf()).unwrap();
    assert!(gbnf.matches(&format!(r#"{{"p{:02}":1}}"#, MAX_OPTIONAL - 1)));
    assert!(!gbnf.matches(&format!(r#"{{"p{MAX_OPTIONAL:02}":1}}"#)));
}

#[test]
fn any_object_is_bounded_json() {
    let gbnf = Gbnf::read(any_object_grammar().gbnf()).unwrap();
    for (text, fits) in [
        ("{}", true),
        (r#"{"a":1,"b":[true,"x"],"c":{"d":null}}"#, true),
        (r#"{"a":{"b":{}}}"#, false),
        (r#"{"a":[[1]]}"#, false),
        ("[]", false),
        (r#"{"a" :1}"#, false),
    ] {
        assert_eq!(gbnf.matches(text), fits, "{text}");
    }
}

/// Random values with schema keywords in them.
fn odd() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "enum",
        "const",
        "items",
        "prefixItems",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "additionalProperties",
        "format",
        "pattern",
        "minProperties",
        "maxProperties",
        "uniqueItems",
        "a",
        "b\"\\\u{7}",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any_bool(),
        prop::sample::select(vec![-1e300, -7.5, 0.0, 0.3, 3.0, 1e18, 1e300]).prop_map(|n| json!(n)),
        any_int(),
        prop::sample::select(vec![
            "object",
            "array",
            "string",
            "integer",
            "number",
            "boolean",
            "null",
            "#",
            "#/$defs",
            "#/properties/a",
            "date",
            "date-time",
            "",
            "\n\u{0}\"]{"
        ])
        .prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(6, 80, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            proptest::collection::vec((words.clone(), inner), 0..6).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<serde_json::Map<_, _>>()
                .into()),
        ]
    })
}

fn any_bool() -> impl Strategy<Value = Value> {
    proptest::bool::ANY.prop_map(|value| json!(value))
}

fn any_int() -> impl Strategy<Value = Value> {
    prop_oneof![-5_i64..40, proptest::num::i64::ANY].prop_map(|value| json!(value))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn every_schema_has_a_grammar(schema in odd(), properties in odd()) {
        survives(&schema);
        survives(&json!({ "type": "object", "properties": { "a": properties, "b": schema }, "required": ["a"] }));
    }
}
