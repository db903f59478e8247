//! The prompts of the conformance suite, and completion of their arguments.

use serde_json::{Value, json};

use super::{
    conformance::PNG,
    message::{RpcFailure, UpstreamCall},
    questions,
    state::{OfferListKind, UpstreamShared},
};

/// The candidates for completion.
const WORDS: [&str; 4] = ["paris", "park", "party", "test"];

pub(super) fn prompt_definitions() -> Vec<Value> {
    let argument = |name: &str, about: &str| json!({ "name": name, "description": about, "required": true });
    vec![
        json!({ "name": "test_simple_prompt", "description": "A prompt without arguments." }),
        json!({
            "name": "test_prompt_with_arguments",
            "description": "A prompt with two arguments.",
            "arguments": [argument("arg1", "First test argument"), argument("arg2", "Second test argument")],
        }),
        json!({
            "name": "test_prompt_with_embedded_resource",
            "description": "A prompt that embeds a resource.",
            "arguments": [argument("resourceUri", "URI of the resource to embed")],
        }),
        json!({ "name": "test_prompt_with_image", "description": "A prompt with an image." }),
        json!({ "name": "test_input_required_result_prompt", "description": "A prompt that asks for its context." }),
    ]
}

fn user_message(content: Value) -> Value {
    json!({ "role": "user", "content": content })
}

fn text_message(text: impl Into<String>) -> Value {
    user_message(json!({ "type": "text", "text": text.into() }))
}

impl UpstreamShared {
    pub(super) async fn get_prompt(&self, call: &UpstreamCall) -> Result<Value, RpcFailure> {
        if self.script.lock().unwrap().lists.prompts.is_none() {
            return Err(RpcFailure::method_not_found(&call.method));
        }
        let Some(listed) = self.script.lock().unwrap().lists.find_item(OfferListKind::Prompts, call.target())
        else {
            return Err(RpcFailure::invalid_params(format!("Unknown prompt: {}", call.target())));
        };
        for argument in listed["arguments"].as_array().into_iter().flatten() {
            let name = argument["name"].as_str().unwrap_or_default();
            if argument["required"] == true && !call.argument(name).is_string() {
                return Err(RpcFailure::invalid_params(format!("the argument {name} is missing")));
            }
        }
        let given = |name: &str| call.argument(name).as_str().unwrap_or_default();
        let messages = match call.target() {
            "test_input_required_result_prompt" => return questions::ask_prompt_context(self, call).await,
            "test_simple_prompt" => vec![text_message("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => {
                let (first, second) = (given("arg1"), given("arg2"));
                vec![text_message(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
            }
            "test_prompt_with_embedded_resource" => {
                let resource = json!({
                    "uri": given("resourceUri"),
                    "mimeType": "text/plain",
                    "text": "Embedded resource content for testing.",
                });
                vec![
                    user_message(json!({ "type": "resource", "resource": resource })),
                    text_message("Please process the embedded resource above."),
                ]
            }
            "test_prompt_with_image" => vec![
                user_message(json!({ "type": "image", "data": PNG, "mimeType": "image/png" })),
                text_message("Please analyze the image above."),
            ],
            name => vec![text_message(format!("{name} {}", call.params["arguments"]))],
        };
        Ok(json!({ "description": listed["description"], "messages": messages }))
    }

    pub(super) fn complete_argument(&self, call: &UpstreamCall) -> Result<Value, RpcFailure> {
        let script = self.script.lock().unwrap();
        if script.lists.prompts.is_none() {
            return Err(RpcFailure::method_not_found(&call.method));
        }
        let reference = &call.params["ref"];
        let known = match reference["type"].as_str() {
            Some("ref/prompt") => {
                script.lists.prompts.iter().flatten().any(|item| item["name"] == reference["name"])
            }
            Some("ref/resource") => {
                let templates = script.lists.templates.iter().flatten();
                let mut resources = templates.chain(script.lists.resources.iter().flatten());
                resources
                    .any(|item| item["uriTemplate"] == reference["uri"] || item["uri"] == reference["uri"])
            }
            _ => false,
        };
        if !known {
            return Err(RpcFailure::invalid_params(format!("nothing is known of {reference}")));
        }
        let begun = call.params["argument"]["value"].as_str().unwrap_or_default();
        let values: Vec<_> = WORDS.iter().filter(|word| word.starts_with(begun)).collect();
        Ok(json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } }))
    }
}
