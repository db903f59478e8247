//! Checks the tables of `docs/chat.md` on OpenAI's parameters: honoured, ignored or rejected.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolyard_testkit::model::ScriptedReply;

use super::{weather, with, with_model};

/// What the documentation says of each parameter of a table.
fn documented(heading: &str) -> BTreeMap<String, String> {
    let docs = include_str!("../../../../../docs/chat.md");
    let table = docs.split(&format!("| {heading} | | |\n")).nth(1).expect("the table");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let mut cells = row.split('|').map(str::trim).skip(1);
        let name = cells.next().unwrap().trim_matches('`').to_owned();
        (name, cells.next().unwrap().to_owned())
    })
    .collect()
}

/// A value of each parameter that is not its default, and where the model finds it if it is passed on.
type Samples = Vec<(&'static str, Value, Option<(&'static str, Value)>)>;

fn completions() -> Samples {
    let function = json!({ "type": "function", "function": weather() });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": { "type": "object" }, "strict": true } });
    let same = |name: &'static str, value: Value| (name, value.clone(), Some((name, value)));
    vec![
        ("messages", json!([{ "role": "user", "content": "other" }]), None),
        ("model", json!("local/other"), Some(("/model", json!("other")))),
        ("tools", json!([function]), Some(("/tools/0/function/name", json!("weather")))),
        ("tool_choice", json!("none"), Some(("/tool_choice", json!("none")))),
        same("parallel_tool_calls", json!(false)),
        ("stream", json!(true), None),
        ("stream_options", json!({ "include_usage": true }), None),
        ("max_completion_tokens", json!(9), Some(("/max_tokens", json!(9)))),
        same("max_tokens", json!(9)),
        same("temperature", json!(0.5)),
        same("top_p", json!(0.5)),
        ("stop", json!("END"), Some(("/stop", json!(["END"])))),
        same("seed", json!(7)),
        same("frequency_penalty", json!(1.0)),
        same("presence_penalty", json!(1.0)),
        same("reasoning_effort", json!("low")),
        same("response_format", format),
        ("metadata", json!({ "a": "b" }), None),
        ("store", json!(true), None),
        ("user", json!("u"), None),
        ("safety_identifier", json!("u"), None),
        ("prompt_cache_key", json!("k"), None),
        ("prompt_cache_retention", json!("24h"), None),
        ("service_tier", json!("flex"), None),
        ("prediction", json!({ "type": "content", "content": "x" }), None),
        ("n", json!(2), None),
        ("logprobs", json!(true), None),
        ("top_logprobs", json!(3), None),
        ("logit_bias", json!({ "50256": -100 }), None),
        ("modalities", json!(["text", "audio"]), None),
        ("audio", json!({ "voice": "alloy", "format": "wav" }), None),
        ("verbosity", json!("high"), None),
        ("web_search_options", json!({}), None),
        ("functions", json!([{ "name": "f" }]), None),
        ("function_call", json!("auto"), None),
    ]
}

fn responses() -> Samples {
    let function = with(weather(), json!({ "type": "function" }));
    let format = json!({ "format": { "type": "json_schema", "name": "x", "schema": { "type": "object" } } });
    vec![
        (
            "input",
            json!([{ "role": "user", "content": "other" }]),
            Some(("/messages/1/content", json!("other"))),
        ),
        ("instructions", json!("Be brief."), None),
        ("model", json!("local/other"), Some(("/model", json!("other")))),
        ("tools", json!([function]), Some(("/tools/0/function/name", json!("weather")))),
        ("tool_choice", json!("none"), Some(("/tool_choice", json!("none")))),
        ("parallel_tool_calls", json!(false), Some(("/parallel_tool_calls", json!(false)))),
        ("stream", json!(true), None),
        ("max_output_tokens", json!(9), Some(("/max_tokens", json!(9)))),
        ("temperature", json!(0.5), Some(("/temperature", json!(0.5)))),
        ("top_p", json!(0.5), Some(("/top_p", json!(0.5)))),
        ("text", format, Some(("/response_format/json_schema/name", json!("x")))),
        (
            "reasoning",
            json!({ "effort": "low", "summary": "auto" }),
            Some(("/reasoning_effort", json!("low"))),
        ),
        ("metadata", json!({ "a": "b" }), None),
        ("include", json!(["reasoning.encrypted_content"]), None),
        ("store", json!(true), None),
        ("truncation", json!("auto"), None),
        ("stream_options", json!({ "include_obfuscation": false }), None),
        ("user", json!("u"), None),
        ("safety_identifier", json!("u"), None),
        ("prompt_cache_key", json!("k"), None),
        ("prompt_cache_retention", json!("24h"), None),
        ("service_tier", json!("flex"), None),
        ("previous_response_id", json!("resp_1"), None),
        ("conversation", json!("conv_1"), None),
        ("background", json!(true), None),
        ("prompt", json!({ "id": "pmpt_1" }), None),
        ("max_tool_calls", json!(3), None),
        ("context_management", json!([{ "type": "compaction" }]), None),
        ("top_logprobs", json!(3), None),
    ]
}

