use serde_json::json;

use super::*;

const FAMILIES: [VendorFamily; 4] =
    [VendorFamily::OpenAi, VendorFamily::Compatible, VendorFamily::Anthropic, VendorFamily::Gemini];

fn spec(schema: Value) -> ToolSpec {
    ToolSpec { name: "add".to_owned(), description: "Adds.".to_owned(), schema }
}

fn sent(family: VendorFamily, schema: Value) -> (ToolSpec, Vec<String>) {
    match fit_tool(family, &spec(schema.clone())) {
        FitResult::Sent(tool, moved) => ((*tool).clone(), moved),
        FitResult::LeftOut(why) => panic!("{family:?} left {schema} out: {why}"),
    }
}

/// One property, as it is sent.
fn property(family: VendorFamily, schema: Value) -> Value {
    let (tool, _) = sent(family, json!({ "type": "object", "properties": { "p": schema } }));
    tool.schema["properties"]["p"].clone()
}

fn left_out(family: VendorFamily, schema: Value) -> String {
    match fit_tool(family, &spec(schema)) {
        FitResult::LeftOut(why) => why,
        FitResult::Sent(tool, _) => panic!("{family:?} takes {}", tool.schema),
    }
}

#[test]
fn a_schema_that_every_vendor_accepts_is_unchanged() {
    let schema = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string", "description": "What to add" },
            "tags": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "maxItems": 5 },
            "n": { "type": "integer", "minimum": 1, "maximum": 9 },
            "type": { "type": "string" },
            "either": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
        },
        "required": ["text"],
    });
    for family in FAMILIES {
        assert_eq!(sent(family, schema.clone()), (spec(schema.clone()), vec![]), "{family:?}");
    }
}

#[test]
fn tools_with_invalid_names_are_left_out() {
    for (family, name, fits) in [
        (VendorFamily::OpenAi, "x".repeat(64), true),
        (VendorFamily::OpenAi, "x".repeat(65), false),
        (VendorFamily::Anthropic, "x".repeat(128), true),
        (VendorFamily::Anthropic, "x".repeat(129), false),
        (VendorFamily::Gemini, "x".repeat(64), true),
        (VendorFamily::Gemini, "x".repeat(65), false),
        (VendorFamily::Gemini, "1st".to_owned(), true),
        (VendorFamily::Gemini, format!("1{}", "x".repeat(60)), true),
        (VendorFamily::Gemini, format!("1{}", "x".repeat(61)), false),
        (VendorFamily::Gemini, "_1st".to_owned(), true),
        (VendorFamily::OpenAi, "1st".to_owned(), true),
        (VendorFamily::OpenAi, "a.b".to_owned(), false),
        (VendorFamily::Compatible, "a b".to_owned(), false),
        (VendorFamily::Compatible, String::new(), false),
    ] {
        let tool = ToolSpec { name: name.clone(), ..spec(json!({})) };
        assert_eq!(matches!(fit_tool(family, &tool), FitResult::Sent(..)), fits, "{family:?} {name}");
    }
}

#[test]
fn the_top_becomes_an_object_or_the_tool_is_left_out() {
    let empty = json!({ "type": "object", "properties": {} });
    for family in FAMILIES {
        for schema in [
            json!({}),
            json!(true),
            json!(null),
            json!({ "type": ["object", "null"] }),
            json!({ "$schema": "x" }),
        ] {
            assert_eq!(sent(family, schema.clone()).0.schema, empty, "{family:?} {schema}");
        }
        assert_eq!(left_out(family, json!({ "type": "array" })), "its arguments are not an object");
        assert_eq!(left_out(family, json!("text")), "its schema is not an object");
        assert_eq!(left_out(family, json!(false)), "its schema is not an object");
    }
}

