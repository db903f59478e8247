//! The result of a tool: a raw MCP `CallToolResult` plus our extensions, and its REST form.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    approval::PendingCall,
    error::WireError,
    raw::{RawFields, to_raw},
};

/// `mentraExtensions` of a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResultExtensions {
    /// The app presents the result itself; the assistant stays silent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub suppress_voice_response: bool,
    /// Suggestions for the user's next request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggested_follow_ups: Vec<String>,
}

impl ResultExtensions {
    /// Whether there are no extensions.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A raw MCP `CallToolResult`, checked to be an object with a content list.
#[derive(Debug, Clone)]
pub struct McpResult {
    raw: Box<RawValue>,
    /// Read once on creation: results may be large.
    is_error: bool,
}

/// The members of a result that this server reads.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultParts<'a> {
    /// The content blocks.
    #[serde(borrow, default)]
    pub content: Vec<&'a RawValue>,
    /// The structured content.
    #[serde(borrow, default)]
    pub structured_content: Option<&'a RawValue>,
    /// Whether the tool reported an error.
    #[serde(default)]
    pub is_error: bool,
}

#[derive(Deserialize, Serialize)]
struct TextContentBlock<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    text: std::borrow::Cow<'a, str>,
}

impl McpResult {
    /// A result with one text.
    pub fn from_text(text: &str) -> Self {
        Self::from_parts(Some(to_raw(&[TextContentBlock { r#type: "text", text: text.into() }])), None)
    }

    /// A result with structured content only. Doors that need a text block add one.
    pub fn from_structured(value: &RawValue) -> Self {
        Self::from_parts(None, Some(value.to_owned()))
    }

    /// A result with content blocks as received, and optional structured content.
    pub fn from_blocks(content: &RawValue, structured: Option<&RawValue>) -> Self {
        Self::from_parts(Some(content.to_owned()), structured.map(RawValue::to_owned))
    }

    /// Adds structured content.
    #[must_use]
    pub fn with_structured(self, structured: &RawValue) -> Self {
        match serde_json::from_str::<RawFields>(self.raw.get()) {
            Ok(mut fields) => {
                fields.set("structuredContent", structured.to_owned());
                Self { raw: fields.to_raw(), is_error: self.is_error }
            }
            Err(_) => self,
        }
    }

    /// A result without content.
    pub fn empty() -> Self {
        Self::from_parts(None, None)
    }

    /// A result from raw JSON, if it is valid.
    pub fn from_raw(raw: Box<RawValue>) -> Option<Self> {
        // Without this check, serde would read an array as the members in order.
        if !raw.get().starts_with('{') {
            return None;
        }
        let is_error = serde_json::from_str::<ResultParts<'_>>(raw.get()).ok()?.is_error;
        Some(Self { raw, is_error })
    }

    /// A result that reports an error.
    pub fn from_error_text(text: &str) -> Self {
        let mut fields: RawFields = serde_json::from_str(Self::from_text(text).raw.get()).unwrap_or_default();
        fields.set("isError", to_raw(&true));
        Self { raw: fields.to_raw(), is_error: true }
    }

    fn from_parts(content: Option<Box<RawValue>>, structured: Option<Box<RawValue>>) -> Self {
        let mut fields = RawFields::default();
        if let Some(structured) = structured {
            fields.set("structuredContent", structured);
        }
        fields.set("content", content.unwrap_or_else(|| to_raw::<[u8]>(&[])));
        Self { raw: fields.to_raw(), is_error: false }
    }

    /// The result as raw JSON.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// Whether the tool reported an error.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// The members that this server reads.
    pub fn parts(&self) -> ResultParts<'_> {
        // Checked on creation; anything else reads as an empty result.
        serde_json::from_str(self.raw.get()).unwrap_or(ResultParts {
            content: Vec::new(),
            structured_content: None,
            is_error: false,
        })
    }

    /// The text blocks, joined by line breaks.
    pub fn all_text(&self) -> String {
        let parts = self.parts();
        let texts = parts.content.iter().filter_map(|block| block_text(block));
        texts.map(|text| text.into_owned()).collect::<Vec<_>>().join("\n")
    }
}

fn block_text(block: &RawValue) -> Option<std::borrow::Cow<'_, str>> {
    let block: TextContentBlock<'_> = serde_json::from_str(block.get()).ok()?;
    (block.r#type == "text").then_some(block.text)
}

/// The result of a tool.
#[derive(Debug, Clone)]
pub struct ToolResult {
    /// The MCP result, raw.
    pub mcp: McpResult,
    /// Extensions for the assistant.
    pub extensions: ResultExtensions,
}

impl ToolResult {
    /// A result without extensions.
    pub fn from_mcp(mcp: McpResult) -> Self {
        Self { mcp, extensions: ResultExtensions::default() }
    }
}

/// Body of a REST response to a call.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestResult<'a> {
    /// Whether the tool ran and succeeded.
    pub success: bool,
    /// The string of a single text block, else the structured content, else the block list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub content: Option<RestContent<'a>>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<WireError>,
    /// Extensions for the assistant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mentra_extensions: Option<&'a ResultExtensions>,
    /// What the call waits for, with status 202. Make the same call again once the user has acted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<PendingCall>,
}

/// The three forms of content in a REST response.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum RestContent<'a> {
    /// The string of a single text block.
    Text(std::borrow::Cow<'a, str>),
    /// The structured content.
    Structured(&'a RawValue),
    /// The block list.
    Blocks(Vec<&'a RawValue>),
}

impl<'a> RestResult<'a> {
    /// A successful response.
    pub fn from_result(result: &'a ToolResult) -> Self {
        let parts = result.mcp.parts();
        let content = match (parts.content.as_slice(), parts.structured_content) {
            ([block], _) if block_text(block).is_some() => block_text(block).map(RestContent::Text),
            (_, Some(structured)) => Some(RestContent::Structured(structured)),
            ([], None) => None,
            (_, None) => Some(RestContent::Blocks(parts.content)),
        };
        let mentra_extensions = (!result.extensions.is_empty()).then_some(&result.extensions);
        Self { success: true, content, error: None, mentra_extensions, pending: None }
    }

    /// A failed response.
    pub fn from_error(error: WireError) -> Self {
        Self { success: false, content: None, error: Some(error), mentra_extensions: None, pending: None }
    }

    /// A call that waits.
    pub fn from_pending(pending: PendingCall) -> Self {
        Self { success: false, content: None, error: None, mentra_extensions: None, pending: Some(pending) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rest(mcp: McpResult) -> String {
        serde_json::to_string(&RestResult::from_result(&ToolResult::from_mcp(mcp))).unwrap()
    }

    #[test]
    fn the_three_forms_of_content() {
        assert_eq!(rest(McpResult::from_text("hi \"you\"")), r#"{"success":true,"content":"hi \"you\""}"#);
        let object = to_raw(&json!({ "n": 1 }));
        assert_eq!(rest(McpResult::from_structured(&object)), r#"{"success":true,"content":{"n":1}}"#);
        let blocks: Box<RawValue> =
            serde_json::from_str(r#"[{"type":"image","data":"AA==","mimeType":"image/png"}]"#).unwrap();
        assert_eq!(
            rest(McpResult::from_blocks(&blocks, None)),
            r#"{"success":true,"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}"#
        );
        assert_eq!(rest(McpResult::empty()), r#"{"success":true}"#);
    }

    #[test]
    fn one_text_beside_structured_content_is_the_text() {
        let (blocks, object) =
            (to_raw(&json!([{ "type": "text", "text": "one" }])), to_raw(&json!({ "n": 1 })));
        assert_eq!(
            rest(McpResult::from_blocks(&blocks, Some(&object))),
            r#"{"success":true,"content":"one"}"#
        );
    }

    #[test]
    fn a_foreign_result_stays_as_it_came() {
        let text = r#"{"content":[],"x":{"a" :1},"isError":true}"#;
        let result = McpResult::from_raw(serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(result.raw().get(), text);
        assert!(result.is_error());
        assert!(McpResult::from_error_text("no").parts().is_error);
        for array in ["[]", "[[]]", "[1]"] {
            assert!(McpResult::from_raw(serde_json::from_str(array).unwrap()).is_none(), "{array}");
        }
        assert!(McpResult::from_raw(serde_json::from_str(r#"{"content":5}"#).unwrap()).is_none());
    }

    #[test]
    fn extensions_contain_only_set_members() {
        let extensions = ResultExtensions { suppress_voice_response: true, suggested_follow_ups: vec![] };
        let result = ToolResult { mcp: McpResult::empty(), extensions };
        assert_eq!(
            serde_json::to_string(&RestResult::from_result(&result)).unwrap(),
            r#"{"success":true,"mentraExtensions":{"suppressVoiceResponse":true}}"#
        );
    }
}
