//! The prompts of the conformance suite, and completion of their arguments.

use serde_json::{Value, json};

use super::{
    asks,
    conformance::PNG,
    message::{Call, Failure},
    state::{Inner, List},
};

/// What completion can offer.
const WORDS: [&str; 4] = ["paris", "park", "party", "test"];

pub(super) fn definitions() -> Vec<Value> {
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

fn message(content: Value) -> Value {
    json!({ "role": "user", "content": content })
}

fn words(text: impl Into<String>) -> Value {
    message(json!({ "type": "text", "text": text.into() }))
}

impl Inner {
    pub(super) async fn get_prompt(&self, call: &Call) -> Result<Value, Failure> {
        if self.script.lock().unwrap().lists.prompts.is_none() {
            return Err(Failure::no_method(&call.method));
        }
        let Some(listed) = self.script.lock().unwrap().lists.find(List::Prompts, call.target()) else {
            return Err(Failure::params(format!("Unknown prompt: {}", call.target())));
        };
        for argument in listed["arguments"].as_array().into_iter().flatten() {
            let name = argument["name"].as_str().unwrap_or_default();
            if argument["required"] == true && !call.argument(name).is_string() {
                return Err(Failure::params(format!("the argument {name} is missing")));
            }
        }
        let given = |name: &str| call.argument(name).as_str().unwrap_or_default();
        let messages = match call.target() {
            "test_input_required_result_prompt" => return asks::prompt(self, call).await,
            "test_simple_prompt" => vec![words("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => {
                let (first, second) = (given("arg1"), given("arg2"));
                vec![words(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
            }
            "test_prompt_with_embedded_resource" => {
                let resource = json!({
                    "uri": given("resourceUri"),
                    "mimeType": "text/plain",
                    "text": "Embedded resource content for testing.",
                });
                vec![
                    message(json!({ "type": "resource", "resource": resource })),
                    words("Please process the embedded resource above."),
                ]
            }
            "test_prompt_with_image" => vec![
                message(json!({ "type": "image", "data": PNG, "mimeType": "image/png" })),
                words("Please analyze the image above."),
            ],
            name => vec![words(format!("{name} {}", call.params["arguments"]))],
        };
        Ok(json!({ "description": listed["description"], "messages": messages }))
    }

    pub(super) fn complete(&self, call: &Call) -> Result<Value, Failure> {
        let script = self.script.lock().unwrap();
        if script.lists.prompts.is_none() {
            return Err(Failure::no_method(&call.method));
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
            return Err(Failure::params(format!("nothing is known of {reference}")));
        }
        let begun = call.params["argument"]["value"].as_str().unwrap_or_default();
        let values: Vec<_> = WORDS.iter().filter(|word| word.starts_with(begun)).collect();
        Ok(json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } }))
    }
}
