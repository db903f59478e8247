//! Asking again, as long as nothing was heard: what a user saw or a tool was called for is never asked for twice.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use toolyard_core::ports::IdGenerator;

use super::{ModelError, ModelStream, RequestPolicy};

/// Asks until something is heard, it makes no sense to go on, or the number of tries is used up. The stream that comes
/// back begins with what was heard.
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
        tracing::info!(kind = ?error.kind, cause = error.cause.as_deref(), "asking a model again: {error}");
        tokio::time::sleep(wait).await;
    }
}

/// The answer, once its first event is there.
async fn wait_for_first_event(answer: Result<ModelStream, ModelError>) -> Result<ModelStream, ModelError> {
    let mut answer = answer?;
    match answer.next().await {
        Some(Ok(first)) => Ok(stream::iter([Ok(first)]).chain(answer).boxed()),
        Some(Err(error)) => Err(error),
        None => Ok(stream::empty().boxed()),
    }
}

/// How long to wait before asking again; None if it shall not be asked again.
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
        Some(asked) => (asked <= bounds.retry_after).then_some(asked),
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

    /// How often it asked, how long that took, and what came of it.
    async fn count(
        bounds: &RequestPolicy,
        chance: u8,
        result: impl Fn(u32) -> Result<ModelStream, ModelError>,
    ) -> (u32, Duration, Result<ModelStream, ModelError>) {
        let (asked, from, chance) = (Cell::new(0), Instant::now(), Chance(chance));
        let came = ask_with_retry(bounds, &chance, || {
            asked.set(asked.get() + 1);
            std::future::ready(result(asked.get()))
        });
        let came = came.await;
        (asked.get(), from.elapsed(), came)
    }

    #[tokio::test(start_paused = true)]
    async fn it_asks_again_with_growing_waits_and_then_gives_up() {
        let fails = |_| Err(error(ModelErrorKind::Unavailable, None));
        let (asked, took, came) = count(&RequestPolicy::default(), 0, fails).await;
        assert_eq!((asked, came.err().unwrap().kind), (3, ModelErrorKind::Unavailable));
        assert_eq!(took, Duration::from_millis(500 + 1_000));
        let (_, took, _) = count(&RequestPolicy::default(), 255, fails).await;
        assert_eq!(took, Duration::from_millis(250 + 500), "chance takes up to a half away");
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_may_pass_is_asked_again() {
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
            let (asked, _, came) = count(&RequestPolicy::default(), 0, |_| Err(error(kind, None))).await;
            assert_eq!((asked, came.err().unwrap().kind), (want, kind));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_asked_for_is_kept_up_to_the_bound() {
        let limited = |secs| move |_| Err(error(ModelErrorKind::RateLimited, Some(secs)));
        let (asked, took, _) = count(&RequestPolicy::default(), 255, limited(20)).await;
        assert_eq!((asked, took), (3, Duration::from_secs(40)));
        let (asked, took, came) = count(&RequestPolicy::default(), 255, limited(21)).await;
        assert_eq!((asked, took), (1, Duration::ZERO));
        assert_eq!(came.err().unwrap().retry_after, Some(Duration::from_secs(21)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_before_the_first_event_is_one_before_the_answer() {
        let (asked, _, came) = count(&RequestPolicy::default(), 0, |asked| {
            let first = match asked {
                1 => Err(error(ModelErrorKind::Unavailable, None)),
                _ => Ok(ModelEvent::Text("hi".to_owned())),
            };
            Ok(answer(vec![first, Ok(ModelEvent::End(ResponseEnd::default()))]))
        })
        .await;
        let events: Vec<_> = came.unwrap().collect().await;
        assert_eq!(asked, 2);
        assert!(matches!(&events[..], [Ok(ModelEvent::Text(text)), Ok(ModelEvent::End(_))] if text == "hi"));
    }

    #[tokio::test(start_paused = true)]
    async fn after_something_was_heard_nothing_is_asked_again() {
        let (asked, _, came) = count(&RequestPolicy::default(), 0, |_| {
            let broken = Err(error(ModelErrorKind::Broken, None));
            Ok(answer(vec![Ok(ModelEvent::Text("hi".to_owned())), broken]))
        })
        .await;
        let events: Vec<_> = came.unwrap().collect().await;
        assert_eq!((asked, events.len()), (1, 2));
        assert!(events[1].is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn no_retries_are_none() {
        let bounds = RequestPolicy { retries: 0, ..RequestPolicy::default() };
        let (asked, _, _) = count(&bounds, 0, |_| Err(error(ModelErrorKind::Unavailable, None))).await;
        assert_eq!(asked, 1);
    }
}
