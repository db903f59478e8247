//! Encrypts a message for one browser: RFC 8291, with the content coding `aes128gcm` of RFC 8188.
//!
//! Written on aws-lc-rs, which the server has anyway: the crates for it bring OpenSSL or a second implementation of the same
//! algorithms.

use aws_lc_rs::{
    aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree},
    error::Unspecified,
    hkdf::{HKDF_SHA256, KeyType, Prk, Salt},
};
use toolyard_core::ports::IdGenerator;

/// Size of the one record that a message has. Push services accept no more.
const RECORD_BYTES: u32 = 4_096;
/// Longest message in bytes: what is left of a record after header, padding mark and tag.
pub(super) const MAX_MESSAGE_BYTES: usize = 3_993;
/// Marks the end of the message in the last record.
const LAST_RECORD: u8 = 2;
/// Random bytes are not a private key in one of 2^32 cases.
const KEY_ATTEMPTS: usize = 4;

/// The keys of a browser.
pub(super) struct ReceiverKeys<'a> {
    pub(super) public_key: &'a [u8],
    pub(super) auth_secret: &'a [u8],
}

/// Why a message was not encrypted.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum EncryptError {
    #[error("the message has {0} bytes, more than {MAX_MESSAGE_BYTES}")]
    TooLong(usize),
    /// The browser's public key is not a point of the curve.
    #[error("the browser's keys cannot be used")]
    Keys,
}

impl From<Unspecified> for EncryptError {
    fn from(_: Unspecified) -> Self {
        Self::Keys
    }
}

/// The key and the salt of one message.
pub(super) struct MessageSecrets {
    private_key: PrivateKey,
    salt: [u8; 16],
}

impl MessageSecrets {
    pub(super) fn generate(ids: &dyn IdGenerator) -> Result<Self, EncryptError> {
        let mut salt = [0; 16];
        ids.fill_random(&mut salt);
        let mut random = [0; 32];
        for _ in 0..KEY_ATTEMPTS {
            ids.fill_random(&mut random);
            if let Ok(private_key) = PrivateKey::from_private_key(&ECDH_P256, &random) {
                return Ok(Self { private_key, salt });
            }
        }
        Err(EncryptError::Keys)
    }
}

/// The body of a request to the push service.
pub(super) fn encrypt_message(
    message: &[u8],
    receiver: &ReceiverKeys<'_>,
    secrets: &MessageSecrets,
) -> Result<Vec<u8>, EncryptError> {
    if message.len() > MAX_MESSAGE_BYTES {
        return Err(EncryptError::TooLong(message.len()));
    }
    let sender_key = secrets.private_key.compute_public_key()?;
    let key_material = key_material(receiver, secrets, sender_key.as_ref())?;
    let record_key = Salt::new(HKDF_SHA256, &secrets.salt).extract(&key_material);
    let key: [u8; 16] = expand_key(&record_key, &[b"Content-Encoding: aes128gcm\0"])?;
    let nonce: [u8; 12] = expand_key(&record_key, &[b"Content-Encoding: nonce\0"])?;

    let mut record = [message, &[LAST_RECORD]].concat();
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)?;

    let key_length = u8::try_from(sender_key.as_ref().len()).map_err(|_| EncryptError::Keys)?;
    Ok([&secrets.salt[..], &RECORD_BYTES.to_be_bytes(), &[key_length], sender_key.as_ref(), &record].concat())
}

/// What both sides can compute, and nobody else.
fn key_material(
    receiver: &ReceiverKeys<'_>,
    secrets: &MessageSecrets,
    sender_key: &[u8],
) -> Result<[u8; 32], EncryptError> {
    let peer = UnparsedPublicKey::new(&ECDH_P256, receiver.public_key);
    agree(&secrets.private_key, peer, EncryptError::Keys, |shared| {
        let key = Salt::new(HKDF_SHA256, receiver.auth_secret).extract(shared);
        expand_key(&key, &[b"WebPush: info\0", receiver.public_key, sender_key])
    })
}

/// The length of a derived key.
struct KeyLength(usize);

impl KeyType for KeyLength {
    fn len(&self) -> usize {
        self.0
    }
}

fn expand_key<const N: usize>(key: &Prk, info: &[&[u8]]) -> Result<[u8; N], EncryptError> {
    let mut out = [0; N];
    key.expand(info, KeyLength(N))?.fill(&mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

    use super::*;

    fn decode(text: &str) -> Vec<u8> {
        BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    /// The example of RFC 8291, appendix A.
    #[test]
    fn the_example_of_the_specification_is_encrypted() {
        let public_key =
            decode("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4");
        let auth_secret = decode("BTBZMqHH6r4Tts7J_aSIgg");
        let private_key = decode("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw");
        let secrets = MessageSecrets {
            private_key: PrivateKey::from_private_key(&ECDH_P256, &private_key).unwrap(),
            salt: decode("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap(),
        };
        let receiver = ReceiverKeys { public_key: &public_key, auth_secret: &auth_secret };
        let body =
            encrypt_message(b"When I grow up, I want to be a watermelon", &receiver, &secrets).unwrap();
        let expected = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
        assert_eq!(BASE64_URL_SAFE_NO_PAD.encode(body), expected);
    }

    #[test]
    fn a_long_message_and_a_bad_key_are_refused() {
        let secrets = MessageSecrets::generate(&toolyard_core::ports::SystemIds).unwrap();
        let own = secrets.private_key.compute_public_key().unwrap();
        let receiver = ReceiverKeys { public_key: own.as_ref(), auth_secret: &[7; 16] };
        let longest = vec![b'x'; MAX_MESSAGE_BYTES];
        assert_eq!(encrypt_message(&longest, &receiver, &secrets).unwrap().len(), 4_096);
        let too_long = vec![b'x'; MAX_MESSAGE_BYTES + 1];
        let refused = encrypt_message(&too_long, &receiver, &secrets);
        assert_eq!(refused, Err(EncryptError::TooLong(MAX_MESSAGE_BYTES + 1)));
        let not_a_point = ReceiverKeys { public_key: &[4; 65], auth_secret: &[7; 16] };
        assert_eq!(encrypt_message(b"x", &not_a_point, &secrets), Err(EncryptError::Keys));
    }
}
