//! Adding a browser, or updating what is known about it.

use std::net::IpAddr;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use sha2::{Digest as _, Sha256};
use toolyard_core::ports::StoredPushSubscription;
use toolyard_net::{Guard, OutsideUrl, url_host};
use toolyard_protocol::{
    PushSubscriptionId,
    push::{MAX_PUSH_LABEL, MAX_PUSH_SUBSCRIPTIONS, NewPushSubscription},
    text::truncate_chars,
    visible::strip_invisible,
};

use super::require_user;
use crate::{ActorOfUser, Platform, PlatformError};

/// Browsers send keys without padding; some libraries add it.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Size of an uncompressed P-256 point.
const KEY_BYTES: usize = 65;
/// Size of the authentication secret.
const AUTH_BYTES: usize = 16;

/// Adds a browser of the user, which subscribed with `server_key`. A browser that another user added before is this user's from
/// now on, so that nobody is shown another user's calls.
pub async fn subscribe(
    platform: &Platform,
    actor: &ActorOfUser,
    request: NewPushSubscription,
    server_key: &str,
) -> Result<StoredPushSubscription, PlatformError> {
    require_user(actor)?;
    let NewPushSubscription { endpoint, keys, label } = request;
    check_endpoint(&endpoint, &platform.web_guard)
        .map_err(|error| PlatformError::invalid(format!("endpoint: {error}")))?;
    let receiver_key = decode_key("keys.p256dh", &keys.p256dh, KEY_BYTES)?;
    // The first byte of an uncompressed point. Whether it is on the curve is checked when a message is encrypted.
    if receiver_key.first() != Some(&4) {
        return Err(PlatformError::invalid("keys.p256dh: expected an uncompressed P-256 point"));
    }
    let subscription = StoredPushSubscription {
        id: subscription_id(&endpoint),
        user: actor.user.clone(),
        receiver_key,
        auth_secret: decode_key("keys.auth", &keys.auth, AUTH_BYTES)?,
        server_key: server_key.to_owned(),
        label: browser_label(label.as_deref(), &endpoint),
        created_at: platform.clock.now(),
        last_sent_at: None,
        problem: None,
        endpoint,
    };
    platform.stores.push_subscriptions.put_push_subscription(&subscription, MAX_PUSH_SUBSCRIPTIONS).await?;
    Ok(subscription)
}

/// Push services are reached over https. A browser names the URL, so it may only lead to the web; a service on this machine,
/// which the operator allowed, needs no certificate.
fn check_endpoint(endpoint: &str, guard: &Guard) -> Result<(), String> {
    let url = OutsideUrl::parse(endpoint, guard).map_err(|error| error.to_string())?;
    let host = url.uri().host().unwrap_or_default();
    let is_local = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if url.uri().scheme_str() == Some("https") || is_local {
        return Ok(());
    }
    Err("a push service has an https URL".to_owned())
}

fn decode_key(member: &str, text: &str, bytes: usize) -> Result<Vec<u8>, PlatformError> {
    let decoded = BASE64URL.decode(text).ok().filter(|decoded| decoded.len() == bytes);
    decoded.ok_or_else(|| PlatformError::invalid(format!("{member}: expected {bytes} bytes in base64url")))
}

fn subscription_id(endpoint: &str) -> PushSubscriptionId {
    let mut id = [0; 16];
    id.copy_from_slice(&Sha256::digest(endpoint)[..16]);
    PushSubscriptionId::from_bytes(id)
}

fn browser_label(label: Option<&str>, endpoint: &str) -> String {
    let cleaned = strip_invisible(label.unwrap_or_default().trim()).into_owned();
    if cleaned.is_empty() {
        return url_host(endpoint).unwrap_or_default();
    }
    truncate_chars(&cleaned, MAX_PUSH_LABEL).into_owned()
}
