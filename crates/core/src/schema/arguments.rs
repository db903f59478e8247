//! Validated arguments of a call.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, value::RawValue};

use super::{CheckError, CompiledSchema, pool::WorkOwner};

/// Arguments that match the tool's schema. Only [`CompiledSchema`] creates them, so no source runs unvalidated
/// arguments.
#[derive(Debug)]
pub struct ValidArguments {
    raw: Box<RawValue>,
    value: Value,
    /// With placeholders in place of secrets, if they have any.
    shown: Option<Value>,
}

impl ValidArguments {
    /// Validates arguments; errors name the path, what was expected and what was received.
    pub async fn validate(
        schema: &Arc<CompiledSchema>,
        owner: &WorkOwner,
        limit: Duration,
        raw: &RawValue,
        value: Value,
    ) -> Result<Self, CheckError> {
        let value = schema.check_within(owner, limit, value).await?;
        Ok(Self { raw: raw.to_owned(), value, shown: None })
    }

    /// Adds the form in which they are shown and stored, if secrets were put in for placeholders.
    #[must_use]
    pub fn with_shown(mut self, shown: Option<&RawValue>) -> Self {
        self.shown = shown.and_then(|raw| serde_json::from_str(raw.get()).ok());
        self
    }

    /// As the caller sent them, with placeholders for secrets. None if they have no secrets: then the value can be shown.
    pub fn shown(&self) -> Option<&Value> {
        self.shown.as_ref()
    }

    /// As they are sent to the tool.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// As a parsed value.
    pub fn value(&self) -> &Value {
        &self.value
    }
}
