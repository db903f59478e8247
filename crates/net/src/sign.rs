//! Signs requests to apps and verifies such signatures: HMAC-SHA256 over
//! `{timestamp}.{body}`. The URL is not covered, so a proxy in front of the app may rewrite paths.

use std::fmt::{self, Write as _};

use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

/// When the request was signed: Unix milliseconds, decimal.
pub const TIMESTAMP_HEADER: HeaderName = HeaderName::from_static("x-toolyard-timestamp");
/// `v1=` and the signature in hex; several, separated by commas, during a key rotation.
pub const SIGNATURE_HEADER: HeaderName = HeaderName::from_static("x-toolyard-signature");

/// Maximum number of signatures in one header.
pub const MAX_SIGNATURES: usize = 4;

const VERSION: &str = "v1=";
const TAG_BYTES: usize = 32;

/// Why a signature is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("the request has no signature; send {TIMESTAMP_HEADER} and {SIGNATURE_HEADER}")]
    Missing,
    #[error(
        "the signature headers are malformed; send Unix milliseconds and at most {MAX_SIGNATURES} times v1= with hex"
    )]
    Malformed,
    #[error(
        "the request was signed too long ago; check the clocks of both sides, and that it is not a replay"
    )]
    TooOld,
    #[error("the request was signed in the future; check the clocks of both sides")]
    TooNew,
    #[error("the signature does not match the body; check that both sides have the same signing secret")]
    Mismatch,
}

/// Adds both headers to a request: one signature per key, so that the other side can rotate keys at its own pace.
pub fn sign_all(keys: &[SigningKey], headers: &mut HeaderMap, timestamp_ms: i64, body: &[u8]) {
    let signatures: Vec<_> = keys.iter().map(|key| key.sign(timestamp_ms, body)).collect();
    // Hex and commas are always a valid header value.
    if let Ok(signatures) = HeaderValue::try_from(signatures.join(",")) {
        headers.insert(TIMESTAMP_HEADER, HeaderValue::from(timestamp_ms));
        headers.insert(SIGNATURE_HEADER, signatures);
    }
}

/// A signing secret, ready to use. Signing is cheap: the key is processed once, here.
#[derive(Clone)]
pub struct SigningKey(Hmac<Sha256>);

impl SigningKey {
    /// A key from a secret of any length.
    pub fn new(secret: &str) -> Self {
        #[expect(clippy::expect_used, reason = "HMAC is defined for keys of every length")]
        let keyed = Hmac::new_from_slice(secret.as_bytes()).expect("HMAC takes any key");
        Self(keyed)
    }

    /// The value of the signature header.
    pub fn sign(&self, timestamp_ms: i64, body: &[u8]) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(VERSION.len() + 2 * TAG_BYTES);
        text.push_str(VERSION);
        for byte in self.compute_tag(timestamp_ms, body) {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        text
    }

    /// Verifies the two headers of a request against its body. One matching signature is enough; signatures of versions
    /// other than `v1` are ignored.
    pub fn verify(
        &self,
        timestamp_header: Option<&str>,
        signature_header: Option<&str>,
        body: &[u8],
        now_ms: i64,
        tolerance_ms: i64,
    ) -> Result<(), SignatureError> {
        let (Some(timestamp), Some(signatures)) = (timestamp_header, signature_header) else {
            return Err(SignatureError::Missing);
        };
        let timestamp = parse_timestamp(timestamp)?;
        let age = now_ms.saturating_sub(timestamp);
        if age > tolerance_ms {
            return Err(SignatureError::TooOld);
        }
        if age < tolerance_ms.saturating_neg() {
            return Err(SignatureError::TooNew);
        }
        let (tags, count) = parse_signatures(signatures)?;
        let wanted = self.compute_tag(timestamp, body);
        let fits = tags[..count].iter().fold(Choice::from(0), |fits, tag| fits | wanted.ct_eq(tag));
        if fits.into() { Ok(()) } else { Err(SignatureError::Mismatch) }
    }

    fn compute_tag(&self, timestamp_ms: i64, body: &[u8]) -> [u8; TAG_BYTES] {
        let mut mac = self.0.clone();
        // Writing to a MAC cannot fail; `write!` only returns a result.
        let _ = write!(MacWriter(&mut mac), "{timestamp_ms}.");
        mac.update(body);
        mac.finalize().into_bytes().into()
    }
}

/// Formats a number directly into the MAC, without a string in between.
struct MacWriter<'a>(&'a mut Hmac<Sha256>);

impl fmt::Write for MacWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

fn parse_timestamp(text: &str) -> Result<i64, SignatureError> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(SignatureError::Malformed);
    }
    text.parse().map_err(|_| SignatureError::Malformed)
}

