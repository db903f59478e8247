//! The prompts for a small model. For the choice it has a line for each tool, and a made-up request for each tool,
//! which shows how words become a call. The requests are made from the tools' descriptions, so every tool has one.
//!
//! The turns are written as ChatML, which most small models are trained on. Others read it as text.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::{
    message::{ModelMessage, UserPart},
    model::{ModelRequest, ToolSpec},
};

/// Most bytes of the user's message.
pub(super) const MAX_USER: usize = 600;
/// Most bytes of the user's message that are scored. Each token costs one step of the model per tool.
const MAX_WISH: usize = 160;
/// The description of the pseudo tool.
const TALKS: &str = "Talks with the user about anything else";
/// Most bytes of a tool's description.
const MAX_DESCRIPTION: usize = 160;
/// Most bytes of the system text in a reply prompt.
const MAX_SYSTEM: usize = 800;
/// Most messages of the conversation in a reply prompt.
const MAX_MESSAGES: usize = 6;
/// Most arguments in the example of a tool.
const MAX_SHOWN: usize = 4;

/// Names of the pseudo tool for a reply. The first that no tool has is used.
const REPLIES: [&str; 3] = ["reply", "chat", "talk_to_user"];
/// Two words each: after single words the model writes single words.
const SAMPLES: [&str; 4] = ["green apples", "north river", "old house", "blue moon"];
/// Examples of plain talk, between the requests for tools.
const TALK: [(&str, &str); 3] = [
    ("Hi!", "Hello! How can I help?"),
    ("What is a cat?", "A cat is a small animal."),
    ("Thanks!", "You are welcome."),
];

/// The prompt of one choice.
#[derive(Debug)]
pub(super) struct ChoicePrompt {
    tools: Vec<Arc<ToolSpec>>,
    reply: &'static str,
    /// Everything before the user's words. Equal for equal tools.
    before: String,
    user: String,
}

impl ChoicePrompt {
    pub(super) fn new(tools: &[Arc<ToolSpec>], user: &str) -> Self {
        let free = |name: &&str| !tools.iter().any(|tool| tool.name == **name);
        let reply = REPLIES.into_iter().find(free).unwrap_or("answer_in_words");
        let before = choice_prefix(tools, reply);
        Self { tools: tools.to_vec(), reply, before, user: clean_line(user, MAX_USER) }
    }

    pub(super) fn tools(&self) -> &[Arc<ToolSpec>] {
        &self.tools
    }

    pub(super) fn reply_name(&self) -> &'static str {
        self.reply
    }

    pub(super) fn user_text(&self) -> &str {
        &self.user
    }

    /// Identifies the set of tools in a prompt.
    pub(super) fn prefix(&self) -> &str {
        &self.before
    }

    /// The prompt up to the name of the tool, for these words.
    pub(super) fn choice_prompt(&self, words: &str) -> String {
        format!("{}{}<|im_start|>assistant\n<tool>{{\"name\":\"", self.before, chatml_turn("user", words))
    }

    /// The prompt up to the words of a user who wants what this tool does. After the last tool comes the pseudo tool.
    pub(super) fn wish_prompt(&self, at: usize) -> String {
        let what = self.tools.get(at).map_or_else(|| TALKS.to_owned(), |tool| first_sentence(tool));
        format!("{}<|im_start|>user\n", chatml_turn("system", &format!("The user wants: {what}.")))
    }

    /// The words that are scored after the wish prompt.
    pub(super) fn wish_words(&self) -> String {
        self.user[..self.user.floor_char_boundary(MAX_WISH)].to_owned()
    }

    /// The prompt up to the arguments of this tool, for the user's words.
    pub(super) fn arguments_prompt(&self, name: &str) -> String {
        format!("{}{name}\",\"arguments\":", self.choice_prompt(&self.user))
    }
}

fn chatml_turn(role: &str, text: &str) -> String {
    format!("<|im_start|>{role}\n{text}<|im_end|>\n")
}

fn choice_prefix(tools: &[Arc<ToolSpec>], reply: &str) -> String {
    let mut system = "You answer with one tool.\nTools:\n".to_owned();
    for tool in tools {
        let names: Vec<_> =
            example_arguments(&tool.schema).into_iter().map(|(name, _)| clean_line(name, 64)).collect();
        system.push_str(&format!("{}({}): {}.\n", tool.name, names.join(", "), first_sentence(tool)));
    }
    system.push_str(&format!("{reply}(text): {TALKS}."));
    let mut prompt = chatml_turn("system", &system);
    let last = tools.len().saturating_sub(1);
    let mut talk = TALK.iter();
    for (at, tool) in tools.iter().enumerate() {
        prompt.push_str(&tool_example(tool));
        // Spread, so that the last example is not always the same tool.
        for _ in [0, tools.len() / 2, last].iter().filter(|place| **place == at) {
            if let Some((words, answer)) = talk.next() {
                let answer = json!({ "text": answer });
                prompt.push_str(&chatml_turn("user", words));
                prompt.push_str(&chatml_turn("assistant", &call_text(reply, &answer)));
            }
        }
    }
    prompt
}

