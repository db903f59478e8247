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
mod answer;
mod awaited;
mod call;
pub(crate) mod changes;
mod client;
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
mod session;
mod socket;
mod sse;

use ::http::Method;

pub(crate) use self::session::SessionBook;
use crate::{
    routes::{Access, Route},
    state::AppState,
};

/// What the door keeps beside its streams. All of it is bounded, and all of it may be lost.
pub(crate) struct McpDoor {
    /// Who wants to be told of changes.
    pub(crate) changes: changes::Changes,
    /// Questions to clients that are not answered yet.
    pub(crate) questions: questions::Questions,
    /// Sessions that ended, what they subscribed to, calls under way in them.
    pub(crate) sessions: SessionBook,
}

impl McpDoor {
    pub(crate) fn new(
        secrets: &dyn toolyard_core::ports::Secrets,
        config: &crate::config::McpConfig,
    ) -> Self {
        Self {
            changes: changes::Changes::new(config.streams_per_user),
            questions: questions::Questions::default(),
            sessions: SessionBook::new(secrets, config.session_days),
        }
    }

    /// Forgets what is over. Called now and then.
    pub(crate) fn tidy(&self, state: &AppState) {
        let now = state.clock.now();
        self.sessions.tidy(now);
        self.changes.tidy();
    }
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/mcp",
            Access::Mcp,
            "The user's MCP server: one message, answered in JSON or as an event stream",
            http::post,
        ),
        Route::new(
            Method::GET,
            "/mcp",
            Access::Mcp,
            "Handshake revisions: the stream of changes of a session",
            http::get,
        ),
        Route::new(Method::DELETE, "/mcp", Access::Mcp, "Handshake revisions: ends a session", http::delete)
            .success(204),
        Route::new(
            Method::GET,
            "/mcp/ws",
            Access::Socket,
            "The same server over a WebSocket",
            socket::upgrade,
        ),
        Route::new(
            Method::POST,
            "/api/mcp/ticket",
            Access::Acting,
            "A ticket with which a browser opens /mcp/ws once, as `?ticket=`",
            socket::ticket,
        )
        .gives::<socket::Ticket>(),
        Route::new(
            Method::GET,
            "/.well-known/oauth-protected-resource",
            Access::Public,
            "What protects this server, for OAuth clients (RFC 9728)",
            metadata::get,
        )
        .gives::<metadata::Metadata>(),
        Route::new(
            Method::GET,
            "/.well-known/oauth-protected-resource/mcp",
            Access::Public,
            "The same, where clients look for it first",
            metadata::get,
        )
        .gives::<metadata::Metadata>(),
    ]
}
