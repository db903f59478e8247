//! W3C trace context: received from callers, passed on to apps.

use std::{fmt, str::FromStr};

/// A `traceparent` header: version 00, trace id, parent span id, flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace that the call belongs to.
    pub trace_id: u128,
    /// The caller's span.
    pub span_id: u64,
    /// Whether the caller samples this trace.
    pub sampled: bool,
}

/// The text is not a `traceparent`. An invalid header is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a traceparent header")]
pub struct InvalidTraceParent;

impl FromStr for TraceParent {
    type Err = InvalidTraceParent;

    fn from_str(text: &str) -> Result<Self, InvalidTraceParent> {
        let mut parts = text.trim().split('-');
        let mut hex = |chars: usize| {
            let part = parts.next().filter(|p| p.len() == chars && p.bytes().all(|b| b.is_ascii_hexdigit()));
            part.and_then(|p| u128::from_str_radix(p, 16).ok()).ok_or(InvalidTraceParent)
        };
        let (version, trace_id, span_id, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
        let span_id = u64::try_from(span_id).map_err(|_| InvalidTraceParent)?;
        if version == 0xff || trace_id == 0 || span_id == 0 {
            return Err(InvalidTraceParent);
        }
        Ok(Self { trace_id, span_id, sampled: flags & 1 == 1 })
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, u8::from(self.sampled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_the_header() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(text.parse::<TraceParent>().unwrap().to_string(), text);
    }

    #[test]
    fn refuses_what_is_none() {
        for text in [
            "",
            "00-0-0-0",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        ] {
            assert!(text.parse::<TraceParent>().is_err(), "{text}");
        }
    }
}
