//! Retries, as long as nothing was received. Text that a user saw and calls that ran are never requested twice.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use toolyard_core::ports::IdGenerator;

use super::{ModelError, ModelStream, RequestPolicy};

/// Asks until the first event arrives, a retry makes no sense, or the retries are used up. The returned stream begins
/// with the first event.
pub(super) async fn ask_with_retry<F, R>(
    bounds: &RequestPolicy,
    ids: &dyn IdGenerator,
    mut attempt: F,
) -> Result<ModelStream, ModelError>
where
    F: FnMut() -> R,
    R: Future<Output = Result<ModelStream, ModelError>>,
{
    let mut tries = 0;
    loop {
        let error = match wait_for_first_event(attempt().await).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let Some(wait) = retry_delay(bounds, ids, tries, &error) else { return Err(error) };
        tries += 1;
        tracing::info!(kind = ?error.kind, %error, cause = error.cause.as_deref(), "retrying model request");
        tokio::time::sleep(wait).await;
    }
}

/// The response, once its first event is there.
async fn wait_for_first_event(answer: Result<ModelStream, ModelError>) -> Result<ModelStream, ModelError> {
    let mut answer = answer?;
    match answer.next().await {
        Some(Ok(first)) => Ok(stream::iter([Ok(first)]).chain(answer).boxed()),
        Some(Err(error)) => Err(error),
        None => Ok(stream::empty().boxed()),
    }
}

/// How long to wait before a retry. None if there is none.
fn retry_delay(
    bounds: &RequestPolicy,
    ids: &dyn IdGenerator,
    tries: u32,
    error: &ModelError,
) -> Option<Duration> {
    if tries >= bounds.retries || !error.kind.is_transient() {
        return None;
    }
    match error.retry_after {
        Some(delay) => (delay <= bounds.retry_after).then_some(delay),
        None => {
            let longest = bounds.backoff.saturating_mul(2_u32.saturating_pow(tries)).min(bounds.retry_after);
            let mut chance = [0; 1];
            ids.fill_random(&mut chance);
            Some(longest.mul_f64(1.0 - f64::from(chance[0]) / 510.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::Instant;

    use super::*;
    use crate::model::{ModelErrorKind, ModelEvent, ResponseEnd};

    struct Chance(u8);

    impl IdGenerator for Chance {
        fn fill_random(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    fn error(kind: ModelErrorKind, retry_after: Option<u64>) -> ModelError {
        let retry_after = retry_after.map(Duration::from_secs);
        ModelError { kind, text: "no".to_owned(), cause: None, retry_after }
    }

    fn answer(items: Vec<Result<ModelEvent, ModelError>>) -> ModelStream {
        stream::iter(items).boxed()
    }

    /// How many attempts there were, how long they took, and their outcome.
    async fn count(
        bounds: &RequestPolicy,
        chance: u8,
        result: impl Fn(u32) -> Result<ModelStream, ModelError>,
    ) -> (u32, Duration, Result<ModelStream, ModelError>) {
        let (attempts, from, chance) = (Cell::new(0), Instant::now(), Chance(chance));
        let came = ask_with_retry(bounds, &chance, || {
            attempts.set(attempts.get() + 1);
            std::future::ready(result(attempts.get()))
        });
        let came = came.await;
        (attempts.get(), from.elapsed(), came)
    }

    #[tokio::test(start_paused = true)]
    async fn it_retries_with_growing_delays_and_then_gives_up() {
        let fails = |_| Err(error(ModelErrorKind::Unavailable, None));
        let (attempts, took, came) = count(&RequestPolicy::default(), 0, fails).await;
        assert_eq!((attempts, came.err().unwrap().kind), (3, ModelErrorKind::Unavailable));
        assert_eq!(took, Duration::from_millis(500 + 1_000));
        let (_, took, _) = count(&RequestPolicy::default(), 255, fails).await;
        assert_eq!(took, Duration::from_millis(250 + 500), "chance takes up to a half away");
    }

    #[tokio::test(start_paused = true)]
    async fn only_transient_errors_are_retried() {
        for (kind, want) in [
            (ModelErrorKind::Unknown, 1),
            (ModelErrorKind::Unreachable, 3),
            (ModelErrorKind::Unauthorized, 1),
            (ModelErrorKind::RateLimited, 3),
            (ModelErrorKind::NoCredit, 1),
            (ModelErrorKind::Unavailable, 3),
            (ModelErrorKind::Refused, 1),
            (ModelErrorKind::Broken, 3),
        ] {
            let (attempts, _, came) = count(&RequestPolicy::default(), 0, |_| Err(error(kind, None))).await;
            assert_eq!((attempts, came.err().unwrap().kind), (want, kind));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_requested_delay_is_respected_up_to_the_limit() {
        let limited = |secs| move |_| Err(error(ModelErrorKind::RateLimited, Some(secs)));
        let (attempts, took, _) = count(&RequestPolicy::default(), 255, limited(20)).await;
        assert_eq!((attempts, took), (3, Duration::from_secs(40)));
        let (attempts, took, came) = count(&RequestPolicy::default(), 255, limited(21)).await;
        assert_eq!((attempts, took), (1, Duration::ZERO));
        assert_eq!(came.err().unwrap().retry_after, Some(Duration::from_secs(21)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_before_the_first_event_is_retried() {
        let (attempts, _, came) = count(&RequestPolicy::default(), 0, |attempts| {
            let first = match attempts {
                1 => Err(error(ModelErrorKind::Unavailable, None)),
                _ => Ok(ModelEvent::Text("hi".to_owned())),
            };
            Ok(answer(vec![first, Ok(ModelEvent::End(ResponseEnd::default()))]))
        })
        .await;
        let events: Vec<_> = came.unwrap().collect().await;
        assert_eq!(attempts, 2);
        assert!(matches!(&events[..], [Ok(ModelEvent::Text(text)), Ok(ModelEvent::End(_))] if text == "hi"));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_retried_after_the_first_event() {
        let (attempts, _, came) = count(&RequestPolicy::default(), 0, |_| {
            let broken = Err(error(ModelErrorKind::Broken, None));
            Ok(answer(vec![Ok(ModelEvent::Text("hi".to_owned())), broken]))
        })
        .await;
        let events: Vec<_> = came.unwrap().collect().await;
        assert_eq!((attempts, events.len()), (1, 2));
        assert!(events[1].is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn zero_retries_mean_one_attempt() {
        let bounds = RequestPolicy { retries: 0, ..RequestPolicy::default() };
        let (attempts, _, _) = count(&bounds, 0, |_| Err(error(ModelErrorKind::Unavailable, None))).await;
        assert_eq!(attempts, 1);
    }
}
