//! One run on its own thread: a new engine with our script, then the code, and the loop that delivers replies until
//! there is a result or the run is over. The engine can be prepared before there is anything to run, so that a run does
//! not wait for it.

mod random;
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
use crate::limits::SandboxLimits;
use crate::link::{HostCallReply, SettledValue, ToHost};
use crate::output;
use script::{HostScript, SavedScript};
use state::{EngineState, RunState};
use watch::RunWatch;
pub(crate) use watch::processor_time;

/// Stack of a thread beyond that of the engine, for the last frame before the engine notices and for our own frames.
const STACK_HEADROOM: usize = 2 * 1024 * 1024;

/// The language features. Without `WeakRef`, which reveals garbage collection, and `Performance`, which is a clock.
type LanguageIntrinsics = (
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

/// Sends a message out of the run; returns `false` if there is no receiver.
pub(crate) type SendToHost = dyn Fn(ToHost) -> bool + Send;

/// Everything that a run needs besides an engine.
pub(crate) struct EngineRun {
    /// The body of an async function over `args`.
    pub(crate) source: Arc<str>,
    pub(crate) name: String,
    pub(crate) args: Box<RawValue>,
    /// The current time, if the code may know it.
    pub(crate) clock: Option<Arc<ClockFn>>,
    pub(crate) deadline: Instant,
    /// Cancelled when the caller leaves.
    pub(crate) stop: CancellationToken,
    pub(crate) send: Box<SendToHost>,
    /// Closed when the caller leaves.
    pub(crate) answers: Receiver<HostCallReply>,
}

/// The result of a run.
pub(crate) struct EngineResult {
    pub(crate) json: Box<RawValue>,
    pub(crate) compute: Duration,
    pub(crate) host_calls: usize,
    pub(crate) memory: usize,
}

/// Stack size of a thread for a run.
pub(crate) fn thread_stack(limits: &SandboxLimits) -> usize {
    limits.stack + STACK_HEADROOM
}

/// An engine with our script and no foreign code yet. It serves one run, on the thread that created it.
pub(crate) struct JsEngine {
    // The order matters: values of an engine must be dropped before the engine.
    script: SavedScript,
    context: Context,
    runtime: Runtime,
    state: Rc<EngineState>,
}

impl JsEngine {
    pub(crate) fn prepare(limits: Arc<SandboxLimits>, random: Arc<RandomFn>) -> Result<Self, SandboxError> {
        let state = Rc::new(EngineState::new(limits, random));
        let broken = |error: rquickjs::Error| SandboxError::Broken { text: error.to_string() };
        let runtime = Runtime::new().map_err(broken)?;
        runtime.set_memory_limit(state.limits.memory);
        runtime.set_max_stack_size(state.limits.stack);
        let watching = Rc::clone(&state);
        runtime.set_interrupt_handler(Some(Box::new(move || watching.is_over())));
        let context = Context::custom::<LanguageIntrinsics>(&runtime).map_err(broken)?;
        let script = context.with(|ctx| {
            let script = HostScript::install(&ctx, &state).map_err(|error| script::script_error(&error))?;
            Ok(script.save(&ctx))
        })?;
        Ok(Self { script, context, runtime, state })
    }

    /// Runs the code to its end. Blocks.
    pub(crate) fn run(self, run: EngineRun) -> Result<EngineResult, SandboxError> {
        let EngineRun { source, name, args, clock, deadline, stop, send, answers } = run;
        let Self { script, context, runtime, state } = self;
        let watch = RunWatch::new(&state.limits, deadline, stop, watch::processor_time);
        state.begin_run(RunState::new(watch, &name, clock, send));
        let steps = RunLoop::start(&context, &state, &answers, script, &source, &args);
        let returned = steps.and_then(|steps| steps.run_to_end());
        state.close_log();
        let memory = usize::try_from(runtime.memory_usage().malloc_size).unwrap_or(0);
        let json = output::check_output(returned?, &state.limits)?;
        Ok(EngineResult { json, compute: state.compute_time(), host_calls: state.call_count(), memory })
    }
}

/// Jobs between two checks for a result. A check is cheap; this makes it negligible.
const JOBS_BETWEEN_LOOKS: usize = 32;

struct RunLoop<'run> {
    context: &'run Context,
    state: &'run EngineState,
    answers: &'run Receiver<HostCallReply>,
    script: SavedScript,
    promise: Persistent<Promise<'static>>,
}

impl<'run> RunLoop<'run> {
    /// Compiles and starts the code.
    fn start(
        context: &'run Context,
        state: &'run EngineState,
        answers: &'run Receiver<HostCallReply>,
        script: SavedScript,
        source: &str,
        args: &RawValue,
    ) -> Result<Self, SandboxError> {
        let promise = context.with(|ctx| {
            let script = script.restore(&ctx).map_err(|error| script::script_error(&error))?;
            let code = compile_source(&ctx, &script, state, source)?;
            let started = script.start.call::<_, Promise<'_>>((code, args.get()));
            let promise = started.map_err(|_| thrown::uncaught_error(&script, state, &ctx))?;
            Ok(Persistent::save(&ctx, promise))
        })?;
        Ok(Self { context, state, answers, script, promise })
    }

