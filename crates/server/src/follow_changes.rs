//! How the doors follow changes: MCP clients and pages that listen are notified.

use async_trait::async_trait;
use toolyard_core::ports::{Change, ChangeSubscriber};

use crate::state::Shared;

#[async_trait]
impl ChangeSubscriber for Shared {
    fn invalidate(&self, change: &Change) {
        self.mcp.changes.hear(change);
        self.change_feed.publish(change);
    }
}
