//! The web console, out of the program itself: no file of the disk is ever read.
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
use crate::routes::{Access, Route};

/// The program of the frame in which plugins run.
pub(crate) const FRAME_SCRIPT: &str = "/sandbox/frame.js";

pub(crate) fn routes() -> Vec<Route> {
    let page = |path, summary, handler| Route::new(Method::GET, path, Access::Public, summary, handler);
    vec![
        page("/", "Leads to the console", pages::home),
        page("/console", "Leads to the console", pages::home),
        Route::new(Method::GET, "/console/", Access::Public, "The console", pages::index),
        Route::new(
            Method::GET,
            "/console/{*path}",
            Access::Public,
            "A file of the console, or its page where there is none of that name",
            pages::file,
        ),
        Route::new(
            Method::GET,
            "/sandbox/frame",
            Access::Public,
            "The frame in which plugins run in a browser",
            sandbox::frame,
        ),
        Route::new(Method::GET, FRAME_SCRIPT, Access::Public, "Its program", sandbox::program),
    ]
    .into_iter()
    .map(Route::undocumented)
    .collect()
}