fn parse_signatures(text: &str) -> Result<([[u8; TAG_BYTES]; MAX_SIGNATURES], usize), SignatureError> {
    let mut tags = [[0; TAG_BYTES]; MAX_SIGNATURES];
    let mut count = 0;
    for (index, entry) in text.split(',').enumerate() {
        if index == MAX_SIGNATURES {
            return Err(SignatureError::Malformed);
        }
        if let Some(hex) = entry.trim().strip_prefix(VERSION) {
            hex::decode_to_slice(hex, &mut tags[count]).map_err(|_| SignatureError::Malformed)?;
            count += 1;
        }
    }
    if count == 0 { Err(SignatureError::Malformed) } else { Ok((tags, count)) }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_000;
    const TOLERANCE: i64 = 300_000;
    const BODY: &[u8] = br#"{"a":1}"#;
    /// `printf '1700000000000.{"a":1}' | openssl dgst -sha256 -hmac s3cret`
    const SIGNATURE: &str = "v1=8a6f992378d0d47b6fcdf1cc8d72e46ba5c789b2c9d3a538be31fe07d598ba6d";

    fn verify(timestamp: &str, signature: &str, now_ms: i64) -> Result<(), SignatureError> {
        SigningKey::new("s3cret").verify(Some(timestamp), Some(signature), BODY, now_ms, TOLERANCE)
    }

    #[test]
    fn signs_as_openssl_does() {
        let key = SigningKey::new("s3cret");
        assert_eq!(key.sign(NOW, BODY), SIGNATURE);
        assert_eq!(key.sign(NOW, b""), "v1=37e525fbe39564f9fd574af11f34ba47a343db4864d3d4c81c91e720ba874530");
        // Longer than a block of SHA-256, a body that is not text, and an empty key.
        assert_eq!(
            SigningKey::new(&"k".repeat(100)).sign(0, &[0x00, 0xff]),
            "v1=01e34f756d64731ab306e29a189653e6877da83160fbba3efc695e3ca6a03830"
        );
        assert_eq!(
            SigningKey::new("").sign(1, b"x"),
            "v1=d356c76f2be16120eca994746a279fd612267e791d245c4745ebbf0f98fc31f2"
        );
    }

    #[test]
    fn own_signature_headers_verify() {
        let key = SigningKey::new("s3cret");
        let mut headers = HeaderMap::new();
        sign_all(std::slice::from_ref(&key), &mut headers, NOW, BODY);
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        let (timestamp, signature) = (text(TIMESTAMP_HEADER), text(SIGNATURE_HEADER));
        assert_eq!((timestamp.as_deref(), signature.as_deref()), (Some("1700000000000"), Some(SIGNATURE)));
        assert_eq!(key.verify(timestamp.as_deref(), signature.as_deref(), BODY, NOW, TOLERANCE), Ok(()));
    }

    #[test]
    fn time_has_two_edges() {
        let stamp = NOW.to_string();
        assert_eq!(verify(&stamp, SIGNATURE, NOW + TOLERANCE), Ok(()));
        assert_eq!(verify(&stamp, SIGNATURE, NOW + TOLERANCE + 1), Err(SignatureError::TooOld));
        assert_eq!(verify(&stamp, SIGNATURE, NOW - TOLERANCE), Ok(()));
        assert_eq!(verify(&stamp, SIGNATURE, NOW - TOLERANCE - 1), Err(SignatureError::TooNew));
        assert_eq!(verify(&i64::MAX.to_string(), SIGNATURE, i64::MIN), Err(SignatureError::TooNew));
        assert_eq!(verify("0", SIGNATURE, i64::MAX), Err(SignatureError::TooOld));
    }

    #[test]
    fn another_key_body_or_time_does_not_fit() {
        let stamp = NOW.to_string();
        let verify_as = |key: &str, stamp: &str, body: &[u8]| {
            SigningKey::new(key).verify(Some(stamp), Some(SIGNATURE), body, NOW, TOLERANCE)
        };
        assert_eq!(verify_as("s3cret", &stamp, BODY), Ok(()));
        assert_eq!(verify_as("other", &stamp, BODY), Err(SignatureError::Mismatch));
        assert_eq!(verify_as("s3cret", &stamp, b"{}"), Err(SignatureError::Mismatch));
        assert_eq!(verify_as("s3cret", &(NOW + 1).to_string(), BODY), Err(SignatureError::Mismatch));
    }

    #[test]
    fn one_of_several_signatures_is_enough() {
        let stamp = NOW.to_string();
        let other = SigningKey::new("old").sign(NOW, BODY);
        assert_eq!(verify(&stamp, &format!("{other},{SIGNATURE}"), NOW), Ok(()));
        assert_eq!(verify(&stamp, &format!("v2=zz, {SIGNATURE} , {other}"), NOW), Ok(()));
        assert_eq!(verify(&stamp, &format!("{other},{other}"), NOW), Err(SignatureError::Mismatch));
    }

    #[test]
    fn at_most_four_signatures_are_looked_at() {
        let stamp = NOW.to_string();
        let list = |count| vec![SIGNATURE; count].join(",");
        assert_eq!(verify(&stamp, &list(MAX_SIGNATURES), NOW), Ok(()));
        assert_eq!(verify(&stamp, &list(MAX_SIGNATURES + 1), NOW), Err(SignatureError::Malformed));
    }

    #[test]
    fn headers_must_be_there_and_well_formed() {
        let key = SigningKey::new("s3cret");
        let stamp = NOW.to_string();
        for (timestamp, signature) in [(None, None), (Some(&*stamp), None), (None, Some(SIGNATURE))] {
            assert_eq!(key.verify(timestamp, signature, BODY, NOW, TOLERANCE), Err(SignatureError::Missing));
        }
        for timestamp in ["", "-1", "+1700000000000", " 1700000000000", "1.7e12", "99999999999999999999"] {
            assert_eq!(verify(timestamp, SIGNATURE, NOW), Err(SignatureError::Malformed), "{timestamp:?}");
        }
        let cut = &SIGNATURE[..SIGNATURE.len() - 1];
        for signature in ["", ",", "v1=", "v1=zz", "v2=00", cut, &SIGNATURE[3..], &format!("{SIGNATURE}00")] {
            assert_eq!(verify(&stamp, signature, NOW), Err(SignatureError::Malformed), "{signature:?}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        assert_eq!(format!("{:?}", SigningKey::new("s3cret")), "SigningKey(..)");
    }
}
