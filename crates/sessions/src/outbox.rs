//! The queue towards one socket.
//!
//! Streams may lose data when the other side is slow, and it is told how much. Control messages are never lost: when
//! even they pile up, the socket is closed, so that the app comes back with a clean state. What apps cause at a device is
//! never a reason to close it: of states (a picture, the microphone) only the latest counts, and each app has a few
//! places for requests of its own, beyond which they are refused.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use tokio::sync::Notify;
use toolyard_protocol::PackageName;

/// Requests of one app that wait for a slow device, where nothing else is set.
pub(crate) const DEFAULT_REQUEST_BOUND: usize = 16;

/// Something to write to a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A message.
    Text(String),
    /// Sound.
    Binary(Bytes),
    /// A question that the other side's WebSocket answers by itself, after everything that was sent before it.
    Ping,
    /// The end.
    Close {
        /// A WebSocket close code.
        code: u16,
        /// Why.
        reason: &'static str,
    },
}

/// A state of which only the latest counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StateKey {
    /// What is on the display.
    Picture,
    /// What is on the dashboard.
    Dashboard,
    /// Which mode the dashboard is in.
    DashboardMode,
    /// Whether the device listens.
    Microphone,
    /// That the list of apps is another one.
    AppList,
    /// Whether an app runs.
    App(PackageName),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Class {
    Control,
    Stream,
    Latest(StateKey),
    Request(PackageName),
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<(Class, Frame)>,
    streams: usize,
    controls: usize,
    dropped: u64,
    closing: bool,
}

/// The queue towards one socket.
#[derive(Debug)]
pub struct Outbox {
    queue: Mutex<Queue>,
    filled: Notify,
    stream_bound: usize,
    control_bound: usize,
    request_bound: usize,
    /// Makes the message that tells how much was lost; devices are not told.
    notice: Option<fn(u64) -> String>,
}

impl Outbox {
    /// A queue with these bounds.
    pub fn new(stream_bound: usize, control_bound: usize, notice: Option<fn(u64) -> String>) -> Self {
        let request_bound = DEFAULT_REQUEST_BOUND;
        let (queue, filled) = (Mutex::default(), Notify::new());
        Self { queue, filled, stream_bound, control_bound, request_bound, notice }
    }

    /// The same with so many places for requests of each app.
    #[must_use]
    pub fn with_request_bound(self, request_bound: usize) -> Self {
        Self { request_bound, ..self }
    }

    /// A message that must arrive.
    pub fn control(&self, text: String) {
        self.must(Frame::Text(text));
    }

    /// Asks for a sign of life.
    pub fn ping(&self) {
        self.must(Frame::Ping);
    }

    fn must(&self, frame: Frame) {
        let mut queue = self.lock();
        if queue.closing {
            return;
        }
        if queue.controls >= self.control_bound {
            queue.frames.clear();
            return self.end(queue, 1011, "too slow");
        }
        queue.controls += 1;
        queue.frames.push_back((Class::Control, frame));
        drop(queue);
        self.filled.notify_one();
    }

    /// A piece of a stream, which may be lost.
    pub fn stream(&self, frame: Frame) {
        let mut queue = self.lock();
        if queue.closing {
            return;
        }
        if queue.streams >= self.stream_bound {
            queue.dropped += 1;
            return;
        }
        queue.streams += 1;
        queue.frames.push_back((Class::Stream, frame));
        drop(queue);
        self.filled.notify_one();
    }

    /// A state, which takes the place of an earlier one that was not yet sent.
    pub(crate) fn latest(&self, key: StateKey, text: String) {
        let mut queue = self.lock();
        if queue.closing {
            return;
        }
        let class = Class::Latest(key);
        match queue.frames.iter_mut().find(|(queued, _)| *queued == class) {
            Some((_, waiting)) => *waiting = Frame::Text(text),
            None => queue.frames.push_back((class, Frame::Text(text))),
        }
        drop(queue);
        self.filled.notify_one();
    }

