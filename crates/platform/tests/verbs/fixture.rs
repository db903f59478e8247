//! A platform on a real store in a temporary folder, and actors.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_util::task::TaskTracker;
use toolyard_core::{
    Catalog, ToolError,
    approvals::{ApprovalGate, ApprovalGateParts, ApprovalPolicy, ApprovalSettings},
    catalog::{CatalogPorts, ViewLimits},
    data_flow::LabelSettings,
    pinning::PinPolicy,
    policy::RateLimit,
    ports::{
        Announcement, AppRecord, Change, ChangeSubscriber, SealError, SecretSealer, SessionControl,
        SessionView, StopError, Stores, SystemIds, TokenQuota, UnsealError, UserPresence,
    },
};
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_platform::{
    Actor, ActorOfUser, Credential, Platform, PlatformConfig, PlatformError, RequestLimits,
    audit::AuditWriter,
    definitions::DefinitionReviewer,
    plugins::{PluginBounds, PluginContext, PluginTrust, TrustSetup},
    tokens::TokenSigner,
    users::SocketTickets,
};
use toolyard_protocol::{ErrorCode, PackageName, UserId, api::Role, app::AppKind, call::AppActivation};
use toolyard_store::SqliteSettings;
use toolyard_testkit::FixedClock;

/// Seals by reversing the bytes: enough to see that a value was sealed.
struct TestSecrets;

impl SecretSealer for TestSecrets {
    fn seal(&self, plain: &str) -> Result<Vec<u8>, SealError> {
        Ok(plain.bytes().map(|byte| !byte).collect())
    }

    fn unseal(&self, sealed: &[u8]) -> Result<String, UnsealError> {
        String::from_utf8(sealed.iter().map(|byte| !byte).collect()).map_err(|_| UnsealError)
    }

    fn derive_keys(&self, _purpose: &str) -> Vec<[u8; 32]> {
        vec![[7; 32]]
    }
}

struct NobodyPresent;

#[async_trait]
impl UserPresence for NobodyPresent {
    async fn session_view(&self, _user: &UserId) -> Option<SessionView> {
        None
    }
}

/// Sessions of at most two users. Apps start unless they are called `com.broken`.
#[derive(Default)]
pub(crate) struct FakeSessions(Mutex<BTreeMap<UserId, Vec<PackageName>>>);

impl FakeSessions {
    /// The running apps of a user, if they have a session.
    pub(crate) fn running(&self, user: &str) -> Option<Vec<String>> {
        let users = self.0.lock().unwrap();
        users.get(&user.parse().unwrap()).map(|apps| apps.iter().map(ToString::to_string).collect())
    }
}

#[async_trait]
impl SessionControl for FakeSessions {
    fn keep_alive(&self, user: &UserId) -> bool {
        let mut users = self.0.lock().unwrap();
        let fits = users.contains_key(user) || users.len() < 2;
        if fits {
            users.entry(user.clone()).or_default();
        }
        fits
    }

    fn is_live(&self, user: &UserId) -> bool {
        self.0.lock().unwrap().contains_key(user)
    }

    fn take_button_press(&self, _user: &UserId, _since: Timestamp) -> bool {
        false
    }

    async fn end_session(&self, user: &UserId) -> bool {
        self.0.lock().unwrap().remove(user).is_some()
    }

    async fn open_app(&self, user: &UserId, app: AppRecord) -> Result<AppActivation, ToolError> {
        if app.package.as_str() == "com.broken" {
            return Err(ToolError::new(ErrorCode::AppNotAvailable, "it does not respond"));
        }
        self.0.lock().unwrap().entry(user.clone()).or_default().push(app.package);
        Ok(AppActivation::StartedForCall)
    }

    async fn close_app(&self, user: &UserId, package: &PackageName) -> Result<(), StopError> {
        let mut users = self.0.lock().unwrap();
        let apps = users.get_mut(user).ok_or(StopError::NoSession)?;
        let place = apps.iter().position(|app| app == package).ok_or(StopError::NotRunning)?;
        apps.remove(place);
        Ok(())
    }
}

/// All announcements.
#[derive(Default)]
struct Announced(Mutex<Vec<Change>>);

#[async_trait]
impl ChangeSubscriber for Announced {
    async fn follow(&self, announcement: &Announcement) {
        self.0.lock().unwrap().push(announcement.change.clone());
    }
}

