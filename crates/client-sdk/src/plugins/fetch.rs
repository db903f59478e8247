//! `fetch_page`: a web page as text. One GET request: no shell, no scripts, no cookies.
//!
//! Requests go through the guard of toolyard-net, which checks the URL, every redirect and every resolved address. By default
//! only public addresses can be reached: the model chooses the URL, and a page that it read may have suggested it.

use std::time::Duration;

use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_toolbox::page::{self, fetch_page};

use super::boxed;
use crate::{plugin::Plugin, tool::Tool};

/// How pages are fetched.
#[derive(Debug, Clone)]
pub struct FetchOptions {
    /// Which addresses are allowed.
    pub guard: Guard,
    /// How long a page may take.
    pub limit: Duration,
}

impl Default for FetchOptions {
    /// Public addresses only.
    fn default() -> Self {
        Self { guard: Guard::strict(), limit: page::DEFAULT_LIMIT }
    }
}

/// The plugin `fetch`.
///
/// ```
/// use toolyard_client_sdk::plugins::{self, fetch::FetchOptions};
///
/// assert_eq!(plugins::fetch(FetchOptions::default()).name(), "fetch");
/// ```
pub fn fetch(options: FetchOptions) -> Plugin {
    Plugin::new("fetch", super::VERSION).tool(fetch_tool(options))
}

/// The tool without the plugin.
pub fn fetch_tool(options: FetchOptions) -> Tool {
    let FetchOptions { guard, limit } = options;
    let client = HttpClient::new(guard.clone(), ClientSettings::default());
    boxed::from_toolbox(page::fetch_page_spec(), move |arguments, _| {
        let (client, guard) = (client.clone(), guard.clone());
        async move { fetch_page(arguments, &client, &guard, limit).await }
    })
}
