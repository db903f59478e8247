//! The sockets of apps and devices. Sessions decide who may connect and handle the messages; this module transports frames.

mod app;
mod glasses;
pub(crate) mod pump;

use http::Method;

use crate::{
    cluster::RouteHome,
    routes::{Route, RouteAccess},
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/app-ws",
            RouteAccess::Socket,
            "WebSocket of an app",
            app::upgrade_app_socket,
        )
        .runs_at(RouteHome::AppSocket),
        Route::new(
            Method::GET,
            "/ws/miniapp",
            RouteAccess::Socket,
            "WebSocket of an app on SDK 3",
            app::upgrade_app_socket,
        )
        .runs_at(RouteHome::AppSocket),
        Route::new(
            Method::GET,
            "/glasses-ws",
            RouteAccess::Socket,
            "WebSocket of a device",
            glasses::upgrade_glasses_socket,
        ),
        Route::new(
            Method::GET,
            "/ws/client",
            RouteAccess::Socket,
            "WebSocket of a device, under its alternative path",
            glasses::upgrade_glasses_socket,
        ),
        Route::new(
            Method::POST,
            "/api/glasses/ticket",
            RouteAccess::User,
            "A single-use ticket for a browser to open /glasses-ws, as `?ticket=`",
            glasses::issue_glasses_ticket,
        )
        .response_body::<glasses::GlassesTicket>(),
    ]
}
