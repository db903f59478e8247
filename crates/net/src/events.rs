//! Reads server-sent events: `event`, `data`, `id`, `retry` and comments, with any line ending and any chunking of
//! the body. The caller interprets the data.

use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::time::timeout;

use crate::error::NetError;
use crate::lines::{LineEnding, LineSplitter};
use crate::response::{HttpResponse, ResponseChunks};

/// Longest event id that is stored; it is sent back in a header. Longer ones are ignored.
const MAX_ID_LENGTH: usize = 1024;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The event name; `message` by default.
    pub name: String,
    /// The lines of data, joined by line feeds. Empty for an event that has only an id.
    pub data: Bytes,
}

impl HttpResponse {
    /// The body as server-sent events. By default there is no total limit: such a stream may stay open for days.
    pub fn into_events(self, event_limit: usize) -> SseStream {
        SseStream { chunks: self.into_chunks(usize::MAX), parser: SseParser::new(event_limit), idle: None }
    }
}

/// Reads a body event by event.
#[derive(Debug)]
pub struct SseStream {
    chunks: ResponseChunks,
    parser: SseParser,
    idle: Option<Duration>,
}

impl SseStream {
    /// Treats the stream as broken if nothing arrives for this long; comments count. A peer may disappear
    /// silently.
    #[must_use]
    pub fn with_idle_timeout(mut self, limit: Duration) -> Self {
        self.idle = Some(limit);
        self
    }

    /// Limits the bytes of the whole stream, for one that belongs to a single request.
    #[must_use]
    pub fn with_total_limit(mut self, limit: usize) -> Self {
        self.chunks.set_total_limit(limit);
        self
    }

    /// The next event, `None` after the last. An event without its final empty line is dropped, as the standard requires.
    ///
    /// Cancel safe: the next call continues where a dropped one stopped.
    pub async fn next(&mut self) -> Result<Option<SseEvent>, NetError> {
        self.chunks.check_failed()?;
        let event = self.read_event().await;
        event.map_err(|error| self.chunks.fail(error))
    }

    async fn read_event(&mut self) -> Result<Option<SseEvent>, NetError> {
        loop {
            if let Some(event) = self.parser.next()? {
                return Ok(Some(event));
            }
            let chunk = match self.idle {
                None => self.chunks.next().await?,
                Some(limit) => {
                    let silent = |_| NetError::Broken { detail: format!("no data for {limit:?}") };
                    timeout(limit, self.chunks.next()).await.map_err(silent)??
                }
            };
            match chunk {
                Some(chunk) => self.parser.lines.push(chunk),
                None => return Ok(None),
            }
        }
    }

    /// The id of the last event that had one, to resume from.
    pub fn last_id(&self) -> Option<&str> {
        self.parser.last_id.as_deref()
    }

    /// How long the peer wants a client to wait before it reconnects.
    pub fn retry_delay(&self) -> Option<Duration> {
        self.parser.retry
    }
}

/// The parser, without the body.
#[derive(Debug)]
struct SseParser {
    /// Its limit is what the data of the started event leaves of the event's limit.
    lines: LineSplitter,
    first_line: bool,
    limit: usize,
    name: String,
    data: Option<DataLines>,
    id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
}

/// Most events have one line of data, which is passed on without a copy.
#[derive(Debug)]
enum DataLines {
    One(Bytes),
    Many(BytesMut),
}

impl DataLines {
    fn len(&self) -> usize {
        match self {
            Self::One(line) => line.len(),
            Self::Many(lines) => lines.len(),
        }
    }

    fn append_line(self, line: &[u8]) -> Self {
        let mut lines = match self {
            Self::One(first) => BytesMut::from(first),
            Self::Many(lines) => lines,
        };
        lines.extend_from_slice(b"\n");
        lines.extend_from_slice(line);
        Self::Many(lines)
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::One(line) => line,
            Self::Many(lines) => lines.freeze(),
        }
    }
}

impl SseParser {
    fn new(limit: usize) -> Self {
        Self {
            lines: LineSplitter::new(LineEnding::Any, limit),
            first_line: true,
            limit,
            name: String::new(),
            data: None,
            id: None,
            last_id: None,
            retry: None,
        }
    }