async fn holds(path: &str, heading: &str, plain: Value, samples: Samples) {
    let mut table = documented(heading);
    let (p, model) = with_model(|config| config.chat.turns_per_minute = 1_000).await;
    model.set_default_reply(ScriptedReply::text("{}"));
    // Some parameters have an effect only with tools.
    let tools = samples.iter().find(|(name, ..)| *name == "tools").unwrap().1.clone();
    for (name, value, passed_on) in samples {
        let treatment = table.remove(name).unwrap_or_else(|| panic!("{name} is not documented"));
        let body = with(with(plain.clone(), json!({ "tools": tools })), json!({ name: value }));
        let answer = p.user("ada").post(path, &body).await;
        match treatment.as_str() {
            "honoured" | "ignored" => {
                answer.expect(200);
                let asked = model.requests().pop().unwrap().body;
                if let Some((place, expected)) = passed_on {
                    let place = if place.starts_with('/') { place.to_owned() } else { format!("/{place}") };
                    assert_eq!(asked.pointer(&place), Some(&expected), "{name}");
                }
            }
            "rejected" => {
                let error = answer.expect(400).json()["error"].clone();
                assert_eq!(
                    (&error["param"], &error["type"]),
                    (&json!(name), &json!("invalid_request_error"))
                );
                assert!(error["message"].as_str().unwrap().contains(name), "{error}");
            }
            other => panic!("{name}: {other}"),
        }
    }
    assert!(table.is_empty(), "documented and not tested: {table:?}");
}

#[tokio::test]
async fn parameters_of_chat_completions_match_the_documentation() {
    let plain = json!({ "messages": [{ "role": "user", "content": "hi" }] });
    holds("/v1/chat/completions", "parameter of chat completions", plain, completions()).await;
}

#[tokio::test]
async fn parameters_of_responses_match_the_documentation() {
    holds("/v1/responses", "parameter of responses", json!({ "input": "hi" }), responses()).await;
}

#[tokio::test]
async fn what_the_model_cannot_do_is_refused_by_name() {
    use toolyard_server::config::CallingMode;
    let (p, model) = with_model(|config| {
        config.models.get_mut("local").unwrap().calling = Some(CallingMode::Prompted);
    })
    .await;
    model.set_default_reply(ScriptedReply::text("ok"));
    let plain = json!({ "messages": [{ "role": "user", "content": "hi" }] });
    let format = json!({ "type": "json_object" });
    let refused = with(plain.clone(), json!({ "response_format": format }));
    let error =
        p.user("ada").post("/v1/chat/completions", &refused).await.expect(400).json()["error"].clone();
    assert_eq!(error["param"], "response_format", "{error}");
    let body = json!({ "input": "hi", "text": { "format": format } });
    let error = p.user("ada").post("/v1/responses", &body).await.expect(400).json()["error"].clone();
    assert_eq!(error["param"], "text.format", "{error}");
    assert!(model.requests().is_empty());
    p.user("ada").post("/v1/chat/completions", &with(plain, json!({ "top_p": 0.5 }))).await.expect(200);
    assert_eq!(model.requests()[0].body["top_p"], 0.5);
}
