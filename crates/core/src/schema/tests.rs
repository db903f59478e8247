use serde_json::json;

use super::*;

fn errors(schema: &Value, value: &Value) -> Vec<String> {
    CompiledSchema::compile(schema, "s").unwrap().list_errors(value).iter().map(Problem::to_string).collect()
}

#[test]
fn errors_name_path_expectation_and_what_came() {
    let schema = json!({
        "type": "object",
        "properties": {
            "todo": { "type": "string", "maxLength": 5 },
            "count": { "type": "integer", "minimum": 1 },
            "kind": { "enum": ["a", "b"] },
            "items": { "type": "array", "items": { "type": "object", "properties": { "qty": { "type": "number" } },
                "required": ["id"] } },
        },
        "required": ["todo", "due"],
        "additionalProperties": false,
    });
    let mut found = errors(
        &schema,
        &json!({ "todo": "too long", "count": 1.5, "kind": "c", "items": [{ "qty": "two", "id": 1 }, {}], "x": 1 }),
    );
    found.sort();
    assert_eq!(
        found,
        [
            "(root): has no place for `x`; leave it out",
            "count: expected an integer, got 1.5",
            "due: missing; it is required",
            "items[0].qty: expected a number, got the text \"two\"",
            "items[1].id: missing; it is required",
            "kind: expected one of [\"a\",\"b\"], got the text \"c\"",
            "todo: expected at most 5 characters, got the text \"too long\"",
        ]
    );
}

#[test]
fn errors_are_bounded_in_number_and_size() {
    let schema = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
    let value: Value = (0..50).map(|i| (format!("k{i}"), json!("x".repeat(10_000)))).collect();
    let found = errors(&schema, &value);
    assert_eq!(found.len(), MAX_ERRORS);
    assert!(found.iter().all(|error| error.len() < 400));
}

#[test]
fn bounds_of_a_schema() {
    let mut deep = json!({ "type": "object" });
    for _ in 0..MAX_SCHEMA_DEPTH {
        deep = json!({ "type": "object", "properties": { "a": deep } });
    }
    assert!(CompiledSchema::compile(&deep, "s").unwrap_err().message.contains("nested deeper"));
    let wide = json!({ "type": "object", "enum": vec![1; MAX_SCHEMA_NODES] });
    assert!(CompiledSchema::compile(&wide, "s").unwrap_err().message.contains("more than"));
}

#[test]
fn nothing_is_fetched() {
    for target in ["https://example.com/s.json", "file:///etc/passwd", "other.json#/a"] {
        let problem = CompiledSchema::compile(
            &json!({ "type": "object", "properties": { "a": { "$ref": target } } }),
            "s",
        );
        assert_eq!(problem.unwrap_err().path, "s.properties.a.$ref");
    }
}

/// Many references to an anchor that is defined many times would be a graph of their product.
#[test]
fn an_anchor_is_defined_a_bounded_number_of_times() {
    let schema = |anchors: usize| {
        let all: serde_json::Map<_, _> = (0..anchors)
            .map(|at| (format!("a{at}"), json!({ "$id": format!("http://h/{at}"), "$dynamicAnchor": "x" })))
            .collect();
        json!({ "properties": { "a": { "$dynamicRef": "#x" } }, "$dynamicAnchor": "x", "$defs": all })
    };
    assert!(CompiledSchema::compile(&schema(32), "s").is_ok());
    let twice = json!({ "$dynamicAnchor": "x" });
    let mut many = schema(32);
    many["$defs"]["again"] = twice;
    let refused = CompiledSchema::compile(&many, "s").unwrap_err();
    assert_eq!(refused.message, "the anchor `x` is defined more than 33 times");
}

#[test]
fn references_inside_work_and_loops_are_refused() {
    let schema = json!({ "type": "object", "properties": { "next": { "$ref": "#" }, "v": { "$ref": "#/$defs/v" } },
        "$defs": { "v": { "type": "integer" } } });
    assert_eq!(errors(&schema, &json!({ "next": { "v": "x" } })).len(), 1);
    for endless in [
        json!({ "type": "object", "allOf": [{ "$ref": "#" }] }),
        json!({ "type": "object", "$ref": "#/$defs/a",
            "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/b" }] }, "b": { "not": { "$ref": "#/$defs/a" } } } }),
        json!({ "type": "object", "$ref": "#x", "$defs": { "a": { "$anchor": "x", "if": { "$ref": "#x" } } } }),
    ] {
        assert!(
            CompiledSchema::compile(&endless, "s").unwrap_err().message.contains("back to itself"),
            "{endless}"
        );
    }
}

