//! All live users.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use dashmap::DashMap;
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_core::{
    LiveValue, ToolError,
    catalog::AppHead,
    limits::CallLimits,
    ports::{
        AppWaker, Change, ChangeSubscriber, Clock, HomeMarks, IdGenerator, SecretSealer, SessionView, Stores,
        UserPresence,
    },
};
use toolyard_net::{Guard, HttpClient};
use toolyard_protocol::{
    AppSessionId, ErrorCode, PackageName, UserId, api::SessionSummary, call::AppActivation,
};

use crate::{
    listen::Transcriber,
    outbox::Outbox,
    photos::REPORTS_AT_ONCE,
    run::{AppRun, RunPhase, RunTrigger},
    settings::SessionSettings,
    speech_link::SpeechLinks,
    user::LiveUser,
};

/// How the path of an app's socket ends.
pub(crate) const APP_SOCKET_PATH: &str = "/app-ws";
/// How a path begins that is marked with its user. The mark follows, and then the path as usual.
pub const MARKED_PATH: &str = "/u/";

/// The parts that sessions need.
pub struct SessionParts {
    /// Apps, settings, devices, and app sessions that outlive this process.
    pub stores: Stores,
    /// Opens the apps' signing secrets.
    pub secrets: Arc<dyn SecretSealer>,
    /// Sends requests to apps.
    pub http: HttpClient,
    /// Which URLs may be requested.
    pub guard: Guard,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Generates ids.
    pub ids: Arc<dyn IdGenerator>,
    /// How long a wake may take.
    pub limits: LiveValue<CallLimits>,
    /// Converts speech to text, if configured.
    pub transcriber: Option<Arc<dyn Transcriber>>,
    /// Marks the URLs that apps connect to.
    pub marks: HomeMarks,
    /// Limits and timeouts.
    pub settings: SessionSettings,
    /// A server stop waits for these tasks.
    pub tasks: TaskTracker,
    /// Fires when the server stops.
    pub stopping: CancellationToken,
}

/// All live users. A cheap handle.
#[derive(Clone)]
pub struct Sessions(pub(crate) Arc<SessionsInner>);

pub(crate) struct SessionsInner {
    /// For announcements, which hold only this part.
    me: Weak<Self>,
    pub(crate) parts: SessionParts,
    pub(crate) users: DashMap<UserId, Arc<LiveUser>>,
    /// The user and app of each app session id. Ids are looked up here, never parsed.
    pub(crate) by_session: DashMap<AppSessionId, (UserId, PackageName)>,
    links: AtomicU64,
    dropped_utterances: AtomicU64,
    pub(crate) speech_links: SpeechLinks,
    /// Limits concurrent photo failure reports.
    pub(crate) photo_reports: Arc<Semaphore>,
}

impl Sessions {
    /// Creates the sessions; no user is live yet.
    pub fn new(parts: SessionParts) -> Self {
        let (users, by_session) = (DashMap::new(), DashMap::new());
        let speech_links = SpeechLinks::new(&*parts.secrets);
        let (links, dropped_utterances) = (AtomicU64::new(0), AtomicU64::new(0));
        let photo_reports = Arc::new(Semaphore::new(REPORTS_AT_ONCE));
        let sessions = Self(Arc::new_cyclic(|me| SessionsInner {
            me: me.clone(),
            parts,
            users,
            by_session,
            links,
            dropped_utterances,
            speech_links,
            photo_reports,
        }));
        let inner: Arc<dyn ChangeSubscriber> = sessions.0.clone();
        sessions.parts().stores.announcements.subscribe(Arc::downgrade(&inner));
        sessions
    }

    /// The user's session, opened if needed. None if there are too many.
    pub(crate) fn open_user(&self, user: &UserId) -> Option<Arc<LiveUser>> {
        if let Some(live) = self.find_user(user) {
            return Some(live);
        }
        if self.0.users.len() >= self.parts().settings.max_users {
            return None;
        }
        Some(
            self.0.users.entry(user.clone()).or_insert_with(|| Arc::new(LiveUser::new(user.clone()))).clone(),
        )
    }

    pub(crate) fn find_user(&self, user: &UserId) -> Option<Arc<LiveUser>> {
        self.0.users.get(user).map(|live| live.clone())
    }

    /// Opens or keeps the session of a user who sent an authenticated request. False if there are too many.
    pub(crate) fn keep_alive(&self, user: &UserId) -> bool {
        let live = self.open_user(user);
        live.inspect(|live| live.lock().last_used = Instant::now()).is_some()
    }

    /// Whether the user has a session.
    pub fn is_live(&self, user: &UserId) -> bool {
        self.0.users.contains_key(user)
    }