/// A platform, and its announcements.
pub(crate) struct Fixture {
    pub(crate) platform: Arc<Platform>,
    pub(crate) sessions: Arc<FakeSessions>,
    pub(crate) clock: Arc<FixedClock>,
    announced: Arc<Announced>,
    _folder: tempfile::TempDir,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// With other stores.
    pub(crate) async fn with(change: impl FnOnce(&mut Stores)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = SqliteSettings::for_file(folder.path().join("t.db"));
        let mut stores = toolyard_store::open(settings.into(), &TaskTracker::new()).await.unwrap();
        change(&mut stores);
        let (sessions, clock) = (Arc::<FakeSessions>::default(), Arc::<FixedClock>::default());
        let platform = Arc::new(platform(&stores, &sessions, &clock).await);
        let announced = Arc::new(Announced::default());
        let subscribers: [Arc<dyn ChangeSubscriber>; 2] = [announced.clone(), platform.clone()];
        for subscriber in &subscribers {
            stores.announcements.subscribe(Arc::downgrade(subscriber));
        }
        Self { platform, sessions, clock, announced, _folder: folder }
    }

    /// The announcements since the last call.
    pub(crate) fn announced(&self) -> Vec<Change> {
        std::mem::take(&mut *self.announced.0.lock().unwrap())
    }
}

async fn platform(stores: &Stores, sessions: &Arc<FakeSessions>, clock: &Arc<FixedClock>) -> Platform {
    let ports = CatalogPorts {
        stores: stores.clone(),
        presence: Arc::new(NobodyPresent),
        plugins: None,
        builtin: None,
        pinning: PinPolicy::default(),
    };
    let (clock, guard) = (clock.clone(), Guard::strict());
    let trust = PluginTrust::open(
        TrustSetup::default(),
        stores.plugin_lists.clone(),
        toolyard_core::ports::Clock::now(&*clock),
    );
    let bounds = PluginBounds { per_user: 2, manifest_bytes: 10_000, catalogue: 2 };
    let rate = |number| RateLimit { per_second: number, burst: number };
    let many = 1_000.try_into().unwrap();
    let gate = ApprovalGateParts {
        approvals: stores.approvals.clone(),
        rules: stores.approval_rules.clone(),
        announcements: stores.announcements.clone(),
        clock: clock.clone(),
        ids: Arc::new(SystemIds),
        secrets: Arc::new(TestSecrets),
        labels: stores.labels.clone(),
        policy: ApprovalPolicy::default().into(),
        data_flow: LabelSettings::default(),
        settings: ApprovalSettings::default().into(),
    };
    Platform {
        definitions: Arc::new(DefinitionReviewer::new(stores.clone(), clock.clone(), PinPolicy::default())),
        stores: stores.clone(),
        catalog: Catalog::new(ports, ViewLimits::default()),
        approvals: ApprovalGate::start(gate).await.unwrap(),
        clock,
        ids: Arc::new(SystemIds),
        secrets: Arc::new(TestSecrets),
        audit_log: AuditWriter::new(&TestSecrets),
        tokens: Arc::new(TokenSigner::new(&TestSecrets).unwrap()),
        sessions: sessions.clone(),
        tickets: SocketTickets::new(30, toolyard_core::ports::HomeMarks::default()),
        accounts: toolyard_platform::accounts::AccountState::default(),
        http: HttpClient::new(guard.clone(), ClientSettings::default()),
        web_guard: guard.clone(),
        guard,
        plugins: PluginContext::new(Arc::new(trust.await.unwrap()), None, bounds),
        limits: RequestLimits::new(rate(many), rate(many)),
        config: PlatformConfig {
            default_app_kind: AppKind::ToolsOnly,
            max_call_timeout_ms: 60_000,
            max_wake_timeout_ms: 60_000,
            token_quota: TokenQuota { of_subject: 3, of_all: 10 },
            allow_commands: false,
            accounts: toolyard_platform::accounts::AccountSettings {
                passwords: true,
                passkeys: None,
                idle: std::time::Duration::from_secs(60 * 60),
                absolute: std::time::Duration::from_secs(24 * 60 * 60),
                sessions_per_user: 3,
                passkeys_per_user: 2,
                max_accounts: 100,
                issuers: Vec::new(),
                own_token_days: 90,
            },
            clients: toolyard_platform::clients::ClientSettings::default(),
            approval_apps: Vec::new(),
        }
        .into(),
    }
}

pub(crate) fn person(name: &str, role: Role) -> Actor {
    Actor::Person { name: name.to_owned(), role, credential: Credential::DevHeader }
}

pub(crate) fn for_user(name: &str) -> ActorOfUser {
    ActorOfUser { user: name.parse().unwrap(), actor: person(name, Role::User) }
}

/// The kind of a refusal.
#[track_caller]
pub(crate) fn refusal<T>(outcome: Result<T, PlatformError>) -> PlatformError {
    match outcome {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error,
    }
}