#[test]
fn an_older_schema_marker_does_not_change_the_rules() {
    let schema = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": { "n": { "type": "integer" } } });
    assert_eq!(errors(&schema, &json!({ "n": "x" })).len(), 1);
}

#[test]
fn a_crafted_pattern_ends() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "^(a|aa)+\\1$(?=b)" } } });
    if let Ok(schema) = CompiledSchema::compile(&schema, "s") {
        assert!(!schema.list_errors(&json!({ "a": "a".repeat(5_000) })).is_empty());
    }
}

/// `count` definitions, each with two ways to the next one, under a keyword.
fn doubling(keyword: &str, reference: &str, count: usize) -> Value {
    let mut definitions = serde_json::Map::new();
    for at in 0..count {
        let next = match reference {
            "$ref" => format!("#/$defs/d{}", at + 1),
            _ => format!("#d{}", at + 1),
        };
        let two = json!([{ reference: next.clone() }, { reference: next }]);
        definitions.insert(format!("d{at}"), json!({ keyword: two, "$dynamicAnchor": format!("d{at}") }));
    }
    definitions
        .insert(format!("d{count}"), json!({ "type": "object", "$dynamicAnchor": format!("d{count}") }));
    let first = if reference == "$ref" { "#/$defs/d0" } else { "#d0" };
    json!({ "type": "object", reference: first, "$defs": definitions })
}

#[test]
fn a_small_schema_with_astronomically_many_ways_is_refused() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for reference in ["$ref", "$dynamicRef"] {
            let problem = CompiledSchema::compile(&doubling(keyword, reference, 40), "s").unwrap_err();
            assert!(problem.message.contains("written out"), "{keyword} {reference}: {problem}");
            let few = CompiledSchema::compile(&doubling(keyword, reference, 4), "s").unwrap();
            assert_eq!(few.list_errors(&json!({})).is_empty(), keyword != "oneOf");
        }
    }
    for (keyword, one) in [
        (
            "if",
            json!({ "if": { "$ref": "#/$defs/n" }, "then": { "$ref": "#/$defs/n" }, "else": { "$ref": "#/$defs/n" } }),
        ),
        ("not", json!({ "not": { "$ref": "#/$defs/n" }, "allOf": [{ "$ref": "#/$defs/n" }] })),
        ("items", json!({ "items": { "$ref": "#/$defs/n" }, "contains": { "$ref": "#/$defs/n" } })),
        (
            "prefixItems",
            json!({ "prefixItems": [{ "$ref": "#/$defs/n" }], "contains": { "$ref": "#/$defs/n" } }),
        ),
        (
            "propertyNames",
            json!({ "propertyNames": { "$ref": "#/$defs/n" }, "additionalProperties": { "$ref": "#/$defs/n" } }),
        ),
        (
            "dependentSchemas",
            json!({ "dependentSchemas": { "a": { "$ref": "#/$defs/n" }, "b": { "$ref": "#/$defs/n" } } }),
        ),
        (
            "patternProperties",
            json!({ "patternProperties": { "a": { "$ref": "#/$defs/n" }, "b": { "$ref": "#/$defs/n" } } }),
        ),
        (
            "unevaluatedProperties",
            json!({ "allOf": [{ "$ref": "#/$defs/n" }], "unevaluatedProperties": false }),
        ),
    ] {
        let mut schema =
            json!({ "type": "object", "$ref": "#/$defs/d0", "$defs": { "d40": { "type": "object" } } });
        for at in 0..40 {
            let text = one.to_string().replace("$defs/n", &format!("$defs/d{}", at + 1));
            schema["$defs"][format!("d{at}")] = serde_json::from_str(&text).unwrap();
        }
        let problem = CompiledSchema::compile(&schema, "s").unwrap_err();
        assert!(problem.message.contains("written out"), "{keyword}: {problem}");
    }
}

