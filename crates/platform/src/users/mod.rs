//! Users' live sessions, the apps that run in them, and tickets for their sockets.

mod end_session;
mod issue_ticket;
mod open_session;
mod redeem_ticket;
mod start_app;
mod stop_app;
mod tickets;

pub use self::{
    end_session::end_session,
    issue_ticket::{IssuedTicket, issue_ticket},
    open_session::{SessionAccess, app_scope, keep_session, open_session},
    redeem_ticket::redeem_ticket,
    start_app::start_app,
    stop_app::stop_app,
    tickets::{SocketKind, SocketTickets},
};

/// The refusal of an app that manages a session.
const NOT_FOR_APPS: &str = "an app key cannot do this";
