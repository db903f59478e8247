//! Our own script in the engine: it removes what must not be there, adds what a run may use, and returns the few
//! functions through which we talk to the run.

use std::rc::Rc;

use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, Exception, Function, Object, Persistent, Value};
use toolyard_net::MAX_URL_LENGTH;

use super::random;
use super::state::{EngineState, OWN_FILE};
use crate::dates;
use crate::error::SandboxError;

/// One function over `host`; the parts share its scope.
const SOURCE: &str = concat!(
    "(function (host) {\n'use strict';\n",
    include_str!("../js/kit.js"),
    include_str!("../js/guards.js"),
    include_str!("../js/dates.js"),
    include_str!("../js/globals.js"),
    "})"
);

/// Functions of the script. They were created before any foreign code ran and depend on nothing it can change.
pub(super) struct HostScript<'js> {
    /// Calls the code with its arguments; returns a promise.
    pub(super) start: Function<'js>,
    /// Writes a value as JSON.
    pub(super) json: Function<'js>,
    /// Settles the promise of a call.
    pub(super) settle: Function<'js>,
    /// Runs the callback of a timer.
    pub(super) fire: Function<'js>,
    /// Name, text and stack of a thrown value.
    pub(super) describe: Function<'js>,
}

impl<'js> HostScript<'js> {
    pub(super) fn install(ctx: &Ctx<'js>, state: &Rc<EngineState>) -> rquickjs::Result<Self> {
        let mut options = EvalOptions::default();
        options.filename = Some(OWN_FILE.to_owned());
        let setup: Function<'js> = ctx.eval_with_options(SOURCE, options)?;
        let host = host_object(ctx, state)?;
        let own: Object<'js> = setup.call((host,))?;
        Ok(Self {
            start: own.get("start")?,
            json: own.get("json")?,
            settle: own.get("settle")?,
            fire: own.get("fire")?,
            describe: own.get("describe")?,
        })
    }
}

/// The same functions, stored outside of the engine.
pub(super) struct SavedScript {
    json: Persistent<Function<'static>>,
    settle: Persistent<Function<'static>>,
    fire: Persistent<Function<'static>>,
    describe: Persistent<Function<'static>>,
    start: Persistent<Function<'static>>,
}

impl<'js> HostScript<'js> {
    pub(super) fn save(self, ctx: &Ctx<'js>) -> SavedScript {
        SavedScript {
            json: Persistent::save(ctx, self.json),
            settle: Persistent::save(ctx, self.settle),
            fire: Persistent::save(ctx, self.fire),
            describe: Persistent::save(ctx, self.describe),
            start: Persistent::save(ctx, self.start),
        }
    }
}

impl SavedScript {
    pub(super) fn restore<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<HostScript<'js>> {
        Ok(HostScript {
            json: self.json.clone().restore(ctx)?,
            settle: self.settle.clone().restore(ctx)?,
            fire: self.fire.clone().restore(ctx)?,
            describe: self.describe.clone().restore(ctx)?,
            start: self.start.clone().restore(ctx)?,
        })
    }
}

/// What the script may request from the host. The script is ours, but its inputs are not: everything is checked again
/// here or on the async side.
fn host_object<'js>(ctx: &Ctx<'js>, state: &Rc<EngineState>) -> rquickjs::Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    set_bounds(&host, state)?;

    let own = Rc::clone(state);
    host.set("isOver", Function::new(ctx.clone(), move || own.is_over())?)?;
    host.set("isProxy", Function::new(ctx.clone(), |value: Value<'js>| value.is_proxy())?)?;
    let own = Rc::clone(state);
    let now = move || own.current_millis().map_or(f64::NAN, |milliseconds| milliseconds as f64);
    host.set("now", Function::new(ctx.clone(), now)?)?;
    let own = Rc::clone(state);
    host.set("random", Function::new(ctx.clone(), move || own.generator.next())?)?;
    let own = Rc::clone(state);
    let uuid = move || {
        let mut bytes = [0; 16];
        own.fill_random(&mut bytes);
        random::format_uuid(bytes)
    };
    host.set("uuid", Function::new(ctx.clone(), uuid)?)?;

    let own = Rc::clone(state);
    let ask = move |ctx: Ctx<'js>, kind: String, details: String| {
        own.start_call(&kind, &details).map_err(|text| Exception::throw_type(&ctx, &text))
    };
    host.set("ask", Function::new(ctx.clone(), ask)?)?;
    let own = Rc::clone(state);
    let timer = move |ctx: Ctx<'js>, delay: f64| {
        own.set_timer(delay).map_err(|text| Exception::throw_range(&ctx, &text))
    };
    host.set("timer", Function::new(ctx.clone(), timer)?)?;
    let own = Rc::clone(state);
    host.set("clearTimer", Function::new(ctx.clone(), move |id: u32| own.clear_timer(id))?)?;
    let own = Rc::clone(state);
    host.set(
        "log",
        Function::new(ctx.clone(), move |level: String, text: String| own.log_line(&level, text))?,
    )?;
    let own = Rc::clone(state);
    let uncaught = move |name: String, text: String, stack: String| {
        let error = super::thrown::to_sandbox_error(&own, &name, &text, &stack);
        own.end_run(error);
    };
    host.set("uncaught", Function::new(ctx.clone(), uncaught)?)?;

    let format = |ctx: Ctx<'js>, time: f64, options: String, need: String, defaults: String| {
        dates::format_date_parts(time, &options, &need, &defaults)
            .map_err(|text| Exception::throw_range(&ctx, &text))
    };
    host.set("format", Function::new(ctx.clone(), format)?)?;
    let zone = |ctx: Ctx<'js>, options: String| {
        dates::resolve_zone_name(&options).map_err(|text| Exception::throw_range(&ctx, &text))
    };
    host.set("zone", Function::new(ctx.clone(), zone)?)?;
    Ok(host)
}

/// Limits that the script enforces itself, before it copies long texts.
fn set_bounds<'js>(host: &Object<'js>, state: &EngineState) -> rquickjs::Result<()> {
    let limits = &state.limits;
    for (name, bound) in [
        ("maxUrl", MAX_URL_LENGTH),
        ("maxBody", limits.request_bytes),
        ("maxHeaders", limits.request_headers),
        ("maxHeaderBytes", limits.header_length),
        ("maxKey", limits.key_length),
        ("maxValue", limits.value_bytes),
        ("maxTimers", limits.timers),
        ("maxLine", limits.log_line_length),
        ("maxError", limits.error_length),
        ("maxOutput", limits.output_bytes),
        ("maxText", limits.memory),
    ] {
        host.set(name, bound as f64)?;
    }
    Ok(())
}

/// Our own script did not start: the memory limit, or the engine.
pub(super) fn script_error(error: &rquickjs::Error) -> SandboxError {
    SandboxError::Broken { text: format!("its script did not start ({error})") }
}
