//! Handlers that run to their end even if the client disconnects. Otherwise a caller could leave right after a change was stored,
//! before it is announced and recorded in the audit log.

use axum::{
    extract::Request,
    handler::Handler,
    response::{IntoResponse as _, Response},
};
use futures_util::future::BoxFuture;
use tokio_util::task::TaskTracker;
use toolyard_protocol::api::ApiErrorCode;

use crate::{error::RequestError, state::ServerState};

/// A handler on a task of its own.
#[derive(Clone)]
pub(crate) struct UninterruptedHandler<H>(pub(crate) H);

impl<H, T> Handler<T, ServerState> for UninterruptedHandler<H>
where
    H: Handler<T, ServerState>,
    T: 'static,
{
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, state: ServerState) -> Self::Future {
        Box::pin(async move {
            let tasks = state.lifecycle.tasks.clone();
            run_to_end(&tasks, self.0.call(request, state)).await
        })
    }
}

async fn run_to_end(tasks: &TaskTracker, work: impl Future<Output = Response> + Send + 'static) -> Response {
    tasks.spawn(work).await.unwrap_or_else(|error| {
        tracing::error!(%error, "request handler failed");
        RequestError::new(ApiErrorCode::Internal, "the server failed; see its log").into_response()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use futures_util::FutureExt as _;
    use http::StatusCode;
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn work_ends_even_if_nobody_waits_for_it() {
        let (tasks, go_on, is_done) =
            (TaskTracker::new(), Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let work = {
            let (go_on, is_done) = (go_on.clone(), is_done.clone());
            async move {
                go_on.notified().await;
                is_done.store(true, Ordering::Relaxed);
                StatusCode::OK.into_response()
            }
        };
        // The client disconnects: the future is dropped.
        assert!(Box::pin(run_to_end(&tasks, work)).now_or_never().is_none());
        go_on.notify_one();
        tasks.close();
        tasks.wait().await;
        assert!(is_done.load(Ordering::Relaxed));
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_the_server() {
        async fn fail() -> Response {
            panic!("on purpose")
        }
        let failed = run_to_end(&TaskTracker::new(), fail()).await;
        assert_eq!(failed.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
