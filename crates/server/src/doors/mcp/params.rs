//! The params of a request. Only the members that we need are parsed; the rest stays raw.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_protocol::{
    mcp::{RpcError, meta},
    raw::RawFields,
};

/// The params of a request.
#[derive(Debug, Default)]
pub(super) struct RpcParams {
    fields: RawFields,
    meta: Option<RawFields>,
}

impl RpcParams {
    pub(super) fn from_raw(raw: Option<&RawValue>) -> Result<Self, RpcError> {
        let Some(raw) = raw else { return Ok(Self::default()) };
        let fields: RawFields = serde_json::from_str(raw.get())
            .map_err(|_| RpcError::invalid_params("params: expected an object"))?;
        let meta = match fields.parse_field::<RawFields>("_meta") {
            Some(Ok(meta)) => Some(meta),
            Some(Err(_)) => return Err(RpcError::invalid_params("params._meta: expected an object")),
            None => None,
        };
        Ok(Self { fields, meta })
    }

    pub(super) fn raw(&self, name: &str) -> Option<&RawValue> {
        self.fields.get(name)
    }

    /// A required member.
    pub(super) fn required<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Result<T, RpcError> {
        self.get(name)?.ok_or_else(|| RpcError::invalid_params(format!("params.{name}: missing")))
    }

    /// An optional member.
    pub(super) fn get<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Result<Option<T>, RpcError> {
        match self.fields.parse_field(name) {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(error)) => Err(RpcError::invalid_params(format!("params.{name}: {error}"))),
        }
    }

    pub(super) fn meta_raw(&self, name: &str) -> Option<&RawValue> {
        self.meta.as_ref()?.get(name)
    }

    pub(super) fn meta_text(&self, name: &str) -> Option<String> {
        self.meta.as_ref()?.parse_field(name)?.ok()
    }

    pub(super) fn meta_fields(&self, name: &str) -> Option<RawFields> {
        self.meta.as_ref()?.parse_field(name)?.ok()
    }

    /// The client's progress token: a string or a number.
    pub(super) fn progress_token(&self) -> Option<Arc<RawValue>> {
        let token = self.meta_raw(meta::PROGRESS_TOKEN)?;
        let fits = token.get().starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit());
        (fits && token.get().len() <= 256).then(|| token.to_owned().into())
    }

    /// The params for a source: with the source's own name, and without what concerns only this server.
    pub(super) fn to_source_params(&self, member: &str, value: &RawValue) -> Box<RawValue> {
        let mut fields = RawFields::default();
        let names: Vec<&str> = self.fields.names().collect();
        for name in names.into_iter().rev() {
            if !matches!(name, "_meta" | "inputResponses" | "requestState")
                && let Some(raw) = self.fields.get(name)
            {
                fields.set(name, raw.to_owned());
            }
        }
        fields.set(member, value.to_owned());
        fields.to_raw()
    }
}
