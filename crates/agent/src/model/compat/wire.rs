//! A chunk of a response, or a whole response. Lenient: a value of the wrong type is ignored.

use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};

#[derive(Debug, Deserialize)]
pub(super) struct CompatChunk {
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) choices: Option<Vec<CompatChoice>>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) usage: Option<UsageWire>,
    pub(super) error: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CompatChoice {
    /// The next part. In a response that is not streamed it is called `message`.
    #[serde(default, alias = "message", deserialize_with = "deserialize_lenient")]
    pub(super) delta: Option<CompatDelta>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct CompatDelta {
    /// A text, or a list of typed parts.
    pub(super) content: Option<Value>,
    /// The text of a refusal.
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) refusal: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) reasoning: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) reasoning_details: Option<Vec<Value>>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CallPiece {
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) index: Option<u64>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) function: Option<FunctionPiece>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionPiece {
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) name: Option<String>,
    /// JSON text in a string. Some servers send the JSON itself.
    pub(super) arguments: Option<Box<RawValue>>,
}

impl FunctionPiece {
    /// The arguments' text, as the model wrote it.
    pub(super) fn arguments_text(&self) -> String {
        let Some(raw) = &self.arguments else { return String::new() };
        match raw.get() {
            "null" => String::new(),
            text if text.starts_with('"') => serde_json::from_str(text).unwrap_or_default(),
            text => text.to_owned(),
        }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct UsageWire {
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) completion_tokens: Option<u64>,
}

/// None if the value has the wrong type. Goes through the raw text, so that raw arguments keep theirs.
fn deserialize_lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let raw = Option::<Box<RawValue>>::deserialize(deserializer)?;
    Ok(raw.and_then(|raw| serde_json::from_str(raw.get()).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(chunk: &str) -> FunctionPiece {
        let chunk: CompatChunk = serde_json::from_str(chunk).unwrap();
        let delta = chunk.choices.unwrap().remove(0).delta.unwrap();
        delta.tool_calls.unwrap().remove(0).function.unwrap()
    }

    #[test]
    fn arguments_keep_their_text_in_a_string_or_as_json() {
        let piece = |arguments: &str| {
            format!(
                r#"{{"choices":[{{"delta":{{"tool_calls":[{{"function":{{"arguments":{arguments}}}}}]}}}}]}}"#
            )
        };
        assert_eq!(function(&piece(r#""{\"n\":1.50""#)).arguments_text(), r#"{"n":1.50"#);
        assert_eq!(
            function(&piece(r#"{"n":1.50e3, "m":12345678901234567890123}"#)).arguments_text(),
            r#"{"n":1.50e3, "m":12345678901234567890123}"#
        );
        assert_eq!(function(&piece("null")).arguments_text(), "");
    }

    #[test]
    fn odd_chunks_are_read_as_far_as_they_go() {
        for chunk in [
            r#"{}"#,
            r#"{"choices":null,"usage":null}"#,
            r#"{"choices":[{"delta":null,"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{"content":null,"tool_calls":null}}],"usage":"none"}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":"0","id":7}]}}]}"#,
            r#"{"choices":"none"}"#,
        ] {
            serde_json::from_str::<CompatChunk>(chunk).unwrap_or_else(|error| panic!("{chunk}: {error}"));
        }
        let whole: CompatChunk =
            serde_json::from_str(r#"{"choices":[{"message":{"content":"hi"}}]}"#).unwrap();
        assert_eq!(whole.choices.unwrap()[0].delta.as_ref().unwrap().content, Some("hi".into()));
    }
}
