//! llama.cpp accepts our grammars, and its model follows them.

use serde_json::{Value, json};
use toolyard_agent::small::{
    Scorer,
    grammar::{any_object_grammar, arguments_grammar, copying_grammar},
};
use toolyard_core::schema::CompiledSchema;

fn schemas() -> Vec<Value> {
    let of = |schema: Value| json!({ "type": "object", "properties": { "x": schema }, "required": ["x"] });
    vec![
        json!({}),
        of(json!({ "type": "string", "maxLength": 12 })),
        of(json!({ "type": "string", "minLength": 900, "maxLength": 1_000 })),
        of(json!({ "type": "integer", "minimum": -17, "maximum": 12_345 })),
        of(json!({ "type": "number", "exclusiveMinimum": 0.25, "maximum": 9 })),
        of(json!({ "enum": ["é\\\"<|im_end|>", 1, null, { "a": [true] }, "\u{7f}\u{1}"] })),
        of(json!({ "type": "array", "items": { "type": "boolean" }, "minItems": 2, "maxItems": 3 })),
        of(
            json!({ "prefixItems": [{ "type": "null" }, { "type": "integer", "maximum": 9, "minimum": 0 }], "minItems": 2 }),
        ),
        of(json!({ "type": "string", "format": "date-time" })),
        of(
            json!({ "anyOf": [{ "type": "null" }, { "type": "object", "properties": { "y": { "const": 1 } } }] }),
        ),
        of(json!({ "type": "object", "additionalProperties": { "type": "boolean" }, "maxProperties": 2 })),
        json!({ "properties": { "a": { "type": "boolean" }, "b\"\n": { "type": "null" }, "next": { "$ref": "#" } } }),
    ]
}

pub(crate) async fn every_grammar_is_taken_and_kept_to(scorer: &dyn Scorer) {
    let prompt = "<|im_start|>user\nWrite JSON.<|im_end|>\n<|im_start|>assistant\n";
    for schema in schemas() {
        let compiled = CompiledSchema::compile(&schema, "schema").unwrap();
        // Copied strings are as long as the words, so they need not match the schema.
        let grammars = [
            (arguments_grammar(&schema), true),
            (copying_grammar(&schema, "say \"hello\\world\", please: ."), false),
        ];
        for (grammar, exact) in grammars {
            assert!(grammar.is_of_schema(), "{schema}");
            let written = scorer.complete(prompt, Some(grammar.gbnf()), 16).await.unwrap();
            // Truncated text is not valid. Then it is enough that the grammar was accepted.
            if written.whole {
                let value: Value = serde_json::from_str(&written.text).unwrap();
                assert!(!exact || compiled.list_errors(&value).is_empty(), "{} for {schema}", written.text);
            }
        }
    }
    let written = scorer.complete(prompt, Some(any_object_grammar().gbnf()), 24).await.unwrap();
    assert!(written.text.starts_with('{'), "{written:?}");
}

pub(crate) async fn a_likely_continuation_scores_higher(scorer: &dyn Scorer) {
    let scores =
        scorer.score("The capital of France is", &[" Paris".to_owned(), " banana".to_owned()]).await.unwrap();
    assert!(scores[0] > -2.0 && scores[1] < scores[0] - 5.0, "{scores:?}");
    // Only the first tokens of a long text count.
    let long = [("many words ".repeat(40)), ("many words ".repeat(50)), String::new()];
    let scores = scorer.score("Here are", &long).await.unwrap();
    assert!((scores[0] - scores[1]).abs() < 1e-3 && scores[0] < 0.0, "{scores:?}");
    assert_eq!(scores[2], 0.0);
    // A shared beginning does not change a score.
    let names =
        ["todo_list_add\"", "todo_list_add_all\"", "todo_list_remove\"", "reply\""].map(str::to_owned);
    let together = scorer.score("The tool is called \"", &names).await.unwrap();
    for (name, together) in names.into_iter().zip(together) {
        let alone = scorer.score("The tool is called \"", std::slice::from_ref(&name)).await.unwrap()[0];
        assert!((alone - together).abs() < 0.05, "{name}: {alone} {together}");
    }
}
