//! Metadata: how clients find out what this server offers.

mod resource;
mod server;

pub use resource::{ProtectedResourceMetadata, resource_metadata_paths, resource_metadata_url};
pub use server::{AuthorizationServerMetadata, EndpointPaths, MetadataSettings, server_metadata_paths};
