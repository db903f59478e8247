//! Sampling, reasoning and output format, as OpenAI clients request them. Parsed here, applied by models.

use std::sync::Arc;

use serde_json::Value;

use crate::problem::Problem;

/// Maximum number of stop sequences, as OpenAI has it.
pub const MAX_STOPS: usize = 4;
/// Maximum length of a stop sequence, in characters.
pub const MAX_STOP_CHARS: usize = 200;
/// Longest name of a format.
pub const MAX_FORMAT_NAME: usize = 64;

/// Sampling and output format. The model decides everything that is missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SamplingParams {
    /// Only the most likely tokens with this cumulative probability, 0 to 1.
    pub top_p: Option<f64>,
    /// Stop sequences.
    pub stop: Vec<String>,
    /// The same seed requests the same response.
    pub seed: Option<i64>,
    /// Penalty on repeated tokens, -2 to 2.
    pub frequency_penalty: Option<f64>,
    /// Penalty on repeated topics, -2 to 2.
    pub presence_penalty: Option<f64>,
    /// How much the model reasons.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The output format.
    pub format: ResponseFormat,
    /// Whether several tools may be called at once.
    pub parallel_calls: Option<bool>,
}

/// The output format of a response.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ResponseFormat {
    /// Any text.
    #[default]
    Text,
    /// A JSON object.
    JsonObject,
    /// JSON that matches a schema.
    JsonSchema(Arc<JsonFormat>),
}

/// A format defined by a JSON Schema.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonFormat {
    /// 1 to 64 letters, digits, `_` and `-`.
    pub name: String,
    /// For the model.
    pub description: Option<String>,
    /// The schema.
    pub schema: Value,
    /// Whether the vendor must enforce the schema.
    pub strict: Option<bool>,
}

/// How much a model reasons before it responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are OpenAI's and say it")]
pub enum ReasoningEffort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
}

impl ReasoningEffort {
    const ALL: [Self; 6] = [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh];

    /// OpenAI's name for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
        }
    }
}

/// A part of [`SamplingParams`] that not every model supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the fields")]
pub enum SamplingOption {
    TopP,
    Stop,
    Seed,
    FrequencyPenalty,
    PresencePenalty,
    ReasoningEffort,
    JsonObject,
    JsonSchema,
}

impl SamplingOption {
    /// The parameter of the Chat Completions API that requests it.
    pub const fn param_name(self) -> &'static str {
        match self {
            Self::TopP => "top_p",
            Self::Stop => "stop",
            Self::Seed => "seed",
            Self::FrequencyPenalty => "frequency_penalty",
            Self::PresencePenalty => "presence_penalty",
            Self::ReasoningEffort => "reasoning_effort",
            Self::JsonObject | Self::JsonSchema => "response_format",
        }
    }
}

impl SamplingParams {
    /// The options that a model must support.
    pub fn required_options(&self) -> impl Iterator<Item = SamplingOption> {
        let format = match self.format {
            ResponseFormat::Text => None,
            ResponseFormat::JsonObject => Some(SamplingOption::JsonObject),
            ResponseFormat::JsonSchema(_) => Some(SamplingOption::JsonSchema),
        };
        // A penalty of 0 is none.
        let penalty = |value: Option<f64>| value.is_some_and(|value| value != 0.0);
        [
            self.top_p.map(|_| SamplingOption::TopP),
            (!self.stop.is_empty()).then_some(SamplingOption::Stop),
            self.seed.map(|_| SamplingOption::Seed),
            penalty(self.frequency_penalty).then_some(SamplingOption::FrequencyPenalty),
            penalty(self.presence_penalty).then_some(SamplingOption::PresencePenalty),
            self.reasoning_effort.map(|_| SamplingOption::ReasoningEffort),
            format,
        ]
        .into_iter()
        .flatten()
    }
}

/// A number within bounds; `None` if missing.
pub(super) fn parse_number(
    value: Option<&Value>,
    path: &str,
    least: f64,
    most: f64,
) -> Result<Option<f64>, Problem> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_f64().filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(Problem::new(path, format!("expected a number from {least} to {most}"))),
        },
    }
}

/// A string, or up to four of them.
pub(super) fn parse_stops(value: Option<&Value>, path: &str) -> Result<Vec<String>, Problem> {
    let expected = || {
        let text =
            format!("expected a text or up to {MAX_STOPS} of them, each of 1 to {MAX_STOP_CHARS} characters");
        Problem::new(path, text)
    };
    let texts = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(list)) => {
            let texts: Option<Vec<String>> =
                list.iter().map(|text| text.as_str().map(str::to_owned)).collect();
            texts.ok_or_else(expected)?
        }
        Some(_) => return Err(expected()),
    };
    let fits = |text: &String| !text.is_empty() && text.chars().count() <= MAX_STOP_CHARS;
    if texts.len() <= MAX_STOPS && texts.iter().all(fits) { Ok(texts) } else { Err(expected()) }
}

/// An integer.
pub(super) fn parse_seed(value: Option<&Value>, path: &str) -> Result<Option<i64>, Problem> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_i64() {
            Some(seed) => Ok(Some(seed)),
            None => Err(Problem::new(path, "expected a whole number")),
        },
    }
}

/// One of OpenAI's effort levels.
pub(super) fn parse_effort(value: Option<&Value>, path: &str) -> Result<Option<ReasoningEffort>, Problem> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let found = ReasoningEffort::ALL.into_iter().find(|effort| value == effort.as_str());
            let words = ReasoningEffort::ALL.map(ReasoningEffort::as_str).join(", ");
            found.map(Some).ok_or_else(|| Problem::new(path, format!("expected one of {words}")))
        }
    }
}

/// `{type}` and, for a schema, its description: next to the type, or in the member named by `inside`.
pub(super) fn parse_format(
    value: Option<&Value>,
    path: &str,
    inside: Option<&str>,
) -> Result<ResponseFormat, Problem> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(ResponseFormat::Text) };
    match value["type"].as_str() {
        Some("text") => Ok(ResponseFormat::Text),
        Some("json_object") => Ok(ResponseFormat::JsonObject),
        Some("json_schema") => match inside {
            Some(member) => parse_json_format(&value[member], &format!("{path}.{member}")),
            None => parse_json_format(value, path),
        },
        _ => Err(Problem::new(format!("{path}.type"), "expected text, json_object or json_schema")),
    }
}

fn parse_json_format(value: &Value, path: &str) -> Result<ResponseFormat, Problem> {
    let name = value["name"].as_str().unwrap_or_default();
    let fits = (1..=MAX_FORMAT_NAME).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if !fits {
        let text = format!("expected 1 to {MAX_FORMAT_NAME} letters, digits, _ or -");
        return Err(Problem::new(format!("{path}.name"), text));
    }
    if !value["schema"].is_object() {
        return Err(Problem::new(format!("{path}.schema"), "expected a JSON Schema"));
    }
    Ok(ResponseFormat::JsonSchema(Arc::new(JsonFormat {
        name: name.to_owned(),
        description: value["description"].as_str().map(str::to_owned),
        schema: value["schema"].clone(),
        strict: value["strict"].as_bool(),
    })))
}
