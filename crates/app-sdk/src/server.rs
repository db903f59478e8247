//! The running app: its shared state, serving and shutdown.

use std::{fmt, io, net::SocketAddr, panic::AssertUnwindSafe, sync::Arc};

use axum::Router;
use futures_util::{FutureExt, future::BoxFuture};
use serde_json::value::RawValue;
use tokio::{
    net::TcpListener,
    signal,
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_net::SigningKey;
use toolyard_protocol::{PackageName, UserId, items::AppItems, secret::SecretText, tool::ToolDefinition};

use crate::{
    builder::AppServerBuilder,
    clock::Clock,
    http,
    items::{Prompt, Resource},
    limits::AppLimits,
    session::{AppSocketDialer, EndReason, PlatformServer, Session, SessionError, SessionTable},
    tool::{FallbackHandler, Tool},
};

pub(crate) type OnSession =
    Arc<dyn Fn(Session) -> BoxFuture<'static, Result<(), SessionError>> + Send + Sync>;
pub(crate) type OnStop = Arc<dyn Fn(Session, EndReason) -> BoxFuture<'static, ()> + Send + Sync>;

/// An app. Cheap to clone: every clone is the same app.
///
/// [`run`](Self::run) serves requests until it is stopped. To serve the app next to other routes, use its
/// [`router`](Self::router) and call [`shutdown`](Self::shutdown) at the end.
#[derive(Clone)]
pub struct AppServer(Arc<AppShared>);

/// State that all requests and sessions share.
pub(crate) struct AppShared {
    pub(crate) package: PackageName,
    pub(crate) api_key: Option<SecretText>,
    pub(crate) signing: Option<SigningKey>,
    pub(crate) platform: PlatformServer,
    pub(crate) listen: SocketAddr,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: AppLimits,
    /// In the order of registration.
    pub(crate) tools: Vec<Tool>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) fallback: Option<FallbackHandler>,
    pub(crate) on_session: Option<OnSession>,
    pub(crate) on_stop: Option<OnStop>,
    pub(crate) sessions: Arc<SessionTable>,
    pub(crate) dialer: AppSocketDialer,
    /// Limits the sessions. Each holds a permit.
    pub(crate) session_room: Arc<Semaphore>,
    /// Limits the calls. Each holds a permit.
    pub(crate) call_room: Arc<Semaphore>,
    pub(crate) tasks: TaskTracker,
    /// Cancelled at shutdown: no new sessions start.
    pub(crate) stopping: CancellationToken,
    /// Parent of the cancellation tokens of all calls.
    pub(crate) calls: CancellationToken,
}

impl AppServer {
    /// Builds an app with this package name (`com.example.todo`).
    pub fn builder(package: impl Into<String>) -> AppServerBuilder {
        AppServerBuilder::new(package.into())
    }

    pub(crate) fn new(shared: AppShared) -> Self {
        Self(Arc::new(shared))
    }

    pub(crate) fn shared(&self) -> &AppShared {
        &self.0
    }

    pub(crate) fn sessions(&self) -> &Arc<SessionTable> {
        &self.0.sessions
    }

    /// The package name.
    pub fn package(&self) -> &PackageName {
        &self.0.package
    }

