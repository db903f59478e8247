//! The queue to one socket.
//!
//! Stream data may be dropped if the peer is slow, and the peer is notified how much. Control messages are never
//! dropped: if too many of them wait, the socket is closed, so that the app reconnects with a clean state. Apps can
//! never cause the device's socket to close: of a state (a picture, the microphone) only the latest value is queued,
//! and each app has a few places for its own requests, beyond which they are refused.

use std::collections::VecDeque;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use toolyard_protocol::PackageName;

/// Default number of requests of one app that may wait for a slow device.
pub(crate) const DEFAULT_REQUEST_BOUND: usize = 16;

/// A frame to write to a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketFrame {
    /// A message.
    Text(String),
    /// Audio.
    Binary(Bytes),
    /// A WebSocket ping, which the peer answers after everything that was sent before it.
    Ping,
    /// The close frame.
    Close {
        /// A WebSocket close code.
        code: u16,
        /// The reason.
        reason: &'static str,
    },
}

/// A state of which only the latest value is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StateKey {
    /// The picture on the display.
    Picture,
    /// The content of the dashboard.
    Dashboard,
    /// The mode of the dashboard.
    DashboardMode,
    /// Whether the microphone is on.
    Microphone,
    /// That the list of apps changed.
    AppList,
    /// Whether an app runs.
    App(PackageName),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum FrameClass {
    Control,
    Stream,
    Latest(StateKey),
    Request(PackageName),
}

#[derive(Debug, Default)]
struct OutboxQueue {
    frames: VecDeque<(FrameClass, SocketFrame)>,
    streams: usize,
    controls: usize,
    dropped: u64,
    closing: bool,
}

/// The queue to one socket.
#[derive(Debug)]
pub struct Outbox {
    queue: Mutex<OutboxQueue>,
    filled: Notify,
    stream_bound: usize,
    control_bound: usize,
    request_bound: usize,
    /// Builds the message that reports dropped data. Devices get none.
    notice: Option<fn(u64) -> String>,
}

impl Outbox {
    /// Creates a queue with these limits.
    pub fn new(stream_bound: usize, control_bound: usize, notice: Option<fn(u64) -> String>) -> Self {
        let request_bound = DEFAULT_REQUEST_BOUND;
        let (queue, filled) = (Mutex::default(), Notify::new());
        Self { queue, filled, stream_bound, control_bound, request_bound, notice }
    }

    /// Sets the number of places for requests of each app.
    #[must_use]
    pub fn with_request_bound(self, request_bound: usize) -> Self {
        Self { request_bound, ..self }
    }

    /// Queues a message that must arrive.
    pub fn send_control(&self, text: String) {
        self.push_control(SocketFrame::Text(text));
    }

    /// Queues a ping.
    pub fn send_ping(&self) {
        self.push_control(SocketFrame::Ping);
    }

    fn push_control(&self, frame: SocketFrame) {
        let mut queue = self.lock();
        if queue.closing {
            return;
        }
        if queue.controls >= self.control_bound {
            queue.frames.clear();
            return self.push_close(queue, 1011, "too slow");
        }
        queue.controls += 1;
        queue.frames.push_back((FrameClass::Control, frame));
        drop(queue);
        self.filled.notify_one();
    }

    /// Queues stream data, which may be dropped.
    pub fn send_stream(&self, frame: SocketFrame) {
        let mut queue = self.lock();
        if queue.closing {
            return;
        }
        if queue.streams >= self.stream_bound {
            queue.dropped += 1;
            return;
        }
        queue.streams += 1;
        queue.frames.push_back((FrameClass::Stream, frame));
        drop(queue);
        self.filled.notify_one();
    }

    /// Queues a state, replacing an earlier value that was not sent yet.
    pub(crate) fn send_latest(&self, key: StateKey, text: String) {
        let mut queue = self.lock();
        if queue.closing {
            return;
        }
        let class = FrameClass::Latest(key);
        match queue.frames.iter_mut().find(|(queued, _)| *queued == class) {
            Some((_, waiting)) => *waiting = SocketFrame::Text(text),
            None => queue.frames.push_back((class, SocketFrame::Text(text))),
        }
        drop(queue);
        self.filled.notify_one();
    }

