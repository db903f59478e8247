//! Passkeys. The challenge travels sealed with the page, so nothing waits in memory; it is used up by the first response.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use toolyard_authorization::passkey::{
    PasskeyAlgorithm, PasskeyAssertion, PasskeyKey, PasskeyRegistration, RelyingParty, verify_assertion,
    verify_registration,
};
use toolyard_core::ports::{StoredPasskey, UserAccount};
use toolyard_protocol::{
    UserId,
    accounts::{NewPasskey, PasskeyChallenge, PasskeySignIn, SignInMethod},
    audit::AuditAction,
};

use super::{
    SignedInUser, StartedSession, account_of, admit, checked_name, later, password::removal_result,
    require_own_account,
};
use crate::{
    Actor, Platform, PlatformError,
    audit::AuditSubject,
    sealed_state::{OpenedState, SealPurpose, seal, unseal},
};

/// How long a person may take.
const CHALLENGE_VALIDITY: Duration = Duration::from_secs(5 * 60);

#[derive(Serialize, Deserialize)]
struct ChallengeData {
    /// In hex.
    challenge: String,
    /// Whose passkey is added; nobody's in a sign-in.
    user: Option<UserId>,
}

impl ChallengeData {
    fn bytes(&self) -> Result<Vec<u8>, PlatformError> {
        hex::decode(&self.challenge).map_err(|_| PlatformError::SignInFailed)
    }
}

/// A challenge to sign in with any passkey. Whose it is, the passkey tells.
pub fn passkey_sign_in_challenge(platform: &Platform) -> Result<PasskeyChallenge, PlatformError> {
    let party = relying_party(platform)?;
    let (challenge, state) = new_challenge(platform, SealPurpose::PasskeySignIn, None)?;
    let options = json!({
        "challenge": challenge,
        "rpId": party.id,
        "userVerification": "required",
        "timeout": CHALLENGE_VALIDITY.as_millis(),
        "allowCredentials": [],
    });
    Ok(PasskeyChallenge { state, options })
}

/// Signs in with a passkey.
pub async fn sign_in_with_passkey(
    platform: &Platform,
    request: PasskeySignIn,
    device: &str,
) -> Result<StartedSession, PlatformError> {
    let party = relying_party(platform)?;
    let opened = use_challenge(platform, SealPurpose::PasskeySignIn, &request.state).await?;
    let assertion: PasskeyAssertion = read_credential(request.credential)?;
    let id = assertion.credential_id().map_err(|error| PlatformError::invalid(error.to_string()))?;
    let stored = platform.stores.sign_in.find_passkey(&BASE64_URL_SAFE_NO_PAD.encode(id)).await?;
    let Some(stored) = stored else {
        platform.audit_failed_sign_in(None, SignInMethod::Passkey).await;
        return Err(PlatformError::SignInFailed);
    };
    let signed_in = use_passkey(platform, &party, &assertion, &opened.data, &stored, device).await;
    if matches!(signed_in, Err(PlatformError::SignInFailed)) {
        platform.audit_failed_sign_in(Some(&stored.user), SignInMethod::Passkey).await;
    }
    signed_in
}

async fn use_passkey(
    platform: &Platform,
    party: &RelyingParty,
    assertion: &PasskeyAssertion,
    challenge: &ChallengeData,
    stored: &StoredPasskey,
    device: &str,
) -> Result<StartedSession, PlatformError> {
    let mut key: PasskeyKey = serde_json::from_str(&stored.record)
        .map_err(|_| PlatformError::Internal("a stored passkey is damaged; see the server's log"))?;
    let handle = user_handle(&stored.user);
    let asserted = verify_assertion(assertion, &challenge.bytes()?, party, &key, &handle);
    let asserted = asserted.map_err(|error| {
        tracing::info!(user = %stored.user, %error, "sign-in with a passkey failed");
        PlatformError::SignInFailed
    })?;
    (key.sign_count, key.backed_up) = (asserted.sign_count, asserted.backed_up);
    let record = record_text(&key)?;
    // Someone else may have used a copy of the key meanwhile.
    if !platform.stores.sign_in.use_passkey(stored, &record, platform.clock.now()).await? {
        return Err(PlatformError::SignInFailed);
    }
    admit(platform, &stored.user, SignInMethod::Passkey, device).await
}

/// A challenge to add a passkey.
pub async fn passkey_registration_challenge(
    platform: &Platform,
    actor: &Actor,
) -> Result<PasskeyChallenge, PlatformError> {
    let party = relying_party(platform)?;
    let who = SignedInUser::new(actor)?;
    who.require_recent(platform.clock.now())?;
    let account = account_of(platform, &who).await?;
    require_own_account(platform, &account)?;
    let known = platform.stores.sign_in.sign_in_methods(&who.user).await?.passkeys;
    let (challenge, state) = new_challenge(platform, SealPurpose::PasskeyRegistration, Some(who.user))?;
    let options = registration_options(&party, &account, &known, &challenge);
    Ok(PasskeyChallenge { state, options })
}