#[test]
fn a_choice_at_the_top_becomes_a_note() {
    let schema = |keyword: &str| {
        json!({
            "type": "object",
            "properties": { "id": { "type": "string" } },
            "required": ["id"],
            keyword: [
                { "properties": { "route": { "type": "string" } }, "required": ["id", "route"] },
                { "properties": { "file": { "type": "string" }, "line": { "type": "integer" } }, "required": ["file", "line"] },
            ],
        })
    };
    let merged = json!({
        "type": "object",
        "properties": { "id": { "type": "string" }, "route": { "type": "string" }, "file": { "type": "string" },
            "line": { "type": "integer" } },
        "required": ["id"],
    });
    for family in FAMILIES {
        for (keyword, words) in [
            ("anyOf", "Adds. (give at least one of: route, or file and line)"),
            ("oneOf", "Adds. (give exactly one of: route, or file and line)"),
        ] {
            let (tool, moved) = sent(family, schema(keyword));
            assert_eq!((&tool.schema, tool.description.as_str()), (&merged, words), "{family:?}");
            assert_eq!(moved, [format!("{keyword} at the top")]);
        }
        let (tool, _) = sent(family, schema("allOf"));
        assert_eq!(tool.schema["required"], json!(["id", "route", "file", "line"]), "{family:?}");
        assert_eq!(tool.description, "Adds.");
    }
    let (tool, _) = sent(VendorFamily::OpenAi, json!({ "enum": [{ "a": 1 }], "not": { "required": ["b"] } }));
    assert_eq!(tool.description, "Adds. (one of {\"a\":1}; must not be {\"required\":[\"b\"]})");
}

