//! Serves the web console, which is built into the program: no file is read from disk.
//!
//! | look for | in |
//! | --- | --- |
//! | the table of files | [`files`] |
//! | `/`, `/console` and all below it | [`pages`] |
//! | the frame in which plugins run in a browser | [`sandbox`] |

mod files;
mod pages;
mod sandbox;

use http::Method;

pub use self::files::{ConsoleFile, ConsoleFiles};
use crate::routes::{Route, RouteAccess};

/// The script of the frame in which plugins run.
pub(crate) const FRAME_SCRIPT: &str = "/sandbox/frame.js";

pub(crate) fn routes() -> Vec<Route> {
    let page = |path, summary, handler| Route::new(Method::GET, path, RouteAccess::Public, summary, handler);
    vec![
        page("/", "Redirects to the console", pages::redirect_to_console),
        page("/console", "Redirects to the console", pages::redirect_to_console),
        Route::new(Method::GET, "/console/", RouteAccess::Public, "The console", pages::console_index),
        Route::new(
            Method::GET,
            "/console/{*path}",
            RouteAccess::Public,
            "A file of the console, or its page if no file has this name",
            pages::console_file,
        ),
        Route::new(
            Method::GET,
            "/sandbox/frame",
            RouteAccess::Public,
            "The frame in which plugins run in a browser",
            sandbox::frame_page,
        ),
        Route::new(
            Method::GET,
            FRAME_SCRIPT,
            RouteAccess::Public,
            "The script of that frame",
            sandbox::frame_script,
        ),
    ]
    .into_iter()
    .map(Route::undocumented)
    .collect()
}
