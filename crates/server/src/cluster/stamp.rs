//! The header of a forwarded request: for which user it was forwarded, and which epoch the sender believes the home to have.
//! It is signed with a key that all nodes derive from the root key, so nobody else can send it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderValue};
use sha2::Sha256;
use toolyard_core::ports::SecretSealer;
use toolyard_protocol::UserId;

/// On requests: who forwarded this, for whom. On responses: the home moved.
pub(super) const FORWARDED: &str = "toolyard-forwarded";

/// What a forwarded request says about itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ForwardStamp {
    pub(super) user: UserId,
    pub(super) epoch: i64,
}

/// Signs and reads stamps.
pub(crate) struct ForwardStamps {
    /// The current key first.
    keys: Vec<[u8; 32]>,
}

impl ForwardStamps {
    pub(super) fn new(secrets: &dyn SecretSealer) -> Self {
        Self { keys: secrets.derive_keys("cluster") }
    }

    /// The header of a request that is forwarded.
    pub(super) fn write(&self, user: &UserId, epoch: i64) -> Option<HeaderValue> {
        let signed = format!("{}.{epoch}", hex::encode(user.as_str()));
        let signature = hex::encode(mac(self.keys.first()?, &signed).finalize().into_bytes());
        HeaderValue::from_str(&format!("{signed}.{signature}")).ok()
    }

    /// What the header says, if a node of this cluster wrote it.
    pub(super) fn read(&self, headers: &HeaderMap) -> Option<ForwardStamp> {
        let (signed, signature) = headers.get(FORWARDED)?.to_str().ok()?.rsplit_once('.')?;
        let signature = hex::decode(signature).ok()?;
        let is_ours = self.keys.iter().any(|key| mac(key, signed).verify_slice(&signature).is_ok());
        let (user, epoch) = signed.split_once('.').filter(|_| is_ours)?;
        let user = String::from_utf8(hex::decode(user).ok()?).ok()?;
        Some(ForwardStamp { user: user.parse().ok()?, epoch: epoch.parse().ok()? })
    }
}

#[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
fn mac(key: &[u8; 32], signed: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(signed.as_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: HeaderValue) -> HeaderMap {
        HeaderMap::from_iter([(http::HeaderName::from_static(FORWARDED), value)])
    }

    #[test]
    fn only_a_node_of_the_cluster_can_stamp_a_request() {
        let (old, new) =
            (ForwardStamps { keys: vec![[1; 32]] }, ForwardStamps { keys: vec![[2; 32], [1; 32]] });
        let user: UserId = "ada@example.com".parse().unwrap();
        let stamp = old.write(&user, 7).unwrap();
        let expected = Some(ForwardStamp { user: user.clone(), epoch: 7 });
        assert_eq!(old.read(&headers(stamp.clone())), expected);
        assert_eq!(new.read(&headers(stamp.clone())), expected, "while the root key is rotated");
        assert_eq!(old.read(&headers(new.write(&user, 7).unwrap())), None);
        let text = stamp.to_str().unwrap();
        for forged in [text.replace(".7.", ".8."), text.replacen('6', "7", 1), String::new(), "..".to_owned()]
        {
            assert_eq!(old.read(&headers(forged.parse().unwrap())), None, "{forged}");
        }
    }
}
