//! The result of a handler.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolyard_protocol::{call::GIVE_APP_CONTROL_OF_TOOL_RESPONSE, result::ResultExtensions};
use toolyard_typed_tool::result_schema;

/// The argument type of a tool that takes none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(description = "No arguments.")]
pub struct NoArguments {}

/// The result of a tool: text, structured content, or both, and hints for the assistant.
///
/// ```
/// use toolyard_app_sdk::ToolReply;
///
/// let reply = ToolReply::text("Milk is on your list.").follow_up("What else is on it?");
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolReply {
    pub(super) text: Option<String>,
    pub(super) structured: Option<Value>,
    pub(super) failure: Option<String>,
    pub(super) extensions: ResultExtensions,
}

impl ToolReply {
    /// A text, which the assistant shows or speaks. The legacy control string becomes [`silent`](Self::silent).
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        if text == GIVE_APP_CONTROL_OF_TOOL_RESPONSE {
            return Self::silent();
        }
        Self { text: Some(text), ..Self::default() }
    }

    /// Structured content.
    pub fn structured(content: impl Into<Value>) -> Self {
        Self { structured: Some(content.into()), ..Self::default() }
    }

    /// No content: the app shows or speaks the result itself.
    pub fn silent() -> Self {
        Self::default().suppress_voice_response()
    }

    /// The tool could not do it, and why, such as "there is no todo 7". Use it for expected failures. If something broke, return an
    /// error instead.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { failure: Some(message.into()), ..Self::default() }
    }

    /// Adds a text to structured content.
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// The app shows or speaks the result itself, so the assistant stays silent. It takes effect only while the app is connected
    /// for that user.
    pub fn suppress_voice_response(mut self) -> Self {
        self.extensions.suppress_voice_response = true;
        self
    }

    /// Adds a suggestion for what the user may want next.
    pub fn follow_up(mut self, suggestion: impl Into<String>) -> Self {
        self.extensions.suggested_follow_ups.push(suggestion.into());
        self
    }
}

impl From<String> for ToolReply {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for ToolReply {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<Value> for ToolReply {
    fn from(content: Value) -> Self {
        Self::structured(content)
    }
}

/// A result without content.
impl From<()> for ToolReply {
    fn from((): ()) -> Self {
        Self::default()
    }
}

/// A typed structured result. The schema of the type becomes the tool's `outputSchema`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// What a handler may return inside `Ok`: anything that is `Into<ToolReply>`, and [`Json`].
pub trait IntoToolReply {
    /// Converts into a reply. Fails if a value cannot be serialized to JSON.
    fn into_tool_reply(self) -> Result<ToolReply, serde_json::Error>;

    /// The schema of the structured content, if the type defines it.
    fn output_schema() -> Option<Value>;
}

impl<T: Into<ToolReply>> IntoToolReply for T {
    fn into_tool_reply(self) -> Result<ToolReply, serde_json::Error> {
        Ok(self.into())
    }

    fn output_schema() -> Option<Value> {
        None
    }
}

impl<T: Serialize + JsonSchema> IntoToolReply for Json<T> {
    fn into_tool_reply(self) -> Result<ToolReply, serde_json::Error> {
        serde_json::to_value(self.0).map(ToolReply::structured)
    }

    fn output_schema() -> Option<Value> {
        Some(result_schema::<T>())
    }
}
