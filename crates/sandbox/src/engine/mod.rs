//! One run, on a thread of its own: a new engine with our script in it, then the code, and the loop that brings it answers
//! until it has a result or is over. The engine can be made before there is anything to run, so that a run does not wait
//! for it.

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
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::SandboxError;
use crate::job::{ClockFn, RandomFn};
use crate::limits::Limits;
use crate::link::{Answer, Settled, ToHost};
use crate::output;
use script::{Kept, Script};
use state::{RunState, State};
use watch::Watch;
pub(crate) use watch::processor_time;

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

/// Takes a message out of the run; says whether anybody is there.
pub(crate) type SendToHost = dyn Fn(ToHost) -> bool + Send;

/// All that a run needs, besides an engine.
pub(crate) struct Run {
    /// The body of an async function over `args`.
    pub(crate) source: Arc<str>,
    pub(crate) name: String,
    pub(crate) args: Box<RawValue>,
    /// Tells the present, if the code may know it.
    pub(crate) clock: Option<Arc<ClockFn>>,
    pub(crate) deadline: Instant,
    /// The caller left.
    pub(crate) stop: CancellationToken,
    pub(crate) send: Box<SendToHost>,
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

/// An engine with our script in it and no foreign code yet. It serves one run, on the thread that made it.
pub(crate) struct Engine {
    // The order matters: what is kept of an engine goes before the engine.
    script: Kept,
    context: Context,
    runtime: Runtime,
    state: Rc<State>,
}

impl Engine {
    pub(crate) fn prepare(limits: Arc<Limits>, random: Arc<RandomFn>) -> Result<Self, SandboxError> {
        let state = Rc::new(State::new(limits, random));
        let broken = |error: rquickjs::Error| SandboxError::Broken { text: error.to_string() };
        let runtime = Runtime::new().map_err(broken)?;
        runtime.set_memory_limit(state.limits.memory);
        runtime.set_max_stack_size(state.limits.stack);
        let watching = Rc::clone(&state);
        runtime.set_interrupt_handler(Some(Box::new(move || watching.is_over())));
        let context = Context::custom::<Language>(&runtime).map_err(broken)?;
        let script = context.with(|ctx| {
            let script = Script::install(&ctx, &state).map_err(|error| script::broken(&error))?;
            Ok(script.keep(&ctx))
        })?;
        Ok(Self { script, context, runtime, state })
    }

    /// Runs the code to its end. Blocks.
    pub(crate) fn run(self, run: Run) -> Result<Returned, SandboxError> {
        let Run { source, name, args, clock, deadline, stop, send, answers } = run;
        let Self { script, context, runtime, state } = self;
        let watch = Watch::new(&state.limits, deadline, stop, watch::processor_time);
        state.start(RunState::new(watch, &name, clock, send));
        let steps = Steps::start(&context, &state, &answers, script, &source, &args);
        let returned = steps.and_then(|steps| steps.follow());
        state.close_log();
        let memory = usize::try_from(runtime.memory_usage().malloc_size).unwrap_or(0);
        let json = output::check(returned?, &state.limits)?;
        Ok(Returned { json, compute: state.compute(), host_calls: state.asked(), memory })
    }
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
    /// Reads the code, and starts it.
    fn start(
        context: &'run Context,
        state: &'run State,
        answers: &'run Receiver<Answer>,
        script: Kept,
        source: &str,
        args: &RawValue,
    ) -> Result<Self, SandboxError> {
        let promise = context.with(|ctx| {
            let script = script.get(&ctx).map_err(|error| script::broken(&error))?;
            let code = compile(&ctx, &script, state, source)?;
            let started = script.start.call::<_, Promise<'_>>((code, args.get()));
            let promise = started.map_err(|_| thrown::uncaught(&script, state, &ctx))?;
            Ok(Persistent::save(&ctx, promise))
        })?;
        Ok(Self { context, state, answers, script, promise })
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
        self.state.check()?;
        for _ in 0..JOBS_BETWEEN_LOOKS {
            match self.context.runtime().execute_pending_job() {
                Ok(true) => self.state.check()?,
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
        let timer = self.state.next_timer();
        if timer.is_none() && !self.state.is_waiting() {
            return Err(SandboxError::NeverSettled);
        }
        let until = timer.map_or(self.state.deadline(), |(due, _)| due.min(self.state.deadline()));
        let answer = self.answers.recv_timeout(until.saturating_duration_since(Instant::now()));
        self.state.check()?;
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
        self.state.check()?;
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
    options.filename = Some(state.file().to_owned());
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
