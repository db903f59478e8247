//! Arguments of a call, checked.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, value::RawValue};

use super::{CheckError, CompiledSchema, pool::WorkOwner};

/// Arguments that fit the tool's schema. Only [`CompiledSchema`] makes them, so no source runs without the check.
#[derive(Debug)]
pub struct ValidArguments {
    raw: Box<RawValue>,
    value: Value,
}

impl ValidArguments {
    /// Checks arguments; the errors name the path, what was expected and what came.
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

    /// As the caller wrote them.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// As a value.
    pub fn value(&self) -> &Value {
        &self.value
    }
}
