//! The catalogue of signed plugins.

use sqlx::FromRow;
use toolyard_core::ports::{PublishedPlugin, StoreError};

use super::{parse_column, to_timestamp};

#[derive(FromRow)]
pub(crate) struct PublishedRow {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) publisher: Option<String>,
    pub(crate) hash: String,
    pub(crate) manifest: String,
    pub(crate) by: String,
    pub(crate) published_at: i64,
}

impl PublishedRow {
    pub(crate) fn into_plugin(self) -> Result<PublishedPlugin, StoreError> {
        Ok(PublishedPlugin {
            id: parse_column("id of a plugin", &self.id)?,
            version: self.version,
            name: self.name,
            description: self.description,
            publisher: self.publisher,
            hash: parse_column("hash of a plugin", &self.hash)?,
            manifest: self.manifest,
            by: self.by,
            at: to_timestamp(self.published_at),
        })
    }
}