fn registration_options(
    party: &RelyingParty,
    account: &UserAccount,
    known: &[StoredPasskey],
    challenge: &str,
) -> Value {
    let algorithms = PasskeyAlgorithm::ALL
        .map(|algorithm| json!({ "type": "public-key", "alg": algorithm.cose_number() }));
    let known: Vec<_> =
        known.iter().map(|passkey| json!({ "type": "public-key", "id": passkey.id })).collect();
    json!({
        "challenge": challenge,
        "rp": { "id": party.id, "name": "Toolyard" },
        "user": {
            "id": BASE64_URL_SAFE_NO_PAD.encode(user_handle(&account.id)),
            "name": account.id,
            "displayName": account.name.as_deref().unwrap_or(account.id.as_str()),
        },
        "pubKeyCredParams": algorithms,
        "timeout": CHALLENGE_VALIDITY.as_millis(),
        "attestation": "none",
        "authenticatorSelection": {
            "residentKey": "required",
            "requireResidentKey": true,
            "userVerification": "required",
        },
        "excludeCredentials": known,
    })
}

/// Adds a passkey.
pub async fn add_passkey(
    platform: &Platform,
    actor: &Actor,
    request: NewPasskey,
) -> Result<StoredPasskey, PlatformError> {
    let party = relying_party(platform)?;
    let who = SignedInUser::new(actor)?;
    who.require_recent(platform.clock.now())?;
    let name = checked_name("name", Some(request.name))?;
    let name =
        name.ok_or_else(|| PlatformError::invalid("name: say what this passkey is, such as `Laptop`"))?;
    let opened = use_challenge(platform, SealPurpose::PasskeyRegistration, &request.state).await?;
    if opened.data.user.as_ref() != Some(&who.user) {
        return Err(PlatformError::invalid("state: it belongs to another user"));
    }
    let registration: PasskeyRegistration = read_credential(request.credential)?;
    let key = verify_registration(&registration, &opened.data.bytes()?, &party)
        .map_err(|error| PlatformError::invalid(format!("credential: {error}")))?;
    let passkey = StoredPasskey {
        id: BASE64_URL_SAFE_NO_PAD.encode(&key.credential_id),
        user: who.user,
        name,
        record: record_text(&key)?,
        created_at: platform.clock.now(),
        last_used_at: None,
    };
    let max = platform.config.load().accounts.passkeys_per_user;
    if !platform.stores.sign_in.add_passkey(&passkey, max).await? {
        let text = format!("this passkey is registered already, or you have {max}; remove one");
        return Err(PlatformError::conflict(text));
    }
    tracing::info!(user = %passkey.user, "passkey added");
    let (subject, detail) =
        (AuditSubject::of_user(&passkey.id, &passkey.user), json!({ "name": passkey.name }));
    platform.audit(actor, AuditAction::PasskeyAdded, subject, detail).await;
    Ok(passkey)
}

/// Removes one of the user's passkeys, if there is another way to sign in.
pub async fn remove_passkey(platform: &Platform, actor: &Actor, id: &str) -> Result<(), PlatformError> {
    let who = SignedInUser::new(actor)?;
    who.require_recent(platform.clock.now())?;
    removal_result(platform.stores.sign_in.remove_passkey(&who.user, id).await?, "passkey")?;
    let subject = AuditSubject::of_user(id, &who.user);
    platform.audit(actor, AuditAction::PasskeyRemoved, subject, json!({})).await;
    Ok(())
}

fn relying_party(platform: &Platform) -> Result<RelyingParty, PlatformError> {
    platform.config.load().accounts.passkeys.clone().ok_or_else(|| {
        PlatformError::forbidden(
            "this server does not accept passkeys: they need a host name in `server.public_url`, and `sign_in.passkeys`",
        )
    })
}

fn new_challenge(
    platform: &Platform,
    purpose: SealPurpose,
    user: Option<UserId>,
) -> Result<(String, String), PlatformError> {
    let mut challenge = [0; 32];
    platform.ids.fill_random(&mut challenge);
    let data = ChallengeData { challenge: hex::encode(challenge), user };
    let state = seal(platform, purpose, later(platform.clock.now(), CHALLENGE_VALIDITY), data)?;
    Ok((BASE64_URL_SAFE_NO_PAD.encode(challenge), state))
}

async fn use_challenge(
    platform: &Platform,
    purpose: SealPurpose,
    state: &str,
) -> Result<OpenedState<ChallengeData>, PlatformError> {
    let opened = unseal::<ChallengeData>(platform, purpose, state);
    let expired = || PlatformError::invalid("state: it took too long, or it was used before; try again");
    let opened = opened.ok_or_else(expired)?;
    if opened.use_once(platform).await? { Ok(opened) } else { Err(expired()) }
}

fn read_credential<T: serde::de::DeserializeOwned>(credential: Value) -> Result<T, PlatformError> {
    serde_json::from_value(credential)
        .map_err(|error| PlatformError::invalid(format!("credential: {error}; send what `toJSON()` returns")))
}

fn record_text(key: &PasskeyKey) -> Result<String, PlatformError> {
    serde_json::to_string(key).map_err(|_| PlatformError::Internal("the passkey could not be stored"))
}

/// What an authenticator knows the user by. It must not tell who that is.
fn user_handle(user: &UserId) -> [u8; 32] {
    Sha256::digest(format!("toolyard user {user}")).into()
}
