//! The params of a request, read where we need to look, and raw elsewhere.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_protocol::{
    mcp::{RpcError, meta},
    raw::RawFields,
};

/// The params of a request.
#[derive(Debug, Default)]
pub(super) struct Params {
    fields: RawFields,
    meta: Option<RawFields>,
}

impl Params {
    pub(super) fn read(raw: Option<&RawValue>) -> Result<Self, RpcError> {
        let Some(raw) = raw else { return Ok(Self::default()) };
        let fields: RawFields =
            serde_json::from_str(raw.get()).map_err(|_| RpcError::params("params: expected an object"))?;
        let meta = match fields.read::<RawFields>("_meta") {
            Some(Ok(meta)) => Some(meta),
            Some(Err(_)) => return Err(RpcError::params("params._meta: expected an object")),
            None => None,
        };
        Ok(Self { fields, meta })
    }

    pub(super) fn raw(&self, name: &str) -> Option<&RawValue> {
        self.fields.get(name)
    }

    /// A member that must be there.
    pub(super) fn need<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Result<T, RpcError> {
        self.get(name)?.ok_or_else(|| RpcError::params(format!("params.{name}: missing")))
    }

    /// A member that may be there.
    pub(super) fn get<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Result<Option<T>, RpcError> {
        match self.fields.read(name) {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(error)) => Err(RpcError::params(format!("params.{name}: {error}"))),
        }
    }

    pub(super) fn meta_raw(&self, name: &str) -> Option<&RawValue> {
        self.meta.as_ref()?.get(name)
    }

    pub(super) fn meta_text(&self, name: &str) -> Option<String> {
        self.meta.as_ref()?.read(name)?.ok()
    }

    pub(super) fn meta_fields(&self, name: &str) -> Option<RawFields> {
        self.meta.as_ref()?.read(name)?.ok()
    }

    /// Under which token the client wants progress: a text or a number.
    pub(super) fn progress_token(&self) -> Option<Arc<RawValue>> {
        let token = self.meta_raw(meta::PROGRESS_TOKEN)?;
        let fits = token.get().starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit());
        (fits && token.get().len() <= 256).then(|| token.to_owned().into())
    }

    /// The params for a source: another name, and nothing of what is between the client and us.
    pub(super) fn passed(&self, member: &str, value: &RawValue) -> Box<RawValue> {
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
