//! Metadata: how clients find out what this server offers.

mod server;

pub use server::{AuthorizationServerMetadata, EndpointPaths, MetadataSettings, server_metadata_paths};
