//! Functions without their types, so that tools of any type fit into one list.

use std::sync::Arc;

use futures_util::future::{BoxFuture, Either, ready};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::arguments::{InvalidArguments, read_arguments};

/// A tool's function without its types: arguments as JSON and a context `C` in, an outcome `O` out.
pub type ErasedFunction<C, O> = Arc<dyn Fn(Map<String, Value>, C) -> BoxFuture<'static, O> + Send + Sync>;

/// Erases the types of a function whose arguments are a type. `finish` turns its return value into an outcome, `refuse`
/// does so for arguments that do not match the type; the function does not see those.
pub fn erase_typed<A, C, F, Fut, O>(
    function: F,
    finish: fn(Fut::Output) -> O,
    refuse: fn(InvalidArguments) -> O,
) -> ErasedFunction<C, O>
where
    A: DeserializeOwned,
    F: Fn(A, C) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    O: Send + 'static,
{
    Arc::new(move |arguments, context| {
        let run = match read_arguments(arguments) {
            Ok(arguments) => {
                let running = function(arguments, context);
                Either::Left(async move { finish(running.await) })
            }
            Err(invalid) => Either::Right(ready(refuse(invalid))),
        };
        Box::pin(run)
    })
}

/// Erases the types of a function that takes its arguments as they came.
pub fn erase_dynamic<C, F, Fut, O>(function: F, finish: fn(Fut::Output) -> O) -> ErasedFunction<C, O>
where
    F: Fn(Map<String, Value>, C) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    O: Send + 'static,
{
    Arc::new(move |arguments, context| {
        let running = function(arguments, context);
        Box::pin(async move { finish(running.await) })
    })
}
