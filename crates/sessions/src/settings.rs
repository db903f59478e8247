//! Limits and timeouts of sessions.

use std::time::Duration;

use toolyard_protocol::PackageName;

use crate::{outbox::DEFAULT_REQUEST_BOUND, rate_limit::MessageRate};

/// All of them are server settings, under `[sessions]`.
#[derive(Debug, Clone)]
pub struct SessionSettings {
    /// Where apps connect: `ws://127.0.0.1:8787/app-ws`. Ends in `/app-ws`, because apps derive other URLs from it.
    pub app_socket_url: String,
    /// How long an app may take to reconnect after its socket was lost. The SDK gives up after 6 s.
    pub reconnect_window: Duration,
    /// A woken app without calls for this long is stopped.
    pub idle_stop: Duration,
    /// How long a session outlives its device.
    pub device_grace: Duration,
    /// How long a session without a device lives after the last request.
    pub session_idle: Duration,
    /// How long a picture of an app that is not in front stays, unless the app requests less.
    pub overlay: Duration,
    /// An empty list of subscriptions this soon after a connect is ignored, because the SDK sends one before it is
    /// initialized.
    pub subscription_grace: Duration,
    /// Timeout of the stop request to an app's web server.
    pub stop_timeout: Duration,
    /// Stream messages that may wait for a slow socket; more are dropped and reported.
    pub stream_queue: usize,
    /// Other messages that may wait for a slow socket; beyond that it is closed.
    pub control_queue: usize,
    /// Requests of one app that may wait for a slow device; more are refused.
    pub requests_per_app: usize,
    /// How fast one app may send messages; an app that exceeds it is stopped.
    pub app_messages: MessageRate,
    /// The app that may change the mode and the system texts of the dashboard.
    pub dashboard_app: Option<PackageName>,
    /// Users with a session at once.
    pub max_users: usize,
    /// Apps that run at once for one user.
    pub max_apps: usize,
    /// How long a signed speech URL is valid.
    pub speech_link: Duration,
    /// Utterances of one user that may wait for the transcriber; the oldest are dropped.
    pub utterances: usize,
    /// The language hint if apps subscribe to several languages: `en-US`.
    pub spoken_language: Option<String>,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            app_socket_url: "ws://127.0.0.1:8787/app-ws".to_owned(),
            reconnect_window: Duration::from_secs(6),
            idle_stop: Duration::from_secs(300),
            device_grace: Duration::from_secs(60),
            session_idle: Duration::from_secs(900),
            overlay: Duration::from_secs(10),
            subscription_grace: Duration::from_secs(8),
            stop_timeout: Duration::from_secs(3),
            stream_queue: 256,
            control_queue: 256,
            requests_per_app: DEFAULT_REQUEST_BOUND,
            app_messages: MessageRate { per_s: 50, burst: 200 },
            dashboard_app: None,
            max_users: 100_000,
            max_apps: 32,
            speech_link: Duration::from_secs(300),
            utterances: 4,
            spoken_language: None,
        }
    }
}
