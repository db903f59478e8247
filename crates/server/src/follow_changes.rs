//! Notifies subscribed MCP clients and web pages about changes.

use async_trait::async_trait;
use toolyard_core::ports::{Change, ChangeSubscriber};

use crate::state::SharedState;

#[async_trait]
impl ChangeSubscriber for SharedState {
    fn invalidate(&self, change: &Change) {
        self.mcp.changes.on_change(change);
        self.change_feed.publish(change);
    }
}
