//! The people who use the platform: their accounts, how they sign in, and the browsers in which they are signed in.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::{TokenId, UserId, accounts::SignInMethod, api::Role};

use super::StoreError;

/// The account of a user. A user can exist without one: one who only has a token, or uses an issuer's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserAccount {
    /// The user.
    pub id: UserId,
    /// The e-mail address, in lower case. No two accounts have the same.
    pub email: Option<String>,
    /// The name of the person.
    pub name: Option<String>,
    /// What they may do after a sign-in.
    pub role: Role,
    /// The groups they are in, sorted.
    pub groups: Vec<String>,
    /// The issuer whose rules decide role and groups.
    pub managed_by: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// One-time links from before this are worthless: it was created, or enabled again.
    pub links_from: Timestamp,
    /// When they were last seen in a browser.
    pub last_seen_at: Option<Timestamp>,
    /// Since when it is disabled.
    pub disabled_at: Option<Timestamp>,
}

/// The outcome of adding or changing an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveAccountOutcome {
    /// It was saved.
    Saved,
    /// The user already has one, or has none that could be changed.
    WrongState,
    /// Another account has this e-mail address.
    EmailTaken,
    /// Nobody could run the platform any more.
    LastOperator,
    /// There are as many accounts as there may be.
    QuotaReached,
}

/// Which accounts are listed.
#[derive(Debug, Clone, Copy)]
pub struct AccountQuery<'a> {
    /// Only accounts whose id, e-mail address or name contains this text, in lower case.
    pub text: &'a str,
    /// Only accounts after this user.
    pub after: Option<&'a UserId>,
    /// At most this many.
    pub limit: u32,
}

/// Stores accounts.
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// The account of a user.
    async fn find_account(&self, user: &UserId) -> Result<Option<UserAccount>, StoreError>;
    /// The account with an e-mail address, in lower case.
    async fn find_account_by_email(&self, email: &str) -> Result<Option<UserAccount>, StoreError>;
    /// Accounts by user id.
    async fn list_accounts(&self, query: AccountQuery<'_>) -> Result<Vec<UserAccount>, StoreError>;
    /// Adds an account, if there are fewer than `max`.
    async fn add_account(&self, account: &UserAccount, max: u32) -> Result<SaveAccountOutcome, StoreError>;
    /// Replaces an account, except for when it was created and last seen. `WrongState` if role, groups or state are not those
    /// that were read before: someone else changed them.
    async fn change_account(
        &self,
        before: &UserAccount,
        account: &UserAccount,
    ) -> Result<SaveAccountOutcome, StoreError>;
    /// The users whose accounts are disabled.
    async fn disabled_users(&self) -> Result<Vec<UserId>, StoreError>;
    /// Whether an account that is not disabled has the role `operator`.
    async fn has_operator(&self) -> Result<bool, StoreError>;
}

/// A password, hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPassword {
    /// The hash with its parameters, in PHC format.
    pub hash: String,
    /// When it was set.
    pub changed_at: Timestamp,
}

/// A passkey of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPasskey {
    /// The id of the credential, in base64url.
    pub id: String,
    /// The user.
    pub user: UserId,
    /// What the user calls it.
    pub name: String,
    /// The public key and the counter, as JSON.
    pub record: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
}

/// How a user can sign in without the operator's help.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignInMethods {
    /// The password, if one is set.
    pub password: Option<StoredPassword>,
    /// Passkeys, oldest first.
    pub passkeys: Vec<StoredPasskey>,
    /// How many identities of issuers belong to the user.
    pub identities: u32,
}

/// The outcome of removing a way to sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoveMethodOutcome {
    /// It was removed.
    Removed,
    /// There is none.
    Unknown,
    /// It is the only one.
    OnlyOne,
}

/// Stores how users sign in.
#[async_trait]
pub trait SignInStore: Send + Sync {
    /// How a user can sign in.
    async fn sign_in_methods(&self, user: &UserId) -> Result<SignInMethods, StoreError>;
    /// Sets the password of a user.
    async fn set_password(&self, user: &UserId, password: &StoredPassword) -> Result<(), StoreError>;
    /// Removes the password of a user.
    async fn remove_password(&self, user: &UserId) -> Result<RemoveMethodOutcome, StoreError>;
    /// Adds a passkey. False if it is known already, or the user has `max`.
    async fn add_passkey(&self, passkey: &StoredPasskey, max: u32) -> Result<bool, StoreError>;
    /// A passkey by the id of its credential.
    async fn find_passkey(&self, id: &str) -> Result<Option<StoredPasskey>, StoreError>;
    /// Replaces the record of a passkey that was used. False if another sign-in replaced it since it was read.
    async fn use_passkey(
        &self,
        read: &StoredPasskey,
        record: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Removes a passkey of a user.
    async fn remove_passkey(&self, user: &UserId, id: &str) -> Result<RemoveMethodOutcome, StoreError>;
    /// The user that a subject of an issuer belongs to.
    async fn find_identity(&self, issuer: &str, subject: &str) -> Result<Option<UserId>, StoreError>;
    /// Records that a subject of an issuer is this user. False if it is another user's.
    async fn add_identity(&self, issuer: &str, subject: &str, user: &UserId) -> Result<bool, StoreError>;
}

/// A browser in which a user is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserSession {
    /// Its id. The tokens in its cookie have the same.
    pub id: TokenId,
    /// The user.
    pub user: UserId,
    /// How the user signed in.
    pub method: SignInMethod,
    /// The browser and the system, as far as it says.
    pub device: String,
    /// When the user signed in.
    pub started_at: Timestamp,
    /// When it was last used.
    pub last_seen_at: Timestamp,
    /// When it ends, however much it is used.
    pub expires_at: Timestamp,
}

