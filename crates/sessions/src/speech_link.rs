//! Signed speech URLs that a device may fetch without a credential.
//!
//! An audio player gets a URL and nothing else: no header, no token. So the server signs the `/api/tts` URLs that it
//! sends to a device, each for its text, its user and a short time. Apps never see a signed URL.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use toolyard_core::ports::SecretSealer;
use toolyard_protocol::UserId;
use url::Url;

/// The query parameters of a speech URL, all of them signed. All others are removed.
pub const SPEECH_PARAMETERS: [&str; 6] =
    ["text", "voice_id", "model_id", "voice_settings", "language", "format"];
/// When the URL expires, in seconds since 1970.
const EXPIRES: &str = "expires";
/// An opaque tag of the user it was signed for.
const USER_TAG: &str = "for";
/// The signature.
pub const SPEECH_SIGNATURE: &str = "signature";
/// Hex digits of the user tag.
const USER_TAG_DIGITS: usize = 16;

type SpeechMac = Hmac<Sha256>;

/// Why a signed URL is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Not signed by this server, or modified.
    #[error("this URL was not signed by this server, or was modified")]
    Forged,
    /// Expired.
    #[error("this URL has expired")]
    Expired,
}

/// Signs and verifies speech URLs.
pub struct SpeechLinks(Vec<SpeechMac>);

impl SpeechLinks {
    /// Signs with the current root key. URLs signed with the previous one stay valid during a rotation.
    pub fn new(secrets: &dyn SecretSealer) -> Self {
        let keyed = |key: &[u8; 32]| SpeechMac::new_from_slice(key).ok();
        Self(secrets.derive_keys("speech-links").iter().filter_map(keyed).collect())
    }

    /// Signs a URL for a user, with an expiry in seconds since 1970.
    pub fn sign_url(&self, url: &mut Url, user: &UserId, expires: i64) {
        let Some(key) = self.0.first() else { return };
        let parameters: Vec<(&str, String)> = SPEECH_PARAMETERS
            .into_iter()
            .filter_map(|name| {
                let value = url.query_pairs().find(|(named, _)| named == name)?.1.into_owned();
                Some((name, value))
            })
            .collect();
        let (expires, tag) = (expires.to_string(), user_tag(key, user));
        let value_of = |name: &str| match name {
            EXPIRES => Some(expires.as_str()),
            USER_TAG => Some(tag.as_str()),
            _ => parameters.iter().find(|(named, _)| *named == name).map(|(_, value)| value.as_str()),
        };
        let signature = hex::encode(compute_mac(key, value_of).finalize().into_bytes());
        let mut query = url.query_pairs_mut();
        query.clear().extend_pairs(&parameters);
        query.append_pair(EXPIRES, &expires).append_pair(USER_TAG, &tag);
        query.append_pair(SPEECH_SIGNATURE, &signature);
    }

    /// Verifies a URL and returns its user tag. `now` is in seconds since 1970.
    pub fn verify_url<'a>(
        &self,
        value_of: impl Fn(&str) -> Option<&'a str>,
        now: i64,
    ) -> Result<&'a str, LinkError> {
        let signature = value_of(SPEECH_SIGNATURE).and_then(|text| hex::decode(text).ok());
        let signature = signature.ok_or(LinkError::Forged)?;
        let fits = |key: &SpeechMac| compute_mac(key, &value_of).verify_slice(&signature).is_ok();
        if !self.0.iter().any(fits) {
            return Err(LinkError::Forged);
        }
        let expires = value_of(EXPIRES).and_then(|text| text.parse::<i64>().ok()).ok_or(LinkError::Forged)?;
        if expires <= now {
            return Err(LinkError::Expired);
        }
        value_of(USER_TAG).ok_or(LinkError::Forged)
    }
}

