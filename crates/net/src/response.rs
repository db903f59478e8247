//! A response and two ways to read it: whole, or line by line while the peer is still working; `events` has the third.
//! All have limits, and all close the connection if the response is dropped before its end.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::error::NetError;

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

    pub(crate) fn into_body(self) -> Incoming {
        self.body
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

    /// The body as lines, for newline-delimited JSON.
    pub fn into_lines(self, line_limit: usize, total_limit: usize) -> ResponseLines {
        let failed = announced_size(&self.body, total_limit).err();
        ResponseLines {
            body: self.body,
            chunk: Bytes::new(),
            begun: BytesMut::new(),
            received: 0,
            line_limit,
            total_limit,
            failed,
        }
    }
}

/// Reads a body line by line.
#[derive(Debug)]
pub struct ResponseLines {
    body: Incoming,
    /// Received and not yet parsed.
    chunk: Bytes,
    /// The start of a line whose end has not been received.
    begun: BytesMut,
    received: usize,
    line_limit: usize,
    total_limit: usize,
    /// Returned again on each further call: a broken response must not look like one that ended.
    failed: Option<NetError>,
}

impl ResponseLines {
    /// The next line without its line ending, `None` after the last. Empty lines are skipped: peers send them to keep
    /// the connection alive. The last line may lack a line ending.
    ///
    /// Cancel safe: the next call continues where a dropped one stopped.
    pub async fn next(&mut self) -> Result<Option<Bytes>, NetError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let line = self.read_line().await;
        if let Err(error) = &line {
            self.failed = Some(error.clone());
        }
        line
    }

    async fn read_line(&mut self) -> Result<Option<Bytes>, NetError> {
        loop {
            while let Some(line) = self.take_line()? {
                if !line.is_empty() {
                    return Ok(Some(line));
                }
            }
            match next_chunk(&mut self.body).await? {
                Some(chunk) => {
                    self.received += chunk.len();
                    check_size(self.received, self.total_limit)?;
                    self.chunk = chunk;
                }
                None => {
                    let last = without_return(self.begun.split().freeze());
                    return Ok(Some(last).filter(|line| !line.is_empty()));
                }
            }
        }
    }

    /// A line that ends in the chunk; otherwise the chunk is appended to the started line.
    fn take_line(&mut self) -> Result<Option<Bytes>, NetError> {
        let end = self.chunk.iter().position(|byte| *byte == b'\n');
        check_size(self.begun.len() + end.unwrap_or(self.chunk.len()), self.line_limit)?;
        let Some(end) = end else {
            self.begun.extend_from_slice(&std::mem::take(&mut self.chunk));
            return Ok(None);
        };
        let mut line = self.chunk.split_to(end + 1);
        line.truncate(end);
        if !self.begun.is_empty() {
            self.begun.extend_from_slice(&line);
            line = self.begun.split().freeze();
        }
        Ok(Some(without_return(line)))
    }
}

fn without_return(mut line: Bytes) -> Bytes {
    if line.ends_with(b"\r") {
        line.truncate(line.len() - 1);
    }
    line
}

/// The announced size, 0 if unknown.
fn announced_size(body: &Incoming, limit: usize) -> Result<usize, NetError> {
    let size = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    check_size(size, limit)?;
    Ok(size)
}

pub(crate) fn check_size(size: usize, limit: usize) -> Result<(), NetError> {
    if size > limit { Err(NetError::TooLarge { limit }) } else { Ok(()) }
}

/// The next piece of the body; trailers are ignored.
pub(crate) async fn next_chunk(body: &mut Incoming) -> Result<Option<Bytes>, NetError> {
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
