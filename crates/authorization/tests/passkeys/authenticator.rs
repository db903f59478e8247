//! A software authenticator and its browser: makes responses as real ones do, and also wrong ones.

use std::sync::OnceLock;

use aws_lc_rs::{
    encoding::{AsDer as _, PublicKeyX509Der},
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
        KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use toolyard_authorization::passkey::RelyingParty;

pub(crate) const CHALLENGE: &[u8] = b"a challenge of 32 random bytes..";
pub(crate) const USER_HANDLE: &[u8] = b"account-17";
pub(crate) const CREDENTIAL_ID: &[u8] = b"credential-1";

pub(crate) const USER_PRESENT: u8 = 0x01;
pub(crate) const USER_VERIFIED: u8 = 0x04;
pub(crate) const BACKUP_ELIGIBLE: u8 = 0x08;
pub(crate) const BACKED_UP: u8 = 0x10;
pub(crate) const HAS_CREDENTIAL: u8 = 0x40;
pub(crate) const HAS_EXTENSIONS: u8 = 0x80;

pub(crate) fn relying_party() -> RelyingParty {
    RelyingParty { id: "tools.example.com".to_owned(), origin: "https://tools.example.com:8443".to_owned() }
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn decode(value: &Value) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(value.as_str().unwrap()).unwrap()
}

/// A private key of an authenticator.
pub(crate) enum AuthenticatorKey {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

impl AuthenticatorKey {
    pub(crate) fn es256() -> Self {
        Self::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap())
    }

    /// A key of another curve, which claims to be ES256.
    pub(crate) fn p384() -> Self {
        Self::Es256(EcdsaKeyPair::generate(&ECDSA_P384_SHA384_ASN1_SIGNING).unwrap())
    }

    pub(crate) fn ed_dsa() -> Self {
        Self::EdDsa(Ed25519KeyPair::generate().unwrap())
    }

    pub(crate) fn rs256() -> Self {
        Self::Rs256(RsaKeyPair::generate(KeySize::Rsa2048).unwrap())
    }

    /// One key of each algorithm for the whole test binary: generating an RSA key takes long.
    pub(crate) fn all() -> &'static [Self; 3] {
        static KEYS: OnceLock<[AuthenticatorKey; 3]> = OnceLock::new();
        KEYS.get_or_init(|| [Self::es256(), Self::ed_dsa(), Self::rs256()])
    }

    pub(crate) fn cose_number(&self) -> i64 {
        match self {
            Self::Es256(_) => -7,
            Self::EdDsa(_) => -8,
            Self::Rs256(_) => -257,
        }
    }

    pub(crate) fn public_key(&self) -> Vec<u8> {
        let der: PublicKeyX509Der<'_> = match self {
            Self::Es256(pair) => pair.public_key().as_der().unwrap(),
            Self::EdDsa(pair) => pair.public_key().as_der().unwrap(),
            Self::Rs256(pair) => pair.public_key().as_der().unwrap(),
        };
        der.as_ref().to_vec()
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Es256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::EdDsa(pair) => pair.sign(message).as_ref().to_vec(),
            Self::Rs256(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
        }
    }
}

/// What authenticator and browser put into a response, before it is signed.
pub(crate) struct Ceremony {
    pub(crate) client_data: Value,
    /// Instead of `client_data`.
    pub(crate) raw_client_data: Option<Vec<u8>>,
    pub(crate) relying_party_id: &'static str,
    pub(crate) flags: u8,
    pub(crate) sign_count: u32,
    pub(crate) credential_id: Vec<u8>,
    /// The id inside of the authenticator data.
    pub(crate) attested_id: Vec<u8>,
    /// Bytes after the rest of the authenticator data.
    pub(crate) extensions: Vec<u8>,
    pub(crate) user_handle: Option<Vec<u8>>,
}

impl Ceremony {
    fn new(kind: &str, flags: u8) -> Self {
        Self {
            client_data: json!({
                "type": kind,
                "challenge": encode(CHALLENGE),
                "origin": "https://tools.example.com:8443",
                "crossOrigin": false,
                "other_keys_can_be_added_here": "do not compare clientDataJSON against a template",
            }),
            raw_client_data: None,
            relying_party_id: "tools.example.com",
            flags,
            sign_count: 7,
            credential_id: CREDENTIAL_ID.to_vec(),
            attested_id: CREDENTIAL_ID.to_vec(),
            extensions: Vec::new(),
            user_handle: Some(USER_HANDLE.to_vec()),
        }
    }

    pub(crate) fn registration() -> Self {
        Self::new("webauthn.create", USER_PRESENT | USER_VERIFIED | HAS_CREDENTIAL)
    }

    pub(crate) fn assertion() -> Self {
        Self { sign_count: 8, ..Self::new("webauthn.get", USER_PRESENT | USER_VERIFIED) }
    }

    fn client_data(&self) -> Vec<u8> {
        self.raw_client_data.clone().unwrap_or_else(|| self.client_data.to_string().into_bytes())
    }

    fn authenticator_data(&self) -> Vec<u8> {
        let mut data = Sha256::digest(self.relying_party_id.as_bytes()).to_vec();
        data.push(self.flags);
        data.extend(self.sign_count.to_be_bytes());
        if self.flags & HAS_CREDENTIAL != 0 {
            data.extend([0; 16]);
            data.extend(u16::try_from(self.attested_id.len()).unwrap().to_be_bytes());
            data.extend(&self.attested_id);
            // Stands for the CBOR of the key, which is not read.
            data.extend([0xa5; 77]);
        }
        data.extend(&self.extensions);
        data
    }

    /// The response of `navigator.credentials.create()`.
    pub(crate) fn register(&self, key: &AuthenticatorKey) -> Value {
        json!({
            "id": encode(&self.credential_id),
            "rawId": encode(&self.credential_id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": encode(&self.client_data()),
                "authenticatorData": encode(&self.authenticator_data()),
                "attestationObject": "o2NmbXRkbm9uZQ",
                "publicKey": encode(&key.public_key()),
                "publicKeyAlgorithm": key.cose_number(),
                "transports": ["internal", "from-the-future", "hybrid"],
            },
        })
    }

    /// The response of `navigator.credentials.get()`.
    pub(crate) fn sign(&self, key: &AuthenticatorKey) -> Value {
        let (client_data, authenticator_data) = (self.client_data(), self.authenticator_data());
        let message = [authenticator_data.as_slice(), Sha256::digest(&client_data).as_slice()].concat();
        json!({
            "id": encode(&self.credential_id),
            "rawId": encode(&self.credential_id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": encode(&client_data),
                "authenticatorData": encode(&authenticator_data),
                "signature": encode(&key.sign(&message)),
                "userHandle": self.user_handle.as_deref().map(encode),
            },
        })
    }
}

/// A public RSA key with a modulus of some length. Its private key is not known, and not needed to register it.
pub(crate) fn rsa_public_key(bits: usize, exponent: &[u8]) -> Vec<u8> {
    let modulus = [&[0x00][..], &vec![0xff; bits / 8]].concat();
    let key = der(0x30, &[der(0x02, &modulus), der(0x02, exponent)].concat());
    let rsa_encryption = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
    let bit_string = der(0x03, &[&[0x00][..], &key].concat());
    der(0x30, &[der(0x30, &rsa_encryption), bit_string].concat())
}

fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    let header = match length {
        [0, short] if short < 0x80 => vec![tag, short],
        [0, long] => vec![tag, 0x81, long],
        [high, low] => vec![tag, 0x82, high, low],
    };
    [header.as_slice(), content].concat()
}