    /// Something that an app asks of the device. False where too much of that app waits already.
    #[must_use]
    pub(crate) fn request(&self, app: &PackageName, text: String) -> bool {
        let mut queue = self.lock();
        let class = Class::Request(app.clone());
        let waiting = queue.frames.iter().filter(|(queued, _)| *queued == class).count();
        if queue.closing || waiting >= self.request_bound {
            return false;
        }
        queue.frames.push_back((class, Frame::Text(text)));
        drop(queue);
        self.filled.notify_one();
        true
    }

    /// Ends the socket after what is queued. Only the first end counts.
    pub fn close(&self, code: u16, reason: &'static str) {
        let queue = self.lock();
        if !queue.closing {
            self.end(queue, code, reason);
        }
    }

    /// The next frame; waits for one. Nothing follows a close.
    pub async fn next(&self) -> Frame {
        loop {
            let filled = self.filled.notified();
            if let Some(frame) = self.take() {
                return frame;
            }
            filled.await;
        }
    }

    fn take(&self) -> Option<Frame> {
        let mut queue = self.lock();
        let calm = queue.dropped > 0 && queue.streams <= self.stream_bound / 2;
        if let (true, Some(notice)) = (calm, self.notice) {
            return Some(Frame::Text(notice(std::mem::take(&mut queue.dropped))));
        }
        let (class, frame) = queue.frames.pop_front()?;
        match class {
            Class::Stream => queue.streams -= 1,
            Class::Control => queue.controls = queue.controls.saturating_sub(1),
            Class::Latest(_) | Class::Request(_) => {}
        }
        Some(frame)
    }

    fn end(&self, mut queue: MutexGuard<'_, Queue>, code: u16, reason: &'static str) {
        queue.closing = true;
        queue.frames.push_back((Class::Control, Frame::Close { code, reason }));
        drop(queue);
        self.filled.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Frame {
        Frame::Text(text.to_owned())
    }

    #[tokio::test]
    async fn a_slow_reader_loses_stream_data_and_is_told_and_loses_no_control() {
        let outbox = Outbox::new(2, 8, Some(|lost| format!("lost {lost}")));
        for i in 0..5 {
            outbox.stream(text(&format!("s{i}")));
        }
        outbox.control("c".to_owned());
        assert_eq!(outbox.next().await, text("s0"));
        assert_eq!(outbox.next().await, text("lost 3"));
        assert_eq!(outbox.next().await, text("s1"));
        assert_eq!(outbox.next().await, text("c"));
    }

    #[tokio::test]
    async fn too_many_control_messages_end_the_socket() {
        let outbox = Outbox::new(2, 2, None);
        (0..3).for_each(|i| outbox.control(format!("c{i}")));
        assert_eq!(outbox.next().await, Frame::Close { code: 1011, reason: "too slow" });
    }

    #[tokio::test]
    async fn of_states_the_latest_counts() {
        let outbox = Outbox::new(2, 2, None);
        let picture = |text: &str| outbox.latest(StateKey::Picture, text.to_owned());
        picture("a");
        outbox.control("c".to_owned());
        (0..100).for_each(|n| outbox.latest(StateKey::Microphone, format!("m{n}")));
        picture("b");
        outbox.close(1000, "x");
        outbox.close(1012, "y");
        picture("never");
        assert_eq!(outbox.next().await, text("b"));
        assert_eq!(outbox.next().await, text("c"));
        assert_eq!(outbox.next().await, text("m99"));
        assert_eq!(outbox.next().await, Frame::Close { code: 1000, reason: "x" });
    }

    #[tokio::test]
    async fn an_app_that_asks_too_much_of_a_slow_device_is_refused_and_the_device_stays() {
        let (flooding, other): (PackageName, PackageName) = ("a".parse().unwrap(), "b".parse().unwrap());
        let outbox = Outbox::new(2, 2, None).with_request_bound(3);
        let taken = (0..1_000).filter(|n| outbox.request(&flooding, format!("a{n}"))).count();
        assert_eq!(taken, 3);
        assert!(outbox.request(&other, "b".to_owned()), "another app has places of its own");
        outbox.control("c0".to_owned());
        outbox.control("c1".to_owned());
        for expected in ["a0", "a1", "a2", "b", "c0", "c1"] {
            assert_eq!(outbox.next().await, text(expected));
        }
        assert!(outbox.request(&flooding, "again".to_owned()));
    }
}
