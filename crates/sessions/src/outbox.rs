//! The queue towards one socket.
//!
//! Streams may lose data when the other side is slow, and it is told how much. Control messages are never lost: when
//! even they pile up, the socket is closed, so that the app comes back with a clean state. Of pictures only the latest
//! counts.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use tokio::sync::Notify;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Control,
    Stream,
    Picture,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<(Class, Frame)>,
    streams: usize,
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
    /// Makes the message that tells how much was lost; devices are not told.
    notice: Option<fn(u64) -> String>,
}

impl Outbox {
    /// A queue with these bounds.
    pub fn new(stream_bound: usize, control_bound: usize, notice: Option<fn(u64) -> String>) -> Self {
        Self { queue: Mutex::default(), filled: Notify::new(), stream_bound, control_bound, notice }
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
        if queue.frames.len() - queue.streams >= self.control_bound {
            queue.frames.clear();
            return self.end(queue, 1011, "too slow");
        }
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

    /// A picture, which takes the place of one that was not yet sent.
    pub fn picture(&self, text: String) {
        let mut queue = self.lock();
        if queue.closing {
            return;
        }
        match queue.frames.iter_mut().find(|(class, _)| *class == Class::Picture) {
            Some((_, waiting)) => *waiting = Frame::Text(text),
            None => queue.frames.push_back((Class::Picture, Frame::Text(text))),
        }
        drop(queue);
        self.filled.notify_one();
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
        if class == Class::Stream {
            queue.streams -= 1;
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
    async fn of_pictures_the_latest_counts() {
        let outbox = Outbox::new(2, 2, None);
        outbox.picture("a".to_owned());
        outbox.control("c".to_owned());
        outbox.picture("b".to_owned());
        outbox.close(1000, "x");
        outbox.close(1012, "y");
        outbox.picture("never".to_owned());
        assert_eq!(outbox.next().await, text("b"));
        assert_eq!(outbox.next().await, text("c"));
        assert_eq!(outbox.next().await, Frame::Close { code: 1000, reason: "x" });
    }
}
