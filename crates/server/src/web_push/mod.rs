//! Web push: notifies a user's browsers when a call waits for them, also while no page of the console is open.
//!
//! | look for | in |
//! | --- | --- |
//! | which approvals are announced, and how they read | `notify` |
//! | a request to a push service | `send` |
//! | the encryption of a message | `encrypt` |
//! | our key at push services | `vapid` |

mod encrypt;
mod notify;
mod send;
mod vapid;

use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use toolyard_core::ports::{
    IdGenerator, PushSubscriptionStore, SecretSealer, StoreError, StoredPushSubscription,
};
use toolyard_protocol::{
    UserId,
    push::{PushMessage, PushTestReport},
};

pub(crate) use self::notify::start_push;
use self::{
    send::{Delivery, PushError, PushSender},
    vapid::VapidKey,
};
use crate::{config::Config, parts::WebAccess};

/// Browsers of one user that are notified at the same time.
const AT_ONCE: usize = 8;

/// Notifies browsers.
pub(crate) struct WebPush(PushSender);

impl WebPush {
    /// None if the operator switched it off, or if no key can be derived.
    pub(crate) fn from_config(config: &Config, secrets: &dyn SecretSealer, web: WebAccess) -> Option<Self> {
        let keys = VapidKey::derive_all(secrets);
        if !config.approvals.push || keys.is_empty() {
            return None;
        }
        let contact = config.approvals.push_contact.clone();
        // A push service wants to reach someone; the address of the server is the best there is.
        let contact = contact.unwrap_or_else(|| match config.base_url() {
            url if url.starts_with("https://") => url,
            _ => "mailto:operator@localhost".to_owned(),
        });
        Some(Self(PushSender { keys, web, contact }))
    }

    /// The key that browsers subscribe with.
    pub(crate) fn public_key(&self) -> &str {
        self.0.keys.first().map_or("", |key| &key.public_key)
    }

    /// Sends a message to all browsers of a user. What happened is stored with each of them.
    async fn notify_user(
        &self,
        store: &dyn PushSubscriptionStore,
        ids: &dyn IdGenerator,
        now: Timestamp,
        user: &UserId,
        message: &PushMessage,
        delivery: &Delivery,
    ) -> Result<PushTestReport, StoreError> {
        let browsers = store.list_push_subscriptions(user).await?;
        let count = browsers.len();
        let sent = stream::iter(browsers).map(|browser| async move {
            let outcome = self.0.send(ids, now.as_second(), &browser, message, delivery).await;
            record_outcome(store, &browser, now, &outcome).await;
            outcome.is_ok()
        });
        let sent =
            sent.buffer_unordered(AT_ONCE).filter(|was_sent| std::future::ready(*was_sent)).count().await;
        Ok(PushTestReport { sent, failed: count - sent })
    }
}

async fn record_outcome(
    store: &dyn PushSubscriptionStore,
    browser: &StoredPushSubscription,
    now: Timestamp,
    outcome: &Result<(), PushError>,
) {
    let (user, id) = (&browser.user, &browser.id);
    let stored = match outcome {
        Ok(()) => store.record_push(user, id, Ok(now)).await,
        Err(PushError::Gone) => {
            tracing::info!(%user, browser = %id, "browser unsubscribed from push messages");
            store.remove_push_subscription(user, id).await.map(drop)
        }
        Err(error @ (PushError::Temporary(_) | PushError::Permanent(_))) => {
            tracing::warn!(%user, browser = %id, %error, "push message not accepted");
            store.record_push(user, id, Err(&error.to_string())).await
        }
    };
    if let Err(error) = stored {
        tracing::error!(%user, browser = %id, %error, "outcome of a push message not stored");
    }
}
