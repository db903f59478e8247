//! A platform on a real store in a temporary folder, and actors.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio_util::task::TaskTracker;
use toolyard_core::{
    Catalog,
    catalog::{CatalogPorts, ViewLimits},
    policy::RateLimit,
    ports::{
        Announcement, Change, ChangeSubscriber, SecretSealer, SessionView, Stores, SystemIds, TokenQuota,
        UnsealError, UserPresence,
    },
};
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_platform::{
    Actor, ActorOfUser, Credential, Platform, PlatformConfig, PlatformError, RequestLimits,
    plugins::{PluginBounds, PluginContext, PluginTrust, TrustSetup},
    tokens::TokenSigner,
};
use toolyard_protocol::{UserId, api::Role, app::AppKind};
use toolyard_store::StoreSettings;
use toolyard_testkit::FixedClock;

/// Seals by reversing the bytes: enough to see that a value was sealed.
struct TestSecrets;

impl SecretSealer for TestSecrets {
    fn seal(&self, plain: &str) -> Vec<u8> {
        plain.bytes().map(|byte| !byte).collect()
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
    announced: Arc<Announced>,
    _folder: tempfile::TempDir,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = StoreSettings::for_file(folder.path().join("t.db"));
        let stores = toolyard_store::open(settings, &TaskTracker::new()).await.unwrap();
        let platform = Arc::new(platform(&stores).await);
        let announced = Arc::new(Announced::default());
        let subscribers: [Arc<dyn ChangeSubscriber>; 2] = [announced.clone(), platform.clone()];
        for subscriber in &subscribers {
            stores.announcements.subscribe(Arc::downgrade(subscriber));
        }
        Self { platform, announced, _folder: folder }
    }

    /// The announcements since the last call.
    pub(crate) fn announced(&self) -> Vec<Change> {
        std::mem::take(&mut *self.announced.0.lock().unwrap())
    }
}

async fn platform(stores: &Stores) -> Platform {
    let ports = CatalogPorts {
        stores: stores.clone(),
        presence: Arc::new(NobodyPresent),
        plugins: None,
        builtin: None,
    };
    let (clock, guard) = (Arc::new(FixedClock::default()), Guard::strict());
    let trust = PluginTrust::open(
        TrustSetup::default(),
        stores.plugin_lists.clone(),
        toolyard_core::ports::Clock::now(&*clock),
    );
    let bounds = PluginBounds { per_user: 2, manifest_bytes: 10_000, catalogue: 2 };
    let rate = |number| RateLimit { per_second: number, burst: number };
    let many = 1_000.try_into().unwrap();
    Platform {
        stores: stores.clone(),
        catalog: Catalog::new(ports, ViewLimits::default()),
        clock,
        ids: Arc::new(SystemIds),
        secrets: Arc::new(TestSecrets),
        tokens: Arc::new(TokenSigner::new(&TestSecrets).unwrap()),
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
        },
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
