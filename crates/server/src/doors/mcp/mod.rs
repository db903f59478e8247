//! The MCP door: one MCP server for each user, with exactly the tools of that user's view.
//!
//! One endpoint serves both eras; the request decides. The wire layer is our own and thin: ids, params and results pass
//! through raw, and lists are prepared pages.
//!
//! | look for | in |
//! | --- | --- |
//! | POST, GET and DELETE `/mcp` | [`http`] |
//! | required fields and headers of modern requests | [`modern`] |
//! | handshakes and their signed session ids | [`session`] |
//! | dispatch by method | [`dispatch`] |
//! | `tools/call`, prompts, resources | [`call`], [`items`] |
//! | server info and capabilities | [`about`] |
//! | change notifications | [`changes`], [`listen`] |
//! | questions of tools to the client | [`questions`], [`request_state`] |
//! | calls that the user has to approve | [`approval`], [`asked_client`], [`elicitation`] |
//! | such calls as tasks | [`tasks`] |
//! | WebSockets and stdio | [`peer`], [`socket`] |
//! | authentication metadata | [`metadata`] |

mod about;
mod approval;
mod asked_client;
mod call;
pub(crate) mod changes;
mod client;
mod dispatch;
mod elicitation;
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
mod sign_in;
mod socket;
mod sse;
mod tasks;
mod waiting;

use ::http::Method;

pub(crate) use self::session::McpSessions;
use crate::{
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// State of the MCP door beside its streams. It is bounded, and all of it may be lost.
pub(crate) struct McpDoor {
    /// Subscribers to changes.
    pub(crate) changes: changes::ChangeNotifier,
    /// Unanswered questions to clients.
    pub(crate) questions: questions::QuestionRegistry,
    /// Ended sessions, subscriptions and running requests.
    pub(crate) sessions: McpSessions,
    /// Questions of tasks that clients have handled.
    tasks: tasks::TaskQuestions,
}

impl McpDoor {
    pub(crate) fn new(
        secrets: &dyn toolyard_core::ports::SecretSealer,
        ids: &dyn toolyard_core::ports::IdGenerator,
        config: &crate::config::McpConfig,
    ) -> Self {
        Self {
            changes: changes::ChangeNotifier::new(config.streams_per_user),
            questions: questions::QuestionRegistry::default(),
            sessions: McpSessions::new(secrets, config.session_days),
            tasks: tasks::TaskQuestions::new(ids),
        }
    }

    /// Removes expired state. Called periodically.
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
            "The user's MCP server: one message, with a JSON or event stream response",
            http::post_mcp,
        ),
        Route::new(
            Method::GET,
            "/mcp",
            RouteAccess::Mcp,
            "Handshake revisions: the notification stream of a session",
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
            "A single-use ticket for a browser to open /mcp/ws, as `?ticket=`",
            socket::issue_mcp_ticket,
        )
        .response_body::<socket::McpTicket>(),
        Route::new(
            Method::GET,
            "/.well-known/oauth-protected-resource",
            RouteAccess::Public,
            "Protected resource metadata for OAuth clients (RFC 9728)",
            metadata::get_resource_metadata,
        )
        .response_body::<metadata::ProtectedResourceMetadata>(),
        Route::new(
            Method::GET,
            "/.well-known/oauth-protected-resource/mcp",
            RouteAccess::Public,
            "The same, at the path that clients try first",
            metadata::get_resource_metadata,
        )
        .response_body::<metadata::ProtectedResourceMetadata>(),
    ]
}