/// A made-up request for this tool, and its call.
fn tool_example(tool: &ToolSpec) -> String {
    let samples = example_arguments(&tool.schema).into_iter().zip(SAMPLES.iter().cycle());
    let arguments: Map<_, _> = samples
        .filter_map(|((name, schema), sample)| Some((clean_line(name, 64), example_value(schema, sample)?)))
        .collect();
    let words: Vec<_> = arguments
        .values()
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        .collect();
    let request = if words.is_empty() {
        first_sentence(tool)
    } else {
        format!("{}: {}", first_sentence(tool), words.join(", "))
    };
    chatml_turn("user", &request)
        + &chatml_turn("assistant", &call_text(&tool.name, &Value::Object(arguments)))
}

fn call_text(name: &str, arguments: &Value) -> String {
    format!("<tool>{{\"name\":\"{name}\",\"arguments\":{arguments}}}</tool>")
}

/// The arguments for an example: the required ones, else the first.
fn example_arguments(schema: &Value) -> Vec<(&str, &Value)> {
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<_> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = || properties.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema));
    let needed: Vec<_> = required
        .iter()
        .filter_map(|name| properties().find(|(known, _)| known == name))
        .take(MAX_SHOWN)
        .collect();
    if needed.is_empty() { properties().take(1).collect() } else { needed }
}

fn example_value(schema: &Value, sample: &str) -> Option<Value> {
    if let Some(first) = schema.get("enum").and_then(|choices| choices.get(0)).or_else(|| schema.get("const"))
    {
        return (first.to_string().len() <= 64)
            .then(|| first.as_str().map_or_else(|| first.clone(), |text| json!(clean_line(text, 64))));
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => Some(json!(5)),
        Some("boolean") => Some(json!(true)),
        Some("string") | None => Some(json!(sample)),
        Some(_) => None,
    }
}

/// The first sentence of a tool's description, without the full stop.
fn first_sentence(tool: &ToolSpec) -> String {
    let text = clean_line(&tool.description, MAX_DESCRIPTION);
    let end = text.find(". ").unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
}

/// Text on one line, truncated, without turn markers.
fn clean_line(text: &str, most: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    without_markers(&text[..text.floor_char_boundary(most)])
}

/// Text without turn markers.
pub(super) fn without_markers(text: &str) -> String {
    text.replace("<|", "< |").replace("|>", "| >")
}

/// The user's last message.
pub(super) fn last_words(messages: &[ModelMessage]) -> &str {
    let of_user = messages.iter().rev().find_map(|message| match message {
        ModelMessage::User(parts) => Some(parts),
        ModelMessage::Assistant(_) | ModelMessage::Tools(_) => None,
    });
    let mut texts = of_user.into_iter().flatten().filter_map(|part| match part {
        UserPart::Text(text) => Some(text.as_str()),
        UserPart::File { .. } => None,
    });
    texts.next_back().unwrap_or_default()
}

/// The conversation, for a reply.
pub(super) fn reply_prompt(request: &ModelRequest) -> String {
    let system = request.system.as_deref().unwrap_or("You are a helpful assistant.");
    let mut prompt =
        chatml_turn("system", &format!("{} Answer in one or two sentences.", clean_line(system, MAX_SYSTEM)));
    let skipped = request.messages.len().saturating_sub(MAX_MESSAGES);
    for message in &request.messages[skipped..] {
        match message {
            ModelMessage::User(_) => {
                let words = last_words(std::slice::from_ref(message));
                prompt.push_str(&chatml_turn("user", &clean_line(words, MAX_USER)));
            }
            ModelMessage::Assistant(reply) if !reply.text.is_empty() => {
                prompt.push_str(&chatml_turn("assistant", &clean_line(&reply.text, MAX_USER)));
            }
            ModelMessage::Tools(answers) => {
                let texts: Vec<_> = answers.iter().map(|answer| answer.text.as_str()).collect();
                prompt.push_str(&chatml_turn("assistant", &clean_line(&texts.join(" "), MAX_USER)));
            }
            ModelMessage::Assistant(_) => {}
        }
    }
    prompt + "<|im_start|>assistant\n"
}
