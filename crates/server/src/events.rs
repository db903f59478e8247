//! Named server-sent events, each with its data on one line.

use axum::response::sse::Event;
use toolyard_protocol::JsonLine;

/// An event with that name. Our own readers, and many others, read one line of data for each event.
#[expect(clippy::disallowed_methods, reason = "this is the one place, and a `JsonLine` is one line")]
pub(crate) fn named_event(name: &'static str, data: &JsonLine) -> Event {
    Event::default().event(name).data(data)
}
