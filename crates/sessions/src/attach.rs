//! An app's socket connects and authenticates. RUNNING is set before the ack is sent, because subscriptions and
//! pictures follow within a millisecond. Calls use another connection and could overtake the ack, so they wait for a
//! first sign that the app has read it.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::time::{Instant, sleep};
use toolyard_core::ports::{AppRecord, StoreError};
use toolyard_protocol::{
    AppSessionId, PackageName, UserId,
    session::{
        ToApp, ToDevice,
        app_messages::{ConnectionAck, ConnectionError, DeviceStateUpdate, ReconnectRejected},
        device_messages::{AppNotice, AppStateChange},
    },
};

use crate::{
    app_socket::AppSocket,
    outbox::{Outbox, StateKey},
    run::{AppLink, AppRun, RunPhase},
    sessions::{Sessions, unavailable_error},
    user::LiveUser,
};

/// How long calls wait for the app's first sign after its ack; then they are sent anyway.
const GREETING_TIMEOUT: Duration = Duration::from_secs(1);

/// The identity that an app's socket claims: from its first message, and for SDK 3 from the upgrade headers.
#[derive(Debug, Default)]
pub struct AppIntroduction {
    /// The session from the webhook.
    pub session: Option<AppSessionId>,
    /// The user, if a header names one.
    pub user: Option<UserId>,
    /// The app.
    pub package: Option<PackageName>,
    /// Its key.
    pub api_key: String,
    /// Whether it is a reconnect after a lost connection.
    pub reconnects: bool,
}

/// The settings that are sent with the ack.
struct AckSettings {
    app: Vec<Value>,
    platform: Map<String, Value>,
}

/// Why a socket is closed instead of acknowledged.
#[derive(Debug, PartialEq, Eq)]
pub struct AttachRefusal {
    /// A message that is sent before the close.
    pub message: Option<String>,
    /// The close code: 1000 if the app should end the session, 1008 if authentication failed.
    pub code: u16,
    /// Why.
    pub reason: &'static str,
}

impl Sessions {
    /// Accepts an app's socket, or returns how to close it.
    pub async fn attach_app(
        &self,
        who: AppIntroduction,
        outbox: &Arc<Outbox>,
    ) -> Result<AppSocket, AttachRefusal> {
        let (live, package, session) = self.identify_app(&who)?;
        let record = self.parts().stores.apps.find_app(&package).await.map_err(internal_refusal)?;
        let record = record.filter(|record| is_valid_key(&who.api_key, record));
        let Some(record) = record else {
            let why = unavailable_error(format!(
                "{package} connected with a wrong API key; its developer has to set the right one."
            ));
            let starting = |run: &AppRun| matches!(run.phase(), RunPhase::Starting);
            if live.lock().apps.get(&package).is_some_and(starting) {
                self.end_run(&live, &package, &session, why).await;
            }
            return Err(self.refuse_attach("INVALID_API_KEY", "the API key does not fit this app"));
        };
        let settings = self.settings_of(&live.id, &record).await.map_err(internal_refusal)?;
        let platform =
            self.parts().stores.preferences.platform_settings(&live.id).await.map_err(internal_refusal)?;
        let settings = AckSettings { app: settings, platform: platform.to_map() };
        let socket = self.accept_app(&live, &package, &session, who.reconnects, settings, outbox);
        socket.ok_or_else(|| session_over_refusal(who.reconnects))
    }

    fn identify_app(
        &self,
        who: &AppIntroduction,
    ) -> Result<(Arc<LiveUser>, PackageName, AppSessionId), AttachRefusal> {
        let by_id = who.session.as_ref().and_then(|id| {
            let (user, package) = self.0.by_session.get(id)?.clone();
            Some((user, package, id.clone()))
        });
        // SDK 3 sends user and app in headers, without a session id.
        let by_name = || {
            let (user, package) = (who.user.clone()?, who.package.clone()?);
            let session = self.find_user(&user)?.lock().apps.get(&package)?.session.clone();
            Some((user, package, session))
        };
        let (user, package, session) =
            by_id.or_else(by_name).ok_or_else(|| session_over_refusal(who.reconnects))?;
        if who.package.as_ref().is_some_and(|claimed| *claimed != package) {
            return Err(self.refuse_attach("INVALID_API_KEY", "this session belongs to another app"));
        }
        let live = self.find_user(&user).ok_or_else(|| session_over_refusal(who.reconnects))?;
        Ok((live, package, session))
    }