/// Which sessions of a user end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedSessions<'a> {
    /// All.
    All,
    /// One.
    One(&'a TokenId),
    /// All but one.
    AllBut(&'a TokenId),
}

/// Stores in which browsers users are signed in.
#[async_trait]
pub trait BrowserSessionStore: Send + Sync {
    /// Adds a session of an account that is not disabled, and returns the role of the account at that moment; None if there
    /// is none. Beyond `max` of a user, the one that was used longest ago ends, and is known as ended until `known_until`.
    async fn add_browser_session(
        &self,
        session: &BrowserSession,
        max: u32,
        known_until: Timestamp,
    ) -> Result<Option<Role>, StoreError>;
    /// The sessions of a user that have neither ended nor expired, the one that was used last first.
    async fn list_browser_sessions(
        &self,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Vec<BrowserSession>, StoreError>;
    /// Records that a session is used, and returns the role of its account now. None if it has ended.
    async fn touch_browser_session(&self, id: &TokenId, at: Timestamp) -> Result<Option<Role>, StoreError>;
    /// Ends sessions of a user. Returns those that had not ended. They are known as ended until `known_until`: no cookie is
    /// valid longer than that.
    async fn end_browser_sessions(
        &self,
        user: &UserId,
        which: EndedSessions<'_>,
        at: Timestamp,
        known_until: Timestamp,
    ) -> Result<Vec<BrowserSession>, StoreError>;
    /// The sessions that have ended and would not have expired yet, with their expiry.
    async fn ended_browser_sessions(&self, now: Timestamp) -> Result<Vec<(TokenId, Timestamp)>, StoreError>;
    /// Removes sessions that have expired.
    async fn prune_browser_sessions(&self, now: Timestamp) -> Result<(), StoreError>;
}

/// Everything that is stored about one user.
#[async_trait]
pub trait PersonalDataStore: Send + Sync {
    /// Everything that is stored about a user except secrets, by table, at most `max_rows` of each, the newest.
    async fn export_user(&self, user: &UserId, max_rows: u32) -> Result<serde_json::Value, StoreError>;
    /// Deletes everything that is stored about a user. What identifies revoked credentials stays until they expire.
    async fn delete_user(&self, user: &UserId) -> Result<(), StoreError>;
}

/// A program on a device that waits for a person to agree in a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceLogin {
    /// The code that the person compares or types.
    pub user_code: String,
    /// What the program calls itself.
    pub name: String,
    /// When it asked.
    pub created_at: Timestamp,
    /// Until when it can be answered and redeemed.
    pub until: Timestamp,
    /// Whether someone has answered.
    pub is_answered: bool,
}

/// What a person agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceLoginConsent {
    /// The person.
    pub user: UserId,
    /// Their role.
    pub role: Role,
    /// For how many days the token is valid.
    pub days: u32,
}

/// What redeeming a device login found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedeemedDeviceLogin {
    /// Nobody has answered yet.
    Waiting,
    /// A person agreed, and nobody redeemed it before.
    Agreed {
        /// What the program calls itself.
        name: String,
        /// What the person agreed to.
        consent: DeviceLoginConsent,
    },
    /// Refused, redeemed before, expired or unknown.
    Gone,
}

/// Stores programs that wait for a person to agree.
#[async_trait]
pub trait DeviceLoginStore: Send + Sync {
    /// Adds one under the hash of its secret. False if `max` wait already, or the code is taken.
    async fn add_device_login(
        &self,
        hash: &[u8; 32],
        login: &DeviceLogin,
        max: u32,
    ) -> Result<bool, StoreError>;
    /// The one with a code, unless it has expired.
    async fn find_device_login(
        &self,
        user_code: &str,
        now: Timestamp,
    ) -> Result<Option<DeviceLogin>, StoreError>;
    /// Records who agreed or refused. False if someone answered before, or it has expired.
    async fn answer_device_login(
        &self,
        user_code: &str,
        user: &UserId,
        consent: Option<&DeviceLoginConsent>,
        now: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Redeems one. Of several requests at once, one gets what was agreed to.
    async fn redeem_device_login(
        &self,
        hash: &[u8; 32],
        now: Timestamp,
    ) -> Result<RedeemedDeviceLogin, StoreError>;
    /// Removes those that have expired.
    async fn prune_device_logins(&self, now: Timestamp) -> Result<(), StoreError>;
}