#[test]
fn keywords_that_gemini_rejects_become_notes() {
    for (schema, want) in [
        (
            json!({ "type": "string", "pattern": "^a+$", "description": "D" }),
            json!({ "type": "string", "description": "D (must match ^a+$)" }),
        ),
        (
            json!({ "type": "string", "minLength": 1, "maxLength": 5 }),
            json!({ "type": "string", "description": "(at least 1 characters; at most 5 characters)" }),
        ),
        (
            json!({ "type": "string", "format": "uuid" }),
            json!({ "type": "string", "description": "(in the format uuid)" }),
        ),
        (
            json!({ "type": "string", "format": "date-time" }),
            json!({ "type": "string", "format": "date-time" }),
        ),
        (
            json!({ "type": "integer", "exclusiveMinimum": 0 }),
            json!({ "type": "integer", "description": "(more than 0)" }),
        ),
        (
            json!({ "type": "integer", "minimum": 0, "exclusiveMinimum": true }),
            json!({ "type": "integer", "description": "(more than 0)" }),
        ),
        (
            json!({ "type": "integer", "multipleOf": 5, "default": 10 }),
            json!({ "type": "integer", "description": "(a multiple of 5; 10 if not given)" }),
        ),
        (json!({ "const": "a" }), json!({ "enum": ["a"], "type": "string" })),
        (json!({ "const": 1 }), json!({ "description": "(must be 1)" })),
        (
            json!({ "type": "integer", "enum": [1, 2] }),
            json!({ "type": "integer", "description": "(one of 1, 2)" }),
        ),
        (
            json!({ "type": "string", "enum": ["", "a"] }),
            json!({ "type": "string", "description": "(one of \"\", \"a\")" }),
        ),
        (
            json!({ "oneOf": [{ "type": "string" }, { "type": "null" }] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
        ),
        (json!({ "type": ["string", "null"] }), json!({ "type": "string", "description": "(may be null)" })),
        (
            json!({ "type": ["string", "integer"] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
        ),
        (
            json!({ "type": "array", "uniqueItems": true, "items": true }),
            json!({ "type": "array", "items": {}, "description": "(no item twice)" }),
        ),
        (
            json!({ "type": "object", "additionalProperties": false }),
            json!({ "type": "object", "description": "(no other properties)" }),
        ),
        (
            json!({ "type": "object", "properties": { "a": {} }, "required": ["a", "b"] }),
            json!({ "type": "object", "properties": { "a": {} }, "required": ["a"] }),
        ),
        (
            json!({ "allOf": [{ "type": "string", "title": "T" }], "description": "D" }),
            json!({ "type": "string", "title": "T", "description": "D" }),
        ),
        (
            json!({ "type": "string", "x-order": 1, "$comment": "c", "readOnly": true }),
            json!({ "type": "string" }),
        ),
        (
            json!({ "type": "string", "examples": ["tea", "coffee"] }),
            json!({ "type": "string", "description": "(for example \"tea\")" }),
        ),
    ] {
        assert_eq!(property(VendorFamily::Gemini, schema.clone()), want, "{schema}");
    }
    let (_, moved) = sent(
        VendorFamily::Gemini,
        json!({ "properties": { "a": { "items": { "pattern": "x" }, "type": "array" } }, "additionalProperties": false }),
    );
    assert_eq!(moved, ["a[]: must match x", "the arguments: no other properties"]);
}

#[test]
fn a_property_may_be_named_like_a_keyword() {
    let schema = json!({ "type": "object", "properties": {
        "pattern": { "type": "string" }, "$ref": { "type": "string" }, "definitions": { "type": "string" },
        "description": { "type": "string" }, "required": { "type": "boolean" } }, "required": ["pattern"] });
    for family in FAMILIES {
        let (tool, moved) = sent(family, schema.clone());
        let names: Vec<_> = tool.schema["properties"].as_object().unwrap().keys().collect();
        // A dollar sign is not allowed by Anthropic.
        let want: &[&str] = match family {
            VendorFamily::Anthropic => &["pattern", "definitions", "description", "required"],
            _ => &["pattern", "$ref", "definitions", "description", "required"],
        };
        assert_eq!(names, want, "{family:?}");
        assert_eq!(moved.len(), usize::from(family == VendorFamily::Anthropic));
    }
}

#[test]
fn old_spellings_are_normalised_for_all_vendors() {
    for family in [VendorFamily::OpenAi, VendorFamily::Compatible, VendorFamily::Anthropic] {
        for (schema, want) in [
            (json!({ "type": "array" }), json!({ "type": "array", "items": {} })),
            (json!({ "type": "any" }), json!({})),
            (
                json!({ "type": "integer", "minimum": 3, "exclusiveMinimum": true }),
                json!({ "type": "integer", "exclusiveMinimum": 3 }),
            ),
            (
                json!({ "type": "integer", "maximum": 3, "exclusiveMaximum": false }),
                json!({ "type": "integer", "maximum": 3 }),
            ),
            (json!({ "type": "string", "required": true }), json!({ "type": "string" })),
            (
                json!({ "type": "array", "items": [{ "type": "string" }] }),
                json!({ "type": "array", "prefixItems": [{ "type": "string" }], "items": {} }),
            ),
            (json!(true), json!({})),
        ] {
            assert_eq!(property(family, schema.clone()), want, "{family:?} {schema}");
        }
        assert_eq!(property(family, json!(false)), Value::Null, "{family:?}");
    }
}

#[test]
fn compatible_servers_get_no_patterns() {
    let (tool, _) = sent(
        VendorFamily::Compatible,
        json!({ "properties": { "a": { "type": "string", "pattern": "a+", "not": { "const": "aa" } } } }),
    );
    assert_eq!(
        tool.schema["properties"]["a"],
        json!({ "type": "string", "description": "(must match a+; must not be {\"const\":\"aa\"})" })
    );
    assert_eq!(
        property(VendorFamily::OpenAi, json!({ "type": "string", "pattern": "a+" })),
        json!({ "type": "string", "pattern": "a+" })
    );
}

#[test]
fn anthropic_accepts_only_some_property_names() {
    let schema = |required: Value| json!({ "type": "object", "properties": { "a b": {}, "ok.1-2_": {}, "x".repeat(65): {} }, "required": required });
    let (tool, moved) = sent(VendorFamily::Anthropic, schema(json!([])));
    assert_eq!(tool.schema["properties"], json!({ "ok.1-2_": {} }));
    assert_eq!(moved.len(), 2);
    let why = left_out(VendorFamily::Anthropic, schema(json!(["a b"])));
    assert_eq!(why, "it requires the property \"a b\", a name that is not supported");
    assert_eq!(sent(VendorFamily::OpenAi, schema(json!(["a b"]))).1, Vec::<String>::new());
}

#[test]
fn references_are_written_out_and_recursion_is_cut() {
    let schema = json!({
        "$ref": "#/$defs/Args",
        "$defs": {
            "Args": { "type": "object", "properties": {
                "when": { "$ref": "#/$defs/Time", "description": "When" },
                "tree": { "$ref": "#/$defs/Node" },
                "far": { "$ref": "https://host/schema.json" },
                "lost": { "$ref": "#/$defs/Nowhere" },
            } },
            "Time": { "type": "string", "description": "A time" },
            "Node": { "type": "object", "properties": { "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } } } },
        },
    });
    for family in FAMILIES {
        let properties = sent(family, schema.clone()).0.schema["properties"].clone();
        assert_eq!(properties["when"], json!({ "type": "string", "description": "When" }), "{family:?}");
        assert_eq!(
            properties["tree"]["properties"]["children"],
            json!({ "type": "array", "items": { "description": "(again Node, as above)" } })
        );
        assert_eq!(properties["far"], json!({ "description": "(as in https://host/schema.json)" }));
        assert_eq!(properties["lost"], json!({ "description": "(as in #/$defs/Nowhere)" }));
        assert!(!properties.to_string().contains("$ref"));
    }
}

#[test]
fn references_that_grow_without_end_leave_the_tool_out() {
    let mut definitions = serde_json::Map::new();
    for at in 0..40 {
        let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
        definitions.insert(format!("d{at}"), json!({ "properties": { "a": next, "b": next } }));
    }
    let schema =
        json!({ "type": "object", "properties": { "p": { "$ref": "#/$defs/d0" } }, "$defs": definitions });
    assert_eq!(
        left_out(VendorFamily::OpenAi, schema),
        "its schema is too large once its references are written out"
    );
    let itself = json!({ "$ref": "#" });
    assert_eq!(sent(VendorFamily::OpenAi, itself).0.schema, json!({ "type": "object", "properties": {} }));
}

#[test]
fn a_long_text_that_is_referred_to_many_times_leaves_the_tool_out() {
    let schema = |uses: usize| {
        let properties: serde_json::Map<_, _> =
            (0..uses).map(|at| (format!("p{at}"), json!({ "$ref": "#/$defs/long" }))).collect();
        json!({ "type": "object", "properties": properties,
            "$defs": { "long": { "type": "string", "description": "x".repeat(8 * 1024) } } })
    };
    assert!(inline::inline_references(&schema(100)).is_ok());
    let (uses, large) = (200, inline::inline_references(&schema(200)).unwrap_err());
    assert!(uses * 10 < inline::MAX_VALUES, "its values alone are few");
    assert_eq!(large, "its schema is too large once its references are written out");
    for family in FAMILIES {
        assert_eq!(left_out(family, schema(200)), large, "{family:?}");
    }
}

#[test]
fn size_and_depth_are_bounded() {
    let long =
        |bytes: usize| json!({ "properties": { "p": { "type": "string", "title": "x".repeat(bytes) } } });
    assert!(left_out(VendorFamily::OpenAi, long(MAX_SCHEMA)).starts_with("its schema has "));
    sent(VendorFamily::OpenAi, long(MAX_SCHEMA - 200));

    let deep = |depth: usize| {
        (0..depth).fold(
            json!({ "type": "string" }),
            |inner, _| json!({ "type": "object", "properties": { "p": inner } }),
        )
    };
    for family in FAMILIES {
        let (fits, moved) = sent(family, deep(MAX_DEPTH - 1));
        assert_eq!((fits.schema, moved), (deep(MAX_DEPTH - 1), vec![]));
        let (cut, moved) = sent(family, deep(MAX_DEPTH));
        assert!(cut.schema.to_string().contains("(string, not described further)"), "{}", cut.schema);
        assert_eq!(moved.len(), 1);
    }
    assert!(matches!(fit_tool(VendorFamily::OpenAi, &spec(deep(200))), FitResult::LeftOut(_)));

    let tool = ToolSpec { description: "é".repeat(MAX_DESCRIPTION), ..spec(json!({})) };
    let FitResult::Sent(tool, _) = fit_tool(VendorFamily::OpenAi, &tool) else { panic!() };
    assert!(tool.description.len() <= MAX_DESCRIPTION);
}

#[test]
fn the_number_of_tools_is_bounded_and_left_out_tools_are_reported() {
    let fits = FitCache::default();
    let tool = |name: String| Arc::new(ToolSpec { name, ..spec(json!({})) });
    let mut tools: Vec<_> = (0..130).map(|at| tool(format!("t{at}"))).collect();
    tools[5] = tool("a.b".to_owned());
    for (family, most) in [
        (VendorFamily::OpenAi, 128),
        (VendorFamily::Compatible, 128),
        (VendorFamily::Gemini, 128),
        (VendorFamily::Anthropic, 129),
    ] {
        let fitted = fit_tools(&fits, family, "m", &tools);
        assert_eq!((fitted.tools.len(), fitted.left_out.len()), (most, 130 - most), "{family:?}");
        assert_eq!(fitted.left_out[0].0, "a.b");
    }
    let fitted = fit_tools(&fits, VendorFamily::OpenAi, "m", &tools);
    assert_eq!(fitted.left_out[1], ("t129".to_owned(), "there are more than 128 tools".to_owned()));
    let many: Vec<_> = (0..257).map(|at| tool(format!("t{at}"))).collect();
    assert_eq!(fit_tools(&fits, VendorFamily::Anthropic, "m", &many).tools.len(), 256);
}

#[test]
fn fitting_twice_is_fitting_once() {
    let schema = json!({
        "description": "All of it",
        "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
        "properties": {
            "a": { "type": ["string", "null"], "pattern": "x", "format": "uuid" },
            "b": { "$ref": "#/$defs/B" },
            "c": { "type": "array", "items": [{ "const": 1 }, { "type": "any" }] },
        },
        "additionalProperties": { "type": "string" },
        "$defs": { "B": { "type": "object", "properties": { "b": { "$ref": "#/$defs/B" } } } },
    });
    for family in FAMILIES {
        let (once, moved) = sent(family, schema.clone());
        assert!(!moved.is_empty());
        assert_eq!(fit_tool(family, &once), FitResult::Sent(Arc::new(once.clone()), vec![]), "{family:?}");
        assert!(
            once.description.starts_with("Adds. (give exactly one of: a, or b; All of it"),
            "{}",
            once.description
        );
    }
}

#[test]
fn invalid_schemas_never_panic() {
    for schema in [
        json!({ "properties": [] }),
        json!({ "properties": { "a": 1, "b": [], "c": "x", "d": null } }),
        json!({ "required": "a", "properties": { "a": { "enum": "x", "anyOf": {}, "items": 7, "type": 7 } } }),
        json!({ "$ref": 7, "anyOf": [1, "a", null] }),
        json!({ "$ref": "#/properties/a", "properties": { "a": { "$ref": "#" } } }),
        json!({ "properties": { "a": { "allOf": [] , "oneOf": [true, false], "examples": [] } } }),
    ] {
        for family in FAMILIES {
            drop(fit_tool(family, &spec(schema.clone())));
        }
    }
}
