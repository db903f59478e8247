//! Runs queries on blocking threads, with a limit on concurrency and a deadline.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::Semaphore,
    time::{Instant, timeout, timeout_at},
};

use super::error::QueryError;

/// Extra time for a query to notice its deadline.
const GRACE: Duration = Duration::from_millis(500);

/// Limits how many calls run at once. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct QueryGate(Arc<Semaphore>);

impl QueryGate {
    pub(super) fn new(at_once: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once)))
    }

    /// Runs work within a time limit, which includes waiting for a slot. Dropping the future cancels the work.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&QueryDeadline) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, QueryError> {
        let end = Instant::now() + limit;
        let waited = timeout_at(end, self.0.clone().acquire_owned()).await;
        let permit = waited.map_err(|_| QueryError::Busy)?.map_err(|_| QueryError::Failed)?;
        let stop = QueryDeadline { left: Arc::default(), end };
        let _leaving = LeaveOnDrop(stop.left.clone());
        let running = tokio::task::spawn_blocking(move || {
            // Held until the thread is free, even if the caller stopped waiting.
            let _permit = permit;
            work(&stop)
        });
        match timeout(limit + GRACE, running).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(QueryError::Failed),
            Err(_) => Err(QueryError::TooSlow(limit)),
        }
    }
}

/// Says when work has to end: its deadline has passed, or the caller stopped waiting.
#[derive(Debug, Clone)]
pub(super) struct QueryDeadline {
    left: Arc<AtomicBool>,
    end: Instant,
}

impl QueryDeadline {
    pub(super) fn is_over(&self) -> bool {
        self.left.load(Ordering::Relaxed) || Instant::now() >= self.end
    }
}

struct LeaveOnDrop(Arc<AtomicBool>);

impl Drop for LeaveOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn until_over(stop: &QueryDeadline) {
        while !stop.is_over() {
            std::thread::yield_now();
        }
    }

    #[tokio::test]
    async fn work_ends_when_its_future_is_dropped() {
        let (begun, has_begun) = mpsc::channel();
        let (ended, has_ended) = mpsc::channel();
        let gate = QueryGate::new(1);
        let mut work = Box::pin(gate.run_blocking(LONG, move |stop| {
            begun.send(()).unwrap();
            until_over(stop);
            ended.send(()).unwrap();
            Ok(())
        }));
        assert!(timeout(Duration::from_millis(1), &mut work).await.is_err());
        has_begun.recv_timeout(LONG).unwrap();
        drop(work);
        has_ended.recv_timeout(LONG).unwrap();
        assert_eq!(gate.run_blocking(LONG, |_| Ok(7)).await, Ok(7), "the place is free again");
    }

    #[tokio::test]
    async fn concurrency_is_limited_and_waiting_times_out() {
        let gate = QueryGate::new(1);
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let first = gate.run_blocking(LONG, move |stop| {
            begun.send(()).unwrap();
            until_over(stop);
            Ok(())
        });
        tokio::select! {
            _ = first => panic!("it runs until it is left"),
            second = async {
                has_begun.await.unwrap();
                gate.run_blocking(Duration::from_millis(5), |_| Ok(())).await
            } => assert_eq!(second, Err(QueryError::Busy)),
        }
    }

    #[tokio::test]
    async fn a_panic_is_an_error() {
        assert_eq!(
            QueryGate::new(1).run_blocking::<()>(LONG, |_| panic!("on purpose")).await,
            Err(QueryError::Failed)
        );
    }
}
