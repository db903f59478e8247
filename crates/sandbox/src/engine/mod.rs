//! One run, on a thread of its own: a new engine, our script, the code, and the loop that brings it answers until it has
//! a result or is over.

mod chance;
mod script;
mod state;
mod thrown;
mod watch;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::{Context, Ctx, Function, Persistent, Promise, Runtime, Value};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::SandboxError;
use crate::job::{Host, Job};
use crate::limits::Limits;
use crate::link::{Answer, Settled, ToHost};
use crate::output;
use script::{Kept, Script};
use state::State;
use watch::Watch;

/// Stack of a thread beyond that of the engine, for the last frame before the engine notices and for our own frames.
const STACK_HEADROOM: usize = 2 * 1024 * 1024;

/// What the language brings. Without `WeakRef`, which shows when memory is collected, and `Performance`, a clock.
type Language = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
);

/// All that a run needs.
pub(crate) struct Run {
    pub(crate) job: Job,
    pub(crate) limits: Arc<Limits>,
    pub(crate) host: Host,
    pub(crate) deadline: Instant,
    /// The caller left.
    pub(crate) stop: CancellationToken,
    pub(crate) to_host: mpsc::Sender<ToHost>,
    /// Ends when the caller leaves.
    pub(crate) answers: Receiver<Answer>,
}

/// A run that returned.
pub(crate) struct Returned {
    pub(crate) json: Box<RawValue>,
    pub(crate) compute: Duration,
    pub(crate) host_calls: usize,
    pub(crate) memory: usize,
}

/// Stack that a thread needs for a run.
pub(crate) fn thread_stack(limits: &Limits) -> usize {
    limits.stack + STACK_HEADROOM
}

/// Runs the job to its end. Blocks.
pub(crate) fn run(run: Run) -> Result<Returned, SandboxError> {
    let Run { job, limits, host, deadline, stop, to_host, answers } = run;
    let watch = Watch::new(&limits, deadline, stop, watch::processor_time);
    let state = Rc::new(State::new(limits, host, watch, &job.name, to_host));

    let broken = |error: rquickjs::Error| SandboxError::Broken { text: error.to_string() };
    let runtime = Runtime::new().map_err(broken)?;
    runtime.set_memory_limit(state.limits.memory);
    runtime.set_max_stack_size(state.limits.stack);
    let watching = Rc::clone(&state);
    runtime.set_interrupt_handler(Some(Box::new(move || watching.watch.is_over())));
    let context = Context::custom::<Language>(&runtime).map_err(broken)?;

    let steps = Steps::prepare(&context, &state, &answers, &job);
    let returned = steps.and_then(|steps| steps.follow());
    state.close_log();
    let memory = usize::try_from(runtime.memory_usage().malloc_size).unwrap_or(0);
    let json = output::check(returned?, &state.limits)?;
    Ok(Returned { json, compute: state.watch.compute(), host_calls: state.asked(), memory })
}

/// Jobs that are run before we look whether there is a result. Looking is cheap; this keeps it out of the way.
const JOBS_BETWEEN_LOOKS: usize = 32;

struct Steps<'run> {
    context: &'run Context,
    state: &'run State,
    answers: &'run Receiver<Answer>,
    script: Kept,
    promise: Persistent<Promise<'static>>,
}

impl<'run> Steps<'run> {
    /// Sets the engine up, reads the code, and starts it.
    fn prepare(
        context: &'run Context,
        state: &'run Rc<State>,
        answers: &'run Receiver<Answer>,
        job: &Job,
    ) -> Result<Self, SandboxError> {
        context.with(|ctx| {
            let script = Script::install(&ctx, state, job.permissions.clock)
                .map_err(|error| state.watch.ended().unwrap_or_else(|| script::broken(&error)))?;
            let code = compile(&ctx, &script, state, &job.source)?;
            let started = script.start.call::<_, Promise<'_>>((code, job.args.get()));
            let promise = started.map_err(|_| thrown::uncaught(&script, state, &ctx))?;
            let promise = Persistent::save(&ctx, promise);
            Ok(Self { context, state, answers, script: script.keep(&ctx), promise })
        })
    }

    /// Goes on until there is a result.
    fn follow(&self) -> Result<String, SandboxError> {
        loop {
            let more = self.run_jobs()?;
            if let Some(text) = self.enter(|ctx, script| self.result(ctx, script))? {
                return Ok(text);
            }
            if !more {
                self.wait()?;
            }
        }
    }

    /// Runs some of what is ready, and says whether there may be more. Each job may make further ones, so the clock is
    /// looked at between them.
    fn run_jobs(&self) -> Result<bool, SandboxError> {
        self.state.watch.check()?;
        for _ in 0..JOBS_BETWEEN_LOOKS {
            match self.context.runtime().execute_pending_job() {
                Ok(true) => self.state.watch.check()?,
                Ok(false) => return Ok(false),
                // What code throws in a job becomes a rejection. Only a job that found no memory fails as a whole, and
                // whoever waits for it would wait for ever.
                Err(_) => return self.enter(|ctx, script| Err(thrown::uncaught(script, self.state, ctx))),
            }
        }
        Ok(true)
    }