#[test]
fn a_schema_that_contains_itself_is_bounded_by_the_depth_of_the_value() {
    let twice =
        json!({ "type": "object", "properties": { "a": { "allOf": [{ "$ref": "#" }, { "$ref": "#" }] } } });
    let schema = CompiledSchema::compile(&twice, "s").unwrap();
    let nested = |depth: usize| (0..depth).fold(json!({}), |value, _| json!({ "a": value }));
    assert!(schema.list_errors(&nested(8)).is_empty());
    assert_eq!(schema.list_errors(&nested(100))[0].message, TOO_COMPLEX);
    // A list of lists grows with the value only, however deep.
    let tree = json!({ "type": "object", "properties": { "children": { "type": "array", "items": { "$ref": "#" } } } });
    let schema = CompiledSchema::compile(&tree, "s").unwrap();
    let nested = |depth: usize| (0..depth).fold(json!({}), |value, _| json!({ "children": [value] }));
    assert!(schema.list_errors(&nested(40)).is_empty());
}

#[test]
fn long_chains_of_references_are_read_once() {
    let mut schema = json!({ "type": "object", "properties": { "a": { "$ref": "#n0" } }, "$defs": {} });
    for at in 0..400 {
        let next = format!("#n{}", at + 1);
        schema["$defs"][format!("d{at}")] =
            json!({ "$anchor": format!("n{at}"), "allOf": [{ "$ref": next }] });
    }
    schema["$defs"]["end"] = json!({ "$anchor": "n400", "type": "integer" });
    let problem = CompiledSchema::compile(&schema, "s").unwrap_err();
    assert!(problem.message.contains("lead to each other more than"), "{problem}");
    let nowhere = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/missing" } } });
    let problem = CompiledSchema::compile(&nowhere, "s").unwrap_err();
    assert_eq!((problem.path.as_str(), problem.message.contains("leads nowhere")), ("s.properties.a", true));
    let encoded = json!({ "type": "object", "properties": { "a": { "$ref": "#/%24defs/x" } }, "$defs": { "x": { "type": "integer" } } });
    assert_eq!(errors(&encoded, &json!({ "a": "x" })).len(), 1);
}

#[test]
fn patterns_with_look_ahead_work_on_short_texts_only() {
    // As zod writes it for an address.
    let email =
        r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";
    let schema = json!({ "type": "object", "properties": { "to": { "type": "string", "pattern": email }, "body": { "type": "string" } } });
    let schema = Arc::new(CompiledSchema::compile(&schema, "s").unwrap());
    assert!(schema.find_problems(&json!({ "to": "ann@example.com" }), &ValueMeasure::default()).is_empty());
    let wrong = schema.find_problems(&json!({ "to": "ann..b@example.com" }), &ValueMeasure::default());
    assert!(wrong[0].message.starts_with("expected a text that matches"), "{wrong:?}");
    let long = json!({ "to": format!("{}@example.com", "a".repeat(MAX_BACKTRACKING_TEXT)) });
    assert!(schema.find_problems(&long, &ValueMeasure::default())[0].message.contains("at most 1024 bytes"));
    // Other texts of the same call may be long.
    let body = json!({ "to": "ann@example.com", "body": "x".repeat(200_000) });
    assert!(schema.costs.check_steps(&ValueMeasure::from_value(&body)) <= MAX_CHECK_STEPS);
    let names = json!({ "type": "object", "patternProperties": { "^(?!x)": {} } });
    assert!(CompiledSchema::compile(&names, "s").unwrap_err().message.contains("propertyNames"));
}

#[test]
fn patterns_are_bounded_in_number_and_size() {
    let many: serde_json::Map<_, _> =
        (0..=MAX_PATTERNS).map(|at| (format!("p{at}"), json!({ "pattern": format!("^a{at}.b") }))).collect();
    let problem = CompiledSchema::compile(&json!({ "type": "object", "properties": many }), "s").unwrap_err();
    assert!(problem.message.contains("different patterns"), "{problem}");
    let long =
        json!({ "type": "object", "properties": { "a": { "pattern": "a|".repeat(MAX_PATTERN_BYTES) } } });
    assert!(CompiledSchema::compile(&long, "s").unwrap_err().message.contains("longer than"));
    let large: serde_json::Map<_, _> = (0..20)
        .map(|at| (format!("p{at}"), json!({ "pattern": format!("^[a-z]{{{}}}b", 700 + at) })))
        .collect();
    let problem =
        CompiledSchema::compile(&json!({ "type": "object", "properties": large }), "s").unwrap_err();
    assert!(
        problem.message.contains("large when compiled") || problem.message.contains("too large"),
        "{problem}"
    );
    // A pattern inside an example is not a pattern of the schema.
    let glob = json!({ "type": "object", "properties": { "pattern": { "type": "string", "default": "*.rs" } },
        "examples": [{ "pattern": "*.rs" }] });
    assert!(CompiledSchema::compile(&glob, "s").is_ok());
}

