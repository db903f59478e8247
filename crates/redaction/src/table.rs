//! The secrets of one conversation and their placeholders. Memory is bounded, and cleared when a secret leaves the table.

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// Most secrets of a conversation. The one that was seen longest ago makes room for a new one.
pub const MAX_SECRETS: usize = 256;
/// Longest secret that can be restored. A longer one is replaced for good.
pub const MAX_SECRET_BYTES: usize = 16 * 1024;
/// Most bytes of all secrets together.
pub const MAX_TABLE_BYTES: usize = 256 * 1024;
/// Most origins that can use the same secret.
pub const MAX_ORIGINS: usize = 16;

/// How every placeholder starts.
pub(crate) const OPENING: &str = "[secret:";
/// How every placeholder ends.
pub(crate) const CLOSING: char = ']';
/// Longest placeholder.
pub(crate) const MAX_PLACEHOLDER: usize = 80;

/// Digits and letters, without those that are easily mistaken for another one.
const TAG_LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const TAG_LENGTH: usize = 8;

/// What replaces number and tag of a secret that is too long to be stored.
const NOT_STORED: &str = "not-stored";

/// Whether this is what a placeholder has between its brackets, after [`OPENING`]. Other texts may have brackets as well.
pub(crate) fn is_placeholder(inner: &str) -> bool {
    let Some((kind, id)) = inner.split_once(':') else { return false };
    let is_kind = !kind.is_empty()
        && kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    let is_issued = id.split_once('-').is_some_and(|(number, tag)| {
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && tag.len() == TAG_LENGTH
            && tag.bytes().all(|byte| TAG_LETTERS.contains(&byte))
    });
    is_kind && (is_issued || id == NOT_STORED)
}

struct StoredSecret {
    secret: Zeroizing<String>,
    placeholder: String,
    origins: Vec<Box<str>>,
    last_seen: u64,
}

/// Who a placeholder belongs to.
pub(crate) enum PlaceholderOwner<'s> {
    /// This origin; the secret.
    Same(&'s str),
    /// Another origin.
    Other,
    /// None: it was never made here, or its secret is no longer stored.
    Unknown,
}

pub(crate) struct SecretTable {
    seed: Zeroizing<[u8; 32]>,
    stored: Vec<StoredSecret>,
    bytes: usize,
    /// Placeholders made so far.
    issued: u64,
    /// Counts up with each secret that is seen.
    seen: u64,
}

impl SecretTable {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { seed: Zeroizing::new(seed), stored: Vec::new(), bytes: 0, issued: 0, seen: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.stored.len()
    }

    /// The placeholder of a secret that came from this origin: always the same one as long as the secret is stored.
    pub(crate) fn placeholder(&mut self, origin: &str, kind: &str, secret: &str) -> String {
        self.seen += 1;
        if let Some(known) = self.stored.iter_mut().find(|known| known.secret.as_str() == secret) {
            known.last_seen = self.seen;
            let is_new = !known.origins.iter().any(|known| **known == *origin);
            if is_new && known.origins.len() < MAX_ORIGINS {
                known.origins.push(origin.into());
            }
            return known.placeholder.clone();
        }
        if secret.len() > MAX_SECRET_BYTES {
            return format!("{OPENING}{kind}:{NOT_STORED}{CLOSING}");
        }
        self.make_room(secret.len());
        self.issued += 1;
        let placeholder = format!("{OPENING}{kind}:{}-{}{CLOSING}", self.issued, self.tag(secret));
        self.bytes += secret.len();
        self.stored.push(StoredSecret {
            secret: Zeroizing::new(secret.to_owned()),
            placeholder: placeholder.clone(),
            origins: vec![origin.into()],
            last_seen: self.seen,
        });
        placeholder
    }

    /// Who a placeholder belongs to, seen from an origin. Without an origin, every secret is one's own.
    pub(crate) fn owner(&self, origin: Option<&str>, placeholder: &str) -> PlaceholderOwner<'_> {
        let Some(known) = self.stored.iter().find(|known| known.placeholder == placeholder) else {
            return PlaceholderOwner::Unknown;
        };
        if origin.is_none_or(|origin| known.origins.iter().any(|known| **known == *origin)) {
            PlaceholderOwner::Same(&known.secret)
        } else {
            PlaceholderOwner::Other
        }
    }

    fn make_room(&mut self, bytes: usize) {
        while self.stored.len() >= MAX_SECRETS || self.bytes + bytes > MAX_TABLE_BYTES {
            let ages = self.stored.iter().enumerate().map(|(at, known)| (known.last_seen, at));
            let Some((_, oldest)) = ages.min() else { break };
            self.bytes -= self.stored.swap_remove(oldest).secret.len();
        }
    }

    /// What makes a placeholder unguessable: 40 bits that only the seed determines.
    fn tag(&self, secret: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(self.seed.as_slice());
        hash.update(self.issued.to_be_bytes());
        hash.update(secret);
        let digest = hash.finalize();
        digest.iter().take(TAG_LENGTH).map(|byte| char::from(TAG_LETTERS[usize::from(byte % 32)])).collect()
    }
}
