//! The MCP door: one MCP server for each user, with exactly the tools of that user's view.
//!
//! Both eras on one endpoint, chosen by how the request looks. The wire is our own and thin: ids, params and results pass
//! through raw, lists are prepared pages.
//!
//! | look for | in |
//! | --- | --- |
//! | POST, GET and DELETE `/mcp` | [`http`] |
//! | what a modern request has to carry, and its headers | [`modern`] |
//! | handshakes and their signed session ids | [`session`] |
//! | from a method to its answer | [`answer`] |
//! | `tools/call`, prompts, resources | [`call`], [`items`] |
//! | who we are and what we can do | [`about`] |
//! | "the list changed" | [`changes`], [`listen`] |
//! | questions of tools to the client | [`questions`], [`awaited`] |
//! | sockets and stdio: one client over one line | [`peer`], [`socket`] |
//! | where a client learns how to get in | [`metadata`] |

mod about;
mod call;
pub(crate) mod changes;
mod client;
mod dispatch;
mod http;
mod items;
mod legacy;
mod listen;
mod metadata;
mod modern;
mod params;
pub(crate) mod peer;
pub(crate) mod questions;
mod reply;
mod request_state;
mod session;
mod socket;
mod sse;

use ::http::Method;

pub(crate) use self::session::McpSessions;
use crate::{
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// What the door keeps beside its streams. All of it is bounded, and all of it may be lost.
pub(crate) struct McpDoor {
    /// Who wants to be told of changes.
    pub(crate) changes: changes::ChangeNotifier,
    /// Questions to clients that are not answered yet.
    pub(crate) questions: questions::QuestionRegistry,
    /// Sessions that ended, what they subscribed to, calls under way in them.
    pub(crate) sessions: McpSessions,
}

impl McpDoor {
    pub(crate) fn new(
        secrets: &dyn toolyard_core::ports::SecretSealer,
        config: &crate::config::McpConfig,
    ) -> Self {
        Self {
            changes: changes::ChangeNotifier::new(config.streams_per_user),
            questions: questions::QuestionRegistry::default(),
            sessions: McpSessions::new(secrets, config.session_days),
        }
    }

    /// Forgets what is over. Called now and then.
    pub(crate) fn prune(&self, state: &ServerState) {
        let now = state.clock.now();
        self.sessions.prune_sessions(now);
        self.changes.prune_idle_users();
    }
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/mcp",
            RouteAccess::Mcp,
            "The user's MCP server: one message, answered in JSON or as an event stream",
            http::post_mcp,
        ),
        Route::new(
            Method::GET,
            "/mcp",
            RouteAccess::Mcp,
            "Handshake revisions: the stream of changes of a session",
            http::get_mcp,
        ),
        Route::new(
            Method::DELETE,
            "/mcp",
            RouteAccess::Mcp,
            "Handshake revisions: ends a session",
            http::delete_mcp,
        )
        .success_status(204),
        Route::new(
            Method::GET,
            "/mcp/ws",
            RouteAccess::Socket,
            "The same server over a WebSocket",
            socket::upgrade_mcp_socket,
        ),
        Route::new(
            Method::POST,
            "/api/mcp/ticket",
            RouteAccess::Caller,
            "A ticket with which a browser opens /mcp/ws once, as `?ticket=`",
            socket::issue_mcp_ticket,
        )
        .response_body::<socket::McpTicket>(),
        Route::new(
            Method::GET,
            "/.well-known/oauth-protected-resource",
            RouteAccess::Public,
            "What protects this server, for OAuth clients (RFC 9728)",
            metadata::get_resource_metadata,
        )
        .response_body::<metadata::ProtectedResourceMetadata>(),
        Route::new(
            Method::GET,
            "/.well-known/oauth-protected-resource/mcp",
            RouteAccess::Public,
            "The same, where clients look for it first",
            metadata::get_resource_metadata,
        )
        .response_body::<metadata::ProtectedResourceMetadata>(),
    ]
}
