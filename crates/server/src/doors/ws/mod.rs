//! The sockets of apps and devices. Who may come in and what is said is decided by sessions; here frames are pumped.

mod app;
mod glasses;
pub(crate) mod pump;

use http::Method;

use crate::routes::{Route, RouteAccess};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/app-ws",
            RouteAccess::Socket,
            "The socket of an app",
            app::upgrade_app_socket,
        ),
        Route::new(
            Method::GET,
            "/ws/miniapp",
            RouteAccess::Socket,
            "The socket of an app on SDK 3",
            app::upgrade_app_socket,
        ),
        Route::new(
            Method::GET,
            "/glasses-ws",
            RouteAccess::Socket,
            "The socket of a device",
            glasses::upgrade_glasses_socket,
        ),
        Route::new(
            Method::GET,
            "/ws/client",
            RouteAccess::Socket,
            "The socket of a device, by its other name",
            glasses::upgrade_glasses_socket,
        ),
        Route::new(
            Method::POST,
            "/api/glasses/ticket",
            RouteAccess::User,
            "A ticket with which a browser opens /glasses-ws once, as `?ticket=`",
            glasses::issue_glasses_ticket,
        )
        .response_body::<glasses::GlassesTicket>(),
    ]
}