    /// Links the socket to its run. None if the run has ended or is stopping: an app that the user stopped must not
    /// come back.
    fn accept_app(
        &self,
        live: &Arc<LiveUser>,
        package: &PackageName,
        session: &AppSessionId,
        reconnects: bool,
        settings: AckSettings,
        outbox: &Arc<Outbox>,
    ) -> Option<AppSocket> {
        let number = self.next_link();
        let mut state = live.lock();
        let (capabilities, device_state) = (state.capabilities.clone(), state.state.clone());
        let run = state.apps.get_mut(package).filter(|run| run.session == *session)?;
        match run.phase() {
            RunPhase::Starting | RunPhase::Acknowledged | RunPhase::Running | RunPhase::Lost => {}
            RunPhase::Stopping | RunPhase::Ended(_) => return None,
        }
        // An older socket is not closed: closing it would make the SDK drop the new one as well.
        run.link = Some(AppLink { number, outbox: outbox.clone(), since: Instant::now(), released: false });
        run.last_used = Instant::now();
        let ack = Box::new(ConnectionAck {
            session_id: Some(session.clone()),
            user_id: Some(live.id.clone()),
            settings: Some(settings.app),
            system_settings: Some(settings.platform),
            capabilities,
            subscriptions: Some(Vec::new()),
            timestamp: Some(self.timestamp()),
        });
        run.set_phase(RunPhase::Acknowledged);
        outbox.send_control(
            if reconnects { ToApp::ReconnectAck(ack) } else { ToApp::ConnectionAck(ack) }.to_text(),
        );
        let snapshot = DeviceStateUpdate {
            state: device_state,
            full_snapshot: Some(true),
            timestamp: Some(self.timestamp()),
        };
        outbox.send_control(ToApp::DeviceStateUpdate(snapshot).to_text());
        outbox.send_ping();
        let notice = AppNotice { package_name: package.clone(), timestamp: Some(self.timestamp()) };
        state.send_device_state(StateKey::App(package.clone()), &ToDevice::AppStarted(notice));
        let changed = AppStateChange { timestamp: Some(self.timestamp()) };
        state.send_device_state(StateKey::AppList, &ToDevice::AppStateChange(changed));
        drop(state);
        self.await_sign(live.clone(), package.clone(), number);
        Some(AppSocket { sessions: self.clone(), live: live.clone(), package: package.clone(), number })
    }

    fn await_sign(&self, live: Arc<LiveUser>, package: PackageName, number: u64) {
        let sessions = self.clone();
        self.parts().tasks.spawn(async move {
            tokio::select! {
                () = sleep(GREETING_TIMEOUT) => sessions.confirm_running(&live, &package, number),
                () = sessions.parts().stopping.cancelled() => {}
            }
        });
    }

    /// Marks the app behind that socket as running: it has read its ack, so calls may be sent.
    pub(crate) fn confirm_running(&self, live: &Arc<LiveUser>, package: &PackageName, number: u64) {
        let state = live.lock();
        let greeted = |run: &&AppRun| run.is_link(number) && matches!(run.phase(), RunPhase::Acknowledged);
        if let Some(run) = state.apps.get(package).filter(greeted) {
            run.set_phase(RunPhase::Running);
        }
    }

    /// The app's settings, with the user's values in place of the defaults.
    pub async fn settings_of(&self, user: &UserId, record: &AppRecord) -> Result<Vec<Value>, StoreError> {
        let values = self.parts().stores.app_data.app_settings(user, &record.package).await?;
        let filled = record.details.settings.iter().cloned().map(|mut setting| {
            let key = setting.get("key").and_then(Value::as_str).map(str::to_owned);
            let default = setting.get("defaultValue").cloned();
            if let (Some(key), Value::Object(members)) = (key, &mut setting)
                && let Some(value) = values.get(&key).cloned().or(default)
            {
                members.insert("value".to_owned(), value);
            }
            setting
        });
        Ok(filled.collect())
    }

    fn refuse_attach(&self, code: &str, message: &'static str) -> AttachRefusal {
        let error = ConnectionError {
            code: Some(code.to_owned()),
            message: message.to_owned(),
            timestamp: Some(self.timestamp()),
        };
        AttachRefusal { message: Some(ToApp::ConnectionError(error).to_text()), code: 1008, reason: message }
    }
}

/// 1000 makes an SDK app end the session; with any other code it keeps reconnecting.
fn session_over_refusal(reconnects: bool) -> AttachRefusal {
    let message = reconnects.then(|| {
        let rejected = ReconnectRejected {
            code: "SESSION_NOT_FOUND".to_owned(),
            message: "the session is over".to_owned(),
        };
        ToApp::ReconnectRejected(rejected).to_text()
    });
    AttachRefusal { message, code: 1000, reason: "App stopped" }
}

fn internal_refusal(error: StoreError) -> AttachRefusal {
    tracing::error!(%error, "app connection failed");
    AttachRefusal { message: None, code: 1011, reason: "internal error" }
}

/// Compares SHA-256 of the key in constant time.
fn is_valid_key(key: &str, record: &AppRecord) -> bool {
    let digest = Sha256::digest(key.as_bytes());
    record.keys().is_some_and(|keys| digest.as_slice().ct_eq(&keys.key_hash).into())
}
