//! The sockets of apps and devices. Who may come in and what is said is decided by sessions; here frames are pumped.

mod app;
mod glasses;
pub(crate) mod pump;

use http::Method;

use crate::routes::{Access, Route};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/app-ws", Access::Socket, "The socket of an app", app::upgrade),
        Route::new(Method::GET, "/ws/miniapp", Access::Socket, "The socket of an app on SDK 3", app::upgrade),
        Route::new(Method::GET, "/glasses-ws", Access::Socket, "The socket of a device", glasses::upgrade),
        Route::new(
            Method::GET,
            "/ws/client",
            Access::Socket,
            "The socket of a device, by its other name",
            glasses::upgrade,
        ),
        Route::new(
            Method::POST,
            "/api/glasses/ticket",
            Access::User,
            "A ticket with which a browser opens /glasses-ws once, as `?ticket=`",
            glasses::ticket,
        )
        .gives::<glasses::GlassesTicket>(),
    ]
}
