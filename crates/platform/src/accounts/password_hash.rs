//! Hashes passwords: argon2id with the parameters that OWASP recommends, off the worker threads, two at a time.

use std::sync::{Arc, LazyLock};

use argon2::{
    Argon2,
    password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash},
};
use tokio::sync::Semaphore;
use toolyard_core::ports::IdGenerator;
use toolyard_protocol::secret::SecretText;

use crate::PlatformError;

/// Hashes at once: each needs 19 MiB and some 30 ms of a core.
const AT_ONCE: usize = 2;
/// Requests that may wait for their turn.
const MAX_WAITING: usize = 64;

/// The hash that is compared if there is no account, so that it takes as long.
static NOBODYS_HASH: LazyLock<Option<String>> = LazyLock::new(|| {
    Argon2::default().hash_password_with_salt(b"nobody", &[0; 16]).ok().map(|hash| hash.to_string())
});

/// Hashes and compares passwords.
pub(super) struct PasswordHasher {
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl PasswordHasher {
    pub(super) fn new() -> Self {
        Self { running: Arc::new(Semaphore::new(AT_ONCE)), waiting: Arc::new(Semaphore::new(MAX_WAITING)) }
    }

    /// A hash with a new salt.
    pub(super) async fn hash(
        &self,
        password: SecretText,
        ids: &dyn IdGenerator,
    ) -> Result<String, PlatformError> {
        let mut salt = [0; 16];
        ids.fill_random(&mut salt);
        let hash = move || {
            let hashed = Argon2::default().hash_password_with_salt(password.expose().as_bytes(), &salt);
            hashed.ok().map(|hash| hash.to_string())
        };
        self.run(hash).await?.ok_or(PlatformError::Internal("the password could not be hashed"))
    }

    /// Whether the password fits. Without a hash it takes as long, and does not fit.
    pub(super) async fn verify(
        &self,
        password: SecretText,
        hash: Option<String>,
    ) -> Result<bool, PlatformError> {
        self.run(move || {
            let is_known = hash.is_some();
            let Some(hash) = hash.or_else(|| NOBODYS_HASH.clone()) else { return false };
            let Ok(parsed) = PasswordHash::new(&hash) else { return false };
            let fits = Argon2::default().verify_password(password.expose().as_bytes(), &parsed).is_ok();
            fits && is_known
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PlatformError> {
        let busy = || PlatformError::Unavailable("too many sign-ins at once; try again".to_owned());
        let _waiting = self.waiting.clone().try_acquire_owned().map_err(|_| busy())?;
        let running = self.running.clone().acquire_owned().await.map_err(|_| busy())?;
        let worked = tokio::task::spawn_blocking(move || {
            let _running = running;
            work()
        });
        worked.await.map_err(|_| PlatformError::Internal("the password could not be checked"))
    }
}