/// Each value is prefixed with its length, so that the signed text is unambiguous.
fn compute_mac<'a>(key: &SpeechMac, value_of: impl Fn(&str) -> Option<&'a str>) -> SpeechMac {
    let mut mac = key.clone();
    for name in SPEECH_PARAMETERS.into_iter().chain([EXPIRES, USER_TAG]) {
        match value_of(name) {
            Some(value) => {
                mac.update(&[1]);
                mac.update(&(value.len() as u64).to_be_bytes());
                mac.update(value.as_bytes());
            }
            None => mac.update(&[0]),
        }
    }
    mac
}

fn user_tag(key: &SpeechMac, user: &UserId) -> String {
    let mut mac = key.clone();
    // Starts with another byte than the signed parameters, so the two can never be confused.
    mac.update(b"user:");
    mac.update(user.as_str().as_bytes());
    let mut digits = hex::encode(mac.finalize().into_bytes());
    digits.truncate(USER_TAG_DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use toolyard_core::ports::{SealError, UnsealError};

    use super::*;

    struct Keys(Vec<[u8; 32]>);

    impl SecretSealer for Keys {
        fn seal(&self, _: &str) -> Result<Vec<u8>, SealError> {
            Err(SealError)
        }
        fn unseal(&self, _: &[u8]) -> Result<String, UnsealError> {
            Err(UnsealError)
        }
        fn derive_keys(&self, _: &str) -> Vec<[u8; 32]> {
            self.0.clone()
        }
    }

    fn links(keys: &[u8]) -> SpeechLinks {
        SpeechLinks::new(&Keys(keys.iter().map(|key| [*key; 32]).collect()))
    }

    fn signed(query: &str) -> Url {
        let mut url: Url = format!("http://127.0.0.1/api/tts?{query}").parse().unwrap();
        links(&[1]).sign_url(&mut url, &"ada@example.com".parse().unwrap(), 100);
        url
    }

    fn check(links: &SpeechLinks, url: &Url, now: i64) -> Result<String, LinkError> {
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let value_of =
            |name: &str| pairs.iter().find(|(named, _)| named == name).map(|(_, value)| value.as_str());
        links.verify_url(value_of, now).map(str::to_owned)
    }

    #[test]
    fn a_signed_url_is_valid_until_it_expires_and_names_its_user() {
        let url = signed("text=buy+milk&voice_id=x&more=1&text=sell+milk&for=bob&expires=9999");
        let query = url.query().unwrap();
        assert!(query.starts_with("text=buy+milk&voice_id=x&expires=100&for="), "{query}");
        assert!(
            !query.contains("more") && !query.contains("sell") && !query.contains("example.com"),
            "{query}"
        );
        let tag = check(&links(&[1]), &url, 99).unwrap();
        assert_eq!(tag.len(), USER_TAG_DIGITS);
        assert_eq!(tag, check(&links(&[1]), &signed("text=other"), 99).unwrap());
        assert_eq!(check(&links(&[1]), &url, 100), Err(LinkError::Expired));
        assert_eq!(check(&links(&[2, 1]), &url, 99), Ok(tag), "during a rotation");
        assert_eq!(check(&links(&[2]), &url, 99), Err(LinkError::Forged));
        assert_eq!(check(&links(&[]), &url, 99), Err(LinkError::Forged));
    }

    #[test]
    fn a_signed_url_cannot_be_modified() {
        let url = signed("text=ab&voice_id=c");
        for (from, to) in [
            ("text=ab", "text=abc"),
            ("text=ab&voice_id=c", "text=a&voice_id=bc"),
            ("voice_id=c", "model_id=c"),
            ("voice_id=c&", ""),
            ("expires=100", "expires=200"),
            ("expires=100&", ""),
            ("for=", "for=0"),
            ("signature=", "signature=00"),
            ("signature=", "nothing="),
        ] {
            let changed: Url = url.as_str().replace(from, to).parse().unwrap();
            assert_ne!(changed, url, "{from}");
            assert_eq!(check(&links(&[1]), &changed, 1), Err(LinkError::Forged), "{from} to {to}");
        }
        let more: Url = format!("{url}&language=de").parse().unwrap();
        assert_eq!(check(&links(&[1]), &more, 1), Err(LinkError::Forged));
    }
}
