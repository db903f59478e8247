//! A response and how to read it: whole, or in pieces or lines while the peer is still working; `events` adds events.
//! All have limits, and all close the connection if the response is dropped before its end.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::error::NetError;
use crate::lines::{LineEnding, LineSplitter};

/// Maximum memory that is reserved because of a `Content-Length` header alone.
const MAX_RESERVE: usize = 64 * 1024;

/// The head of a response; the body is still to be read.
#[derive(Debug)]
pub struct HttpResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Incoming,
}

impl HttpResponse {
    pub(crate) fn new(response: http::Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        Self { status: head.status, headers: head.headers, body }
    }

    /// The whole body. Fails as soon as the announced or the received size exceeds the limit.
    pub async fn bytes(mut self, limit: usize) -> Result<Bytes, NetError> {
        let announced = announced_size(&self.body, limit)?;
        // Most responses arrive in one piece, which is passed on without a copy.
        let Some(first) = next_chunk(&mut self.body).await? else { return Ok(Bytes::new()) };
        check_size(first.len(), limit)?;
        let Some(second) = next_chunk(&mut self.body).await? else { return Ok(first) };

        let mut whole = BytesMut::with_capacity(announced.min(MAX_RESERVE).max(first.len() + second.len()));
        whole.extend_from_slice(&first);
        let mut next = Some(second);
        while let Some(chunk) = next {
            check_size(whole.len() + chunk.len(), limit)?;
            whole.extend_from_slice(&chunk);
            next = next_chunk(&mut self.body).await?;
        }
        Ok(whole.freeze())
    }

    /// The body as it arrives.
    pub fn into_chunks(self, total_limit: usize) -> ResponseChunks {
        let failed = announced_size(&self.body, total_limit).err();
        ResponseChunks { body: self.body, received: 0, total_limit, failed }
    }

    /// The body as lines, for newline-delimited JSON.
    pub fn into_lines(self, line_limit: usize, total_limit: usize) -> ResponseLines {
        ResponseLines {
            chunks: self.into_chunks(total_limit),
            lines: LineSplitter::new(LineEnding::LineFeed, line_limit),
        }
    }
}

/// Reads a body piece by piece, up to a total size.
#[derive(Debug)]
pub struct ResponseChunks {
    body: Incoming,
    received: usize,
    total_limit: usize,
    /// Returned again on each further call: a broken response must not look like one that ended.
    failed: Option<NetError>,
}

impl ResponseChunks {
    /// The next piece, `None` after the last.
    ///
    /// Cancel safe: the next call continues where a dropped one stopped.
    pub async fn next(&mut self) -> Result<Option<Bytes>, NetError> {
        self.check_failed()?;
        let chunk = self.read_chunk().await;
        chunk.map_err(|error| self.fail(error))
    }

    async fn read_chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        let chunk = next_chunk(&mut self.body).await?;
        self.received = self.received.saturating_add(chunk.as_ref().map_or(0, Bytes::len));
        check_size(self.received, self.total_limit)?;
        Ok(chunk)
    }

    pub(crate) fn set_total_limit(&mut self, limit: usize) {
        self.total_limit = limit;
    }

    /// Fails this and every later read.
    pub(crate) fn fail(&mut self, error: NetError) -> NetError {
        self.failed = Some(error.clone());
        error
    }

    pub(crate) fn check_failed(&self) -> Result<(), NetError> {
        self.failed.clone().map_or(Ok(()), Err)
    }
}

/// Reads a body line by line.
#[derive(Debug)]
pub struct ResponseLines {
    chunks: ResponseChunks,
    lines: LineSplitter,
}

impl ResponseLines {
    /// The next line without its line ending, `None` after the last. Empty lines are skipped: peers send them to keep
    /// the connection alive. The last line may lack a line ending.
    ///
    /// Cancel safe: the next call continues where a dropped one stopped.
    pub async fn next(&mut self) -> Result<Option<Bytes>, NetError> {
        self.chunks.check_failed()?;
        loop {
            match self.lines.next_line() {
                Ok(Some(line)) if line.is_empty() => {}
                Ok(Some(line)) => return Ok(Some(line)),
                Ok(None) => match self.chunks.next().await? {
                    Some(chunk) => self.lines.push(chunk),
                    None => return Ok(self.lines.take_rest()),
                },
                Err(long) => return Err(self.chunks.fail(NetError::TooLarge { limit: long.limit })),
            }
        }
    }
}

/// The announced size, 0 if unknown.
fn announced_size(body: &Incoming, limit: usize) -> Result<usize, NetError> {
    let size = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    check_size(size, limit)?;
    Ok(size)
}

fn check_size(size: usize, limit: usize) -> Result<(), NetError> {
    if size > limit { Err(NetError::TooLarge { limit }) } else { Ok(()) }
}

/// The next piece of the body; trailers are ignored.
async fn next_chunk(body: &mut Incoming) -> Result<Option<Bytes>, NetError> {
    // Known from `Content-Length`: no need to wait for the connection to report it.
    if body.is_end_stream() {
        return Ok(None);
    }
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => {
                if let Ok(chunk) = frame.into_data() {
                    return Ok(Some(chunk));
                }
            }
            Err(error) => return Err(NetError::from_body(&error)),
        }
    }
    Ok(None)
}
