//! Named server-sent events, each with its data on one line.

use axum::response::sse::Event;
use toolyard_protocol::JsonLine;

/// An event with this name. Many SSE readers, ours included, read only one line of data per event.
#[expect(clippy::disallowed_methods, reason = "this is the one place, and a `JsonLine` is one line")]
pub(crate) fn named_event(name: &'static str, data: &JsonLine) -> Event {
    Event::default().event(name).data(data)
}
