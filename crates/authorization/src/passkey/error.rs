//! Why a passkey is refused.

/// Why a registration or a sign-in with a passkey is refused. The messages never contain text of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasskeyError {
    /// A member of the response is longer than its bound.
    #[error("the passkey response is too large: {0}")]
    TooLong(&'static str),
    /// A member of the response is not base64url without padding.
    #[error("the passkey response is not base64url: {0}")]
    Encoding(&'static str),
    /// Not of type `public-key`.
    #[error("the credential is not a passkey")]
    CredentialType,
    /// `id` and `rawId` differ, or the id is empty.
    #[error("the id of the passkey is invalid")]
    CredentialId,
    /// The client data is not a JSON object with the required members.
    #[error("the client data is malformed")]
    ClientData,
    /// A registration was sent as a sign-in, or the other way round.
    #[error("the response is for another operation with passkeys")]
    Ceremony,
    /// Another challenge than the one of this request.
    #[error("the passkey request has expired or was replaced by a newer one")]
    Challenge,
    /// Made by a page of another origin.
    #[error("the passkey was used on another site")]
    Origin,
    /// Made inside of a frame of another origin.
    #[error("the passkey was used in a page that another site embeds")]
    CrossOrigin,
    /// The authenticator data is truncated, or has bytes that its flags do not announce.
    #[error("the authenticator data is malformed")]
    AuthenticatorData,
    /// The authenticator data is for another relying party.
    #[error("the passkey belongs to another site")]
    RelyingParty,
    /// The authenticator did not ask for presence.
    #[error("the authenticator did not confirm that a person is present")]
    UserNotPresent,
    /// The authenticator did not ask for a PIN or a biometric.
    #[error("the authenticator did not verify the person; set up a PIN or biometrics for it")]
    UserNotVerified,
    /// Backed up, but not eligible for backup.
    #[error("the backup flags of the authenticator contradict each other")]
    BackupFlags,
    /// The authenticator data of a registration names no credential.
    #[error("the authenticator data contains no credential")]
    NoCredential,
    /// The authenticator data is about another credential.
    #[error("the authenticator data is for another passkey")]
    OtherCredential,
    /// Not one of the algorithms that were requested.
    #[error("the algorithm of the passkey is not supported")]
    Algorithm,
    /// The browser cannot extract the public key.
    #[error("the browser did not report the public key of the passkey")]
    NoPublicKey,
    /// The public key is malformed, or of another algorithm or curve.
    #[error("the public key does not fit the algorithm of the passkey")]
    PublicKey,
    /// An RSA key that is too short or too long.
    #[error("the RSA key of the passkey must have 2048 to 8192 bits")]
    KeySize,
    /// The response names another passkey than the stored one.
    #[error("this passkey is not registered")]
    UnknownPasskey,
    /// The passkey names another account.
    #[error("the passkey belongs to another account")]
    UserHandle,
    /// The signature does not verify.
    #[error("the signature of the passkey is invalid")]
    Signature,
    /// The signature counter did not increase: a copy of the key may be in use.
    #[error("the passkey may have been copied: its counter did not increase")]
    ClonedKey,
}
