//! MCP lists, page by page. A page is the serialized result, built once for each view.

use std::{
    hash::{DefaultHasher, Hasher as _},
    sync::OnceLock,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use toolyard_protocol::raw::to_raw;

use super::item::McpListKind;

/// How long a client may cache a page, in milliseconds. Changes are notified earlier.
pub const LIST_TTL_MS: u64 = 60_000;
/// Longest accepted cursor.
const MAX_CURSOR_CHARS: usize = 4_096;

/// A cursor that this list did not issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this list; start again without a cursor")]
pub struct BadCursor;

/// The cached pages of one list.
#[derive(Debug, Default)]
pub(crate) struct ListPages {
    pages: OnceLock<Vec<OnceLock<Bytes>>>,
    fingerprint: OnceLock<u64>,
}

/// An entry of a list: its name and its serialized definition.
pub(crate) type ListedItem<'a> = (&'a str, &'a Bytes);

impl ListPages {
    /// The page that begins at `start`, cached if `start` is a page boundary.
    pub(crate) fn get_or_build(
        &self,
        kind: McpListKind,
        all: &[ListedItem<'_>],
        start: usize,
        size: usize,
    ) -> Bytes {
        if !start.is_multiple_of(size) {
            return build_page(kind, all, start, size);
        }
        let places = self
            .pages
            .get_or_init(|| (0..all.len().div_ceil(size).max(1)).map(|_| OnceLock::new()).collect());
        match places.get(start / size) {
            Some(place) => place.get_or_init(|| build_page(kind, all, start, size)).clone(),
            None => build_page(kind, all, start, size),
        }
    }

    /// The first page if it is cached; nearly all requests are for it.
    pub(crate) fn first_page(&self) -> Option<Bytes> {
        self.pages.get()?.first()?.get().cloned()
    }

    /// Changes whenever the list changes.
    pub(crate) fn fingerprint<'a>(&self, all: impl Iterator<Item = ListedItem<'a>>) -> u64 {
        *self.fingerprint.get_or_init(|| list_fingerprint(all))
    }
}

pub(crate) fn list_fingerprint<'a>(all: impl Iterator<Item = ListedItem<'a>>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (_, bytes) in all {
        hasher.write(bytes);
        hasher.write_u8(0);
    }
    hasher.finish()
}

/// The serialized result of one page, for all protocol revisions.
pub(crate) fn build_page(kind: McpListKind, all: &[ListedItem<'_>], start: usize, size: usize) -> Bytes {
    let end = start.saturating_add(size).min(all.len());
    let items = all.get(start..end).unwrap_or_default();
    let length: usize = items.iter().map(|(_, bytes)| bytes.len() + 1).sum();
    let mut body = Vec::with_capacity(length + 256);
    body.extend_from_slice(format!("{{\"{}\":[", kind.member_name()).as_bytes());
    for (index, (_, bytes)) in items.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        body.extend_from_slice(bytes);
    }
    body.push(b']');
    if let (true, Some((name, _))) = (end < all.len(), items.last()) {
        body.extend_from_slice(b",\"nextCursor\":");
        body.extend_from_slice(to_raw(&encode_cursor(end, name)).get().as_bytes());
    }
    let tail = format!(",\"ttlMs\":{LIST_TTL_MS},\"cacheScope\":\"private\",\"resultType\":\"complete\"}}");
    body.extend_from_slice(tail.as_bytes());
    body.into()
}

/// Encodes where the next page begins: after this name, or at this index if the name is gone. So a list may change
/// while a client pages through it.
fn encode_cursor(place: usize, name: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{place}:{name}"))
}

/// The index that a cursor refers to in the current list.
pub(crate) fn decode_cursor(cursor: &str, all: &[ListedItem<'_>]) -> Result<usize, BadCursor> {
    if cursor.len() > MAX_CURSOR_CHARS {
        return Err(BadCursor);
    }
    let text = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.ok_or(BadCursor)?;
    let (place, name) = text.split_once(':').ok_or(BadCursor)?;
    let place: usize = place.parse().map_err(|_| BadCursor)?;
    // Most lists do not change between two pages.
    let before = place.checked_sub(1).and_then(|before| all.get(before));
    if before.is_some_and(|(found, _)| *found == name) {
        return Ok(place);
    }
    let found = all.iter().position(|(found, _)| *found == name);
    Ok(found.map_or(place.saturating_sub(1).min(all.len()), |index| index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&'static str]) -> Vec<(&'static str, Bytes)> {
        names.iter().map(|name| (*name, Bytes::from(format!("\"{name}\"")))).collect()
    }

    fn text(list: &[(&'static str, Bytes)], start: usize, size: usize) -> String {
        let all: Vec<ListedItem<'_>> = list.iter().map(|(name, bytes)| (*name, bytes)).collect();
        String::from_utf8(build_page(McpListKind::Tools, &all, start, size).to_vec()).unwrap()
    }

    fn place(cursor: &str, names: &[&'static str]) -> Result<usize, BadCursor> {
        let list = list(names);
        let all: Vec<ListedItem<'_>> = list.iter().map(|(name, bytes)| (*name, bytes)).collect();
        decode_cursor(cursor, &all)
    }

    #[test]
    fn pages_end_where_the_list_ends() {
        let list = list(&["a", "b", "c"]);
        let first = text(&list, 0, 2);
        assert!(first.starts_with(r#"{"tools":["a","b"],"nextCursor":"#), "{first}");
        assert!(text(&list, 2, 2).starts_with(r#"{"tools":["c"],"ttlMs"#));
        assert!(text(&list, 9, 2).starts_with(r#"{"tools":[],"ttlMs"#));
        assert!(text(&[], 0, 2).ends_with(r#""cacheScope":"private","resultType":"complete"}"#));
    }

    #[test]
    fn a_cursor_survives_changes() {
        let after_b = encode_cursor(2, "b");
        assert_eq!(place(&after_b, &["a", "b", "c"]), Ok(2));
        assert_eq!(place(&after_b, &["x", "a", "b", "c"]), Ok(3));
        assert_eq!(place(&after_b, &["b", "c"]), Ok(1));
        // The entry is gone: the one that took its index was not listed yet.
        assert_eq!(place(&after_b, &["a", "c"]), Ok(1));
        assert_eq!(place(&after_b, &[]), Ok(0));
    }

    #[test]
    fn invalid_cursors_are_refused() {
        let long = "a".repeat(MAX_CURSOR_CHARS + 1);
        for bad in ["", "%", "YQ", &URL_SAFE_NO_PAD.encode("x:y"), &long] {
            assert_eq!(place(bad, &["a"]), Err(BadCursor), "{bad}");
        }
    }
}
