//! Icons of apps on other hosts. The server fetches them through the guard, so that a developer's host does not learn who looks
//! at an app, and the console sends requests only to its own server.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use http_body_util::Full;
use jiff::{SignedDuration, Timestamp};
use tokio::{
    sync::{OnceCell, Semaphore},
    time::timeout,
};
use toolyard_core::{bounded_cache::BoundedCache, ports::Clock};
use toolyard_net::{HttpResponse, OutsideUrl};

use crate::parts::WebAccess;

/// Largest icon in bytes.
const MAX_BYTES: usize = 128 * 1024;
/// Icons in the cache, at most 8 MiB.
const MAX_KEPT: usize = 64;
/// How long a cached icon, or the failure to fetch it, is valid, in seconds.
const GOOD_S: i64 = 300;
/// How long a host may take to send an icon.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a request waits for an icon, the wait for a fetch slot included.
const WAIT: Duration = Duration::from_secs(8);
/// Concurrent fetches.
const AT_ONCE: usize = 8;

/// An icon and its media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AppIcon {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Bytes,
}

/// Fetches icons and caches the latest.
pub(crate) struct IconCache {
    web: WebAccess,
    clock: Arc<dyn Clock>,
    room: Semaphore,
    /// By URL.
    entries: BoundedCache<String, Arc<CachedIcon>>,
}

struct CachedIcon {
    until: Timestamp,
    /// Concurrent requests wait for one fetch. None if it failed.
    found: OnceCell<Option<AppIcon>>,
}

impl IconCache {
    pub(crate) fn new(web: WebAccess, clock: Arc<dyn Clock>) -> Self {
        Self { web, clock, room: Semaphore::new(AT_ONCE), entries: BoundedCache::new(MAX_KEPT) }
    }

    /// The icon at a URL. None if it cannot be fetched in time or is not a supported image.
    pub(crate) async fn get(&self, url: &str) -> Option<AppIcon> {
        let entry = self.cache_entry(url);
        // After a timeout the cell is still empty, so the next request tries again.
        timeout(WAIT, entry.found.get_or_init(|| self.load_icon(url))).await.ok()?.clone()
    }

    fn cache_entry(&self, url: &str) -> Arc<CachedIcon> {
        let now = self.clock.now();
        let until = now.checked_add(SignedDuration::from_secs(GOOD_S)).unwrap_or(Timestamp::MAX);
        self.entries.get_current_or_insert_with(
            url.to_owned(),
            |icon| icon.until > now,
            || Arc::new(CachedIcon { until, found: OnceCell::new() }),
        )
    }

    async fn load_icon(&self, url: &str) -> Option<AppIcon> {
        let _room = self.room.acquire().await;
        let late = |_| Err(format!("no response within {} s", PATIENCE.as_secs()));
        let icon = timeout(PATIENCE, self.fetch_icon(url)).await.unwrap_or_else(late);
        // The cause is for the operator only: users must not learn what a host responded to this server.
        icon.inspect_err(|error| tracing::debug!(url, error, "failed to fetch an app icon")).ok()
    }

    async fn fetch_icon(&self, url: &str) -> Result<AppIcon, String> {
        let url = OutsideUrl::parse(url, &self.web.guard).map_err(|error| error.to_string())?;
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = url.uri().clone();
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("image/*"));
        let response = self.web.http.send(request).await.map_err(|error| error.to_string())?;
        if !response.status.is_success() {
            return Err(format!("the host responded with {}", response.status));
        }
        let says_svg = is_svg(&response);
        let bytes = response.bytes(MAX_BYTES).await.map_err(|error| error.to_string())?;
        let media_type = media_type(&bytes, says_svg)
            .ok_or("the response is not a PNG, JPEG, GIF, WebP, ICO or SVG image")?;
        // Copied, to drop the spare capacity of the read buffer.
        Ok(AppIcon { media_type, bytes: Bytes::copy_from_slice(&bytes) })
    }
}

fn is_svg(response: &HttpResponse) -> bool {
    let declared = response.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    declared.is_some_and(|declared| declared.trim_start().to_ascii_lowercase().starts_with("image/svg+xml"))
}

/// Detected by the first bytes: declared media types are often wrong, and a browser should not have to guess. SVG has no
/// signature, so its host must declare it.
fn media_type(bytes: &[u8], says_svg: bool) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [0, 0, 1, 0, ..] => Some("image/x-icon"),
        _ if says_svg && bytes.windows(4).any(|part| part == b"<svg") => Some("image/svg+xml"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_detected_by_their_first_bytes() {
        let known: [(&[u8], _); 5] = [
            (b"\x89PNG\r\n\x1a\n....", "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", "image/webp"),
            (b"\0\0\x01\0\x01", "image/x-icon"),
        ];
        for (bytes, expected) in known {
            assert_eq!((media_type(bytes, false), media_type(bytes, true)), (Some(expected), Some(expected)));
        }
        let drawing = b"<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"/>";
        assert_eq!((media_type(drawing, true), media_type(drawing, false)), (Some("image/svg+xml"), None));
        for other in [&b""[..], b"<html><script>", b"\x89PN", b"RIFF"] {
            assert_eq!(media_type(other, true), None);
        }
    }
}