    /// The next event, `None` until more bytes arrive.
    fn next(&mut self) -> Result<Option<SseEvent>, NetError> {
        while let Some(line) = self.next_line()? {
            let event = if line.is_empty() {
                self.end_event()
            } else {
                self.parse_field(&line);
                None
            };
            let held = self.data.as_ref().map_or(0, DataLines::len);
            self.lines.set_limit(self.limit.saturating_sub(held));
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    /// The next line; the first one without the byte order mark.
    fn next_line(&mut self) -> Result<Option<Bytes>, NetError> {
        let line = self.lines.next_line().map_err(|_| NetError::TooLarge { limit: self.limit })?;
        Ok(line.map(|mut line| {
            if std::mem::take(&mut self.first_line) && line.starts_with(b"\xef\xbb\xbf") {
                line.advance(3);
            }
            line
        }))
    }

    fn parse_field(&mut self, line: &Bytes) {
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, mut value) = match colon {
            Some(0) => return,
            Some(colon) => (&line[..colon], line.slice(colon + 1..)),
            None => (&line[..], Bytes::new()),
        };
        if value.starts_with(b" ") {
            value.advance(1);
        }
        match name {
            b"data" => {
                self.data = Some(match self.data.take() {
                    None => DataLines::One(value),
                    Some(data) => data.append_line(&value),
                });
            }
            b"event" => self.name = String::from_utf8_lossy(&value).into_owned(),
            b"id" if value.len() <= MAX_ID_LENGTH && !value.contains(&0) => {
                self.id = Some(String::from_utf8_lossy(&value).into_owned());
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                // All digits: only a number that is too large can fail.
                let millis = std::str::from_utf8(&value).ok().and_then(|text| text.parse().ok());
                self.retry = Some(Duration::from_millis(millis.unwrap_or(u64::MAX)));
            }
            _ => {}
        }
    }

    /// An empty line. Without data there is no event, but its id is stored.
    fn end_event(&mut self) -> Option<SseEvent> {
        if let Some(id) = self.id.take() {
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        let name = std::mem::take(&mut self.name);
        let data = self.data.take()?.into_bytes();
        Some(SseEvent { name: if name.is_empty() { "message".to_owned() } else { name }, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(parser: &mut SseParser, chunks: &[&[u8]]) -> Result<Vec<(String, String)>, NetError> {
        let mut found = Vec::new();
        for chunk in chunks {
            parser.lines.push(Bytes::copy_from_slice(chunk));
            while let Some(SseEvent { name, data }) = parser.next()? {
                found.push((name, String::from_utf8(data.to_vec()).unwrap()));
            }
        }
        Ok(found)
    }

    fn event(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    const STREAM: &str = ": hello\nid: 7\nretry: 500\ndata:\n\nevent: tick\ndata: one\ndata:  two\nother: x\n\n\
        data\ndata: {\"a\":1}\nid:\n\n:\n\nid: 9\n\ndata: never ended\n";

    #[test]
    fn reads_every_field_with_every_line_end_cut_anywhere() {
        let expected =
            vec![event("message", ""), event("tick", "one\n two"), event("message", "\n{\"a\":1}")];
        for line_end in ["\n", "\r\n", "\r"] {
            let text = STREAM.replace('\n', line_end);
            for cut in 0..=text.len() {
                let (left, right) = text.as_bytes().split_at(cut);
                let mut parser = SseParser::new(1000);
                assert_eq!(
                    parsed(&mut parser, &[left, right]).unwrap(),
                    expected,
                    "{line_end:?} cut at {cut}"
                );
                assert_eq!(parser.last_id.as_deref(), Some("9"));
                assert_eq!(parser.retry, Some(Duration::from_millis(500)));
            }
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(parsed(&mut SseParser::new(1000), &bytes).unwrap(), expected);
        }
    }

    #[test]
    fn an_id_counts_from_the_end_of_its_event_on() {
        let mut parser = SseParser::new(100);
        parsed(&mut parser, &[b"id: 1\ndata: a\n\nid: 2\ndata: b\n"]).unwrap();
        assert_eq!(parser.last_id.as_deref(), Some("1"));
        parsed(&mut parser, &[b"\n"]).unwrap();
        assert_eq!(parser.last_id.as_deref(), Some("2"));
        parsed(&mut parser, &[b"id\n\n"]).unwrap();
        assert_eq!(parser.last_id, None);
    }

    #[test]
    fn odd_fields_are_passed_over() {
        let mut parser = SseParser::new(5000);
        let long = format!("id: {}\n\n", "x".repeat(MAX_ID_LENGTH + 1));
        let found = parsed(
            &mut parser,
            &[b"\xef\xbb\xbfdata: a\n\nretry: soon\nretry: -1\nid: a\0b\n\n", long.as_bytes()],
        );
        assert_eq!(found.unwrap(), [event("message", "a")]);
        assert_eq!((parser.retry, parser.last_id.as_deref()), (None, None));
        parsed(&mut parser, &[b"retry: 99999999999999999999999\n"]).unwrap();
        assert_eq!(parser.retry, Some(Duration::from_millis(u64::MAX)));
    }

    #[test]
    fn an_event_is_bounded_and_a_stream_is_not() {
        let twelve = b"data: 123456789012\n\n".as_slice();
        let mut parser = SseParser::new(18);
        for _ in 0..10 {
            assert_eq!(parsed(&mut parser, &[twelve]).unwrap().len(), 1);
        }
        let over = Err(NetError::TooLarge { limit: 18 });
        assert_eq!(parsed(&mut SseParser::new(18), &[b"data: 1234567890123\n\n"]), over);
        assert_eq!(parsed(&mut SseParser::new(18), &[b"data: 1234567890", b"123"]), over);
        assert_eq!(
            parsed(&mut SseParser::new(18), &[b"data: 12345\n", b"data: 12345\n", b"data: 12345\n"]),
            over
        );
        assert_eq!(parsed(&mut SseParser::new(18), &[b": a comment without an end"]), over);
    }
}