    /// Queues a request of an app to the device. False if too many requests of that app are waiting.
    #[must_use]
    pub(crate) fn send_request(&self, app: &PackageName, text: String) -> bool {
        let mut queue = self.lock();
        let class = FrameClass::Request(app.clone());
        let waiting = queue.frames.iter().filter(|(queued, _)| *queued == class).count();
        if queue.closing || waiting >= self.request_bound {
            return false;
        }
        queue.frames.push_back((class, SocketFrame::Text(text)));
        drop(queue);
        self.filled.notify_one();
        true
    }

    /// Closes the socket after what is queued. Only the first close counts.
    pub fn close(&self, code: u16, reason: &'static str) {
        let queue = self.lock();
        if !queue.closing {
            self.push_close(queue, code, reason);
        }
    }

    /// Waits for the next frame. No frame follows a close.
    pub async fn next_frame(&self) -> SocketFrame {
        loop {
            let filled = self.filled.notified();
            if let Some(frame) = self.take_frame() {
                return frame;
            }
            filled.await;
        }
    }

    fn take_frame(&self) -> Option<SocketFrame> {
        let mut queue = self.lock();
        let calm = queue.dropped > 0 && queue.streams <= self.stream_bound / 2;
        if let (true, Some(notice)) = (calm, self.notice) {
            return Some(SocketFrame::Text(notice(std::mem::take(&mut queue.dropped))));
        }
        let (class, frame) = queue.frames.pop_front()?;
        match class {
            FrameClass::Stream => queue.streams -= 1,
            FrameClass::Control => queue.controls = queue.controls.saturating_sub(1),
            FrameClass::Latest(_) | FrameClass::Request(_) => {}
        }
        Some(frame)
    }

    fn push_close(&self, mut queue: MutexGuard<'_, OutboxQueue>, code: u16, reason: &'static str) {
        queue.closing = true;
        queue.frames.push_back((FrameClass::Control, SocketFrame::Close { code, reason }));
        drop(queue);
        self.filled.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, OutboxQueue> {
        self.queue.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> SocketFrame {
        SocketFrame::Text(text.to_owned())
    }

    #[tokio::test]
    async fn a_slow_reader_loses_stream_data_and_is_told_and_loses_no_control() {
        let outbox = Outbox::new(2, 8, Some(|lost| format!("lost {lost}")));
        for i in 0..5 {
            outbox.send_stream(text(&format!("s{i}")));
        }
        outbox.send_control("c".to_owned());
        assert_eq!(outbox.next_frame().await, text("s0"));
        assert_eq!(outbox.next_frame().await, text("lost 3"));
        assert_eq!(outbox.next_frame().await, text("s1"));
        assert_eq!(outbox.next_frame().await, text("c"));
    }

    #[tokio::test]
    async fn too_many_control_messages_end_the_socket() {
        let outbox = Outbox::new(2, 2, None);
        (0..3).for_each(|i| outbox.send_control(format!("c{i}")));
        assert_eq!(outbox.next_frame().await, SocketFrame::Close { code: 1011, reason: "too slow" });
    }

    #[tokio::test]
    async fn only_the_latest_state_is_sent() {
        let outbox = Outbox::new(2, 2, None);
        let picture = |text: &str| outbox.send_latest(StateKey::Picture, text.to_owned());
        picture("a");
        outbox.send_control("c".to_owned());
        (0..100).for_each(|n| outbox.send_latest(StateKey::Microphone, format!("m{n}")));
        picture("b");
        outbox.close(1000, "x");
        outbox.close(1012, "y");
        picture("never");
        assert_eq!(outbox.next_frame().await, text("b"));
        assert_eq!(outbox.next_frame().await, text("c"));
        assert_eq!(outbox.next_frame().await, text("m99"));
        assert_eq!(outbox.next_frame().await, SocketFrame::Close { code: 1000, reason: "x" });
    }

    #[tokio::test]
    async fn an_app_that_asks_too_much_of_a_slow_device_is_refused_and_the_device_stays() {
        let (flooding, other): (PackageName, PackageName) = ("a".parse().unwrap(), "b".parse().unwrap());
        let outbox = Outbox::new(2, 2, None).with_request_bound(3);
        let taken = (0..1_000).filter(|n| outbox.send_request(&flooding, format!("a{n}"))).count();
        assert_eq!(taken, 3);
        assert!(outbox.send_request(&other, "b".to_owned()), "another app has places of its own");
        outbox.send_control("c0".to_owned());
        outbox.send_control("c1".to_owned());
        for expected in ["a0", "a1", "a2", "b", "c0", "c1"] {
            assert_eq!(outbox.next_frame().await, text(expected));
        }
        assert!(outbox.send_request(&flooding, "again".to_owned()));
    }
}