    /// The number of live users.
    pub fn user_count(&self) -> usize {
        self.0.users.len()
    }

    /// How many utterances were dropped because the transcriber was too slow.
    pub fn dropped_utterances(&self) -> u64 {
        self.0.dropped_utterances.load(Ordering::Relaxed)
    }

    pub(crate) fn count_dropped_utterance(&self) {
        self.0.dropped_utterances.fetch_add(1, Ordering::Relaxed);
    }

    /// The live users with matching ids, by id, with their device model if known.
    pub fn list_live_users(&self, fits: impl Fn(&UserId) -> bool) -> Vec<(UserId, Option<String>)> {
        let live = self.0.users.iter().filter(|live| fits(live.key())).map(|live| {
            let model = live.lock().capabilities.as_ref().map(|device| device.model_name.clone());
            (live.key().clone(), model)
        });
        let mut live: Vec<_> = live.collect();
        live.sort();
        live
    }

    /// The summary of a session for the API.
    pub fn session_summary(&self, user: &UserId) -> Option<SessionSummary> {
        self.find_user(user).map(|live| live.session_summary())
    }

    /// The handle of these sessions; None during shutdown.
    pub(crate) fn from_inner(inner: &SessionsInner) -> Option<Self> {
        inner.me.upgrade().map(Self)
    }

    pub(crate) fn parts(&self) -> &SessionParts {
        &self.0.parts
    }

    /// Where the apps of a user connect. Ends in `/app-ws`, because apps derive other URLs from it.
    pub(crate) fn app_socket_url(&self, user: &UserId) -> String {
        let url = &self.parts().settings.app_socket_url;
        match (self.parts().marks.mark(user), url.strip_suffix(APP_SOCKET_PATH)) {
            (Some(mark), Some(base)) => format!("{base}{MARKED_PATH}{mark}{APP_SOCKET_PATH}"),
            _ => url.clone(),
        }
    }

    pub(crate) fn next_link(&self) -> u64 {
        self.0.links.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A queue to an app; dropped data is reported in a message that every SDK knows.
    pub fn app_outbox(&self) -> Arc<Outbox> {
        let settings = &self.parts().settings;
        Arc::new(Outbox::new(
            settings.stream_queue,
            settings.control_queue,
            Some(crate::streams::lost_notice),
        ))
    }

    /// A queue to a device.
    pub fn device_outbox(&self) -> Arc<Outbox> {
        let settings = &self.parts().settings;
        let outbox = Outbox::new(settings.stream_queue, settings.control_queue, None);
        Arc::new(outbox.with_request_bound(settings.requests_per_app))
    }

    pub(crate) fn view_changed(&self, user: &UserId) {
        self.parts().stores.announcements.notify(&Change::ViewChanged(user.clone()));
    }

    /// Forgets a user whose home is another node by now: that node has restored the runs. Apps and devices reconnect there.
    pub fn release_user(&self, user: &UserId) {
        let Some((_, live)) = self.0.users.remove(user) else { return };
        let why =
            Arc::new(unavailable_error("The user's session moved to another server.").retryable_if(true));
        let mut state = live.lock();
        state.close_sockets(1012, "moved to another server");
        for (_, run) in state.apps.drain() {
            self.0.by_session.remove(&run.session);
            run.set_phase(RunPhase::Ended(why.clone()));
        }
        state.device = None;
        drop(state);
        self.view_changed(user);
    }

    /// Closes all sockets because the server stops; apps and devices reconnect.
    pub fn drain(&self) {
        for live in &self.0.users {
            live.lock().close_sockets(1012, "server restarts");
        }
    }
}

#[async_trait]
impl UserPresence for Sessions {
    async fn session_view(&self, user: &UserId) -> Option<SessionView> {
        self.find_user(user).map(|live| SessionView { capabilities: live.lock().capabilities.clone() })
    }
}

#[async_trait]
impl AppWaker for Sessions {
    async fn ensure_running(
        &self,
        user: &UserId,
        app: &AppHead,
        deadline: Instant,
    ) -> Result<AppActivation, ToolError> {
        // Nearly every call meets an app that runs; that needs no task and no allocation.
        if let Some(ready) = self.find_user(user).and_then(|live| live.lock().mark_used(app.package())) {
            return Ok(ready);
        }
        self.wake(user, &Arc::new(app.record.clone()), RunTrigger::ForCall, deadline).await
    }

    fn is_connected(&self, user: &UserId, app: &PackageName) -> bool {
        self.find_user(user).is_some_and(|live| live.lock().apps.get(app).is_some_and(AppRun::is_connected))
    }
}

pub(crate) fn unavailable_error(text: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::AppNotAvailable, text)
}
