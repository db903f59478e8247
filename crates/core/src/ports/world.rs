//! Clock, randomness, secrets and limits: passed in, so that tests can control them.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::{CallId, ToolName, UserId};

/// The wall clock.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
    fn now(&self) -> Timestamp {
        Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

/// Random bytes, and the ids and secrets made from them.
pub trait IdGenerator: Send + Sync {
    /// Fills the buffer with random bytes.
    fn fill_random(&self, bytes: &mut [u8]);

    /// A new call id; ids sort by time.
    fn new_call_id(&self, now: Timestamp) -> CallId {
        let mut bytes = [0; 16];
        self.fill_random(&mut bytes[6..]);
        let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
        bytes[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
        CallId::from_bytes(bytes)
    }

    /// A random number other than 0, as trace and span ids require.
    fn random_number(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_random(&mut bytes);
        u64::from_be_bytes(bytes).max(1)
    }

    /// A new secret of 32 random bytes, in hex.
    fn new_secret(&self) -> String {
        let mut bytes = [0; 32];
        self.fill_random(&mut bytes);
        hex::encode(bytes)
    }
}

/// The random number generator of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl IdGenerator for SystemIds {
    fn fill_random(&self, bytes: &mut [u8]) {
        use rand::Rng as _;
        rand::rng().fill_bytes(bytes);
    }
}

/// Rate limits of calls. Async, because the counts may be shared by all nodes.
#[async_trait]
pub trait CallRateLimiter: Send + Sync {
    /// Counts one call, or returns how long to wait.
    async fn check_call(&self, user: &UserId, tool: &ToolName) -> Result<(), Duration>;
}

/// A sealed text that could not be opened: wrong root key, or damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a stored secret cannot be opened with this root key")]
pub struct UnsealError;

/// A text could not be sealed: there is no root key, or the text is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a secret cannot be sealed with this root key")]
pub struct SealError;

/// Seals secrets with the root key and derives keys from it. During a rotation two root keys are accepted; new values
/// use the first.
pub trait SecretSealer: Send + Sync {
    /// Seals a text for the store.
    fn seal(&self, plain: &str) -> Result<Vec<u8>, SealError>;
    /// Opens what [`SecretSealer::seal`] made.
    fn unseal(&self, sealed: &[u8]) -> Result<String, UnsealError>;
    /// Subkeys for a purpose, the current one first.
    fn derive_keys(&self, purpose: &str) -> Vec<[u8; 32]>;
}