#[test]
fn a_value_that_could_take_long_is_refused_before_it_is_looked_at() {
    let unique = CompiledSchema::compile(
        &json!({ "type": "object", "properties": { "a": { "uniqueItems": true } } }),
        "s",
    )
    .unwrap();
    let items: Vec<Value> = (0..60_000).map(|at| json!({ "k": at })).collect();
    assert!(unique.costs.check_steps(&ValueMeasure::from_value(&json!({ "a": items }))) > MAX_CHECK_STEPS);
    let words: Vec<Value> = (0..60_000).map(|at| json!(at.to_string())).collect();
    assert!(unique.costs.check_steps(&ValueMeasure::from_value(&json!({ "a": words }))) <= MAX_CHECK_STEPS);
}

#[test]
fn errors_of_a_huge_value_are_not_listed() {
    let schema = CompiledSchema::compile(
        &json!({ "type": "object", "additionalProperties": { "anyOf": [{ "type": "integer" },
        { "type": "boolean" }] } }),
        "s",
    )
    .unwrap();
    let value: Value = (0..20_000).map(|at| (format!("k{at}"), json!("x"))).collect();
    let found = schema.find_problems(&value, &ValueMeasure::from_value(&value));
    assert!(found[0].message.contains("too large to say where"), "{found:?}");
}

#[tokio::test]
async fn what_is_not_cheap_runs_on_the_pool() {
    let schema =
        json!({ "type": "object", "additionalProperties": { "type": "string", "pattern": "^[a-z]+$" } });
    let schema = CompiledSchema::compile_shared(&schema, "s").unwrap();
    let value: Value = (0..5_000).map(|at| (format!("k{at}"), json!("abc"))).collect();
    assert!(schema.costs.check_steps(&ValueMeasure::from_value(&value)) > MAX_INLINE_STEPS);
    assert_eq!(schema.check_value(&WorkOwner::anonymous(), value.clone()).await.unwrap(), value);
    let wrong: Value = (0..5_000).map(|at| (format!("k{at}"), json!("A"))).collect();
    assert!(matches!(schema.check_value(&WorkOwner::anonymous(), wrong).await, Err(CheckError::Misfit(_))));
}

#[tokio::test]
async fn a_schema_that_took_too_long_is_not_tried_again() {
    let value = json!({ "type": "object", "title": "took too long" });
    let schema = CompiledSchema::compile_shared(&value, "s").unwrap();
    schema.overran.store(true, Ordering::Release);
    shared::keep_overrun(&schema);
    drop(schema);
    // Compiled again it is the same instance; another definition is not.
    let owner = WorkOwner::anonymous();
    assert_eq!(
        CompiledSchema::compile_shared(&value, "s").unwrap().check_value(&owner, json!({})).await,
        Err(CheckError::Overran)
    );
    let changed = json!({ "type": "object", "title": "simplified" });
    assert!(
        CompiledSchema::compile_shared(&changed, "s").unwrap().check_value(&owner, json!({})).await.is_ok()
    );
}

#[test]
fn the_deepest_check_fits_a_small_stack() {
    // A chain of references as long as it may be, and a value that is wrong at its end.
    let mut chain = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": {} });
    let links = cost::MAX_NESTED_CHECKS as usize / 2 - 2;
    for at in 0..links {
        let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
        chain["$defs"][format!("d{at}")] = json!({ "anyOf": [next] });
    }
    chain["$defs"][format!("d{links}")] = json!({ "type": "integer" });
    let deep =
        json!({ "type": "object", "properties": { "a": { "anyOf": [{ "allOf": [{ "$ref": "#" }] }] } } });
    let nested = |depth: usize| (0..depth).fold(json!(5), |value, _| json!({ "a": value }));
    let checks = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(move || {
        let schema = CompiledSchema::compile(&chain, "s").unwrap();
        assert!(!schema.list_errors(&json!({ "a": "x" })).is_empty());
        let schema = CompiledSchema::compile(&deep, "s").unwrap();
        assert!(!schema.find_problems(&nested(120), &ValueMeasure::from_value(&nested(120))).is_empty());
    });
    checks.unwrap().join().unwrap();
}
