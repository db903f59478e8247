//! Opening a store: every port on one database.

use std::{path::PathBuf, sync::Arc};

use sqlx::migrate::MigrateError;
use tokio_util::task::TaskTracker;
use toolyard_core::{
    LiveValue,
    ports::{
        AccountStore, AppDataStore, AppRunStore, AppStore, ApprovalRuleStore, ApprovalStore, AuditStore,
        BrowserSessionStore, CallLog, DefinitionStore, DeviceLoginStore, DeviceStore, InstallStore,
        InstalledPluginStore, IssuedTokenStore, LabelStore, Ledger, OAuthStore, OfferStore,
        PersonalDataStore, PinStore, PluginDataStore, PluginListStore, PreferenceStore, PublishedPluginStore,
        PushSubscriptionStore, QuarantineStore, SignInStore, StoreError, StoreMaintenance, StoreQuotas,
        Stores, ToolSwitchStore, UpstreamStore, UpstreamTokenStore, UsageLog,
    },
};

use crate::{
    PostgresSettings, PostgresStore, SqliteSettings, SqliteStore,
    announcements::{ChangeLog, LocalAnnouncements},
};

/// Which database, and how it is opened.
#[derive(Debug, Clone)]
pub enum StoreSettings {
    /// A file on this machine.
    Sqlite(SqliteSettings),
    /// A PostgreSQL database.
    Postgres(PostgresSettings),
}

impl StoreSettings {
    /// The database as an operator knows it: its file, or its URL without the password.
    pub fn shown_database(&self) -> String {
        match self {
            Self::Sqlite(settings) => settings.path.display().to_string(),
            Self::Postgres(settings) => settings.shown_url(),
        }
    }

    /// How much one person may store. Replacing it changes an open store.
    pub fn quotas(&self) -> &LiveValue<StoreQuotas> {
        match self {
            Self::Sqlite(settings) => &settings.quotas,
            Self::Postgres(settings) => &settings.quotas,
        }
    }
}

impl From<SqliteSettings> for StoreSettings {
    fn from(settings: SqliteSettings) -> Self {
        Self::Sqlite(settings)
    }
}

impl From<PostgresSettings> for StoreSettings {
    fn from(settings: PostgresSettings) -> Self {
        Self::Postgres(settings)
    }
}

/// The store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot be created.
    #[error("cannot create the folder of {}: {error}", path.display())]
    Folder {
        /// The database file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// Another server has the data folder.
    #[error(
        "the data folder {} is in use by {by}: stop that server, or talk to it instead of opening its data, or choose another \
         folder with --data", folder.display()
    )]
    InUse {
        /// Which folder.
        folder: PathBuf,
        /// Which process has it.
        by: String,
    },
    /// The thread of the ledger cannot be started.
    #[error("cannot start the thread that writes the ledger: {0}")]
    Thread(std::io::Error),
    /// It cannot be read.
    #[error("cannot read the store: {0}")]
    Unreadable(StoreError),
    /// The database failed.
    #[error("cannot open {database}: {error}")]
    Database {
        /// Its file, or its URL without the password.
        database: String,
        /// The database's error.
        error: sqlx::Error,
    },
    /// The database is not one that we can use.
    #[error("cannot use {database}: {reason}")]
    Unsuitable {
        /// Its file, or its URL without the password.
        database: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The tables cannot be migrated.
    #[error("cannot bring the tables of {database} up to date: {error}")]
    Migrate {
        /// Its file, or its URL without the password.
        database: String,
        /// What went wrong.
        error: MigrateError,
    },
}

impl OpenError {
    /// The error of a migration. If the database is newer than this program, it says so.
    pub(crate) fn migration(database: String, error: MigrateError) -> Self {
        match error {
            MigrateError::VersionMissing(version) => Self::Unsuitable {
                database,
                reason: format!(
                    "it was written by a newer version of Toolyard (its tables are at step {version}, which this version does \
                     not know): start that version, or restore a backup from before the upgrade"
                ),
            },
            error => Self::Migrate { database, error },
        }
    }
}

/// A store that implements every port.
trait EveryPort:
    AppStore
    + DefinitionStore
    + InstallStore
    + ToolSwitchStore
    + PreferenceStore
    + DeviceStore
    + AppDataStore
    + AppRunStore
    + UpstreamStore
    + OfferStore
    + UpstreamTokenStore
    + InstalledPluginStore
    + PluginDataStore
    + PluginListStore
    + PublishedPluginStore
    + Ledger
    + CallLog
    + UsageLog
    + ApprovalStore
    + ApprovalRuleStore
    + LabelStore
    + PinStore
    + QuarantineStore
    + PushSubscriptionStore
    + OAuthStore
    + AccountStore
    + SignInStore
    + BrowserSessionStore
    + DeviceLoginStore
    + PersonalDataStore
    + AuditStore
    + IssuedTokenStore
    + StoreMaintenance
    + 'static
{
}
impl EveryPort for SqliteStore {}
impl EveryPort for PostgresStore {}

/// Opens the store and migrates its tables. Its writer runs on `tasks` until the store is closed.
pub async fn open(settings: StoreSettings, tasks: &TaskTracker) -> Result<Stores, OpenError> {
    match settings {
        StoreSettings::Sqlite(settings) => {
            let store = SqliteStore::open(settings, tasks).await?;
            let log = Arc::new(store.change_log());
            every_port(Arc::new(store), log).await
        }
        StoreSettings::Postgres(settings) => {
            let store = Arc::new(PostgresStore::open(settings, tasks).await?);
            let log = Arc::new(store.change_log());
            let stores = every_port(store.clone(), log).await?;
            Ok(Stores { cluster: Some(store), ..stores })
        }
    }
}

async fn every_port(store: Arc<impl EveryPort>, log: Arc<dyn ChangeLog>) -> Result<Stores, OpenError> {
    let announcements = LocalAnnouncements::start(log).await;
    Ok(Stores {
        announcements: Arc::new(announcements.map_err(OpenError::Unreadable)?),
        apps: store.clone(),
        definitions: store.clone(),
        installs: store.clone(),
        settings: store.clone(),
        preferences: store.clone(),
        devices: store.clone(),
        app_data: store.clone(),
        runs: store.clone(),
        upstreams: store.clone(),
        offers: store.clone(),
        upstream_tokens: store.clone(),
        plugins: store.clone(),
        plugin_data: store.clone(),
        plugin_lists: store.clone(),
        published_plugins: store.clone(),
        ledger: store.clone(),
        calls: store.clone(),
        usage: store.clone(),
        approvals: store.clone(),
        approval_rules: store.clone(),
        labels: store.clone(),
        pins: store.clone(),
        quarantine: store.clone(),
        push_subscriptions: store.clone(),
        oauth: store.clone(),
        accounts: store.clone(),
        sign_in: store.clone(),
        browser_sessions: store.clone(),
        device_logins: store.clone(),
        personal_data: store.clone(),
        audit: store.clone(),
        tokens: store.clone(),
        cluster: None,
        maintenance: store,
    })
}