    /// Runs until there is a result.
    fn run_to_end(&self) -> Result<String, SandboxError> {
        loop {
            let more = self.run_jobs()?;
            if let Some(text) = self.with_script(|ctx, script| self.poll_result(ctx, script))? {
                return Ok(text);
            }
            if !more {
                self.wait_for_event()?;
            }
        }
    }

    /// Runs some of the ready jobs, and returns whether there may be more. A job may create further ones, so the clock
    /// is checked between them.
    fn run_jobs(&self) -> Result<bool, SandboxError> {
        self.state.check_limits()?;
        for _ in 0..JOBS_BETWEEN_LOOKS {
            match self.context.runtime().execute_pending_job() {
                Ok(true) => self.state.check_limits()?,
                Ok(false) => return Ok(false),
                // Errors that code throws in a job become rejections. Only a job that ran out of memory fails as a
                // whole, and a promise that waits for it would wait forever.
                Err(_) => {
                    return self
                        .with_script(|ctx, script| Err(thrown::uncaught_error(script, self.state, ctx)));
                }
            }
        }
        Ok(true)
    }

    /// The result, if there is one.
    fn poll_result<'js>(
        &self,
        ctx: &Ctx<'js>,
        script: &HostScript<'js>,
    ) -> Result<Option<String>, SandboxError> {
        let promise = self.promise.clone().restore(ctx).map_err(|error| script::script_error(&error))?;
        match promise.result::<Value<'js>>() {
            Some(Ok(value)) => self.write_result(ctx, script, value).map(Some),
            Some(Err(_)) => Err(thrown::uncaught_error(script, self.state, ctx)),
            None => Ok(None),
        }
    }

    /// Waits for the next reply or timer, and delivers it.
    fn wait_for_event(&self) -> Result<(), SandboxError> {
        let timer = self.state.next_timer();
        if timer.is_none() && !self.state.is_waiting() {
            return Err(SandboxError::NeverSettled);
        }
        let until = timer.map_or(self.state.deadline(), |(due, _)| due.min(self.state.deadline()));
        let answer = self.answers.recv_timeout(until.saturating_duration_since(Instant::now()));
        self.state.check_limits()?;
        match answer {
            Ok(answer) => self.settle_call(answer),
            Err(RecvTimeoutError::Timeout) => timer.map_or(Ok(()), |(due, id)| self.fire_timer(due, id)),
            Err(RecvTimeoutError::Disconnected) => Err(SandboxError::Cancelled),
        }
    }

    fn settle_call(&self, HostCallReply { id, outcome }: HostCallReply) -> Result<(), SandboxError> {
        self.state.count_answer();
        let (kind, text) = match outcome {
            Ok(SettledValue::Value(text)) => ("ok", text),
            Ok(SettledValue::Response(text)) => ("response", text),
            Err(text) => ("error", text),
        };
        self.with_script(|ctx, script| {
            let settled = script.settle.call::<_, ()>((id, kind, text));
            settled.map_err(|_| thrown::uncaught_error(script, self.state, ctx))
        })
    }

    fn fire_timer(&self, due: Instant, id: u32) -> Result<(), SandboxError> {
        if Instant::now() < due {
            return Ok(());
        }
        self.state.clear_timer(id);
        self.with_script(|ctx, script| {
            script.fire.call::<_, ()>((id,)).map_err(|_| thrown::uncaught_error(script, self.state, ctx))
        })
    }

    fn write_result<'js>(
        &self,
        ctx: &Ctx<'js>,
        script: &HostScript<'js>,
        value: Value<'js>,
    ) -> Result<String, SandboxError> {
        let limit = self.state.limits.output_bytes;
        let written = script.json.call::<_, Value<'js>>((value,));
        self.state.check_limits()?;
        let written = written.map_err(|_| match thrown::uncaught_error(script, self.state, ctx) {
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
        text.to_string().map_err(|_| thrown::uncaught_error(script, self.state, ctx))
    }

    fn with_script<T>(
        &self,
        act: impl for<'js> FnOnce(&Ctx<'js>, &HostScript<'js>) -> Result<T, SandboxError>,
    ) -> Result<T, SandboxError> {
        self.context.with(|ctx| {
            let script = self.script.restore(&ctx).map_err(|error| script::script_error(&error))?;
            act(&ctx, &script)
        })
    }
}

/// Compiles the code as the body of an async function. The code may close that function and continue after it; that
/// gives it nothing that it does not have inside.
fn compile_source<'js>(
    ctx: &Ctx<'js>,
    script: &HostScript<'js>,
    state: &EngineState,
    source: &str,
) -> Result<Function<'js>, SandboxError> {
    let mut options = EvalOptions::default();
    // Existing plugins rely on it.
    options.strict = false;
    options.filename = Some(state.code_file().to_owned());
    let text = format!("{}{source}\n}})", thrown::BEFORE);
    if text.contains('\0') {
        return Err(SandboxError::Syntax { text: "it has a zero byte in it".to_owned(), place: None });
    }
    let value = ctx.eval_with_options::<Value<'js>, _>(text, options);
    let value = value.map_err(|_| match thrown::uncaught_error(script, state, ctx) {
        SandboxError::Thrown { text, place } => SandboxError::Syntax { text, place },
        other => other,
    })?;
    value.into_function().ok_or_else(|| SandboxError::Syntax {
        text: "it is not the body of a function; a brace is closed that was not opened".to_owned(),
        place: None,
    })
}
