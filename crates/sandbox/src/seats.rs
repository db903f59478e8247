//! Limits the number of threads. A run takes a seat, and its thread returns it when it ends. A thread that does not end
//! moves to one of a few spare seats, so that others can run; if those are taken, it keeps its seat. So there are never
//! more threads than seats of both kinds.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::error::SandboxError;
use crate::limits::SandboxLimits;

#[derive(Debug)]
pub(crate) struct ThreadSeats {
    /// First come, first served.
    running: Arc<Semaphore>,
    spare: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// The seat of one run, shared by its thread and its caller.
type SharedSeat = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

/// The thread's side: returns the seat on drop.
#[derive(Debug)]
pub(crate) struct OccupiedSeat(SharedSeat);

/// The caller's side: on drop, a thread that still runs moves to a spare seat.
#[derive(Debug)]
pub(crate) struct SeatWatcher {
    seat: SharedSeat,
    spare: Arc<Semaphore>,
}

impl ThreadSeats {
    pub(crate) fn new(limits: &SandboxLimits) -> Self {
        let seats = |count| Arc::new(Semaphore::new(count));
        Self { running: seats(limits.runs), spare: seats(limits.abandoned), waiting: seats(limits.waiting) }
    }

    /// Waits for a seat, first come, first served.
    pub(crate) async fn take_seat(
        &self,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<(OccupiedSeat, SeatWatcher), SandboxError> {
        let permit = match Arc::clone(&self.running).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let _place = self.waiting.try_acquire().map_err(|_| SandboxError::Busy)?;
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return Err(SandboxError::Cancelled),
                    permit = timeout_at(deadline, Arc::clone(&self.running).acquire_owned()) => {
                        permit.ok().and_then(Result::ok).ok_or(SandboxError::Busy)?
                    }
                }
            }
        };
        let seat = Arc::new(Mutex::new(Some(permit)));
        Ok((OccupiedSeat(Arc::clone(&seat)), SeatWatcher { seat, spare: Arc::clone(&self.spare) }))
    }
}

impl Drop for OccupiedSeat {
    fn drop(&mut self) {
        self.0.lock().take();
    }
}

impl Drop for SeatWatcher {
    fn drop(&mut self) {
        let mut seat = self.seat.lock();
        if seat.is_some()
            && let Ok(spare) = Arc::clone(&self.spare).try_acquire_owned()
        {
            *seat = Some(spare);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn seats(runs: usize, waiting: usize, abandoned: usize) -> ThreadSeats {
        ThreadSeats::new(&SandboxLimits { runs, waiting, abandoned, ..SandboxLimits::default() })
    }

    async fn take(seats: &ThreadSeats) -> Result<(OccupiedSeat, SeatWatcher), SandboxError> {
        seats.take_seat(Instant::now() + Duration::from_millis(5), &CancellationToken::new()).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_seat_is_free_again_when_its_thread_ends() {
        let seats = seats(1, 1, 0);
        let (seated, waiting) = take(&seats).await.unwrap();
        assert_eq!(take(&seats).await.unwrap_err(), SandboxError::Busy);
        drop(seated);
        drop(waiting);
        take(&seats).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_abandoned_thread_moves_to_a_spare_seat() {
        let seats = seats(1, 1, 1);
        let (stuck, waiting) = take(&seats).await.unwrap();
        drop(waiting);
        let (stuck_too, waiting) = take(&seats).await.unwrap();
        drop(waiting);
        assert_eq!(take(&seats).await.unwrap_err(), SandboxError::Busy);
        drop(stuck);
        // The second one keeps its seat: the spare one is free for the next.
        assert_eq!(take(&seats).await.unwrap_err(), SandboxError::Busy);
        drop(stuck_too);
        take(&seats).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_that_is_full_refuses_at_once_and_one_who_leaves_frees_a_place() {
        let seats = seats(1, 0, 0);
        let _first = take(&seats).await.unwrap();
        let before = Instant::now();
        assert_eq!(take(&seats).await.unwrap_err(), SandboxError::Busy);
        assert_eq!(Instant::now(), before);

        let seats = self::seats(1, 1, 0);
        let _first = take(&seats).await.unwrap();
        let cancel = CancellationToken::new();
        cancel.cancel();
        let far = Instant::now() + Duration::from_secs(60);
        assert_eq!(seats.take_seat(far, &cancel).await.unwrap_err(), SandboxError::Cancelled);
        assert_eq!(take(&seats).await.unwrap_err(), SandboxError::Busy);
        assert!(Instant::now() > before);
    }
}