    /// The result, if there is one.
    fn result<'js>(&self, ctx: &Ctx<'js>, script: &Script<'js>) -> Result<Option<String>, SandboxError> {
        let promise = self.promise.clone().restore(ctx).map_err(|error| script::broken(&error))?;
        match promise.result::<Value<'js>>() {
            Some(Ok(value)) => self.write(ctx, script, value).map(Some),
            Some(Err(_)) => Err(thrown::uncaught(script, self.state, ctx)),
            None => Ok(None),
        }
    }

    /// Waits for the next answer or timer, and passes it on.
    fn wait(&self) -> Result<(), SandboxError> {
        let State { watch, .. } = self.state;
        let timer = self.state.next_timer();
        if timer.is_none() && !self.state.is_waiting() {
            return Err(SandboxError::NeverSettled);
        }
        let until = timer.map_or(watch.deadline, |(due, _)| due.min(watch.deadline));
        let answer = self.answers.recv_timeout(until.saturating_duration_since(Instant::now()));
        watch.check()?;
        match answer {
            Ok(answer) => self.settle(answer),
            Err(RecvTimeoutError::Timeout) => timer.map_or(Ok(()), |(due, id)| self.fire(due, id)),
            Err(RecvTimeoutError::Disconnected) => Err(SandboxError::Cancelled),
        }
    }

    fn settle(&self, Answer { id, outcome }: Answer) -> Result<(), SandboxError> {
        self.state.answered();
        let (kind, text) = match outcome {
            Ok(Settled::Value(text)) => ("ok", text),
            Ok(Settled::Response(text)) => ("response", text),
            Err(text) => ("error", text),
        };
        self.enter(|ctx, script| {
            let settled = script.settle.call::<_, ()>((id, kind, text));
            settled.map_err(|_| thrown::uncaught(script, self.state, ctx))
        })
    }

    fn fire(&self, due: Instant, id: u32) -> Result<(), SandboxError> {
        if Instant::now() < due {
            return Ok(());
        }
        self.state.clear_timer(id);
        self.enter(|ctx, script| {
            script.fire.call::<_, ()>((id,)).map_err(|_| thrown::uncaught(script, self.state, ctx))
        })
    }

    fn write<'js>(
        &self,
        ctx: &Ctx<'js>,
        script: &Script<'js>,
        value: Value<'js>,
    ) -> Result<String, SandboxError> {
        let limit = self.state.limits.output_bytes;
        let written = script.json.call::<_, Value<'js>>((value,));
        self.state.watch.check()?;
        let written = written.map_err(|_| match thrown::uncaught(script, self.state, ctx) {
            SandboxError::Thrown { text, .. } => SandboxError::NotJson { text },
            SandboxError::StackOverflow { .. } => {
                SandboxError::OutputTooDeep { limit: self.state.limits.output_depth }
            }
            other => other,
        })?;
        if written.is_number() {
            return Err(SandboxError::OutputTooLarge { limit });
        }
        let Some(text) = written.as_string() else {
            let text = "it is a function or a symbol".to_owned();
            return Err(SandboxError::NotJson { text });
        };
        text.to_string().map_err(|_| thrown::uncaught(script, self.state, ctx))
    }

    fn enter<T>(
        &self,
        act: impl for<'js> FnOnce(&Ctx<'js>, &Script<'js>) -> Result<T, SandboxError>,
    ) -> Result<T, SandboxError> {
        self.context.with(|ctx| {
            let script = self.script.get(&ctx).map_err(|error| script::broken(&error))?;
            act(&ctx, &script)
        })
    }
}

/// Reads the code as the body of an async function. It may close that function and go on behind it; that gives it nothing
/// that it does not have inside.
fn compile<'js>(
    ctx: &Ctx<'js>,
    script: &Script<'js>,
    state: &State,
    source: &str,
) -> Result<Function<'js>, SandboxError> {
    let mut options = EvalOptions::default();
    // As existing plugins were written for.
    options.strict = false;
    options.filename = Some(state.file.clone());
    let text = format!("{}{source}\n}})", thrown::BEFORE);
    if text.contains('\0') {
        return Err(SandboxError::Syntax { text: "it has a zero byte in it".to_owned(), place: None });
    }
    let value = ctx.eval_with_options::<Value<'js>, _>(text, options);
    let value = value.map_err(|_| match thrown::uncaught(script, state, ctx) {
        SandboxError::Thrown { text, place } => SandboxError::Syntax { text, place },
        other => other,
    })?;
    value.into_function().ok_or_else(|| SandboxError::Syntax {
        text: "it is not the body of a function; a brace is closed that was not opened".to_owned(),
        place: None,
    })
}
