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
        Ok(Self { raw: raw.to_owned(), value })
    }

    /// As the caller sent them.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// As a parsed value.
    pub fn value(&self) -> &Value {
        &self.value
    }
}