    /// The definitions of all tools, in the order of registration.
    pub fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.0.tools.iter().map(Tool::definition)
    }

    /// The definitions of prompts and resources.
    pub(crate) fn item_definitions(&self) -> AppItems {
        let list = |of: &mut dyn Iterator<Item = &RawValue>| of.map(RawValue::to_owned).collect();
        let resources = |templates: bool| {
            self.0.resources.iter().filter(move |resource| resource.is_template() == templates)
        };
        AppItems {
            prompts: list(&mut self.0.prompts.iter().map(Prompt::definition)),
            resources: list(&mut resources(false).map(Resource::definition)),
            resource_templates: list(&mut resources(true).map(Resource::definition)),
        }
    }

    /// The user's session, if the user has the app open and connected now.
    pub fn session_for(&self, user: &UserId) -> Option<Session> {
        self.0.sessions.find_connected(user)
    }

    /// The routes of the app, to serve them next to others.
    pub fn router(&self) -> Router {
        http::build_router(self.clone())
    }

    /// Listens on the configured address and serves requests until `shutdown` is cancelled.
    pub async fn run(&self, shutdown: CancellationToken) -> io::Result<()> {
        let listener = TcpListener::bind(self.0.listen).await?;
        self.serve(listener, shutdown).await
    }

    /// Listens on the configured address and serves requests until Ctrl-C or, on Unix, SIGTERM.
    pub async fn run_until_signal(&self) -> io::Result<()> {
        let stop = CancellationToken::new();
        let running = self.run(stop.clone());
        tokio::pin!(running);
        tokio::select! {
            // Installed before the app listens: a signal may follow immediately.
            biased;
            () = wait_for_stop_signal() => {
                tracing::info!(package = %self.0.package, "app stopping");
                stop.cancel();
                running.await
            }
            ended = &mut running => ended,
        }
    }

    /// Serves requests on a listener until `shutdown` is cancelled. Then running calls may finish, and sessions are closed in a
    /// way that lets the platform start the app again later. [`AppLimits::drain_wait`] limits how long this takes.
    pub async fn serve(&self, listener: TcpListener, shutdown: CancellationToken) -> io::Result<()> {
        let address = listener.local_addr()?;
        tracing::info!(package = %self.0.package, tools = self.0.tools.len(), %address, "app listening");
        let serving =
            axum::serve(listener, self.router()).with_graceful_shutdown(shutdown.clone().cancelled_owned());
        let overdue = async {
            shutdown.cancelled().await;
            sleep(self.0.limits.drain_wait).await;
        };
        let served = tokio::select! {
            served = async { serving.await } => served,
            () = overdue => {
                tracing::warn!("running calls did not finish in time, cancelling them");
                Ok(())
            }
        };
        self.shutdown().await;
        served
    }

    /// Cancels the remaining calls, closes the remaining sessions and waits for them within a limit. For apps that serve the
    /// [`router`](Self::router) themselves. No session starts afterwards.
    pub async fn shutdown(&self) {
        self.0.stopping.cancel();
        self.0.calls.cancel();
        self.0.sessions.end_all();
        self.0.tasks.close();
        if timeout(self.0.limits.drain_wait, self.0.tasks.wait()).await.is_err() {
            tracing::warn!(tasks = self.0.tasks.len(), "tasks did not end in time");
        }
    }

    /// Runs the app's `on_session` hook for a new session.
    pub(crate) fn spawn_on_session(&self, session: Session) {
        let Some(hook) = self.0.on_session.clone() else { return };
        let grace = self.0.limits.cancel_grace;
        self.0.tasks.spawn(async move {
            let id = session.id().clone();
            let running = AssertUnwindSafe(async { hook(session.clone()).await }).catch_unwind();
            let over = async {
                session.ended().await;
                sleep(grace).await;
            };
            tokio::select! {
                ended = running => match ended {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::warn!(session = %id, %error, "on_session failed"),
                    Err(_) => tracing::error!(session = %id, "on_session panicked, the session continues"),
                },
                () = over => tracing::debug!(session = %id, "on_session dropped after the end of its session"),
            }
        });
    }

    /// Runs the app's `on_stop` hook for a session that has ended.
    pub(crate) async fn run_on_stop(&self, session: Session, reason: EndReason) {
        let Some(hook) = self.0.on_stop.clone() else { return };
        let id = session.id().clone();
        if AssertUnwindSafe(async { hook(session, reason).await }).catch_unwind().await.is_err() {
            tracing::error!(session = %id, "on_stop panicked");
        }
    }
}

impl fmt::Debug for AppServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppServer").field("package", &self.0.package).finish_non_exhaustive()
    }
}

async fn wait_for_stop_signal() {
    #[cfg(unix)]
    if let Ok(mut terminate) = signal::unix::signal(signal::unix::SignalKind::terminate()) {
        tokio::select! {
            () = wait_for_ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    wait_for_ctrl_c().await;
}

/// Waits for Ctrl-C, forever if the signal is not available.
async fn wait_for_ctrl_c() {
    if signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
