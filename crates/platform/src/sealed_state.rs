//! State that others carry for us: sealed, for one purpose, for a time. Nothing waits in memory, and any node continues.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Platform, PlatformError};

/// What a sealed text is for. A text for one purpose is worthless for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SealPurpose {
    /// A link with which a person signs in.
    SignInLink,
    /// The challenge of a sign-in with a passkey.
    PasskeySignIn,
    /// The challenge of a new passkey.
    PasskeyRegistration,
    /// What a browser brings back from an identity provider.
    IssuerSignIn,
    /// A client's request that waits on the consent page.
    ConsentRequest,
}

#[derive(Serialize, Deserialize)]
struct SealedState<T> {
    purpose: SealPurpose,
    /// In seconds since 1970.
    until: i64,
    /// So that it can be used once.
    id: String,
    data: T,
}

/// Unsealed state, and by which id it is used once.
pub struct OpenedState<T> {
    /// What was sealed.
    pub data: T,
    id: String,
    until: i64,
}

/// Seals state for one purpose, valid until that time.
pub fn seal<T: Serialize>(
    platform: &Platform,
    purpose: SealPurpose,
    until: Timestamp,
    data: T,
) -> Result<String, PlatformError> {
    let mut id = [0; 16];
    platform.ids.fill_random(&mut id);
    let state = SealedState { purpose, until: until.as_second(), id: hex::encode(id), data };
    let text = serde_json::to_string(&state)
        .map_err(|_| PlatformError::Internal("the state could not be sealed"))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(platform.secrets.seal(&text)?))
}

/// None if it was not sealed here for this purpose, or the time is over.
pub fn unseal<T: DeserializeOwned>(
    platform: &Platform,
    purpose: SealPurpose,
    text: &str,
) -> Option<OpenedState<T>> {
    let sealed = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    let state: SealedState<T> = serde_json::from_str(&platform.secrets.unseal(&sealed).ok()?).ok()?;
    let is_current = state.purpose == purpose && state.until > platform.clock.now().as_second();
    is_current.then_some(OpenedState { data: state.data, id: state.id, until: state.until })
}

impl<T> OpenedState<T> {
    /// Until when it can be used.
    pub fn until(&self) -> Timestamp {
        Timestamp::from_second(self.until).unwrap_or(Timestamp::MAX)
    }

    /// Whether it was not used before. Of several at once, one is the first.
    pub async fn use_once(&self, platform: &Platform) -> Result<bool, PlatformError> {
        Ok(platform.stores.oauth.use_id_once(&format!("state:{}", self.id), self.until()).await?)
    }
}
